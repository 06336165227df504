"""What a ply of the open position does: where it captures, what it leads to below, where the king may escape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.jit import I64, address_of, called, inlined, trailing_zeros
from tablut.engine.kernels import capture_directions, king_slide
from tablut.indexing.tier_kernels import TierTables, entry_of
from tablut.rules.outcome import KING_ESCAPED, NO_ATTACKERS, NO_MOVES_BLACK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from retrograde.kernels.workspace import Workspace
    from tablut.engine.tables import Tables

__all__ = ["beside", "capture_code", "escape_ways", "may_capture", "may_return", "only_way", "winner"]


@inlined
def winner(outcome: int) -> int:
    """Return the side that an outcome code names: 0 white, 1 black."""
    return I64(0) if outcome in (KING_ESCAPED, NO_ATTACKERS, NO_MOVES_BLACK) else I64(1)


@inlined
def beside(t: Tables, board: NDArray[np.uint32], line: int, shift: int) -> int:
    """Return the places of a line beside which a piece stands; ``shift`` is 0 for attackers, 16 for white ones."""
    pieces = (I64(board[line]) >> shift) & 0xFFFF
    found = (pieces << 1) | (pieces >> 1)
    # The lines of one direction stand side by side, rows before columns.
    if line != 0 and line != t.size:
        found |= I64(board[line - 1]) >> shift
    if line != t.size - 1 and line != 2 * t.size - 1:
        found |= I64(board[line + 1]) >> shift
    return found & ((1 << t.size) - 1)


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
def escape_ways(t: Tables, w: Workspace, king: int) -> tuple[int, int, int, int]:
    """Return the ways on which the king may escape, nearest targets included, as masks of its row and its column.

    Returns
    -------
    west, east, south, north : int
        The first two of the row, the last two of the column; 0 where it cannot.
    """
    rank, file = I64(t.rank[king]), I64(t.file[king])
    row, column = king_slide(t, w.board, king)
    west, east = nearest(row & w.escapes[rank], file)
    south, north = nearest(column & w.escapes[t.size + file], rank)
    return west, east, south, north


@inlined
def only_way(t: Tables, w: Workspace, king: int) -> tuple[bool, int, int]:
    """Return whether white, if it were to move, could let the king escape, and on what ways.

    Returns
    -------
    threatens : bool
        Whether it could.
    row, column : int
        If there is only one way, its cells as a mask of the king's row or of its
        column; otherwise no cell blocks all ways, and both are 0.
    """
    west, east, south, north = escape_ways(t, w, king)
    ways = I64(west != 0) + I64(east != 0) + I64(south != 0) + I64(north != 0)
    if ways == 1:
        return True, west | east, south | north
    return ways > 1, I64(0), I64(0)
