"""The first pass: who has no move, and where white wins at once.

Most of it is said for many columns together. Columns that differ in their lowest trail alone
follow each other, in a *run*; whether a trail closes a way of the king's, or can itself be shut
in, depends on its cell and on nothing else in the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.kernels.codes import ALIAS, DECIDED
from retrograde.kernels.moves import capture_code
from retrograde.kernels.workspace import (
    ERRORS,
    KING,
    RESIDUAL,
    Workspace,
    close_column,
    is_alias,
    next_run,
    open_column,
    open_later_row,
    step_to,
)
from tablut.engine.attacks import beside, escape_targets, escape_ways, may_capture, slides_along, slides_from, winner_of
from tablut.engine.jit import I64, called, inlined, kernel, pointer, trailing_zeros
from tablut.engine.kernels import can_move, make, unmake
from tablut.engine.layout import coordinates, move_of, occupied, undo_captured
from tablut.engine.records import flat
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.indexing.tier_kernels import TierTables

__all__ = ["immediate_pass"]


@inlined
def has_move(t: Tables, x: TierTables, w: Workspace, tier: int, side: int) -> bool:
    """Return whether a side has a move in the open position."""
    if side == 0:
        return can_move(t, w.board, 0)
    for k in range(x.attackers[tier]):
        row, column = slides_from(t, w.board, t.attacker_slides, I64(w.black[k]))
        if (row | column) != 0:
            return True
    return False


@called
def mark_escapes(
    t: Tables, x: TierTables, w: Workspace, trail_men: int, base: int, width: int, items: NDArray[np.uint16]
) -> int:
    """Mark the columns of the open row in which the king escapes; return how many there are."""
    king = w.head[KING]
    rank, file = coordinates(t, king)
    west, east, south, north = escape_ways(t, w.board, king)
    ways = I64(west != 0) | (I64(east != 0) << 1) | (I64(south != 0) << 2) | (I64(north != 0) << 3)
    if ways == 0:
        return I64(0)
    # The ways that a trail closes, by the number of its cell.
    closed = w.traits
    for cell in range(x.cells):
        number = I64(w.number[cell])
        if number >= 0:
            found = I64(0)
            if I64(t.rank[cell]) == rank:
                place = I64(t.file[cell])
                found |= ((west >> place) & 1) | (((east >> place) & 1) << 1)
            if I64(t.file[cell]) == file:
                place = I64(t.rank[cell])
                found |= (((south >> place) & 1) << 2) | (((north >> place) & 1) << 3)
            closed[number] = found
    marked = I64(0)
    numbers = w.run
    for k in range(trail_men):
        numbers[k] = k
    column = I64(0)
    while column < width:
        left = ways
        for k in range(1, trail_men):
            left &= ~I64(closed[numbers[k]])
        run = numbers[1] if trail_men > 1 else width
        if left != 0:
            for low in range(run):
                if left & ~I64(closed[low]) != 0:
                    items[base + column + low] = np.uint16(DECIDED | 2)
                    marked += 1
        column += run
        next_run(numbers, trail_men)
    return marked


@called
def mark_stuck(
    t: Tables, x: TierTables, w: Workspace, trail_men: int, base: int, width: int, items: NDArray[np.uint16]
) -> int:
    """Mark the columns of the open row in which no trail has a move; return how many there are."""
    # Another trail shuts one direction at most: with more of them, a trail can always move.
    free = w.traits
    for cell in range(x.cells):
        number = I64(w.number[cell])
        if number >= 0:
            row, column = slides_from(t, w.board, t.attacker_slides, cell)
            rank, file = coordinates(t, cell)
            ways = I64(row >> file != 0) + I64(row & ((1 << file) - 1) != 0)
            ways += I64(column >> rank != 0) + I64(column & ((1 << rank) - 1) != 0)
            free[number] = ways >= trail_men
    marked = I64(0)
    numbers = w.run
    for k in range(trail_men):
        numbers[k] = k
    column = I64(0)
    while column < width:
        moves = False
        for k in range(1, trail_men):
            moves |= free[numbers[k]] != 0
        run = numbers[1] if trail_men > 1 else width
        if not moves:
            for low in range(run):
                if free[low] != 0:
                    continue
                open_column(t, x, w, trail_men, column + low)
                moves = False
                for k in range(trail_men):
                    along_row, along_column = slides_from(t, w.board, t.attacker_slides, I64(w.black[k]))
                    moves |= (along_row | along_column) != 0
                close_column(t, w, trail_men)
                if not moves:
                    items[base + column + low] = np.uint16(DECIDED | 1)
                    marked += 1
        column += run
        next_run(numbers, trail_men)
    return marked


@inlined
def wins_at_once(t: Tables, x: TierTables, w: Workspace, tier: int, lower: NDArray[np.int64]) -> bool:
    """Return whether an escape or a capture of white's in the open position wins within this ply.

    A capture also wins at once if it leaves black without a move. Quiet moves that
    do are not looked for: the positions that they lead to tell their parents.
    """
    board, king = w.board, w.head[KING]
    if t.either_after_ply == 0:
        row, column = escape_targets(t, board, king)
        if (row | column) != 0:
            return True
    men = x.defenders[tier] + 1
    for man in range(men):
        royal = man == men - 1
        start, slides = (king, t.king_slides) if royal else (I64(w.white[man]), t.defender_slides)
        rank, file = coordinates(t, start)
        for axis in range(2):
            line = rank if axis == 0 else t.size + file
            content = I64(board[line])
            content = occupied(content)
            near = beside(t, board, line, 1)
            if royal:
                near |= I64(t.escapes_on[line])
            targets = near & slides_along(t, slides, line, file if axis == 0 else rank, content)
            while targets:
                place = trailing_zeros(targets)
                targets &= targets - 1
                target = rank * t.size + place if axis == 0 else place * t.size + file
                if (royal and t.escapes[target] != 0) or may_capture(t, board, 0, target, target if royal else king):
                    undo, outcome = make(t, board, move_of(start, target))
                    stuck = False
                    if outcome == UNDECIDED and undo_captured(undo) != 0:
                        stuck = capture_code(t, x, w, 0, start, target, lower) == DECIDED | 1
                    unmake(t, board, undo)
                    if stuck or (outcome != UNDECIDED and winner_of(outcome) == 0):
                        return True
    return False


@kernel
def immediate_pass(
    tables: Tables,
    index: TierTables,
    workspace: Workspace,
    tier: int,
    side: int,
    first: int,
    last: int,
    items: NDArray[np.uint16],
    lower: NDArray[np.int64],
    report: NDArray[np.int64],
) -> int:
    """Mark in some rows of a tier aliases, positions without a move, and white's wins in one ply.

    Parameters
    ----------
    tables : Tables
        The variant.
    index : TierTables
        The tier and all that captures lead to.
    workspace : Workspace
        Of this thread.
    tier, side : int
        The tier, and who is to move: 0 white, 1 black.
    first, last : int
        The rows, as a range.
    items : ndarray of uint16
        The tier's items with this side to move, all 0.
    lower : ndarray of int64, shape (2 * tiers,)
        Addresses, see `retrograde.kernels.moves.capture_code`.
    report : ndarray of int64, shape (CODES,)
        Receives how many items were given each code, or found to be aliases, on top of what it has.

    Returns
    -------
    int
        Number of moves that led out of the index; anything but 0 is a defect.
    """
    t, x, w = flat(tables), flat(index), flat(workspace)
    own, addresses, found = pointer(items), pointer(lower), pointer(report)
    trail_men = x.trail_men[tier]
    w.head[ERRORS] = 0
    by_king = tier * x.kings
    for orbit in range(x.kings):
        opened = I64(-1)
        start, rows, width = x.first_row[by_king + orbit], x.row_count[by_king + orbit], x.width[by_king + orbit]
        for row in range(max(first, start), min(last, start + rows)):
            open_later_row(t, x, w, tier, row, opened, side)
            opened = I64(row)
            base = x.base[by_king + orbit] + (row - start) * width
            aliases = trail_men > 0 and w.head[RESIDUAL] != 1
            if trail_men > 0 and not aliases:
                if side == 1:
                    found[1] += mark_stuck(t, x, w, trail_men, base, width, own)
                    continue
                if t.either_after_ply == 0:
                    found[2] += mark_escapes(t, x, w, trail_men, base, width, own)
            at = I64(-1)
            for column in range(width):
                if own[base + column] != 0:
                    continue
                step_to(t, x, w, trail_men, at, column)
                at = I64(column)
                new = I64(0)
                if aliases and is_alias(x, w, tier, base + column):
                    new = I64(ALIAS)
                elif side == 0 and wins_at_once(t, x, w, tier, addresses):
                    new = I64(DECIDED | 2)
                elif not has_move(t, x, w, tier, side):
                    new = I64(DECIDED | 1)
                if new != 0:
                    own[base + column] = np.uint16(new)
                    found[new & ~DECIDED] += 1
    return w.head[ERRORS]
