"""The index of tiers up to symmetry, compiled: `tablut.indexing.tiers` as tables and kernels.

Kernels know a position of a tier as the king's cell and two short lists of cells, in
any order. `TierTables` holds several tiers, so that a capture leads from one to
another. Combinations are ranked by sums of binomials; all are below 2**62, which
`tier_tables` checks.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.jit import I64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernels import toggle
from tablut.engine.layout import count_of, king_of, put_count, put_king, put_side
from tablut.engine.records import flat
from tablut.errors import InputError
from tablut.indexing.tiers import TierIndex, king_orbits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symmetry import Symmetry
    from tablut.engine.tables import Tables
    from tablut.variants import Variant

__all__ = [
    "SCRATCH",
    "TierTables",
    "column_of",
    "combination_rank",
    "entry_of",
    "men_of",
    "men_of_board",
    "place_of",
    "rank_boards",
    "set_board",
    "sort_in",
    "tier_tables",
    "unrank_entries",
    "unrank_places",
]

SCRATCH = 160
"""Number of int64 that `entry_of` needs for itself."""

_LIMIT = 1 << 62


class TierTables(NamedTuple):
    """Some tiers as kernels see them; C is the number of cells, K of kings, T of tiers.

    Kinds are 0 for attackers and 1 for defenders.

    Attributes
    ----------
    cells, kings, most, elements : int
        C, K, the length of a row of ``binomial``, and the order of the group.
    binomial : ndarray of int64, flat
        At ``n * most + k`` the number of k-combinations of n.
    place : ndarray of int16, shape (2 * C,)
        At ``kind * C + cell`` the number of a cell among those of the kind, or -1.
    spot : ndarray of uint8, shape (2 * C,)
        At ``kind * C + number`` the cell; the inverse of ``place``.
    image : ndarray of uint8, shape (8 * C,)
        At ``element * C + cell`` the image of a cell.
    compose : ndarray of uint8, shape (64,)
        At ``second * 8 + first`` the element that does the first, then the second.
    king : ndarray of int16, shape (C,)
        The number of a king's orbit, or -1 where no king of an undecided position stands.
    to_king : ndarray of uint8, shape (C,)
        The element that takes a king's cell to its representative.
    representative : ndarray of uint8, shape (K,)
        Its cell.
    king_place : ndarray of int16, shape (K,)
        The number of the representative among the trails' cells where those are attackers, or -1.
    tier : ndarray of int32, flat
        At ``attackers * (most_defenders + 1) + defenders`` the number of a tier, or -1.
    most_defenders : int
        See ``tier``.
    attackers, defenders, lead_kind, lead_men, trail_men : ndarray of int64, shape (T,)
        Of each tier.
    lead_space, rows_at, meta_at, size : ndarray of int64, shape (T,)
        Number of combinations of the leads; where the tier's part of ``row`` and
        ``element`` begins, and that of ``combination`` and ``residual``; its entries.
    base, width, first_row, row_count : ndarray of int64, shape (T * K,)
        By tier and king: the first entry, the columns of a row, the number of the first
        row among those of the tier, and how many rows there are.
    row : ndarray of int32, flat
        At ``rows_at + king * lead_space + combination`` the row, counted from the king's
        first, or -1 where a lead stands on the king.
    element : ndarray of uint8, flat
        Likewise, the element of the king's stabiliser that takes the combination to its representative.
    combination : ndarray of int32, flat
        At ``meta_at + row of the tier`` the representative combination.
    residual : ndarray of uint8, flat
        Likewise, the elements that keep king and leads, as a mask; bit 0 is the identity.
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
    tier: NDArray[np.int32]
    most_defenders: int
    attackers: NDArray[np.int64]
    defenders: NDArray[np.int64]
    lead_kind: NDArray[np.int64]
    lead_men: NDArray[np.int64]
    trail_men: NDArray[np.int64]
    lead_space: NDArray[np.int64]
    rows_at: NDArray[np.int64]
    meta_at: NDArray[np.int64]
    size: NDArray[np.int64]
    base: NDArray[np.int64]
    width: NDArray[np.int64]
    first_row: NDArray[np.int64]
    row_count: NDArray[np.int64]
    row: NDArray[np.int32]
    element: NDArray[np.uint8]
    combination: NDArray[np.int32]
    residual: NDArray[np.uint8]


