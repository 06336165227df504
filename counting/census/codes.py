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
from numpy.typing import NDArray

from counting.census.words import below, last_not_above, minus, plus, quotient, real_of, table_of, times, words_at
from tablut.engine.cells import bit_of, join, rank_cells, unrank_cells
from tablut.engine.jit import I64, U64, advance, inlined, kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.engine.packing import board_bits, field

LABELS: Final = 3
_WIDEST: Final = 128


class CodeTables(NamedTuple):
    """The code tables that kernels use. A 128-bit number is stored as two words, the low one first.

    - ``cells``, ``attackers``, ``defenders``, ``code_bytes``: The number of cells, the maximum numbers of soldiers, and
      the number of bytes in a code.
    - ``king_bits``: The number of bits for the king's cell in a packed position.
    - ``binomial``: The binomial coefficient C(n, k) at index ``k * (cells + 1) + n``.
    - ``prefix``: The first code for each ``label * cells + king``, followed by the end of the code range.
    - ``offset``: The number S(a, d) for each ``d * (attackers + 1) + a``, followed by T.
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
            prefix=table_of([min(number * total, most) for number in range(LABELS * self.cells + 1)], 2),
            offset=table_of([min(offset, most) for offset in self.offsets], 2),
        )


@lru_cache(maxsize=64)
def position_codes(cells: int, attackers: int, defenders: int) -> tuple[PositionCodes, Any]:
    """Return the codes and their tables for kernels. The tables are None if the codes do not fit into 128 bits."""
    codes = PositionCodes(cells, attackers, defenders)
    return codes, codes.tables() if codes.fits else None


# -- codes of whole arrays of packed positions --------------------------------------------


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
        number = times((white_rank,), (table.binomial[attackers * stride + cells - 1 - defenders],))
        number = plus(number, (black_rank,))
        number = plus(number, words_at(table.offset, defenders * (table.attackers + 1) + attackers, number))
        low, high = plus(number, words_at(table.prefix, label * cells + king, number))
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
        rest = low, high
        if not below(rest, words_at(table.prefix, kings, rest)):
            continue
        number = last_not_above(table.prefix, min(I64(real_of(rest) / each), kings - 1), rest)
        rest = minus(rest, words_at(table.prefix, number, rest))
        material = last_not_above(table.offset, materials - 1, rest)
        rest = minus(rest, words_at(table.offset, material, rest))
        label, king = number // cells, number % cells
        defenders, attackers = material // (table.attackers + 1), material % (table.attackers + 1)
        white_rank, black_rank = quotient(rest, (table.binomial[attackers * stride + cells - 1 - defenders],))
        at_king = bit_of(king)
        white = unrank_cells(table.binomial, stride, cells, at_king, defenders, white_rank[0])
        taken = join(white, at_king)
        black = unrank_cells(table.binomial, stride, cells, taken, attackers, black_rank[0])
        add_board(row, width, 0, black[0], black[1])
        add_board(row, width, cells, white[0], white[1])
        add_board(row, width, 2 * cells, U64(king | (side << table.king_bits)), U64(0))
        if label != 0:
            row[width - 1] |= U64(label + 1) << U64(62)
