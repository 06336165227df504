"""A row and a column of a tier, opened in a workspace: as lists of cells and as a board.

A *row* fixes the king and the row soldiers; `open_row` writes them down, with the numbers
that the row gives to the cells left over. A *column* adds the column soldiers, attackers.
In a tier without defenders the attackers are the row soldiers and a row has one column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.workspace import BASE, CELLS, KING, ORBIT, RESIDUAL, STAMP
from tablut.engine.jit import I64, advance, called, inlined
from tablut.engine.kernels import toggle
from tablut.engine.layout import put_count, put_king, put_side
from tablut.indexing.tier_kernels import entry_of
from tablut.indexing.tier_tables import unrank_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Workspace
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

_STRIDE = 8
"""Columns up to which it is quicker to step on than to unrank."""


@called
def open_row(t: Tables, x: TierTables, w: Workspace, tier: int, row: int, side: int) -> None:
    """Set the workspace to a row of a tier, without column soldiers on the board; O(cells)."""
    s, c, board = x.square, w.cursor, w.here.board
    by_king = tier * s.kings
    orbit = I64(0)
    while orbit + 1 < s.kings and x.tier.first_row[by_king + orbit + 1] <= row:
        orbit += 1
    by_king += orbit
    kind, row_men = x.tier.row_kind[tier], x.tier.row_men[tier]
    king = I64(s.representative[orbit])
    c.head[ORBIT] = orbit
    c.head[BASE] = x.tier.base[by_king] + (row - x.tier.first_row[by_king]) * x.tier.width[by_king]
    c.head[RESIDUAL] = I64(x.row.residual[x.tier.meta_at[tier] + row])
    c.head[KING] = king
    c.head[STAMP] += 1
    for line in range(2 * t.size):
        board[line] = np.uint32(0)
    put_king(t, board, king)
    put_side(t, board, side)
    put_count(t, board, 1, x.tier.attackers[tier])
    put_count(t, board, 0, x.tier.defenders[tier])
    toggle(t, board, king, 16)
    combination = I64(x.row.combination[x.tier.meta_at[tier] + row])
    unrank_places(s.binomial, s.most, combination, row_men, s.cells, c.numbers)
    men = w.here.white if kind == 1 else w.here.black
    for k in range(row_men):
        cell = I64(s.spot[kind * s.cells + c.numbers[k]])
        c.row_cells[k] = cell
        men[k] = cell
        toggle(t, board, cell, kind << 4)
    if x.tier.column_men[tier] > 0:
        number_cells(x, w, row_men)
    else:
        # As if the row soldiers were column soldiers, for `open_later_row`.
        for number in range(s.cells):
            c.spot[number] = s.spot[kind * s.cells + number]


@inlined
def number_cells(x: TierTables, w: Workspace, row_men: int) -> None:
    """Give numbers to the cells that an open row leaves to column soldiers."""
    s, c = x.square, w.cursor
    count = I64(0)
    for cell in range(s.cells):
        c.number[cell] = -1
        if s.place[cell] >= 0:
            taken = cell == c.head[KING]
            for k in range(row_men):
                taken |= c.row_cells[k] == cell
            if not taken:
                c.number[cell] = count
                c.spot[count] = cell
                count += 1
    c.head[CELLS] = count


@called
def open_later_row(t: Tables, x: TierTables, w: Workspace, tier: int, row: int, before: int, side: int) -> None:
    """Set the workspace to a row, from an earlier one of the same king.

    Without column soldiers a row is a single position, and the next one hardly another.
    """
    if before < 0 or x.tier.column_men[tier] > 0:
        open_row(t, x, w, tier, row, side)
        return
    head = w.cursor.head
    head[BASE] += row - before
    head[RESIDUAL] = I64(x.row.residual[x.tier.meta_at[tier] + row])
    head[STAMP] += 1
    combinations = advance(x.row.combination, x.tier.meta_at[tier])
    row_men = x.tier.row_men[tier]
    steps = I64(combinations[row]) - I64(combinations[before])
    if steps <= _STRIDE:
        for _ in range(steps):
            next_column(t, w, row_men)
    else:
        close_column(t, w, row_men)
        open_column(t, x, w, row_men, I64(combinations[row]))


@inlined
def columns_of_row(x: TierTables, w: Workspace, column_men: int) -> int:
    """Return how many choices of cells an open row leaves to column soldiers."""
    return x.square.binomial[w.cursor.head[CELLS] * x.square.most + column_men]


@inlined
def open_column(t: Tables, x: TierTables, w: Workspace, column_men: int, column: int) -> None:
    """Put the column soldiers of an open row on the cells of a column; O(cells)."""
    if column_men > 0:
        c, s = w.cursor, x.square
        unrank_places(s.binomial, s.most, column, column_men, s.cells, c.numbers)
        for k in range(column_men):
            w.here.black[k] = c.spot[c.numbers[k]]
            toggle(t, w.here.board, I64(w.here.black[k]), 0)


@inlined
def close_column(t: Tables, w: Workspace, column_men: int) -> None:
    """Take the column soldiers off the board."""
    for k in range(column_men):
        toggle(t, w.here.board, I64(w.here.black[k]), 0)


@inlined
def next_column(t: Tables, w: Workspace, column_men: int) -> None:
    """Move the column soldiers on to the next column, which must exist; two of them move, on average."""
    c, board, black = w.cursor, w.here.board, w.here.black
    k = I64(0)
    while k + 1 < column_men and c.numbers[k] + 1 == c.numbers[k + 1]:
        toggle(t, board, I64(black[k]), 0)
        k += 1
    toggle(t, board, I64(black[k]), 0)
    c.numbers[k] += 1
    black[k] = c.spot[c.numbers[k]]
    toggle(t, board, I64(black[k]), 0)
    for low in range(k):
        c.numbers[low] = low
        black[low] = c.spot[low]
        toggle(t, board, I64(black[low]), 0)


@inlined
def step_to(t: Tables, x: TierTables, w: Workspace, column_men: int, at: int, column: int) -> None:
    """Move the column soldiers of an open row on from one column to a later one."""
    if at >= 0 and column - at <= _STRIDE:
        for _ in range(column - at):
            next_column(t, w, column_men)
    else:
        if at >= 0:
            close_column(t, w, column_men)
        open_column(t, x, w, column_men, column)


@inlined
def next_run(numbers: NDArray[np.int64], column_men: int) -> None:
    """Move the column soldiers but the lowest on to the next choice of cells for them."""
    k = I64(1)
    while k + 1 < column_men and numbers[k] + 1 == numbers[k + 1]:
        numbers[k] = k
        k += 1
    if k < column_men:
        numbers[k] += 1


@called
def is_alias(x: TierTables, w: Workspace, tier: int, entry: int) -> bool:
    """Return whether the open position is ranked elsewhere; only a row with a residual group has such."""
    return entry_of(x, tier, w.cursor.head[KING], w.here.black, w.here.white, w.scratch) != entry
