"""The tables that kernels use to index tiers up to symmetry and to read stored values.

The tables contain the index of `tablut.indexing.tiers` in a form for compiled code. `tablut.indexing.tiers` also
defines rows, columns and entries. An *element* is an element of the symmetry group. One record contains the tables of
several tiers, because captures lead from one tier to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symmetry import Symmetry
from tablut.engine.jit import I64, inlined, items_at, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.layout import cells_dtype
from tablut.errors import InputError
from tablut.indexing import values
from tablut.indexing.tiers import KingOrbits, TierIndex, king_orbits
from tablut.variants import Variant

_LIMIT = 1 << 62
"""Cap on the binomial coefficients that ranks are computed from. `tier_tables` checks that no rank reaches it."""


# -- combinations in the combinatorial number system, as ascending lists of places ----------


# `tablut.indexing.placements.rank_combination` and `unrank_combination` are the plain Python versions. The binomial
# coefficient C(n, k) is read from a table at index ``n * most + k``. For sets of cells, see `tablut.engine.cells`.


@inlined
def sort_in(values: NDArray[np.int64], count: int, value: int) -> None:
    """Insert a value into an ascending list of ``count`` values. This takes O(count) time."""
    at = count
    while at > 0 and values[at - 1] > value:
        values[at] = values[at - 1]
        at -= 1
    values[at] = value


@inlined
def rank_places(binomial: NDArray[np.int64], most: int, places: NDArray[np.int64], count: int) -> int:
    """Return the rank of a combination given as ascending places. This takes O(count) time."""
    total = I64(0)
    for k in range(count):
        total += binomial[places[k] * most + k + 1]
    return int(total)


@inlined
def unrank_places(
    binomial: NDArray[np.int64], most: int, rank: int, count: int, above: int, places: NDArray[np.int64]
) -> None:
    """Write the combination with a given rank as ascending places below ``above``. This takes O(above) time."""
    place = I64(above)
    for k in range(count, 0, -1):
        place -= 1
        while binomial[place * most + k] > rank:
            place -= 1
        rank -= binomial[place * most + k]
        places[k - 1] = place


@inlined
def next_places(places: NDArray[np.int64], first: int, count: int) -> None:
    """Replace a combination with the next one, without changing the places before index ``first``.

    The first place at or after index ``first`` that can move up moves up by one. The places between index ``first`` and
    this place return to their lowest positions. After the last combination, the result is not a valid combination.
    """
    k = I64(first)
    while k + 1 < count and places[k] + 1 == places[k + 1]:
        places[k] = k
        k += 1
    if k < count:
        places[k] += 1


# -- the tables -----------------------------------------------------------------------------


class SquareTables(NamedTuple):
    """Tables that all tiers share, for C cells and K orbits of the king's cells.

    Kind 0 stands for attackers and kind 1 for defenders. Cells are stored as uint8, or as uint16 on wide boards (see
    `tablut.engine.layout.cells_dtype`).

    - ``cells``, ``kings``, ``most``, ``elements``: C, K, the length of a row of ``binomial``, and the group order.
    - ``binomial``: At index ``n * most + k``: the binomial coefficient C(n, k).
    - ``place``: At index ``kind * C + cell``: the cell's number among the cells where this kind may stand, or -1.
    - ``spot``: At index ``kind * C + number``: the cell with this number. This is the inverse of ``place``.
    - ``image``: At index ``element * C + cell``: the cell's image.
    - ``compose``: At index ``second * 8 + first``: the element that applies ``first``, then ``second``.
    - ``king``: For each cell, the number of its orbit, or -1 if the king of an undecided position cannot stand on the
      cell.
    - ``to_king``: For each cell of the king, the element that maps the cell to the representative of its orbit.
    - ``representative``: The representative cell of each orbit.
    - ``king_place``: The number of each representative among the attackers' cells, or -1.
    """

    cells: int
    kings: int
    most: int
    elements: int
    binomial: NDArray[np.int64]
    place: NDArray[np.int16]
    spot: NDArray[np.uint8]
    image: NDArray[np.uint8]
    compose: NDArray[np.uint8]
    king: NDArray[np.int16]
    to_king: NDArray[np.uint8]
    representative: NDArray[np.uint8]
    king_place: NDArray[np.int16]


class TierNumbers(NamedTuple):
    """Sizes and offsets of T tiers, and of their parts for the K orbits of the king's cells.

    - ``most_attackers``, ``most_defenders``: Largest numbers of attackers and defenders in the tiers.
    - ``number``: At index ``attackers * (most_defenders + 1) + defenders``: the tier number, or -1.
    - ``attackers``, ``defenders``: Material of each tier.
    - ``row_kind``, ``row_men``, ``column_men``: Kind of the row soldiers (0 attackers, 1 defenders), their number, and
      the number of column soldiers.
    - ``row_space``: Number of combinations of the row soldiers.
    - ``rows_at``, ``meta_at``: Offsets of each tier's part in the arrays of `RowTables`. ``rows_at`` is the offset in
      ``number`` and ``element``, and ``meta_at`` is the offset in ``combination`` and ``residual``.
    - ``size``: Number of entries for one side to move.
    - ``base``, ``width``: For each tier and king's orbit, the first entry and the number of columns in a row.
    - ``first_row``, ``row_count``: For each tier and king's orbit, the number of the first row within the tier, and the
      number of rows.
    """

    most_attackers: int
    most_defenders: int
    number: NDArray[np.int32]
    attackers: NDArray[np.int64]
    defenders: NDArray[np.int64]
    row_kind: NDArray[np.int64]
    row_men: NDArray[np.int64]
    column_men: NDArray[np.int64]
    row_space: NDArray[np.int64]
    rows_at: NDArray[np.int64]
    meta_at: NDArray[np.int64]
    size: NDArray[np.int64]
    base: NDArray[np.int64]
    width: NDArray[np.int64]
    first_row: NDArray[np.int64]
    row_count: NDArray[np.int64]


class RowTables(NamedTuple):
    """The rows of all tiers, in two pairs of arrays.

    ``number`` and ``element`` are indexed by the king's orbit and the row soldiers' combination. These arrays
    contain the row of the combination's class (or -1), and the element that maps the combination to its representative.
    ``combination`` and ``residual`` are indexed by row. These arrays contain the representative, and the set of
    elements that fix it.
    """

    number: NDArray[np.int32]
    element: NDArray[np.uint8]
    combination: NDArray[np.int32]
    residual: NDArray[np.uint8]


class TierTables(NamedTuple):
    """The index of several tiers, as tables for use in kernels."""

    square: SquareTables
    tier: TierNumbers
    row: RowTables


def tier_tables(
    variant: Variant, materials: Sequence[tuple[int, int]], group: Sequence[Symmetry] | None = None
) -> TierTables:
    """Build the tables for the tiers with the given materials. By default, all symmetries are used."""
    elements = tuple(group if group is not None else variant.symmetries)
    orbits = king_orbits(variant, elements)
    indices = [TierIndex(variant, *material, group=elements) for material in materials]
    for index in indices:
        entries = max(index.widths) * index.row_space * len(orbits.representatives)
        if index.row_space >= 1 << 31 or entries >= _LIMIT:
            raise InputError(
                "is too large to be indexed", subject=f"tier {index.attackers}v{index.defenders} of {variant.name}"
            )
    square = _square_tables(variant, orbits, 1 + max(max(index.row_men, index.column_men) for index in indices))
    found = [_rows(index, square) for index in indices]
    rows = RowTables(
        number=np.concatenate([part.number for part in found]),
        element=np.concatenate([part.element for part in found]),
        combination=np.concatenate([part.combination for part in found]),
        residual=np.concatenate([part.residual for part in found]),
    )
    return TierTables(square, _tier_numbers(variant, indices, found), rows)


def _square_tables(variant: Variant, orbits: KingOrbits, most: int) -> SquareTables:
    cells, elements = variant.size**2, orbits.group
    soldiers = (sorted(variant.regions.soldier_cells), sorted(variant.regions.free_cells))
    place = np.full((2, cells), -1, dtype=np.int16)
    cell_type = cells_dtype(variant.size)
    spot = np.zeros((2, cells), dtype=cell_type)
    for kind in (0, 1):
        place[kind, soldiers[kind]] = np.arange(len(soldiers[kind]))
        spot[kind, : len(soldiers[kind])] = soldiers[kind]
    image = np.zeros((8, cells), dtype=cell_type)
    compose = np.zeros((8, 8), dtype=np.uint8)
    number = {symmetry.table: count for count, symmetry in enumerate(elements)}
    for first, symmetry in enumerate(elements):
        image[first] = symmetry.table
        for second, other in enumerate(elements):
            compose[second, first] = number[tuple(other.table[cell] for cell in symmetry.table)]
    king = np.full(cells, -1, dtype=np.int16)
    to_king = np.zeros(cells, dtype=np.uint8)
    for cell, orbit in orbits.orbit.items():
        king[cell], to_king[cell] = orbit, orbits.element[cell]
    # Larger binomial coefficients are capped at the limit, which no rank of these tiers reaches.
    binomial = np.array([[min(comb(n, k), _LIMIT) for k in range(most)] for n in range(cells + 1)], dtype=np.int64)
    return SquareTables(
        cells=cells,
        kings=len(orbits.representatives),
        most=most,
        elements=len(elements),
        binomial=binomial.ravel(),
        place=place.ravel(),
        spot=spot.ravel(),
        image=image.ravel(),
        compose=compose.ravel(),
        king=king,
        to_king=to_king,
        representative=np.array(orbits.representatives, dtype=cell_type),
        king_place=place[0, list(orbits.representatives)],
    )


def _rows(index: TierIndex, square: SquareTables) -> RowTables:
    """Build the row tables of one tier."""
    shape = (square.kings, index.row_space)
    number, element = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.uint8)
    kept = np.empty(shape, dtype=np.uint8)
    stabilisers = np.array(
        [sum(1 << element for element in keeping) for keeping in index.kings.stabilisers], dtype=np.uint8
    )
    _classify(square, stabilisers, 1 if index.defenders else 0, index.row_men, number, element, kept)
    # A combination that the identity maps to its row is the row's representative.
    own = (number >= 0) & (element == 0)
    return RowTables(number.ravel(), element.ravel(), np.nonzero(own)[1].astype(np.int32), kept[own])


def _tier_numbers(variant: Variant, indices: Sequence[TierIndex], rows: Sequence[RowTables]) -> TierNumbers:
    most_defenders = max(index.defenders for index in indices)
    number = np.full((variant.attackers + 1, most_defenders + 1), -1, dtype=np.int32)
    for count, index in enumerate(indices):
        number[index.attackers, index.defenders] = count
    width = np.array([index.widths for index in indices], dtype=np.int64)
    row_count = np.array([1 + part.number.reshape(len(width[0]), -1).max(axis=1) for part in rows], dtype=np.int64)
    entries = row_count * width
    return TierNumbers(
        most_attackers=variant.attackers,
        most_defenders=most_defenders,
        number=number.ravel(),
        attackers=np.array([index.attackers for index in indices], dtype=np.int64),
        defenders=np.array([index.defenders for index in indices], dtype=np.int64),
        row_kind=np.array([1 if index.defenders else 0 for index in indices], dtype=np.int64),
        row_men=np.array([index.row_men for index in indices], dtype=np.int64),
        column_men=np.array([index.column_men for index in indices], dtype=np.int64),
        row_space=np.array([index.row_space for index in indices], dtype=np.int64),
        rows_at=_starts([len(part.number) for part in rows]),
        meta_at=_starts([len(part.combination) for part in rows]),
        size=entries.sum(axis=1),
        base=np.concatenate([_starts(part.tolist()) for part in entries]),
        width=width.ravel(),
        first_row=np.concatenate([_starts(part.tolist()) for part in row_count]),
        row_count=row_count.ravel(),
    )


def _starts(lengths: list[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *lengths[:-1]], dtype=np.int64)


@kernel
def _classify(
    tables: SquareTables,
    stabilisers: NDArray[np.uint8],
    kind: int,
    men: int,
    row: NDArray[np.int32],
    element: NDArray[np.uint8],
    kept: NDArray[np.uint8],
) -> None:
    """Classify the combinations of the row soldiers for each king's orbit, and write the arrays of `RowTables`."""
    square = flat(tables)
    numbers, images = np.empty(men + 1, dtype=np.int64), np.empty(men + 1, dtype=np.int64)
    chosen, moved, offset = pointer(numbers), pointer(images), kind * square.cells
    for king in range(square.kings):
        rows = 0
        for k in range(men):
            numbers[k] = k
        for combination in range(row.shape[1]):
            # The identity, element 0, fixes every combination.
            least, by, keeps = I64(combination), I64(0), I64(1)
            for k in range(men):
                if square.spot[offset + numbers[k]] == square.representative[king]:
                    least = I64(-1)
            left = I64(stabilisers[king]) & ~1 if least >= 0 else I64(0)
            while left:
                number = trailing_zeros(left)
                left &= left - 1
                for k in range(men):
                    cell = I64(square.image[number * square.cells + I64(square.spot[offset + numbers[k]])])
                    sort_in(moved, k, I64(square.place[offset + cell]))
                rank = rank_places(square.binomial, square.most, moved, men)
                if rank == combination:
                    keeps |= 1 << number
                if rank < least:
                    least, by = rank, number
            if least == combination:
                row[king, combination] = rows
                rows += 1
            else:
                row[king, combination] = row[king, least] if least >= 0 else -1
            element[king, combination] = by
            kept[king, combination] = keeps
            next_places(chosen, 0, men)
    keep(numbers)
    keep(images)


