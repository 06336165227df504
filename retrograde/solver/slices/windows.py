"""What one task sees of a tier and of those below it: the rows of its slice, and all that these lead to.

A window has the same tables as whole tiers (`tablut.indexing.tier_tables`), only with fewer rows: a row that is
not there reads as one that does not exist. So every pass works on a window as it does on a tier.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from retrograde.solver.kernels.slices import copy_runs
from tablut.indexing.tier_tables import TierTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

_held = threading.local()


class Runs(NamedTuple):
    """Which parts of a tier a window has.

    Attributes
    ----------
    starts, lengths : ndarray of int64, shape (r,)
        Runs of entries of the whole tier, ascending.
    targets : ndarray of int64, shape (r,)
        The first entry of each in the window.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    targets: NDArray[np.int64]

    @property
    def total(self) -> int:
        """How many entries these are."""
        return int(self.lengths.sum())


def row_entries(x: TierTables, tier: int) -> NDArray[np.int64]:
    """Return the first entry of each row of a tier, and the size of the tier after them."""
    kings = slice(tier * x.square.kings, (tier + 1) * x.square.kings)
    widths = np.repeat(x.tier.width[kings], x.tier.row_count[kings])
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(widths, dtype=np.int64)])


def runs_of(x: TierTables, tier: int, rows: NDArray[np.bool_]) -> Runs:
    """Return which entries some rows are."""
    steps = np.flatnonzero(np.diff(np.concatenate([[False], rows, [False]]).astype(np.int8)))
    places = row_entries(x, tier)[steps].reshape(-1, 2)
    lengths = places[:, 1] - places[:, 0]
    return Runs(places[:, 0].copy(), lengths, np.cumsum(lengths) - lengths)


def window_tables(x: TierTables, rows: Mapping[int, NDArray[np.bool_]]) -> TierTables:
    """Return the tables of some rows of some tiers."""
    kings, tiers = x.square.kings, len(x.tier.size)
    number = np.full_like(x.row.number, -1)
    counts = np.zeros_like(x.tier.row_count)
    kept: list[NDArray[np.int64]] = []
    for tier in range(tiers):
        if tier not in rows:
            kept.append(np.zeros(0, dtype=np.int64))
            continue
        kept.append(x.tier.meta_at[tier] + np.flatnonzero(rows[tier]))
        for king in range(kings):
            by_king = tier * kings + king
            first = int(x.tier.first_row[by_king])
            own = rows[tier][first : first + int(x.tier.row_count[by_king])]
            counts[by_king] = np.count_nonzero(own)
            if not counts[by_king]:
                continue
            # The last place is that of a row that does not exist, -1.
            moved = np.append(np.where(own, np.cumsum(own) - 1, -1), -1).astype(np.int32)
            at = int(x.tier.rows_at[tier] + king * x.tier.row_space[tier])
            part = slice(at, at + int(x.tier.row_space[tier]))
            np.take(moved, x.row.number[part], out=number[part], mode="wrap")
    return _with_rows(x, counts, kept, number)


def _with_rows(
    x: TierTables, counts: NDArray[np.int64], kept: list[NDArray[np.int64]], number: NDArray[np.int32]
) -> TierTables:
    """Return tables with so many rows for each tier and king."""
    shape = (len(x.tier.size), x.square.kings)
    counted = counts.reshape(shape)
    entries = counted * x.tier.width.reshape(shape)
    places = np.concatenate(kept)
    tier = x.tier._replace(
        meta_at=_starts(np.array([len(rows) for rows in kept], dtype=np.int64)),
        size=entries.sum(axis=1),
        base=_starts(entries).ravel(),
        first_row=_starts(counted).ravel(),
        row_count=counts,
    )
    row = x.row._replace(number=number, combination=x.row.combination[places], residual=x.row.residual[places])
    return TierTables(x.square, tier, row)


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.ascontiguousarray(np.cumsum(lengths, axis=-1) - lengths)


def gather(
    runs: Runs, block: int, stop: int, read: Callable[[NDArray[np.bool_]], Iterator[tuple[int, NDArray[Any]]]]
) -> Callable[[NDArray[np.uint16], int], None]:
    """Return a function that copies runs out of an array that is read block by block."""

    def _copy(out: NDArray[np.uint16], at: int) -> None:
        ends = runs.starts + runs.lengths
        edges = at + np.minimum(np.arange(0, stop + block, block), stop)
        first = np.searchsorted(ends, edges[:-1], side="right")
        last = np.searchsorted(runs.starts, edges[1:], side="left")
        for place, items in read(first < last):
            some = slice(int(first[place // block]), int(last[place // block]))
            codes = np.ascontiguousarray(items, dtype=np.uint16)
            copy_runs(codes, at + place, runs.starts[some], runs.lengths[some], runs.targets[some], out)

    return _copy


# -- memory --------------------------------------------------------------------------------


def room(name: str, count: int) -> NDArray[np.uint16]:
    """Return uninitialised items of this thread; the same memory for the same name.

    New memory costs the system more than the work in it.
    """
    held: NDArray[np.uint16] | None = getattr(_held, name, None)
    if held is None or len(held) < count or len(held) > 2 * count + (1 << 20):
        held = None
        setattr(_held, name, None)  # what was there must go before more is asked for
        held = np.empty(max(count, 1), dtype=np.uint16)
        setattr(_held, name, held)
    return held[:count]


def before(items: NDArray[np.uint16], shift: int, total: int) -> NDArray[np.uint16]:
    """Return items as a part of a longer array of which nothing else exists: only that part may be touched."""
    kind = ctypes.c_uint16 * max(total, 1)
    longer: NDArray[np.uint16] = np.ctypeslib.as_array(kind.from_address(items.ctypes.data - 2 * shift))
    return longer
