"""Analysed games against the whole truth of a solved board; annotation, pictures, and the command."""

import json
from pathlib import Path
from random import Random

import pytest

from retrograde.solver import solve_game
from tablut import Board
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.formats import GameRecord, read_record
from tablut.play.analysis import Analyst, GameAnalysis, analyse
from tablut.play.analysis.annotate import annotated, draw_errors
from tablut.play.analysis.insight import chance_of
from tablut.play.search.limits import SearchLimits
from tablut.position import MoveText
from tablut.variants import load_variant

RULES = load_variant("ashton-5-4v0")
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
    return [(record, analyse(record, analyst)) for record in map(random_game, range(120))]


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
    """A missed win, and the first move that loses, are found from the tables alone as well."""
    missed = decisive = 0
    for record, found in analysed:
        board = Board(RULES)
        first = None
        for ply, said in zip(found.plies, record.moves, strict=True):
            before = solved.probe(board.position).wdl
            board.push(said.move)
            outcome = board.outcome()
            if outcome is None:
                after = solved.probe(board.position).wdl
            else:
                after = "draw" if outcome.winner is None else "loss" if outcome.winner == ply.side else "win"
            assert ply.missed_win == (before == "win" and after != "loss")
            missed += ply.missed_win
            if first is None and before != "loss" and after == "win":
                first = ply.ply
            if before == "win" and after == "loss":
                assert ply.loss == 0
            if before == "win" and after == "win":
                assert ply.loss == 1
                assert ply.grade == "blunder"
        error = found.first_decisive_error
        assert (None if error is None else error.ply) == first
        decisive += first is not None
    assert missed > 5
    assert decisive > 5


def test_accuracy_is_the_mean_of_what_moves_kept(analysed) -> None:
    for _, found in analysed:
        for side, report in (("white", found.white), ("black", found.black)):
            own = [ply for ply in found.plies if ply.side == side]
            assert report.moves == len(own)
            assert report.accuracy == pytest.approx(100 - 100 * sum(ply.loss for ply in own) / len(own), abs=0.06)
            assert report.blunders == sum(ply.grade == "blunder" for ply in own)


def test_an_annotated_record_is_the_same_game(analysed) -> None:
    for record, found in analysed:
        text = annotated(record, found)
        again = read_record(text)
        assert [said.move for said in again.moves] == [said.move for said in record.moves]
        assert again.result == record.result
        assert text.count("{") == text.count("}") == len(found.plies)


def test_pictures_show_every_error(analysed) -> None:
    drawn = 0
    for _, found in analysed:
        errors = [ply for ply in found.plies if ply.grade or ply.missed_win]
        picture = draw_errors(RULES, found)
        assert (picture is None) == (not errors)
        if picture is not None:
            assert picture.count('class="king"') == len(errors)
            drawn += 1
    assert drawn > 5


def test_a_score_promises_what_its_odds_say() -> None:
    assert chance_of(0) == 0.5
    assert chance_of(100) / chance_of(-100) == pytest.approx(2.718281828, rel=1e-6)
    assert all(chance_of(one) + chance_of(-one) == pytest.approx(1) for one in (1, 50, 700, 30_000))


def test_a_record_that_breaks_the_rules_is_analysed_up_to_there(analyst: Analyst) -> None:
    found = analyse(read_record('[Variant "ashton-5-4v0"] 1. c3-b3 c1-b1 2. b3-e1'), analyst)
    assert len(found.plies) == 2
    assert "b3-e1" in found.problems[0]
    with pytest.raises(InputError, match="no legal move"):
        analyse(read_record('[Variant "ashton-5-4v0"] *'), analyst)
    with pytest.raises(InputError, match="is of brandubh"):
        analyse(read_record('[Variant "brandubh"] 1. d1-c1'), analyst)


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir()))
def test_every_record_that_is_read_is_analysed(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = ["analyse", str(DATA / name), "--nodes", "200", "--hash", "1", "--proof-nodes", "300", "--json"]
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
