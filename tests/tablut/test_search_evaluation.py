"""The compiled evaluation against its description cell by cell, and under the symmetries of the rules."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.tuning.regression import term_values
from benchmarks.tuning.storing import HAND_WEIGHTS
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.play.search.evaluation import evaluate_boards, evaluation_tables
from tablut.play.search.weights import (
    LARGEST,
    NO_NET,
    TERMS,
    UNITS,
    Patterns,
    load_patterns,
    load_weights,
    net_rows,
    weights_family,
)
from tablut.position import Position
from tablut.rules import NaiveGame
from tablut.variants import load_variant
from tests.support.effort import OLDER_CASES, examples
from tests.support.placements import letters
from tests.support.strategies import placement, random_play, random_terrains, random_variants
from tests.twins.search import NaiveSearch

SEALED = "3b3/2b4/1b5/b3wKw/6b/5b1/4b2 w"
"""Two corners sealed, one on four cells and one on three; the king near the edge, with soldiers."""
relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))


def some_weights(random):
    return {term: random.uniform(-40, 40) for term in TERMS}


def some_patterns(variant, random):
    """Patterns without any symmetry, two tables for the lines."""
    rng, size = np.random.default_rng(random.getrandbits(32)), variant.size
    return Patterns(
        "".join(random.choices(".", k=size * size)),
        random.choice((weights_family(variant), "corner")),
        "",
        rng.integers(-99, 100, (2, 3**size)).astype(np.int16),
        rng.integers(0, 2, (size * size, 2 * size)).astype(np.uint8),
        rng.integers(-99, 100, (4, 3**9)).astype(np.int16),
        some_net(size, rng) if size <= LARGEST else NO_NET,
    )


def some_net(size, rng):
    net = rng.integers(-99, 100, (3 * size * size + 3, UNITS))
    net[-1] *= 20
    return net.astype(np.int16)


def scores_of(variant, positions, tables):
    engine = engine_for(variant)
    boards = np.array([engine.board(letters(variant.size, position), position.side) for position in positions])
    scores = np.zeros(len(boards), dtype=np.int64)
    evaluate_boards(engine.tables, tables, boards, scores)
    return scores.tolist()


def assert_twins_agree(variant, positions, random):
    patterns = random.choice((None, some_patterns(variant, random))) if variant.size <= 11 else None
    weights = some_weights(random)
    twin = NaiveSearch(variant, weights, patterns)
    scores = scores_of(variant, positions, evaluation_tables(variant, weights, patterns))
    for position, score in zip(positions, scores, strict=True):
        assert twin.evaluation(position) == score, twin.game.write(position)


@pytest.mark.parametrize("name", OLDER_CASES)
def test_the_evaluation_is_the_sum_of_its_terms(name):
    variant, random = load_variant(name), Random(name)
    positions = [placement(variant, random) for _ in range(25)]
    positions += random_play(variant, random, 40)[::4]
    assert_twins_agree(variant, positions, random)


@given(variant=random_variants() | random_terrains(sizes=(3, 5, 7)), seed=st.integers(0, 2**32))
@settings(relaxed, max_examples=examples(8))
def test_the_evaluation_of_a_users_rules(variant, seed):
    random = Random(seed)
    assert_twins_agree(variant, [placement(variant, random) for _ in range(4)], random)


def test_a_net_of_a_large_board():
    variant, random = load_variant("copenhagen"), Random(11)
    positions = [placement(variant, random) for _ in range(20)] + random_play(variant, random, 40)[::4]
    weights, patterns = some_weights(random), some_patterns(variant, random)
    twin = NaiveSearch(variant, weights, patterns)
    scores = scores_of(variant, positions, evaluation_tables(variant, weights, patterns))
    assert scores == [twin.evaluation(position) for position in positions]


@pytest.mark.slow
@pytest.mark.parametrize("size", [12, 16, 19])
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(relaxed, max_examples=examples(2))
def test_the_evaluation_of_a_wide_board(size, data, seed):
    variant, random = data.draw(random_terrains(sizes=(size,))), Random(seed)
    assert_twins_agree(variant, [placement(variant, random) for _ in range(4)], random)


def test_a_line_may_cross_all_four_camps_and_one_of_them_twice():
    small = load_variant("brandubh-5-4v0")
    variant = replace(small, name="camps", terrain=("ABCDA", *small.terrain[1:]))
    random = Random(3)
    assert_twins_agree(variant, [placement(variant, random) for _ in range(20)], random)


@given(variant=random_variants() | random_terrains(sizes=(3, 5, 7)), seed=st.integers(0, 2**32))
@settings(relaxed, max_examples=examples(6))
def test_symmetric_positions_have_one_evaluation(variant, seed):
    random = Random(seed)
    position, weights = placement(variant, random), some_weights(random)
    # Lines and corners without patterns; a net knows no side of the board, whatever its weights are.
    patterns = some_patterns(variant, random) if variant.size <= LARGEST else None
    if patterns is not None:
        plain = {name: 0 * getattr(patterns, name) for name in ("line_scores", "corner_scores")}
        patterns = patterns._replace(**plain)
    seen, engine = Position(letters(variant.size, position), position.side), engine_for(variant)
    images = [engine.board(image.cells, image.side) for image in map(seen.transformed, variant.symmetries)]
    scores = np.zeros(len(images), dtype=np.int64)
    evaluate_boards(engine.tables, evaluation_tables(variant, weights, patterns), np.array(images), scores)
    assert len(set(scores.tolist())) == 1, NaiveGame(variant).write(position)


@pytest.mark.parametrize(
    "name", ["ashton", "mcgill", "brandubh-federation", "saami-tablut", "fetlar", "tawlbwrdd", "sea-battle-11"]
)
def test_the_evaluation_that_ships_is_terms_and_patterns(name):
    variant, random = load_variant(name), Random(5)
    twin = NaiveSearch(variant, load_weights(variant), load_patterns(variant))
    positions = [placement(variant, random) for _ in range(25)] + random_play(variant, random, 40)[::4]
    tables = evaluation_tables(variant)
    assert scores_of(variant, positions, tables) == [twin.evaluation(p) for p in positions]
    # No pattern knows a side of the board.
    engine, scores = engine_for(variant), np.zeros(8, dtype=np.int64)
    for position in positions:
        seen = Position(letters(variant.size, position), position.side)
        images = [seen.transformed(element) for element in variant.symmetries]
        boards = np.array([engine.board(image.cells, image.side) for image in images])
        evaluate_boards(engine.tables, tables, boards, scores)
        assert len(set(scores.tolist())) == 1, seen


def test_every_term_counts_something():
    counted, small = set(), load_variant("brandubh-federation")
    forts = replace(small, name="forts", rules=small.rules.model_copy(update={"fort": "on_edge"}))
    for variant in (load_variant("ashton"), forts):
        random, engine = Random(4), engine_for(variant)
        positions = [position for _ in range(2) for position in random_play(variant, random, 60)]
        if variant is forts:
            positions.append(NaiveGame(variant).read(SEALED))
        boards = np.array([engine.board(letters(variant.size, position), position.side) for position in positions])
        values = term_values(variant, boards)
        counted |= {term for term, spread in zip(TERMS, values.std(axis=0), strict=True) if spread > 0}
        # Terms by name are what the twin counts by name.
        twin = NaiveSearch(variant, HAND_WEIGHTS)
        for position, row in list(zip(positions, values.tolist(), strict=True))[::-20]:
            assert dict(zip(TERMS, row, strict=True)) == twin.terms(position)
    assert counted == set(TERMS)


def test_bad_weights_are_named():
    variant = load_variant("brandubh")
    with pytest.raises(InputError, match=r"king_rays, king_raze"):
        evaluation_tables(variant, {**{t: 1.0 for t in TERMS if t != "king_rays"}, "king_raze": 1.0})
    with pytest.raises(InputError):
        evaluation_tables(variant, HAND_WEIGHTS | {"open_escapes": 1e4})
    with pytest.raises(InputError):
        evaluation_tables(load_variant("alea-evangelii"), HAND_WEIGHTS | {"open_escapes": 1e9})


def test_a_net_of_another_board_or_one_that_could_overflow_is_refused():
    net = np.zeros((3 * 49 + 3, UNITS), dtype=np.int16)
    with pytest.raises(InputError):
        net_rows(net, 9)
    net[:49, 3] = 32767 // 49
    assert net_rows(net, 7).max() == 32767 // 49
    net[49:98, 3] = -32767 // 49 - 1
    with pytest.raises(InputError):
        net_rows(net, 7)
