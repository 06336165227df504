"""Moves backward: exactly the legal moves forward, on every edge of small boards."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from counting.reachable.checker import PlainReach
from counting.reachable.drawing import drawer_for
from tablut.engine import engine_for
from tablut.engine.unmoves import predecessors
from tablut.rules import NaivePosition
from tablut.variants import Rules, Variant, load_variant
from tests.support.effort import examples
from tests.support.placements import letters
from tests.support.strategies import placement, random_variants, rule_sets, small_variants, variants

SEEDS = st.integers(0, 2**32)
relaxed = settings(deadline=None, max_examples=examples(10), suppress_health_check=list(HealthCheck))


def edges(*columns: np.ndarray) -> np.ndarray:
    table = np.column_stack([np.asarray(column, dtype=np.uint64) for column in columns])
    return table[np.lexsort(table.T)]


def assert_edges_agree(variant: Variant) -> None:
    """The undecided plies from all counted positions are the un-moves of all counted positions."""
    drawer, engine = drawer_for(variant), engine_for(variant)
    words = drawer.positions(list(range(drawer.size)))
    children = engine.expand(words)
    kept = children.outcomes == 0
    forward = edges(words[children.parents[kept]], children.words[kept], children.moves[kept])
    found = predecessors(variant, words)
    backward = edges(found.words, words[found.sources], found.records & 0x3FFF)
    np.testing.assert_array_equal(forward, backward)


@settings(relaxed, max_examples=6)
@given(small_variants(4, 2, 1))
def test_every_edge_of_random_small_boards(variant: Variant) -> None:
    assert_edges_agree(variant)


@pytest.mark.slow
@settings(relaxed, max_examples=examples(3))
@given(rule_sets(later=True, forts=False), SEEDS)
def test_wide_boards(rules: Rules, seed: int) -> None:
    """Every ply is an un-move of what it leads to, and every un-move a ply."""
    wide, random = load_variant("alea-evangelii"), Random(seed)
    variant = replace(wide, rules=rules.model_copy(update={"corners": wide.rules.corners, "shieldwall": None}))
    engine, positions = engine_for(variant), [placement(variant, random, soldiers=40) for _ in range(3)]

    def plies(words: np.ndarray) -> np.ndarray:
        children = engine.expand(words)
        kept = children.outcomes == 0
        return np.column_stack(
            [words[children.parents[kept]], children.words[kept], children.moves[kept].astype(np.uint64)]
        )

    forward = plies(np.concatenate([engine.words(engine.board(letters(19, one), one.side)) for one in positions]))
    after = forward[:, 12:24]
    # Captures leave fewer bits.
    chosen = np.argsort(np.bitwise_count(after).sum(axis=1))[[*range(20), *range(-20, 0)]]
    found = predecessors(variant, after[chosen])
    backward = edges(found.words, after[chosen][found.sources], found.records & 0x3FFF)
    assert {*map(bytes, forward[chosen])} <= {*map(bytes, backward)}
    some = backward[:: len(backward) // 40]
    assert {*map(bytes, some)} <= {*map(bytes, plies(np.unique(some[:, :12], axis=0)))}


@relaxed
@given(st.one_of(variants(), random_variants()), SEEDS)
def test_twins_agree(variant: Variant, seed: int) -> None:
    reach, engine, random, size = PlainReach(variant), engine_for(variant), Random(seed), variant.size
    counted = [position for position in (placement(variant, random) for _ in range(6)) if reach.counted(position)]
    assume(counted)
    position = counted[0]

    def cells(pieces: dict) -> str:
        return "".join(pieces.get((cell % size, cell // size), ".") for cell in range(size * size))

    found = predecessors(variant, engine.words(engine.board(cells(position.pieces), position.side)))
    naive = {
        (cells(earlier.pieces), earlier.side, start[1] * size + start[0], target[1] * size + target[0])
        for earlier, (start, target) in reach.predecessors(NaivePosition(position.pieces, position.side))
    }
    compiled = {
        (*engine.cells(board), record & 127, record >> 7 & 127)
        for board, record in zip(engine.boards(found.words), found.records.tolist(), strict=True)
    }
    assert compiled == naive
    assert len(found.words) == len(compiled)
