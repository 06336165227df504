"""Compiled conversion between positions and entries of a tier; the plain twin is `tablut.indexing.tiers`.

Kernels represent a position of a tier by the king's cell and two short lists of cells (attackers and
defenders), in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablut.engine.jit import I64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernels import toggle
from tablut.engine.layout import board_items, count_of, half_of, king_of, put_count, put_king, put_side
from tablut.engine.records import flat
from tablut.engine.tables import Tables
from tablut.indexing.tier_tables import TierTables, combination_rank, sort_in, unrank_places
from tablut.position import WIDEST

ROOM = WIDEST**2
"""Capacity of a list of cells. No board has more cells."""
SCRATCH = 2 * ROOM
"""Number of int64 items of scratch memory that `entry_of` and `men_of` need, for two lists."""


@inlined
def tier_at(x: TierTables, attackers: int, defenders: int) -> int:
    """Return the number of the tier of a material, or -1 if the tables do not contain it."""
    if attackers > x.tier.most_attackers or defenders > x.tier.most_defenders:
        return I64(-1)
    return I64(x.tier.number[attackers * (x.tier.most_defenders + 1) + defenders])


@inlined
def orbit_of(x: TierTables, tier: int, entry: int) -> int:
    """Return the number of the king's orbit for an entry, in O(kings) time."""
    by_king = tier * x.square.kings
    orbit = I64(0)
    while orbit + 1 < x.square.kings and x.tier.base[by_king + orbit + 1] <= entry:
        orbit += 1
    return orbit


@inlined
def place_of(x: TierTables, orbit: int, row_cells: NDArray[np.int64], row_men: int, cell: int) -> int:
    """Return the number of a cell among the attackers' cells not taken by the king and the row soldiers.

    The result is -1 if no attacker may stand on the cell.
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
    """Return the column of the column soldiers' images under an element, or -1 if no attacker may stand on one."""
    s, row_men, column_men = x.square, x.tier.row_men[tier], x.tier.column_men[tier]
    for k in range(column_men):
        image = I64(s.image[element * s.cells + I64(column_cells[k])])
        number = place_of(x, orbit, row_cells, row_men, image)
        if number < 0:
            return I64(-1)
        sort_in(places, k, number)
    return combination_rank(s.binomial, s.most, places, column_men)


@inlined
def row_at(x: TierTables, tier: int, king: int, row_cells: NDArray[Any], scratch: NDArray[np.int64]) -> int:
    """Return the index in the row tables for a king and row soldiers, or -1 if there is no such row; O(men²) time."""
    s = x.square
    orbit = I64(s.king[king])
    if orbit < 0:
        return I64(-1)
    first, kind, men = I64(s.to_king[king]), x.tier.row_kind[tier], x.tier.row_men[tier]
    for k in range(men):
        image = I64(s.image[first * s.cells + I64(row_cells[k])])
        number = I64(s.place[kind * s.cells + image])
        if number < 0:
            return I64(-1)
        sort_in(scratch, k, number)
    at = x.tier.rows_at[tier] + orbit * x.tier.row_space[tier] + combination_rank(s.binomial, s.most, scratch, men)
    return at if x.row.number[at] >= 0 else I64(-1)


@inlined
def row_of(
    x: TierTables, tier: int, king: int, row_cells: NDArray[np.uint8], scratch: NDArray[np.int64]
) -> tuple[int, int, int]:
    """Return the first entry of the row of a king and row soldiers (or -1), and the elements that lead to the row.

    The second result is one element of the group that maps king and row soldiers to the row's representative. The
    images of the row soldiers under it are left in ``scratch``. The third result is the set of nontrivial elements that
    keep the representative. Composed with the second result, they give all other elements that lead there.
    """
    s = x.square
    at = row_at(x, tier, king, row_cells, scratch)
    if at < 0:
        return I64(-1), I64(0), I64(0)
    row, row_men, by_king = I64(x.row.number[at]), x.tier.row_men[tier], tier * s.kings + I64(s.king[king])
    entry = x.tier.base[by_king] + row * x.tier.width[by_king]
    if x.tier.column_men[tier] == 0:
        return entry, I64(0), I64(0)
    element = I64(s.compose[(I64(x.row.element[at]) << 3) + I64(s.to_king[king])])
    for k in range(row_men):
        scratch[k] = I64(s.image[element * s.cells + I64(row_cells[k])])
    others = I64(x.row.residual[x.tier.meta_at[tier] + x.tier.first_row[by_king] + row]) & ~1
    return entry, element, others


@inlined
def entry_of(
    x: TierTables,
    tier: int,
    king: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    scratch: NDArray[np.int64],
) -> int:
    """Return the entry of a position in a tier, or -1 if the position is not an undecided placement."""
    s = x.square
    row_cells, column_cells = black, white
    if x.tier.row_kind[tier] == 1:
        row_cells, column_cells = white, black
    entry, element, others = row_of(x, tier, king, row_cells, scratch)
    if entry < 0 or x.tier.column_men[tier] == 0:
        return entry
    orbit, places = I64(s.king[king]), advance(scratch, ROOM)
    column = column_of(x, tier, orbit, element, scratch, column_cells, places)
    if column < 0:
        return I64(-1)
    while others:
        other = trailing_zeros(others)
        others &= others - 1
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
    """Write the soldiers' cells of an entry in ascending order and return the king's cell; this inverts `entry_of`."""
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
        blockers = advance(scratch, ROOM)
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


# -- conversion between boards and entries of tiers, for one board or an array of boards ---


@inlined
def men_of_board(t: Tables, board: NDArray[np.uint32], black: NDArray[np.uint8], white: NDArray[np.uint8]) -> None:
    """Write the cells of a board's attackers and of its defenders, each in ascending order, in O(size + men) time."""
    king, half = king_of(t, board), half_of(board)
    attackers, defenders = I64(0), I64(0)
    for rank in range(t.size):
        row = I64(board[rank])
        while row:
            place = trailing_zeros(row)
            row &= row - 1
            cell = rank * t.size + (place & (half - 1))
            if place < half:
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
    """Write the number of the tier and the entry of each position, or -1 if there is none."""
    t, x = flat(tables), flat(index)
    soldiers, numbers = np.empty(2 * t.cells, dtype=index.square.spot.dtype), np.empty(SCRATCH, dtype=np.int64)
    black, scratch = pointer(soldiers), pointer(numbers)
    white = advance(black, t.cells)
    for number in range(len(boards)):
        board = advance(pointer(boards), number * board_items(t.size))
        attackers, defenders = count_of(t, board, 1), count_of(t, board, 0)
        tier = tier_at(x, attackers, defenders)
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
    """Write the positions of the given entries of a tier to boards."""
    t, x = flat(tables), flat(index)
    soldiers, numbers = np.empty(2 * t.cells, dtype=index.square.spot.dtype), np.empty(SCRATCH, dtype=np.int64)
    black, scratch = pointer(soldiers), pointer(numbers)
    white = advance(black, t.cells)
    for number in range(len(entries)):
        board = advance(pointer(boards), number * board_items(t.size))
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
    half = half_of(board)
    toggle(t, board, king, half)
    for k in range(x.tier.attackers[tier]):
        toggle(t, board, I64(black[k]), 0)
    for k in range(x.tier.defenders[tier]):
        toggle(t, board, I64(white[k]), half)
    put_king(t, board, king)
    put_side(t, board, side)
    put_count(t, board, 1, x.tier.attackers[tier])
    put_count(t, board, 0, x.tier.defenders[tier])
