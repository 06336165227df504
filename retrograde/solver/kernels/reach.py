"""Kernels that mark the entries reachable from the start and count their values, and kernels for slices.

Marks are bytes parallel to a tier's items. A mark is 0 if the entry has not been reached, `NEW` if it has been reached,
and `DONE` if its successors have been marked as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.solver.kernels.context import ERRORS, KING, Context
from retrograde.solver.kernels.cursor import (
    clear_column,
    count_men,
    entry_after,
    entry_on,
    moves_of,
    prepare_moves,
    put_column,
    rows_of_king,
    set_row,
    symmetry_order,
)
from tablut.engine.jit import I64, called, inlined, items_at, kernel, pointer, trailing_zeros
from tablut.engine.kernel_records import flat, record_at
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import cell_on_cross, coordinates, move_of, undo_captured
from tablut.indexing.tier_kernels import row_at
from tablut.indexing.tier_tables import code_of
from tablut.indexing.values import ALIAS
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.context import Marking

NEW: Final = 1
DONE: Final = 2


@called
def _mark_one(context: Context, marking: Marking) -> int:
    """Mark the current position's successors. Return the number of new marks in this tier."""
    rules, board, side = context.rules, context.here.board, marking.side
    men, fresh = count_men(context.tiers, marking.tier, side), I64(0)
    for man in range(men):
        start, targets = moves_of(context, side, man, men)
        prepare_moves(context, side, man, men)
        while targets:
            target = cell_on_cross(rules, coordinates(rules, start), trailing_zeros(targets))
            targets &= targets - 1
            undo, outcome = make(rules, board, move_of(rules, start, target))
            quiet, entry, marks = undo_captured(undo) == 0, I64(0), marking.theirs
            if outcome == UNDECIDED and not quiet:
                below, entry = entry_on(context, board)
                if entry >= 0:
                    marks = items_at(marking.lower[2 * below + (side ^ 1)], np.uint8)
            unmake(rules, board, undo)
            if outcome != UNDECIDED:
                continue
            if quiet:
                entry = entry_after(context, marking.tier, side, man, target)
            if entry < 0:
                context.cursor.head[ERRORS] += 1
            elif marks[entry] == 0:
                marks[entry] = NEW
                fresh += I64(quiet)
    return fresh


@kernel
def mark_successors(directory: NDArray[np.int64], arguments: Marking, first: int, last: int) -> int:
    """Mark the successors of all new entries in the given rows, in O(new entries * moves) time.

    Return the number of new marks in this tier, or -1 if a move leads to an entry that does not exist.
    """
    context, task = record_at(directory, Context), flat(arguments)
    index = context.tiers
    column_men = index.tier.column_men[task.tier]
    context.cursor.head[ERRORS] = 0
    fresh = 0
    for orbit in range(index.square.kings):
        begin, end, at_begin, width = rows_of_king(index, task.tier, orbit, first, last)
        for row in range(begin, end):
            is_open = False
            entry = at_begin + (row - begin) * width
            for column in range(width):
                if task.mine[entry + column] == NEW:
                    if not is_open:
                        set_row(context, task.tier, row, task.side)
                        is_open = True
                    task.mine[entry + column] = DONE
                    put_column(context, column_men, column)
                    fresh += _mark_one(context, task)
                    clear_column(context, column_men)
    return fresh if context.cursor.head[ERRORS] == 0 else -1


@kernel
def count_values(
    directory: NDArray[np.int64],
    tier: int,
    items: NDArray[np.uint16],
    marks: NDArray[np.uint8],
    classes: NDArray[np.int64],
    positions: NDArray[np.int64],
) -> None:
    """Count a tier's marked entries by code, in O(entries) time."""
    context = record_at(directory, Context)
    index = context.tiers
    own, marked, column_men = pointer(items), pointer(marks), index.tier.column_men[tier]
    for orbit in range(index.square.kings):
        begin, end, at_begin, width = rows_of_king(index, tier, orbit, I64(0), I64(1) << 62)
        for row in range(begin, end):
            entry = at_begin + (row - begin) * width
            residual = index.row.residual[index.tier.meta_at[tier] + row] != 1
            if residual:
                set_row(context, tier, row, 0)
            for column in range(width):
                item = I64(own[entry + column])
                if marked[entry + column] == 0 or item == ALIAS:
                    continue
                code, weight = code_of(item), index.square.elements
                if residual:
                    put_column(context, column_men, column)
                    weight //= symmetry_order(
                        index, tier, context.cursor.head[KING], context.here.black, context.here.white
                    )
                    clear_column(context, column_men)
                classes[code] += 1
                positions[code] += weight


# -- for slices: the rows after moves, and copying parts of arrays ------------------------------


@kernel
def copy_runs(
    source: NDArray[np.uint16],
    at: int,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    targets: NDArray[np.int64],
    out: NDArray[np.uint16],
) -> None:
    """Copy the given runs' entries that lie in one part of an array, in O(copied + runs) time.

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
    """Return the number of the row with a given king and row soldiers, or -1 if there is none, in O(men²) time."""
    index = context.tiers
    at = row_at(index, tier, king, cells, context.scratch)
    if at < 0:
        return I64(-1)
    return index.tier.first_row[tier * index.square.kings + I64(index.square.king[king])] + I64(index.row.number[at])


@called
def _mark_moved(context: Context, tier: int, man: int, marks: NDArray[np.uint8]) -> None:
    """Mark all rows that can be reached from the current row by moving the given man.

    Obstacles on the man's rank and file are ignored.
    """
    rules = context.rules
    cells, men, king = context.cursor.row_cells, context.tiers.tier.row_men[tier], context.cursor.head[KING]
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
    """Mark the given rows of a tier with defenders, and all rows that white's quiet moves can reach from them.

    Obstacles are ignored, and so more rows than needed may be marked. For the same reason, the rows that a quiet move
    can come from are marked too. The kernel takes O(rows * moves) time.
    """
    context, near = record_at(directory, Context), pointer(marks)
    for row in range(first, last):
        near[row] = 1
        set_row(context, tier, row, 0)
        for man in range(context.tiers.tier.row_men[tier] + 1):
            _mark_moved(context, tier, man, near)


@kernel
def mark_captured(
    directory: NDArray[np.int64], tier: int, below: int, first: int, last: int, marks: NDArray[np.uint8]
) -> None:
    """Mark the rows in a lower tier that captures of row soldiers lead to, in O(rows * choices) time."""
    context, met = record_at(directory, Context), pointer(marks)
    men, left = context.tiers.tier.row_men[tier], context.tiers.tier.row_men[below]
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
