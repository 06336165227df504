"""Codes of whole arrays of packed positions, compiled; see `tablut.indexing.codes`.

A packed position holds its label in the two top bits of its last word, as the census
has it: bit 63 decided, bit 62 black has won.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, popcount, trailing_zeros
from tablut.engine.packing import board_bits, field
from tablut.indexing.codes import CodeTables

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["decode_rows", "encode_rows"]


@inlined
def flat_codes(x: CodeTables) -> CodeTables:
    """Return the tables with flat pointers for arrays."""
    return CodeTables(
        x.cells,
        x.attackers,
        x.defenders,
        x.code_bytes,
        x.king_bits,
        pointer(x.binomial),
        pointer(x.prefix),
        pointer(x.offset),
    )


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
def below(low: np.uint64, high: np.uint64, cell: int) -> int:
    """Return how many bits of a board lie below a cell."""
    if cell < 64:
        return popcount(low & ((U64(1) << U64(cell)) - U64(1)))
    return popcount(low) + popcount(high & ((U64(1) << U64(cell - 64)) - U64(1)))


@kernel
def encode_rows(tables: CodeTables, rows: NDArray[np.uint64], codes: NDArray[np.uint8]) -> None:
    """Write the codes of packed positions, least byte first.

    Parameters
    ----------
    tables : CodeTables
        For a board and material that hold them all.
    rows : ndarray of uint64, shape (n, W)
        The positions.
    codes : ndarray of uint8, shape (n, B)
        Receives the codes.
    """
    x = flat_codes(tables)
    width, cells = rows.shape[1], x.cells
    most = max(x.attackers, x.defenders) + 1
    for index in range(len(rows)):
        row = advance(pointer(rows), index * width)
        black_low, black_high = board_bits(row, width, 0, cells)
        white_low, white_high = board_bits(row, width, cells, cells)
        king = field(row, 2 * cells, x.king_bits)
        last = row[width - 1]
        label = I64(last >> U64(63)) * (1 + I64((last >> U64(62)) & U64(1)))
        white_rank, defenders = U64(0), I64(0)
        low, high = white_low, white_high
        while (low | high) != U64(0):
            if low != U64(0):
                cell = trailing_zeros(low)
                low &= low - U64(1)
            else:
                cell = 64 + trailing_zeros(high)
                high &= high - U64(1)
            defenders += 1
            white_rank += x.binomial[(cell - (cell > king)) * most + defenders]
        black_rank, attackers = U64(0), I64(0)
        low, high = black_low, black_high
        while (low | high) != U64(0):
            if low != U64(0):
                cell = trailing_zeros(low)
                low &= low - U64(1)
            else:
                cell = 64 + trailing_zeros(high)
                high &= high - U64(1)
            attackers += 1
            place = cell - (cell > king) - below(white_low, white_high, cell)
            black_rank += x.binomial[place * most + attackers]
        low, high = product(white_rank, x.binomial[(cells - 1 - defenders) * most + attackers])
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
        for byte in range(x.code_bytes):
            half = low if byte < 8 else high
            code[byte] = np.uint8((half >> U64(8 * (byte & 7))) & U64(0xFF))


@inlined
def last_not_above(table: NDArray[np.uint64], length: int, low: np.uint64, high: np.uint64) -> int:
    """Return the last entry of an ascending table of 128 bits that is not above a number; the first is 0."""
    first, end = I64(0), I64(length)
    while end - first > 1:
        middle = (first + end) >> 1
        if less(low, high, table[2 * middle], table[2 * middle + 1]):
            end = middle
        else:
            first = middle
    return first


@inlined
def quotient(low: np.uint64, high: np.uint64, divisor: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return quotient and remainder, the quotient below 2**64 and the divisor below 2**63."""
    result, rest = U64(0), high % divisor
    for bit in range(63, -1, -1):
        rest = (rest << U64(1)) | ((low >> U64(bit)) & U64(1))
        result <<= U64(1)
        if rest >= divisor:
            rest -= divisor
            result |= U64(1)
    return result, rest


@inlined
def set_bit(row: NDArray[np.uint64], bit: int) -> None:
    """Set one bit of a packed position."""
    row[bit >> 6] |= U64(1) << U64(bit & 63)


@kernel
def decode_rows(tables: CodeTables, codes: NDArray[np.uint8], side: int, rows: NDArray[np.uint64]) -> None:
    """Write the packed positions of codes; the inverse of `encode_rows`.

    What is no code at all gives an empty row, which no checksum takes for a position.

    Parameters
    ----------
    tables : CodeTables
        As for `encode_rows`.
    codes : ndarray of uint8, shape (n, B)
        The codes.
    side : int
        The side to move of all positions: 0 white, 1 black.
    rows : ndarray of uint64, shape (n, W)
        Receives the positions.
    """
    x = flat_codes(tables)
    width, cells = rows.shape[1], x.cells
    most = max(x.attackers, x.defenders) + 1
    kings, materials = 3 * cells, (x.attackers + 1) * (x.defenders + 1)
    scratch = np.empty(2 * cells, dtype=np.int64)
    left = pointer(scratch)
    for index in range(len(rows)):
        row = advance(pointer(rows), index * width)
        code = advance(pointer(codes), index * x.code_bytes)
        low, high = U64(0), U64(0)
        for byte in range(x.code_bytes):
            if byte < 8:
                low |= U64(code[byte]) << U64(8 * byte)
            else:
                high |= U64(code[byte]) << U64(8 * (byte - 8))
        for word in range(width):
            row[word] = U64(0)
        if not less(low, high, x.prefix[2 * kings], x.prefix[2 * kings + 1]):
            continue
        number = last_not_above(x.prefix, kings, low, high)
        borrow = U64(1) if low < x.prefix[2 * number] else U64(0)
        low -= x.prefix[2 * number]
        high -= x.prefix[2 * number + 1] + borrow
        material = last_not_above(x.offset, materials, low, high)
        borrow = U64(1) if low < x.offset[2 * material] else U64(0)
        low -= x.offset[2 * material]
        high -= x.offset[2 * material + 1] + borrow
        label, king = number // cells, number % cells
        defenders, attackers = material // (x.attackers + 1), material % (x.attackers + 1)
        white_rank, black_rank = quotient(low, high, x.binomial[(cells - 1 - defenders) * most + attackers])
        # The cells left, descending: the last place of a combination is found first.
        place, found = I64(cells - 1), I64(defenders)
        count = I64(0)
        for cell in range(cells - 1, -1, -1):
            if cell == king:
                continue
            place -= 1
            if found > 0 and x.binomial[place * most + found] <= white_rank:
                white_rank -= x.binomial[place * most + found]
                found -= 1
                set_bit(row, cells + cell)
            else:
                left[count] = cell
                count += 1
        place, found = count, I64(attackers)
        for at in range(count):
            if found == 0:
                break
            place -= 1
            if x.binomial[place * most + found] <= black_rank:
                black_rank -= x.binomial[place * most + found]
                found -= 1
                set_bit(row, left[at])
        for bit in range(x.king_bits):
            if (king >> bit) & 1:
                set_bit(row, 2 * cells + bit)
        if side == 1:
            set_bit(row, 2 * cells + x.king_bits)
        if label != 0:
            row[width - 1] |= U64(label + 1) << U64(62)
    keep(scratch)
