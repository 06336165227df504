"""Tuning: the regression finds weights that are known, games are repeatable, a match is what its games say."""

import json
from importlib.resources import files
from random import Random

import numpy as np
import pytest

from benchmarks.tuning.__main__ import TRAINING
from benchmarks.tuning.games import MatchScore, gather, play_game, play_match
from benchmarks.tuning.patterns import Positions, fit_patterns, gather_positions, layout_of, patterns_of
from benchmarks.tuning.regression import fit, term_values
from tablut.engine import engine_for
from tablut.play.search.evaluation import evaluate_boards
from tablut.play.search.searcher import Searcher
from tablut.play.search.terms import evaluation_tables
from tablut.play.search.weights import HAND_WEIGHTS, TERMS, load_weights
from tablut.testing import placement
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
        games.append((result, [(found.board.tolist(), found.score) for found in quiet]))
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


def test_symmetric_contents_are_one_pattern():
    variant, random = load_variant("ashton"), Random(6)
    engine, layout = engine_for(variant), layout_of(variant)
    for position in [placement(variant, random) for _ in range(40)]:
        cells = "".join(position.piece((cell % 9, cell // 9)) or "." for cell in range(81))
        found = set()
        for element in variant.symmetries:
            image = [""] * 81
            for cell, letter in enumerate(cells):
                image[element.table[cell]] = letter
            numbers = patterns_of(layout, engine.board("".join(image), position.side)[None])[0]
            found.add((*sorted(numbers[:18].tolist()), *sorted(numbers[18:].tolist())))
        assert len(found) == 1, cells


def test_what_the_patterns_add_is_what_made_the_results():
    variant, random = load_variant("brandubh"), Random(7)
    engine, layout = engine_for(variant), layout_of(variant)
    made = [placement(variant, random) for _ in range(500)]
    cells = ["".join(position.piece((cell % 7, cell // 7)) or "." for cell in range(49)) for position in made]
    boards = np.array([engine.board(text, position.side) for text, position in zip(cells, made, strict=True)])
    # White likes a king on the middle rank, whatever the terms say of it.
    middle = np.array([21 <= text.index("K") < 28 for text in cells])
    plain = np.zeros(len(boards), dtype=np.int64)
    evaluate_boards(engine.tables, evaluation_tables(variant, load_weights(variant)), boards, plain)
    worth = 1 / (1 + np.exp(-(plain / 100 + np.where(middle, 1.5, -0.5))))
    patterns = fit_patterns(variant, layout, Positions(boards, worth), ridge=1.0)
    scores = np.zeros(len(boards), dtype=np.int64)
    evaluate_boards(engine.tables, evaluation_tables(variant, load_weights(variant), patterns), boards, scores)
    added = scores - plain
    assert added[middle].mean() > 100
    assert added[~middle].mean() < -20


def test_positions_before_a_random_move_are_not_judged_by_the_result():
    variant = load_variant("brandubh")
    searcher = Searcher(variant, hash_mib=1, weights=HAND_WEIGHTS)
    seen = set()
    for seed in range(6):
        _, quiet = play_game([searcher] * 2, variant, Random(seed), nodes=50, opening=0, stray=0.1)
        judged = [found.judged for found in quiet]
        assert judged == sorted(judged)
        seen.update(judged)
    assert seen == {True, False}
    first, again = (gather_positions(variant, games=3, nodes=50, seed=3) for _ in range(2))
    assert (first.boards == again.boards).all()
    assert (first.worth == again.worth).all()
    assert ((first.worth >= 0) & (first.worth <= 1)).all()
