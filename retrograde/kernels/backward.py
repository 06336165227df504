"""The backward passes: a position's value told to the positions that a quiet move leads from.

A lost position makes each of its parents a win. A won one takes a move from each of
its parents: the counter of the parent goes down, and at zero the parent is lost. For
that a class must be told as often as it has moves to the child, which is once
for every way back, unless one of the two has a symmetry of its own; rows in
which that can happen are told apart by their residual group, and the moves of such
a parent are counted.

Several threads work on one tier. Wins of one round are all the same, and counters
go down indivisibly; wins and losses are told in rounds of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.kernels.codes import CAPTURES, COUNTER, DECIDED, SAFE
from retrograde.kernels.entries import attacker_entry, prepare_attacker, white_entry
from retrograde.kernels.moves import capture_code
from retrograde.kernels.workspace import (
    ERRORS,
    KING,
    RESIDUAL,
    ROOM,
    Workspace,
    close_column,
    open_column,
    open_later_row,
)
from tablut.engine.attacks import captures_at, king_falls_to
from tablut.engine.jit import I64, advance, called, fetch_subtract, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernels import can_move, generate, judge, make, unmake
from tablut.engine.layout import coordinates, king_of, occupied, start_of, target_of, undo_captured
from tablut.engine.records import flat
from tablut.indexing.tier_kernels import TierTables, entry_of, men_of, men_of_board, set_board
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["backward_pass"]

_BLOCK = 512
"""Items that are searched for a value together."""


@called
def has_symmetry(x: TierTables, tier: int, king: int, black: NDArray[np.uint8], white: NDArray[np.uint8]) -> bool:
    """Return whether an element of the group other than the identity keeps a position."""
    attackers, defenders = x.attackers[tier], x.defenders[tier]
    for element in range(1, x.elements):
        table = advance(x.image, element * x.cells)
        if I64(table[king]) == king and keeps(table, black, attackers) and keeps(table, white, defenders):
            return True
    return False


@inlined
def keeps(table: NDArray[np.uint8], cells: NDArray[np.uint8], count: int) -> bool:
    """Return whether a permutation maps a list of cells to the same cells."""
    for k in range(count):
        found = False
        for other in range(count):
            found |= cells[other] == table[I64(cells[k])]
        if not found:
            return False
    return True


@called
def moved_has_symmetry(x: TierTables, w: Workspace, tier: int, side: int, man: int, cell: int) -> bool:
    """Return whether the open position, one man of a side elsewhere, has a symmetry."""
    if side == 0 and man == x.defenders[tier]:
        return has_symmetry(x, tier, cell, w.black, w.white)
    men = w.black if side == 1 else w.white
    here = men[man]
    men[man] = cell
    found = has_symmetry(x, tier, w.head[KING], w.black, w.white)
    men[man] = here
    return found


@called
def is_symmetric(x: TierTables, tier: int, entry: int) -> bool:
    """Return whether the row of an entry has a residual group; in a tier without trails, whether the entry has."""
    by_king = tier * x.kings
    orbit = I64(0)
    while orbit + 1 < x.kings and x.base[by_king + orbit + 1] <= entry:
        orbit += 1
    by_king += orbit
    row = x.first_row[by_king] + (entry - x.base[by_king]) // x.width[by_king]
    return x.residual[x.meta_at[tier] + row] != 1


@called
def open_spare(t: Tables, x: TierTables, w: Workspace, tier: int, entry: int, side: int) -> int:
    """Put an entry on the spare board and return the king's cell."""
    king = men_of(x, tier, entry, w.spare_black, w.spare_white, w.scratch)
    set_board(t, x, tier, king, w.spare_black, w.spare_white, side, w.spare_board)
    return king


@called
def count_moves_to(t: Tables, x: TierTables, w: Workspace, tier: int, parent: int, side: int, child: int) -> int:
    """Return how many quiet moves of a parent lead to a child's class."""
    open_spare(t, x, w, tier, parent, side)
    board = w.spare_board
    scratch_moves = np.empty(4 * t.cells, dtype=np.int32)
    moves = pointer(scratch_moves)
    found = generate(t, board, moves)
    count = I64(0)
    for number in range(found):
        undo, outcome = make(t, board, I64(moves[number]))
        if outcome == UNDECIDED and undo_captured(undo) == 0:
            men_of_board(t, board, w.spare_black, w.spare_white)
            if entry_of(x, tier, king_of(t, board), w.spare_black, w.spare_white, w.scratch) == child:
                count += 1
        unmake(t, board, undo)
    keep(scratch_moves)
    return count


