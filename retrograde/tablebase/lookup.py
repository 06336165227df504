"""Looking up the values of many positions: from words to men, to the entry, to the code in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.layout import is_wide
from tablut.engine.packing import board_bits, field, king_width
from tablut.engine.records import flat
from tablut.engine.tables import Tables
from tablut.indexing.tier_kernels import SCRATCH, entry_of
from tablut.indexing.tier_tables import TierTables, code_at

_BITS = 62
"""Number of cells of a wide board that are read together, as an int64. A narrow board fits into two words."""


@inlined
def _cells(t: Tables, word: NDArray[np.uint64], start: int, cells: NDArray[np.uint8]) -> None:
    """Write the cells of a position's attackers or defenders. Their bits begin at ``start``."""
    count = I64(0)
    if is_wide(t.exposed):
        for first in range(0, t.cells, _BITS):
            bits = field(word, start + first, min(t.cells - first, _BITS))
            while bits:
                cells[count] = first + trailing_zeros(bits)
                bits &= bits - 1
                count += 1
        return
    low, high = board_bits(word, t.words, start, t.cells)
    while low != U64(0):
        cells[count] = trailing_zeros(low)
        low &= low - U64(1)
        count += 1
    while high != U64(0):
        cells[count] = 64 + trailing_zeros(high)
        high &= high - U64(1)
        count += 1


@kernel
def look_up(
    tables: Tables,
    index: TierTables,
    places: NDArray[np.int64],
    values: NDArray[np.int16],
    words: NDArray[np.uint64],
    found: NDArray[np.int16],
    missing: int,
) -> None:
    """Write the value of each position of an index's first tier, or ``missing`` if there is no entry."""
    t, x = flat(tables), flat(index)
    soldiers, numbers = np.empty(2 * t.cells, dtype=index.square.spot.dtype), np.empty(SCRATCH, dtype=np.int64)
    black, scratch, at = pointer(soldiers), pointer(numbers), pointer(places)
    white = advance(black, t.cells)
    width = king_width(t)
    for number in range(len(words)):
        found[number] = missing
        word = advance(pointer(words), number * t.words)
        _cells(t, word, 0, black)
        _cells(t, word, t.cells, white)
        king = field(word, 2 * t.cells, width)
        entry = I64(-1)
        if king < t.cells:
            entry = entry_of(x, I64(0), king, black, white, scratch)
        if entry >= 0:
            side = field(word, 2 * t.cells + width, 1)
            found[number] = values[code_at(at, side, entry)]
    keep(soldiers)
    keep(numbers)
