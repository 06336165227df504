"""``tablut puzzle``: answers, exit codes, JSON, files."""

import json
from pathlib import Path

import pytest

from retrograde.puzzles.cli import app
from retrograde.puzzles.strip import draw_strip
from tablut.cli.shell import run
from tablut.errors import IllegalMoveError
from tablut.position import Move, Position
from tablut.variants import load_variant

START = "2b2/5/b1K1b/5/2b2 w"
SMALL = ["--memory", "4"]


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    code = run(["puzzle", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["puzzle", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_the_command_is_registered() -> None:
    assert {command.name for command in app.registered_commands} == {"solve", "make", "check"}


def test_a_solved_position(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    proof, strip = tmp_path / "proof.jsonl", tmp_path / "strip.svg"
    code, answer = asked(
        capsys, "solve", "-v", "ashton-5-4v0", *SMALL, "--save-proof", str(proof), "--svg", str(strip), "--all-wins"
    )
    assert code == 0
    assert (answer["status"], answer["wdl"], answer["dtm"], answer["winner"]) == ("proved", "win", 3, "white")
    assert answer["winning_moves"] == ["c3-b3", "c3-d3", "c3-c2", "c3-c4"]
    assert answer["other_winning_moves"] == []
    assert len(answer["line"]) == 3
    assert answer["position"] == START
    assert answer["bounds"] == {
        "white": {"win_within": 3, "no_win_within": 2, "never": False},
        "black": {"win_within": None, "no_win_within": -1, "never": True},
    }
    assert answer["nodes"] > 0
    assert {"version", "commit", "command", "parameters", "seconds", "peak_rss_bytes"} <= answer["provenance"].keys()
    assert strip.read_text().count('class="king"') == 4

    code, checked = asked(capsys, "check", str(proof))
    assert code == 0
    assert checked["failures"] == []
    assert (checked["winner"], checked["plies"], checked["distance"]) == ("white", 3, "exact")
    assert checked["strategy"] == answer["proof_positions"]

    damaged = proof.read_text().splitlines()
    entry = json.loads(damaged[-1])
    damaged[-1] = json.dumps([entry[0], entry[1], "a1-a2"])
    proof.write_text("\n".join(damaged))
    code, checked = asked(capsys, "check", str(proof))
    assert code == 1
    assert "not legal" in checked["failures"][0]
    assert run(["puzzle", "check", str(proof)]) == 1
    assert "fails" in capsys.readouterr().out
    assert "other rules" in refused(capsys, "check", str(proof), "-v", "brandubh-5-4v0")


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["puzzle", "solve", "-v", "brandubh", *SMALL, "-p", "7/7/2bb3/b2Kw1w/6w/7/1b1b3 w"]) == 0
    shown = capsys.readouterr().out
    assert "white wins in 7" in shown
    assert "only move that attains it: e4-e1" in shown
    assert "line: e4-e1 " in shown


def test_unknown_is_an_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    limits = ["--nodes", "2000", "--positions", "0"]
    code, answer = asked(capsys, "solve", "-v", "brandubh", *SMALL, *limits)
    assert code == 3
    assert (answer["status"], answer["wdl"], answer["dtm"], answer["winning_moves"]) == ("unknown", None, None, [])
    assert answer["bounds"]["white"]["no_win_within"] >= 2
    assert run(["puzzle", "solve", "-v", "brandubh", *SMALL, *limits]) == 3
    assert "proved: white: no win within" in capsys.readouterr().out
    proof = tmp_path / "proof"
    assert "no win is proved" in refused(capsys, "solve", "-v", "brandubh", *SMALL, *limits, "--save-proof", str(proof))
    assert not proof.exists()


def test_a_file_of_puzzles(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    good = f"{START}; id=good; stipulation=white wins in 3\n"
    file.write_text(f"# mine\n{good}{START}; id=asks\n")
    options = ["-v", "ashton-5-4v0", *SMALL]
    code, answer = asked(capsys, "solve", str(file), *options)
    assert code == 0
    assert (answer["checked"], answer["holds"], answer["without_claim"]) == (2, 1, 1)
    assert [puzzle["id"] for puzzle in answer["puzzles"]] == ["good", "asks"]
    assert answer["puzzles"][0]["solution"]["dtm"] == 3

    file.write_text(f"{good}{START}; id=bad; stipulation=black wins; first=c3-c4\n")
    assert run(["puzzle", "solve", str(file), *options]) == 1
    shown = capsys.readouterr().out
    assert "claimed: black wins, first move c3-c4" in shown
    assert "1 hold, 1 refuted, 0 unknown" in shown
    code, answer = asked(capsys, "solve", str(file), *options, "--nodes", "8", "--positions", "0")
    assert code == 3
    assert answer["unknown"] == 2


def test_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "these ship: collection" in refused(capsys, "solve", str(tmp_path / "nowhere"))
    assert "leave out --position" in refused(capsys, "solve", "collection", "-p", START)
    assert "game is over" in refused(capsys, "solve", "-v", "brandubh", "-p", "K6/7/7/7/7/7/3b3 b")
    assert "SOLDIER_ON_CASTLE" in refused(capsys, "solve", "-v", "brandubh", "-p", "7/7/7/3b3/2K4/7/7 w")
    assert "tablebase" in refused(capsys, "solve", "-v", "brandubh", "--tablebase", str(tmp_path))
    assert "is damaged" in refused(capsys, "check", __file__)
    assert "--max-plies" in refused(capsys, "make", "--min-plies", "5", "--max-plies", "3")
    unwritable = tmp_path / "file"
    unwritable.write_text("not a folder")
    target = str(unwritable / "proof")
    assert "--save-proof" in refused(capsys, "solve", "-v", "ashton-5-4v0", *SMALL, "--save-proof", target)


def test_new_puzzles_are_a_file_that_solves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "new.txt"
    options = ["-v", "brandubh", "-n", "2", "--seed", "5", "--nodes", "50000", "--max-plies", "5", "--memory", "4"]
    code, answer = asked(capsys, "make", *options, "--out", str(file))
    assert code == 0
    assert answer["provenance"]["seed"] == 5
    assert file.read_text().splitlines() == answer["puzzles"]
    code, solved = asked(capsys, "solve", str(file), *SMALL)
    assert code == 0
    assert solved["holds"] == 2
    code, answer = asked(capsys, "make", *options, "--games", "1", "--min-plies", "5")
    assert code == 3
    assert len(answer["puzzles"]) < 2


def test_a_strip_shows_every_ply() -> None:
    variant = load_variant("brandubh")
    position = Position.parse("7/7/2bb3/b2Kw1w/6w/7/1b1b3 w", 7)
    line = [Move.parse(move, 7) for move in ["e4-e1", "b1-c1", "d4-f4"]]
    drawing = draw_strip(variant, position, line, title="a <title>", columns=3)
    assert drawing == draw_strip(variant, position, line, title="a <title>", columns=3)
    assert drawing.count('class="king"') == 4
    assert drawing.count('class="arrow"') == 3
    assert "a &lt;title&gt;" in drawing
    assert "3. white d4-f4" in drawing
    with pytest.raises(IllegalMoveError):
        draw_strip(variant, position, line[1:])


def test_a_strip_is_well_formed() -> None:
    from xml.etree import ElementTree

    variant = load_variant("brandubh")
    position = Position.parse("7/7/2bb3/b2Kw1w/6w/7/1b1b3 w", 7)
    root = ElementTree.fromstring(draw_strip(variant, position, [Move.parse("e4-e1", 7)]))
    boards = root.findall("{http://www.w3.org/2000/svg}svg")
    assert len(boards) == 2
    assert float(root.attrib["width"]) >= sum(float(board.attrib["width"]) for board in boards)
