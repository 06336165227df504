"""What README and docs name in passing exists: commands, options, files, links; their words are the glossary's."""

import re
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest

from tablut.cli.shell import run
from tests.support.commands import command_tree
from tests.support.pages import PAGES, ROOT, anchors, blocks_of, links, read, spans

COMMANDS = list(command_tree())


@cache
def help_of(name: str) -> str:
    """Return the help of a command, as `tablut help` prints it."""
    out = StringIO()
    with redirect_stdout(out):
        assert run(["help", *name.split()]) == 0
    return out.getvalue()


def named_command(words: list[str]) -> str | None:
    """Return the command that words begin with, the longest one; None if they begin with none."""
    names = {" ".join(words[:n]) for n in (1, 2)}
    return max(names & set(COMMANDS), key=len, default=None)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_command_and_option_named_in_the_text_exists(page: Path) -> None:
    for span in spans(read(page)):
        if not re.match(r"tablut [a-z]", span):
            continue
        words = span.split()[1:]
        name = named_command(words)
        groups = {command.split()[0] for command in COMMANDS}
        assert name or (words[0] in groups and not words[1:]) or words[0] == "help", f"{page.name}: `{span}`"
        for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", span) if name else []:
            assert re.search(rf"{option}\b", help_of(name)), f"{page.name}: `{span}`: no {option}"


def test_every_option_of_the_tour_belongs_to_its_row() -> None:
    (tour,) = [block for block in blocks_of(read(ROOT / "docs" / "tour.md")) if block.language == "table"]
    seen = 0
    for row in tour.text.splitlines():
        names = [named_command(text.split()[1:]) for text in re.findall(r"`(tablut [^`]*)`", row.split(" | ")[0])]
        for option in re.findall(r"`(--[a-z-]+)`", row):
            assert any(option in help_of(name) for name in names if name), row
            seen += 1
    assert seen > 10


OURS = "symmetry|tablut|counting|retrograde|reports"
TOPS = ("benchmarks", "counting", "docs", "reports", "retrograde", "symmetry", "tablut", "tests")
FILES = {
    path.relative_to(ROOT).as_posix()
    for top in TOPS
    for path in (ROOT / top).rglob("*")
    if "__pycache__" not in path.parts
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_and_name_of_ours_in_the_text_exists(page: Path) -> None:
    made = {block.marks["file"] for block in blocks_of(read(page)) if "file" in block.marks}
    for span in spans(read(page)):
        for path in re.findall(r"[\w./-]+\.(?:py|j2|toml|json)\b", span):
            known = any(f"/{name}".endswith("/" + path.lstrip("./")) for name in FILES)
            assert known or path in made | FOREIGN, f"{page.name}: `{path}` is no file of this repository"
        if (
            re.fullmatch(r"(?:symmetry|tablut|counting|retrograde|reports)(?:\.\w+)+", span)
            and span not in ENTRY_POINTS
        ):
            named(span, page.name)
        elif re.fullmatch(rf"(?:{OURS}|tests|benchmarks)(?:/\w+)+/?", span):
            assert span.rstrip("/") in FILES or f"{span}.py" in FILES, f"{page.name}: `{span}`"


def test_the_architecture_names_every_room() -> None:
    """A room is a package within a package; it is named by itself, or by what is in it."""
    named = {span.rstrip("/") for span in re.findall(r"`([\w./-]+)`", read(ROOT / "docs" / "architecture.md"))}
    rooms = {name.rpartition("/")[0] for name in FILES if re.fullmatch(rf"(?:{OURS})/\w+/__init__\.py", name)}
    assert len(rooms) > 15
    assert {room for room in rooms if not any(f"{name}/".startswith(f"{room}/") for name in named)} == set()


# Files that a page speaks of and that are not in the repository.
FOREIGN = {
    "census.json", "ply-006.json", "count-007.json", "zarr.json", "3v1/zarr.json", "provenance/3v1.json",
    "my-rules.toml",
}  # fmt: skip
ENTRY_POINTS = set(re.findall(r'entry-points\."([\w.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")))


def named(name: str, page: str) -> None:
    """Import what a dotted name says, module or attribute."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            assert hasattr(thing, part), f"{page}: `{name}`: no {part}"
            thing = getattr(thing, part)
        return
    pytest.fail(f"{page}: `{name}`")


MARKDOWN = [
    *PAGES,
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "reports" / "rendered").rglob("*.md")),
    *sorted((ROOT / "reports" / "studies").rglob("*.md")),
]


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in links(read(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(read(file)), f"{page.name}: no heading {target}"
