"""Codes of whole arrays of packed positions, compiled; see `counting.census.codes`.

A packed position holds its label in the two top bits of its last word, as the census
has it: bit 63 decided, bit 62 black has won.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, popcount, trailing_zeros
from tablut.engine.packing import board_bits, field
from tablut.engine.records import flat

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counting.census.codes import CodeTables


@inlined
def product(one: np.uint64, other: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the 128 bits of a product, the low half first."""
    mask = U64(0xFFFFFFFF)
    half = U64(32)
    low, high = one & mask, one >> half
    other_low, other_high = other & mask, other >> half
    bottom, top = low * other_low, high * other_high
    cross = low * other_high
    middle = high * other_low + (bottom >> half)
    carry = (middle & mask) + (cross & mask)
    return (carry << half) | (bottom & mask), top + (middle >> half) + (cross >> half) + (carry >> half)


@inlined
def less(low: np.uint64, high: np.uint64, other_low: np.uint64, other_high: np.uint64) -> bool:
    """Return whether one number of 128 bits is less than another."""
    return bool(high < other_high or (high == other_high and low < other_low))


@inlined
def rank_board(
    binomial: NDArray[np.uint64],
    stride: int,
    board: tuple[np.uint64, np.uint64],
    taken: tuple[np.uint64, np.uint64],
) -> tuple[np.uint64, int]:
    """Return the rank of a board's cells among those that are not taken, and how many they are."""
    rank, count = U64(0), I64(0)
    bits = board[0]
    while bits != U64(0):
        place = trailing_zeros(bits)
        place -= popcount(taken[0] & ((bits & (~bits + U64(1))) - U64(1)))
        bits &= bits - U64(1)
        count += 1
        rank += binomial[count * stride + place]
    bits, first = board[1], 64 - popcount(taken[0])
    while bits != U64(0):
        place = first + trailing_zeros(bits)
        place -= popcount(taken[1] & ((bits & (~bits + U64(1))) - U64(1)))
        bits &= bits - U64(1)
        count += 1
        rank += binomial[count * stride + place]
    return rank, count


@inlined
def cell_bit(cell: int) -> tuple[np.uint64, np.uint64]:
    """Return a board with one cell."""
    bit = U64(1) << U64(cell & 63)
    return (bit if cell < 64 else U64(0)), (bit if cell >= 64 else U64(0))


@kernel
def encode_rows(tables: CodeTables, rows: NDArray[np.uint64], codes: NDArray[np.uint8]) -> None:
    """Write the codes of packed positions, least byte first."""
    x = flat(tables)
    width, cells = rows.shape[1], x.cells
    stride = cells + 1
    for index in range(len(rows)):
        row = advance(pointer(rows), index * width)
        black, white = board_bits(row, width, 0, cells), board_bits(row, width, cells, cells)
        king = field(row, 2 * cells, x.king_bits)
        last = row[width - 1]
        label = I64(last >> U64(63)) * (1 + I64((last >> U64(62)) & U64(1)))
        at_king = cell_bit(king)
        white_rank, defenders = rank_board(x.binomial, stride, white, at_king)
        taken = (white[0] | at_king[0], white[1] | at_king[1])
        black_rank, attackers = rank_board(x.binomial, stride, black, taken)
        low, high = product(white_rank, x.binomial[attackers * stride + cells - 1 - defenders])
        for number in range(3):
            if number == 0:
                more, above = black_rank, U64(0)
            elif number == 1:
                at = 2 * (defenders * (x.attackers + 1) + attackers)
                more, above = x.offset[at], x.offset[at + 1]
            else:
                at = 2 * (label * cells + king)
                more, above = x.prefix[at], x.prefix[at + 1]
            low += more
            high += above + (U64(1) if low < more else U64(0))
        code = advance(pointer(codes), index * x.code_bytes)
        # A fixed number of bytes becomes a single store.
        if x.code_bytes >= 8:
            for byte in range(8):
                code[byte] = np.uint8((low >> U64(8 * byte)) & U64(0xFF))
            low = high
            code = advance(code, 8)
        for byte in range(x.code_bytes & 7 if x.code_bytes < 16 else 8):
            code[byte] = np.uint8(low & U64(0xFF))
            low >>= U64(8)


@inlined
def last_not_above(table: NDArray[np.uint64], guess: int, low: np.uint64, high: np.uint64) -> int:
    """Return the last entry of an ascending table of 128 bits that is not above a number, searched from a guess.

    The first entry is 0, the last above every number that is asked for.
    """
    while less(low, high, table[2 * guess], table[2 * guess + 1]):
        guess -= 1
    while not less(low, high, table[2 * guess + 2], table[2 * guess + 3]):
        guess += 1
    return guess


