"""Exactly uniform samples of the counted positions, drawn independently of each other in compiled code.

A *position number* is ``2 * rank + side``. The rank is computed by `tablut.indexing.PlacementIndex`. The side is 0 if
white is to move and 1 if black is to move. Every sample has a separate random stream and can be drawn again without the
others. The stream of sample ``i`` with seed ``s`` comes from the generator Philox-4x64-10 [1]_ with the key ``s`` and
the second counter word ``i``. The stream consists of pairs of words, each truncated to the number of bits of the
largest position number. If this number has more than 128 bits, as on 11×11 boards, the stream consists of groups of as
many words as this number needs. The sample is the first number in the stream below the size of the space. All numbers
are therefore equally probable, and no sample depends on how the work was divided. `draw_number` uses numpy's
implementation of Philox. `drawn` is a compiled version for samples that are tested only by the lemmas. Both return the
same numbers. Numbers that do not fit into 127 bits are drawn and unranked in Python (`LargeSpace`).

Numbers and sets of 128 bits are stored as two words (uint64), the low one first. See `tablut.engine.jit` for the types.

References
----------
.. [1] J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3,
   SC'11, https://doi.org/10.1145/2063384.2063405.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counting.census.codes import (
    add_board,
    halves,
    last_not_above,
    less,
    quotient,
    subtract,
    wide_product,
)
from tablut.engine import engine_for
from tablut.engine.cells import bit_of, join, set_at, spread
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, leading_zeros, pointer, popcount
from tablut.engine.records import flat
from tablut.errors import InputError, VariantError
from tablut.indexing import PlacementIndex
from tablut.position import NARROW, square_name
from tablut.variants import Variant


@inlined
def bucket_of(value: Any) -> int:
    """Return a word's bucket, which is determined by the word's length and its five leading bits.

    The bucket number increases with the word.
    """
    shift = 59 - leading_zeros(value | U64(16))
    return shift * 16 + I64(value >> U64(shift))


# -- tables ------------------------------------------------------------------------------


_WORD: Final = (1 << 64) - 1
_TIER_BITS: Final = 11
_BUCKETS: Final = 1024


class DrawTables(NamedTuple):
    """Kernel tables for the counted space. A 128-bit number is stored as two words, the low one first.

    Attributes
    ----------
    cells, kings, tiers, king_bits : int
        The number of cells, the number of cells for the king, the number of tiers, and the number of bits for the
        king's cell. A tier consists of all placements with the same material.
    size, mask : ndarray of uint64, shape (2,)
        The number of positions, and a mask with the bits of a position number.
    offset : ndarray of uint64, shape (tiers + 1, 2)
        The first rank of each tier.
    before : ndarray of uint64, shape (tiers * (kings + 1), 2)
        For each tier and each king's cell, the number of the tier's placements with the king on an earlier cell.
    material : ndarray of int64, shape (2 * tiers,)
        The numbers of attackers and defenders in each tier.
    king_cells : ndarray of int64, shape (kings,)
        The cells on which the king may stand, in ascending order.
    closed : ndarray of uint64, shape (2,)
        The cells on which no attacker may stand.
    binomial : ndarray of uint64, flat
        The binomial coefficient C(n, k) at index ``k * (cells + 2) + n``.
    tier_shift : int
        The shift that turns a position number into an index of ``tier_at``.
    tier_at : ndarray of int16, flat
        The tier of the smallest position number with the given highest bits.
    king_scale : ndarray of float64, shape (tiers,)
        For each tier, the number of king's cells divided by the tier's size.
    places : ndarray of uint8, flat
        At index ``k * 1024 + bucket_of(rank)``, the last place of the k-combination with the least rank in the bucket.
    cell_at : ndarray of uint8, shape (kings * cells,)
        At index ``k * cells + place``, the cell of a place if the king is on its ``k``-th cell. For each king's cell,
        the places number the cells that are open to defenders.
    """

    cells: int
    kings: int
    tiers: int
    king_bits: int
    size: NDArray[np.uint64]
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
    places: NDArray[np.uint8]
    cell_at: NDArray[np.uint8]


def build_drawing(variant: Variant) -> DrawTables:
    """Return the tables for drawing samples of a variant. The variant must be narrow (see `is_narrow`)."""
    index, regions, cells = PlacementIndex(variant), variant.regions, variant.size**2
    most = max(variant.attackers, variant.defenders)
    binomial = [[comb(n, k) for n in range(cells + 2)] for k in range(most + 1)]
    positions = 2 * index.size
    tiers = list(index.tiers.values())
    kings = sorted(regions.king_cells)
    before: list[int] = []
    for tier in tiers:
        before += accumulate((index.ways(king, tier.attackers, tier.defenders) for king in kings), initial=0)
    every = (1 << cells) - 1
    open_cells = sum(1 << cell for cell in regions.free_cells | regions.camp_cells)
    bits = (positions - 1).bit_length()
    tier_shift = max(0, bits - _TIER_BITS)
    offsets = [tier.offset for tier in tiers]
    return DrawTables(
        cells=cells,
        kings=len(kings),
        tiers=len(tiers),
        king_bits=(cells - 1).bit_length(),
        size=halves([positions]),
        mask=halves([(1 << bits) - 1]),
        offset=halves([*offsets, index.size]),
        before=halves(before),
        material=np.array([[tier.attackers, tier.defenders] for tier in tiers], dtype=np.int64).ravel(),
        king_cells=np.array(kings, dtype=np.int64),
        closed=halves([every & ~open_cells]),
        binomial=np.array(binomial, dtype=np.uint64).ravel(),
        tier_shift=tier_shift,
        tier_at=np.array(
            [bisect_right(offsets, (top << tier_shift) >> 1) - 1 for top in range((positions - 1 >> tier_shift) + 1)],
            dtype=np.int16,
        ),
        king_scale=np.array([len(kings) / tier.size if tier.size else 0.0 for tier in tiers]),
        places=_first_places(binomial),
        cell_at=_defender_cells(kings, sorted(regions.free_cells), cells),
    )


def check_board(variant: Variant) -> None:
    """Raise an error if a board has too many cells for the cell sets of `tablut.engine.cells`."""
    if variant.size > NARROW:
        cell = square_name(variant.size**2 - 1, variant.size)
        raise VariantError(
            f"field 'terrain': the search for a game backwards supports boards up to {NARROW}×{NARROW}, without {cell}",
            subject=f"variant {variant.name!r}",
            remedy="choose a smaller board",
        )


def is_narrow(variant: Variant) -> bool:
    """Return whether position numbers fit into 127 bits and ranks of soldiers into 63 bits, as the kernels require."""
    soldiers = comb(variant.size**2 + 1, min(max(variant.attackers, variant.defenders), variant.size**2 // 2))
    return PlacementIndex(variant).size < 1 << 126 and soldiers < 1 << 63


def _first_places(binomial: list[list[int]]) -> NDArray[np.uint8]:
    """Return `DrawTables.places`."""
    places = np.zeros((len(binomial), _BUCKETS), dtype=np.uint8)
    for k, row in enumerate(binomial[1:], 1):
        for bucket in range(_BUCKETS):
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
BATCH_ROWS: Final = 10
"""Number of words for each position of a batch.