def tier_tables(
    variant: Variant, materials: Sequence[tuple[int, int]], group: Sequence[Symmetry] | None = None
) -> TierTables:
    """Return the tables of some tiers.

    Parameters
    ----------
    variant : Variant
        The rule set.
    materials : sequence of (attackers, defenders)
        The tiers, numbered in this order.
    group : sequence of Symmetry, optional
        Symmetries of the rules that form a group, the identity first; by default all.

    Raises
    ------
    InputError
        If a tier has more entries, or more combinations of leads, than the kernels' integers hold.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> tables = tier_tables(load_variant("ashton"), [(1, 0), (2, 1)])
    >>> tables.size.tolist()
    [466, 1114971]
    """
    elements = tuple(group if group is not None else variant.symmetries)
    orbits = king_orbits(variant, elements)
    cells, kings = variant.size**2, len(orbits.representatives)
    indices = [TierIndex(variant, *material, group=elements) for material in materials]
    for index in indices:
        if index.lead_space >= 1 << 31 or max(index.widths) * index.lead_space * kings >= _LIMIT:
            raise InputError(f"tier {index.attackers}v{index.defenders} of {variant.name}: too large to be indexed")
    soldiers = (
        sorted(variant.regions.free_cells | variant.regions.camp_cells),
        sorted(variant.regions.free_cells),
    )
    most = 1 + max(max(index.lead_men, index.trail_men) for index in indices)
    place = np.full((2, cells), -1, dtype=np.int16)
    spot = np.zeros((2, cells), dtype=np.uint8)
    for kind in (0, 1):
        place[kind, soldiers[kind]] = np.arange(len(soldiers[kind]))
        spot[kind, : len(soldiers[kind])] = soldiers[kind]
    image = np.zeros((8, cells), dtype=np.uint8)
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
    # A binomial beyond the limit is met by no rank of these tiers.
    binomial = np.array([[min(comb(n, k), _LIMIT) for k in range(most)] for n in range(cells + 1)], dtype=np.int64)
    stabilisers = np.array([sum(1 << e for e in kept) for kept in orbits.stabilisers], dtype=np.uint8)
    most_defenders = max(index.defenders for index in indices)
    tier = np.full((variant.attackers + 1, most_defenders + 1), -1, dtype=np.int32)
    for count, index in enumerate(indices):
        tier[index.attackers, index.defenders] = count

    width = np.array([index.widths for index in indices], dtype=np.int64)
    rows, images, combination, residual = [], [], [], []
    row_count = np.zeros((len(indices), kings), dtype=np.int64)
    for count, index in enumerate(indices):
        kind = 1 if index.defenders else 0
        row = np.empty((kings, index.lead_space), dtype=np.int32)
        element = np.empty((kings, index.lead_space), dtype=np.uint8)
        kept = np.empty((kings, index.lead_space), dtype=np.uint8)
        _classify(
            index.lead_men,
            np.array(orbits.representatives, dtype=np.uint8),
            stabilisers,
            place[kind],
            spot[kind],
            image.ravel(),
            binomial,
            row,
            element,
            kept,
        )
        rows.append(row.ravel())
        images.append(element.ravel())
        # What leads to a row by the identity is its representative.
        own = (row >= 0) & (element == 0)
        row_count[count] = own.sum(axis=1)
        combination.append(np.nonzero(own)[1].astype(np.int32))
        residual.append(kept[own])
    entries = row_count * width
    return TierTables(
        cells=cells,
        kings=kings,
        most=most,
        elements=len(elements),
        binomial=binomial.ravel(),
        place=place.ravel(),
        spot=spot.ravel(),
        image=image.ravel(),
        compose=compose.ravel(),
        king=king,
        to_king=to_king,
        representative=np.array(orbits.representatives, dtype=np.uint8),
        king_place=place[0, list(orbits.representatives)],
        tier=tier.ravel(),
        most_defenders=most_defenders,
        attackers=np.array([index.attackers for index in indices], dtype=np.int64),
        defenders=np.array([index.defenders for index in indices], dtype=np.int64),
        lead_kind=np.array([1 if index.defenders else 0 for index in indices], dtype=np.int64),
        lead_men=np.array([index.lead_men for index in indices], dtype=np.int64),
        trail_men=np.array([index.trail_men for index in indices], dtype=np.int64),
        lead_space=np.array([index.lead_space for index in indices], dtype=np.int64),
        rows_at=_starts([len(part) for part in rows]),
        meta_at=_starts([len(part) for part in combination]),
        size=entries.sum(axis=1),
        base=np.concatenate([_starts(part.tolist()) for part in entries]),
        width=width.ravel(),
        first_row=np.concatenate([_starts(part.tolist()) for part in row_count]),
        row_count=row_count.ravel(),
        row=np.concatenate(rows),
        element=np.concatenate(images),
        combination=np.concatenate(combination),
        residual=np.concatenate(residual),
    )


