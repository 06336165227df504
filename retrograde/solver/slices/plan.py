"""How a tier is cut into slices, and what each of them needs to be solved.

The rows of a slice follow each other. Black's moves stay in a row, so black's positions of a slice are solved
without its neighbours. White's moves lead to rows that are *near*: the king or a defender stands elsewhere. A
task has in memory the items of its slice, those with black to move of the rows near it, and of the tiers below what
captures lead to.

A tier without defenders is not cut: its rows are single positions, and the table that numbers them, of which every
slice would need most, takes three times as much as all items.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retrograde.solver.estimate import too_little
from retrograde.solver.judging import judging_room
from retrograde.solver.kernels.slices import mark_captured, mark_near
from retrograde.solver.slices.windows import row_entries
from retrograde.solver.tier_graph import tier_graph
from retrograde.solver.tier_solver import TierSolver
from tablut.engine.records import directory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Desk
    from tablut.variants import Variant

__all__ = ["SlicedTier", "Window", "cut_tier"]

_ITEM: Final = 2
"""Bytes of an item."""
_GROWTH: Final = 1.3
"""If slices are too large, there are so many times more of them in the next attempt."""


class Window(NamedTuple):
    """The rows that the task of a slice sees.

    Attributes
    ----------
    near : ndarray of bool, shape (rows,)
        Of the tier: the slice, and what white's moves lead to.
    below : dict of (int, int) to ndarray of bool
        By lower tier that captures lead to, its rows.
    """

    near: NDArray[np.bool_]
    below: dict[tuple[int, int], NDArray[np.bool_]]


class SlicedTier:
    """A tier, those below it, and which rows lead to which."""

    def __init__(self, variant: Variant, material: tuple[int, int]) -> None:
        self.variant, self.material = variant, material
        self.lower: list[tuple[int, int]] = list(tier_graph(variant).successors(material))
        self.solver = TierSolver(variant, [*self.lower, material])
        self.number = len(self.lower)
        self.starts = row_entries(self.solver.index, self.number)
        self._windows: dict[tuple[int, int], tuple[NDArray[np.uint8], dict[tuple[int, int], NDArray[np.uint8]]]] = {}

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1

    def window(self, first: int, last: int) -> Window:
        """Return what the task of a slice sees; kept, since every pass asks for it."""
        packed = self._windows.get((first, last))
        if packed is None:
            found = self._find_window(first, last)
            packed = np.packbits(found.near), {material: np.packbits(rows) for material, rows in found.below.items()}
            self._windows[first, last] = packed
        near, below = packed
        return Window(
            np.unpackbits(near, count=self.rows).astype(np.bool_),
            {
                material: np.unpackbits(rows, count=self._rows_of(material)).astype(np.bool_)
                for material, rows in below.items()
            },
        )

    @cached_property
    def _desk(self) -> Desk:
        return self.solver.new_desk(self.material[1])

    @cached_property
    def _directory(self) -> NDArray[np.int64]:
        return directory(self._desk)

    def _rows_of(self, material: tuple[int, int]) -> int:
        return self.solver.rows(self.solver.materials.index(material))

    def _find_window(self, first: int, last: int) -> Window:
        defenders, table = self.material[1], self._directory
        near = np.zeros(self.rows, dtype=np.uint8)
        mark_near(table, self.number, first, last, near)
        below: dict[tuple[int, int], NDArray[np.bool_]] = {}
        for count, other in enumerate(self.lower):
            rows = np.zeros(self._rows_of(other), dtype=np.uint8)
            if other[1] == defenders:
                # Fewer attackers: the rows are those of the tier.
                rows[:] = near
            elif other[1]:
                mark_captured(table, self.number, count, first, last, rows)
            else:
                self._mark_kings(count, first, last, rows)
            below[other] = rows.astype(np.bool_)
        return Window(near.astype(np.bool_), below)

    def _mark_kings(self, below: int, first: int, last: int, marks: NDArray[np.uint8]) -> None:
        """Mark all rows of a lower tier that have the king where some rows have it."""
        x, kings = self.solver.index, self.solver.index.square.kings
        for king in range(kings):
            begin = int(x.tier.first_row[self.number * kings + king])
            if begin < last and begin + int(x.tier.row_count[self.number * kings + king]) > first:
                start = int(x.tier.first_row[below * kings + king])
                marks[start : start + int(x.tier.row_count[below * kings + king])] = 1

    def memory(self, window: Window, first: int, last: int) -> int:
        """Return how many bytes the arrays of a task take."""
        x = self.solver.index
        entries = int(self.starts[last] - self.starts[first]) + self._entries(self.number, window.near)
        rows = int(np.count_nonzero(window.near))
        for count, material in enumerate(self.lower):
            entries += self._entries(count, window.below[material])
            rows += int(np.count_nonzero(window.below[material]))
        return _ITEM * entries + x.row.number.nbytes + 16 * rows + judging_room(self.variant, self.material).bytes

    def _entries(self, tier: int, rows: NDArray[np.bool_]) -> int:
        return int(np.diff(row_entries(self.solver.index, tier))[rows].sum())

    def forget(self) -> None:
        """Forget the windows that were asked for."""
        self._windows.clear()

    @property
    def table_bytes(self) -> int:
        """Bytes of the whole tables, which the tasks of a process share."""
        row = self.solver.index.row
        return sum(array.nbytes for array in (row.number, row.element, row.combination, row.residual))


def cut_tier(tier: SlicedTier, memory: int, workers: int = 1) -> tuple[int, ...]:
    """Cut a tier into as few slices as a task's memory allows."""
    most = (memory - tier.table_bytes) // workers
    count = min(tier.rows, max(1, -(-3 * _ITEM * int(tier.starts[-1]) // max(most, 1))))
    failed = 0
    while True:
        cuts = even_cuts(tier, count)
        # First where the last attempt failed: to find what a slice sees takes a while, and there it sees most.
        slices = sorted(itertools.pairwise(cuts), key=lambda rows: abs(rows[0] - failed))
        too_large = next((rows for rows in slices if tier.memory(tier.window(*rows), *rows) > most), None)
        if too_large is None:
            return cuts
        failed = too_large[0]
        tier.forget()
        if count == tier.rows:
            raise too_little(tier.variant, tier.material, memory, workers)
        count = min(tier.rows, max(count + 1, int(count * _GROWTH)))


def even_cuts(tier: SlicedTier, count: int) -> tuple[int, ...]:
    """Return the cuts of a tier into so many slices of about as many entries each."""
    wanted = [int(tier.starts[-1]) * part // count for part in range(1, count)]
    inner: Sequence[int] = np.searchsorted(tier.starts, wanted).tolist()
    return tuple(sorted({0, *inner, tier.rows}))
