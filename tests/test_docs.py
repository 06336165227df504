"""What README and docs show runs, and gives what they show.

Blocks, commands and links are found in the Markdown (`tests.support.pages` says how a page marks what is slow or not run), so a
new one is tried without being listed anywhere. A page's blocks run in order in one empty folder, in this process.
"""

import ast
import doctest
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType

import pytest

from tablut.cli.shell import run
from tablut.formats import read_record
from tablut.replay import replay
from tablut.variants import load_variant
from tablut.variants.schema import parse_variant
from tests.support.pages import PAGES, ROOT, Block, Command, anchors, blocks_of, links, spans, without_blocks
from tests.test_commands import COMMANDS

# What nothing here runs: page and first line. Each says why in its mark.
NOT_RUN = {
    ("README.md", 'python -m pip install -e . && tablut bounds'),
    ("testing.md", "python -m tests.faults"),
}
# Pictures, formulas and layouts: neither commands nor files.
SHOWN = {
    ("README.md", "9  · ☆ ☆ ● ● ● ☆ ☆ ·      ● attacker   16, they capture the king"),
    ("architecture.md", "reports/      renders what the others computed"),
    ("bounds.md", "C(m, d) · C(n + m − d, a)"),
    ("formats.md", '[Variant "mine"]'),
}
SECONDS = 240
"""A command that takes longer than that is a defect of the page: it waits for something."""

IDS = [page.name for page in PAGES]
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def head(text: str) -> str:
    return text.splitlines()[0].strip()


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """End what runs with `TimeoutError` after a while, where the system can."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"no end within {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def try_command(command: Command, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command of a page; what the page shows below it is what is printed, `…` standing for anything."""
    capsys.readouterr()
    with at_most(SECONDS):
        code = run(command.arguments)
    captured = capsys.readouterr()
    assert code == int(command.marks.get("exit code", 0)), f"{where}: {command.text}: {captured.err}"
    assert "Traceback" not in captured.err
    if command.shown is not None:
        wanted = command.shown.replace("…", "...") + "\n"
        assert CHECKER.check_output(wanted, captured.out, FLAGS), f"{where}: {command.text} gives\n{captured.out}"


def try_python(block: Block, where: str) -> None:
    """Run a session and compare what it shows, or run a script; each block stands for itself."""
    if ">>>" not in block.text:
        exec(compile(block.text, where, "exec"), {"__name__": "page"})
        return
    test = doctest.DocTestParser().get_doctest(block.text + "\n", {}, where, where, block.line)
    told: list[str] = []
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append).failed
    assert not failed, "".join(told)


def try_page(page: Path, folder: Path, capsys: pytest.CaptureFixture[str], *, slow: bool) -> int:
    """Run the blocks of a page in order; return how many commands and Python blocks ran."""
    ran = 0
    for block in blocks_of(read(page)):
        where = f"{page.name}:{block.line}"
        if "file" in block.marks:
            (folder / block.marks["file"]).write_text(block.text + "\n", encoding="utf-8")
        if "not run" in block.marks or ("slow" in block.marks and not slow):
            continue
        if block.is_python:
            try_python(block, where)
            ran += 1
        for command in block.commands:
            if "not run" not in command.marks and (slow or "slow" not in command.marks):
                try_command(command, f"{page.name}:{command.line}", capsys)
                ran += 1
    return ran


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_block_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try_page(page, tmp_path, capsys, slow=False)


SLOW_PAGES = [page for page in PAGES if "<!-- slow:" in read(page)]


