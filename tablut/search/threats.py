"""Who wins at once: the king that can slide to an escape, the soldier that can take the king.

Both are read off line tables without generating a move, and both are exact, so that
search may call a game won or lost on their word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import I64, called, inlined, trailing_zeros
from tablut.engine.kernels import king_slide, make, neighbour, neighbouring_attackers, unmake
from tablut.rules.outcome import KING_ESCAPED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.search.terms import EvaluationTables

__all__ = [
    "NO_MOVE",
    "blocking_masks",
    "capture_of_king",
    "escape_of_king",
    "escape_targets",
    "slides_to",
    "threatening_moves",
]

NO_MOVE = -1


@inlined
def escape_targets(t: Tables, e: EvaluationTables, board: NDArray[np.uint32]) -> tuple[int, int]:
    """Return the masks, on the king's row and on its column, of the escapes to which it could slide."""
    king = I64(board[2 * t.size])
    row, column = king_slide(t, board, king)
    return row & I64(e.escapes_on[I64(t.rank[king])]), column & I64(e.escapes_on[t.size + I64(t.file[king])])


@called
def escape_of_king(t: Tables, board: NDArray[np.uint32], row: int, column: int) -> int:
    """Return a move by which the king, white being to move, wins at once, or NO_MOVE.

    ``row`` and ``column`` are its `escape_targets`. The move is made and judged, for
    where either side may be left without a move, an escape can lose.
    """
    size = t.size
    king = I64(board[2 * size])
    rank, file = I64(t.rank[king]), I64(t.file[king])
    found = I64(NO_MOVE)
    while (row | column) != 0 and found == NO_MOVE:
        if row != 0:
            target = rank * size + trailing_zeros(row)
            row &= row - 1
        else:
            target = trailing_zeros(column) * size + file
            column &= column - 1
        move = king | (target << 7)
        if t.either_after_ply == 0:
            return move
        undo, outcome = make(t, board, move)
        unmake(t, board, undo)
        if outcome == KING_ESCAPED:
            found = move
    return found


@inlined
def slides_to(t: Tables, board: NDArray[np.uint32], cell: int) -> int:
    """Return the cell of an attacker that can slide to an empty cell, or NO_MOVE."""
    size = t.size
    rank, file = I64(t.rank[cell]), I64(t.file[cell])
    for along in range(2):
        line, place = (rank, file) if along == 0 else (size + file, rank)
        content = I64(board[line])
        attackers = content & 0xFFFF
        occupied = (content | (content >> 16)) & 0xFFFF
        at = I64(t.attacker_slides[line])
        while attackers:
            start = trailing_zeros(attackers)
            attackers &= attackers - 1
            if (I64(t.slides[at + (start << size) + occupied]) >> place) & 1:
                return rank * size + start if along == 0 else start * size + file
    return NO_MOVE


@inlined
def capture_of_king(t: Tables, e: EvaluationTables, board: NDArray[np.uint32]) -> int:
    """Return a move by which an attacker, were black to move, would capture the king, or NO_MOVE."""
    king = I64(board[2 * t.size])
    sides = I64(e.capture_sides[king * 16 + neighbouring_attackers(t, board, king)])
    while sides:
        direction = sides & -sides
        sides ^= direction
        cell = neighbour(t, king, direction)
        content = I64(board[I64(t.rank[cell])])
        if (((content | (content >> 16)) >> I64(t.file[cell])) & 1) == 0:
            start = slides_to(t, board, cell)
            if start != NO_MOVE:
                return start | (cell << 7)
    return NO_MOVE


@inlined
def ray_block(targets: int, place: int) -> int:
    """Return the places from a king up to the nearest escape, if its line shows escapes on one side of it only.

    0 if it shows them on both sides: then no single piece can stand in every way.
    """
    below, above = targets & ((1 << place) - 1), targets >> (place + 1)
    if below != 0 and above != 0:
        return 0
    if above != 0:
        nearest = place + 1 + trailing_zeros(above)
        return ((1 << (nearest + 1)) - 1) & ~((1 << (place + 1)) - 1)
    nearest = 0
    while (below >> (nearest + 1)) != 0:
        nearest += 1
    return ((1 << place) - 1) & ~((1 << nearest) - 1)


@inlined
def blocking_masks(t: Tables, board: NDArray[np.uint32], row: int, column: int) -> tuple[int, int]:
    """Return the cells of the king's row and column on which a soldier would stand in the way of every escape.

    ``row`` and ``column`` are the king's `escape_targets`, not both 0. Any other ply of
    black that neither takes the king nor ends the game lets the king escape.
    """
    if row != 0 and column != 0:
        return I64(0), I64(0)
    king = I64(board[2 * t.size])
    if row != 0:
        return ray_block(row, I64(t.file[king])), I64(0)
    return I64(0), ray_block(column, I64(t.rank[king]))


@inlined
def threatening_moves(t: Tables, e: EvaluationTables, board: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the king's moves to cells from which the way across to an escape is open; return how many there are."""
    size = t.size
    king = I64(board[2 * size])
    rank, file = I64(t.rank[king]), I64(t.file[king])
    row, column = king_slide(t, board, king)
    count = 0
    for along in range(2):
        targets, across, place = (row, size, rank) if along == 0 else (column, I64(0), file)
        while targets:
            end = trailing_zeros(targets)
            targets &= targets - 1
            content = I64(board[across + end])
            open_places = I64(e.way_open[I64(e.way_open_at[across + end]) + ((content | (content >> 16)) & 0xFFFF)])
            if (open_places >> place) & 1:
                target = rank * size + end if along == 0 else end * size + file
                moves[count] = np.int32(king | (target << 7))
                count += 1
    return count
