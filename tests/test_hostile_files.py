"""A kept corpus of hostile files: every one is refused in one line, in bounded time, and nothing comes of it.

Where a game is well formed and only its moves or its neighbours are not, the answer names them (exit code 1).
A file of ``tests/data/hostile/KIND`` is one idea. To keep another one, put it there. Each
is given to a command that reads files of its kind, and under ``-m slow`` to every one.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tablut.cli.shell import run
from tablut.variants import load_variant
from tests.support.waiting import at_most

HOSTILE = Path(__file__).parent / "data" / "hostile"
SECONDS = 20
"""Far above what any of them takes, far below what a text read in more than linear time would."""

FILE, TEXT = "<file>", "<text>"
COMMANDS = {
    "variants": [["variants", FILE], ["bounds", "-v", FILE], ["status", "-v", FILE]],
    "positions": [
        ["moves", "-p", FILE],
        ["moves", "-p", "-"],
        ["rank", "-p", FILE],
        ["apply", "e4-f4", "-p", FILE],
        ["bestmove", "--nodes", "1", "-p", FILE],
        ["puzzle", "solve", "--nodes", "1", "-p", FILE],
    ],
    "moves": [["apply", TEXT], ["convert", "--to", "grid", TEXT], ["bestmove", "--nodes", "1", "--move", TEXT]],
    "records": [["replay", FILE], ["replay", "-"]],
    "opentafl": [["replay", FILE]],
    "bologna": [["replay", FILE]],
    "archives": [["games", FILE, "-v", "ashton-5-4v0"]],
}
ANSWERED = {
    **{f"archives/{name}.csv": "line 2  not read" for name in ("control", "digits", "fields", "quote", "record")},
    **{f"records/{name}.txt": "ply 1: move e4-e7: is not legal" for name in ("exponential", "many-captures")},
}
CASES = [
    pytest.param(
        command,
        path,
        id=f"{kind}-{path.stem}-{command[0]}{'-stdin' * ('-' in command)}",
        marks=[] if number % len(commands) == turn else pytest.mark.slow,
    )
    for kind, commands in COMMANDS.items()
    for number, path in enumerate(sorted((HOSTILE / kind).iterdir()))
    for turn, command in enumerate(commands)
]


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile beforehand what the commands run where a text turns out to be good: that takes longer than the limit."""
    position = load_variant("ashton").start_position
    # 3: the search found out nothing, and all of it is compiled.
    for command, code in ((["bestmove", "--nodes", "1"], 0), (["puzzle", "solve", "--nodes", "1"], 3), (["moves"], 0)):
        assert run([*command, "-p", position]) == code, command


@pytest.mark.parametrize(("command", "path"), CASES)
def test_a_hostile_file_is_refused_in_one_line(
    command: list[str], path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = path.read_bytes()
    text = content.decode("utf-8", errors="replace") if TEXT in command else ""
    arguments = [{FILE: str(path), TEXT: text}.get(word, word) for word in command]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    # Processor time: a busy machine is not the file's fault.
    with at_most(SECONDS, processor=True):
        code = run(arguments)
    said = capsys.readouterr()
    if str(path.relative_to(HOSTILE)) in ANSWERED and command[0] in ("replay", "games"):
        assert (code, said.err) == (1, "")
        assert ANSWERED[str(path.relative_to(HOSTILE))] in said.out
        assert said.out.replace("\n", "").isprintable(), "control characters reach the terminal"
        return
    assert code == 2, said
    assert said.out == ""
    *warnings, line = said.err.splitlines()
    assert all(warning.startswith("tablut: warning: ") for warning in warnings), said.err
    assert line.startswith("tablut: ")
    assert len(said.err) < 2000, "the input is echoed"
    assert said.err.replace("\n", "").isprintable(), "control characters reach the terminal"
    assert list(tmp_path.iterdir()) == []
