"""How a board, a move and an undo record are laid out, and every question that is answered by layout alone.

A board is one small array, ``uint32[2N + 4]``: line ``l`` (rows, then columns, see
`tablut.engine.lines`) with its attackers in bits 0-15 and its defenders and king in
bits 16-31; then its *head*: the king's cell, the side to move (0 white, 1 black), and the
numbers of attackers and of defenders. Every piece is thus stored twice, and a slide or a
capture is a few operations on one line whichever way it runs.

A move is ``start | target << 7``; an undo record is the move with the directions of its
captures on top, ``| directions << 14``.

Functions of a table and a board are inlined into kernels and cost nothing there. They
take flat tables (`tablut.engine.records.flat`) and a pointer to the board. `new_board`,
`head`, `images_of_moves` and `read_undo` are for Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tablut.engine.jit import I64, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = [
    "ATTACKERS_AT",
    "DEFENDERS_AT",
    "KING_AT",
    "SIDE_AT",
    "board_items",
    "cells_of_moves",
    "coordinates",
    "count_of",
    "head",
    "images_of_moves",
    "is_occupied",
    "king_of",
    "line_of",
    "move_of",
    "new_board",
    "occupied",
    "own_pieces",
    "put_count",
    "put_king",
    "put_side",
    "read_undo",
    "side_of",
    "start_of",
    "target_of",
    "undo_captured",
    "undo_of",
]

KING_AT: Final = 0
SIDE_AT: Final = 1
ATTACKERS_AT: Final = 2
DEFENDERS_AT: Final = 3
"""Places in a board's head."""
_HEAD: Final = 4


def new_board(size: int) -> NDArray[np.uint32]:
    """Return room for a board.

    Parameters
    ----------
    size : int
        N, the side of the board in cells.

    Returns
    -------
    ndarray of uint32, shape (2N + 4,)
        Zeros.

    Examples
    --------
    >>> len(new_board(9))
    22
    """
    return np.zeros(2 * size + _HEAD, dtype=np.uint32)


def head(boards: NDArray[Any]) -> NDArray[Any]:
    """Return the heads of boards, a view.

    Parameters
    ----------
    boards : ndarray of uint32, shape (..., 2N + 4)

    Returns
    -------
    ndarray of uint32, shape (..., 4)
        To be indexed by `KING_AT` and its fellows.

    Examples
    --------
    >>> from tablut.engine import engine_for
    >>> from tablut.variants import load_variant
    >>> head(engine_for(load_variant("ashton")).start()).tolist()
    [40, 0, 16, 8]
    """
    return boards[..., -_HEAD:]


def images_of_moves(moves: NDArray[Any], table: NDArray[Any]) -> NDArray[Any]:
    """Return the images of moves under a permutation of the cells.

    Parameters
    ----------
    moves : ndarray of integers, shape (n,)
        ``start | target << 7`` each.
    table : ndarray of integers, shape (C,)
        The image of each cell.

    Returns
    -------
    ndarray, shape (n,)
        Of the table's dtype.

    Examples
    --------
    >>> images_of_moves(np.array([1 | 2 << 7]), np.array([0, 2, 1])) == (2 | 1 << 7)
    array([ True])
    """
    return table[moves & 127] | table[moves >> 7] << 7


