"""The index of one tier up to symmetry: a numbering of the classes of placements.

A tier is the set of all undecided placements with the same material. Its index is built like that of
`tablut.indexing.placements`, but it numbers classes instead of single placements:

* The king stands on the representative (the least cell) of its orbit. The symmetries
  that fix this cell (its stabiliser) are then applied to the soldiers.
* The *row soldiers* come next: the defenders, or the attackers if there are no defenders. Their
  combinations fall into classes under the king's stabiliser. Each class is represented by its least combination. These
  representatives are numbered and are called *rows*.
* The *column soldiers* are the attackers if there are defenders; otherwise there are none. They stand on any
  combination of the remaining cells. These combinations are the *columns*.

An *entry* is a number that stands for a row and a column. If a row's soldiers are symmetric themselves (the row's
*residual* group is not trivial), some classes occur in several columns. The entry with the least column represents the
class. The other entries are *aliases*: `rank` never returns them. All other classes have exactly one entry.

This module is the plain version, written with Python integers and numpy. This version is used to probe single
positions. `tablut.indexing.tier_kernels` is the compiled version.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, combinations
from math import comb
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symmetry import Symmetry
from tablut.errors import InputError, whole_number
from tablut.indexing.placements import PlacementIndex, unrank_combination
from tablut.position import Position, Side
from tablut.variants import Variant
from tablut.variants.model import derived
from tablut.work.sealed_records import StoreError


class KingOrbits(NamedTuple):
    """The orbits of the king's cells under a group.

    ``orbit`` maps a cell to its orbit number. ``element`` maps a cell to the number of the group element that
    maps it to its orbit's representative. ``stabilisers`` contains the elements that fix each representative.
    """

    group: tuple[Symmetry, ...]
    representatives: tuple[int, ...]
    orbit: dict[int, int]
    element: dict[int, int]
    stabilisers: tuple[tuple[int, ...], ...]


@derived
def king_orbits(variant: Variant, group: tuple[Symmetry, ...]) -> KingOrbits:
    """Return the orbits of the king's cells under a group."""
    representatives: list[int] = []
    orbit: dict[int, int] = {}
    element: dict[int, int] = {}
    for cell in sorted(variant.regions.king_cells):
        images = [symmetry.table[cell] for symmetry in group]
        least = min(images)
        if least == cell:
            representatives.append(cell)
        orbit[cell] = representatives.index(least)
        element[cell] = images.index(least)
    stabilisers = tuple(
        tuple(number for number, symmetry in enumerate(group) if symmetry.table[cell] == cell)
        for cell in representatives
    )
    return KingOrbits(group, tuple(representatives), orbit, element, stabilisers)


_Image = tuple[tuple[int, ...], tuple[int, ...]]
"""Image of each cell under one element.

An image is given by two numbers: its number among the row soldiers' cells, and its number among the column
soldiers' cells. A number is -1 if the image is not one of these cells.
"""


