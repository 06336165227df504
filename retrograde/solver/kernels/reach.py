"""Marking the entries reachable from the start, and counting their values with and without symmetry.

Marks are bytes parallel to a tier's items: 0 for an entry that is not reached, `NEW` for one that is reached, `DONE`
for one whose successors are marked as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.solver.kernels.cursor import (
    attacker_entry,
    close_column,
    entry_on,
    open_column,
    open_row,
    prepare_attacker,
    rows_of_king,
    symmetry_order,
    white_entry,
)
from retrograde.solver.kernels.workspace import ERRORS, KING, Desk, Workspace
from tablut.engine.jit import I64, called, items_at, keep, kernel, pointer
from tablut.engine.kernels import generate, make, unmake
from tablut.engine.layout import start_of, target_of, undo_captured
from tablut.engine.records import flat, record_at
from tablut.indexing.tier_tables import code_of
from tablut.indexing.values import ALIAS
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Marking
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

NEW: Final = 1
DONE: Final = 2


@called
def _mark_one(rules: Tables, index: TierTables, work: Workspace, marking: Marking, moves: NDArray[np.int32]) -> int:
    """Mark the successors of the open position; return how many marks are new in this tier."""
    board, king, side = work.here.board, work.cursor.head[KING], marking.side
    count = generate(rules, board, moves)
    fresh = I64(0)
    before = I64(-1)
    man = I64(-1)
    for number in range(count):
        move = I64(moves[number])
        start, target = start_of(rules, move), target_of(rules, move)
        undo, outcome = make(rules, board, move)
        captured = undo_captured(undo) != 0
        if outcome == UNDECIDED and captured:
            below, entry = entry_on(rules, index, work, board)
            if entry < 0:
                work.cursor.head[ERRORS] += 1
            else:
                marks = items_at(marking.lower[2 * below + (side ^ 1)], np.uint8)
                if marks[entry] == 0:
                    marks[entry] = NEW
        unmake(rules, board, undo)
        if outcome != UNDECIDED or captured:
            continue
        if start != before:
            before = start
            man = I64(0)
            if side == 1:
                while I64(work.here.black[man]) != start:
                    man += 1
                prepare_attacker(index, work, man, index.tier.attackers[marking.tier])
            elif start == king:
                man = index.tier.defenders[marking.tier]
            else:
                while I64(work.here.white[man]) != start:
                    man += 1
        entry = (
            attacker_entry(index, work, marking.tier, man, target)
            if side == 1
            else white_entry(index, work, marking.tier, man, target)
        )
        if entry < 0:
            work.cursor.head[ERRORS] += 1
        elif marking.theirs[entry] == 0:
            marking.theirs[entry] = NEW
            fresh += 1
    return fresh


@kernel
def mark_successors(directory: NDArray[np.int64], arguments: Marking, first: int, last: int) -> int:
    """Mark the successors of all new entries in some rows; O(new entries * moves).

    Return how many marks are new in this tier, or -1 if a move leads to an entry that does not exist.
    """
    desk, task = record_at(directory, Desk), flat(arguments)
    rules, index, work = desk.tables, desk.tiers, desk.workspace
    scratch_moves = np.empty(4 * rules.cells, dtype=np.int32)
    column_men = index.tier.column_men[task.tier]
    work.cursor.head[ERRORS] = 0
    fresh = 0
    for orbit in range(index.square.kings):
        begin, end, at_begin, width = rows_of_king(index, task.tier, orbit, first, last)
        for row in range(begin, end):
            is_open = False
            entry = at_begin + (row - begin) * width
            for column in range(width):
                if task.mine[entry + column] == NEW:
                    if not is_open:
                        open_row(rules, index, work, task.tier, row, task.side)
                        is_open = True
                    task.mine[entry + column] = DONE
                    open_column(rules, index, work, column_men, column)
                    fresh += _mark_one(rules, index, work, task, pointer(scratch_moves))
                    close_column(rules, work, column_men)
    keep(scratch_moves)
    return fresh if work.cursor.head[ERRORS] == 0 else -1


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
    desk = record_at(directory, Desk)
    rules, index, work = desk.tables, desk.tiers, desk.workspace
    own, marked, column_men = pointer(items), pointer(marks), index.tier.column_men[tier]
    for orbit in range(index.square.kings):
        begin, end, at_begin, width = rows_of_king(index, tier, orbit, I64(0), I64(1) << 62)
        for row in range(begin, end):
            entry = at_begin + (row - begin) * width
            residual = index.row.residual[index.tier.meta_at[tier] + row] != 1
            if residual:
                open_row(rules, index, work, tier, row, 0)
            for column in range(width):
                item = I64(own[entry + column])
                if marked[entry + column] == 0 or item == ALIAS:
                    continue
                code, weight = code_of(item), index.square.elements
                if residual:
                    open_column(rules, index, work, column_men, column)
                    weight //= symmetry_order(index, tier, work.cursor.head[KING], work.here.black, work.here.white)
                    close_column(rules, work, column_men)
                classes[code] += 1
                positions[code] += weight
