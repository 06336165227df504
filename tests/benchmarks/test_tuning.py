"""Tuning: the regression finds weights that are known, games are repeatable, a match is what its games say."""

import json
from importlib.resources import files
from random import Random

import numpy as np
import pytest

from benchmarks.tuning.__main__ import TRAINING
from benchmarks.tuning.games import MatchScore, gather, play_game, play_match
from benchmarks.tuning.regression import fit, term_values
from tablut.play.search.searcher import Searcher
from tablut.play.search.weights import HAND_WEIGHTS, TERMS
from tablut.variants import load_variant


def test_the_regression_finds_the_weights_that_made_the_results():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60000, len(TERMS))) * rng.uniform(0.5, 3, len(TERMS))
    values[:, 4] = 0  # never varies: keeps its prior
    true = rng.uniform(-40, 40, len(TERMS))
    odds = 1 / (1 + np.exp(-values @ true / 100))
    found = fit(values, (rng.random(len(odds)) < odds).astype(float), dict.fromkeys(TERMS, 7.0))
    assert found[TERMS[4]] == 7.0
    for number, term in enumerate(TERMS):
        if number != 4:
            assert abs(found[term] - true[number]) < 6, term


def test_games_are_repeatable_and_their_positions_quiet():
    variant = load_variant("brandubh-5-4v4")
    searcher = Searcher(variant, hash_mib=1, weights=HAND_WEIGHTS)
    games = []
    for _ in range(2):
        searcher.forget()
        result, quiet = play_game([searcher] * 2, variant, Random(4), nodes=200, opening=2)
        games.append((result, [board.tolist() for board in quiet]))
    assert games[0] == games[1]
    assert games[0][0] in (0.0, 0.5, 1.0)
    sample = gather(variant, HAND_WEIGHTS, games=12, nodes=50, seed=2, share=1.0)
    assert len(sample.boards) == len(sample.results) > 0
    assert np.isfinite(term_values(variant, sample.boards)).all()


def test_a_match_against_oneself_is_even():
    variant = load_variant("brandubh-5-4v4")
    score = play_match(HAND_WEIGHTS, HAND_WEIGHTS, variant, pairs=6, nodes=100, seed=3)
    # The same opening twice with colours changed, and nothing random after it.
    assert (score.wins, score.losses) == (score.losses, score.wins)
    assert score.share == 0.5


def test_the_interval_of_a_match():
    score = MatchScore(60, 20, 20)
    assert score.share == pytest.approx(0.7)
    low, high = score.interval95
    # By hand: the variance of a game is 0.6 + 0.05 - 0.49 = 0.16.
    assert (low, high) == pytest.approx((0.7 - 1.96 * 0.04, 0.7 + 1.96 * 0.04))


def test_the_stored_weights_say_where_they_come_from():
    stored = json.loads(files("tablut.play.search").joinpath("data", "weights.json").read_text(encoding="utf-8"))
    assert set(stored["weights"]) == set(TRAINING)
    for family, names in TRAINING.items():
        if not stored["tuning"].get(family, {}).get("taken", False):
            assert stored["weights"][family] == HAND_WEIGHTS
            continue
        assert stored["tuning"][family]["variants"] == list(names)
        for name in names:
            match = stored["match_against_hand_set"][name]
            score = MatchScore(match["wins"], match["draws"], match["losses"])
            assert match["share"] == round(score.share, 3)
            assert match["interval95"] == [round(bound, 3) for bound in score.interval95]