def packed_rows(flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return `TierIndex.representatives` in the form of `TierIndex.packed`."""
    padded = np.zeros((len(flags), -(-flags.shape[1] // 64) * 64), dtype=np.bool_)
    padded[:, : flags.shape[1]] = flags
    return np.packbits(padded, axis=1, bitorder="little")


class TierIndex:
    """The index of one tier: a bijection between its classes and its entries, not including aliases."""

    def __init__(
        self,
        variant: Variant,
        attackers: int,
        defenders: int,
        group: Sequence[Symmetry] | None = None,
        packed: NDArray[np.uint8] | None = None,
    ) -> None:
        if not (1 <= attackers <= variant.attackers and 0 <= defenders <= variant.defenders):
            raise InputError(
                (f"{variant.name} has 1 to {variant.attackers} attackers and up to {variant.defenders} defenders"),
                subject=f"tier {attackers}v{defenders}",
            )
        self.variant = variant
        self.attackers, self.defenders = attackers, defenders
        self.kings = king_orbits(variant, tuple(group if group is not None else variant.symmetries))
        free = tuple(sorted(variant.regions.free_cells))
        everywhere = tuple(sorted(variant.regions.soldier_cells))
        self._row_letter, self._column_letter = ("w", "b") if defenders else ("b", "w")
        self.row_men, self.column_men = (defenders, attackers) if defenders else (attackers, 0)
        self.row_cells = free if defenders else everywhere
        self.column_cells = everywhere if defenders else free
        self._packed = packed
        self._images: dict[int, tuple[_Image, ...]] = {}

    @property
    def combinations(self) -> int:
        """Number of combinations of a king's cell, up to symmetry, and row soldiers."""
        return self.row_space * len(self.kings.representatives)

    @cached_property
    def row_space(self) -> int:
        """Number of combinations of the row soldiers, including those with a soldier on the king's cell."""
        return comb(len(self.row_cells), self.row_men)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Number of columns in a row, for each orbit of the king's cell."""
        return tuple(
            comb(len(self.column_cells) - (king in self.column_cells) - self.row_men, self.column_men)
            if self.column_men
            else 1
            for king in self.kings.representatives
        )

    @cached_property
    def representatives(self) -> NDArray[np.bool_]:
        """Whether each combination of the row soldiers is the least of its class, for each orbit of the king's cell.

        The shape is (K, L) for K orbits and L combinations.
        """
        return np.unpackbits(self.packed, axis=1, bitorder="little", count=self.row_space).astype(np.bool_)

    @cached_property
    def packed(self) -> NDArray[np.uint8]:
        """`representatives` as bits, the lowest first, with shape (K, B).

        Each orbit is padded to a multiple of 64 bits.
        """
        return packed_rows(self._find_representatives()) if self._packed is None else self._packed

    @cached_property
    def _words(self) -> NDArray[np.uint64]:
        return self.packed.view("<u8")

    @cached_property
    def _before(self) -> NDArray[np.int32]:
        """Number of rows before each word of bits, for each orbit of the king's cell."""
        counts = np.bitwise_count(self._words)
        return np.cumsum(counts, axis=1, dtype=np.int32) - counts

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """First entry of each orbit of the king's cell, followed by the total number of entries."""
        counts = np.bitwise_count(self._words).sum(axis=1, dtype=np.int64)
        return tuple(accumulate(map(mul, counts.tolist(), self.widths), initial=0))

    @property
    def size(self) -> int:
        """Number of entries for one side to move, including aliases."""
        return self.offsets[-1]

    @cached_property
    def positions(self) -> int:
        """Number of placements with this material, without reduction by symmetry.

        The bound is the sum of these numbers over all tiers.
        """
        index = PlacementIndex(self.variant)
        return sum(index.ways(king, self.attackers, self.defenders) for king in self.kings.orbit)

    def rank(self, position: Position) -> int:
        """Return the entry of a position's class. The side to move is ignored."""
        cells = position.cells
        if len(cells) != self.variant.size**2 or position.material != (self.attackers, self.defenders):
            raise InputError(f"is not of tier {self.attackers}v{self.defenders}", subject=f"position '{position}'")
        entry = self.entry(cells)
        if entry is None:
            raise InputError(f"is not an undecided placement of {self.variant.name}", subject=f"position '{position}'")
        return entry

    def entry(self, cells: str) -> int | None:
        """Return the entry of a placement with this material, or None if the placement is not undecided.

        Tables of images are built once for each cell where the king may stand. A row's number is found by
        counting bits, using the counts stored for each 64-bit word.
        """
        king = cells.find("K")
        number = self.kings.orbit.get(king)
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
                least, chosen = combination, [column_numbers]
            elif combination == least:
                chosen.append(column_numbers)
        word = int(self._words[number, least >> 6])
        if word >> (least & 63) & 1 == 0:
            name = f"{self.attackers}v{self.defenders}"
            raise StoreError(
                "its index lacks a class of placements", subject=f"tier {name}", remedy="build the tier again"
            )
        row = int(self._before[number, least >> 6]) + (word & ((1 << (least & 63)) - 1)).bit_count()
        entry = self.offsets[number] + row * self.widths[number]
        if not self.column_men:
            return entry
        column = -1
        for column_numbers in chosen:
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

    @cached_property
    def _binomial(self) -> list[tuple[int, ...]]:
        cells = self.variant.size**2
        return [tuple(comb(place, k + 1) for place in range(cells)) for k in range(max(self.row_men, self.column_men))]

    @cached_property
    def _king_number(self) -> list[int]:
        """Number of each orbit's representative among the column soldiers' cells, or N² if it is not one of them."""
        numbers = {cell: number for number, cell in enumerate(self.column_cells)}
        return [numbers.get(king, self.variant.size**2) for king in self.kings.representatives]

    def _find_images(self, king: int, number: int) -> tuple[_Image, ...]:
        """Return the images of all cells under each element that maps the king to its orbit's representative."""
        group = self.kings.group
        rows, columns = (
            {cell: number for number, cell in enumerate(cells)} for cells in (self.row_cells, self.column_cells)
        )
        found = []
        for element in self.kings.stabilisers[number]:
            images = [group[element].table[image] for image in group[self.kings.element[king]].table]
            row_numbers, column_numbers = (tuple(places.get(cell, -1) for cell in images) for places in (rows, columns))
            found.append((row_numbers, column_numbers))
        return tuple(found)

    def unrank(self, entry: int, side: Side) -> Position:
        """Return an entry's placement, with a given side to move. An alias is unranked like any other entry."""
        entry = whole_number("entry", entry, most=self.size - 1)
        number = next(king for king in range(len(self.widths)) if entry < self.offsets[king + 1])
        row, column = divmod(entry - self.offsets[number], self.widths[number])
        combination = int(np.flatnonzero(self.representatives[number])[row])
        image = [self.row_cells[place] for place in unrank_combination(combination, self.row_men)]
        cells = ["."] * self.variant.size**2
        cells[self.kings.representatives[number]] = "K"
        for cell in image:
            cells[cell] = self._row_letter
        left = self._open(number, image)
        for place in unrank_combination(column, self.column_men):
            cells[left[place]] = self._column_letter
        return Position("".join(cells), side)

    def _open(self, number: int, soldiers: Sequence[int]) -> list[int]:
        """Return the cells where column soldiers can stand, given the king's orbit and the row soldiers."""
        taken = {self.kings.representatives[number], *soldiers}
        return [cell for cell in self.column_cells if cell not in taken]

    def _find_representatives(self) -> NDArray[np.bool_]:
        places = np.array(list(combinations(range(len(self.row_cells)), self.row_men)), dtype=np.int64)
        # itertools orders combinations by their first place, whereas the combinatorial number system orders them by
        # their last place.
        places = places[np.lexsort(places.T)]
        powers = np.array(
            [[comb(place, k) for k in range(1, self.row_men + 1)] for place in range(len(self.row_cells))],
            dtype=np.int64,
        )
        order = np.arange(self.row_men)
        cells = np.array(self.row_cells)
        number_of = np.full(self.variant.size**2, -1)
        number_of[cells] = np.arange(len(cells))
        own = np.arange(len(places))
        least = np.ones((len(self.widths), len(places)), dtype=np.bool_)
        for number, king in enumerate(self.kings.representatives):
            least[number] = ~(cells[places] == king).any(axis=1)
            for element in self.kings.stabilisers[number]:
                table = np.array(self.kings.group[element].table)
                images = np.sort(number_of[table[cells[places]]], axis=1)
                least[number] &= own <= powers[images, order].sum(axis=1)
        return least


def _find(cells: str, letter: str) -> list[int]:
    """Return the indices where a letter occurs in a text, in ascending order."""
    found = []
    place = cells.find(letter)
    while place >= 0:
        found.append(place)
        place = cells.find(letter, place + 1)
    return found


@lru_cache(maxsize=256)
def tier_index(
    variant: Variant, attackers: int, defenders: int, group: tuple[Symmetry, ...] | None = None
) -> TierIndex:
    """Return the index of a tier. By default, the group consists of all symmetries of the rules.

    The 256 most recently used indices are cached.
    """
    return TierIndex(variant, attackers, defenders, group)
