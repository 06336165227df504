"""Compiled conversion between positions and entries of a tier.

`tablut.indexing.tiers` is the plain Python version, and defines tiers, entries, rows and columns. Kernels represent a
position in a tier by the king's cell and two short lists of cells (attackers and defenders), in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablut.engine.jit import I64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import toggle
from tablut.engine.layout import BoardArray, board_items, count_of, half_of, king_of, put_count, put_king, put_side
from tablut.engine.tables import Tables
from tablut.indexing.tier_tables import TierTables, rank_places, sort_in, unrank_places
from tablut.position import WIDEST

ROOM = WIDEST**2
"""Capacity of a list of cells. No board has more cells."""
SCRATCH = 2 * ROOM
"""Number of int64 items of scratch memory that `entry_of` and `men_of` need. The memory holds two lists."""


@inlined
def tier_at(index: TierTables, attackers: int, defenders: int) -> int:
    """Return the number of the tier with a given material, or -1 if the tables do not contain it."""
    if attackers > index.tier.most_attackers or defenders > index.tier.most_defenders:
        return I64(-1)
    return I64(index.tier.number[attackers * (index.tier.most_defenders + 1) + defenders])


@inlined
def split_entry(index: TierTables, tier: int, entry: int) -> tuple[int, int, int]:
    """Return an entry's king orbit, its row within the tier, and its column. This takes O(kings) time."""
    by_king, orbit = tier * index.square.kings, I64(0)
    while orbit + 1 < index.square.kings and index.tier.base[by_king + orbit + 1] <= entry:
        orbit += 1
    by_king += orbit
    within, width = entry - index.tier.base[by_king], index.tier.width[by_king]
    row = within // width
    return orbit, index.tier.first_row[by_king] + row, within - row * width


@inlined
def place_of(index: TierTables, orbit: int, row_cells: NDArray[np.int64], row_men: int, cell: int) -> int:
    """Return a cell's number among the attackers' cells that the king and the row soldiers do not occupy.

    The result is -1 if no attacker may stand on the cell.
    """
    square = index.square
    number = I64(square.place[cell])
    if number < 0:
        return number
    less = I64(square.king_place[orbit] >= 0 and square.king_place[orbit] < number)
    for k in range(row_men):
        less += I64(square.place[row_cells[k]] < number)
    return number - less


@inlined
def column_of(
    index: TierTables,
    tier: int,
    orbit: int,
    element: int,
    row_cells: NDArray[np.int64],
    column_cells: NDArray[np.uint8],
    places: NDArray[np.int64],
) -> int:
    """Return the column for the images of the column soldiers under an element, or -1 if there is no such column.

    There is no such column if an image lies on a cell where no attacker may stand.
    """
    square, row_men, column_men = index.square, index.tier.row_men[tier], index.tier.column_men[tier]
    for k in range(column_men):
        image = I64(square.image[element * square.cells + I64(column_cells[k])])
        number = place_of(index, orbit, row_cells, row_men, image)
        if number < 0:
            return I64(-1)
        sort_in(places, k, number)
    return rank_places(square.binomial, square.most, places, column_men)


@inlined
def row_at(index: TierTables, tier: int, king: int, row_cells: NDArray[Any], scratch: NDArray[np.int64]) -> int:
    """Return the index in the row tables for a king's cell and row soldiers, or -1 if there is no such row.

    This takes O(men²) time.
    """
    square = index.square
    orbit = I64(square.king[king])
    if orbit < 0:
        return I64(-1)
    first, kind, men = I64(square.to_king[king]), index.tier.row_kind[tier], index.tier.row_men[tier]
    for k in range(men):
        image = I64(square.image[first * square.cells + I64(row_cells[k])])
        number = I64(square.place[kind * square.cells + image])
        if number < 0:
            return I64(-1)
        sort_in(scratch, k, number)
    at = (
        index.tier.rows_at[tier]
        + orbit * index.tier.row_space[tier]
        + rank_places(square.binomial, square.most, scratch, men)
    )
    return at if index.row.number[at] >= 0 else I64(-1)


@inlined
def row_of(
    index: TierTables, tier: int, king: int, row_cells: NDArray[np.uint8], scratch: NDArray[np.int64]
) -> tuple[int, int, int]:
    """Return the first entry in the row for a king's cell and row soldiers, and the elements that lead to the row.

    The first result is -1 if there is no such row. The second result is one element of the group that maps the king and
    the row soldiers to the row's representative. The images of the row soldiers under this element are left in
    ``scratch``. The third result is the set of nontrivial elements that fix the representative. Composed with the
    second result, these elements yield all other elements that lead to the representative.
    """
    square = index.square
    at = row_at(index, tier, king, row_cells, scratch)
    if at < 0:
        return I64(-1), I64(0), I64(0)
    row, row_men, by_king = (
        I64(index.row.number[at]),
        index.tier.row_men[tier],
        tier * square.kings + I64(square.king[king]),
    )
    entry = index.tier.base[by_king] + row * index.tier.width[by_king]
    if index.tier.column_men[tier] == 0:
        return entry, I64(0), I64(0)
    element = I64(square.compose[(I64(index.row.element[at]) << 3) + I64(square.to_king[king])])
    for k in range(row_men):
        scratch[k] = I64(square.image[element * square.cells + I64(row_cells[k])])
    others = I64(index.row.residual[index.tier.meta_at[tier] + index.tier.first_row[by_king] + row]) & ~1
    return entry, element, others


