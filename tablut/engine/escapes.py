"""The king's moves that win at once: search and proofs both ask here.

A soldier that takes the king: `tablut.engine.attacks.king_capture`. Both are exact, so that a
game may be called won or lost on their word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.attacks import NO_MOVE
from tablut.engine.jit import I64, called, trailing_zeros
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import coordinates, king_of, move_of
from tablut.rules.outcome import KING_ESCAPED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["escape_of_king"]


@called
def escape_of_king(t: Tables, board: NDArray[np.uint32], row: int, column: int) -> int:
    """Return a move by which the king, white being to move, wins at once, or `NO_MOVE`.

    The move is made and judged where a ply may leave either side without a move: there an
    escape can lose.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        Undecided; as before on return.
    row, column : int
        The king's `tablut.engine.attacks.escape_targets`.

    Returns
    -------
    int
        The move, ``from | to << 7``.
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