def _starts(lengths: list[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *lengths[:-1]], dtype=np.int64)


@inlined
def sort_in(values: NDArray[np.int64], count: int, value: int) -> None:
    """Put one more value into ``count`` ascending ones."""
    at = count
    while at > 0 and values[at - 1] > value:
        values[at] = values[at - 1]
        at -= 1
    values[at] = value


@inlined
def combination_rank(binomial: NDArray[np.int64], most: int, places: NDArray[np.int64], count: int) -> int:
    """Return the rank of ascending places."""
    total = I64(0)
    for k in range(count):
        total += binomial[places[k] * most + k + 1]
    return total


@inlined
def unrank_places(
    binomial: NDArray[np.int64], most: int, rank: int, count: int, above: int, places: NDArray[np.int64]
) -> None:
    """Write the ascending places, below ``above``, of the combination of a rank."""
    place = I64(above)
    for k in range(count, 0, -1):
        place -= 1
        while binomial[place * most + k] > rank:
            place -= 1
        rank -= binomial[place * most + k]
        places[k - 1] = place


@inlined
def place_of(x: TierTables, king: int, leads: NDArray[np.int64], count: int, cell: int) -> int:
    """Return the number of a trailing attacker's cell among those that a king and the leads leave, or -1.

    ``king`` is the number of the king's orbit, ``leads`` their cells.
    """
    number = I64(x.place[cell])
    if number < 0:
        return number
    less = I64(x.king_place[king] >= 0 and x.king_place[king] < number)
    for k in range(count):
        less += I64(x.place[leads[k]] < number)
    return number - less


