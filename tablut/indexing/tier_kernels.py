"""Between a position of a tier and its entry, compiled; the plain twin is `tablut.indexing.tiers`.

Kernels know a position of a tier as the king's cell and two short lists of cells, in
any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.jit import I64, advance, inlined, trailing_zeros
from tablut.indexing.combinations import combination_rank, sort_in, unrank_places

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.indexing.tier_tables import TierTables

__all__ = ["SCRATCH", "column_of", "entry_of", "men_of", "orbit_of", "place_of", "tier_at"]

SCRATCH = 160
"""Number of int64 that `entry_of` needs for itself."""


@inlined
def tier_at(x: TierTables, attackers: int, defenders: int) -> int:
    """Return the number of a material's tier, or -1.

    Parameters
    ----------
    x : TierTables
        Flat.
    attackers, defenders : int
        The material.

    Returns
    -------
    int
        As `TierNumbers.number` has it; -1 too for a material beyond it.
    """
    if attackers > x.tier.most_attackers or defenders > x.tier.most_defenders:
        return I64(-1)
    return I64(x.tier.number[attackers * (x.tier.most_defenders + 1) + defenders])


@inlined
def orbit_of(x: TierTables, tier: int, entry: int) -> int:
    """Return the number of the king's orbit of an entry; O(kings).

    Parameters
    ----------
    x : TierTables
        Flat.
    tier : int
        Its number.
    entry : int
        The entry.

    Returns
    -------
    int
        The number.
    """
    by_king = tier * x.square.kings
    orbit = I64(0)
    while orbit + 1 < x.square.kings and x.tier.base[by_king + orbit + 1] <= entry:
        orbit += 1
    return orbit


@inlined
def place_of(x: TierTables, orbit: int, row_cells: NDArray[np.int64], row_men: int, cell: int) -> int:
    """Return the number of an attacker's cell among those that a king and the row soldiers leave, or -1.

    Parameters
    ----------
    x : TierTables
        Flat.
    orbit : int
        The number of the king's orbit; the king stands on its representative.
    row_cells : pointer to int64
        The row soldiers' cells.
    row_men : int
        How many there are.
    cell : int
        The attacker's cell.

    Returns
    -------
    int
        The number; O(row_men).
    """
    s = x.square
    number = I64(s.place[cell])
    if number < 0:
        return number
    less = I64(s.king_place[orbit] >= 0 and s.king_place[orbit] < number)
    for k in range(row_men):
        less += I64(s.place[row_cells[k]] < number)
    return number - less


@inlined
def column_of(
    x: TierTables,
    tier: int,
    orbit: int,
    element: int,
    row_cells: NDArray[np.int64],
    column_cells: NDArray[np.uint8],
    places: NDArray[np.int64],
) -> int:
    """Return the column of the column soldiers' images under an element, or -1.

    Parameters
    ----------
    x : TierTables
        Flat.
    tier, orbit : int
        The numbers of the tier and of the king's orbit.
    element : int
        The number of the symmetry.
    row_cells : pointer to int64
        The cells of the row soldiers' images.
    column_cells : pointer to uint8
        The column soldiers' cells, before the symmetry.
    places : pointer to int64
        Room for their numbers.

    Returns
    -------
    int
        The column; O(men * men).
    """
    s, row_men, column_men = x.square, x.tier.row_men[tier], x.tier.column_men[tier]
    for k in range(column_men):
        image = I64(s.image[element * s.cells + I64(column_cells[k])])
        number = place_of(x, orbit, row_cells, row_men, image)
        if number < 0:
            return I64(-1)
        sort_in(places, k, number)
    return combination_rank(s.binomial, s.most, places, column_men)


@inlined
def entry_of(
    x: TierTables,
    tier: int,
    king: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    scratch: NDArray[np.int64],
) -> int:
    """Return the entry of a position in a tier, or -1 if it is no undecided placement.

    Parameters
    ----------
    x : TierTables
        Flat.
    tier : int
        Its number.
    king : int
        The king's cell.
    black, white : pointer to uint8
        The cells of the attackers and of the defenders, as many as the tier has, in any order.
    scratch : pointer to int64
        `SCRATCH` items.

    Returns
    -------
    int
        The entry; O(men * men), and as often again for each symmetry that the row has.
    """
    s = x.square
    orbit = I64(s.king[king])
    if orbit < 0:
        return I64(-1)
    first = I64(s.to_king[king])
    kind, row_men = x.tier.row_kind[tier], x.tier.row_men[tier]
    row_cells = white if kind == 1 else black
    column_cells = black if kind == 1 else white
    for k in range(row_men):
        image = I64(s.image[first * s.cells + I64(row_cells[k])])
        number = I64(s.place[kind * s.cells + image])
        if number < 0:
            return I64(-1)
        sort_in(scratch, k, number)
    combination = combination_rank(s.binomial, s.most, scratch, row_men)
    at = x.tier.rows_at[tier] + orbit * x.tier.row_space[tier] + combination
    row = I64(x.row.number[at])
    if row < 0:
        return I64(-1)
    by_king = tier * s.kings + orbit
    entry = x.tier.base[by_king] + row * x.tier.width[by_king]
    if x.tier.column_men[tier] == 0:
        return entry
    element = I64(s.compose[(I64(x.row.element[at]) << 3) + first])
    for k in range(row_men):
        scratch[k] = I64(s.image[element * s.cells + I64(row_cells[k])])
    places = advance(scratch, SCRATCH // 2)
    column = column_of(x, tier, orbit, element, scratch, column_cells, places)
    if column < 0:
        return I64(-1)
    left = I64(x.row.residual[x.tier.meta_at[tier] + x.tier.first_row[by_king] + row]) & ~1
    while left:
        other = trailing_zeros(left)
        left &= left - 1
        moved = I64(s.compose[(other << 3) + element])
        column = min(column, column_of(x, tier, orbit, moved, scratch, column_cells, places))
    return entry + column


@inlined
def men_of(
    x: TierTables,
    tier: int,
    entry: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    scratch: NDArray[np.int64],
) -> int:
    """Write the soldiers of an entry, each list ascending, and return the king's cell; the inverse of `entry_of`.

    Parameters
    ----------
    x : TierTables
        Flat.
    tier : int
        Its number.
    entry : int
        The entry; that of an alias gives the placement that it would stand for.
    black, white : pointer to uint8
        Receive the cells of the attackers and of the defenders.
    scratch : pointer to int64
        `SCRATCH` items.

    Returns
    -------
    int
        The king's cell; O(cells).
    """
    s = x.square
    orbit = orbit_of(x, tier, entry)
    by_king = tier * s.kings + orbit
    row = (entry - x.tier.base[by_king]) // x.tier.width[by_king]
    column = entry - x.tier.base[by_king] - row * x.tier.width[by_king]
    kind, row_men, column_men = x.tier.row_kind[tier], x.tier.row_men[tier], x.tier.column_men[tier]
    row_cells = white if kind == 1 else black
    column_cells = black if kind == 1 else white
    combination = I64(x.row.combination[x.tier.meta_at[tier] + x.tier.first_row[by_king] + row])
    unrank_places(s.binomial, s.most, combination, row_men, s.cells, scratch)
    for k in range(row_men):
        row_cells[k] = s.spot[kind * s.cells + scratch[k]]
    if column_men > 0:
        blockers = advance(scratch, SCRATCH // 2)
        count = I64(0)
        if s.king_place[orbit] >= 0:
            blockers[0] = I64(s.king_place[orbit])
            count += 1
        for k in range(row_men):
            sort_in(blockers, count, I64(s.place[I64(row_cells[k])]))
            count += 1
        unrank_places(s.binomial, s.most, column, column_men, s.cells, scratch)
        for k in range(column_men):
            number = scratch[k]
            for b in range(count):
                number += 1 if blockers[b] <= number else 0
            column_cells[k] = s.spot[number]
    return I64(s.representative[orbit])
