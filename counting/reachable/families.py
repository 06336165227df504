"""Locked placements that are counted exactly: samples of them are no news, so the estimate leaves them out.

`counting.exclusions` counts the placements that hold none of a family of locked sets. A sample that does hold one
belongs to a part of the space whose size is known, and no position of it is reached. What is left to estimate is the
share of the others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from counting.exclusions.record import published_exclusions
from counting.exclusions.sets import locked_sets
from counting.spaces import spaces
from tablut.engine.jit import inlined
from tablut.indexing import PlacementIndex
from tablut.variants.model import king_patterns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counting.exclusions.sets import LockedSet
    from counting.reachable.draw_kernels import Placed
    from tablut.variants import Variant


class FamilyTables(NamedTuple):
    """A family of locked sets as kernels see it, the smallest sets first.

    Attributes
    ----------
    sets : int
        How many there are.
    cells : ndarray of uint64, shape (4 * sets,)
        The attackers of each, two words, and its defenders.
    kings : ndarray of int64, shape (sets,)
        The king's cell of each, or -1.
    """

    sets: int
    cells: NDArray[np.uint64]
    kings: NDArray[np.int64]


class CountedFamily(NamedTuple):
    """How many placements hold a set of the family."""

    placements: int
    surviving: int
    pieces: int


@lru_cache(maxsize=16)
def counted_family(variant: Variant) -> CountedFamily:
    """Return what has been counted of a variant."""
    size, record = PlacementIndex(variant).size, published_exclusions(variant.digest)
    if record is None:
        return CountedFamily(size, size, 0)
    return CountedFamily(size, record.of("no_end").placements, record.pieces)


@lru_cache(maxsize=16)
def family_tables(variant: Variant) -> FamilyTables:
    """Return the family whose sets `counted_family` leaves out."""
    pieces = counted_family(variant).pieces
    found: list[LockedSet] = list(locked_sets(variant, pieces)) if pieces else []
    if pieces and spaces(variant)["excluded_no_end"].kings:
        # A king held on the castle that it never left is not among the survivors either.
        castle = variant.regions.castle
        found += [
            frozenset([(castle, "K"), *((cell, "b") for cell in pattern.attackers)])
            for pattern in king_patterns(variant, castle)
        ]
    cells = np.zeros((len(found), 4), dtype=np.uint64)
    kings = np.full(len(found), -1, dtype=np.int64)
    for row, pieces_of in enumerate(found):
        for cell, piece in pieces_of:
            if piece == "K":
                kings[row] = cell
            else:
                cells[row, 2 * (piece == "w") + (cell >> 6)] |= np.uint64(1 << (cell & 63))
    return FamilyTables(len(found), cells.ravel(), kings)


@inlined
def holds_counted_set(f: FamilyTables, position: Placed) -> bool:
    """Return whether a placement holds a set of the family; O(sets)."""
    black, white, king, _, _, _ = position
    for number in range(f.sets):
        at = 4 * number
        missing = (
            (f.cells[at] & ~black[0])
            | (f.cells[at + 1] & ~black[1])
            | (f.cells[at + 2] & ~white[0])
            | (f.cells[at + 3] & ~white[1])
        )
        if missing == 0 and (f.kings[number] < 0 or f.kings[number] == king):
            return True
    return False
