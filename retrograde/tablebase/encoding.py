"""What the arrays of a tier hold: codes and bits as they are stored, their values, and where a position stands.

A code (`tablut.indexing.values`) is stored as it is, in one byte
where all codes of an array fit, in the order of the index: other orders, differences to
neighbours, and predicting one side to move from the other all pack worse
(``docs/tablebases.md`` has the figures).

Aliases, to which no position is ranked, repeat the code before them, which costs nothing.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from retrograde.tablebase.records import TablebaseError
from tablut.indexing.tiers import TierIndex
from tablut.indexing.values import ALIAS_CODE, value_of_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tablut.variants import Variant

_STEP = 1 << 18


class Codes(Protocol):
    """Codes by entry: an array, or what gives one for each range of entries that is asked for."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """``uint16``."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> NDArray[np.uint16]: ...


def slices(length: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive parts."""
    for start in range(0, length, step):
        yield start, min(start + step, length)


def code_histogram(codes: Codes) -> dict[int, int]:
    """Return how often each code occurs; aliases are not counted."""
    counts = np.zeros(ALIAS_CODE + 1, dtype=np.int64)
    for start, stop in slices(len(codes), _STEP):
        part = np.bincount(codes[start:stop])
        counts[: len(part)] += part
    return {int(code): int(counts[code]) for code in np.flatnonzero(counts[:ALIAS_CODE])}


def fill_aliases(codes: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return codes in which each alias repeats the code before it, those at the front the first code."""
    own = codes != ALIAS_CODE
    if own.all():
        return codes
    kept = np.flatnonzero(own)
    if not len(kept):
        return np.zeros_like(codes)
    source = np.zeros(len(codes), dtype=np.int64)
    source[kept] = kept
    np.maximum.accumulate(source, out=source)
    source[: kept[0]] = kept[0]
    return codes[source]


def pack_bits(flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return flags, shape (K, L), as bits, the lowest first, each row filled up to a multiple of 64; shape (K, B)."""
    kings, length = flags.shape
    padded = np.zeros((kings, -(-length // 64) * 64), dtype=np.bool_)
    padded[:, :length] = flags
    return np.packbits(padded, axis=1, bitorder="little")


def unpack_bits(packed: NDArray[np.uint8], length: int) -> NDArray[np.bool_]:
    """Return the flags of bits, the inverse of `pack_bits`."""
    return np.unpackbits(packed, axis=1, bitorder="little", count=length).astype(np.bool_)


def value_table(codes: int, move_limit: int | None = None) -> NDArray[np.int16]:
    """Return the value of each code below ``codes``, see `tablut.indexing.values`."""
    code = np.arange(codes)
    values: NDArray[np.int16] = value_of_code(code).astype(np.int16)
    if move_limit is not None:
        values[(code >> 1) > move_limit] = 0
    return values


# -- the entry of a single position, without compiled code -------------------------------
# The same number as `tablut.indexing.tiers.TierIndex.rank`, from tables made once for each
# king's cell, and from the representatives as the store keeps them: as bits, of
# which those before a place are counted by words of 64.


_Image = tuple[tuple[int, ...], tuple[int, ...]]
"""Under one element, the number of each cell's image among the row soldiers' cells, and the column soldiers', or -1."""


class Ranker:
    """Ranks positions of one tier."""

    def __init__(self, variant: Variant, attackers: int, defenders: int, packed: NDArray[np.uint8]) -> None:
        plain = TierIndex(variant, attackers, defenders)
        self._kings, self._name = plain.kings, f"{attackers}v{defenders}"
        self._row_letter, self._column_letter = ("w", "b") if defenders else ("b", "w")
        self._row_men, self._column_men = plain.row_men, plain.column_men
        cells = variant.size**2
        self._row_number = [-1] * cells
        self._column_number = [-1] * cells
        for numbers, places in ((self._row_number, plain.row_cells), (self._column_number, plain.column_cells)):
            for number, cell in enumerate(places):
                numbers[cell] = number
        most = max(plain.row_men, plain.column_men)
        self._binomial = [tuple(comb(place, k + 1) for place in range(cells)) for k in range(most)]
        self._widths = plain.widths
        # Of the king's representative among the column soldiers' cells; an impossible number if it is none of them.
        self._king_number = [
            self._column_number[king] if self._column_number[king] >= 0 else cells
            for king in self._kings.representatives
        ]
        self._words = packed.view("<u8")
        counts = np.bitwise_count(self._words)
        self._before = np.cumsum(counts, axis=1, dtype=np.int32) - counts
        rows = counts.sum(axis=1, dtype=np.int64)
        self._offsets = [0]
        for count, width in zip(rows.tolist(), self._widths, strict=True):
            self._offsets.append(self._offsets[-1] + count * width)
        self._images: dict[int, tuple[_Image, ...]] = {}

    @property
    def size(self) -> int:
        """Number of entries for one side to move."""
        return self._offsets[-1]

    def rank(self, cells: str) -> int | None:
        """Return the entry of a placement of this material; None if it is no undecided one."""
        king = cells.find("K")
        number = self._kings.orbit.get(king)
        if number is None:
            return None
        images = self._images.get(king)
        if images is None:
            images = self._images[king] = self._find_images(king, number)
        rows, columns = _find(cells, self._row_letter), _find(cells, self._column_letter)
        binomial = self._binomial
        least, chosen = -1, []
        for row_numbers, column_numbers in images:
            places = sorted([row_numbers[cell] for cell in rows])
            if places[0] < 0:
                return None
            combination = 0
            for k, place in enumerate(places):
                combination += binomial[k][place]
            if combination < least or least < 0:
                least, chosen = combination, [(row_numbers, column_numbers)]
            elif combination == least:
                chosen.append((row_numbers, column_numbers))
        word = int(self._words[number, least >> 6])
        if word >> (least & 63) & 1 == 0:
            raise TablebaseError(f"tier {self._name}: its index lacks a class of placements; build the tier again")
        row = int(self._before[number, least >> 6]) + (word & ((1 << (least & 63)) - 1)).bit_count()
        entry = self._offsets[number] + row * self._widths[number]
        if not self._column_men:
            return entry
        column = -1
        for _, column_numbers in chosen:
            taken = [column_numbers[cell] for cell in rows]
            taken.append(self._king_number[number])
            places = []
            for cell in columns:
                place = column_numbers[cell]
                if place < 0:
                    return None
                places.append(place - sum([other < place for other in taken]))
            places.sort()
            rank = 0
            for k, place in enumerate(places):
                rank += binomial[k][place]
            if rank < column or column < 0:
                column = rank
        return entry + column

    def _find_images(self, king: int, number: int) -> tuple[_Image, ...]:
        """Return the number of each cell's image, under every element that takes the king to its representative."""
        group = self._kings.group
        first = group[self._kings.element[king]].table
        found = []
        for element in self._kings.stabilisers[number]:
            table = group[element].table
            images = [table[first[cell]] for cell in range(len(first))]
            found.append(
                (
                    tuple(self._row_number[image] for image in images),
                    tuple(self._column_number[image] for image in images),
                )
            )
        return tuple(found)


def _find(cells: str, letter: str) -> list[int]:
    """Return the places of a letter, ascending."""
    found = []
    place = cells.find(letter)
    while place >= 0:
        found.append(place)
        place = cells.find(letter, place + 1)
    return found
