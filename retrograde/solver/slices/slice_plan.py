"""How a tier is divided into slices, and the data that each slice needs.

A slice is a contiguous range of rows. Black's moves stay within a row, so the black-to-move positions of a slice can be
solved without other slices. White's moves lead to *near* rows, where the king or one defender is on another cell.
`retrograde.solver.kernels` defines the terms *row*, *entry* and *item*.

A task keeps in memory its slice's items, the black-to-move items of the rows near it, and the parts of lower tiers that
captures lead to.

A tier without defenders is not divided. Each of its rows is a single position, and every slice would need most of the
table that numbers the rows. This table takes three times as much memory as all the items together.

The part of the tiers that a task can access is its *window*. A window has the same tables as whole tiers
(`tablut.indexing.tier_tables`), but with fewer rows: a row outside the window is treated as if it did not exist.
Every pass therefore works on a window exactly as it works on a tier.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from retrograde.solver.kernels.context import row_array_sizes
from retrograde.solver.kernels.reach import copy_runs, mark_captured, mark_near
from retrograde.solver.tier_graph import tier_graph, too_little
from retrograde.solver.tier_solver import TierSolver
from tablut.engine.kernel_records import directory
from tablut.indexing.tier_tables import TierTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from retrograde.solver.kernels.context import Context
    from tablut.variants import Variant

_ITEM: Final = 2
"""Size of an item in bytes."""
_GROWTH: Final = 1.3
"""Factor by which the number of slices is increased when a slice does not fit into memory."""


class Window(NamedTuple):
    """The rows that a slice's task can access.

    - ``near``: Rows of the tier itself: the slice's rows, and the rows that white's moves lead to.
    - ``below``: For each lower tier that captures lead to, the rows that the task needs.
    """

    near: NDArray[np.bool_]
    below: dict[tuple[int, int], NDArray[np.bool_]]


class SlicedTier:
    """A tier to be divided into slices, the tiers below it, and its slices' windows."""

    def __init__(self, variant: Variant, material: tuple[int, int]) -> None:
        self.variant, self.material = variant, material
        self.lower: list[tuple[int, int]] = list(tier_graph(variant).successors(material))
        self.solver = TierSolver(variant, [*self.lower, material])
        self.number = len(self.lower)
        self.starts = row_entries(self.solver.index, self.number)
        self._windows: dict[tuple[int, int], tuple[NDArray[np.uint8], dict[tuple[int, int], NDArray[np.uint8]]]] = {}

    @property
    def rows(self) -> int:
        """Number of rows of the tier."""
        return len(self.starts) - 1

    def window(self, first: int, last: int) -> Window:
        """Return the window for the slice that begins at row ``first`` and ends before row ``last``.

        Windows are cached, since every pass uses them.
        """
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
    def _context(self) -> Context:
        return self.solver.new_context(self.material[1])

    @cached_property
    def _directory(self) -> Any:
        return directory(self._context)

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
                # Only attackers were captured, and so the rows are the same as in the tier itself.
                rows[:] = near
            elif other[1]:
                mark_captured(table, self.number, count, first, last, rows)
            else:
                self._mark_kings(count, first, last, rows)
            below[other] = rows.astype(np.bool_)
        return Window(near.astype(np.bool_), below)

    def _mark_kings(self, below: int, first: int, last: int, marks: NDArray[np.uint8]) -> None:
        """Mark the rows of a lower tier whose king's cell occurs in some row of a slice."""
        index, kings = self.solver.index, self.solver.index.square.kings
        for king in range(kings):
            begin = int(index.tier.first_row[self.number * kings + king])
            if begin < last and begin + int(index.tier.row_count[self.number * kings + king]) > first:
                start = int(index.tier.first_row[below * kings + king])
                marks[start : start + int(index.tier.row_count[below * kings + king])] = 1

    def memory(self, window: Window, first: int, last: int) -> int:
        """Return the number of bytes that the arrays of a slice's task take in memory."""
        index = self.solver.index
        entries = int(self.starts[last] - self.starts[first]) + self._entries(self.number, window.near)
        rows = int(np.count_nonzero(window.near))
        for count, material in enumerate(self.lower):
            entries += self._entries(count, window.below[material])
            rows += int(np.count_nonzero(window.below[material]))
        return (
            _ITEM * entries + index.row.number.nbytes + 16 * rows + row_array_sizes(self.variant, self.material).bytes
        )

    def _entries(self, tier: int, rows: NDArray[np.bool_]) -> int:
        return int(np.diff(row_entries(self.solver.index, tier))[rows].sum())

    def forget(self) -> None:
        """Clear the cached windows."""
        self._windows.clear()

    @property
    def table_bytes(self) -> int:
        """Size in bytes of the unsliced tables. A process's tasks share these tables."""
        row = self.solver.index.row
        return sum(array.nbytes for array in (row.number, row.element, row.combination, row.residual))


