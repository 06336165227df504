"""Analysed games against the whole truth of a solved board; annotation, pictures, and the command."""

import json
from pathlib import Path
from random import Random

import pytest

from retrograde import solve_game
from tablut import Board
from tablut.cli.shell import run
from tablut.play.analysis import Analyst, GameAnalysis, analyse, annotated
from tablut.play.search.limits import SearchLimits, format_score, nominal_points
from tablut.position import MoveText
from tablut.records import GameRecord, read_record, write_record
from tablut.variants import load_variant

RULES = load_variant("ashton-5-4v0")
OTHER = {"white": "black", "black": "white"}
DATA = Path(__file__).resolve().parents[1] / "data" / "records"


@pytest.fixture(scope="module")
def solved():
    return solve_game(RULES)


@pytest.fixture(scope="module")
def analyst() -> Analyst:
    return Analyst(RULES, SearchLimits(nodes=200), proof_nodes=200_000, hash_mib=1)


def random_game(seed: int) -> GameRecord:
    board, random = Board(RULES), Random(seed)
    while board.outcome() is None and board.ply < 12:
        board.push(random.choice(list(board.legal_moves)))
    moves = tuple(MoveText(move, None) for move in board.move_stack)
    return GameRecord({"White": "Anna"}, RULES, None, moves, None)


@pytest.fixture(scope="module")
def analysed(analyst: Analyst) -> list[tuple[GameRecord, GameAnalysis]]:
    return [(record, analyse(record, analyst)) for record in map(random_game, range(60))]


def test_what_is_known_is_true(analysed, solved) -> None:
    """Win or loss, distance and best moves of every ply, against the solver's tables."""
    wins = 0
    for _, found in analysed:
        for ply in found.plies:
            truth = solved.probe(ply.position)
            if ply.wdl is None:
                continue
            expected = "draw" if truth.wdl in ("draw", "unresolved") else truth.wdl
            assert ("draw" if ply.wdl == "unresolved" else ply.wdl) == expected, ply
            if ply.dtm is None:
                continue
            wins += 1
            assert ply.dtm == truth.dtm
            for move in ply.best:
                board = Board(RULES, ply.position)
                board.push(move)
                left = 0 if board.outcome() is not None else solved.probe(board.position).dtm
                assert left == ply.dtm - 1, "a best move keeps the distance"
    assert wins > 50


def test_errors_are_those_that_the_tables_show(analysed, solved) -> None:
    """A missed win and the losing move, of boards solved whole, are found from the tables alone as well."""
    missed = decisive = earlier = 0
    for record, found in analysed:
        board = Board(RULES)
        values = [solved.probe(board.position).wdl]
        for ply, said in zip(found.plies, record.moves, strict=True):
            board.push(said.move)
            outcome = board.outcome()
            if outcome is None:
                values.append(solved.probe(board.position).wdl)
            else:
                values.append("draw" if outcome.winner is None else "loss" if outcome.winner == ply.side else "win")
            before, after = values[-2:]
            assert ply.missed_win == (before == "win" and after != "loss")
            missed += ply.missed_win
            if before == "win" and after == "loss":
                assert ply.loss == 0
            if before == "win" and after == "win":
                assert ply.loss == 1
                assert ply.grade == "blunder"
        # Who loses at last, and the last position in which that side was not lost: its move from there lost.
        turns = [*(ply.side for ply in found.plies), board.turn]
        doomed = [{"loss": turn, "win": OTHER[turn]}.get(value) for value, turn in zip(values, turns, strict=True)]
        stood = [number for number, side in enumerate(doomed) if side != doomed[-1]]
        error = found.first_decisive_error
        if doomed[-1] is None or not stood:
            assert error is None
            continue
        assert error is not None
        assert (error.ply, error.side, error.certain) == (stood[-1] + 1, doomed[-1], True)
        decisive += 1
        earlier += any(ply.loss == 1 for ply in found.plies[: stood[-1]])
    assert missed > 5
    assert decisive > 5
    assert earlier > 5, "there were errors that were forgiven"