@pytest.mark.slow
@pytest.mark.parametrize("page", SLOW_PAGES, ids=lambda page: page.name)
def test_every_block_runs_the_slow_ones_too(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert try_page(page, tmp_path, capsys, slow=True) > 0


def test_every_block_is_a_command_python_a_file_in_use_or_listed() -> None:
    """So nothing that could run is passed over: a block that fits nowhere is an error that says what to do."""
    left_out, shown, ran = set(), set(), 0
    for page in PAGES:
        blocks = blocks_of(read(page))
        for i, block in enumerate(blocks):
            where = f"{page.name}:{block.line}"
            if "shown" in block.marks:
                shown.add((page.name, head(block.text)))
            elif "file" in block.marks:
                users = "\n".join(later.text for later in blocks[i + 1 :])
                assert block.marks["file"] in users, f"{where}: nothing below uses this file"
            elif not (block.commands or block.is_python):
                pytest.fail(f"{where}: say by a mark what this block is (tests/support/pages.py)")
            if "not run" in block.marks:
                left_out.add((page.name, head(block.text)))
            elif block.is_python:
                ran += 1
            for command in block.commands:
                if "not run" in command.marks:
                    left_out.add((page.name, head(command.text if block.language == "table" else block.text)))
                else:
                    command.arguments  # noqa: B018: it can be run
                    ran += 1
            for mark in ("slow", "not run", "shown", "instead"):
                assert block.marks.get(mark, "why") != "", f"{where}: {mark}, but why?"
            for pair in filter(None, block.marks.get("instead", "").split("; ")):
                assert pair.partition(" => ")[0] in block.text, f"{where}: {pair} replaces nothing"
    print(f"{ran} commands and Python blocks run, {len(left_out)} do not: {sorted(left_out)}")
    assert left_out == NOT_RUN
    assert shown == SHOWN
    assert ran > 60


# -- what stands in the text ---------------------------------------------------------------


@cache
def help_of(name: str) -> str:
    """Return the help of a command, as `tablut help` prints it."""
    from io import StringIO
    from contextlib import redirect_stdout

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
    (tour,) = [block for block in blocks_of(read(ROOT / "README.md")) if block.language == "table"]
    seen = 0
    for row in tour.text.splitlines():
        names = [named_command(text.split()[1:]) for text in re.findall(r"`(tablut [^`]*)`", row.split(" | ")[0])]
        for option in re.findall(r"`(--[a-z-]+)`", row):
            assert any(option in help_of(name) for name in names if name), row
            seen += 1
    assert seen > 10


FILES = {path.relative_to(ROOT).as_posix() for top in ("benchmarks", "counting", "docs", "reports", "retrograde", "symmetry",
         "tablut", "tests") for path in (ROOT / top).rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_file_and_name_of_ours_in_the_text_exists(page: Path) -> None:
    made = {block.marks["file"] for block in blocks_of(read(page)) if "file" in block.marks}
    for span in spans(read(page)):
        for path in re.findall(r"[\w./-]+\.(?:py|j2|toml|json)\b", span):
            known = any(f"/{name}".endswith("/" + path.lstrip("./")) for name in FILES)
            assert known or path in made | FOREIGN, f"{page.name}: `{path}` is no file of this repository"
        if re.fullmatch(r"(?:symmetry|tablut|counting|retrograde|reports)(?:\.\w+)+", span) and span not in ENTRY_POINTS:
            named(span, page.name)
        elif re.fullmatch(r"(?:symmetry|tablut|counting|retrograde|reports|tests|benchmarks)(?:/\w+)+/?", span):
            assert span.rstrip("/") in FILES or f"{span}.py" in FILES, f"{page.name}: `{span}`"


# Files that a page speaks of and that are not in the repository.
FOREIGN = {"census.json", "ply-006.json", "zarr.json", "3v1/zarr.json", "provenance/3v1.json", "my-rules.toml"}
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


MARKDOWN = [*PAGES, ROOT / "CHANGELOG.md", *sorted((ROOT / "reports" / "rendered").rglob("*.md"))]


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in links(read(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(read(file)), f"{page.name}: no heading {target}"


def test_every_page_is_linked_from_the_readme() -> None:
    targets = {target.partition("#")[0] for target in links(read(ROOT / "README.md"))}
    assert {page.relative_to(ROOT).as_posix() for page in PAGES[1:]} <= targets


# -- words ---------------------------------------------------------------------------------

# Words that the glossary retires, and what it says instead. Word boundaries, any case; `\\n` reads as a blank.
RETIRED = {
    r"leads?(?= (?:class|combination|row|soldier|cell|index)\w*)|the leads|trails?": "row soldiers, column soldiers",
    r"prover and (?:the )?defender": "prover and opponent",
    r"(?:has|have) not (?:it|one|any)\b": "does not contain it, has none",
    r"speaks? against": "no objection found",
}
"""Patterns, and the glossary's words for what they said."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text


def retired(text: str) -> list[str]:
    plain = " ".join(text.split())
    return [f"{m[0]!r}: {instead}" for old, instead in RETIRED.items() for m in re.finditer(rf"\b(?:{old})\b", plain, re.I)]


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "reports" / "templates").glob("*"))], ids=lambda page: page.name)
def test_retired_words_stay_away_from_the_pages(page: Path) -> None:
    assert retired(without_blocks(read(page))) == []


def test_retired_words_stay_away_from_docstrings() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {complaint}"
        for package in ("symmetry", "tablut", "counting", "retrograde", "reports")
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in docstrings(path)
        for complaint in retired(text)
    ]
    assert found == []


def test_each_word_of_the_glossary_stands_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", read(ROOT / "docs" / "glossary.md"), re.MULTILINE)
    words = [word.strip() for row in rows if row != "word" for word in row.split(",")]
    assert len(words) > 60
    assert sorted({word for word in words if words.count(word) > 1}) == []


# -- formats -------------------------------------------------------------------------------


def test_every_record_of_docs_and_docstrings_is_replayed_without_a_problem() -> None:
    records = [block.text for block in blocks_of(read(ROOT / "docs" / "formats.md")) if block.text.startswith("[")]
    for module in ("native", "opentafl_records"):
        text = import_module(f"tablut.formats.{module}").__doc__ or ""
        records += [block.text for block in blocks_of(text) if re.match(r'\[\w+ "', block.text)]
    told = [record for record in records if "…" not in record]
    assert len(told) >= 2
    for record in told:
        assert replay(read_record(record)).problems == (), record


def test_every_position_and_move_of_the_table_of_readers_is_read() -> None:
    from tablut import Board

    rows = re.findall(r"^\| (.+) \| (.+) \|$", read(ROOT / "docs" / "formats.md"), re.MULTILINE)
    start = next(i for i, row in enumerate(rows) if row[0] == "position")
    moves = 0
    for position, move in rows[start + 1 : start + 5]:
        for text in re.findall(r"`([^`]+)`", position):
            if "…" not in text:
                assert Board("brandubh", text).legal_moves.count() > 0
        for text in re.findall(r"`([^`]+)`", move):
            assert str(Board("brandubh").push_text(text)) == "d2-e2"
            moves += 1
    assert moves >= 6


def test_the_documented_variant_file_is_valid() -> None:
    (example,) = [block.text for block in blocks_of(read(ROOT / "docs" / "variants.md")) if block.language == "toml"]
    variant = parse_variant(example, name="example", origin="docs/variants.md")
    assert variant.same_game(load_variant("ashton-5-4v2"))
