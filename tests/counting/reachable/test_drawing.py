"""Samples: the compiled drawer against numpy's generator and the plain index."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counting.reachable.drawing import build_drawing, draw_number, drawer_for
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.variants import Variant, load_variant
from tests.support.effort import examples
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
    large = Variant(
        "large",
        "",
        "",
        ("." * 11,) * 5 + (".....T.....",) + ("." * 11,) * 5,
        ("b" * 11,) * 4 + ("." * 11, ".....K.....", "." * 11) + ("." * 11,) * 4,
        load_variant("mcgill").rules,
    )
    with pytest.raises(InputError):
        build_drawing(large)