@inlined
def entry_of(
    index: TierTables,
    tier: int,
    king: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    scratch: NDArray[np.int64],
) -> int:
    """Return a position's entry in a tier, or -1 if the position is not an undecided placement."""
    square = index.square
    row_cells, column_cells = black, white
    if index.tier.row_kind[tier] == 1:
        row_cells, column_cells = white, black
    entry, element, others = row_of(index, tier, king, row_cells, scratch)
    if entry < 0 or index.tier.column_men[tier] == 0:
        return entry
    orbit, places = I64(square.king[king]), advance(scratch, ROOM)
    column = column_of(index, tier, orbit, element, scratch, column_cells, places)
    if column < 0:
        return I64(-1)
    while others:
        other = trailing_zeros(others)
        others &= others - 1
        moved = I64(square.compose[(other << 3) + element])
        column = min(column, column_of(index, tier, orbit, moved, scratch, column_cells, places))
    return entry + column


@inlined
def men_of(
    index: TierTables,
    tier: int,
    entry: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    scratch: NDArray[np.int64],
) -> int:
    """Write the soldiers' cells of an entry in ascending order, and return the king's cell.

    This is the inverse of `entry_of`.
    """
    square = index.square
    orbit, row, column = split_entry(index, tier, entry)
    kind, row_men, column_men = index.tier.row_kind[tier], index.tier.row_men[tier], index.tier.column_men[tier]
    row_cells = white if kind == 1 else black
    column_cells = black if kind == 1 else white
    combination = I64(index.row.combination[index.tier.meta_at[tier] + row])
    unrank_places(square.binomial, square.most, combination, row_men, square.cells, scratch)
    for k in range(row_men):
        row_cells[k] = square.spot[kind * square.cells + scratch[k]]
    if column_men > 0:
        blockers = advance(scratch, ROOM)
        count = I64(0)
        if square.king_place[orbit] >= 0:
            blockers[0] = I64(square.king_place[orbit])
            count += 1
        for k in range(row_men):
            sort_in(blockers, count, I64(square.place[I64(row_cells[k])]))
            count += 1
        unrank_places(square.binomial, square.most, column, column_men, square.cells, scratch)
        for k in range(column_men):
            number = scratch[k]
            for b in range(count):
                number += 1 if blockers[b] <= number else 0
            column_cells[k] = square.spot[number]
    return I64(square.representative[orbit])


# -- conversion between boards and entries of tiers, for one board or an array of boards ---


@inlined
def men_of_board(rules: Tables, board: BoardArray, black: NDArray[np.uint8], white: NDArray[np.uint8]) -> None:
    """Write the cells of a board's attackers and defenders, each in ascending order.

    This takes O(size + men) time.
    """
    king, half = king_of(rules, board), half_of(board)
    attackers, defenders = I64(0), I64(0)
    for rank in range(rules.size):
        row = I64(board[rank])
        while row:
            place = trailing_zeros(row)
            row &= row - 1
            cell = rank * rules.size + (place & (half - 1))
            if place < half:
                black[attackers] = cell
                attackers += 1
            elif cell != king:
                white[defenders] = cell
                defenders += 1


@kernel
def rank_boards(
    tables: Tables,
    numbering: TierTables,
    boards: NDArray[np.uint32],
    tiers: NDArray[np.int32],
    entries: NDArray[np.int64],
) -> None:
    """Write each position's tier number and entry, or -1 if there is no such tier or entry."""
    rules, index = flat(tables), flat(numbering)
    soldiers, numbers = np.empty(2 * rules.cells, dtype=numbering.square.spot.dtype), np.empty(SCRATCH, dtype=np.int64)
    black, scratch = pointer(soldiers), pointer(numbers)
    white = advance(black, rules.cells)
    for number in range(len(boards)):
        board = advance(pointer(boards), number * board_items(rules.size))
        attackers, defenders = count_of(rules, board, 1), count_of(rules, board, 0)
        tier = tier_at(index, attackers, defenders)
        tiers[number], entries[number] = tier, -1
        if tier >= 0:
            men_of_board(rules, board, black, white)
            entries[number] = entry_of(index, tier, king_of(rules, board), black, white, scratch)
    keep(soldiers)
    keep(numbers)


@kernel
def unrank_entries(
    tables: Tables, numbering: TierTables, tier: int, entries: NDArray[np.int64], side: int, boards: NDArray[np.uint32]
) -> None:
    """Write the positions for the given entries of a tier to boards."""
    rules, index = flat(tables), flat(numbering)
    soldiers, numbers = np.empty(2 * rules.cells, dtype=numbering.square.spot.dtype), np.empty(SCRATCH, dtype=np.int64)
    black, scratch = pointer(soldiers), pointer(numbers)
    white = advance(black, rules.cells)
    for number in range(len(entries)):
        board = advance(pointer(boards), number * board_items(rules.size))
        king = men_of(index, tier, entries[number], black, white, scratch)
        set_board(rules, index, tier, king, black, white, side, board)
    keep(soldiers)
    keep(numbers)


@inlined
def set_board(
    rules: Tables,
    index: TierTables,
    tier: int,
    king: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    side: int,
    board: BoardArray,
) -> None:
    """Write a position in a tier to a board."""
    for line in range(2 * rules.size):
        board[line] = np.uint32(0)
    half = half_of(board)
    toggle(rules, board, king, half)
    for k in range(index.tier.attackers[tier]):
        toggle(rules, board, I64(black[k]), 0)
    for k in range(index.tier.defenders[tier]):
        toggle(rules, board, I64(white[k]), half)
    put_king(rules, board, king)
    put_side(rules, board, side)
    put_count(rules, board, 1, index.tier.attackers[tier])
    put_count(rules, board, 0, index.tier.defenders[tier])
