"""perft: the number of move sequences of a given length, with the last ply counted or applied.

Counted, the last ply is read off the count tables without generating a move. Applied,
every last move is made on the board, with its captures, its outcome and its Zobrist
key. Decided positions have no children; repetition and move limits do not exist here.

The recursion is flattened: one move list and one undo record a ply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import U64, advance, keep, kernel, pointer, popcount
from tablut.engine.kernels import count_moves, generate, key_change, make, position_key, unmake, view
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["LEAF_COUNTERS", "perft_applied", "perft_counted"]

LEAF_COUNTERS = 8
"""Counters of `perft_applied`: captured soldiers, sum of keys, then the leaves of each outcome code."""


@kernel
def perft_counted(tables: Tables, board_array: NDArray[np.uint32], depth: int) -> int:
    """Return the number of sequences of ``depth`` >= 1 plies, the last of which is not made.

    Parameters
    ----------
    tables : Tables
        The variant.
    board_array : ndarray of uint32, shape (2N + 4,)
        An undecided position; as before on return.
    depth : int
        Number of plies.
    """
    t, board = view(tables), pointer(board_array)
    side = np.int64(board[2 * t.size + 1])
    if depth == 1:
        return count_moves(t, board, side)  # type: ignore[arg-type]
    width = 4 * t.cells
    moves_array = np.empty(depth * width, dtype=np.int32)
    moves = pointer(moves_array)
    ends = np.zeros(depth, dtype=np.int64)
    nexts = np.zeros(depth, dtype=np.int64)
    undos = np.zeros(depth, dtype=np.int64)
    total = 0
    ply = 0
    ends[0] = generate(t, board, moves)
    while True:
        if nexts[ply] == ends[ply]:
            if ply == 0:
                keep(moves_array)
                return total
            ply -= 1
            unmake(t, board, undos[ply])
            continue
        undo, outcome = make(t, board, np.int64(moves[ply * width + nexts[ply]]))  # type: ignore[arg-type]
        nexts[ply] += 1
        if outcome == UNDECIDED and ply < depth - 2:
            undos[ply] = undo
            ply += 1
            nexts[ply] = 0
            ends[ply] = generate(t, board, advance(moves, ply * width))
            continue
        if outcome == UNDECIDED:
            total += count_moves(t, board, np.int64(board[2 * t.size + 1]))  # type: ignore[arg-type]
        unmake(t, board, undo)


@kernel
def perft_applied(tables: Tables, board_array: NDArray[np.uint32], depth: int, counters: NDArray[np.uint64]) -> int:
    """Return the number of sequences of ``depth`` >= 1 plies, every last one made and judged.

    Parameters
    ----------
    tables : Tables
        The variant.
    board_array : ndarray of uint32, shape (2N + 4,)
        An undecided position; as before on return.
    depth : int
        Number of plies.
    counters : ndarray of uint64, shape (LEAF_COUNTERS,)
        Is added to: soldiers captured by last plies, the sum modulo 2**64 of the
        Zobrist keys after them, and their number by outcome code.
    """
    t, board = view(tables), pointer(board_array)
    width = 4 * t.cells
    moves_array = np.empty(depth * width, dtype=np.int32)
    moves = pointer(moves_array)
    ends = np.zeros(depth, dtype=np.int64)
    nexts = np.zeros(depth, dtype=np.int64)
    undos = np.zeros(depth, dtype=np.int64)
    keys = np.zeros(depth, dtype=np.uint64)
    total = 0
    ply = 0
    keys[0] = position_key(t, board)
    ends[0] = generate(t, board, moves)
    while True:
        if nexts[ply] == ends[ply]:
            if ply == 0:
                keep(moves_array)
                return total
            ply -= 1
            unmake(t, board, undos[ply])
            continue
        side, king = np.int64(board[2 * t.size + 1]), np.int64(board[2 * t.size])
        move = np.int64(moves[ply * width + nexts[ply]])
        undo, outcome = make(t, board, move)  # type: ignore[arg-type]
        key = keys[ply] ^ key_change(t, side, (move & 127) == king, undo)  # type: ignore[arg-type, operator]
        nexts[ply] += 1
        if ply < depth - 1:
            if outcome == UNDECIDED:
                undos[ply] = undo
                ply += 1
                keys[ply] = key
                nexts[ply] = 0
                ends[ply] = generate(t, board, advance(moves, ply * width))
            else:
                unmake(t, board, undo)
            continue
        total += 1
        counters[0] += U64(popcount(undo >> 14))
        counters[1] += key
        counters[2 + outcome] += U64(1)
        unmake(t, board, undo)