These words contain the ranks of attackers and defenders, the numbers of attackers and defenders, two sets of cells (two
words each), the king's cell and the side to move.
"""

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
def drawn(draw: DrawTables, seed: np.uint64, index: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return a sample's position number. `draw_number` returns the same number."""
    block = U64(1)
    while True:
        first, second, third, fourth = _philox(seed, block, index)
        low, high = first & draw.mask[0], second & draw.mask[1]
        if less(low, high, draw.size[0], draw.size[1]):
            return low, high
        low, high = third & draw.mask[0], fourth & draw.mask[1]
        if less(low, high, draw.size[0], draw.size[1]):
            return low, high
        block += U64(1)


Bits = tuple[np.uint64, np.uint64]
"""A set of cells in a kernel, as two words."""
Placed = tuple[Bits, Bits, int, int, int, int]
"""A position in a kernel: attackers, defenders, king's cell, side to move, number of attackers, number of defenders."""


@inlined
def _next_place(draw: DrawTables, row: int, number: int, rank: np.uint64) -> tuple[int, np.uint64]:
    """Return the last place of a combination of ``number`` places, and the rank of the remaining places."""
    place = I64(draw.places[(number << 10) + bucket_of(rank)])
    # The guess for the bucket is never too large. It is usually correct, and otherwise nearly always too small by one.
    first, second = draw.binomial[row + place], draw.binomial[row + place + 1]
    above = second <= rank
    place, first = place + I64(above), second if above else first
    while draw.binomial[row + place + 1] <= rank:
        place += 1
        first = draw.binomial[row + place]
    return place, rank - first


