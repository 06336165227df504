"""Which move to try first: captures, then moves that refuted a sibling, then what has refuted before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import is_legal, king_slides, slides_along, slides_of
from tablut.engine.jit import I64, advance, inlined, trailing_zeros
from tablut.engine.layout import coordinates, king_of, line_of, move_of, occupied, own_pieces, side_of, target_of
from tablut.engine.perft import mark_threats
from tablut.play.search.state import HISTORY, SearchState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = [
    "capturing_moves",
    "is_threatened",
    "killer_moves",
    "king_moves",
    "mark_targets",
    "pick",
    "rank_by_history",
    "rank_moves",
    "reward",
    "without_move",
    "without_tried",
]

_REMEMBERED = 1 << 25
_CAPTURE = 1 << 24
_KILLER = 1 << 23
_HISTORY_LIMIT = 1 << 20


@inlined
def mark_targets(t: Tables, board: NDArray[np.uint32], side: int, threats: NDArray[np.uint32]) -> int:
    """Write, by line, every place on which an arriving piece of ``side`` may capture; return 0 if there is none.

    ``threats`` holds 4N masks; the first 2N are the result. Each cell stands in the masks of
    its row and of its column, whichever way it captures.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        The position.
    side : int
        0 white, 1 black.
    threats : ndarray of uint32, shape (4N,)
        Receives masks of rows, then of columns; the rest is scratch.

    Returns
    -------
    int
        0 if there is none.
    """
    lines = 2 * t.size
    scratch = advance(threats, I64(lines))
    mark_threats(t, board, side, scratch)
    every = I64(0)
    for line in range(lines):
        every |= I64(scratch[line])
        threats[line] = scratch[line]
    if every == 0:
        return I64(0)
    for line in range(lines):
        places = I64(scratch[line])
        own = line if line < t.size else line - t.size
        across = t.size if line < t.size else 0
        while places:
            place = trailing_zeros(places)
            places &= places - 1
            # Beyond the edge there is a bit for a soldier on it; nothing ever arrives there.
            if place < t.size:
                threats[across + place] |= np.uint32(1 << own)
    return every


@inlined
def is_threatened(t: Tables, threats: NDArray[np.uint32], cell: int) -> bool:
    """Return whether a move to a cell may capture.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    threats : ndarray of uint32, shape (4N,)
        See `mark_targets`.
    cell : int
        Where the move goes.

    Returns
    -------
    bool
        False if it captures nothing.
    """
    return (I64(threats[I64(t.rank[cell])]) >> I64(t.file[cell])) & 1 != 0


@inlined
def capturing_moves(t: Tables, board: NDArray[np.uint32], threats: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the moves of the side to move to places on which they may capture; return how many there are.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        The position.
    threats : ndarray of uint32, shape (4N,)
        See `mark_targets`.
    moves : ndarray of int32, shape (4C,)
        Receives them.

    Returns
    -------
    int
        How many were written.
    """
    size = t.size
    side, king = side_of(t, board), king_of(t, board)
    count = 0
    for line in range(2 * size):
        wanted = I64(threats[line])
        if wanted == 0:
            continue
        content = line_of(board, line)
        own = own_pieces(content, side)
        first, step = (line * size, 1) if line < size else (line - size, size)
        while own:
            place = trailing_zeros(own)
            own &= own - 1
            start = first + place * step
            slides_at = slides_of(t, side, start, king)
            targets = slides_along(t, slides_at, line, place, occupied(content)) & wanted
            while targets:
                end = trailing_zeros(targets)
                targets &= targets - 1
                moves[count] = np.int32(move_of(start, first + end * step))
                count += 1
    return count