@inlined
def column_of(
    x: TierTables,
    king: int,
    element: int,
    leads: NDArray[np.int64],
    lead_men: int,
    trails: NDArray[np.uint8],
    trail_men: int,
    places: NDArray[np.int64],
) -> int:
    """Return the column of the trails' images, or -1; ``leads`` are the cells of the leads' images."""
    for k in range(trail_men):
        number = place_of(x, king, leads, lead_men, I64(x.image[element * x.cells + I64(trails[k])]))
        if number < 0:
            return I64(-1)
        sort_in(places, k, number)
    return combination_rank(x.binomial, x.most, places, trail_men)


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
    """
    orbit = I64(x.king[king])
    if orbit < 0:
        return I64(-1)
    first = I64(x.to_king[king])
    kind, lead_men, trail_men = x.lead_kind[tier], x.lead_men[tier], x.trail_men[tier]
    leads = white if kind == 1 else black
    trails = black if kind == 1 else white
    for k in range(lead_men):
        number = I64(x.place[kind * x.cells + I64(x.image[first * x.cells + I64(leads[k])])])
        if number < 0:
            return I64(-1)
        sort_in(scratch, k, number)
    combination = combination_rank(x.binomial, x.most, scratch, lead_men)
    at = x.rows_at[tier] + orbit * x.lead_space[tier] + combination
    row = I64(x.row[at])
    if row < 0:
        return I64(-1)
    by_king = tier * x.kings + orbit
    width = x.width[by_king]
    entry = x.base[by_king] + row * width
    if trail_men == 0:
        return entry
    element = I64(x.compose[(I64(x.element[at]) << 3) + first])
    for k in range(lead_men):
        scratch[k] = I64(x.image[element * x.cells + I64(leads[k])])
    places = advance(scratch, SCRATCH // 2)
    column = column_of(x, orbit, element, scratch, lead_men, trails, trail_men, places)
    if column < 0:
        return I64(-1)
    left = I64(x.residual[x.meta_at[tier] + x.first_row[by_king] + row]) & ~1
    while left:
        other = trailing_zeros(left)
        left &= left - 1
        moved = I64(x.compose[(other << 3) + element])
        column = min(column, column_of(x, orbit, moved, scratch, lead_men, trails, trail_men, places))
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

    The column of an alias gives the placement that it would stand for.
    """
    by_king = tier * x.kings
    orbit = I64(0)
    while orbit + 1 < x.kings and x.base[by_king + orbit + 1] <= entry:
        orbit += 1
    by_king += orbit
    row = (entry - x.base[by_king]) // x.width[by_king]
    column = entry - x.base[by_king] - row * x.width[by_king]
    kind, lead_men, trail_men = x.lead_kind[tier], x.lead_men[tier], x.trail_men[tier]
    leads = white if kind == 1 else black
    trails = black if kind == 1 else white
    combination = I64(x.combination[x.meta_at[tier] + x.first_row[by_king] + row])
    unrank_places(x.binomial, x.most, combination, lead_men, x.cells, scratch)
    for k in range(lead_men):
        leads[k] = x.spot[kind * x.cells + scratch[k]]
    if trail_men > 0:
        blockers = advance(scratch, SCRATCH // 2)
        count = I64(0)
        if x.king_place[orbit] >= 0:
            blockers[0] = I64(x.king_place[orbit])
            count += 1
        for k in range(lead_men):
            sort_in(blockers, count, I64(x.place[I64(leads[k])]))
            count += 1
        unrank_places(x.binomial, x.most, column, trail_men, x.cells, scratch)
        for k in range(trail_men):
            number = scratch[k]
            for b in range(count):
                number += 1 if blockers[b] <= number else 0
            trails[k] = x.spot[number]
    return I64(x.representative[orbit])


@inlined
def men_of_board(t: Tables, board: NDArray[np.uint32], black: NDArray[np.uint8], white: NDArray[np.uint8]) -> None:
    """Write the cells of a board's attackers and of its defenders, each list ascending."""
    king = king_of(t, board)
    attackers, defenders = I64(0), I64(0)
    for rank in range(t.size):
        row = I64(board[rank])
        while row:
            place = trailing_zeros(row)
            row &= row - 1
            cell = rank * t.size + (place & 15)
            if place < 16:
                black[attackers] = cell
                attackers += 1
            elif cell != king:
                white[defenders] = cell
                defenders += 1


@kernel
def rank_boards(
    tables: Tables,
    index: TierTables,
    boards: NDArray[np.uint32],
    tiers: NDArray[np.int32],
    entries: NDArray[np.int64],
) -> None:
    """Write the tier and the entry of each position; -1 where there is none.

    Parameters
    ----------
    tables : Tables
        The variant.
    index : TierTables
        The tiers.
    boards : ndarray of uint32, shape (n, 2N + 4)
        The positions.
    tiers : ndarray of int32, shape (n,)
        Receives the numbers of the tiers.
    entries : ndarray of int64, shape (n,)
        Receives the entries.
    """
    t, x = flat(tables), flat(index)
    soldiers, numbers = np.empty(2 * t.cells, dtype=np.uint8), np.empty(SCRATCH, dtype=np.int64)
    black, scratch = pointer(soldiers), pointer(numbers)
    white = advance(black, t.cells)
    for number in range(len(boards)):
        board = advance(pointer(boards), number * (2 * t.size + 4))
        attackers, defenders = count_of(t, board, 1), count_of(t, board, 0)
        tier = I64(-1)
        if attackers < index.tier.size // (x.most_defenders + 1) and defenders <= x.most_defenders:
            tier = I64(x.tier[attackers * (x.most_defenders + 1) + defenders])
        tiers[number], entries[number] = tier, -1
        if tier >= 0:
            men_of_board(t, board, black, white)
            entries[number] = entry_of(x, tier, king_of(t, board), black, white, scratch)
    keep(soldiers)
    keep(numbers)


@kernel
def unrank_entries(
    tables: Tables,
    index: TierTables,
    tier: int,
    entries: NDArray[np.int64],
    side: int,
    boards: NDArray[np.uint32],
) -> None:
    """Write the positions of some entries of a tier to boards, shape (n, 2N + 4); ``side`` is to move."""
    t, x = flat(tables), flat(index)
    soldiers, numbers = np.empty(2 * t.cells, dtype=np.uint8), np.empty(SCRATCH, dtype=np.int64)
    black, scratch = pointer(soldiers), pointer(numbers)
    white = advance(black, t.cells)
    for number in range(len(entries)):
        board = advance(pointer(boards), number * (2 * t.size + 4))
        king = men_of(x, tier, entries[number], black, white, scratch)
        set_board(t, x, tier, king, black, white, side, board)
    keep(soldiers)
    keep(numbers)


@inlined
def set_board(
    t: Tables,
    x: TierTables,
    tier: int,
    king: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    side: int,
    board: NDArray[np.uint32],
) -> None:
    """Write a position of a tier to a board."""
    for line in range(2 * t.size):
        board[line] = np.uint32(0)
    toggle(t, board, king, 16)
    for k in range(x.attackers[tier]):
        toggle(t, board, I64(black[k]), 0)
    for k in range(x.defenders[tier]):
        toggle(t, board, I64(white[k]), 16)
    put_king(t, board, king)
    put_side(t, board, side)
    put_count(t, board, 1, x.attackers[tier])
    put_count(t, board, 0, x.defenders[tier])


@kernel
def _classify(
    men: int,
    representatives: NDArray[np.uint8],
    stabilisers: NDArray[np.uint8],
    place: NDArray[np.int16],
    spot: NDArray[np.uint8],
    image: NDArray[np.uint8],
    binomial: NDArray[np.int64],
    row: NDArray[np.int32],
    element: NDArray[np.uint8],
    kept: NDArray[np.uint8],
) -> None:
    """Find the classes of the leads' combinations, for each king; see `TierTables`."""
    cells, most = len(spot), binomial.shape[1]
    numbers, images = np.empty(men + 1, dtype=np.int64), np.empty(men + 1, dtype=np.int64)
    powers, moved = pointer(binomial), pointer(images)
    for king in range(len(representatives)):
        rows = 0
        for k in range(men):
            numbers[k] = k
        for combination in range(row.shape[1]):
            # The identity, element 0, keeps everything.
            least, by, keeps = I64(combination), I64(0), I64(1)
            for k in range(men):
                if spot[numbers[k]] == representatives[king]:
                    least = I64(-1)
            left = I64(stabilisers[king]) & ~1 if least >= 0 else I64(0)
            while left:
                number = trailing_zeros(left)
                left &= left - 1
                for k in range(men):
                    sort_in(moved, k, I64(place[image[number * cells + I64(spot[numbers[k]])]]))
                rank = combination_rank(powers, most, moved, men)
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
            # The next combination: the first place that can move up does, those below start again.
            k = 0
            while k + 1 < men and numbers[k] + 1 == numbers[k + 1]:
                numbers[k] = k
                k += 1
            numbers[k] += 1
    keep(numbers)
    keep(images)
