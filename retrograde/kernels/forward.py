"""The forward passes: what a position's moves say about it, once and for all of a tier.

`evaluate` looks at every move of the open position. Moves that capture lead to
lower tiers, whose values are known; quiet moves stay in the tier, whose other
side may be partly known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.kernels.codes import ALIAS, CAPTURES, DECIDED, SAFE
from retrograde.kernels.workspace import (
    ERRORS,
    KING,
    RESIDUAL,
    Workspace,
    attacker_entry,
    close_column,
    flat_workspace,
    is_alias,
    next_column,
    open_column,
    open_row,
    prepare_attacker,
    white_entry,
)
from tablut.engine.jit import I64, address_of, called, inlined, kernel, pointer, trailing_zeros
from tablut.engine.kernels import can_move, capture_directions, flat, king_slide, make, unmake
from tablut.indexing.tier_kernels import TierTables, entry_of, flat_tiers
from tablut.rules.outcome import KING_ESCAPED, NO_ATTACKERS, NO_MOVES_BLACK, UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["FULL", "IMMEDIATE", "LOSSES", "STUCK", "WINS", "capture_code", "enemy_beside", "forward_pass", "winner"]

STUCK, IMMEDIATE, LOSSES, WINS, FULL = 0, 1, 2, 3, 4
"""What a pass asks: is the side without a move; has it none, or a move that wins at once; do all its
moves lose; does one win within `limit` plies and two; all that its moves say."""

_STRIDE = 8
"""Columns up to which it is quicker to step on than to unrank."""


@inlined
def winner(outcome: int) -> int:
    """Return the side that an outcome code names: 0 white, 1 black."""
    return I64(0) if outcome in (KING_ESCAPED, NO_ATTACKERS, NO_MOVES_BLACK) else I64(1)


@inlined
def enemy_beside(t: Tables, board: NDArray[np.uint32], side: int, cell: int) -> bool:
    """Return whether a piece of the other side stands next to a cell."""
    shift = side << 4
    rank, file = I64(t.rank[cell]), I64(t.file[cell])
    row = (((I64(board[rank]) >> shift) & 0xFFFF) << 1) >> file
    column = (((I64(board[t.size + file]) >> shift) & 0xFFFF) << 1) >> rank
    return ((row | column) & 5) != 0


@called
def capture_code(
    t: Tables,
    x: TierTables,
    w: Workspace,
    side: int,
    start: int,
    target: int,
    lower: NDArray[np.int64],
) -> int:
    """Return the item of the position that a capture leads to, from a lower tier; -1 if there is none.

    Parameters
    ----------
    t, x, w
        Flat tables, tiers and workspace; its lists still show the position before the
        move, its board the one after it.
    side, start, target : int
        The move.
    lower : pointer to int64
        At ``2 * tier + side to move`` the address of a tier's items.
    """
    king = I64(w.board[2 * t.size])
    attackers, defenders = I64(w.board[2 * t.size + 2]), I64(w.board[2 * t.size + 3])
    # The boards' counts are those after the capture; the lists are as long as before it.
    own, enemy = (w.spare_black, w.spare_white) if side == 1 else (w.spare_white, w.spare_black)
    own_men, enemy_men = (w.black, w.white) if side == 1 else (w.white, w.black)
    for k in range(attackers if side == 1 else defenders):
        own[k] = own_men[k]
        if I64(own_men[k]) == start:
            own[k] = target
    shift = side << 4
    count, k = I64(0), I64(0)
    while count < (defenders if side == 1 else attackers):
        cell = I64(enemy_men[k])
        k += 1
        # What was captured is no longer on the board.
        enemy[count] = cell
        count += (I64(w.board[I64(t.rank[cell])]) >> (I64(t.file[cell]) + shift)) & 1
    tier = I64(x.tier[attackers * (x.most_defenders + 1) + defenders])
    entry = entry_of(x, tier, king, w.spare_black, w.spare_white, w.scratch)
    if entry < 0:
        return I64(-1)
    items = address_of(lower[2 * tier + (side ^ 1)], w.sample)
    return I64(items[entry])


@inlined
def may_capture(t: Tables, board: NDArray[np.uint32], side: int, target: int, king: int) -> bool:
    """Return whether a piece that goes to an empty cell may capture something there.

    The piece need not be there yet: what it captures does not depend on the cell that it
    leaves, except around the king; ``king`` is the king's cell after the move.
    """
    if side == 1 and (king == t.castle or t.facing[king * t.cells + target] != 0):
        return True
    return capture_directions(t, board, side, target, king) != 0


@inlined
def may_return(t: Tables, board: NDArray[np.uint32], slides: NDArray[np.uint32], start: int, target: int) -> bool:
    """Return whether a piece that goes to an empty cell, and captures nothing there, may go straight back."""
    rank, file = I64(t.rank[target]), I64(t.file[target])
    along_row = I64(t.rank[start]) == rank
    line = rank if along_row else t.size + file
    content = I64(board[line])
    content = (content | (content >> 16)) & 0xFFFF
    home = I64(t.file[start]) if along_row else I64(t.rank[start])
    back = I64(t.slides[I64(slides[line]) + ((file if along_row else rank) << t.size) + (content & ~(1 << home))])
    return (back >> home) & 1 != 0


@inlined
def nearest(targets: int, place: int) -> tuple[int, int]:
    """Return the masks of the way, ends excluded and included, to the nearest target below and above a place."""
    below, above = targets & ((1 << place) - 1), targets >> (place + 1)
    down, up = I64(0), I64(0)
    if below != 0:
        # Every bit up to the highest one.
        below |= below >> 1
        below |= below >> 2
        below |= below >> 4
        below |= below >> 8
        down = ((1 << place) - 1) & ~(below >> 1)
    if above != 0:
        up = ((2 << trailing_zeros(above)) - 1) << (place + 1)
    return down, up


@inlined
def threat(t: Tables, w: Workspace, king: int) -> tuple[bool, int, int]:
    """Return whether white, if it were to move, could let the king escape, and on what ways.

    Returns
    -------
    threatens : bool
        Whether it could.
    row, column : int
        If there is only one way, its cells as a mask of the king's row or of its
        column; otherwise no cell blocks all ways, and both are 0.
    """
    rank, file = I64(t.rank[king]), I64(t.file[king])
    row, column = king_slide(t, w.board, king)
    west, east = nearest(row & w.escapes[rank], file)
    south, north = nearest(column & w.escapes[t.size + file], rank)
    ways = I64(west != 0) + I64(east != 0) + I64(south != 0) + I64(north != 0)
    if ways == 1:
        return True, west | east, south | north
    return ways > 1, I64(0), I64(0)


@inlined
def evaluate(
    t: Tables,
    x: TierTables,
    w: Workspace,
    tier: int,
    side: int,
    mode: int,
    limit: int,
    theirs: NDArray[np.uint16],
    lower: NDArray[np.int64],
) -> int:
    """Return the item of the open position, by all its moves; of `LOSSES` and `WINS` only those, and 0 otherwise.

    Children that are won for the opponent in more than ``limit`` plies count as open:
    their turn to be told to their parents is still to come.
    """
    board = w.board
    king = w.head[KING]
    king_rank, king_file = I64(t.rank[king]), I64(t.file[king])
    men = x.attackers[tier] if side == 1 else x.defenders[tier] + 1
    best, worst, count, flags, moves = I64(0), I64(0), I64(0), I64(0), I64(0)
    # While the king threatens to escape, a quiet move of black's that does not block its
    # way lets it: such a child is known without being looked up.
    threatened, row_way, column_way = False, I64(0), I64(0)
    if side == 1 and t.either_after_ply == 0 and limit > 0:
        threatened, row_way, column_way = threat(t, w, king)
    # The least distance of a win that is not known already ends the search for one.
    enough = limit + 2 if mode == WINS and t.either_after_ply == 0 else I64(0)
    for turn in range(men):
        # White's king comes first: most wins are its.
        man = turn if side == 1 else men - 1 - turn
        royal = False
        if side == 1:
            start, slides = I64(w.black[man]), t.attacker_slides
        elif turn == 0:
            start, slides, royal = king, t.king_slides, True
        else:
            start, slides = I64(w.white[man]), t.defender_slides
        prepared = False
        rank, file = I64(t.rank[start]), I64(t.file[start])
        for axis in range(2):
            line = rank if axis == 0 else t.size + file
            content = I64(board[line])
            content = (content | (content >> 16)) & 0xFFFF
            targets = I64(t.slides[I64(slides[line]) + ((file if axis == 0 else rank) << t.size) + content])
            if threatened:
                if axis == 0:
                    blocks = (row_way if rank == king_rank else 0) | (((column_way >> rank) & 1) << king_file)
                else:
                    blocks = (column_way if file == king_file else 0) | (((row_way >> file) & 1) << king_rank)
                concerned = (blocks | white_beside(t, board, line)) & targets
                if concerned != targets:
                    moves += 1
                    worst = max(worst, I64(2))
                targets = concerned
            while targets:
                place = trailing_zeros(targets)
                targets &= targets - 1
                target = rank * t.size + place if axis == 0 else place * t.size + file
                moves += 1
                if (
                    (royal and t.escapes[target] != 0)
                    or (
                        enemy_beside(t, board, side, target)
                        and may_capture(t, board, side, target, target if royal else king)
                    )
                    or (t.either_after_ply != 0 and not may_return(t, board, slides, start, target))
                ):
                    undo, outcome = make(t, board, start | (target << 7))
                    directions = undo >> 14
                    item = I64(0)
                    if outcome == UNDECIDED and directions != 0:
                        item = capture_code(t, x, w, side, start, target, lower)
                    unmake(t, board, undo)
                    if outcome != UNDECIDED:
                        if winner(outcome) == side:
                            return I64(DECIDED | 2)
                        worst = max(worst, I64(1))
                        continue
                    if directions != 0:
                        flags |= CAPTURES
                        if item < 0:
                            w.head[ERRORS] += 1
                        elif item & DECIDED == 0:
                            if mode == LOSSES:
                                return I64(0)
                            flags |= SAFE
                        elif item & 1:
                            distance = ((item & ~DECIDED) >> 1) + 1
                            best = distance if best == 0 else min(best, distance)
                        else:
                            worst = max(worst, ((item & ~DECIDED) >> 1) + 1)
                        continue
                if side == 1:
                    if not prepared:
                        prepare_attacker(x, w, man, men)
                        prepared = True
                    entry = attacker_entry(x, w, tier, man, target)
                else:
                    entry = white_entry(x, w, tier, man, target)
                if entry < 0:
                    w.head[ERRORS] += 1
                    continue
                item = I64(theirs[entry])
                if item & DECIDED == 0:
                    if mode == LOSSES:
                        return I64(0)
                    count += 1
                    continue
                distance = ((item & ~DECIDED) >> 1) + 1
                if item & 1:
                    best = distance if best == 0 else min(best, distance)
                    if best <= enough:
                        return DECIDED | (best << 1)
                elif distance <= limit + 1:
                    worst = max(worst, distance)
                else:
                    count += 1
    if mode == LOSSES and best != 0:
        return I64(0)
    if mode == WINS:
        return DECIDED | (best << 1) if 0 < best <= limit + 2 else I64(0)
    if best != 0:
        return DECIDED | (best << 1)
    if moves == 0:
        return I64(DECIDED | 1)
    if count == 0 and flags & SAFE == 0:
        return DECIDED | (worst << 1) | 1
    return count | flags


@inlined
def white_beside(t: Tables, board: NDArray[np.uint32], line: int) -> int:
    """Return the places of a line beside which a white piece stands, on the line or on those next to it."""
    white = I64(board[line]) >> 16
    beside = (white << 1) | (white >> 1)
    # The lines of one direction stand side by side, rows before columns.
    if line != 0 and line != t.size:
        beside |= I64(board[line - 1]) >> 16
    if line != t.size - 1 and line != 2 * t.size - 1:
        beside |= I64(board[line + 1]) >> 16
    return beside & ((1 << t.size) - 1)


@inlined
def wins_at_once(t: Tables, x: TierTables, w: Workspace, tier: int, side: int, lower: NDArray[np.int64]) -> bool:
    """Return whether an escape or a capture in the open position wins within this ply.

    A capture also wins at once if it leaves the other side without a move. Quiet moves that
    do are not looked for: the positions that they lead to tell their parents.
    """
    board, king = w.board, w.head[KING]
    if side == 0 and t.either_after_ply == 0:
        row, column = king_slide(t, board, king)
        if (row & w.escapes[I64(t.rank[king])]) | (column & w.escapes[t.size + I64(t.file[king])]) != 0:
            return True
    men = x.attackers[tier] if side == 1 else x.defenders[tier] + 1
    for man in range(men):
        royal = False
        if side == 1:
            start, slides = I64(w.black[man]), t.attacker_slides
        elif man == men - 1:
            start, slides, royal = king, t.king_slides, True
        else:
            start, slides = I64(w.white[man]), t.defender_slides
        rank, file = I64(t.rank[start]), I64(t.file[start])
        for axis in range(2):
            line = rank if axis == 0 else t.size + file
            content = I64(board[line])
            content = (content | (content >> 16)) & 0xFFFF
            targets = I64(t.slides[I64(slides[line]) + ((file if axis == 0 else rank) << t.size) + content])
            while targets:
                place = trailing_zeros(targets)
                targets &= targets - 1
                target = rank * t.size + place if axis == 0 else place * t.size + file
                if (royal and t.escapes[target] != 0) or (
                    enemy_beside(t, board, side, target)
                    and may_capture(t, board, side, target, target if royal else king)
                ):
                    undo, outcome = make(t, board, start | (target << 7))
                    stuck = False
                    if outcome == UNDECIDED and undo >> 14 != 0:
                        stuck = capture_code(t, x, w, side, start, target, lower) == DECIDED | 1
                    unmake(t, board, undo)
                    if stuck or (outcome != UNDECIDED and winner(outcome) == side):
                        return True
    return False


@kernel
def forward_pass(
    tables: Tables,
    index: TierTables,
    workspace: Workspace,
    mode: int,
    tier: int,
    side: int,
    first: int,
    last: int,
    limit: int,
    mine: NDArray[np.uint16],
    theirs: NDArray[np.uint16],
    lower: NDArray[np.int64],
    report: NDArray[np.int64],
) -> int:
    """Write the items of some rows of a tier that are not final; return the number of errors.

    Parameters
    ----------
    tables : Tables
        The variant.
    index : TierTables
        The tier and all that captures lead to.
    workspace : Workspace
        Of this thread.
    mode : int
        `STUCK`, `IMMEDIATE`, `LOSSES`, `WINS` or `FULL`.
    tier, side : int
        What is to be written: 0 white to move, 1 black.
    first, last : int
        The rows, as a range.
    limit : int
        See `evaluate`. Wins in more than ``limit + 2`` plies are looked at again: there may be quicker ones.
    mine, theirs : ndarray of uint16
        The tier's items with this and with the other side to move.
    lower : ndarray of int64, shape (2 * tiers,)
        Addresses, see `capture_code`.
    report : ndarray of int64, shape (CODES,)
        Receives how many items were given each code, or found to be aliases, on top of what it has.

    Returns
    -------
    int
        Number of moves that led out of the index; anything but 0 is a defect.
    """
    t, x, w = flat(tables), flat_tiers(index), flat_workspace(workspace)
    items, children, addresses, found = pointer(mine), pointer(theirs), pointer(lower), pointer(report)
    trail_men = x.trail_men[tier]
    final = DECIDED | ((limit + 2) << 1)
    w.head[ERRORS] = 0
    by_king = tier * x.kings
    for orbit in range(x.kings):
        start, rows, width = x.first_row[by_king + orbit], x.row_count[by_king + orbit], x.width[by_king + orbit]
        for row in range(max(first, start), min(last, start + rows)):
            base = x.base[by_king + orbit] + (row - start) * width
            at = I64(-1)
            for column in range(width):
                item = I64(items[base + column])
                if item == ALIAS or (item & DECIDED != 0 and (item & 1 != 0 or item <= final)):
                    continue
                if at < 0:
                    open_row(t, x, w, tier, row, side)
                    open_column(t, x, w, trail_men, column)
                elif column - at <= _STRIDE:
                    for _ in range(column - at):
                        next_column(t, w, trail_men)
                else:
                    close_column(t, w, trail_men)
                    open_column(t, x, w, trail_men, column)
                at = column
                new = item
                if mode > IMMEDIATE:
                    new = evaluate(t, x, w, tier, side, mode, limit, children, addresses)
                elif w.head[RESIDUAL] != 1 and trail_men > 0 and is_alias(x, w, tier, base + column):
                    new = I64(ALIAS)
                elif not can_move(t, w.board, side):
                    new = I64(DECIDED | 1)
                elif mode == IMMEDIATE and wins_at_once(t, x, w, tier, side, addresses):
                    new = I64(DECIDED | 2)
                if new != item:
                    items[base + column] = np.uint16(new)
                    if new == ALIAS or new & DECIDED != 0:
                        found[new & ~DECIDED] += 1
    return w.head[ERRORS]
