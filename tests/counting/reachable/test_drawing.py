"""Samples: the compiled drawer against numpy's generator and the plain index."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counting.reachable.checker import PlainReach, plain_number, plain_position, plain_size
from counting.reachable.drawing import LargeSpace, draw_number, drawer_for
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.variants import Variant, load_variant
from tests.support.effort import examples, slow_but
from tests.support.placements import letters
from tests.support.strategies import small_variants, variants

relaxed = settings(deadline=None, max_examples=examples(10), suppress_health_check=list(HealthCheck))


def assert_same(variant: Variant, numbers: list[int], words: np.ndarray) -> None:
    index, engine = PlacementIndex(variant), engine_for(variant)
    for number, board in zip(numbers, engine.boards(words), strict=True):
        position = index.unrank(number >> 1, "wb"[number & 1])
        assert engine.cells(board) == (position.cells, position.side)


@relaxed
@given(variants(), st.integers(0, 2**64 - 1), st.integers(0, 2**62))
def test_draws_are_those_of_numpy_and_of_the_plain_index(variant: Variant, seed: int, first: int) -> None:
    drawer = drawer_for(variant)
    words, numbers = drawer.draw(seed, first, 5)
    assert numbers == [draw_number(drawer.size, seed, first + place) for place in range(5)]
    assert_same(variant, numbers, words)


@relaxed
@given(st.data())
def test_every_number_has_its_position(data: st.DataObject) -> None:
    variant = data.draw(st.one_of(variants(), small_variants(5, 4, 3), small_variants(11, 8, 4)))
    drawer = drawer_for(variant)
    number = data.draw(st.one_of(st.integers(0, drawer.size - 1), st.sampled_from([0, drawer.size - 1])))
    assert_same(variant, [number], drawer.positions([number]))


def test_numbers_out_of_range_and_boards_too_large_are_refused() -> None:
    drawer = drawer_for(load_variant("ashton-5-4v0"))
    for number in (-1, drawer.size):
        with pytest.raises(InputError, match="position number"):
            drawer.positions([number])
    with pytest.raises(InputError, match="alea-evangelii"):
        drawer_for(load_variant("alea-evangelii"))


@pytest.mark.parametrize("name", slow_but(["copenhagen"], ["tawlbwrdd-throneless"]))
def test_large_spaces_are_drawn_as_the_plain_index_numbers_them(name: str) -> None:
    """The numbers have more than 128 bits. The checker draws and unranks them with separate code."""
    variant = load_variant(name)
    drawer, reach = drawer_for(variant), PlainReach(variant)
    assert not drawer.narrow
    _, numbers = drawer.draw(7, 2**40, 6)
    assert numbers == [plain_number(plain_size(reach), 7, 2**40 + place) for place in range(6)]
    assert_same(variant, [*numbers, 0, drawer.size - 1], drawer.positions([*numbers, 0, drawer.size - 1]))
    for number in numbers[:2]:
        position = PlacementIndex(variant).unrank(number >> 1, "wb"[number & 1])
        assert letters(variant.size, plain_position(reach, number)) == position.cells


@relaxed
@given(st.one_of(variants(), small_variants(11, 8, 4)), st.integers(0, 2**64 - 1))
def test_both_ways_to_unrank_agree(variant: Variant, seed: int) -> None:
    drawer = drawer_for(variant)
    words, numbers = drawer.draw(seed, 0, 20)
    for row, board in zip(LargeSpace(variant).rows(numbers).tolist(), engine_for(variant).boards(words), strict=True):
        black, white, cells = row[0] | row[1] << 64, row[2] | row[3] << 64, range(variant.size**2)
        found = "".join(
            "K" if cell == row[4] else "b" if black >> cell & 1 else "w" if white >> cell & 1 else "." for cell in cells
        )
        assert (found, "wb"[row[5]]) == engine_for(variant).cells(board)
        assert (found.count("b"), found.count("w")) == (row[6], row[7])
