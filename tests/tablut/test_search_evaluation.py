"""The compiled evaluation against its description cell by cell, and under the symmetries of the rules."""

from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.tuning.regression import term_values
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.play.search.evaluation import evaluate_boards
from tablut.play.search.naive import NaiveSearch
from tablut.play.search.terms import evaluation_tables
from tablut.play.search.weights import HAND_WEIGHTS, TERMS, load_weights, weights_family
from tablut.rules import NaiveGame
from tablut.testing import placement, random_play, random_terrains, random_variants
from tablut.variants import load_variant, shipped_variants

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))


def cells_of(variant, position):
    size = variant.size
    return "".join(position.piece((cell % size, cell // size)) or "." for cell in range(size * size))


def some_weights(random):
    return {term: random.uniform(-40, 40) for term in TERMS}


def assert_twins_agree(variant, positions, random):
    weights = some_weights(random)
    twin, engine = NaiveSearch(variant, weights), engine_for(variant)
    boards = np.array([engine.board(cells_of(variant, position), position.side) for position in positions])
    scores = np.zeros(len(boards), dtype=np.int64)
    evaluate_boards(engine.tables, evaluation_tables(variant, weights), boards, scores)
    for position, score in zip(positions, scores.tolist(), strict=True):
        assert twin.evaluation(position) == score, twin.game.write(position)


@pytest.mark.parametrize("variant", shipped_variants(), ids=lambda variant: variant.name)
def test_the_evaluation_is_the_sum_of_its_terms(variant):
    random = Random(variant.name)
    positions = [placement(variant, random) for _ in range(25)]
    positions += random_play(variant, random, 40)[::4]
    assert_twins_agree(variant, positions, random)


@given(variant=random_variants() | random_terrains(), seed=st.integers(0, 2**32))
@settings(relaxed, max_examples=15)
def test_the_evaluation_of_a_users_rules(variant, seed):
    random = Random(seed)
    assert_twins_agree(variant, [placement(variant, random) for _ in range(4)], random)


@given(variant=random_variants() | random_terrains(), seed=st.integers(0, 2**32))
@settings(relaxed, max_examples=12)
def test_symmetric_positions_have_one_evaluation(variant, seed):
    random = Random(seed)
    position, weights = placement(variant, random), some_weights(random)
    cells = cells_of(variant, position)
    engine, images = engine_for(variant), []
    for element in variant.symmetries:
        image = [""] * len(cells)
        for cell, letter in enumerate(cells):
            image[element.table[cell]] = letter
        images.append(engine.board("".join(image), position.side))
    scores = np.zeros(len(images), dtype=np.int64)
    evaluate_boards(engine.tables, evaluation_tables(variant, weights), np.array(images), scores)
    assert len(set(scores.tolist())) == 1, NaiveGame(variant).write(position)


def test_every_term_counts_something():
    variant, random = load_variant("ashton"), Random(4)
    engine = engine_for(variant)
    positions = [position for _ in range(12) for position in random_play(variant, random, 60)]
    boards = np.array([engine.board(cells_of(variant, position), position.side) for position in positions])
    values = term_values(variant, boards)
    assert (values.std(axis=0) > 0).all()
    # Terms by name are what the twin counts by name.
    twin = NaiveSearch(variant, HAND_WEIGHTS)
    for position, row in list(zip(positions, values.tolist(), strict=True))[::40]:
        assert dict(zip(TERMS, row, strict=True)) == twin.terms(position)


def test_all_shipped_variants_have_weights():
    families = {weights_family(variant) for variant in shipped_variants()}
    assert families == {"corner", "edge", "edge_four", "camps"}
    for variant in shipped_variants():
        assert set(load_weights(variant)) == set(TERMS)


def test_bad_weights_are_named():
    variant = load_variant("brandubh")
    with pytest.raises(InputError, match=r"terms king_rays, king_raze are missing or unknown"):
        evaluation_tables(variant, {**{t: 1.0 for t in TERMS if t != "king_rays"}, "king_raze": 1.0})
    with pytest.raises(InputError, match="does not fit into 16 bits"):
        evaluation_tables(variant, HAND_WEIGHTS | {"open_escapes": 1e4})
