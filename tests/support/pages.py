"""Markdown pages as tests see them: their blocks, commands, links and sections, found in the text itself.

A block is fenced, indented, or a table whose first column holds commands. A fence of the form ```` ```{toctree} ```` is
for the build of the documentation, and no block to be tried. HTML comments directly above it say how it is
to be tried; none is needed for what runs as it stands:

- ``<!-- slow: WHY -->``: only the slow tests run it;
- ``<!-- not run: WHY -->``: nothing runs it;
- ``<!-- instead: LONG => SHORT; … -->``: parts of its commands are replaced by what takes seconds
  (``$ROOT`` is this checkout);
- ``<!-- file: NAME -->``: its text is a file of that name, which a later block of the page uses;
- ``<!-- shown: WHY -->``: it is neither a command nor a file;
- ``<!-- exit code: N -->``: what its commands end with, where that is not 0;
- ``<!-- commands -->``: the first column of this table holds commands. A comment ``slow`` or ``not run`` may
  stand within a row.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What the build of the documentation makes is no page of the repository.
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.relative_to(ROOT).parts[1] != "generated"),
]
TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials"]

_MARK = re.compile(r"<!-- *(slow|not run|instead|file|shown|exit code|commands)(?:: *(.*?))? *-->")
_COMMAND = re.compile(r"(?:tablut|python|pytest|pip) ")


@dataclass(frozen=True)
class Command:
    """A command line, what the page shows below it (None for nothing), and the marks that hold for it."""

    line: int
    text: str
    shown: str | None
    marks: dict[str, str]

    @property
    def arguments(self) -> list[str]:
        """Return the words after `tablut`, long parts replaced, comments left out."""
        text = self.text
        for pair in self.marks.get("instead", "").split("; "):
            long, _, short = pair.partition(" => ")
            text = text.replace(long, short.replace("$ROOT", str(ROOT))) if long else text
        program, *words = shlex.split(text, comments=True)
        assert program == "tablut", f"{text}: say by a mark why this is not run"
        return words


@dataclass(frozen=True)
class Block:
    """A block of a page: its first line, language (`indented`, `table`), text and marks."""

    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def commands(self) -> list[Command]:
        """Return the command lines in it, each with the output shown below it."""
        if self.language == "table":
            return [
                Command(self.line + i, text, None, self.marks | dict(_MARK.findall(row)))
                for i, row in enumerate(self.text.splitlines())
                for text in re.findall(r"`(tablut [^`]*)`", row.split(" | ")[0])
            ]
        lines = re.sub(r" \\\n +", " ", self.text).splitlines()  # a command may be continued on the next line
        if any(line.startswith("$ ") for line in lines):
            starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
            assert starts[0] == 0, f"line {self.line}: output before the first command"
            return [
                Command(self.line + i, lines[i][2:], "\n".join(lines[i + 1 : end]) or None, self.marks)
                for i, end in zip(starts, [*starts[1:], len(lines)], strict=True)
            ]
        if self.language in ("sh", "bash", "console") or (self.language in ("indented", "") and self._is_commands):
            told = [(i, line) for i, line in enumerate(lines) if line.strip() and not line.startswith("#")]
            return [Command(self.line + i, line, None, self.marks) for i, line in told]
        return []

    @property
    def _is_commands(self) -> bool:
        return all(_COMMAND.match(line) for line in self.text.splitlines() if line.strip())

    @property
    def is_python(self) -> bool:
        """Say whether it is Python, as a session or as a script."""
        return self.language in ("python", "pycon", "py") or self.text.startswith(">>> ")


def read(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page in order; tables only where a mark says that they hold commands."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        if match := re.match(r"```(\{?\w*)", line):
            at += 1
            while not lines[at].startswith("```"):
                at += 1
            if not match[1].startswith("{"):
                found.append(Block(start + 2, match[1], "\n".join(lines[start + 1 : at]), marks))
        elif line.startswith("    ") and line.strip() and (at == 0 or not lines[at - 1].strip()):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            inside = "\n".join(row[4:] for row in lines[start:at]).rstrip()
            found.append(Block(start + 1, "indented", inside, marks))
            marks = {}
            continue
        elif line.startswith("|") and "commands" in marks:
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            found.append(Block(start + 1, "table", "\n".join(lines[start:at]), marks))
            marks = {}
            continue
        elif comments := _MARK.findall(line):
            marks = marks | dict(comments)
            at += 1
            continue
        elif not line.strip() or line.startswith("<!--"):
            at += 1
            continue
        marks = {}
        at += 1
    return found


def without_blocks(text: str) -> str:
    """Return a page's prose and tables: the lines of its fenced blocks and comments are empty."""
    text = re.sub(r"^```.*?^```$", lambda match: "\n" * match[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"<!--.*?-->", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)


def spans(text: str) -> list[str]:
    """Return what stands between single backquotes, line breaks read as blanks."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", without_blocks(text))]


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#{1,6} +(.*?) *$", without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(text: str) -> list[str]:
    """Return the targets of a page's links and pictures."""
    return re.findall(r"""\]\(([^)\s]+)(?:\s+"[^"]*")?\)""", without_blocks(text))
