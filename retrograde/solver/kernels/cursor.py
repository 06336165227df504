"""The open position of a tier, and the entries to which its moves lead.

A *row* fixes the king and the row soldiers. `open_row` writes them to the workspace, together with the numbers
that the row gives to the remaining cells. Within a row, a *column* fixes the cells of the column soldiers, which are
attackers. In a tier without defenders the attackers are the row soldiers, and a row has one column.

`attacker_entry` and `white_entry` avoid ranking the moved position from its list of cells. A move of an attacker
changes one term of the column's rank. A move of a defender or the king leads to another row, which numbers all cells
differently. These numbers depend only on the row, so they are computed once for each row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.workspace import BASE, CELLS, KING, ORBIT, RESIDUAL, STAMP
from tablut.engine.attacks import slides_along
from tablut.engine.jit import I64, advance, called, inlined, items_at
from tablut.engine.kernels import toggle
from tablut.engine.layout import (
    BoardArray,
    coordinates,
    count_of,
    half_of,
    king_of,
    line_of,
    occupied,
    put_count,
    put_king,
    put_side,
    side_of,
)
from tablut.indexing.tier_kernels import ROOM, entry_of, men_of_board, place_of, row_at, tier_at
from tablut.indexing.tier_tables import combination_rank, sort_in, unrank_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Workspace
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

_STRIDE = 8
"""Number of columns up to which stepping is faster than unranking."""


@inlined
def rows_of_king(index: TierTables, tier: int, orbit: int, first: int, last: int) -> tuple[int, int, int, int]:
    """Return the part of a range of rows that has a given king.

    The result is the first row, the end, the first row's first entry and the number of columns of each row.
    """
    by_king = tier * index.square.kings + orbit
    start, width = index.tier.first_row[by_king], index.tier.width[by_king]
    begin, end = max(I64(first), start), min(I64(last), start + index.tier.row_count[by_king])
    return begin, end, index.tier.base[by_king] + (begin - start) * width, width


@inlined
def are_all_rows(index: TierTables, tier: int, orbit: int, begin: int, end: int) -> bool:
    """Return whether a range of rows is not empty and contains all rows of a king."""
    by_king = tier * index.square.kings + orbit
    return begin < end and begin == index.tier.first_row[by_king] and end == begin + index.tier.row_count[by_king]


@called
def open_row(rules: Tables, index: TierTables, work: Workspace, tier: int, row: int, side: int) -> None:
    """Set the workspace to a row of a tier, with no column soldiers on the board; O(cells)."""
    square, cursor, board = index.square, work.cursor, work.here.board
    by_king = tier * square.kings
    orbit = I64(0)
    while orbit + 1 < square.kings and index.tier.first_row[by_king + orbit + 1] <= row:
        orbit += 1
    by_king += orbit
    kind, row_men = index.tier.row_kind[tier], index.tier.row_men[tier]
    king = I64(square.representative[orbit])
    cursor.head[ORBIT] = orbit
    cursor.head[BASE] = index.tier.base[by_king] + (row - index.tier.first_row[by_king]) * index.tier.width[by_king]
    cursor.head[RESIDUAL] = I64(index.row.residual[index.tier.meta_at[tier] + row])
    cursor.head[KING] = king
    cursor.head[STAMP] += 1
    for line in range(2 * rules.size):
        board[line] = np.uint32(0)
    put_king(rules, board, king)
    put_side(rules, board, side)
    put_count(rules, board, 1, index.tier.attackers[tier])
    put_count(rules, board, 0, index.tier.defenders[tier])
    toggle(rules, board, king, half_of(board))
    combination = I64(index.row.combination[index.tier.meta_at[tier] + row])
    unrank_places(square.binomial, square.most, combination, row_men, square.cells, cursor.numbers)
    men = work.here.white if kind == 1 else work.here.black
    for k in range(row_men):
        cell = I64(square.spot[kind * square.cells + cursor.numbers[k]])
        cursor.row_cells[k] = cell
        men[k] = cell
        toggle(rules, board, cell, kind * half_of(board))
    if index.tier.column_men[tier] > 0:
        number_cells(index, work, row_men)
    else:
        # Treat the row soldiers as column soldiers, for `open_later_row`.
        for number in range(square.cells):
            cursor.spot[number] = square.spot[kind * square.cells + number]


@inlined
def number_cells(index: TierTables, work: Workspace, row_men: int) -> None:
    """Assign numbers to the cells that the open row leaves to column soldiers."""
    square, cursor = index.square, work.cursor
    count = I64(0)
    for cell in range(square.cells):
        cursor.number[cell] = -1
        if square.place[cell] >= 0:
            taken = cell == cursor.head[KING]
            for k in range(row_men):
                taken |= cursor.row_cells[k] == cell
            if not taken:
                cursor.number[cell] = count
                cursor.spot[count] = cell
                count += 1
    cursor.head[CELLS] = count


@called
def open_later_row(
    rules: Tables, index: TierTables, work: Workspace, tier: int, row: int, before: int, side: int
) -> None:
    """Set the workspace to a row, starting from an earlier row of the same king if such a row is open.

    Without column soldiers a row is a single position, and the next one differs little from it.
    """
    if before < 0 or index.tier.column_men[tier] > 0:
        open_row(rules, index, work, tier, row, side)
        return
    head = work.cursor.head
    head[BASE] += row - before
    head[RESIDUAL] = I64(index.row.residual[index.tier.meta_at[tier] + row])
    head[STAMP] += 1
    combinations = advance(index.row.combination, index.tier.meta_at[tier])
    row_men = index.tier.row_men[tier]
    steps = I64(combinations[row]) - I64(combinations[before])
    if steps <= _STRIDE:
        for _ in range(steps):
            next_column(rules, work, row_men)
    else:
        close_column(rules, work, row_men)
        open_column(rules, index, work, row_men, I64(combinations[row]))


@inlined
def columns_of_row(index: TierTables, work: Workspace, column_men: int) -> int:
    """Return the number of columns of the open row: the ways to place the column soldiers."""
    return index.square.binomial[work.cursor.head[CELLS] * index.square.most + column_men]


@inlined
def open_column(rules: Tables, index: TierTables, work: Workspace, column_men: int, column: int) -> None:
    """Put the column soldiers of the open row on the cells of a column; O(cells)."""
    if column_men > 0:
        cursor, square = work.cursor, index.square
        unrank_places(square.binomial, square.most, column, column_men, square.cells, cursor.numbers)
        for k in range(column_men):
            work.here.black[k] = cursor.spot[cursor.numbers[k]]
            toggle(rules, work.here.board, I64(work.here.black[k]), 0)


@inlined
def close_column(rules: Tables, work: Workspace, column_men: int) -> None:
    """Take the column soldiers off the board."""
    for k in range(column_men):
        toggle(rules, work.here.board, I64(work.here.black[k]), 0)


@inlined
def next_column(rules: Tables, work: Workspace, column_men: int) -> None:
    """Move the column soldiers to the next column, which must exist; two of them move on average."""
    cursor, board, black = work.cursor, work.here.board, work.here.black
    k = I64(0)
    while k + 1 < column_men and cursor.numbers[k] + 1 == cursor.numbers[k + 1]:
        toggle(rules, board, I64(black[k]), 0)
        k += 1
    toggle(rules, board, I64(black[k]), 0)
    cursor.numbers[k] += 1
    black[k] = cursor.spot[cursor.numbers[k]]
    toggle(rules, board, I64(black[k]), 0)
    for low in range(k):
        cursor.numbers[low] = low
        black[low] = cursor.spot[low]
        toggle(rules, board, I64(black[low]), 0)


@inlined
def step_to(rules: Tables, index: TierTables, work: Workspace, column_men: int, at: int, column: int) -> None:
    """Move the column soldiers of the open row from one column to a later one; ``at`` is -1 if none is open."""
    if at >= 0 and column - at <= _STRIDE:
        for _ in range(column - at):
            next_column(rules, work, column_men)
    else:
        if at >= 0:
            close_column(rules, work, column_men)
        open_column(rules, index, work, column_men, column)


@inlined
def first_run(numbers: NDArray[np.int64], column_men: int, width: int) -> int:
    """Write the first choice of cells for the column soldiers; return the length of its run.

    A run consists of the columns that differ only in their lowest soldier.
    """
    for k in range(column_men):
        numbers[k] = k
    return numbers[1] if column_men > 1 else width


@inlined
def next_run(numbers: NDArray[np.int64], column_men: int, width: int) -> int:
    """Move all column soldiers but the lowest to their next choice of cells; return the length of the run."""
    k = I64(1)
    while k + 1 < column_men and numbers[k] + 1 == numbers[k + 1]:
        numbers[k] = k
        k += 1
    if k < column_men:
        numbers[k] += 1
    return numbers[1] if column_men > 1 else width


@called
def is_alias(index: TierTables, work: Workspace, tier: int, entry: int) -> bool:
    """Return whether the open position is ranked at another entry. This occurs only in rows with a residual group."""
    return entry_of(index, tier, work.cursor.head[KING], work.here.black, work.here.white, work.scratch) != entry


# -- symmetries ----------------------------------------------------------------------------


@inlined
def _keeps(table: NDArray[np.uint8], cells: NDArray[np.uint8], count: int) -> bool:
    """Return whether a permutation maps a list of cells to the same cells."""
    for k in range(count):
        found = False
        for other in range(count):
            found |= cells[other] == table[I64(cells[k])]
        if not found:
            return False
    return True


@called
def symmetry_order(index: TierTables, tier: int, king: int, black: NDArray[np.uint8], white: NDArray[np.uint8]) -> int:
    """Return how many elements of the group leave a position unchanged; O(elements * men * men)."""
    count = I64(1)
    for element in range(1, index.square.elements):
        table = advance(index.square.image, element * index.square.cells)
        if I64(table[king]) == king and _keeps(table, black, index.tier.attackers[tier]):
            count += I64(_keeps(table, white, index.tier.defenders[tier]))
    return count


# -- the entries that moves lead to --------------------------------------------------------


_MISSING, _GENERIC = -1, -2
"""Values in place of a base: there is no such entry; the row has aliases, so the rank must be found from all images."""


@inlined
def prepare_attacker(index: TierTables, work: Workspace, man: int, men: int) -> None:
    """Write the terms that the other attackers contribute to a rank, for `attacker_entry`; O(men).

    If j of the others are below the attacker, these contribute ``others[ROOM + j]``, and
    the ones above it ``others[2 * ROOM + j]``.
    """
    others, binomial, most = work.others, index.square.binomial, index.square.most
    for k in range(men - 1):
        others[k] = work.cursor.numbers[k + (1 if k >= man else 0)]
    total = I64(0)
    for k in range(men - 1):
        others[ROOM + k] = total
        total += binomial[others[k] * most + k + 1]
    others[ROOM + men - 1] = total
    total = I64(0)
    for k in range(men - 1, 0, -1):
        others[2 * ROOM + k] = total
        total += binomial[others[k - 1] * most + k + 1]
    others[2 * ROOM] = total


@inlined
def attacker_entry(index: TierTables, work: Workspace, tier: int, man: int, target: int) -> int:
    """Return the entry of the open position with one attacker moved to a cell, or -1 if there is none; O(men)."""
    head, square = work.cursor.head, index.square
    column_men, men = index.tier.column_men[tier], index.tier.attackers[tier]
    if column_men > 0 and head[RESIDUAL] != 1:
        return _moved_entry(index, work, tier, 1, man, target)
    number = I64(work.cursor.number[target]) if column_men > 0 else I64(square.place[target])
    if number < 0:
        return I64(-1)
    others = work.others
    below = I64(0)
    while below < men - 1 and others[below] < number:
        below += 1
    rank = others[ROOM + below] + square.binomial[number * square.most + below + 1] + others[2 * ROOM + below]
    if column_men > 0:
        return head[BASE] + rank
    orbit = head[ORBIT]
    row = I64(index.row.number[index.tier.rows_at[tier] + orbit * index.tier.row_space[tier] + rank])
    return index.tier.base[tier * square.kings + orbit] + row if row >= 0 else I64(-1)


@inlined
def white_entry(index: TierTables, work: Workspace, tier: int, man: int, target: int) -> int:
    """Return the entry of the open position with a defender or the king moved to a cell, else -1; O(men * men)."""
    column_men = index.tier.column_men[tier]
    if column_men == 0:
        return _moved_entry(index, work, tier, 0, man, target)
    key = man * index.square.cells + target
    if work.hops.stamp[key] != work.cursor.head[STAMP]:
        _find_hop(index, work, tier, man, target)
    base = work.hops.base[key]
    if base < 0:
        return _moved_entry(index, work, tier, 0, man, target) if base == _GENERIC else I64(-1)
    numbers = advance(work.hops.number, key * index.square.cells)
    for k in range(column_men):
        sort_in(work.scratch, k, I64(numbers[work.cursor.numbers[k]]))
    return base + combination_rank(index.square.binomial, index.square.most, work.scratch, column_men)


@called
def _moved_entry(index: TierTables, work: Workspace, tier: int, side: int, man: int, target: int) -> int:
    """Return the entry of the open position with one man of a side moved to a cell, from the lists of cells."""
    black, white, king = work.here.black, work.here.white, work.cursor.head[KING]
    if side == 0 and man == index.tier.defenders[tier]:
        return entry_of(index, tier, target, black, white, work.scratch)
    men = black if side == 1 else white
    cell = men[man]
    men[man] = target
    entry = entry_of(index, tier, king, black, white, work.scratch)
    men[man] = cell
    return entry


@called
def _find_hop(index: TierTables, work: Workspace, tier: int, man: int, target: int) -> None:
    """Find the row that a move of a defender or the king reaches from the current row."""
    key, cursor = man * index.square.cells + target, work.cursor
    work.hops.stamp[key] = cursor.head[STAMP]
    if man == index.tier.row_men[tier]:
        _write_hop(index, work, tier, key, target)
        return
    here = cursor.row_cells[man]
    cursor.row_cells[man] = target
    _write_hop(index, work, tier, key, cursor.head[KING])
    cursor.row_cells[man] = here


@inlined
def _write_hop(index: TierTables, work: Workspace, tier: int, key: int, king: int) -> None:
    """Write the hop to the row of a king and of the current row soldiers: its base, and its numbers of cells."""
    square, hops, cursor, row_men = index.square, work.hops, work.cursor, index.tier.row_men[tier]
    hops.base[key] = _MISSING
    at = row_at(index, tier, king, cursor.row_cells, work.scratch)
    if at < 0:
        return
    orbit, row = I64(square.king[king]), I64(index.row.number[at])
    by_king = tier * square.kings + orbit
    if index.row.residual[index.tier.meta_at[tier] + index.tier.first_row[by_king] + row] != 1:
        hops.base[key] = _GENERIC
        return
    hops.base[key] = index.tier.base[by_king] + row * index.tier.width[by_king]
    element = I64(square.compose[(I64(index.row.element[at]) << 3) + I64(square.to_king[king])])
    for k in range(row_men):
        work.scratch[k] = I64(square.image[element * square.cells + cursor.row_cells[k]])
    for cell in range(square.cells):
        number = I64(cursor.number[cell])
        if number >= 0:
            there = place_of(index, orbit, work.scratch, row_men, I64(square.image[element * square.cells + cell]))
            hops.number[key * square.cells + number] = there & 0xFFFF


# -- plies -----------------------------------------------------------------------------------


@inlined
def piece_of(rules: Tables, work: Workspace, side: int, man: int, men: int) -> tuple[int, NDArray[np.uint32]]:
    """Return the cell of a man of the open position, and its table of slides."""
    if side == 1:
        return I64(work.here.black[man]), rules.attacker_slides
    if man == men - 1:
        return I64(work.cursor.head[KING]), rules.king_slides
    return I64(work.here.white[man]), rules.defender_slides


@called
def entry_on(rules: Tables, index: TierTables, work: Workspace, board: BoardArray) -> tuple[int, int]:
    """Return the tier and the entry of the position on a board; each is -1 if it does not exist."""
    tier = tier_at(index, count_of(rules, board, 1), count_of(rules, board, 0))
    if tier < 0:
        return tier, I64(-1)
    men_of_board(rules, board, work.below.black, work.below.white)
    return tier, entry_of(index, tier, king_of(rules, board), work.below.black, work.below.white, work.scratch)


@inlined
def capture_item(rules: Tables, index: TierTables, work: Workspace, board: BoardArray, lower: NDArray[np.int64]) -> int:
    """Return the item of the position on a board after a capture, from a lower tier; -1 if there is no such entry."""
    tier, entry = entry_on(rules, index, work, board)
    return I64(items_at(lower[2 * tier + side_of(rules, board)], np.uint16)[entry]) if entry >= 0 else I64(-1)


@inlined
def may_return(rules: Tables, board: BoardArray, slides: NDArray[np.uint32], start: int, target: int) -> bool:
    """Return whether a piece that moves to an empty cell without capturing could immediately move back."""
    rank, file = coordinates(rules, target)
    along_row = I64(rules.rank[start]) == rank
    line = rank if along_row else rules.size + file
    content = occupied(line_of(board, line))
    home = I64(rules.file[start]) if along_row else I64(rules.rank[start])
    back = slides_along(rules, slides, line, file if along_row else rank, (content & ~(1 << home)))
    return (back >> home) & 1 != 0