def cut_tier(tier: SlicedTier, memory: int, workers: int = 1) -> tuple[int, ...]:
    """Divide a tier into slices that are small enough for ``workers`` of them to fit into memory at the same time.

    Return the slice boundaries, as row numbers. The number of slices is increased until the slices fit.
    """
    most = (memory - tier.table_bytes) // workers
    count = min(tier.rows, max(1, -(-3 * _ITEM * int(tier.starts[-1]) // max(most, 1))))
    failed = 0
    while True:
        cuts = even_cuts(tier, count)
        # Begin near the slice that was too large in the last attempt, because the windows there are the largest, and
        # finding a window takes time.
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
    """Return the rows where a tier is divided into ``count`` slices with about the same number of entries."""
    wanted = [int(tier.starts[-1]) * part // count for part in range(1, count)]
    inner: Sequence[int] = np.searchsorted(tier.starts, wanted).tolist()
    return tuple(sorted({0, *inner, tier.rows}))


# -- windows -----------------------------------------------------------------------------------


_held = threading.local()


class Runs(NamedTuple):
    """The entries of a tier that lie within a window, as runs of consecutive entries.

    - ``starts``, ``lengths``: First entry of each run in the whole tier, in ascending order, and the number of entries
      in the run.
    - ``targets``: First entry of each run in the window.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    targets: NDArray[np.int64]

    @property
    def total(self) -> int:
        """Number of entries in all runs together."""
        return int(self.lengths.sum())


def row_entries(index: TierTables, tier: int) -> NDArray[np.int64]:
    """Return the first entry of each row in a tier, followed by the tier's size."""
    kings = slice(tier * index.square.kings, (tier + 1) * index.square.kings)
    widths = np.repeat(index.tier.width[kings], index.tier.row_count[kings])
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(widths, dtype=np.int64)])


def runs_of(index: TierTables, tier: int, rows: NDArray[np.bool_]) -> Runs:
    """Return the runs of entries that make up the given rows."""
    steps = np.flatnonzero(np.diff(np.concatenate([[False], rows, [False]]).astype(np.int8)))
    places = row_entries(index, tier)[steps].reshape(-1, 2)
    lengths = places[:, 1] - places[:, 0]
    return Runs(places[:, 0].copy(), lengths, np.cumsum(lengths) - lengths)


def window_tables(index: TierTables, rows: Mapping[int, NDArray[np.bool_]]) -> TierTables:
    """Return a window's tables, that is, the given tables reduced to the given rows in each tier."""
    kings, tiers = index.square.kings, len(index.tier.size)
    number = np.full_like(index.row.number, -1)
    counts = np.zeros_like(index.tier.row_count)
    kept: list[NDArray[np.int64]] = []
    for tier in range(tiers):
        if tier not in rows:
            kept.append(np.zeros(0, dtype=np.int64))
            continue
        kept.append(index.tier.meta_at[tier] + np.flatnonzero(rows[tier]))
        for king in range(kings):
            by_king = tier * kings + king
            first = int(index.tier.first_row[by_king])
            own = rows[tier][first : first + int(index.tier.row_count[by_king])]
            counts[by_king] = np.count_nonzero(own)
            if not counts[by_king]:
                continue
            # The number -1 represents a row that does not exist, and selects the last element, which is also -1.
            moved = np.append(np.where(own, np.cumsum(own) - 1, -1), -1).astype(np.int32)
            at = int(index.tier.rows_at[tier] + king * index.tier.row_space[tier])
            part = slice(at, at + int(index.tier.row_space[tier]))
            np.take(moved, index.row.number[part], out=number[part], mode="wrap")
    return _with_rows(index, counts, kept, number)


def _with_rows(
    index: TierTables, counts: NDArray[np.int64], kept: list[NDArray[np.int64]], number: NDArray[np.int32]
) -> TierTables:
    """Return tables with the given number of rows for each tier and king."""
    shape = (len(index.tier.size), index.square.kings)
    counted = counts.reshape(shape)
    entries = counted * index.tier.width.reshape(shape)
    places = np.concatenate(kept)
    tier = index.tier._replace(
        meta_at=_starts(np.array([len(rows) for rows in kept], dtype=np.int64)),
        size=entries.sum(axis=1),
        base=_starts(entries).ravel(),
        first_row=_starts(counted).ravel(),
        row_count=counts,
    )
    row = index.row._replace(
        number=number, combination=index.row.combination[places], residual=index.row.residual[places]
    )
    return TierTables(index.square, tier, row)


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.ascontiguousarray(np.cumsum(lengths, axis=-1) - lengths)


def gather(
    runs: Runs,
    block: int,
    start: int,
    stop: int,
    read: Callable[..., Iterator[tuple[int, Any]]],
    out: NDArray[np.uint16],
) -> None:
    """Copy runs from a range of a tier. The range is read block by block, skipping blocks without entries of a run."""
    edges = np.minimum(np.arange(start, stop + block, block), stop)
    first = np.searchsorted(runs.starts + runs.lengths, edges[:-1], side="right")
    last = np.searchsorted(runs.starts, edges[1:], side="left")
    for place, items in read(first < last):
        some = slice(int(first[place // block]), int(last[place // block]))
        codes = np.ascontiguousarray(items, dtype=np.uint16)
        copy_runs(codes, start + place, runs.starts[some], runs.lengths[some], runs.targets[some], out)


# -- memory --------------------------------------------------------------------------------


def room(name: str, count: int) -> NDArray[np.uint16]:
    """Return an uninitialised array of items for this thread. Arrays of the same name reuse the same memory.

    Allocating new memory would take longer than the work that is done with the array.
    """
    held: NDArray[np.uint16] | None = getattr(_held, name, None)
    if held is None or len(held) < count or len(held) > 2 * count + (1 << 20):
        held = None
        setattr(_held, name, None)  # free the old array before a new one is allocated
        held = np.empty(max(count, 1), dtype=np.uint16)
        setattr(_held, name, held)
    return held[:count]


def before(items: NDArray[np.uint16], shift: int, total: int) -> NDArray[np.uint16]:
    """Return a view of a longer array that contains ``items`` from index ``shift``.

    Only this part of the longer array exists. No other element may be accessed.
    """
    kind = ctypes.c_uint16 * max(total, 1)
    longer: NDArray[np.uint16] = np.ctypeslib.as_array(kind.from_address(items.ctypes.data - 2 * shift))
    return longer
