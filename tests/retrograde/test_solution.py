"""Complete solutions of reduced boards, against independent figures and against the census."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from counting.census import census
from reports.solutions import results
from retrograde.solver.solution import SolvedGame, memory_needed
from retrograde.solver.solver_report import SolveReport, solve_report
from retrograde.tablebase.probing import open_tablebase
from retrograde.tablebase.store import open_store
from retrograde.verification.verifying import verify
from tablut.board import Board
from tablut.cli.shell import run
from tablut.position import Position
from tablut.variants import load_variant
from tests.support.effort import slow_but
from tests.support.observing import Heard


@cache
def solved_board(name: str) -> tuple[SolveReport, SolvedGame]:
    return solve_report(load_variant(name))


# White to move: win, draw, loss; black to move; in classes.
FIGURES = [
    ("ashton-5-4v0", 139_097, 17_518, (8_525, 0, 286), (2_565, 0, 6_142), 5, "white", 3),
    ("brandubh-5-4v0", 199_512, 25_265, (13_097, 14, 80), (3_790, 69, 8_215), 11, "white", 6),
]


@pytest.mark.parametrize(
    ("name", "positions", "classes", "white", "black", "deepest", "value", "dtm"),
    slow_but(FIGURES[1:], FIGURES),
    ids=str,
)
def test_independent_figures(
    name: str,
    positions: int,
    classes: int,
    white: tuple[int, int, int],
    black: tuple[int, int, int],
    deepest: int,
    value: str,
    dtm: int,
) -> None:
    report, solved = solved_board(name)
    assert (report.positions, report.classes, report.max_dtm) == (positions, classes, deepest)
    by_class = report.by_class
    assert (by_class.white_to_move.win, by_class.white_to_move.draw, by_class.white_to_move.loss) == white
    assert (by_class.black_to_move.win, by_class.black_to_move.draw, by_class.black_to_move.loss) == black
    assert (report.value, report.dtm) == (value, dtm)
    # Orbit sizes add up to the count of the census, which knows no tiers.
    counted = census(load_variant(name))
    assert (counted.total, counted.total_classes) == (positions, classes)
    assert (
        sum(count.positions for count in report.distances)
        + sum(getattr(report, side).draw for side in ("white_to_move", "black_to_move"))
        == positions
    )
    assert sum(tier.positions for tier in report.tiers) == positions
    for pair in counted.material:
        tier = next(t for t in report.tiers if (t.attackers, t.defenders) == (pair.attackers, pair.defenders))
        assert (tier.positions, tier.bound) == (pair.reached, pair.bound)
    # The longest line is played out: it takes as long as it says, and every move keeps the value.
    assert report.longest is not None
    board = Board(name, Position.parse(report.longest.position, 5))
    for number, move in enumerate(report.longest.line):
        assert board.outcome() is None
        assert solved.probe(board.position).dtm == deepest - number
        board.push_text(move)
    outcome = board.outcome()
    assert outcome is not None
    loser = "black" if report.longest.position.endswith("b") == (report.longest.wdl == "loss") else "white"
    assert outcome.winner not in (None, loser)


def fewer_symmetries(store: Path | None = None) -> tuple[SolveReport, SolvedGame]:
    report, solved = solve_report(load_variant("ashton-5-4v2"), threads=2, store=store)
    assert (report.positions, report.classes, len(report.symmetries)) == (26_909_751, 6_731_251, 4)
    assert (report.value, report.dtm, report.max_dtm) == ("white", 3, 28)
    return report, solved


@pytest.mark.slow
def test_the_store_of_a_board_whose_start_has_fewer_symmetries(tmp_path: Path) -> None:
    root = tmp_path / "store"
    report, solved = fewer_symmetries(root)
    # The other side of the stored index: every value proved once more, from its moves.
    checked = verify(root, sample=5, seed=1, threads=2)
    assert not checked.failures
    assert checked.positions_checked == 3_443_920
    prober = open_tablebase(root)
    for line in (report.start, report.longest):
        assert line is not None
        position = Position.parse(line.position, 5)
        assert prober.probe(position) == solved.probe(position) == (line.wdl, line.dtm)


@pytest.mark.parametrize("symmetric", slow_but([False], [True]))
def test_a_solution_that_was_stopped_goes_on_with_its_tiers(tmp_path: Path, symmetric: bool) -> None:
    variant = load_variant("brandubh-5-4v0")
    if not symmetric:
        variant = replace(variant, start=("...b.", "..b..", "..K.b", ".....", "..b.."))
    assert (len(variant.start_symmetries) == len(variant.symmetries)) is symmetric

    class Stopped(Heard):
        def advance(self, count: int = 1) -> None:
            super().advance(count)
            if self.notes[-1].startswith("3v0"):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_report(variant, store=tmp_path, observer=Stopped())
    assert open_store(tmp_path).tiers() == [(1, 0), (2, 0), (3, 0)]
    heard = Heard()
    again, _ = solve_report(variant, store=tmp_path, observer=heard)
    assert again == solve_report(variant)[0]
    assert {note[:3] for note in heard.notes if "distance" in note} == {"4v0"}
    assert "the other 3 are stored" in heard.announced[0]
    assert heard.done == heard.total
    assert not verify(tmp_path, sample=3).failures


@pytest.mark.parametrize("name", ["ashton-5-4v0", "brandubh-5-4v0"])
def test_stored_solutions_are_found_again(name: str) -> None:
    report, _ = solved_board(name)
    stored = {key: value for key, value in results()[name].items() if key != "provenance"}
    assert report.model_dump(mode="json") == stored


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "positions", "classes", "value", "dtm", "deepest"),
    [
        ("brandubh-5-4v4", 418_208_182, 52_291_482, "white", 8, 22),
        ("ashton-5-4v4", 493_832_775, 61_750_501, "white", 11, 42),
    ],
)
def test_larger_boards(name: str, positions: int, classes: int, value: str, dtm: int, deepest: int) -> None:
    report, _ = solve_report(load_variant(name), threads=2)
    assert (report.positions, report.classes) == (positions, classes)
    assert (report.value, report.dtm, report.max_dtm) == (value, dtm, deepest)


def test_a_board_that_is_too_large_is_refused_before_anything_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "-v", "ashton"]) == 2
    assert "ashton" in capsys.readouterr().err
    assert run(["solve", "-v", "ashton-5-4v2", "--memory", "1"]) == 2
    assert memory_needed(load_variant("ashton-5-4v2")) > 1 << 20
