"""Expected points: the shipped tables against a plain twin, and who may use them."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pydantic import ValidationError

from reports.studies.balance.points import BINS, Positions, checked, fitted
from tablut.board import Board
from tablut.cli.shell import run
from tablut.play.search import Searcher, SearchLimits, expectation
from tablut.play.search.expectation import UNITS, Expectation, expectation_for, shipped_tables
from tablut.play.search.limits import EVALUATION_LIMIT
from tablut.variants import load_variant
from tablut.variants.schema import write_variant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TABLES = list(shipped_tables().values())


def between(value: float, knots: Sequence[float]) -> list[tuple[int, float]]:
    """The two knots around a value, with their weights; values outside count as the nearest knot."""
    value = min(max(value, knots[0]), knots[-1])
    at = max(place for place in range(len(knots) - 1) if knots[place] <= value)
    share = (value - knots[at]) / (knots[at + 1] - knots[at])
    return [(at, 1 - share), (at + 1, share)]


def plain(table: Expectation, score: int, men: int, nodes: int, black: bool) -> float:
    whites = -(score + table.tempo) if black else score + table.tempo
    found = sum(
        by_nodes * by_men * by_score * table.points[row][column][place] / UNITS
        for row, by_nodes in between(math.log2(max(nodes, 1)), [math.log2(one) for one in table.nodes])
        for column, by_men in between(men, table.men)
        for place, by_score in between(whites, table.scores)
    )
    return 1 - found if black else found


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.variant)
def test_a_table_is_the_plain_one_and_never_falls(table: Expectation) -> None:
    variant = load_variant(table.variant)
    assert (table.rules, table.evaluation) == (variant.digest, expectation_for(variant).evaluation)  # type: ignore[union-attr]
    drawn = random.Random(68)
    for _ in range(60):
        score, black = drawn.randint(-table.scores[-1] - 200, table.scores[-1] + 200), drawn.random() < 0.5
        men, nodes = drawn.randint(1, table.men[-1] + 2), drawn.choice([0, 1, 999, 1000, 3000, 7777, 10**6])
        found = table.expected(score, men, nodes, black=black)
        assert found == pytest.approx(plain(table, score, men, nodes, black), abs=1e-9)
        assert 0 <= found <= table.expected(score + drawn.randint(0, 300), men, nodes, black=black) + 1e-12 <= 1 + 1e-9
    for black in (False, True):
        assert table.expected(EVALUATION_LIMIT + 1, 5, 1000, black=black) == 1
        assert table.expected(-EVALUATION_LIMIT - 1, 5, 1000, black=black) == 0


def test_a_choice_contains_the_points_of_its_table() -> None:
    board = Board("brandubh")
    found = Searcher(board.variant, hash_mib=1).search(board, SearchLimits(nodes=2000), lines=2)
    table = expectation_for(board.variant)
    assert table is not None
    assert found.score is not None
    men, black = sum(board.position.material), board.turn == "black"
    for line in (found, *found.others):
        assert line.score is not None
        assert line.points is not None
        low, high = sorted(table.expected(line.score, men, nodes, black=black) for nodes in (500, 2000))
        assert low - 1e-3 <= line.points <= high + 1e-3


def test_a_table_of_other_rules_or_of_another_evaluation_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    variant = load_variant("brandubh")
    mine = tmp_path / "mine.toml"
    mine.write_text(write_variant(variant), encoding="utf-8")
    assert expectation_for(load_variant(str(mine))) is not None  # the same rules under another name
    table = shipped_tables()[variant.digest].model_copy(update={"evaluation": "0" * 64})
    monkeypatch.setattr(expectation, "shipped_tables", lambda: {variant.digest: table})
    expectation_for.cache_clear()
    try:
        assert expectation_for(variant) is None
        assert run(["--json", "bestmove", "-v", "brandubh", "--nodes", "200"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["points"] is None
        assert answer["score"] is not None
        assert run(["bestmove", "-v", "brandubh", "--nodes", "200"]) == 0
        assert "%" not in capsys.readouterr().out
    finally:
        expectation_for.cache_clear()


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": (1000, 1000)},
        {"men": (5,)},
        {"scores": (3, 2)},
        {"points": (((600, 500), (0, 1000)),) * 2},
        {"points": (((0, 1001), (0, 1000)),) * 2},
        {"points": (((0, 500),),) * 2},
        {"games": (1,)},
    ],
)
def test_a_table_of_another_shape_is_refused(change: dict[str, object]) -> None:
    right: dict[str, object] = {"variant": "brandubh", "rules": "", "evaluation": "", "games": (1, 1), "tempo": 0}
    right |= {"nodes": (1000, 5000), "men": (5, 12), "scores": (-100, 100), "points": (((0, 1000), (0, 1000)),) * 2}
    assert Expectation.model_validate(right).expected(0, 9, 2000, black=False) == 0.5
    with pytest.raises(ValidationError):
        Expectation.model_validate(right | change)


TEMPO = 80


def made_up(seed: int, nodes: int, games: int) -> Positions:
    """Positions of games whose results follow a known curve, with 40 positions in each game."""
    drawn = np.random.default_rng([seed, nodes])
    game = np.repeat(np.arange(games), 40)
    black = np.tile([0, 1], len(game) // 2)
    score, men = drawn.integers(-1500, 1500, len(game)), drawn.integers(4, 13, len(game))
    curve = 1 / (1 + np.exp(-(score + TEMPO * (1 - 2 * black) - 100) / (150 if nodes > 2000 else 400)))
    points = (drawn.random(len(game)) < curve).astype(float)
    return Positions(game, np.tile(np.arange(40), games), black, score, men, points)


def test_the_fit_finds_the_curve_that_made_the_results_and_the_check_agrees_with_a_plain_one() -> None:
    variant = load_variant("brandubh")
    table = fitted(variant, {nodes: made_up(1, nodes, 300) for nodes in (1000, 5000)})
    assert table.games == (300, 300)
    assert abs(table.tempo - TEMPO) <= 40
    assert all(low <= high for rows in table.points for row in rows for low, high in pairwise(row))
    for nodes in table.nodes:
        rows = made_up(2, nodes, 200)
        found = checked(variant, table, rows, nodes, 2)
        assert found.error < 2.5
        assert found.largest is not None
        assert found.largest < 8
        sums: dict[int, list[Fraction]] = {}
        for black, score, men, points in zip(*(column.tolist() for column in rows[2:]), strict=True):
            own = table.expected(-score if black else score, men, nodes, black=bool(black))
            expected = 1 - own if black else own
            sums.setdefault(min(int(BINS * expected), BINS - 1), []).append(Fraction(expected) - Fraction(points))
        error = 100 * sum(abs(sum(part)) for part in sums.values()) / len(rows.score)
        assert found.error == pytest.approx(float(error), abs=0.06)
        assert sum(positions for *_, positions, _ in found.bins) == found.positions == len(rows.score)
    flat = checked(
        variant, table.model_copy(update={"points": ((((500,) * len(table.scores)),) * 3,) * 2}), rows, 5000, 2
    )
    assert flat.error < 10 < checked(variant, table, rows._replace(points=1 - rows.points), 5000, 2).error


def test_adjudication_converts_the_old_scale_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["match", "alphabeta", "random", "-v", "brandubh", "--nodes", "20", "-n", "2", "--hash", "1"]
    for threshold, noted in (("97", False), ("800", True)):
        assert run([*line, "--candidates", "1", "--adjudicate-scores", "2", threshold]) == 0
        assert ("centi-logits" in capsys.readouterr().err) == noted
    assert run([*line, "--adjudicate-scores", "2", "50"]) == 2
