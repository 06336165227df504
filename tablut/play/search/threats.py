"""The king's moves that threaten to win, read off line tables.

Moves that win at once: `tablut.engine.escapes.escape_of_king`, `tablut.engine.attacks.king_capture`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import king_slides
from tablut.engine.jit import I64, inlined, trailing_zeros
from tablut.engine.layout import coordinates, king_of, line_of, move_of, occupied

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.play.search.terms import EvaluationTables

__all__ = ["threatening_moves"]


@inlined
def threatening_moves(t: Tables, e: EvaluationTables, board: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the king's moves to cells from which the way across to an escape is open; return how many there are.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    e : EvaluationTables
        By what positions are estimated.
    board : ndarray of uint32, shape (2N + 4,)
        The position.
    moves : ndarray of int32, shape (4C,)
        Receives them.

    Returns
    -------
    int
        How many were written.
    """
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
