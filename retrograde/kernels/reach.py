"""Which entries the start reaches, and what they are worth, counted with and without symmetry.

Marks are bytes beside a tier's items: 0 not reached, `NEW` reached, `DONE` reached and
its children marked too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.kernels.backward import keeps
from retrograde.kernels.codes import ALIAS, CODES, DECIDED
from retrograde.kernels.entries import attacker_entry, prepare_attacker, white_entry
from retrograde.kernels.workspace import (
    ERRORS,
    KING,
    Workspace,
    close_column,
    open_column,
    open_row,
)
from tablut.engine.jit import I64, address_of, advance, called, keep, kernel, pointer
from tablut.engine.kernels import generate, make, unmake
from tablut.engine.layout import count_of, king_of, start_of, target_of, undo_captured
from tablut.engine.records import flat
from tablut.indexing.tier_kernels import TierTables, entry_of, men_of_board
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["CODES", "DONE", "NEW", "count_values", "mark_children"]

NEW: Final = 1
DONE: Final = 2


@called
def order_of_symmetry(x: TierTables, tier: int, king: int, black: NDArray[np.uint8], white: NDArray[np.uint8]) -> int:
    """Return how many elements of the group keep a position."""
    count = I64(1)
    for element in range(1, x.elements):
        table = advance(x.image, element * x.cells)
        if (
            I64(table[king]) == king
            and keeps(table, black, x.attackers[tier])
            and keeps(table, white, x.defenders[tier])
        ):
            count += 1
    return count


@called
def mark_one(
    t: Tables,
    x: TierTables,
    w: Workspace,
    tier: int,
    side: int,
    theirs: NDArray[np.uint8],
    lower: NDArray[np.int64],
    moves: NDArray[np.int32],
) -> int:
    """Mark the children of the open position; return how many in this tier are new."""
    board, king = w.board, w.head[KING]
    count = generate(t, board, moves)
    fresh = I64(0)
    before = I64(-1)
    man = I64(-1)
    men = x.attackers[tier]
    for number in range(count):
        move = I64(moves[number])
        start, target = start_of(move), target_of(move)
        undo, outcome = make(t, board, move)
        captured = undo_captured(undo) != 0
        if outcome == UNDECIDED and captured:
            men_of_board(t, board, w.spare_black, w.spare_white)
            attackers, defenders = count_of(t, board, 1), count_of(t, board, 0)
            below = I64(x.tier[attackers * (x.most_defenders + 1) + defenders])
            entry = entry_of(x, below, king_of(t, board), w.spare_black, w.spare_white, w.scratch)
            if entry < 0:
                w.head[ERRORS] += 1
            else:
                marks = address_of(lower[2 * below + (side ^ 1)], theirs)
                if marks[entry] == 0:
                    marks[entry] = NEW
        unmake(t, board, undo)
        if outcome != UNDECIDED or captured:
            continue
        if start != before:
            before = start
            man = I64(0)
            if side == 1:
                while I64(w.black[man]) != start:
                    man += 1
                prepare_attacker(x, w, man, men)
            elif start == king:
                man = x.defenders[tier]
            else:
                while I64(w.white[man]) != start:
                    man += 1
        entry = attacker_entry(x, w, tier, man, target) if side == 1 else white_entry(x, w, tier, man, target)
        if entry < 0:
            w.head[ERRORS] += 1
        elif theirs[entry] == 0:
            theirs[entry] = NEW
            fresh += 1
    return fresh


@kernel
def mark_children(
    tables: Tables,
    index: TierTables,
    workspace: Workspace,
    tier: int,
    side: int,
    first: int,
    last: int,
    mine: NDArray[np.uint8],
    theirs: NDArray[np.uint8],
    lower: NDArray[np.int64],
) -> int:
    """Mark the children of all new entries in some rows; return how many were found in this tier.

    Parameters
    ----------
    tables, index, workspace
        As for `retrograde.kernels.forward.forward_pass`.
    tier, side : int
        The tier, and the side to move.
    first, last : int
        The rows, as a range.
    mine, theirs : ndarray of uint8
        The tier's marks with this side to move, and with the other.
    lower : ndarray of int64, shape (2 * tiers,)
        At ``2 * tier + side to move`` the addresses of all marks.

    Returns
    -------
    int
        The number, or -1 if a move led out of the index.
    """
    t, x, w = flat(tables), flat(index), flat(workspace)
    own, others, addresses = pointer(mine), pointer(theirs), pointer(lower)
    scratch_moves = np.empty(4 * t.cells, dtype=np.int32)
    trail_men = x.trail_men[tier]
    w.head[ERRORS] = 0
    fresh = 0
    by_king = tier * x.kings
    for orbit in range(x.kings):
        start, rows, width = x.first_row[by_king + orbit], x.row_count[by_king + orbit], x.width[by_king + orbit]
        for row in range(max(first, start), min(last, start + rows)):
            is_open = False
            entry = x.base[by_king + orbit] + (row - start) * width
            for column in range(width):
                if own[entry + column] == NEW:
                    if not is_open:
                        open_row(t, x, w, tier, row, side)
                        is_open = True
                    own[entry + column] = DONE
                    open_column(t, x, w, trail_men, column)
                    fresh += mark_one(t, x, w, tier, side, others, addresses, pointer(scratch_moves))
                    close_column(t, w, trail_men)
    keep(scratch_moves)
    return fresh if w.head[ERRORS] == 0 else -1


@kernel
def count_values(
    tables: Tables,
    index: TierTables,
    workspace: Workspace,
    tier: int,
    items: NDArray[np.uint16],
    marks: NDArray[np.uint8],
    classes: NDArray[np.int64],
    positions: NDArray[np.int64],
) -> None:
    """Count the marked entries of a tier by their codes.

    Parameters
    ----------
    tables, index, workspace, tier
        As above.
    items : ndarray of uint16
        The tier's items with one side to move.
    marks : ndarray of uint8
        Which of them count: those that are not 0. Aliases never do.
    classes, positions : ndarray of int64, shape (CODES,)
        Receive the numbers by code, on top of what they have; every class counts
        once, or as often as its orbit has positions.
    """
    t, x, w = flat(tables), flat(index), flat(workspace)
    own, marked = pointer(items), pointer(marks)
    trail_men = x.trail_men[tier]
    by_king = tier * x.kings
    for orbit in range(x.kings):
        start, rows, width = x.first_row[by_king + orbit], x.row_count[by_king + orbit], x.width[by_king + orbit]
        for row in range(start, start + rows):
            entry = x.base[by_king + orbit] + (row - start) * width
            residual = x.residual[x.meta_at[tier] + row] != 1
            if residual:
                open_row(t, x, w, tier, row, 0)
            for column in range(width):
                item = I64(own[entry + column])
                if marked[entry + column] == 0 or item == ALIAS:
                    continue
                code = item & ~DECIDED if item & DECIDED != 0 else I64(0)
                weight = x.elements
                if residual:
                    open_column(t, x, w, trail_men, column)
                    weight //= order_of_symmetry(x, tier, w.head[KING], w.black, w.white)
                    close_column(t, w, trail_men)
                classes[code] += 1
                positions[code] += weight