@inlined
def quotient(low: np.uint64, high: np.uint64, divisor: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return quotient and remainder, the quotient below 2**64 and the divisor below 2**63.

    An estimate in floating point, made a little too small, is taken off until what is left
    is less than the divisor: its relative error of 2**-50 leaves nothing after two rounds or three.
    """
    result, scale = U64(0), (1.0 - 2.0**-50) / np.float64(divisor)
    while high != U64(0) or low >= divisor:
        part = U64((np.float64(high) * 2.0**64 + np.float64(low)) * scale)
        part = part if part != U64(0) else U64(1)
        result += part
        less_low, less_high = product(part, divisor)
        high -= less_high + (U64(1) if low < less_low else U64(0))
        low -= less_low
    return result, low


@inlined
def unrank_board(
    binomial: NDArray[np.uint64],
    stride: int,
    cells: int,
    taken: tuple[np.uint64, np.uint64],
    count: int,
    rank: np.uint64,
    gaps: NDArray[np.int64],
) -> tuple[np.uint64, np.uint64]:
    """Return the board of a rank among the cells that are not taken; the inverse of `rank_board`.

    ``gaps`` is room for the places before which a cell is taken.
    """
    low, high = taken
    gap = I64(0)
    while low != U64(0):
        gaps[gap] = trailing_zeros(low) - gap
        low &= low - U64(1)
        gap += 1
    while high != U64(0):
        gaps[gap] = 64 + trailing_zeros(high) - gap
        high &= high - U64(1)
        gap += 1
    place = cells - gap
    # The last place of a combination is found first; the cell of a place has the gaps before it.
    for number in range(count, 0, -1):
        place -= 1
        while place > 0 and binomial[number * stride + place] > rank:
            place -= 1
        rank -= binomial[number * stride + place]
        while gap > 0 and gaps[gap - 1] > place:
            gap -= 1
        bit_low, bit_high = cell_bit(place + gap)
        low |= bit_low
        high |= bit_high
    return low, high


@inlined
def add_board(row: NDArray[np.uint64], width: int, start: int, low: np.uint64, high: np.uint64) -> None:
    """Set the bits of a board in a packed position, clear so far, from bit ``start`` on."""
    word, shift = start >> 6, U64(start & 63)
    row[word] |= low << shift
    if word + 1 < width:
        row[word + 1] |= high << shift
        if shift != U64(0):
            row[word + 1] |= low >> (U64(64) - shift)
    if word + 2 < width and shift != U64(0):
        row[word + 2] |= high >> (U64(64) - shift)


@kernel
def decode_rows(tables: CodeTables, codes: NDArray[np.uint8], side: int, rows: NDArray[np.uint64]) -> None:
    """Write the packed positions of codes; the inverse of `encode_rows`.

    What is no code at all gives an empty row, which no checksum takes for a position.
    """
    x = flat(tables)
    width, cells = rows.shape[1], x.cells
    stride = cells + 1
    kings, materials = 3 * cells, (x.attackers + 1) * (x.defenders + 1)
    scratch = np.empty(cells, dtype=np.int64)
    gaps = pointer(scratch)
    # A guess is at most one off; most positions of a game have nearly all their material.
    each = np.float64(x.prefix[3]) * 2.0**64 + np.float64(x.prefix[2])
    for index in range(len(rows)):
        row = advance(pointer(rows), index * width)
        code = advance(pointer(codes), index * x.code_bytes)
        low, high = U64(0), U64(0)
        for byte in range(min(x.code_bytes, 8)):
            low |= U64(code[byte]) << U64(8 * byte)
        for byte in range(8, x.code_bytes):
            high |= U64(code[byte]) << U64(8 * (byte - 8))
        for word in range(width):
            row[word] = U64(0)
        if not less(low, high, x.prefix[2 * kings], x.prefix[2 * kings + 1]):
            continue
        number = min(I64((np.float64(high) * 2.0**64 + np.float64(low)) / each), kings - 1)
        number = last_not_above(x.prefix, number, low, high)
        borrow = U64(1) if low < x.prefix[2 * number] else U64(0)
        low -= x.prefix[2 * number]
        high -= x.prefix[2 * number + 1] + borrow
        material = last_not_above(x.offset, materials - 1, low, high)
        borrow = U64(1) if low < x.offset[2 * material] else U64(0)
        low -= x.offset[2 * material]
        high -= x.offset[2 * material + 1] + borrow
        label, king = number // cells, number % cells
        defenders, attackers = material // (x.attackers + 1), material % (x.attackers + 1)
        white_rank, black_rank = quotient(low, high, x.binomial[attackers * stride + cells - 1 - defenders])
        at_king = cell_bit(king)
        white = unrank_board(x.binomial, stride, cells, at_king, defenders, white_rank, gaps)
        taken = (white[0] | at_king[0], white[1] | at_king[1])
        black = unrank_board(x.binomial, stride, cells, taken, attackers, black_rank, gaps)
        add_board(row, width, 0, black[0], black[1])
        add_board(row, width, cells, white[0], white[1])
        add_board(row, width, 2 * cells, U64(king | (side << x.king_bits)), U64(0))
        if label != 0:
            row[width - 1] |= U64(label + 1) << U64(62)
    keep(scratch)
