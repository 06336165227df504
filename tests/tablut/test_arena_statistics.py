"""Scores, intervals, ratings and the sequential test against independent ways to the same numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, fisher_exact

from tablut.errors import InputError
from tablut.play.arena.statistics import (
    Sprt,
    Tally,
    elo_of,
    same_chances,
    score_of,
    superiority,
    wilson,
)
from tablut.play.arena.tournament import ratings

FIVE = st.lists(st.integers(0, 60), min_size=5, max_size=5).filter(lambda counts: sum(counts) > 3)


@given(st.floats(-800, 800))
def test_elo_and_score_are_inverse(elo: float) -> None:
    found = elo_of(score_of(elo))
    assert found is not None
    assert found == pytest.approx(elo, abs=1e-6)
    assert score_of(elo) + score_of(-elo) == pytest.approx(1)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(counts: tuple[int, int]) -> None:
    wins, games = counts
    expected = binomtest(wins, games).proportion_ci(0.95, "wilson")
    assert wilson(wins, games) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(FIVE, st.sampled_from([(0.0, 5.0), (-10.0, 0.0), (0.0, 100.0)]))
def test_the_ratio_is_that_of_the_likeliest_chances(counts: list[int], elos: tuple[float, float]) -> None:
    """By duality the greatest likelihood of a mean m is that of the counts less max_x sum n log(1 + x (a - m))."""
    seen, points = np.maximum(np.array(counts, dtype=float), 1e-3), np.arange(5) / 4

    def loss(mean: float) -> float:
        ends = (-1 / (1 - mean) + 1e-9, 1 / mean - 1e-9)
        found = minimize_scalar(
            lambda x: -float((seen * np.log1p(x * (points - mean))).sum()), bounds=ends, options={"xatol": 1e-10}
        )
        return -float(found.fun)

    expected = loss(score_of(elos[0])) - loss(score_of(elos[1]))
    assert Sprt(*elos).ratio(counts) == pytest.approx(expected, abs=1e-4 * (1 + sum(counts)))


@given(FIVE)
def test_sides_are_symmetrical(counts: list[int]) -> None:
    pairs = tuple(counts)
    assert Sprt(-20, 20).ratio(pairs) == pytest.approx(-Sprt(-20, 20).ratio(pairs[::-1]), abs=1e-6)
    doubled = sum(count * place for place, count in enumerate(pairs))
    games = 2 * sum(pairs)
    one = Tally(doubled // 2, doubled % 2, games - doubled // 2 - doubled % 2, pairs)
    other = Tally(one.losses, one.draws, one.wins, pairs[::-1])
    assert superiority(one) + superiority(other) == pytest.approx(1, abs=1e-9)


def test_ratings_find_the_strengths_that_made_the_games() -> None:
    random, truth = np.random.default_rng(1), [-150.0, -20.0, 30.0, 140.0]
    points = {
        (i, j): (float(random.binomial(5000, score_of(truth[i] - truth[j]))), 5000)
        for i in range(4)
        for j in range(i + 1, 4)
    }
    for rating, elo in zip(ratings(4, points), truth, strict=True):
        assert rating.elo == pytest.approx(elo, abs=12)
        assert rating.interval[0] < rating.elo < rating.interval[1]


def test_one_who_wins_all_has_a_rating() -> None:
    strong, weak = ratings(2, {(0, 1): (200.0, 200)})
    assert 500 < strong.elo - weak.elo < 2500
    assert wilson(200, 200)[1] == 1.0


@pytest.mark.parametrize("wrong", [Sprt(10, 0), Sprt(0, 0), Sprt(0, 10, 0.0), Sprt(0, 10, 0.05, 0.7)])
def test_a_test_that_makes_no_sense_is_refused(wrong: Sprt) -> None:
    with pytest.raises(InputError, match="--sprt"):
        wrong.checked()


# -- two sets of games ---------------------------------------------------------------------


@given(st.lists(st.integers(0, 25), min_size=4, max_size=4).filter(lambda n: n[0] + n[1] > 0 and n[2] + n[3] > 0))
def test_two_kinds_of_results_are_scipys_exact_test(counts: list[int]) -> None:
    first, second = counts[:2], counts[2:]
    assert same_chances(first, second) == pytest.approx(fisher_exact([first, second])[1], rel=1e-6, abs=1e-12)
    assert same_chances(second, first) == pytest.approx(same_chances(first, second), rel=1e-6)


@given(st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(lambda n: sum(n[:3]) > 0 and sum(n[3:]) > 0))
def test_three_kinds_of_results_by_dealing_them_in_every_way(counts: list[int]) -> None:
    """Each way to deal the games to the two sets is as likely as any other; those of rarer tables are counted."""
    first, second = counts[:3], counts[3:]
    ways = {}
    for a in range(first[0] + second[0] + 1):
        for b in range(first[1] + second[1] + 1):
            c = sum(first) - a - b
            if 0 <= c <= first[2] + second[2]:
                sums = [x + y for x, y in zip(first, second, strict=True)]
                ways[a, b, c] = math.prod(math.comb(n, k) for n, k in zip(sums, (a, b, c), strict=True))
    rare = sum(count for count in ways.values() if count <= ways[tuple(first)])
    assert same_chances(first, second) == pytest.approx(rare / sum(ways.values()), rel=1e-6)
