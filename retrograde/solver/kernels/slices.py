"""Additional kernels for slices: the rows to which moves lead, and copying parts of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrograde.solver.kernels.cursor import open_row
from retrograde.solver.kernels.workspace import KING, Desk, Workspace
from tablut.engine.jit import I64, called, inlined, kernel, pointer
from tablut.engine.records import record_at
from tablut.indexing.tier_kernels import row_at

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables


@kernel
def copy_runs(
    source: NDArray[np.uint16],
    at: int,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    targets: NDArray[np.int64],
    out: NDArray[np.uint16],
) -> None:
    """Copy the entries of some runs that lie in one part of an array; O(copied + runs).

    The part ``source`` begins at entry ``at`` of the array. Each run is copied to ``out``, beginning at its target.
    """
    end = at + len(source)
    for run in range(len(starts)):
        first, last = max(starts[run], at), min(starts[run] + lengths[run], end)
        shift = targets[run] - starts[run]
        for place in range(first, last):
            out[place + shift] = source[place - at]


@inlined
def _row_of(x: TierTables, w: Workspace, tier: int, king: int, cells: NDArray[np.int64]) -> int:
    """Return the row of a king and row soldiers, counted over all kings, or -1 if there is none; O(men * men)."""
    at = row_at(x, tier, king, cells, w.scratch)
    if at < 0:
        return I64(-1)
    return x.tier.first_row[tier * x.square.kings + I64(x.square.king[king])] + I64(x.row.number[at])


@called
def _mark_moved(t: Tables, x: TierTables, w: Workspace, tier: int, man: int, marks: NDArray[np.uint8]) -> None:
    """Mark all rows to which one man's move along its rank or file leads from the open row, ignoring obstacles."""
    cells, men, king = w.cursor.row_cells, x.tier.row_men[tier], w.cursor.head[KING]
    start = king if man == men else cells[man]
    rank, file = I64(t.rank[start]), I64(t.file[start])
    for step in range(2 * t.size):
        target = rank * t.size + step if step < t.size else (step - t.size) * t.size + file
        taken = target == king
        for k in range(men):
            taken |= cells[k] == target
        if taken:
            continue
        if man == men:
            row = _row_of(x, w, tier, target, cells)
        else:
            cells[man] = target
            row = _row_of(x, w, tier, king, cells)
            cells[man] = start
        if row >= 0:
            marks[row] = 1


@kernel
def mark_near(desk: NDArray[np.int64], tier: int, first: int, last: int, marks: NDArray[np.uint8]) -> None:
    """Mark some rows of a tier with defenders, and all rows to which white's quiet moves lead; O(rows * moves).

    Obstacles are ignored, so more rows than needed may be marked. For the same reason, the rows from which a quiet move
    can come are marked, too.
    """
    d, near = record_at(desk, Desk), pointer(marks)
    t, x, w = d.tables, d.tiers, d.workspace
    for row in range(first, last):
        near[row] = 1
        open_row(t, x, w, tier, row, 0)
        for man in range(x.tier.row_men[tier] + 1):
            _mark_moved(t, x, w, tier, man, near)


@kernel
def mark_captured(
    desk: NDArray[np.int64], tier: int, below: int, first: int, last: int, marks: NDArray[np.uint8]
) -> None:
    """Mark the rows of a lower tier to which captures of row soldiers lead from some rows; O(rows * choices)."""
    d, met = record_at(desk, Desk), pointer(marks)
    t, x, w = d.tables, d.tiers, d.workspace
    men, left = x.tier.row_men[tier], x.tier.row_men[below]
    for row in range(first, last):
        open_row(t, x, w, tier, row, 0)
        for chosen in range(1 << men):
            count = I64(0)
            for k in range(men):
                if (chosen >> k) & 1 != 0:
                    w.others[count] = w.cursor.row_cells[k]
                    count += 1
            if count == left:
                found = _row_of(x, w, below, w.cursor.head[KING], w.others)
                if found >= 0:
                    met[found] = 1