def cells_of_moves(moves: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the cells that moves begin and end on.

    Parameters
    ----------
    moves : ndarray of integers
        ``start | target << 7`` each.

    Returns
    -------
    starts, targets : ndarray
        Of the same shape and dtype.

    Examples
    --------
    >>> cells_of_moves(np.array([1 | 2 << 7]))
    (array([1]), array([2]))
    """
    return moves & 127, moves >> 7 & 127


def read_undo(undo: int) -> tuple[int, int, int]:
    """Return start, target and directions of captures of an undo record.

    Parameters
    ----------
    undo : int
        ``start | target << 7 | directions << 14``.

    Returns
    -------
    start : int
        The cell that the move begins on.
    target : int
        The cell that it ends on.
    directions : int
        Bits, seen from the target; 0 if it captured nothing.

    Examples
    --------
    >>> read_undo(31 | 58 << 7 | 8 << 14)
    (31, 58, 8)
    """
    return undo & 127, undo >> 7 & 127, undo >> 14


@inlined
def board_items(size: int) -> int:
    """Return the length of a board's array.

    Parameters
    ----------
    size : int
        N, the side of the board in cells.

    Returns
    -------
    int
        2N + 4.
    """
    return 2 * size + 4


@inlined
def king_of(t: Tables, board: NDArray[np.uint32]) -> int:
    """Return the king's cell.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    board : pointer to uint32
        The board, 2N + 4 items.

    Returns
    -------
    int
        0 to C - 1.
    """
    return I64(board[2 * t.size])


@inlined
def put_king(t: Tables, board: NDArray[np.uint32], cell: int) -> None:
    """Write the king's cell into the head; the lines stay as they are.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    board : pointer to uint32
        The board, 2N + 4 items.
    cell : int
        0 to C - 1.
    """
    board[2 * t.size] = np.uint32(cell)


@inlined
def side_of(t: Tables, board: NDArray[np.uint32]) -> int:
    """Return the side to move: 0 white, 1 black.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    board : pointer to uint32
        The board, 2N + 4 items.

    Returns
    -------
    int
        0 or 1.
    """
    return I64(board[2 * t.size + 1])


@inlined
def put_side(t: Tables, board: NDArray[np.uint32], side: int) -> None:
    """Write the side to move.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    board : pointer to uint32
        The board, 2N + 4 items.
    side : int
        0 white, 1 black.
    """
    board[2 * t.size + 1] = np.uint32(side)


@inlined
def count_of(t: Tables, board: NDArray[np.uint32], side: int) -> int:
    """Return the number of a side's soldiers: attackers of 1, defenders of 0.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    board : pointer to uint32
        The board, 2N + 4 items.
    side : int
        0 white, 1 black.

    Returns
    -------
    int
        The king not counted.
    """
    return I64(board[2 * t.size + 3 - side])


@inlined
def put_count(t: Tables, board: NDArray[np.uint32], side: int, count: int) -> None:
    """Write the number of a side's soldiers.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    board : pointer to uint32
        The board, 2N + 4 items.
    side : int
        0 white, 1 black.
    count : int
        The king not counted.
    """
    board[2 * t.size + 3 - side] = np.uint32(count)


@inlined
def coordinates(t: Tables, cell: int) -> tuple[int, int]:
    """Return the rank and the file of a cell.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    cell : int
        0 to C - 1.

    Returns
    -------
    rank : int
        0 to N - 1.
    file : int
        0 to N - 1.
    """
    return I64(t.rank[cell]), I64(t.file[cell])


@inlined
def line_of(board: NDArray[np.uint32], line: int) -> int:
    """Return the content of a line.

    Parameters
    ----------
    board : pointer to uint32
        The board, 2N + 4 items.
    line : int
        0 to 2N - 1; rows, then columns.

    Returns
    -------
    int
        Attackers in bits 0-15, defenders and king in bits 16-31.
    """
    return I64(board[line])


@inlined
def occupied(content: int) -> int:
    """Return the places of a line on which any piece stands.

    Parameters
    ----------
    content : int
        As `line_of` returns it.

    Returns
    -------
    int
        A mask of places.
    """
    return (content | (content >> 16)) & 0xFFFF


@inlined
def own_pieces(content: int, side: int) -> int:
    """Return the places of a line on which pieces of a side stand; the king is white's.

    Parameters
    ----------
    content : int
        As `line_of` returns it.
    side : int
        0 white, 1 black.

    Returns
    -------
    int
        A mask of places.
    """
    return (content >> (16 - (side << 4))) & 0xFFFF


@inlined
def is_occupied(t: Tables, board: NDArray[np.uint32], cell: int) -> bool:
    """Return whether any piece stands on a cell.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    board : pointer to uint32
        The board, 2N + 4 items.
    cell : int
        0 to C - 1.

    Returns
    -------
    bool
        Whether a soldier or the king stands there.
    """
    return (occupied(I64(board[I64(t.rank[cell])])) >> I64(t.file[cell])) & 1 != 0


# -- moves and undo records ----------------------------------------------------------------


@inlined
def move_of(start: int, target: int) -> int:
    """Return a move.

    Parameters
    ----------
    start : int
        The cell that the move begins on.
    target : int
        The cell that it ends on.

    Returns
    -------
    int
        ``start | target << 7``.
    """
    return start | (target << 7)


@inlined
def start_of(move: int) -> int:
    """Return the cell that a move, or the move of an undo record, begins on.

    Parameters
    ----------
    move : int
        A move or an undo record.

    Returns
    -------
    int
        0 to 127; below C for a move on the board.
    """
    return move & 127


@inlined
def target_of(move: int) -> int:
    """Return the cell that a move, or the move of an undo record, ends on.

    Parameters
    ----------
    move : int
        A move or an undo record.

    Returns
    -------
    int
        0 to 127; below C for a move on the board.
    """
    return (move >> 7) & 127


@inlined
def undo_of(move: int, directions: int) -> int:
    """Return the undo record of a move that captured soldiers in some directions.

    Parameters
    ----------
    move : int
        ``start | target << 7``.
    directions : int
        Bits, seen from the target.

    Returns
    -------
    int
        ``start | target << 7 | directions << 14``.
    """
    return (move & 0x3FFF) | (directions << 14)


@inlined
def undo_captured(undo: int) -> int:
    """Return the directions in which the ply of an undo record captured soldiers, 0 if it captured none.

    Parameters
    ----------
    undo : int
        ``start | target << 7 | directions << 14``.

    Returns
    -------
    int
        Bits, seen from the target.
    """
    return (undo >> 14) & 15
