"""Samples: the compiled drawer against numpy's generator and the plain index."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counting.census.words import put_words
from counting.reachable.certificate_checker import PlainReach, plain_number, plain_position, plain_size
from counting.reachable.drawing import BATCH_WORDS, draw_number, drawer_for, drawn
from tablut.engine import engine_for
from tablut.engine.jit import U64, keep, kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.variants import Variant, load_variant
from tests.support.effort import examples, slow_but
from tests.support.placements import letters
from tests.support.strategies import small_variants, variants

CROWDED = Variant(
    "crowded",
    "",
    "",
    ("...........",) * 5 + (".....T.....",) + ("...........",) * 5,
    ("bbbbbbbbbbb",) * 4 + ("...........", ".....K.....", "...........") + ("wwwwwwwwww.",) * 4,
    load_variant("tawlbwrdd").rules,
)
"""A board whose position numbers have more than 192 bits, the largest numbers on boards up to 11×11."""

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


def test_numbers_out_of_range_are_refused() -> None:
    drawer = drawer_for(load_variant("ashton-5-4v0"))
    for number in (-1, drawer.size):
        with pytest.raises(InputError, match="position number"):
            drawer.positions([number])


@pytest.mark.parametrize("name", slow_but(["copenhagen", "alea-evangelii"], ["tawlbwrdd-throneless"]))
def test_large_spaces_are_drawn_as_the_plain_index_numbers_them(name: str) -> None:
    """The numbers have more than 128 bits. The checker draws and unranks them with separate code."""
    variant = load_variant(name)
    drawer, reach = drawer_for(variant), PlainReach(variant)
    _, numbers = drawer.draw(7, 2**40, 6)
    assert numbers == [plain_number(plain_size(reach), 7, 2**40 + place) for place in range(6)]
    for number in numbers[:2]:
        position = PlacementIndex(variant).unrank(number >> 1, "wb"[number & 1])
        assert letters(variant.size, plain_position(reach, number)) == position.cells
        (board,) = engine_for(variant).boards(drawer.positions([number]))
        assert engine_for(variant).cells(board) == (position.cells, position.side)


@pytest.mark.parametrize(
    "variant", [load_variant("ashton"), load_variant("copenhagen"), CROWDED], ids=lambda it: it.name
)
def test_positions_beside_the_boundaries_of_words_and_tiers_are_those_of_the_plain_index(variant: Variant) -> None:
    drawer, index = drawer_for(variant), PlacementIndex(variant)
    tiers = [2 * tier.offset for tier in index.tiers.values()]
    edges = [*(2**bit for bit in range(56, 256, 8)), *tiers[:: len(tiers) // 40], drawer.size]
    # The last set of attackers beside the first and the last set of defenders, for the king on its first cell.
    king = min(variant.regions.king_cells)
    ways = index.ways(king, variant.attackers, variant.defenders), index.ways(king, variant.attackers, 0)
    edges += [tiers[-1] + 2 * way for way in ways]
    numbers = [number for edge in edges for number in range(edge - 2, edge + 2) if 0 <= number < drawer.size]
    assert_same(variant, numbers, drawer.positions(numbers))


@kernel
def number_drawn(tables, size, seed, index, found):
    batch = np.empty(BATCH_WORDS, np.uint64)
    put_words(pointer(found), 0, drawn(flat(tables), size, seed, U64(index), pointer(batch)))
    keep(batch)


@pytest.mark.parametrize(
    ("variant", "words"),
    [(load_variant("ashton"), 2), (load_variant("copenhagen"), 3), (CROWDED, 4)],
    ids=lambda it: getattr(it, "name", it),
)
def test_the_compiled_numbers_are_those_of_numpy(variant: Variant, words: int) -> None:
    """Among hundreds of samples, many are drawn from the second or a later group of words, in another block."""
    drawer = drawer_for(variant)
    assert drawer.tables.group == words
    for seed, first in ((0, 0), (2**64 - 1, 2**62)):
        for index in range(first, first + 300):
            found = np.zeros(len(drawer.size_words), dtype=np.uint64)
            number_drawn(drawer.tables, drawer.size_words, np.uint64(seed), index, found)
            number = int.from_bytes(found.astype("<u8").tobytes(), "little")
            assert number == draw_number(drawer.size, seed, index)


@settings(relaxed, max_examples=examples(3))
@given(small_variants(11, 60, 50), st.integers(0, 2**64 - 1))
def test_crowded_boards_are_drawn_as_the_plain_index_numbers_them(variant: Variant, seed: int) -> None:
    words, numbers = drawer_for(variant).draw(seed, 0, 5)
    assert_same(variant, numbers, words)
