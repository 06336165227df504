"""Additional kernels for slices: the rows to which moves lead, and copying parts of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrograde.solver.kernels.context import KING, Context
from retrograde.solver.kernels.cursor import set_row
from tablut.engine.jit import I64, called, inlined, kernel, pointer
from tablut.engine.records import record_at
from tablut.indexing.tier_kernels import row_at

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
def _row_of(context: Context, tier: int, king: int, cells: NDArray[np.int64]) -> int:
    """Return the row of a king and row soldiers, counted over all kings, or -1 if there is none; O(men * men)."""
    index = context.index
    at = row_at(index, tier, king, cells, context.scratch)
    if at < 0:
        return I64(-1)
    return index.tier.first_row[tier * index.square.kings + I64(index.square.king[king])] + I64(index.row.number[at])


@called
def _mark_moved(context: Context, tier: int, man: int, marks: NDArray[np.uint8]) -> None:
    """Mark all rows to which one man's move along its rank or file leads from the current row, ignoring obstacles."""
    rules = context.rules
    cells, men, king = context.cursor.row_cells, context.index.tier.row_men[tier], context.cursor.head[KING]
    start = king if man == men else cells[man]
    rank, file = I64(rules.rank[start]), I64(rules.file[start])
    for step in range(2 * rules.size):
        target = rank * rules.size + step if step < rules.size else (step - rules.size) * rules.size + file
        taken = target == king
        for k in range(men):
            taken |= cells[k] == target
        if taken:
            continue
        if man == men:
            row = _row_of(context, tier, target, cells)
        else:
            cells[man] = target
            row = _row_of(context, tier, king, cells)
            cells[man] = start
        if row >= 0:
            marks[row] = 1


@kernel
def mark_near(directory: NDArray[np.int64], tier: int, first: int, last: int, marks: NDArray[np.uint8]) -> None:
    """Mark some rows of a tier with defenders, and all rows to which white's quiet moves lead; O(rows * moves).

    Obstacles are ignored, so more rows than needed may be marked. For the same reason, the rows from which a quiet move
    can come are marked, too.
    """
    context, near = record_at(directory, Context), pointer(marks)
    for row in range(first, last):
        near[row] = 1
        set_row(context, tier, row, 0)
        for man in range(context.index.tier.row_men[tier] + 1):
            _mark_moved(context, tier, man, near)


@kernel
def mark_captured(
    directory: NDArray[np.int64], tier: int, below: int, first: int, last: int, marks: NDArray[np.uint8]
) -> None:
    """Mark the rows of a lower tier to which captures of row soldiers lead from some rows; O(rows * choices)."""
    context, met = record_at(directory, Context), pointer(marks)
    men, left = context.index.tier.row_men[tier], context.index.tier.row_men[below]
    for row in range(first, last):
        set_row(context, tier, row, 0)
        for chosen in range(1 << men):
            count = I64(0)
            for k in range(men):
                if (chosen >> k) & 1 != 0:
                    context.others[count] = context.cursor.row_cells[k]
                    count += 1
            if count == left:
                found = _row_of(context, below, context.cursor.head[KING], context.others)
                if found >= 0:
                    met[found] = 1
