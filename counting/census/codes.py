"""Compact codes: a bijection between all positions with bounded material and an interval of integers.

Unlike the index of undecided placements (`tablut.indexing.placements`), the codes depend neither on terrain nor on
rules. Every placement of one king and a bounded number of soldiers has a code for each of three labels (undecided,
white has won, black has won). A ply's positions are stored as codes. With 16 attackers and 8 defenders on a 9x9 board,
a code has 96 bits, or 12 bytes. The side to move is not part of the code, since it is the same for a whole ply.

Let *a* be the number of attackers and *d* the number of defenders in a position. Let n be the number of cells other
than the king's cell, and T the number of placements of soldiers on these cells. Let S(a, d) be the number of placements
whose material comes before (a, d) in the code order. Then the code is

    (label * cells + king) * T + S(a, d) + rank(white) * C(n - d, a) + rank(black)

The ranks are computed in the combinatorial number system. Attackers are ranked among the cells that are not occupied by
the king or a defender. Kernels compute with 128-bit integers. The tests compare the kernels with a naive implementation
that uses Python integers.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tablut.engine.cells import bit_of, join, rank_cells, unrank_cells
from tablut.engine.jit import I64, U64, advance, inlined, kernel, pointer
from tablut.engine.packing import board_bits, field
from tablut.engine.records import flat

_intrinsic: Any = intrinsic
_UniTuple: Any = types.UniTuple

LABELS: Final = 3
_WIDEST: Final = 128
_WORD: Final = (1 << 64) - 1


class CodeTables(NamedTuple):
    """The code tables that kernels use. A 128-bit number is stored as two words, the low one first.

    Attributes
    ----------
    cells, attackers, defenders, code_bytes : int
        The number of cells, the maximum numbers of soldiers, and the number of bytes in a code.
    king_bits : int
        The number of bits for the king's cell in a packed position.
    binomial : ndarray of uint64, flat
        The binomial coefficient C(n, k) at index ``k * (cells + 1) + n``.
    prefix : ndarray of uint64, shape (2 * kings,)
        The first code for each ``label * cells + king``, followed by the end of the code range.
    offset : ndarray of uint64, shape (2 * materials,)
        The number S(a, d) for each ``d * (attackers + 1) + a``, followed by T.
    """

    cells: int
    attackers: int
    defenders: int
    code_bytes: int
    king_bits: int
    binomial: NDArray[np.uint64]
    prefix: NDArray[np.uint64]
    offset: NDArray[np.uint64]


class PositionCodes:
    """Codes for positions with bounded numbers of attackers and defenders."""

    def __init__(self, cells: int, attackers: int, defenders: int) -> None:
        self.cells, self.attackers, self.defenders = cells, attackers, defenders
        self.offsets = [0]
        for d, a in itertools.product(range(defenders + 1), range(attackers + 1)):
            self.offsets.append(self.offsets[-1] + comb(cells - 1, d) * comb(cells - 1 - d, a))
        self.size = LABELS * cells * self.offsets[-1]
        self.bytes = -(-(self.size - 1).bit_length() // 8)
        widest = max(comb(cells - 1, k) for k in range(max(attackers, defenders) + 1))
        self.fits = self.size <= 1 << _WIDEST and widest <= 1 << 63

    def tables(self) -> CodeTables:
        """Return the tables for kernels; ``fits`` must be true."""
        soldiers = range(max(self.attackers, self.defenders) + 1)
        binomial = [[comb(n, k) for n in range(self.cells + 1)] for k in soldiers]
        # The code range may end at 2**128, which does not fit. In this case its end is stored as 2**128 - 1.
        total, most = self.offsets[-1], (1 << _WIDEST) - 1
        return CodeTables(
            cells=self.cells,
            attackers=self.attackers,
            defenders=self.defenders,
            code_bytes=self.bytes,
            king_bits=(self.cells - 1).bit_length(),
            binomial=np.array(binomial, dtype=np.uint64).ravel(),
            prefix=halves([min(number * total, most) for number in range(LABELS * self.cells + 1)]),
            offset=halves([min(offset, most) for offset in self.offsets]),
        )


def halves(values: list[int]) -> NDArray[np.uint64]:
    """Return 128-bit numbers as pairs of words, the low word first."""
    return np.array([[value & _WORD, value >> 64] for value in values], dtype=np.uint64).ravel()


@lru_cache(maxsize=64)
def position_codes(cells: int, attackers: int, defenders: int) -> tuple[PositionCodes, Any]:
    """Return the codes and their tables for kernels. The tables are None if the codes do not fit into 128 bits."""
    codes = PositionCodes(cells, attackers, defenders)
    return codes, codes.tables() if codes.fits else None


# -- codes of whole arrays of packed positions --------------------------------------------


@_intrinsic  # type: ignore[untyped-decorator]
def wide_product(_typing_context: Any, _one: Any, _other: Any) -> Any:
    """Return the 128-bit product of two words, the low word first. On most processors, this takes one instruction."""
    pair: Any = _UniTuple(types.uint64, 2)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        halves = [builder.trunc(product, word), builder.trunc(builder.lshr(product, wide(64)), word)]
        return context.make_tuple(builder, pair, halves)

    return pair(types.uint64, types.uint64), codegen


@inlined
def subtract(low: Any, high: Any, other_low: Any, other_high: Any) -> tuple[Any, Any]:
    """Return the difference between two 128-bit numbers."""
    borrow = U64(1) if low < other_low else U64(0)
    return low - other_low, high - other_high - borrow


@inlined
def less(low: np.uint64, high: np.uint64, other_low: np.uint64, other_high: np.uint64) -> bool:
    """Return whether one 128-bit number is less than another."""
    return bool(high < other_high or (high == other_high and low < other_low))


@kernel
def encode_rows(tables: CodeTables, rows: NDArray[np.uint64], codes: NDArray[np.uint8]) -> None:
    """Write the codes of packed positions in little-endian order."""
    table = flat(tables)
    width, cells = rows.shape[1], table.cells
    stride = cells + 1
    for index in range(len(rows)):
        row = advance(pointer(rows), index * width)
        black, white = board_bits(row, width, 0, cells), board_bits(row, width, cells, cells)
        king = field(row, 2 * cells, table.king_bits)
        last = row[width - 1]
        label = I64(last >> U64(63)) * (1 + I64((last >> U64(62)) & U64(1)))
        at_king = bit_of(king)
        white_rank, defenders = rank_cells(table.binomial, stride, white, at_king)
        taken = join(white, at_king)
        black_rank, attackers = rank_cells(table.binomial, stride, black, taken)
        low, high = wide_product(white_rank, table.binomial[attackers * stride + cells - 1 - defenders])
        for number in range(3):
            if number == 0:
                more, above = black_rank, U64(0)
            elif number == 1:
                at = 2 * (defenders * (table.attackers + 1) + attackers)
                more, above = table.offset[at], table.offset[at + 1]
            else:
                at = 2 * (label * cells + king)
                more, above = table.prefix[at], table.prefix[at + 1]
            low += more
            high += above + (U64(1) if low < more else U64(0))
        code = advance(pointer(codes), index * table.code_bytes)
        # With a fixed number of bytes, the compiler generates a single store.
        if table.code_bytes >= 8:
            for byte in range(8):
                code[byte] = np.uint8((low >> U64(8 * byte)) & U64(0xFF))
            low = high
            code = advance(code, 8)
        for byte in range(table.code_bytes & 7 if table.code_bytes < 16 else 8):
            code[byte] = np.uint8(low & U64(0xFF))
            low >>= U64(8)


@inlined
def last_not_above(table: NDArray[np.uint64], guess: int, low: np.uint64, high: np.uint64) -> int:
    """Return the index of the last entry in an ascending table that is at most a given 128-bit number.

    The search starts at a guess. The first entry must be 0, and the last entry must be greater than the number.
    """
    while less(low, high, table[2 * guess], table[2 * guess + 1]):
        guess -= 1
    while not less(low, high, table[2 * guess + 2], table[2 * guess + 3]):
        guess += 1
    return guess


@inlined
def quotient(low: np.uint64, high: np.uint64, divisor: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Divide a 128-bit number, and return the quotient and the remainder.

    The quotient must be below 2**64 and the divisor below 2**63. A floating-point
    estimate of the quotient, which is slightly too low, is multiplied by the divisor, and the product is subtracted.
    This is repeated until the remainder is less than the divisor. Since the relative error of an estimate is about
    2**-50, two or three rounds suffice.
    """
    result, scale = U64(0), (1.0 - 2.0**-50) / np.float64(divisor)
    while high != U64(0) or low >= divisor:
        part = U64((np.float64(high) * 2.0**64 + np.float64(low)) * scale)
        part = part if part != U64(0) else U64(1)
        result += part
        less_low, less_high = wide_product(part, divisor)
        low, high = subtract(low, high, less_low, less_high)
    return result, low


