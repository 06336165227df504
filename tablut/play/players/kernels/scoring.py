"""The scoring scheme of the McGill player paper, section III-B, compiled.

| white | | black | |
|---|---|---|---|
| the king can be captured | −1000 | | |
| each piece that the opponent can capture | −5 | the same | −5 |
| each piece captured | +10 | the same | +10 |
| the king has an open victory path | +5 | it has none | +1000 |
| the king has moved to a central square | +1 | the king is captured | +1000 |

What a table of two columns leaves open is chosen so: a piece that several moves can capture
counts once; the king is no piece among these; a path is open if white, were it to move, could
take it, whoever is to move; central squares are the castle and those beside it (section I-A).
A white ply that ends the game for white has its path, a black one that does counts as the
capture of the king, and a ply by which the mover loses as the capture or the path allowed.

The table gives nothing for winning. Section III-A does: a victory "should be taken". So
`Scheme.first` is added to a white move after which the king stands on a victory path, and
twice that to one that wins at once; with 0 the table is all there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.attacks import NO_MOVE, king_capture, may_capture, neighbour, winner_of
from tablut.engine.jit import I64, called, kernel, pointer, popcount
from tablut.engine.kernels import generate, make, unmake
from tablut.engine.layout import king_of, side_of, start_of, target_of, undo_captured
from tablut.engine.records import flat
from tablut.play.players.kernels.paths import PathTables, path_tables, stands_on_path, victory_path
from tablut.rules.outcome import KING_CAPTURED, UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.variants import Variant

__all__ = ["FIRST", "Scheme", "central_squares", "mark_captures", "new_scheme", "score_moves"]

FIRST: Final = 10_000
"""More than any sum of the table."""

_AT_RISK: Final = -5
_CAPTURED: Final = 10
_KING_AT_RISK: Final = -1000
_HAS_PATH: Final = 5
_CENTRAL: Final = 1
_NO_PATH: Final = 1000
_KING_CAPTURED: Final = 1000


class Scheme(NamedTuple):
    """What the scores depend on besides the rules' own tables; C is the number of cells.

    Attributes
    ----------
    paths : PathTables
        For victory paths.
    first : int
        What entering a victory path is worth on top; 0 for the paper's table alone.
    central : ndarray of uint8, shape (C,)
        1 on the castle and beside it.
    replies : ndarray of int32, shape (4C,)
        Room for moves.
    marks : ndarray of uint8, shape (C,)
        Room for marks.
    """

    paths: PathTables
    first: int
    central: NDArray[np.uint8]
    replies: NDArray[np.int32]
    marks: NDArray[np.uint8]


def central_squares(variant: Variant) -> frozenset[int]:
    """Return the castle and the squares beside it.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    frozenset of int
        Five cells.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> sorted(central_squares(load_variant("mcgill")))
    [31, 39, 40, 41, 49]
    """
    size, castle = variant.size, variant.regions.castle
    return frozenset({castle, castle - 1, castle + 1, castle - size, castle + size})


def new_scheme(variant: Variant, first: int = FIRST) -> Scheme:
    """Return the scheme of a variant.

    Parameters
    ----------
    variant : Variant
        The rule set.
    first : int
        See `Scheme`.

    Returns
    -------
    Scheme
        For one thread at a time.
    """
    cells = variant.size**2
    central = np.zeros(cells, dtype=np.uint8)
    central[sorted(central_squares(variant))] = 1
    return Scheme(
        path_tables(variant), first, central, np.zeros(4 * cells, dtype=np.int32), np.zeros(cells, dtype=np.uint8)
    )


@called
def _pieces_at_risk(t: Tables, h: Scheme, board: NDArray[np.uint32]) -> int:
    """Return how many soldiers of the side that is not to move some move captures; O(moves)."""
    for cell in range(t.cells):
        h.marks[cell] = np.uint8(0)
    side, king = side_of(t, board), king_of(t, board)
    total = I64(0)
    for index in range(generate(t, board, h.replies)):
        move = I64(h.replies[index])
        target = target_of(move)
        stays = target if side == 0 and start_of(move) == king else king
        if not may_capture(t, board, side, target, stays):
            continue
        undo, _ = make(t, board, move)
        unmake(t, board, undo)
        directions = undo_captured(undo)
        while directions:
            direction = directions & -directions
            directions ^= direction
            cell = neighbour(t, target, direction)
            total += 1 - I64(h.marks[cell])
            h.marks[cell] = np.uint8(1)
    return total


@called
def _score(t: Tables, h: Scheme, board: NDArray[np.uint32], move: int) -> int:
    side = side_of(t, board)
    to_centre = side == 0 and start_of(move) == king_of(t, board) and h.central[target_of(move)] != 0
    undo, outcome = make(t, board, move)
    score = I64(_CAPTURED * popcount(undo_captured(undo)))
    if to_centre:
        score += _CENTRAL
    if outcome != UNDECIDED:
        if winner_of(outcome) == side:
            score += _HAS_PATH + 2 * h.first if side == 0 else _NO_PATH + _KING_CAPTURED
        elif side == 0:
            score += _KING_AT_RISK
    else:
        score += _AT_RISK * _pieces_at_risk(t, h, board)
        has_path = victory_path(t, h.paths, board) != NO_MOVE
        if side == 1:
            score += I64(0) if has_path else I64(_NO_PATH)
        else:
            score += I64(_HAS_PATH) if has_path else I64(0)
            if king_capture(t, board) != NO_MOVE:
                score += _KING_AT_RISK
            elif stands_on_path(t, h.paths, board):
                score += h.first
    unmake(t, board, undo)
    return score


@kernel
def mark_captures(
    tables: Tables, board: NDArray[np.uint32], moves: NDArray[np.int32], takes: NDArray[np.bool_]
) -> None:
    """Write which moves capture something, the king included.

    Parameters
    ----------
    tables : Tables
        The variant.
    board : ndarray of uint32, shape (2N + 4,)
        Undecided; not changed.
    moves : ndarray of int32, shape (m,)
        Legal there.
    takes : ndarray of bool, shape (m,)
        Filled.
    """
    t, array = flat(tables), pointer(board)
    for index in range(len(moves)):
        undo, outcome = make(t, array, I64(moves[index]))
        unmake(t, array, undo)
        takes[index] = outcome == KING_CAPTURED or undo_captured(undo) != 0


@kernel
def score_moves(
    tables: Tables, scheme: Scheme, board: NDArray[np.uint32], moves: NDArray[np.int32], scores: NDArray[np.int64]
) -> None:
    """Write the scores of moves; O(moves²).

    Parameters
    ----------
    tables : Tables
        The variant.
    scheme : Scheme
        What goes with it.
    board : ndarray of uint32, shape (2N + 4,)
        Undecided; not changed.
    moves : ndarray of int32, shape (m,)
        Legal there.
    scores : ndarray of int64, shape (m,)
        Filled.
    """
    t, h, array = flat(tables), flat(scheme), pointer(board)
    for index in range(len(moves)):
        scores[index] = _score(t, h, array, I64(moves[index]))
