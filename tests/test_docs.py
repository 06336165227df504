"""What README and docs show runs, and gives what they show.

Blocks are found in the Markdown (`tests.support.pages` says how a page marks what is slow or not run), so a new one is
tried without being listed anywhere. A page's blocks run in order in one empty folder, in this process.
"""

import doctest
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tablut.cli.shell import run
from tablut.records import read_record
from tablut.replay import replay
from tablut.variants import load_variant
from tablut.variants.schema import parse_variant
from tests.support.pages import PAGES, ROOT, TUTORIALS, Block, Command, blocks_of, read
from tests.support.waiting import at_most

SECONDS = 900
"""A command that takes longer than that is a defect of the page: it waits for something."""

CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


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


def try_python(block: Block, where: str, names: dict[str, Any]) -> None:
    """Run a session and compare what it shows, or run a script; `names` is what earlier blocks have left."""
    if ">>>" not in block.text:
        exec(compile(block.text, where, "exec"), {"__name__": "page"})
        return
    test = doctest.DocTestParser().get_doctest(block.text + "\n", names, where, where, block.line)
    told: list[str] = []
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append, clear_globs=False).failed
    assert not failed, "".join(told)
    names |= test.globs


def try_page(page: Path, folder: Path, capsys: pytest.CaptureFixture[str], *, slow: bool) -> int:
    """Run the blocks of a page in order; return how many commands and Python blocks ran."""
    ran = 0
    session: dict[str, Any] = {}
    for block in blocks_of(read(page)):
        where = f"{page.name}:{block.line}"
        if "file" in block.marks:
            (folder / block.marks["file"]).write_text(block.text + "\n", encoding="utf-8")
        if "not run" in block.marks or ("slow" in block.marks and not slow):
            continue
        if block.is_python and "file" not in block.marks:
            # A tutorial is one session; elsewhere each block stands for itself.
            try_python(block, where, session if page in TUTORIALS else {})
            ran += 1
        for command in block.commands:
            if "not run" not in command.marks and (slow or "slow" not in command.marks):
                try_command(command, f"{page.name}:{command.line}", capsys)
                ran += 1
    return ran


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages start `tablut` and `python`: those of this interpreter, whether its environment is activated or not."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


# Whenever a change lands, all pages run, tutorials as notebooks; by default the first ones that a reader meets.
FIRST = ("README.md", "index.md", "variants.md")
RUN_HERE = [
    pytest.param(page, marks=[] if page.name in FIRST else [pytest.mark.slow], id=page.name)
    for page in PAGES
    if page not in TUTORIALS
]


@pytest.mark.parametrize("page", RUN_HERE)
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


def test_every_block_is_a_command_python_a_file_in_use_or_says_why_not() -> None:
    """So nothing that could run is passed over: a block that fits nowhere is an error that says what to do."""
    ran = 0
    for page in PAGES:
        blocks = blocks_of(read(page))
        for i, block in enumerate(blocks):
            where = f"{page.name}:{block.line}"
            if "file" in block.marks:
                users = "\n".join(later.text for later in blocks[i + 1 :])
                assert block.marks["file"] in users, f"{where}: nothing below uses this file"
            elif "shown" not in block.marks and not (block.commands or block.is_python):
                pytest.fail(f"{where}: say by a mark what this block is (tests/support/pages.py)")
            ran += block.is_python and "not run" not in block.marks
            ran += sum("not run" not in command.marks and len(command.arguments) > 0 for command in block.commands)
            for mark in ("slow", "not run", "shown", "instead"):
                assert block.marks.get(mark, "why") != "", f"{where}: {mark}, but why?"
            for pair in filter(None, block.marks.get("instead", "").split("; ")):
                assert pair.partition(" => ")[0] in block.text, f"{where}: {pair} replaces nothing"
    assert ran > 60


# -- formats -------------------------------------------------------------------------------


def test_every_record_of_docs_and_docstrings_is_replayed_without_a_problem() -> None:
    records = [block.text for block in blocks_of(read(ROOT / "docs" / "formats.md")) if block.text.startswith("[")]
    for module in ("formats.native", "formats.opentafl", "records"):
        text = import_module(f"tablut.{module}").__doc__ or ""
        records += [block.text for block in blocks_of(text) if re.match(r'\[\w+ "', block.text)]
    told = [record for record in records if "…" not in record]
    assert told
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