def test_who_resigns_a_game_that_stands_made_no_losing_move(analyst: Analyst) -> None:
    """And a game that was lost from the start on has none either."""
    resigned = read_record('[Variant "ashton-5-4v0"] 1. c3-b3 c1-b1 black')
    assert analyse(resigned, analyst).first_decisive_error is None
    beaten = read_record('[Variant "ashton-5-4v0"] 1. c3-b3 c1-b1 white')
    assert analyse(beaten, analyst).first_decisive_error is None


def test_an_annotated_record_is_the_same_game(analysed) -> None:
    for record, found in analysed:
        text = write_record(annotated(record, found))
        again = read_record(text)
        assert [said.move for said in again.moves] == [said.move for said in record.moves]
        assert again.result == record.result
        assert text.count("{") == text.count("}") == len(found.plies)


def test_a_score_is_shown_in_points_and_a_proof_in_plies() -> None:
    assert (format_score(-100, None, 0.274), format_score(-100, None, None)) == ("27 %", "-100")
    assert [format_score(score, mate, 0.5) for score, mate in ((29_999, 1), (-29_998, -2))] == [
        "wins in 1 ply",
        "loses in 2 plies",
    ]
    assert format_score(-24_998, None, 0.0) == "loses by the tablebase in 2 plies"
    assert format_score(19_999, None, 1.0) == "wins by the repetition in 1 ply"
    assert format_score(None, None, None) == ""
    assert nominal_points(100) / nominal_points(-100) == pytest.approx(2.718281828, rel=1e-6)
    assert all(nominal_points(one) + nominal_points(-one) == pytest.approx(1) for one in (0, 1, 50, 700, 30_000))


@pytest.mark.parametrize("name", ["ashton.txt", "brandub.otg"])
def test_a_record_of_any_kind_is_analysed(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = ["analyse", str(DATA / name), "--nodes", "60", "--hash", "1", "--proof-nodes", "100", "--json"]
    kept = tmp_path / "annotated.txt"
    code = run([*line, "--annotate", str(kept)])
    said = capsys.readouterr()
    if code == 2:
        # The record has rules that are not ours: one line says so.
        assert said.err.count("\n") == 1
        return
    assert code == 0
    found = json.loads(said.out)
    assert {"ply", "move", "score", "wdl", "dtm", "best", "loss"} <= set(found["plies"][0])
    assert "first_decisive_error" in found
    again = read_record(kept.read_text())
    assert [str(said.move) for said in again.moves][: len(found["plies"])] == [ply["move"] for ply in found["plies"]]


def test_all_games_in_a_folder_are_analysed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Also those of a collection; a game that cannot be analysed is named, and the others are analysed."""
    match = ["match", "random", "random", "-v", RULES.name, "--games", "2", "--nodes", "1", "--store"]
    folder, line = tmp_path / "games", ["--nodes", "60", "--hash", "1", "--proof-nodes", "100"]
    assert run([*match, str(folder)]) == 0
    assert run(["games", str(folder), "--into", str(folder / "all.games")]) == 0
    capsys.readouterr()
    assert run(["analyse", str(folder), *line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [Path(game["file"]).name for game in found["games"]] == ["game-000000.txt", "game-000001.txt"]
    for game in found["games"]:
        assert run(["analyse", game["file"], *line, "--json"]) == 0
        alone = json.loads(capsys.readouterr().out)
        assert {name: value for name, value in alone.items() if name not in ("provenance", "file", "number")} == {
            name: value for name, value in game.items() if name not in ("file", "number")
        }
    assert run(["analyse", str(folder), *line]) == 0
    assert str(folder / "game-000001.txt") in capsys.readouterr().out
    assert run(["analyse", str(folder), *line, "--csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + sum(len(game["plies"]) for game in found["games"])
    (folder / "bad.txt").write_text(f'[Variant "{RULES.name}"]\n1. a1-a2 *\n', encoding="utf-8")
    assert run(["analyse", str(folder), *line, "--json"]) == 1
    again = json.loads(capsys.readouterr().out)
    assert again["games"] == found["games"]
    assert (str(folder / "bad.txt"), 1) in [(game["file"], game["number"]) for game in again["unread"]]
    (tmp_path / "empty").mkdir()
    for words in ([str(tmp_path / "empty")], [str(folder), "--annotate", str(tmp_path / "out.txt")]):
        assert run(["analyse", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1
