"""The forward passes: what a position's moves say about it, once and for all of a tier.

`evaluate` looks at every move of the open position. Moves that capture lead to
lower tiers, whose values are known; quiet moves stay in the tier, whose other
side may be partly known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.kernels.codes import ALIAS, CAPTURES, DECIDED, SAFE
from retrograde.kernels.entries import attacker_entry, prepare_attacker, white_entry
from retrograde.kernels.moves import capture_code, may_return
from retrograde.kernels.rows import ASK, judge_row
from retrograde.kernels.workspace import (
    ERRORS,
    KING,
    MARKED_TRAILS,
    Workspace,
    open_later_row,
    step_to,
)
from tablut.engine.attacks import beside, blocking_places, may_capture, slides_along, winner_of
from tablut.engine.jit import I64, inlined, kernel, pointer, trailing_zeros
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import coordinates, move_of, occupied, undo_captured
from tablut.engine.records import flat
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.indexing.tier_kernels import TierTables

__all__ = ["FULL", "LOSSES", "WINS", "forward_pass"]

LOSSES, WINS, FULL = 0, 1, 2
"""What a pass asks: do all moves lose; does one win within `limit` plies and two; all that the moves say."""


@inlined
def sort_targets(t: Tables, x: TierTables, w: Workspace, tier: int, side: int, evading: bool) -> tuple[int, bool]:
    """Write where each man may go, as masks of its row and its column: beside an enemy, or quietly.

    With ``evading``, black's quiet moves that leave the king a way to escape are left out.

    Returns
    -------
    moves : int
        Not 0 if there is a move.
    lets_escape : bool
        Whether moves were left out.
    """
    board = w.board
    king = w.head[KING]
    king_rank, king_file = coordinates(t, king)
    men = x.attackers[tier] if side == 1 else x.defenders[tier] + 1
    moves, lets_escape = I64(0), False
    threatened, row_way, column_way = False, I64(0), I64(0)
    if evading:
        threatened, row_way, column_way = blocking_places(t, board, king)
    for man in range(men):
        royal = side == 0 and man == men - 1
        if side == 1:
            start, slides = I64(w.black[man]), t.attacker_slides
        elif royal:
            start, slides = king, t.king_slides
        else:
            start, slides = I64(w.white[man]), t.defender_slides
        rank, file = coordinates(t, start)
        for axis in range(2):
            line = rank if axis == 0 else t.size + file
            content = I64(board[line])
            content = occupied(content)
            targets = slides_along(t, slides, line, file if axis == 0 else rank, content)
            moves |= targets
            near = beside(t, board, line, side ^ 1)
            if royal:
                near |= I64(t.escapes_on[line])
            if t.either_after_ply != 0:
                near = targets
            if threatened:
                if axis == 0:
                    blocks = (row_way if rank == king_rank else 0) | (((column_way >> rank) & 1) << king_file)
                else:
                    blocks = (column_way if file == king_file else 0) | (((row_way >> file) & 1) << king_rank)
                concerned = (blocks | near) & targets
                lets_escape |= concerned != targets
                targets = concerned
            w.sharp[2 * man + axis] = targets & near
            w.quiet[2 * man + axis] = targets & ~near
    return moves, lets_escape


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
    men = x.attackers[tier] if side == 1 else x.defenders[tier] + 1
    best, worst, count, flags = I64(0), I64(0), I64(0), I64(0)
    # While the king threatens to escape, a quiet move of black's that does not block its
    # way lets it: such a child is known without being looked up.
    moves, lets_escape = sort_targets(t, x, w, tier, side, side == 1 and t.either_after_ply == 0 and limit > 0)
    if lets_escape:
        worst = I64(2)
    # The least distance of a win that is not known already ends the search for one.
    enough = limit + 2 if mode == WINS and t.either_after_ply == 0 else I64(0)
    # Where one move settles it, that is a quiet one more often than not; a capture ends the rest.
    for phase in range(1 if mode == FULL else 0, 3):
        for turn in range(men):
            # White's king comes first: most wins are its.
            man = turn if side == 1 else men - 1 - turn
            royal = side == 0 and turn == 0
            if side == 1:
                start, slides = I64(w.black[man]), t.attacker_slides
            elif royal:
                start, slides = king, t.king_slides
            else:
                start, slides = I64(w.white[man]), t.defender_slides
            rank, file = coordinates(t, start)
            prepared = False
            for axis in range(2):
                if phase == 1:
                    targets = w.sharp[2 * man + axis]
                else:
                    targets = w.quiet[2 * man + axis]
                    w.quiet[2 * man + axis] = 0
                while targets:
                    place = trailing_zeros(targets)
                    targets &= targets - 1
                    target = rank * t.size + place if axis == 0 else place * t.size + file
                    if phase == 1:
                        directions = I64(0)
                        if (
                            (royal and t.escapes[target] != 0)
                            or may_capture(t, board, side, target, target if royal else king)
                            or (t.either_after_ply != 0 and not may_return(t, board, slides, start, target))
                        ):
                            undo, outcome = make(t, board, move_of(start, target))
                            directions = undo_captured(undo)
                            item = I64(0)
                            if outcome == UNDECIDED and directions != 0:
                                item = capture_code(t, x, w, side, start, target, lower)
                            unmake(t, board, undo)
                            if outcome != UNDECIDED:
                                if winner_of(outcome) == side:
                                    return I64(DECIDED | 2)
                                worst = max(worst, I64(1))
                                continue
                        if directions == 0:
                            w.quiet[2 * man + axis] |= 1 << place
                            continue
                        flags |= CAPTURES
                        if item < 0:
                            w.head[ERRORS] += 1
                            continue
                    else:
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
                    distance = ((item & ~DECIDED) >> 1) + 1
                    if item & DECIDED == 0 or (phase != 1 and item & 1 == 0 and distance > limit + 1):
                        if mode == LOSSES:
                            return I64(0)
                        if phase == 1:
                            flags |= SAFE
                        else:
                            count += 1
                    elif item & 1 == 0:
                        worst = max(worst, distance)
                    else:
                        best = distance if best == 0 else min(best, distance)
                        if best <= enough:
                            return DECIDED | (best << 1)
    if mode == WINS:
        return DECIDED | (best << 1) if 0 < best <= limit + 2 else I64(0)
    if best != 0:
        return DECIDED | (best << 1) if mode == FULL else I64(0)
    if moves == 0:
        return I64(DECIDED | 1)
    if count == 0 and flags & SAFE == 0:
        return DECIDED | (worst << 1) | 1
    return count | flags if mode == FULL else I64(0)


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
    by_rows: bool,
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
        `LOSSES`, `WINS` or `FULL`.
    tier, side : int
        What is to be written: 0 white to move, 1 black.
    first, last : int
        The rows, as a range.
    limit : int
        See `evaluate`. Wins in more than ``limit + 2`` plies are looked at again: there may be quicker ones.
    by_rows : bool
        Whether to judge black's losses a row at a time, where that can be: when most of a tier is to be looked at.
    mine, theirs : ndarray of uint16
        The tier's items with this and with the other side to move.
    lower : ndarray of int64, shape (2 * tiers,)
        Addresses, see `retrograde.kernels.moves.capture_code`.
    report : ndarray of int64, shape (CODES,)
        Receives how many items were given each code, on top of what it has.

    Returns
    -------
    int
        Number of moves that led out of the index; anything but 0 is a defect.
    """
    t, x, w = flat(tables), flat(index), flat(workspace)
    items, children, addresses, found = pointer(mine), pointer(theirs), pointer(lower), pointer(report)
    trail_men = x.trail_men[tier]
    final = DECIDED | ((limit + 2) << 1)
    may_judge = by_rows and side == 1 and t.either_after_ply == 0 and 0 < trail_men <= MARKED_TRAILS
    w.head[ERRORS] = 0
    by_king = tier * x.kings
    for orbit in range(x.kings):
        opened = I64(-1)
        start, rows, width = x.first_row[by_king + orbit], x.row_count[by_king + orbit], x.width[by_king + orbit]
        for row in range(max(first, start), min(last, start + rows)):
            base = x.base[by_king + orbit] + (row - start) * width
            at = I64(-1)
            by_row = may_judge and x.residual[x.meta_at[tier] + row] == 1
            if by_row:
                open_later_row(t, x, w, tier, row, opened, side)
                opened = I64(row)
                judge_row(t, x, w, trail_men, base, width, limit, children, items, found)
            for column in range(width):
                item = I64(items[base + column])
                if item == ALIAS or (item & DECIDED != 0 and (item & 1 != 0 or item <= final)):
                    continue
                if by_row:
                    if item != ASK:
                        continue
                elif at < 0:
                    open_later_row(t, x, w, tier, row, opened, side)
                    opened = I64(row)
                step_to(t, x, w, trail_men, at, column)
                at = I64(column)
                new = evaluate(t, x, w, tier, side, mode, limit, children, addresses)
                if new != item:
                    items[base + column] = np.uint16(new)
                    if new & DECIDED != 0:
                        found[new & ~DECIDED] += 1
    return w.head[ERRORS]
