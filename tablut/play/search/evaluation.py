"""The evaluation, compiled: a sum over lines, and what depends on the king.

The score is white's, in centi-logits: 100 more mean that the odds of white winning are
e times as high. It knows nothing of who is about to win at once; search asks
`tablut.play.search.threats` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.attacks import attackers_beside, king_slides
from tablut.engine.jit import I64, inlined, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernels import line_content
from tablut.engine.layout import coordinates, king_of, occupied
from tablut.engine.records import flat
from tablut.play.search.patterns import CORNER
from tablut.play.search.weights import SCALE_BITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.play.search.terms import EvaluationTables

__all__ = ["evaluate", "evaluate_boards", "king_terms"]

_CORNER_ROW = (1 << CORNER) - 1
_CORNER_CONTENTS = 3 ** (CORNER * CORNER)
_PATHS = 4
"""More ways for the king to threaten an escape than this do not count."""


@inlined
def _rays(targets: int, place: int) -> int:
    """Return on how many sides of a place a line shows any of the targets, 0 to 2."""
    below = targets & ((1 << place) - 1)
    return I64(below != 0) + I64((targets >> place) != 0)


@inlined
def _king_paths(t: Tables, e: EvaluationTables, board: NDArray[np.uint32], king: int, row: int, column: int) -> int:
    """Return from how many of the king's targets, given by masks, the way across to an escape is open."""
    rank, file = coordinates(t, king)
    paths = 0
    while row:
        place = I64(trailing_zeros(row))
        row &= row - 1
        content = I64(board[t.size + place])
        open_places = I64(e.way_open[I64(e.way_open_at[t.size + place]) + occupied(content)])
        paths += (open_places >> rank) & 1
    while column:
        place = I64(trailing_zeros(column))
        column &= column - 1
        content = I64(board[place])
        open_places = I64(e.way_open[I64(e.way_open_at[place]) + occupied(content)])
        paths += (open_places >> file) & 1
    return paths


@inlined
def _occupied_sides(t: Tables, board: NDArray[np.uint32], cell: int, shift: int) -> int:
    """Return the directions from a cell in which a piece stands next to it; ``shift`` 0 of attackers, 16 of whites."""
    rank, file = coordinates(t, cell)
    row = ((((I64(board[rank]) >> shift) & 0xFFFF) << 1) >> file) & 5
    column = ((((I64(board[t.size + file]) >> shift) & 0xFFFF) << 1) >> rank) & 5
    return row | (column << 1)


@inlined
def king_terms(t: Tables, e: EvaluationTables, board: NDArray[np.uint32]) -> int:
    """Return the part of the evaluation that depends on the king, scaled.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    e : EvaluationTables
        By what positions are estimated.
    board : ndarray of uint32, shape (2N + 4,)
        The position.

    Returns
    -------
    int
        For white, in 1/SCALE centi-logits.
    """
    w = e.weights
    king = king_of(t, board)
    rank, file = coordinates(t, king)
    attackers = attackers_beside(t, board, king)
    defenders = _occupied_sides(t, board, king, 16)
    score = w[6] * I64(e.ring[king]) + w[7] * popcount(attackers) + w[8] * popcount(defenders)
    sides = I64(t.capture_sides[king * 16 + attackers]) & ~defenders
    score += w[9] * popcount(sides)
    row, column = king_slides(t, board, king)
    if (row | column) != 0:
        escapes_row, escapes_column = row & I64(t.escapes_on[rank]), column & I64(t.escapes_on[t.size + file])
        paths = min(_king_paths(t, e, board, king, row, column), _PATHS)
        score += w[2] * (_rays(escapes_row, file) + _rays(escapes_column, rank))
        score += w[3] * paths + w[4] * I64(paths != 0)
        score += w[5] * (popcount(row) + popcount(column))
    return score


@inlined
def _corner_patterns(t: Tables, e: EvaluationTables, board: NDArray[np.uint32]) -> int:
    """Return the scores of what stands in the corners, white's, scaled; see `tablut.play.search.patterns`."""
    score = I64(0)
    for corner in range(4):
        first, step = (I64(0), I64(1)) if corner < 2 else (I64(t.size - 1), I64(-1))
        shift = (corner & 1) * (t.size - CORNER)
        attackers, whites = I64(0), I64(0)
        for row in range(CORNER):
            content = I64(board[first + step * row]) >> shift
            attackers |= (content & _CORNER_ROW) << (CORNER * row)
            whites |= ((content >> 16) & _CORNER_ROW) << (CORNER * row)
        content = I64(e.corner_ternary[attackers]) + 2 * I64(e.corner_ternary[whites])
        score += I64(e.corner_score[corner * _CORNER_CONTENTS + content])
    return score


@inlined
def evaluate(t: Tables, e: EvaluationTables, board: NDArray[np.uint32]) -> int:
    """Return the evaluation of an undecided position, white's, in centi-logits.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    e : EvaluationTables
        By what positions are estimated.
    board : ndarray of uint32, shape (2N + 4,)
        The position.

    Returns
    -------
    int
        Centi-logits.
    """
    lines = 2 * t.size
    score = e.weights[0] * I64(board[lines + 2]) + e.weights[1] * I64(board[lines + 3])
    score += king_terms(t, e, board)
    of_king = king_of(t, board) * lines
    for line in range(lines):
        score += I64(e.line_score[I64(e.line_score_at[of_king + line]) + line_content(t, I64(board[line]))])
    if e.corners != 0:
        score += _corner_patterns(t, e, board)
    # Tempo belongs to whoever is to move.
    score += e.weights[10] * (1 - 2 * I64(board[lines + 1]))
    return score >> SCALE_BITS


@kernel
def evaluate_boards(
    tables: Tables, evaluation: EvaluationTables, boards: NDArray[np.uint32], scores: NDArray[np.int64]
) -> None:
    """Write the evaluation of boards, shape (n, 2N + 4), white's, in centi-logits.

    Parameters
    ----------
    tables : Tables
        The compiled rules.
    evaluation : EvaluationTables
        By what positions are estimated.
    boards : ndarray of uint32, shape (n, 2N + 4)
        Undecided.
    scores : ndarray of int64, shape (n,)
        Receives them.
    """
    t, e = flat(tables), flat(evaluation)
    width = 2 * t.size + 4
    for index in range(len(boards)):
        scores[index] = evaluate(t, e, pointer(boards[index, :width]))