@inlined
def king_moves(t: Tables, board: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the moves of the king; return how many there are.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    board : ndarray of uint32, shape (2N + 4,)
        The position.
    moves : ndarray of int32, shape (4C,)
        Receives them.

    Returns
    -------
    int
        How many were written.
    """
    king = king_of(t, board)
    rank, file = coordinates(t, king)
    row, column = king_slides(t, board, king)
    count = 0
    while row:
        moves[count] = np.int32(move_of(king, rank * t.size + trailing_zeros(row)))
        row &= row - 1
        count += 1
    while column:
        moves[count] = np.int32(move_of(king, trailing_zeros(column) * t.size + file))
        column &= column - 1
        count += 1
    return count


@inlined
def without_move(moves: NDArray[np.int32], count: int, unwanted: int) -> int:
    """Remove a move, if it is there, from moves without an order; return how many are left.

    Parameters
    ----------
    moves : ndarray of int32
        Changed.
    count : int
        How many there are.
    unwanted : int
        The move.

    Returns
    -------
    int
        How many are left.
    """
    for index in range(count):
        if I64(moves[index]) == unwanted:
            moves[index] = moves[count - 1]
            return count - 1
    return count


@inlined
def killer_moves(
    t: Tables,
    s: SearchState,
    ply: int,
    threats: NDArray[np.uint32],
    remembered: int,
    moves: NDArray[np.int32],
) -> int:
    """Write the killers of a ply that are legal here and capture nothing; return how many there are.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    ply : int
        Plies from the root.
    threats : ndarray of uint32, shape (4N,)
        See `mark_targets`.
    remembered : int
        The table's move; 0 without one.
    moves : ndarray of int32, shape (4C,)
        Receives them.

    Returns
    -------
    int
        How many were written.
    """
    count = 0
    for number in range(2):
        move = I64(s.killers[2 * ply + number])
        if move == 0 or move == remembered or is_threatened(t, threats, target_of(move)):
            continue
        if is_legal(t, s.board, move):
            moves[count] = np.int32(move)
            count += 1
    return count


@inlined
def without_tried(
    t: Tables,
    s: SearchState,
    ply: int,
    threats: NDArray[np.uint32],
    remembered: int,
    count: int,
    moves: NDArray[np.int32],
) -> int:
    """Remove what the stages before the quiet moves have tried from the moves of a ply; return how many are left.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    ply : int
        Plies from the root.
    threats : ndarray of uint32, shape (4N,)
        See `mark_targets`.
    remembered : int
        The table's move; 0 without one.
    count : int
        How many there are.
    moves : ndarray of int32
        Changed.

    Returns
    -------
    int
        How many are left.
    """
    first, second = I64(s.killers[2 * ply]), I64(s.killers[2 * ply + 1])
    kept = 0
    for index in range(count):
        move = I64(moves[index])
        tried = move in (remembered, first, second)
        if not tried and not is_threatened(t, threats, target_of(move)):
            moves[kept] = np.int32(move)
            kept += 1
    return kept


@inlined
def rank_moves(
    t: Tables,
    s: SearchState,
    side: int,
    ply: int,
    remembered: int,
    count: int,
    moves: NDArray[np.int32],
    threats: NDArray[np.uint32],
) -> None:
    """Write by what the moves of a ply are ordered, the best highest.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    side : int
        0 white, 1 black.
    ply : int
        Plies from the root.
    remembered : int
        The table's move; 0 without one.
    count : int
        How many there are.
    moves : ndarray of int32
        The moves.
    threats : ndarray of uint32, shape (4N,)
        See `mark_targets`.
    """
    ranks = advance(s.ranks, I64(ply * 4 * t.cells))
    first, second = I64(s.killers[2 * ply]), I64(s.killers[2 * ply + 1])
    for index in range(count):
        move = I64(moves[index])
        rank = I64(s.history[side * HISTORY + move])
        if move == remembered:
            rank = _REMEMBERED
        elif is_threatened(t, threats, target_of(move)):
            rank += _CAPTURE
        elif move == first:
            rank += _KILLER + 1
        elif move == second:
            rank += _KILLER
        ranks[index] = np.int32(rank)


@inlined
def rank_by_history(t: Tables, s: SearchState, side: int, ply: int, count: int, moves: NDArray[np.int32]) -> None:
    """Write by what moves of one kind are ordered: how often they refuted.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    side : int
        0 white, 1 black.
    ply : int
        Plies from the root.
    count : int
        How many there are.
    moves : ndarray of int32
        The moves.
    """
    ranks = advance(s.ranks, I64(ply * 4 * t.cells))
    for index in range(count):
        ranks[index] = s.history[side * HISTORY + I64(moves[index])]


@inlined
def pick(moves: NDArray[np.int32], ranks: NDArray[np.int32], index: int, count: int) -> int:
    """Move the best of the moves from an index on to that index and return it; the first of equals.

    Parameters
    ----------
    moves : ndarray of int32
        Changed.
    ranks : ndarray of int32
        By what they are ordered; changed.
    index : int
        Where they begin.
    count : int
        Where they end.

    Returns
    -------
    int
        The move.
    """
    best, highest = index, I64(ranks[index])
    for other in range(index + 1, count):
        if I64(ranks[other]) > highest:
            best, highest = other, I64(ranks[other])
    move, rank = moves[best], ranks[best]
    moves[best], ranks[best] = moves[index], ranks[index]
    moves[index], ranks[index] = move, rank
    return I64(move)


@inlined
def reward(s: SearchState, side: int, ply: int, move: int, depth: int, quiet: bool) -> None:
    """Remember a move that refuted, so that it is tried early elsewhere.

    Parameters
    ----------
    s : SearchState
        The memory of the search.
    side : int
        0 white, 1 black.
    ply : int
        Plies from the root.
    move : int
        ``from | to << 7``.
    depth : int
        Plies.
    quiet : bool
        Whether it captures nothing; else it is not remembered.
    """
    if not quiet:
        return
    if I64(s.killers[2 * ply]) != move:
        s.killers[2 * ply + 1] = s.killers[2 * ply]
        s.killers[2 * ply] = np.int32(move)
    at = side * HISTORY + move
    s.history[at] = np.int32(min(I64(s.history[at]) + depth * depth, _HISTORY_LIMIT))