@called
def longest_capture(
    t: Tables, x: TierTables, w: Workspace, tier: int, parent: int, side: int, lower: NDArray[np.int64]
) -> int:
    """Return in how many plies the longest capture loses, in a position all of whose moves lose."""
    # The lists of the workspace are those of the child: they are put aside for the parent's.
    board = w.spare_board
    other = Workspace(
        w.head,
        w.leads,
        w.numbers,
        w.others,
        w.scratch,
        w.spot,
        w.number,
        advance(w.spare_black, ROOM),
        advance(w.spare_white, ROOM),
        w.spare_black,
        w.spare_white,
        board,
        w.spare_board,
        w.hop_stamp,
        w.hop_base,
        w.hop_number,
        w.seen,
        w.traits,
        w.sharp,
        w.quiet,
        w.run,
        w.lines,
        w.masks,
        w.marks,
        w.sample,
    )
    open_spare(t, x, w, tier, parent, side)
    men_of_board(t, board, other.black, other.white)
    scratch_moves = np.empty(4 * t.cells, dtype=np.int32)
    moves = pointer(scratch_moves)
    found = generate(t, board, moves)
    worst = I64(0)
    for number in range(found):
        move = I64(moves[number])
        undo, outcome = make(t, board, move)
        if outcome == UNDECIDED and undo_captured(undo) != 0:
            item = capture_code(t, x, other, side, start_of(move), target_of(move), lower)
            if item < 0 or item & DECIDED == 0 or item & 1 != 0:
                w.head[ERRORS] += 1
            else:
                worst = max(worst, ((item & ~DECIDED) >> 1) + 1)
        unmake(t, board, undo)
    keep(scratch_moves)
    return worst


@inlined
def tell(
    t: Tables,
    x: TierTables,
    w: Workspace,
    tier: int,
    side: int,
    distance: int,
    lost: bool,
    child: int,
    parent: int,
    counted: bool,
    parents: NDArray[np.uint16],
    lower: NDArray[np.int64],
    report: NDArray[np.int64],
    seen: int,
) -> int:
    """Tell one parent; return how many parents stand in the list of those that were told by counting."""
    item = I64(parents[parent])
    if lost:
        code = DECIDED | ((distance + 1) << 1)
        if item & DECIDED == 0 or (item & 1 == 0 and item > code):
            parents[parent] = np.uint16(code)
            report[code & ~DECIDED] += 1
        elif item & 1 != 0:
            # A loss with a winning move.
            w.head[ERRORS] += 1
        return seen
    if item & DECIDED != 0:
        return seen
    moves = I64(1)
    if counted:
        for number in range(seen):
            if w.seen[number] == parent:
                return seen
        w.seen[seen] = parent
        seen += 1
        moves = count_moves_to(t, x, w, tier, parent, side, child)
    before = fetch_subtract(advance(parents, parent), moves)
    left = (before & COUNTER) - moves
    if left < 0:
        w.head[ERRORS] += 1
    if left == 0 and before & SAFE == 0:
        worst = distance + 1
        if before & CAPTURES != 0:
            worst = max(worst, longest_capture(t, x, w, tier, parent, side, lower))
        parents[parent] = np.uint16(DECIDED | (worst << 1) | 1)
        report[(worst << 1) | 1] += 1
    return seen


