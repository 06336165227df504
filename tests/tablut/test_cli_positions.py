"""The commands that handle positions, moves and records, as a user types them."""

import dataclasses
import io
import json
from pathlib import Path

import pytest

from tablut.cli.shell import run
from tablut.position import Position
from tablut.records import read_record
from tablut.records.native import replay
from tests.support.commands import Captured, answer, refusal

START = "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 w"


def test_show(capsys: Captured, tmp_path: Path) -> None:
    target = tmp_path / "new" / "board.svg"
    shown = answer(capsys, "show", "--svg", str(target))
    assert shown["position"] == START
    assert shown["turn"] == "white"
    assert shown["status"] == []
    assert shown["outcome"] is None
    assert target.read_text().startswith("<svg ")
    assert run(["show", "-v", "brandubh"]) == 0
    assert "4  ● ● ○ ♔ ○ ● ●" in capsys.readouterr().out


def test_positions_come_from_text_file_and_standard_input(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = "..b..\n.....\nb.K.b\n.....\n..b..\nb\n"
    file = tmp_path / "position.txt"
    file.write_text(grid)
    expected = "2b2/5/b1K1b/5/2b2 b"
    for source in (expected, grid, str(file)):
        assert answer(capsys, "show", "-v", "ashton-5-4v0", "-p", source)["position"] == expected
    monkeypatch.setattr("sys.stdin", io.StringIO(grid))
    assert answer(capsys, "show", "-v", "ashton-5-4v0", "-p", "-")["position"] == expected


def test_moves(capsys: Captured) -> None:
    listed = answer(capsys, "moves", "-v", "ashton-5-4v0", "-p", "5/2b2/b1K2/3b1/5 b")
    by_move = {entry["move"]: entry for entry in listed["moves"]}
    assert by_move["d2-d3"] == {"move": "d2-d3", "captures": [], "outcome": None}
    assert listed["turn"] == "black"
    escapes = answer(capsys, "moves", "-v", "ashton-5-4v0", "-p", "2b2/1K3/b3b/5/2b2 w")["moves"]
    assert {entry["move"] for entry in escapes if entry["outcome"]} == {"b4-a4", "b4-b5", "b4-e4", "b4-b1"}
    assert run(["moves", "-v", "ashton-5-4v0", "-p", "2b2/1K3/b3b/5/2b2 w"]) == 0
    assert "king escaped: white has won" in capsys.readouterr().out


def test_apply(capsys: Captured) -> None:
    applied = answer(capsys, "apply", "e4-f4", "e2f2")
    assert [entry["move"] for entry in applied["moves"]] == ["e4-f4", "e2-f2"]
    assert applied["position"] == "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b4w2b/4w4/5b3/3bbb3 w"
    assert applied["provenance"]["parameters"]["moves"] == ["e4-f4", "e2f2"]
    assert run(["apply", "e4-f4"]) == 0
    assert "black to move" in capsys.readouterr().out


def test_drawings_into_a_file_and_a_record_that_cannot_be_saved(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.txt").write_text('[Variant "ashton"]\n\n1. e4-f4\n')
    Path("file").write_text("kept")
    for command in (["symmetry", "show"], ["replay", "game.txt"]):
        assert "--svg 'file': is no folder" in refusal(capsys, *command, "--svg", "file")
    # Nothing is drawn if the record cannot be written after it.
    assert "Is a directory" in refusal(capsys, "replay", "game.txt", "--svg", "drawings", "--save", str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "game.txt"]
    assert Path("file").read_text() == "kept"


@pytest.mark.parametrize("to", ["tablut", "grid", "opentafl", "bologna"])
def test_every_format_of_positions_is_read_back(capsys: Captured, to: str) -> None:
    lopsided = "b8/9/2w6/9/4K4/6b2/9/9/1w7 b"
    text = answer(capsys, "convert", "--to", to, "-p", lopsided)["text"]
    again = answer(capsys, "convert", "--to", "tablut", "-p", text, "--side", "b")
    assert again["text"] == lopsided


WRONG = {
    "1. c3-b3 c1-b1\n2. b3-b2xa2 *": "ply 3: says b3-b2xa2, the move is b3-b2",
    "1. c3-b3 b3-b2 *": "ply 2: move b3-b2: is not legal",
    "1. c3-b3 c1-b1\n2. b3-b5 black": "result: says black, it is white (king escaped, white wins)",
    "1. c3-b3 c1-b1\n2. b3-b5 c5-d5 white": "ply 4: c5-d5 comes after the end (king escaped, white wins)",
}


@pytest.mark.parametrize("moves", WRONG)
def test_a_wrong_record_is_answered_with_no(capsys: Captured, tmp_path: Path, moves: str) -> None:
    file = tmp_path / "game.txt"
    file.write_text('[Variant "ashton-5-4v0"]\n\n' + moves)
    result = answer(capsys, "replay", str(file), code=1)
    assert any(problem.startswith(WRONG[moves]) for problem in result["problems"]), result["problems"]
    assert run(["replay", str(file)]) == 1
    assert WRONG[moves] in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["ashton.txt", "bologna-english_gameLog.txt", "bologna-italian_gameLog.txt", "brandub.otg"]
)
def test_the_sample_records_hold(capsys: Captured, name: str) -> None:
    result = answer(capsys, "replay", str(Path(__file__).resolve().parents[1] / "data" / "records" / name))
    assert result["problems"] == []
    assert result["moves"]


def test_a_board_that_the_record_claims_is_compared() -> None:
    record = read_record('[Variant "ashton-5-4v0"] 1. c3-b3 *')
    (right,) = (step.position for step in replay(record).plies)
    wrong = Position(right.cells.replace("K", ".", 1), right.side)
    assert replay(dataclasses.replace(record, positions=(right,))).problems == ()
    assert replay(dataclasses.replace(record, positions=(wrong,))).problems == (
        "ply 1: the record's board differs on b3",
    )


EIGHTEEN = "bbbbbbbbb/bbbbbbbbb/9/9/4K4/9/9/9/9 w"
ANSWERS = [
    ["moves"],
    ["bestmove", "--nodes", "10", "--hash", "1"],
    ["puzzle", "solve", "--nodes", "10"],
    ["convert", "--to", "grid"],
]


@pytest.mark.parametrize("command", ANSWERS, ids=lambda command: "-".join(command[:2]))
def test_every_answer_about_an_impossible_position_comes_with_a_warning(capsys: Captured, command: list[str]) -> None:
    assert run([*command, "-p", EIGHTEEN, "--json"]) in (0, 3)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["variant"] == "ashton"
    assert captured.err.startswith(
        f"tablut: warning: position '{EIGHTEEN}': is impossible in ashton: there are more att"
    )
    assert captured.err.count("\n") == 1
    assert run([*command, "-p", "3bbb3/9/9/9/4K4/9/9/9/9 w", "--json"]) in (0, 3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [*ANSWERS[:3], ["rank"]], ids=lambda command: "-".join(command[:2]))
def test_where_no_answer_makes_sense_there_is_none(capsys: Captured, command: list[str]) -> None:
    for text in ("9/9/9/9/9/9/9/9/b8 w", "9/9/9/9/3KK4/9/9/9/b8 w", "9/9/9/9/2K1b4/9/9/9/b8 w"):
        assert "cannot be played on" in refusal(capsys, *command, "-p", text)


def test_a_record_longer_than_any_game(capsys: Captured, tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    file.write_text('[Variant "leiden"]\n' + "e4-f4 e2-f2 f4-e4 f2-e2\n" * 5001)
    assert "has 20,004 moves; at most 20,000 are replayed" in refusal(capsys, "replay", str(file))
