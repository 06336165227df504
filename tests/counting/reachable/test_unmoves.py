"""Moves backward: exactly the legal moves forward, on every edge of small boards."""

from collections import Counter
from dataclasses import replace
from itertools import chain, combinations, product
from random import Random
from typing import Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from counting.reachable.certificate_checker import PlainReach
from counting.reachable.drawing import drawer_for
from tablut.engine import engine_for
from tablut.engine.unmoves import predecessors
from tablut.position import cells_of_code
from tablut.rules import NaivePosition
from tablut.variants import Rules, Variant, load_variant
from tests.support.effort import MORE, examples
from tests.support.placements import letters
from tests.support.strategies import placement, random_variants, rule_sets, small_variants, variants
from tests.support.walls import walled, walls

SEEDS = st.integers(0, 2**32)
relaxed = settings(deadline=None, max_examples=examples(6, 2 * MORE), suppress_health_check=list(HealthCheck))


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


@settings(relaxed, max_examples=8)
@given(small_variants(4, 2, 1) | small_variants(4, 2, 1, later=True))
def test_every_edge_of_random_small_boards(variant: Variant) -> None:
    assert_edges_agree(variant)


def compiled_before(variant: Variant, position: NaivePosition) -> set[tuple]:
    """Return the predecessors that the kernels list, each with its move."""
    engine, size = engine_for(variant), variant.size
    found = predecessors(variant, engine.words(engine.board(letters(size, position), position.side)))
    every = [
        (*engine.cells(board), *(int(cell) for cell in cells_of_code(record & 0x3FFF, size)))
        for board, record in zip(engine.boards(found.words), found.records.tolist(), strict=True)
    ]
    assert len(set(every)) == len(every)
    return set(every)


def plain_before(variant: Variant, position: NaivePosition) -> set[tuple]:
    size = variant.size
    return {
        (letters(size, earlier), earlier.side, start[1] * size + start[0], target[1] * size + target[0])
        for earlier, (start, target) in PlainReach(variant).predecessors(position)
    }


def every_before(variant: Variant, position: NaivePosition) -> set[tuple]:
    """Return all predecessors, by trying each piece from each cell on its lines.

    Every set of captured soldiers on the edge or next to the piece is tried.
    """
    reach, size = PlainReach(variant), variant.size
    mover, victim = ("b", "w") if position.side == "w" else ("w", "b")
    missing = reach.most[victim] - list(position.pieces.values()).count(victim)
    found = set()
    for cell, piece in position.pieces.items():
        if (piece == "b") != (mover == "b"):
            continue
        for origin in (set(reach.line_of(cell)) & reach.cells[piece]) - position.pieces.keys():
            others = {origin: piece} | {other: kind for other, kind in position.pieces.items() if other != cell}
            near = {(cell[0] + x, cell[1] + y) for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0))}
            lost = sorted((near | edge_of(size)) & reach.cells[victim] - others.keys() - {cell})
            for restored in chain.from_iterable(combinations(lost, count) for count in range(missing + 1)):
                earlier = NaivePosition({**others, **dict.fromkeys(restored, victim)}, mover)
                if "b" not in earlier.pieces.values() or (origin, cell) not in reach.plies.moves(earlier):
                    continue
                result = reach.plies.apply(earlier, (origin, cell))
                if result.outcome is None and result.position.pieces == position.pieces:
                    start, target = (y * size + x for x, y in (origin, cell))
                    found.add((letters(size, earlier), mover, start, target))
    return found


def edge_of(size: int) -> set[tuple[int, int]]:
    return {(x, y) for x in range(size) for y in range(size) if {x, y} & {0, size - 1}}


def assert_same_before(variant: Variant, random: Random, *, every: bool) -> Counter[str]:
    """Compare the predecessors of positions after walled placements with those that `PlainReach` lists.

    With ``every``, also compare them with `every_before` after plies that capture a row, if at most three soldiers of
    the captured kind are missing. Return how often such rows of attackers and of defenders were compared.
    """
    reach, rows = PlainReach(variant), Counter[str]()
    for _ in range(12):
        position = walled(variant, random)
        if "K" not in position.pieces.values() or not reach.counted(position):
            continue
        for move in reach.plies.legal_moves(position):
            result = reach.plies.apply(position, move)
            if result.outcome is not None or (len(result.captured) < 2 and random.random() < 0.95):
                continue
            start, target = (y * variant.size + x for x, y in move)
            found = compiled_before(variant, result.position)
            assert (letters(variant.size, position), position.side, start, target) in found
            assert found == plain_before(variant, result.position)
            victim = "bw"[position.side == "b"]
            missing = reach.most[victim] - [*result.position.pieces.values()].count(victim)
            # Only a row contains soldiers that are not beside the piece that captures them.
            row = any(abs(x - move[1][0]) + abs(y - move[1][1]) > 1 for x, y in result.captured)
            if row and (not every or missing < 4):
                assert not every or found == every_before(variant, result.position)
                rows[victim] += 1
    return rows


@relaxed
@given(st.data())
def test_rows_on_the_edge_are_restored(data: st.DataObject) -> None:
    size, random = data.draw(st.sampled_from([4, 5, 5, 7, 11])), Random(data.draw(SEEDS))
    variant = walls(data.draw(small_variants(size, later=True)), *((5, 4) if size < 7 else (9, 8)), random)
    assert_same_before(variant, random, every=size < 6)


SMALL = (
    (("...X", "....", "....", "...."), ("....", ".K..", "....", "....")),
    (("X...X", ".....", "..T..", ".....", "X...X"), (".....", ".....", "..K..", ".....", ".....")),
)
"""Terrain and king of small boards on which rows can be captured."""


@pytest.mark.parametrize("mover", ["bracket", "any"])
def test_every_set_of_soldiers_is_tried_before_a_row_is_captured(mover: Literal["bracket", "any"]) -> None:
    """At least 13 captured rows are compared for either kind of shieldwall, some of each colour and board size."""
    rows = {4: Counter[str](), 5: Counter[str]()}
    for (terrain, start), seed, soldiers in product(SMALL, range(6), [(4, 3), (3, 4)]):
        board, random = replace(load_variant("copenhagen"), terrain=terrain, start=start), Random(seed)
        if board.size == 4 or seed < 3:
            rows[board.size] += assert_same_before(walls(board, *soldiers, random, mover), random, every=True)
    both = rows[4] + rows[5]
    assert both.total() > 12
    assert min(both["b"], both["w"]) > 4
    assert min(found.total() for found in rows.values()) > 4


@pytest.mark.slow
def test_restored_rows_of_copenhagen() -> None:
    assert assert_same_before(load_variant("copenhagen"), Random(3), every=False)


@pytest.mark.slow
@settings(relaxed, max_examples=examples(3))
@given(rule_sets(later=True, forts=False), SEEDS)
def test_wide_boards(rules: Rules, seed: int) -> None:
    """Every ply is an un-move of what it leads to, and every un-move a ply."""
    wide, random = load_variant("alea-evangelii"), Random(seed)
    variant = replace(wide, rules=rules.model_copy(update={"corners": wide.rules.corners}))
    assert_same_before(variant, random, every=False)
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
@given(st.one_of(variants(), random_variants(), random_variants(later=True)), SEEDS)
def test_twins_agree(variant: Variant, seed: int) -> None:
    reach, random = PlainReach(variant), Random(seed)
    counted = [position for position in (placement(variant, random) for _ in range(6)) if reach.counted(position)]
    assume(counted)
    assert compiled_before(variant, counted[0]) == plain_before(variant, counted[0])
