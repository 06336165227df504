"""Families: positions that share the soldiers which the ply that led to them cannot have moved.

A ply moves a piece of one side. The soldiers of the other side, which is to move then, stay
where they are unless they are captured; so does the king where the attackers have moved. The
*family* of a position is the orbit of these pieces under the group: of the attackers where
black is to move, of the king and the defenders where white is. All children of a parent
without a capture are therefore of one family, that of the pieces which the parent's mover
does not have, and it is known before any child is made. Equal positions are of one family.
So a ply can be counted family by family, each parent expanded once: this is structured
duplicate detection [1]_ with the untouched side as the structure.

A *bin* is the top 12 bits of a hash of the family. The hash adds up, over the group, mixed
exclusive ors of a random word for each cell of the image, so it is the same for all
images. Two families may share a bin; nothing depends on that but how even the bins are.

Non-guarantee: bins are not equally full. A few families hold most positions of the first plies.

References
----------
.. [1] R. Zhou and E. A. Hansen, Structured duplicate detection in external-memory graph search,
   AAAI 2004, pages 683-688.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.buckets import row_hash, row_sum
from counting.census.row_head import BINS
from tablut.engine import engine_for
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.packing import board_bits, field, king_width
from tablut.engine.records import flat

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.variants import Variant

_BIN_BITS: Final = BINS.bit_length() - 1
_WORD: Final = (1 << 64) - 1


def _mixed(value: int) -> int:
    """Return a word mixed by a bijection (the finaliser of splitmix64)."""
    value = (value + 0x9E3779B97F4A7C15) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)


@lru_cache(maxsize=16)
def family_marks(variant: Variant, full: bool) -> NDArray[np.uint64]:
    """Return the random words of the images of single cells."""
    engine = engine_for(variant)
    group = engine.group[:1] if full else engine.group
    cells = variant.size**2
    marks = np.zeros((2 * cells, 8), dtype=np.uint64)
    for kind in range(2):
        for cell in range(cells):
            for number, element in enumerate(group):
                marks[kind * cells + cell, number] = _mixed(kind * cells + int(element.table[cell]))
    marks.flags.writeable = False
    return marks


@inlined
def _add_marks(lanes: NDArray[np.uint64], marks: NDArray[np.uint64], bits: np.uint64, first: int) -> None:
    """Take the words of some cells into the exclusive ors of the images."""
    while bits != U64(0):
        cell = advance(marks, 8 * (first + trailing_zeros(bits)))
        bits &= bits - U64(1)
        for lane in range(8):
            lanes[lane] ^= cell[lane]


@kernel
def family_bins(
    tables: Tables,
    marks: NDArray[np.uint64],
    order: int,
    turned: int,
    rows: NDArray[np.uint64],
    bins: NDArray[np.uint16],
) -> None:
    """Write the bin of each position, or of the children that it has without a capture. O(soldiers) each."""
    t = flat(tables)
    width, cells = rows.shape[1], t.cells
    king_bits = king_width(t)
    scratch = np.empty(8, dtype=np.uint64)
    lanes, mark = pointer(scratch), pointer(marks)
    for index in range(len(rows)):
        row = advance(pointer(rows), index * width)
        side = field(row, 2 * cells + king_bits, 1) ^ turned
        low, high = board_bits(row, width, 0 if side == 1 else cells, cells)
        for lane in range(8):
            lanes[lane] = U64(0)
        _add_marks(lanes, mark, low, 0)
        _add_marks(lanes, mark, high, 64)
        if side == 0:
            king = advance(mark, 8 * (cells + field(row, 2 * cells, king_bits)))
            for lane in range(8):
                lanes[lane] ^= king[lane]
        total = U64(0)
        for lane in range(order):
            value = lanes[lane] * U64(0xBF58476D1CE4E5B9)
            value ^= value >> U64(29)
            value *= U64(0x94D049BB133111EB)
            total += value ^ (value >> U64(32))
        bins[index] = np.uint16(I64(total >> U64(64 - _BIN_BITS)))
    keep(scratch)


@kernel
def bin_sums(rows: NDArray[np.uint64], counts: NDArray[np.int64], sums: NDArray[np.uint64]) -> None:
    """Write the hash sums of rows that lie in the order of bins."""
    width = rows.shape[1]
    index = 0
    for number in range(len(counts)):
        total = U64(0)
        for _ in range(counts[number]):
            row = advance(pointer(rows), index * width)
            total += row_sum(row_hash(row, width), row, width)
            index += 1
        sums[number] = total


def plain_bin(variant: Variant, full: bool, king: int | None, soldiers: list[int]) -> int:
    """Return the bin of a family in Python integers: the twin of `family_bins`."""
    engine, cells = engine_for(variant), variant.size**2
    total = 0
    for element in engine.group[:1] if full else engine.group:
        value = 0
        for cell in soldiers:
            value ^= _mixed(int(element.table[cell]))
        if king is not None:
            value ^= _mixed(cells + int(element.table[king]))
        value = (value * 0xBF58476D1CE4E5B9) & _WORD
        value ^= value >> 29
        value = (value * 0x94D049BB133111EB) & _WORD
        total += value ^ (value >> 32)
    return (total & _WORD) >> (64 - _BIN_BITS)