@inlined
def open_number(draw: DrawTables, low: np.uint64, high: np.uint64, batch: NDArray[np.uint64], entry: int) -> None:
    """Decode a position number into an entry of a batch. `place_soldiers` then decodes the soldiers' ranks."""
    batch[_SIDE * BATCH + entry] = low & U64(1)
    if draw.tier_shift < 64:
        top = low >> U64(draw.tier_shift)
        if draw.tier_shift != 0:
            top |= high << U64(64 - draw.tier_shift)
    else:
        top = high >> U64(draw.tier_shift - 64)
    low, high = (low >> U64(1)) | (high << U64(63)), high >> U64(1)
    tier = last_not_above(draw.offset, I64(draw.tier_at[I64(top)]), low, high)
    low, high = subtract(low, high, draw.offset[2 * tier], draw.offset[2 * tier + 1])
    before = advance(draw.before, 2 * tier * (draw.kings + 1))
    number = I64((np.float64(high) * 2.0**64 + np.float64(low)) * draw.king_scale[tier])
    number = last_not_above(before, min(number, draw.kings - 1), low, high)
    low, high = subtract(low, high, before[2 * number], before[2 * number + 1])
    attackers, defenders = draw.material[2 * tier], draw.material[2 * tier + 1]
    at_king = bit_of(draw.king_cells[number])
    left = draw.cells - defenders - popcount(draw.closed[0] | at_king[0]) - popcount(draw.closed[1] | at_king[1])
    white_rank, black_rank = quotient(low, high, draw.binomial[attackers * (draw.cells + 2) + left])
    batch[entry] = black_rank
    batch[BATCH + entry] = white_rank
    batch[_COUNT * BATCH + entry] = U64(attackers)
    batch[(_COUNT + 1) * BATCH + entry] = U64(defenders)
    batch[_KING * BATCH + entry] = U64(number)
    for row in range(_CELLS, _CELLS + 4):
        batch[row * BATCH + entry] = U64(0)


