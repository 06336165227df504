"""All classes of a small board's counted positions, the reached ones marked.

The index of the tiers (`tablut.indexing.tiers`) under the symmetries that keep the start numbers every class of
counted positions, some more than once (its *aliases*). A complete census marks the entries of what is reached. What is
left, but for the aliases, are the classes that no game comes to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine import engine_for
from tablut.engine.layout import SIDE_AT, head
from tablut.indexing import PlacementIndex
from tablut.indexing.tier_kernels import rank_boards, unrank_entries
from tablut.indexing.tier_tables import tier_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tablut.variants import Variant

_STEP: Final = 1 << 18
"""Entries that are looked at together."""


class Unmarked(NamedTuple):
    """Some classes of one material that are not marked.

    Attributes
    ----------
    attackers, defenders : int
        The material.
    boards : ndarray of uint32, shape (n, 2N + 4)
        A position of each class.
    orbits : ndarray of int64, shape (n,)
        How many positions each class has.
    """

    attackers: int
    defenders: int
    boards: NDArray[np.uint32]
    orbits: NDArray[np.int64]


class ClassMarks:
    """A mark for each class of counted positions of a variant."""

    def __init__(self, variant: Variant) -> None:
        self.variant, self.engine = variant, engine_for(variant)
        self._materials = [(tier.attackers, tier.defenders) for tier in PlacementIndex(variant).tiers.values()]
        self._tables = tier_tables(variant, self._materials, self.engine.group)
        sizes = self._tables.tier.size
        self._first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._marked = np.zeros((2, int(self._first[-1])), dtype=np.bool_)
        self.entries = self._marked.size

    def mark(self, boards: NDArray[np.uint32]) -> int:
        """Mark the classes of positions, and return how many marks are new."""
        tiers, entries = self._rank(boards)
        if (entries < 0).any():
            raise ArithmeticError(f"{self.variant.name}: a position is not in the counted space")
        sides = head(boards)[:, SIDE_AT]
        places = self._first[tiers] + entries
        new = len(places) - int(self._marked[sides, places].sum())
        self._marked[sides, places] = True
        return new

    def unmarked(self) -> Iterator[Unmarked]:
        """Yield the classes without a mark, some at a time, each once."""
        for tier, (attackers, defenders) in enumerate(self._materials):
            for side in range(2):
                marked = self._marked[side, self._first[tier] : self._first[tier + 1]]
                for first in range(0, len(marked), _STEP):
                    entries = first + np.flatnonzero(~marked[first : first + _STEP])
                    boards = np.empty((len(entries), len(self.engine.start())), dtype=np.uint32)
                    unrank_entries(self.engine.tables, self._tables, tier, entries, side, boards)
                    boards = np.ascontiguousarray(boards[self._rank(boards)[1] == entries])
                    if len(boards):
                        orbits = self.engine.orbit_sizes(self.engine.words(boards))
                        yield Unmarked(attackers, defenders, boards, orbits)

    def _rank(self, boards: NDArray[np.uint32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        tiers, entries = np.empty(len(boards), dtype=np.int32), np.empty(len(boards), dtype=np.int64)
        rank_boards(self.engine.tables, self._tables, np.ascontiguousarray(boards), tiers, entries)
        return tiers, entries
