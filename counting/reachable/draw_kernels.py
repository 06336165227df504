"""From a seed to a position number, and from the number to its position, in compiled code; many numbers together.

See `counting.reachable.drawing` for what is drawn. A batch is one array of `BATCH_ROWS` rows of `BATCH` words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.codes import last_not_above, less, quotient
from counting.reachable.wide import bit_of, bucket_of, spread, subtract, wide_product
from tablut.engine.jit import I64, U64, advance, inlined, popcount

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counting.reachable.draw_tables import DrawTables

BATCH: Final = 16
"""Positions that are made of their numbers together."""
BATCH_ROWS: Final = 10
"""Words for each of them: ranks of attackers and defenders, their counts, two sets, the king, the side."""

_COUNT: Final = 2
_CELLS: Final = 4
_KING: Final = 8
_SIDE: Final = 9


@inlined
def _philox(seed: np.uint64, block: np.uint64, index: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the four words of Philox-4x64-10 for the key (seed, 0) and the counter (block, index, 0, 0)."""
    first, second, third, fourth = block, index, U64(0), U64(0)
    key, other_key = seed, U64(0)
    for _ in range(10):
        low, high = wide_product(U64(0xD2E7470EE14C6C93), first)
        other_low, other_high = wide_product(U64(0xCA5A826395121157), third)
        first, second, third, fourth = other_high ^ second ^ key, other_low, high ^ fourth ^ other_key, low
        key += U64(0x9E3779B97F4A7C15)
        other_key += U64(0xBB67AE8584CAA73B)
    return first, second, third, fourth


@inlined
def _cut(low: np.uint64, high: np.uint64, bits: int) -> tuple[np.uint64, np.uint64]:
    """Return the lowest bits of 128."""
    if bits < 64:
        return low & ((U64(1) << U64(bits)) - U64(1)), U64(0)
    if bits == 64:
        return low, U64(0)
    return low, high & ((U64(1) << U64(bits - 64)) - U64(1))


@inlined
def drawn(x: DrawTables, seed: np.uint64, index: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the number of a sample; see `counting.reachable.drawing.draw_number`."""
    block = U64(1)
    while True:
        first, second, third, fourth = _philox(seed, block, index)
        low, high = _cut(first, second, x.bits)
        if less(low, high, x.size[0], x.size[1]):
            return low, high
        low, high = _cut(third, fourth, x.bits)
        if less(low, high, x.size[0], x.size[1]):
            return low, high
        block += U64(1)


Bits = tuple[np.uint64, np.uint64]
"""A set of cells in a kernel; see `counting.reachable.wide`."""
Placed = tuple[Bits, Bits, int, int, int, int]
"""A position in a kernel; see `placed`."""


@inlined
def _next_place(x: DrawTables, row: int, number: int, rank: np.uint64) -> tuple[int, np.uint64]:
    """Return the last place of a combination of ``number`` places, and the rank of the others."""
    place = I64(x.places[(number << 10) + bucket_of(rank)])
    # The bucket's guess is never too far; mostly right, else nearly always one short.
    first, second = x.binomial[row + place], x.binomial[row + place + 1]
    above = second <= rank
    place, first = place + I64(above), second if above else first
    while x.binomial[row + place + 1] <= rank:
        place += 1
        first = x.binomial[row + place]
    return place, rank - first


@inlined
def open_number(x: DrawTables, low: np.uint64, high: np.uint64, batch: NDArray[np.uint64], entry: int) -> None:
    """Write what a position number says but for the soldiers' cells, and their ranks, to an entry of a batch."""
    batch[_SIDE * BATCH + entry] = low & U64(1)
    if x.tier_shift < 64:
        top = low >> U64(x.tier_shift)
        if x.tier_shift != 0:
            top |= high << U64(64 - x.tier_shift)
    else:
        top = high >> U64(x.tier_shift - 64)
    low, high = (low >> U64(1)) | (high << U64(63)), high >> U64(1)
    tier = last_not_above(x.offset, I64(x.tier_at[I64(top)]), low, high)
    low, high = subtract(low, high, x.offset[2 * tier], x.offset[2 * tier + 1])
    before = advance(x.before, 2 * tier * (x.kings + 1))
    number = I64((np.float64(high) * 2.0**64 + np.float64(low)) * x.king_scale[tier])
    number = last_not_above(before, min(number, x.kings - 1), low, high)
    low, high = subtract(low, high, before[2 * number], before[2 * number + 1])
    attackers, defenders = x.material[2 * tier], x.material[2 * tier + 1]
    at_king = bit_of(x.king_cells[number])
    left = x.cells - defenders - popcount(x.closed[0] | at_king[0]) - popcount(x.closed[1] | at_king[1])
    white_rank, black_rank = quotient(low, high, x.binomial[attackers * (x.cells + 2) + left])
    batch[entry] = black_rank
    batch[BATCH + entry] = white_rank
    batch[_COUNT * BATCH + entry] = U64(attackers)
    batch[(_COUNT + 1) * BATCH + entry] = U64(defenders)
    batch[_KING * BATCH + entry] = U64(number)
    for row in range(_CELLS, _CELLS + 4):
        batch[row * BATCH + entry] = U64(0)


@inlined
def place_soldiers(x: DrawTables, batch: NDArray[np.uint64], count: int) -> None:
    """Turn the ranks of a batch into sets: of cells for defenders, of places among open cells for attackers.

    A combination's places are found one after the other, each from what the last one left. So the batch is gone
    through for each place, and the entries do not wait for one another.
    """
    stride = x.cells + 2
    for kind in range(2):
        ranks, counts = advance(batch, kind * BATCH), advance(batch, (_COUNT + kind) * BATCH)
        cells = advance(batch, (_CELLS + 2 * kind) * BATCH)
        most = I64(0)
        for entry in range(count):
            most = max(most, I64(counts[entry]))
        for number in range(most, 0, -1):
            row = number * stride
            for entry in range(count):
                if I64(counts[entry]) < number:
                    continue
                place, ranks[entry] = _next_place(x, row, number, ranks[entry])
                cell = place
                if kind == 1:
                    cell = I64(x.cell_at[I64(batch[_KING * BATCH + entry]) * x.cells + place])
                low, high = bit_of(cell)
                cells[entry] |= low
                cells[BATCH + entry] |= high


@inlined
def placed(x: DrawTables, batch: NDArray[np.uint64], entry: int) -> Placed:
    """Return the position of an entry of a batch."""
    cells = advance(batch, _CELLS * BATCH + entry)
    white = cells[2 * BATCH], cells[3 * BATCH]
    king = x.king_cells[I64(batch[_KING * BATCH + entry])]
    at_king = bit_of(king)
    black = spread(cells[0], cells[BATCH], x.closed[0] | at_king[0] | white[0], x.closed[1] | at_king[1] | white[1])
    counts = advance(batch, _COUNT * BATCH + entry)
    return black, white, king, I64(batch[_SIDE * BATCH + entry]), I64(counts[0]), I64(counts[BATCH])
