"""Which move to try first: captures, then moves that refuted a sibling, then what has refuted before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import I64, advance, inlined, trailing_zeros
from tablut.engine.kernels import king_slide
from tablut.engine.perft import mark_threats
from tablut.search.state import HISTORY, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = [
    "capturing_moves",
    "is_legal",
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
def is_legal(t: Tables, board: NDArray[np.uint32], move: int) -> bool:
    """Return whether a move, any 14 bits, is legal for the side to move."""
    size = t.size
    start, target = move & 127, (move >> 7) & 127
    if start == target or start >= t.cells or target >= t.cells:
        return False
    side = I64(board[2 * size + 1])
    rank, file = I64(t.rank[start]), I64(t.file[start])
    to_rank, to_file = I64(t.rank[target]), I64(t.file[target])
    if ((I64(board[rank]) >> (16 - (side << 4))) >> file) & 1 == 0:
        return False
    if rank == to_rank:
        line, place, end = rank, file, to_file
    elif file == to_file:
        line, place, end = size + file, rank, to_rank
    else:
        return False
    content = I64(board[line])
    occupied = (content | (content >> 16)) & 0xFFFF
    slides_at = t.attacker_slides if side == 1 else t.defender_slides
    at = I64(slides_at[line])
    if side == 0 and start == I64(board[2 * size]):
        at = I64(t.king_slides[line])
    return (I64(t.slides[at + (place << size) + occupied]) >> end) & 1 != 0


@inlined
def mark_targets(t: Tables, board: NDArray[np.uint32], side: int, threats: NDArray[np.uint32]) -> int:
    """Write, by line, every place on which an arriving piece of ``side`` may capture; return 0 if there is none.

    ``threats`` holds 4N masks; the first 2N are the result. Each cell stands in the masks of
    its row and of its column, whichever way it captures.
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
    """Return whether a move to a cell may capture."""
    return (I64(threats[I64(t.rank[cell])]) >> I64(t.file[cell])) & 1 != 0


@inlined
def capturing_moves(t: Tables, board: NDArray[np.uint32], threats: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the moves of the side to move to places on which they may capture; return how many there are."""
    size = t.size
    side, king = I64(board[2 * size + 1]), I64(board[2 * size])
    shift = 16 - (side << 4)
    slides_at = t.attacker_slides if side == 1 else t.defender_slides
    count = 0
    for line in range(2 * size):
        wanted = I64(threats[line])
        if wanted == 0:
            continue
        content = I64(board[line])
        own = (content >> shift) & 0xFFFF
        occupied = (content | (content >> 16)) & 0xFFFF
        first, step = (line * size, 1) if line < size else (line - size, size)
        while own:
            place = trailing_zeros(own)
            own &= own - 1
            start = first + place * step
            at = I64(slides_at[line])
            if side == 0 and start == king:
                at = I64(t.king_slides[line])
            targets = I64(t.slides[at + (place << size) + occupied]) & wanted
            while targets:
                end = trailing_zeros(targets)
                targets &= targets - 1
                moves[count] = np.int32(start | ((first + end * step) << 7))
                count += 1
    return count


@inlined
def king_moves(t: Tables, board: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the moves of the king; return how many there are."""
    king = I64(board[2 * t.size])
    rank, file = I64(t.rank[king]), I64(t.file[king])
    row, column = king_slide(t, board, king)
    count = 0
    while row:
        moves[count] = np.int32(king | ((rank * t.size + trailing_zeros(row)) << 7))
        row &= row - 1
        count += 1
    while column:
        moves[count] = np.int32(king | ((trailing_zeros(column) * t.size + file) << 7))
        column &= column - 1
        count += 1
    return count


@inlined
def without_move(moves: NDArray[np.int32], count: int, unwanted: int) -> int:
    """Remove a move, if it is there, from moves without an order; return how many are left."""
    for index in range(count):
        if I64(moves[index]) == unwanted:
            moves[index] = moves[count - 1]
            return count - 1
    return count


@inlined
def killer_moves(
    t: Tables,
    s: State,
    board: NDArray[np.uint32],
    ply: int,
    threats: NDArray[np.uint32],
    remembered: int,
    moves: NDArray[np.int32],
) -> int:
    """Write the killers of a ply that are legal here and capture nothing; return how many there are."""
    count = 0
    for number in range(2):
        move = I64(s.killers[2 * ply + number])
        if move == 0 or move == remembered or is_threatened(t, threats, move >> 7):
            continue
        if is_legal(t, board, move):
            moves[count] = np.int32(move)
            count += 1
    return count


@inlined
def without_tried(
    t: Tables, s: State, ply: int, threats: NDArray[np.uint32], remembered: int, count: int, moves: NDArray[np.int32]
) -> int:
    """Remove what the stages before the quiet moves have tried from the moves of a ply; return how many are left."""
    first, second = I64(s.killers[2 * ply]), I64(s.killers[2 * ply + 1])
    kept = 0
    for index in range(count):
        move = I64(moves[index])
        tried = move in (remembered, first, second)
        if not tried and not is_threatened(t, threats, move >> 7):
            moves[kept] = np.int32(move)
            kept += 1
    return kept


@inlined
def rank_moves(
    t: Tables,
    s: State,
    side: int,
    ply: int,
    remembered: int,
    count: int,
    moves: NDArray[np.int32],
    threats: NDArray[np.uint32],
) -> None:
    """Write by what the moves of a ply are ordered, the best highest."""
    ranks = advance(s.ranks, I64(ply * 4 * t.cells))
    first, second = I64(s.killers[2 * ply]), I64(s.killers[2 * ply + 1])
    for index in range(count):
        move = I64(moves[index])
        rank = I64(s.history[side * HISTORY + move])
        if move == remembered:
            rank = _REMEMBERED
        elif is_threatened(t, threats, move >> 7):
            rank += _CAPTURE
        elif move == first:
            rank += _KILLER + 1
        elif move == second:
            rank += _KILLER
        ranks[index] = np.int32(rank)


@inlined
def rank_by_history(t: Tables, s: State, side: int, ply: int, count: int, moves: NDArray[np.int32]) -> None:
    """Write by what moves of one kind are ordered: how often they refuted."""
    ranks = advance(s.ranks, I64(ply * 4 * t.cells))
    for index in range(count):
        ranks[index] = s.history[side * HISTORY + I64(moves[index])]


@inlined
def pick(moves: NDArray[np.int32], ranks: NDArray[np.int32], index: int, count: int) -> int:
    """Move the best of the moves from an index on to that index and return it; the first of equals."""
    best, highest = index, I64(ranks[index])
    for other in range(index + 1, count):
        if I64(ranks[other]) > highest:
            best, highest = other, I64(ranks[other])
    move, rank = moves[best], ranks[best]
    moves[best], ranks[best] = moves[index], ranks[index]
    moves[index], ranks[index] = move, rank
    return I64(move)


@inlined
def reward(s: State, side: int, ply: int, move: int, depth: int, quiet: bool) -> None:
    """Remember a move that refuted, so that it is tried early elsewhere."""
    if not quiet:
        return
    if I64(s.killers[2 * ply]) != move:
        s.killers[2 * ply + 1] = s.killers[2 * ply]
        s.killers[2 * ply] = np.int32(move)
    at = side * HISTORY + move
    s.history[at] = np.int32(min(I64(s.history[at]) + depth * depth, _HISTORY_LIMIT))
