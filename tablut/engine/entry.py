"""Single steps of the engine, callable from Python: each is one kernel around an inlined function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine import kernels
from tablut.engine.jit import kernel, pointer
from tablut.engine.layout import king_of, side_of, target_of
from tablut.engine.records import flat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["last_key_change", "legal_moves", "make_move", "mobility", "position_key", "unmake_move"]


@kernel
def position_key(t: Tables, board: NDArray[np.uint32]) -> np.uint64:
    """Return the Zobrist key of a board, from scratch.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        The board.

    Returns
    -------
    uint64
        A hash, never an identity.

    Notes
    -----
    O(C).
    """
    return kernels.position_key(flat(t), pointer(board))


@kernel
def legal_moves(t: Tables, board: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the legal moves and return their number.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        The board.
    moves : ndarray of int32, shape (4C,)
        Receives the moves, ``start | target << 7``.

    Returns
    -------
    int
        How many of its items were written.
    """
    return kernels.generate(flat(t), pointer(board), pointer(moves))


@kernel
def mobility(t: Tables, board: NDArray[np.uint32], side: int) -> int:
    """Return the number of legal moves of a side.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        The board.
    side : int
        0 white, 1 black.

    Returns
    -------
    int
        Whoever is to move.

    Notes
    -----
    O(N): 2N look-ups.
    """
    return kernels.count_moves(flat(t), pointer(board), side)


@kernel
def last_key_change(t: Tables, board: NDArray[np.uint32], undo: int) -> np.uint64:
    """Return what the move last made on a board changed in the key.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        After the move.
    undo : int
        ``start | target << 7 | directions << 14``.

    Returns
    -------
    uint64
        To be combined with the key by exclusive or.
    """
    mover = side_of(t, board) ^ 1
    is_king = mover == 0 and king_of(t, board) == target_of(undo)
    return kernels.key_change(flat(t), mover, is_king, undo)


@kernel
def make_move(t: Tables, board: NDArray[np.uint32], move: int) -> tuple[int, int]:
    """Make a legal move.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        Changed.
    move : int
        ``start | target << 7``.

    Returns
    -------
    undo : int
        The undo record.
    outcome : int
        A code of `tablut.rules.outcome`.
    """
    return kernels.make(flat(t), pointer(board), move)


@kernel
def unmake_move(t: Tables, board: NDArray[np.uint32], undo: int) -> None:
    """Take a move back.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        After the move; changed.
    undo : int
        ``start | target << 7 | directions << 14``.
    """
    kernels.unmake(flat(t), pointer(board), undo)
