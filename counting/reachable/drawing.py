"""Exactly uniform samples of the counted positions, drawn independently of each other in compiled code.

A *position number* is ``2 * rank + side``, where `tablut.indexing.PlacementIndex` computes the rank and the side is 1
if black is to move. Sample ``i`` with seed ``s`` has a random stream of its own, from the generator Philox-4x64-10 [1]_
with the key ``s`` and the second counter word ``i``. The stream consists of pairs of words (or groups, if a number has
more than 128 bits), truncated to the number of bits of the largest position number. The sample is the first number in
the stream below the size of the space. All numbers are therefore equally probable, and no sample depends on how the
work was divided. `draw_number` uses numpy's implementation of Philox, and `drawn` a compiled one.

In kernels, position numbers have two or four words, and the ranks of soldiers have half as many (`word_count`). The
kernels are compiled separately for each case, according to the type of the argument ``size``. Sets of cells are stored
as two words, the low one first.

References
----------
.. [1] J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3,
   SC'11, https://doi.org/10.1145/2063384.2063405.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from math import comb
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counting.census.codes import add_board
from counting.census.words import (
    Words,
    below,
    bits_of,
    common,
    half_at,
    last_not_above,
    minus,
    put_words,
    quotient,
    real_of,
    shifted,
    table_of,
    times,
    words_at,
)
from tablut.engine import engine_for
from tablut.engine.cells import bit_of, join, set_at, spread
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, popcount
from tablut.engine.kernel_records import flat
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.position import NARROW
from tablut.variants import Variant
from tablut.variants.model import derived


@inlined
def bucket_of(number: Words) -> int:
    """Return a number's bucket, which depends on the number's length and its five leading bits.

    The bucket increases with the number.
    """
    shift = max(bits_of(number) - 5, I64(0))
    return shift * 16 + I64(shifted(number, shift)[0])


# -- tables ------------------------------------------------------------------------------


_TIER_BITS: Final = 11
_BUCKETS: Final = 1024
"""Number of buckets for each word of a rank."""


class DrawTables(NamedTuple):
    """Kernel tables for the counted space. A position number has W words, and a rank of soldiers has W / 2 words.

    - ``cells``, ``kings``, ``tiers``, ``king_bits``: The numbers of cells, of cells for the king, of tiers (placements
      with the same material), and of bits for the king's cell.
    - ``group``, ``mask``: The number of random words for a position number, and a mask with its bits.
    - ``offset``: The first rank of each tier.
    - ``before``: For each tier and king's cell, the number of the tier's placements with the king on an earlier cell.
    - ``material``: The numbers of attackers and defenders in each tier.
    - ``king_cells``, ``closed``: The king's cells in ascending order, and the cells where no attacker may stand.
    - ``binomial``: The binomial coefficient C(n, k) at index ``k * (cells + 2) + n``.
    - ``tier_at``, ``tier_shift``: The tier of the smallest position number with the given highest bits, and the shift
      that turns a position number into these bits.
    - ``king_scale``: For each tier, the number of king's cells divided by the tier's size.
    - ``places``, ``buckets``: At index ``k * buckets + bucket_of(rank)``, the last place of the k-combination with the
      least rank in the bucket.
    - ``cell_at``: At index ``k * cells + place``, the cell of a place if the king is on its ``k``-th cell. For each
      king's cell, the places number the cells that are open to defenders.
    """

    cells: int
    kings: int
    tiers: int
    king_bits: int
    group: int
    mask: NDArray[np.uint64]
    offset: NDArray[np.uint64]
    before: NDArray[np.uint64]
    material: NDArray[np.int64]
    king_cells: NDArray[np.int64]
    closed: NDArray[np.uint64]
    binomial: NDArray[np.uint64]
    tier_shift: int
    tier_at: NDArray[np.int16]
    king_scale: NDArray[np.float64]
    buckets: int
    places: NDArray[np.uint8]
    cell_at: NDArray[np.uint8]


def build_drawing(index: PlacementIndex, words: int) -> DrawTables:
    """Return the tables for drawing samples of an index's variant, with position numbers of ``words`` words."""
    variant, regions, cells = index.variant, index.variant.regions, index.variant.size**2
    most = max(variant.attackers, variant.defenders)
    binomial = [[comb(n, k) for n in range(cells + 2)] for k in range(most + 1)]
    positions = 2 * index.size
    tiers = list(index.tiers.values())
    kings = sorted(regions.king_cells)
    before: list[int] = []
    for tier in tiers:
        before += accumulate((index.ways(king, tier.attackers, tier.defenders) for king in kings), initial=0)
    every = (1 << cells) - 1
    open_cells = sum(1 << cell for cell in regions.soldier_cells)
    bits = (positions - 1).bit_length()
    tier_shift = max(0, bits - _TIER_BITS)
    offsets = [tier.offset for tier in tiers]
    return DrawTables(
        cells=cells,
        kings=len(kings),
        tiers=len(tiers),
        king_bits=(cells - 1).bit_length(),
        group=_group(bits),
        mask=table_of([(1 << bits) - 1], words),
        offset=table_of([*offsets, index.size], words),
        before=table_of(before, words),
        material=np.array([[tier.attackers, tier.defenders] for tier in tiers], dtype=np.int64).ravel(),
        king_cells=np.array(kings, dtype=np.int64),
        closed=table_of([every & ~open_cells], 2),
        binomial=table_of((number for row in binomial for number in row), words // 2),
        tier_shift=tier_shift,
        tier_at=np.array(
            [bisect_right(offsets, (top << tier_shift) >> 1) - 1 for top in range((positions - 1 >> tier_shift) + 1)],
            dtype=np.int16,
        ),
        king_scale=np.array([len(kings) / tier.size if tier.size else 0.0 for tier in tiers]),
        buckets=_BUCKETS * words // 2,
        places=_first_places(binomial, _BUCKETS * words // 2),
        cell_at=_defender_cells(kings, sorted(regions.free_cells), cells),
    )


def word_count(variant: Variant, positions: int) -> int:
    """Return the number of words of a position number in the kernels: 2 or 4.

    With two words, position numbers fit into 127 bits and ranks of soldiers into 63 bits. Four words suffice for every
    board of at most 121 cells.
    """
    soldiers = comb(variant.size**2 + 1, min(max(variant.attackers, variant.defenders), variant.size**2 // 2))
    return 2 if positions < 1 << 127 and soldiers < 1 << 63 else 4


def _group(bits: int) -> int:
    """Return how many random words are drawn for a position number of the given length in bits."""
    return max(2, -(-bits // 64))


def _first_places(binomial: list[list[int]], buckets: int) -> NDArray[np.uint8]:
    """Return `DrawTables.places`."""
    places = np.zeros((len(binomial), buckets), dtype=np.uint8)
    for k, row in enumerate(binomial[1:], 1):
        for bucket in range(buckets):
            shift = max(0, bucket // 16 - 1)
            least = bucket if bucket < 32 else (bucket % 16 + 16) << shift
            places[k, bucket] = max(k - 1, min(bisect_right(row, least) - 1, len(row) - 2))
    return places.ravel()


def _defender_cells(kings: list[int], free: list[int], cells: int) -> NDArray[np.uint8]:
    """Return `DrawTables.cell_at`."""
    by_king = np.zeros((len(kings), cells), dtype=np.uint8)
    for number, king in enumerate(kings):
        left = [cell for cell in free if cell != king]
        by_king[number, : len(left)] = left
    return by_king.ravel()


# -- from a seed to a position number, and from the number to the position ---------------


BATCH: Final = 16
"""Number of positions that are unranked at a time."""
_COUNT: Final = 4
_CELLS: Final = 6
_KING: Final = 10
_SIDE: Final = 11
_STREAM: Final = 12
"""Numbers of the batch's rows, after four rows for ranks. A row has one word for each position of the batch."""
BATCH_WORDS: Final = 13 * BATCH
"""Number of words of a batch."""


@inlined
def _philox(seed: np.uint64, block: np.uint64, index: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the four words of Philox-4x64-10 for the key (seed, 0) and the counter (block, index, 0, 0)."""
    first, second, third, fourth = block, index, U64(0), U64(0)
    key, other_key = seed, U64(0)
    for _ in range(10):
        low, high = times((U64(0xD2E7470EE14C6C93),), (first,))
        other_low, other_high = times((U64(0xCA5A826395121157),), (third,))
        first, second, third, fourth = other_high ^ second ^ key, other_low, high ^ fourth ^ other_key, low
        key += U64(0x9E3779B97F4A7C15)
        other_key += U64(0xBB67AE8584CAA73B)
    return first, second, third, fourth


@inlined
def drawn(draw: DrawTables, size: Words, seed: np.uint64, index: np.uint64, batch: NDArray[np.uint64]) -> Words:
    """Return a sample's position number. `draw_number` returns the same number."""
    stream, mask = advance(batch, _STREAM * BATCH), words_at(draw.mask, 0, size)
    block, held = U64(0), I64(0)
    while True:
        while held < draw.group:
            block += U64(1)
            put_words(advance(stream, held), 0, _philox(seed, block, index))
            held += 4
        number = common(words_at(stream, 0, size), mask)
        if below(number, size):
            return number
        held -= draw.group
        for place in range(held):
            stream[place] = stream[place + draw.group]


Bits = tuple[np.uint64, np.uint64]
"""A set of cells in a kernel, as two words."""
Placed = tuple[Bits, Bits, int, int, int, int]
"""A position in a kernel: attackers, defenders, king's cell, side to move, number of attackers, number of defenders."""


@inlined
def _next_place(places: NDArray[np.uint8], binomial: NDArray[np.uint64], rank: Words) -> tuple[int, Words]:
    """Return the last place of a combination, and the rank of the remaining places."""
    place = I64(places[bucket_of(rank)])
    # The guess for the bucket is never too large. It is usually correct, and otherwise nearly always too small by one.
    first, second = words_at(binomial, place, rank), words_at(binomial, place + 1, rank)
    within = below(rank, second)
    place, first = place + I64(not within), first if within else second
    while not below(rank, words_at(binomial, place + 1, rank)):
        place += 1
        first = words_at(binomial, place, rank)
    return place, minus(rank, first)


@inlined
def open_number(draw: DrawTables, number: Words, batch: NDArray[np.uint64], entry: int) -> None:
    """Decode a position number into an entry of a batch. `place_soldiers` then decodes the soldiers' ranks."""
    batch[_SIDE * BATCH + entry] = number[0] & U64(1)
    guess = I64(draw.tier_at[I64(shifted(number, draw.tier_shift)[0])])
    rank = shifted(number, 1)
    tier = last_not_above(draw.offset, guess, rank)
    rank = minus(rank, words_at(draw.offset, tier, rank))
    before = advance(draw.before, tier * (draw.kings + 1) * len(number))
    guess = min(I64(real_of(rank) * draw.king_scale[tier]), draw.kings - 1)
    place = last_not_above(before, guess, rank)
    attackers, defenders = draw.material[2 * tier], draw.material[2 * tier + 1]
    at_king = bit_of(draw.king_cells[place])
    left = draw.cells - defenders - popcount(draw.closed[0] | at_king[0]) - popcount(draw.closed[1] | at_king[1])
    ways = half_at(draw.binomial, attackers * (draw.cells + 2) + left, number)
    white_rank, black_rank = quotient(minus(rank, words_at(before, place, rank)), ways)
    put_words(batch, entry, black_rank)
    put_words(advance(batch, 2 * BATCH), entry, white_rank)
    batch[_COUNT * BATCH + entry] = U64(attackers)
    batch[(_COUNT + 1) * BATCH + entry] = U64(defenders)
    batch[_KING * BATCH + entry] = U64(place)
    for row in range(_CELLS, _CELLS + 4):
        batch[row * BATCH + entry] = U64(0)


@inlined
def place_soldiers(draw: DrawTables, size: Words, batch: NDArray[np.uint64], count: int) -> None:
    """Turn the ranks in a batch into sets: sets of cells for defenders, and sets of places for attackers.

    The outer loop runs over the places of a combination, because each depends on the previous one, and the inner loop
    over the batch, so that the processor can work on independent entries in parallel.
    """
    for kind in range(2):
        ranks, counts = advance(batch, kind * 2 * BATCH), advance(batch, (_COUNT + kind) * BATCH)
        cells = advance(batch, (_CELLS + 2 * kind) * BATCH)
        most = I64(0)
        for entry in range(count):
            most = max(most, I64(counts[entry]))
        for number in range(most, 0, -1):
            places = advance(draw.places, number * draw.buckets)
            binomial = advance(draw.binomial, number * (draw.cells + 2) * (len(size) // 2))
            for entry in range(count):
                if I64(counts[entry]) < number:
                    continue
                place, rank = _next_place(places, binomial, half_at(ranks, entry, size))
                put_words(ranks, entry, rank)
                cell = place
                if kind == 1:
                    cell = I64(draw.cell_at[I64(batch[_KING * BATCH + entry]) * draw.cells + place])
                low, high = bit_of(cell)
                cells[entry] |= low
                cells[BATCH + entry] |= high


@inlined
def placed(draw: DrawTables, batch: NDArray[np.uint64], entry: int) -> Placed:
    """Return the position that is stored in an entry of a batch."""
    cells = advance(batch, _CELLS * BATCH + entry)
    white = cells[2 * BATCH], cells[3 * BATCH]
    king = draw.king_cells[I64(batch[_KING * BATCH + entry])]
    at_king = bit_of(king)
    black = spread((cells[0], cells[BATCH]), join(join(set_at(draw.closed, 0), at_king), white))
    counts = advance(batch, _COUNT * BATCH + entry)
    return black, white, king, I64(batch[_SIDE * BATCH + entry]), I64(counts[0]), I64(counts[BATCH])


# -- samples -----------------------------------------------------------------------------


GENERATOR: Final = "Philox4x64-10"


def draw_number(size: int, seed: int, index: int) -> int:
    """Return a sample's position number, drawn with numpy's generator."""
    stream = np.random.Philox(key=seed, counter=index << 64)
    bits = (size - 1).bit_length()
    while True:
        words = stream.random_raw(_group(bits))
        if (number := int.from_bytes(words.astype("<u8").tobytes(), "little") & ((1 << bits) - 1)) < size:
            return number


@inlined
def _pack_placed(position: Placed, cells: int, king_bits: int, width: int, row: NDArray[np.uint64]) -> None:
    """Write a position in packed form."""
    black, white, king, side, _, _ = position
    for word in range(width):
        row[word] = U64(0)
    add_board(row, width, 0, black[0], black[1])
    add_board(row, width, cells, white[0], white[1])
    add_board(row, width, 2 * cells, U64(king | (side << king_bits)), U64(0))


@kernel
def _number_rows(tables: DrawTables, size: Words, numbers: NDArray[np.uint64], rows: NDArray[np.uint64]) -> None:
    """Write the packed positions, shape (n, W), with the given position numbers."""
    x = flat(tables)
    width = rows.shape[1]
    scratch = np.empty(BATCH_WORDS, dtype=np.uint64)
    batch = pointer(scratch)
    for done in range(0, len(rows), BATCH):
        count = min(BATCH, len(rows) - done)
        for entry in range(count):
            open_number(x, words_at(pointer(numbers), done + entry, size), batch, entry)
        place_soldiers(x, size, batch, count)
        for entry in range(count):
            row = advance(pointer(rows), (done + entry) * width)
            _pack_placed(placed(x, batch, entry), x.cells, x.king_bits, width, row)
    keep(scratch)


class Drawer:
    """A generator of samples from one variant's counted positions, compiled for boards of at most 11×11."""

    def __init__(self, variant: Variant) -> None:
        self.variant, self._engine = variant, engine_for(variant)
        self._index = PlacementIndex(variant)
        self.size = 2 * self._index.size

    @cached_property
    def size_words(self) -> Words:
        """The number of positions, for kernels."""
        return tuple(table_of([self.size], word_count(self.variant, self.size)))

    @cached_property
    def tables(self) -> DrawTables:
        """The kernel tables."""
        return build_drawing(self._index, len(self.size_words))

    def draw(self, seed: int, first: int, count: int) -> tuple[NDArray[np.uint64], list[int]]:
        """Return samples starting at ``first``: packed positions, uint64 of shape (count, W), and position numbers."""
        numbers = [draw_number(self.size, seed, first + place) for place in range(count)]
        return self.positions(numbers), numbers

    def positions(self, numbers: list[int]) -> NDArray[np.uint64]:
        """Return the packed positions with the given position numbers, uint64 of shape (n, W)."""
        for number in numbers:
            if not 0 <= number < self.size:
                why = f"must be from 0 to {self.size - 1} in {self.variant.name}"
                raise InputError(why, subject=f"position number {number}")
        if self.variant.size > NARROW:
            return self._engine.words(self._index.unrank(number >> 1, "b" if number & 1 else "w") for number in numbers)
        rows = np.empty((len(numbers), self._engine.tables.words), np.uint64)
        _number_rows(self.tables, self.size_words, table_of(numbers, len(self.size_words)), rows)
        return rows


drawer_for = derived(Drawer)
"""Return a variant's sampler. Equal variants share one object."""
