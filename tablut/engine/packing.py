"""Positions as words: exact packing, unpacking, and expansion of whole arrays of positions.

A position is one big integer, cut into W words of 64 bits, the least significant
first. With C = N² cells its bits are, from the bottom: C for the attackers, C for the
defenders, the king's cell as a number in as few bits as C needs, and one for black
to move: 170 bits, three words, on 9×9. The packing is exact, hence a set of rows of
words is a set of positions.

`expand` never packs a child: a ply changes few bits, and changes them by exclusive or.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import neighbour
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, popcount
from tablut.engine.kernels import count_moves, generate, make, unmake
from tablut.engine.layout import (
    board_items,
    king_of,
    put_count,
    put_king,
    put_side,
    side_of,
    start_of,
    target_of,
    undo_captured,
)
from tablut.engine.records import flat
from tablut.engine.vector import transpose_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["board_bits", "count_children", "expand", "field", "flip", "king_width", "pack", "unpack"]


@inlined
def field(words: NDArray[np.uint64], start: int, length: int) -> int:
    """Return some bits of a position as a number.

    Parameters
    ----------
    words : pointer to uint64
        The packed position, W words.
    start : int
        The first bit.
    length : int
        How many bits, at most 31.

    Returns
    -------
    int
        0 to ``2**length - 1``.
    """
    word, shift = start >> 6, start & 63
    value = words[word] >> U64(shift)
    if shift + length > 64:
        value |= words[word + 1] << U64(64 - shift)
    return I64(value & U64((1 << length) - 1))


@inlined
def board_bits(words: NDArray[np.uint64], length: int, start: int, cells: int) -> tuple[np.uint64, np.uint64]:
    """Return C bits of a position, one a cell.

    Parameters
    ----------
    words : pointer to uint64
        The packed position, W words.
    length : int
        W.
    start : int
        The first bit.
    cells : int
        C.

    Returns
    -------
    low : uint64
        The first 64.
    high : uint64
        The others; 0 if C is at most 64.
    """
    word, shift = start >> 6, start & 63
    low, high = words[word], U64(0)
    if word + 1 < length:
        high = words[word + 1]
    if shift != 0:
        low = (low >> U64(shift)) | (high << U64(64 - shift))
        high >>= U64(shift)
        if word + 2 < length:
            high |= words[word + 2] << U64(64 - shift)
    if cells < 64:
        return low & ((U64(1) << U64(cells)) - U64(1)), U64(0)
    return low, high & ((U64(1) << U64(cells - 64)) - U64(1))


@inlined
def next_row(low: np.uint64, high: np.uint64, size: int) -> tuple[np.uint64, np.uint64]:
    """Return a board of bits without its lowest row: the others move down by one.

    Parameters
    ----------
    low : uint64
        Its first 64 bits.
    high : uint64
        Its other bits.
    size : int
        N.

    Returns
    -------
    low : uint64
        The first 64 bits.
    high : uint64
        The other bits.
    """
    return (low >> U64(size)) | (high << U64(64 - size)), high >> U64(size)


@inlined
def _add_field(words: NDArray[np.uint64], start: int, length: int, value: int) -> None:
    """Set ``length`` < 32 bits of a position, clear so far, from bit ``start`` on."""
    word, shift = start >> 6, start & 63
    words[word] |= U64(value) << U64(shift)
    if shift + length > 64:
        words[word + 1] |= U64(value) >> U64(64 - shift)


@inlined
def king_width(t: Tables) -> int:
    """Return the number of bits of the king's cell.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.

    Returns
    -------
    int
        The least number that C cells fit into.
    """
    width = 0
    while (1 << width) < t.cells:
        width += 1
    return width


@inlined
def unpack(t: Tables, words: NDArray[np.uint64], board: NDArray[np.uint32]) -> None:
    """Write one packed position to a board.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    words : pointer to uint64
        The packed position, W words.
    board : pointer to uint32
        Receives the board, 2N + 4 items.

    Notes
    -----
    O(N).
    """
    size, cells = t.size, t.cells
    width = king_width(t)
    king = field(words, 2 * cells, width)
    black_low, black_high = board_bits(words, t.words, 0, cells)
    white_low, white_high = board_bits(words, t.words, cells, cells)
    attackers = popcount(black_low) + popcount(black_high)
    defenders = popcount(white_low) + popcount(white_high)
    bit = U64(1) << U64(king & 63)
    if king < 64:
        white_low |= bit
    else:
        white_high |= bit
    bottom = U64((1 << size) - 1)
    for rank in range(size):
        board[rank] = np.uint32(I64(black_low & bottom) | (I64(white_low & bottom) << 16))
        black_low, black_high = next_row(black_low, black_high, size)
        white_low, white_high = next_row(white_low, white_high, size)
    transpose_rows(board, size, advance(board, size))
    put_king(t, board, king)
    put_side(t, board, field(words, 2 * cells + width, 1))
    put_count(t, board, 1, attackers)
    put_count(t, board, 0, defenders)


@inlined
def pack(t: Tables, board: NDArray[np.uint32], words: NDArray[np.uint64]) -> None:
    """Write a board to one packed position.

    Parameters
    ----------
    t : Tables
        The compiled rules, flat.
    board : pointer to uint32
        The board, 2N + 4 items.
    words : pointer to uint64
        Receives the position, W words.

    Notes
    -----
    O(N).
    """
    size, cells = t.size, t.cells
    king = king_of(t, board)
    for word in range(t.words):
        words[word] = U64(0)
    for rank in range(size):
        row = I64(board[rank])
        white = row >> 16
        if rank == I64(t.rank[king]):
            white &= ~(1 << I64(t.file[king]))
        _add_field(words, rank * size, size, row & 0xFFFF)
        _add_field(words, cells + rank * size, size, white)
    width = king_width(t)
    _add_field(words, 2 * cells, width, king)
    _add_field(words, 2 * cells + width, 1, side_of(t, board))


@inlined
def flip(words: NDArray[np.uint64], bit: int) -> None:
    """Flip one bit of a position.

    Parameters
    ----------
    words : pointer to uint64
        The packed position, W words; changed.
    bit : int
        0 to 64W - 1.
    """
    words[bit >> 6] ^= U64(1) << U64(bit & 63)


@kernel
def unpack_all(tables: Tables, words: NDArray[np.uint64], boards: NDArray[np.uint32]) -> None:
    """Write packed positions to boards.

    Parameters
    ----------
    tables : Tables
        The compiled rules.
    words : ndarray of uint64, shape (n, W)
        The positions.
    boards : ndarray of uint32, shape (n, 2N + 4)
        Receives the boards.

    Notes
    -----
    O(n N).
    """
    t = flat(tables)
    for index in range(len(words)):
        unpack(t, advance(pointer(words), index * t.words), advance(pointer(boards), index * (2 * t.size + 4)))


@kernel
def pack_all(tables: Tables, boards: NDArray[np.uint32], words: NDArray[np.uint64]) -> None:
    """Write boards to packed positions.

    Parameters
    ----------
    tables : Tables
        The compiled rules.
    boards : ndarray of uint32, shape (n, 2N + 4)
        The boards.
    words : ndarray of uint64, shape (n, W)
        Receives the positions.

    Notes
    -----
    O(n N).
    """
    t = flat(tables)
    for index in range(len(boards)):
        pack(t, advance(pointer(boards), index * (2 * t.size + 4)), advance(pointer(words), index * t.words))


@kernel
def count_children(tables: Tables, words: NDArray[np.uint64], counts: NDArray[np.int64]) -> int:
    """Write the number of legal moves of each position and return their sum.

    Parameters
    ----------
    tables : Tables
        The compiled rules.
    words : ndarray of uint64, shape (n, W)
        The positions.
    counts : ndarray of int64, shape (n,)
        Receives the number for each position.

    Returns
    -------
    int
        The sum of ``counts``.

    Notes
    -----
    O(n N): no move is generated.
    """
    t = flat(tables)
    scratch = np.empty(2 * t.size + 4, dtype=np.uint32)
    board = pointer(scratch)
    total = 0
    for index in range(len(words)):
        unpack(t, advance(pointer(words), index * t.words), board)
        counts[index] = count_moves(t, board, side_of(t, board))
        total += counts[index]
    keep(scratch)
    return total


@kernel
def expand(
    tables: Tables,
    words: NDArray[np.uint64],
    children: NDArray[np.uint64],
    parents: NDArray[np.int64],
    moves: NDArray[np.int32],
    outcomes: NDArray[np.uint8],
) -> int:
    """Write all children of positions and return how many there are.

    Parameters
    ----------
    tables : Tables
        The variant.
    words : ndarray of uint64, shape (n, W)
        Undecided positions.
    children : ndarray of uint64, shape (m, W)
        Receives the children, in the order of their parents and of `generate`; m is at
        least the sum that `count_children` returns.
    parents : ndarray of int64, shape (m,)
        Receives the row of each child's parent.
    moves : ndarray of int32, shape (m,)
        Receives the moves, ``from | to << 7``.
    outcomes : ndarray of uint8, shape (m,)
        Receives the outcome codes, 0 where the child is undecided.

    Returns
    -------
    int
        How many rows of ``children`` were written.

    Notes
    -----
    O(n N + m).
    """
    t = flat(tables)
    size, cells, width = t.size, t.cells, t.words
    king_at, side_at = 2 * cells, 2 * cells + king_width(t)
    scratch, scratch_moves = np.empty(board_items(size), dtype=np.uint32), np.empty(4 * cells, dtype=np.int32)
    board, found = pointer(scratch), pointer(scratch_moves)
    total = 0
    for parent in range(len(words)):
        word = advance(pointer(words), parent * width)
        unpack(t, word, board)
        side, king = side_of(t, board), king_of(t, board)
        own, enemy = (0, cells) if side == 1 else (cells, 0)
        count = generate(t, board, found)
        for index in range(count):
            move = I64(found[index])
            start, target = start_of(move), target_of(move)
            undo, outcome = make(t, board, move)
            unmake(t, board, undo)
            child = advance(pointer(children), total * width)
            # Written out: a loop over at most four words is vectorised, at a loss.
            child[0] = word[0]
            if width > 1:
                child[1] = word[1]
            if width > 2:
                child[2] = word[2]
            if width > 3:
                child[3] = word[3]
            flip(child, side_at)
            if side == 0 and start == king:
                # On no board does the king's number straddle two words.
                child[king_at >> 6] ^= U64(start ^ target) << U64(king_at & 63)
            else:
                flip(child, own + start)
                flip(child, own + target)
            directions = undo_captured(undo)
            while directions:
                direction = directions & -directions
                directions ^= direction
                flip(child, enemy + neighbour(t, target, direction))
            parents[total] = parent
            moves[total] = np.int32(move)
            outcomes[total] = np.uint8(outcome)
            total += 1
    keep(scratch)
    keep(scratch_moves)
    return total
