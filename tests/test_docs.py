"""What README and docs show runs, and gives what they show.

Blocks are found in the Markdown (`tests.support.pages` says how a page marks what is slow or not run), so a new one is
tried without being listed anywhere. A page's blocks run in order in one empty folder, in this process.
"""

import doctest
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tablut.cli.shell import run
from tests.support.pages import PAGES, TUTORIALS, Block, Command, blocks_of, read
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


# -- formats -------------------------------------------------------------------------------
