"""A game in the terminal, its lines piped in."""

import io
import re
from pathlib import Path

import pytest

from tablut.board import Board
from tablut.cli.shell import run
from tablut.records import read_record
from tablut.replay import replay
from tests.support.games import UNCOMPILED

Captured = pytest.CaptureFixture[str]
BOARD = re.compile(r"^9  ", re.MULTILINE)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    """Return a function that plays with lines piped in, and gives exit code, output and errors."""
    # Wide enough that no message is broken, whatever runs the tests.
    monkeypatch.setenv("COLUMNS", "200")

    def played(lines: str, *options: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines.split("|")) + ("\n" if lines else "")))
        code = run(["play", *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return played


FORT = "11/11/2b8/11/11/11/11/11/4www4/3w4w2/3w1K1w3 w"


def test_the_board_is_drawn_after_each_move(play) -> None:
    code, out, err = play("e4-f4|e2-f2|quit", "--side", "both")
    assert (code, err) == (0, "")
    assert len(BOARD.findall(out)) == 3
    assert "white> e4-f4" in out
    assert "black to move, ashton" in out
    assert "ashton after 2 plies: 3bbb3/" in out


def test_undo_goes_back_to_the_persons_turn(play) -> None:
    _, out, _ = play("e4-f4|undo|position|quit", "--player", "random")
    assert f"white> position\n{Board('ashton').text}" in out
    _, out, _ = play("e4-f4|e2-f2|undo|position|quit", "--side", "both")
    assert "b4w2b/4w4/4b4/3bbb3 b\n" in out.split("position")[-1]
    # Black's person cannot take the player's first move back.
    _, out, _ = play("undo|quit", "--side", "black", "--player", "random")
    assert "you have no move to take back" in out


def test_a_game_goes_on_where_nobody_can_give_a_hint(play, tmp_path: Path) -> None:
    (rules := tmp_path / "forts.toml").write_text(UNCOMPILED, encoding="utf-8")
    _, out, _ = play("hint|f19-f18|quit", "--side", "both", "-v", str(rules))
    assert "compiled engine" in out
    assert "1. f19-f18" in out
    _, out, _ = play("i2-h2", "--side", "both", "-v", "copenhagen", "-p", FORT)
    assert "white wins (exit fort)" in out


def test_resigning_ends_the_game_and_can_be_taken_back(play, tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    _, out, _ = play("e4-f4|resign", "--side", "both", "--save", str(file))
    assert "white wins (resigned)" in out
    record = read_record(file.read_text(encoding="utf-8"))
    assert (record.result, len(record.moves)) == ("white", 1)
    _, out, _ = play("resign|e4-f4|undo|e4-f4|quit", "--side", "both")
    assert "the game is over: undo, save FILE, board, position or quit" in out
    assert "1. e4-f4" in out


def test_a_saved_game_is_a_record(play, tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    start = "2b2/5/b1K1b/5/2b2 w"
    play(f"c3-b3|c1-b1|save {file}|quit", "--side", "both", "-v", "ashton-5-4v0", "-p", start)
    record = read_record(file.read_text(encoding="utf-8"))
    assert replay(record).problems == ()
    assert [str(move) for move in record.moves] == ["c3-b3", "c1-b1"]
    assert record.start is None
    notes = tmp_path / "notes.txt"
    notes.write_text("precious\n", encoding="utf-8")
    _, out, _ = play(f"c3-b3|save {notes}|quit", "--side", "both", "-v", "ashton-5-4v0", "-p", start)
    assert "exists and is not" in out
    assert notes.read_text(encoding="utf-8") == "precious\n"
    play(f"c3-b3|save {file}|quit", "--side", "both", "-v", "ashton-5-4v0", "-p", "2b2/5/b1K2/5/2b2 w")
    assert str(read_record(file.read_text(encoding="utf-8")).start) == "2b2/5/b1K2/5/2b2 w"


def test_a_move_off_the_board_is_named_as_such(play) -> None:
    _, out, _ = play("c3-c9|quit", "--side", "both", "-v", "ashton-5-4v0", "-p", "2b2/5/b1K2/5/2b2 w")
    assert "square 'c9': expected a1 to e5" in out
    assert "did you mean" not in out


def test_hints_judgements_and_table_values(play) -> None:
    # White's king takes an escape in one.
    won = ("-v", "ashton-5-4v0", "-p", "5/5/1K3/5/b3b w", "--side", "both", "--nodes", "500")
    _, out, _ = play("hint|eval|quit", *won)
    assert re.search(r"^b3-(b1|b5|a\d)  \(White wins in 1 ply\)$", out, re.MULTILINE)
    assert "White wins in 1 ply" in out
    _, out, _ = play("table|quit", "-p", "9/9/9/4w4/2K6/9/9/9/4b4 b", "--side", "both")
    assert "black to move: loss in 2 plies" in out
    _, out, _ = play("table|quit", "-v", "ashton-5-4v4", "-p", "5/5/1K3/5/b3b w", "--side", "both")
    assert "no tablebase of ashton-5-4v4 is built in" in out


def test_an_interrupted_game_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    lines = iter(["e4-f4"])

    def ask(_self: object, _prompt: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("tablut.play.terminal.LineReader.ask", ask)
    file = tmp_path / "game.txt"
    assert run(["play", "--side", "both", "--save", str(file)]) == 130
    assert "interrupted; the results so far are above" in capsys.readouterr().err
    assert len(read_record(file.read_text(encoding="utf-8")).moves) == 1