@inlined
def add_board(row: NDArray[np.uint64], width: int, start: int, low: np.uint64, high: np.uint64) -> None:
    """Copy a board's bits into a packed position, beginning at bit ``start``. The target bits must be zero."""
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
    """Write the packed positions with the given codes. This is the inverse of `encode_rows`.

    A number that is not a valid code yields a row of zeros, and the checksums then do not match.
    """
    table = flat(tables)
    width, cells = rows.shape[1], table.cells
    stride = cells + 1
    kings, materials = 3 * cells, (table.attackers + 1) * (table.defenders + 1)
    # The guess for the prefix is off by at most one. The search for the material begins with the full material, since
    # few pieces have been captured in most positions of a game.
    each = np.float64(table.prefix[3]) * 2.0**64 + np.float64(table.prefix[2])
    for index in range(len(rows)):
        row = advance(pointer(rows), index * width)
        code = advance(pointer(codes), index * table.code_bytes)
        low, high = U64(0), U64(0)
        for byte in range(min(table.code_bytes, 8)):
            low |= U64(code[byte]) << U64(8 * byte)
        for byte in range(8, table.code_bytes):
            high |= U64(code[byte]) << U64(8 * (byte - 8))
        for word in range(width):
            row[word] = U64(0)
        if not less(low, high, table.prefix[2 * kings], table.prefix[2 * kings + 1]):
            continue
        number = min(I64((np.float64(high) * 2.0**64 + np.float64(low)) / each), kings - 1)
        number = last_not_above(table.prefix, number, low, high)
        low, high = subtract(low, high, table.prefix[2 * number], table.prefix[2 * number + 1])
        material = last_not_above(table.offset, materials - 1, low, high)
        low, high = subtract(low, high, table.offset[2 * material], table.offset[2 * material + 1])
        label, king = number // cells, number % cells
        defenders, attackers = material // (table.attackers + 1), material % (table.attackers + 1)
        white_rank, black_rank = quotient(low, high, table.binomial[attackers * stride + cells - 1 - defenders])
        at_king = bit_of(king)
        white = unrank_cells(table.binomial, stride, cells, at_king, defenders, white_rank)
        taken = join(white, at_king)
        black = unrank_cells(table.binomial, stride, cells, taken, attackers, black_rank)
        add_board(row, width, 0, black[0], black[1])
        add_board(row, width, cells, white[0], white[1])
        add_board(row, width, 2 * cells, U64(king | (side << table.king_bits)), U64(0))
        if label != 0:
            row[width - 1] |= U64(label + 1) << U64(62)
