"""The king's moves that win at once, and those that threaten to, read off line tables.

A soldier that takes the king: `tablut.engine.attacks.king_capture`. All are exact, so that
search may call a game won or lost on their word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import NO_MOVE, king_slides
from tablut.engine.jit import I64, called, inlined, trailing_zeros
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import coordinates, king_of, line_of, move_of, occupied
from tablut.rules.outcome import KING_ESCAPED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.search.terms import EvaluationTables

__all__ = ["escape_of_king", "threatening_moves"]


@called
def escape_of_king(t: Tables, board: NDArray[np.uint32], row: int, column: int) -> int:
    """Return a move by which the king, white being to move, wins at once, or NO_MOVE.

    ``row`` and ``column`` are its `escape_targets`. The move is made and judged, for
    where either side may be left without a move, an escape can lose.
    """
    size = t.size
    king = king_of(t, board)
    rank, file = coordinates(t, king)
    found = I64(NO_MOVE)
    while (row | column) != 0 and found == NO_MOVE:
        if row != 0:
            target = rank * size + trailing_zeros(row)
            row &= row - 1
        else:
            target = trailing_zeros(column) * size + file
            column &= column - 1
        move = move_of(king, target)
        if t.either_after_ply == 0:
            return move
        undo, outcome = make(t, board, move)
        unmake(t, board, undo)
        if outcome == KING_ESCAPED:
            found = move
    return found


@inlined
def threatening_moves(t: Tables, e: EvaluationTables, board: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the king's moves to cells from which the way across to an escape is open; return how many there are."""
    size = t.size
    king = king_of(t, board)
    rank, file = coordinates(t, king)
    row, column = king_slides(t, board, king)
    count = 0
    for along in range(2):
        targets, across, place = (row, size, rank) if along == 0 else (column, I64(0), file)
        while targets:
            end = trailing_zeros(targets)
            targets &= targets - 1
            content = line_of(board, across + end)
            open_places = I64(e.way_open[I64(e.way_open_at[across + end]) + occupied(content)])
            if (open_places >> place) & 1:
                target = rank * size + end if along == 0 else end * size + file
                moves[count] = np.int32(move_of(king, target))
                count += 1
    return count