@inlined
def tell_parents(
    t: Tables,
    x: TierTables,
    w: Workspace,
    reverse: NDArray[np.uint16],
    tier: int,
    side: int,
    distance: int,
    lost: bool,
    child: int,
    parents: NDArray[np.uint16],
    lower: NDArray[np.int64],
    report: NDArray[np.int64],
) -> None:
    """Tell all parents of the open position, in which ``side`` has just moved."""
    board = w.board
    king = w.head[KING]
    if t.either_after_ply != 0 and not can_move(t, board, side):
        # A ply that leads here ends the game, and loses it for its mover.
        return
    trail_men = x.trail_men[tier]
    symmetric = w.head[RESIDUAL] != 1 and (trail_men == 0 or has_symmetry(x, tier, king, w.black, w.white))
    attackers = x.attackers[tier]
    men = attackers if side == 1 else x.defenders[tier] + 1
    seen = I64(0)
    for man in range(men):
        if side == 1:
            target, slides = I64(w.black[man]), t.attacker_slides
        elif man == men - 1:
            target, slides = king, t.king_slides
        else:
            target, slides = I64(w.white[man]), t.defender_slides
        # Had it just arrived here, what it captures would be gone, and a decided game over.
        if captures_at(t, board, side, target, king) != 0:
            continue
        if t.either_after_ply == 0 and judge(t, board, side, target, king, attackers) != UNDECIDED:
            continue
        if t.either_after_ply != 0 and side == 1 and king_falls_to(t, board, king, target):
            continue
        if side == 1:
            prepare_attacker(x, w, man, men)
        rank, file = coordinates(t, target)
        for axis in range(2):
            line = rank if axis == 0 else t.size + file
            content = I64(board[line])
            content = occupied(content)
            starts = I64(reverse[I64(slides[line]) + ((file if axis == 0 else rank) << t.size) + content])
            while starts:
                place = trailing_zeros(starts)
                starts &= starts - 1
                start = rank * t.size + place if axis == 0 else place * t.size + file
                parent = attacker_entry(x, w, tier, man, start) if side == 1 else white_entry(x, w, tier, man, start)
                if parent < 0:
                    continue
                # Only these come from rows with a residual group.
                if trail_men == 0:
                    counted = symmetric or is_symmetric(x, tier, parent)
                elif w.head[RESIDUAL] != 1 if side == 1 else w.hop_base[man * x.cells + start] < 0:
                    counted = symmetric or moved_has_symmetry(x, w, tier, side, man, start)
                else:
                    counted = symmetric
                seen = tell(t, x, w, tier, side, distance, lost, child, parent, counted, parents, lower, report, seen)


@inlined
def occurs(items: NDArray[np.uint16], start: int, stop: int, code: np.uint16) -> bool:
    """Return whether a range of items has one that equals a code; all are looked at, many at a time."""
    found = np.uint16(0)
    for place in range(start, stop):
        found |= np.uint16(items[place] == code)
    return found != 0


@kernel
def backward_pass(
    tables: Tables,
    index: TierTables,
    workspace: Workspace,
    reverse: NDArray[np.uint16],
    tier: int,
    side: int,
    lost: bool,
    distance: int,
    first: int,
    last: int,
    items: NDArray[np.uint16],
    parents: NDArray[np.uint16],
    lower: NDArray[np.int64],
    report: NDArray[np.int64],
) -> int:
    """Tell the parents of every position of one value in some rows of a tier; return the number of errors.

    Parameters
    ----------
    tables, index, workspace
        As for `retrograde.kernels.forward.forward_pass`.
    reverse : ndarray of uint16
        See `retrograde.kernels.reverse`.
    tier, side : int
        The tier, and the side to move in the positions of the value.
    lost : bool
        Whether these are losses, or wins.
    distance : int
        Their distance in plies.
    first, last : int
        The rows, as a range.
    items, parents : ndarray of uint16
        The tier's items with this side to move, and with the other.
    lower : ndarray of int64, shape (2 * tiers,)
        Addresses of the items of all tiers.
    report : ndarray of int64, shape (CODES,)
        Receives how many parents were given each code, on top of what it has.
    """
    t, x, w = flat(tables), flat(index), flat(workspace)
    back = pointer(reverse)
    own, others, addresses, told = pointer(items), pointer(parents), pointer(lower), pointer(report)
    trail_men = x.trail_men[tier]
    code = np.uint16(DECIDED | (distance << 1) | (1 if lost else 0))
    w.head[ERRORS] = 0
    by_king = tier * x.kings
    for orbit in range(x.kings):
        start, width, base = x.first_row[by_king + orbit], x.width[by_king + orbit], x.base[by_king + orbit]
        stop = base + (min(last, start + x.row_count[by_king + orbit]) - start) * width
        opened = I64(-1)
        for block in range(base + (max(first, start) - start) * width, stop, _BLOCK):
            end = min(block + _BLOCK, stop)
            if not occurs(own, block, end, code):
                continue
            for child in range(block, end):
                if own[child] == code:
                    row = start + (child - base) // width
                    if row != opened:
                        open_later_row(t, x, w, tier, row, opened, side)
                        opened = row
                    open_column(t, x, w, trail_men, child - base - (row - start) * width)
                    tell_parents(t, x, w, back, tier, side ^ 1, distance, lost, child, others, addresses, told)
                    close_column(t, w, trail_men)
    return w.head[ERRORS]
