"""Marking the entries reachable from the start, and counting their values with and without symmetry.

Marks are bytes parallel to a tier's items: 0 for an entry that is not reached, `NEW` for one that is reached, `DONE`
for one whose successors are marked as well.
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
from tablut.engine.jit import I64, called, items_at, kernel, pointer, trailing_zeros
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import cell_on_cross, coordinates, move_of, undo_captured
from tablut.engine.records import flat, record_at
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
    """Mark the successors of the current position; return how many marks are new in this tier."""
    rules, board, side = context.rules, context.here.board, marking.side
    men, fresh = count_men(context.index, marking.tier, side), I64(0)
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
    """Mark the successors of all new entries in some rows; O(new entries * moves).

    Return how many marks are new in this tier, or -1 if a move leads to an entry that does not exist.
    """
    context, task = record_at(directory, Context), flat(arguments)
    index = context.index
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
    """Count the marked entries of a tier by their codes; O(entries)."""
    context = record_at(directory, Context)
    index = context.index
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