# -- values of whole tiers in memory, which kernels look up by tier, side to move and entry ---


# Values are stored as codes (`tablut.indexing.values`). A code takes one or two bytes, depending on the largest code in
# the array. The functions for codes are compiled here for use in kernels.


ADDRESS, WIDE = 0, 1
"""Columns of `TierValues.places`: the address of the codes (0 if not in memory), and whether codes take two bytes."""

code_of = inlined(values.code_of)
is_decided = inlined(values.is_decided)
is_loss = inlined(values.is_loss)
lost_in = inlined(values.lost_in)
plies_of = inlined(values.plies_of)
won_in = inlined(values.won_in)


class TierValues(NamedTuple):
    """Values of T tiers in memory.

    - ``tiers``: Index of the tiers.
    - ``places``: Addresses and widths of the codes, at index ``2 * (2 * tier + side)`` plus `ADDRESS` or `WIDE`. Side 1
      means that black is to move.
    - ``values``: Value of each code; see `tablut.indexing.values`.
    - ``arrays``: The arrays at the addresses. They are referenced here so that they stay alive.
    """

    tiers: TierTables
    places: NDArray[np.int64]
    values: NDArray[np.int16]
    arrays: tuple[NDArray[np.unsignedinteger], ...]


@inlined
def code_at(places: NDArray[np.int64], array: int, entry: int) -> int:
    """Return an entry's code. ``array`` is ``2 * tier + side``. This takes O(1) time."""
    address = places[2 * array + ADDRESS]
    if places[2 * array + WIDE] != 0:
        return I64(items_at(address, np.uint16)[entry])
    return I64(items_at(address, np.uint8)[entry])