@inlined
def place_soldiers(draw: DrawTables, batch: NDArray[np.uint64], count: int) -> None:
    """Turn the ranks in a batch into sets: sets of cells for defenders, and sets of places for attackers.

    An attacker's place is a number among the cells that are open to attackers. Each place of a combination depends on
    the previous one. The outer loop therefore runs over the places and the inner loop over the batch, so that the
    processor can work on independent entries in parallel.
    """
    stride = draw.cells + 2
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
                place, ranks[entry] = _next_place(draw, row, number, ranks[entry])
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
        words = stream.random_raw(max(2, -(-bits // 64)))
        if (number := int.from_bytes(words.astype("<u8").tobytes(), "little") & ((1 << bits) - 1)) < size:
            return number


class LargeSpace:
    """Conversion of position numbers to positions, for a space that is too large for the kernels."""

    def __init__(self, variant: Variant) -> None:
        index, regions = PlacementIndex(variant), variant.regions
        self._tiers, self._kings = list(index.tiers.values()), sorted(regions.king_cells)
        self._offsets = [tier.offset for tier in self._tiers]
        self._before = [
            list(accumulate((index.ways(king, *tier[:2]) for king in self._kings), initial=0)) for tier in self._tiers
        ]
        self._free, self._all = sorted(regions.free_cells), sorted(regions.free_cells | regions.camp_cells)
        places = range(variant.size**2 + 1)
        most = max(variant.attackers, variant.defenders)
        self._binomial = [[comb(place, number) for place in places] for number in range(most + 1)]

    def rows(self, numbers: list[int]) -> NDArray[np.uint64]:
        """Return the positions with the given numbers, as rows for `placed_row` (uint64, shape (n, `PLACED`))."""
        return np.array([self._row(number) for number in numbers], dtype=np.uint64).reshape(-1, PLACED)

    def _row(self, number: int) -> list[int]:
        rank, side = divmod(number, 2)
        at = bisect_right(self._offsets, rank) - 1
        (attackers, defenders, offset, _), before = self._tiers[at], self._before[at]
        rank -= offset
        place = bisect_right(before, rank) - 1
        king = self._kings[place]
        every, free = ([cell for cell in cells if cell != king] for cells in (self._all, self._free))
        white_rank, black_rank = divmod(rank - before[place], self._binomial[attackers][len(every) - defenders])
        white = self._chosen(free, defenders, white_rank)
        black = self._chosen([cell for cell in every if not white >> cell & 1], attackers, black_rank)
        words = [cells >> shift & _WORD for cells in (black, white) for shift in (0, 64)]
        return [*words, king, side, attackers, defenders]

    def _chosen(self, cells: list[int], count: int, rank: int) -> int:
        """Return the combination of cells with the given rank, as a bit set."""
        chosen = 0
        for number in range(count, 0, -1):
            row = self._binomial[number]
            place = bisect_right(row, rank) - 1
            rank -= row[place]
            chosen |= 1 << cells[place]
        return chosen


PLACED: Final = 8
"""Number of words in a row for `placed_row`."""


@inlined
def placed_row(row: NDArray[np.uint64]) -> Placed:
    """Return the position that a row from `LargeSpace.rows` describes."""
    return (row[0], row[1]), (row[2], row[3]), I64(row[4]), I64(row[5]), I64(row[6]), I64(row[7])


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
def _pack_rows(placements: NDArray[np.uint64], cells: int, king_bits: int, rows: NDArray[np.uint64]) -> None:
    """Convert the rows from `LargeSpace.rows` to packed positions, shape (n, W)."""
    width = rows.shape[1]
    for number in range(len(rows)):
        position = placed_row(advance(pointer(placements), number * PLACED))
        _pack_placed(position, cells, king_bits, width, advance(pointer(rows), number * width))


@kernel
def _number_rows(tables: DrawTables, numbers: NDArray[np.uint64], rows: NDArray[np.uint64]) -> None:
    """Write the packed positions, shape (n, W), with the given position numbers, shape (n, 2)."""
    x = flat(tables)
    width = rows.shape[1]
    scratch = np.empty(BATCH_ROWS * BATCH, dtype=np.uint64)
    batch = pointer(scratch)
    for done in range(0, len(rows), BATCH):
        count = min(BATCH, len(rows) - done)
        for entry in range(count):
            open_number(x, numbers[done + entry, 0], numbers[done + entry, 1], batch, entry)
        place_soldiers(x, batch, count)
        for entry in range(count):
            row = advance(pointer(rows), (done + entry) * width)
            _pack_placed(placed(x, batch, entry), x.cells, x.king_bits, width, row)
    keep(scratch)


class Drawer:
    """A generator of samples from one variant's counted positions."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        check_board(variant)
        self.narrow = is_narrow(variant)
        self.size = 2 * PlacementIndex(variant).size
        self.words = engine_for(variant).tables.words

    @cached_property
    def tables(self) -> DrawTables:
        """The kernel tables. The space must be `narrow`."""
        return build_drawing(self.variant)

    @cached_property
    def large(self) -> LargeSpace:
        """The conversion of numbers to positions, for a space that is not `narrow`."""
        return LargeSpace(self.variant)

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
        rows = np.empty((len(numbers), self.words), np.uint64)
        if self.narrow:
            _number_rows(self.tables, halves(numbers).reshape(-1, 2), rows)
        else:
            cells = self.variant.size**2
            _pack_rows(self.large.rows(numbers), cells, (cells - 1).bit_length(), rows)
        return rows


@lru_cache(maxsize=16)
def drawer_for(variant: Variant) -> Drawer:
    """Return a variant's sampler. Equal variants share one object."""
    return Drawer(variant)
