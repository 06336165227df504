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
def rows_of_king(x: TierTables, tier: int, orbit: int, first: int, last: int) -> tuple[int, int, int, int]:
    """Return the part of a range of rows that has a given king.

    The result is the first row, the end, the first row's first entry and the number of columns of each row.
    """
    by_king = tier * x.square.kings + orbit
    start, width = x.tier.first_row[by_king], x.tier.width[by_king]
    begin, end = max(I64(first), start), min(I64(last), start + x.tier.row_count[by_king])
    return begin, end, x.tier.base[by_king] + (begin - start) * width, width


@inlined
def are_all_rows(x: TierTables, tier: int, orbit: int, begin: int, end: int) -> bool:
    """Return whether a range of rows is not empty and contains all rows of a king."""
    by_king = tier * x.square.kings + orbit
    return begin < end and begin == x.tier.first_row[by_king] and end == begin + x.tier.row_count[by_king]


@called
def open_row(t: Tables, x: TierTables, w: Workspace, tier: int, row: int, side: int) -> None:
    """Set the workspace to a row of a tier, with no column soldiers on the board; O(cells)."""
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
    toggle(t, board, king, half_of(board))
    combination = I64(x.row.combination[x.tier.meta_at[tier] + row])
    unrank_places(s.binomial, s.most, combination, row_men, s.cells, c.numbers)
    men = w.here.white if kind == 1 else w.here.black
    for k in range(row_men):
        cell = I64(s.spot[kind * s.cells + c.numbers[k]])
        c.row_cells[k] = cell
        men[k] = cell
        toggle(t, board, cell, kind * half_of(board))
    if x.tier.column_men[tier] > 0:
        number_cells(x, w, row_men)
    else:
        # Treat the row soldiers as column soldiers, for `open_later_row`.
        for number in range(s.cells):
            c.spot[number] = s.spot[kind * s.cells + number]


@inlined
def number_cells(x: TierTables, w: Workspace, row_men: int) -> None:
    """Assign numbers to the cells that the open row leaves to column soldiers."""
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
    """Set the workspace to a row, starting from an earlier row of the same king if such a row is open.

    Without column soldiers a row is a single position, and the next one differs little from it.
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
    """Return the number of columns of the open row: the ways to place the column soldiers."""
    return x.square.binomial[w.cursor.head[CELLS] * x.square.most + column_men]


@inlined
def open_column(t: Tables, x: TierTables, w: Workspace, column_men: int, column: int) -> None:
    """Put the column soldiers of the open row on the cells of a column; O(cells)."""
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
    """Move the column soldiers to the next column, which must exist; two of them move on average."""
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
    """Move the column soldiers of the open row from one column to a later one; ``at`` is -1 if none is open."""
    if at >= 0 and column - at <= _STRIDE:
        for _ in range(column - at):
            next_column(t, w, column_men)
    else:
        if at >= 0:
            close_column(t, w, column_men)
        open_column(t, x, w, column_men, column)


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
def is_alias(x: TierTables, w: Workspace, tier: int, entry: int) -> bool:
    """Return whether the open position is ranked at another entry. This occurs only in rows with a residual group."""
    return entry_of(x, tier, w.cursor.head[KING], w.here.black, w.here.white, w.scratch) != entry


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
def symmetry_order(x: TierTables, tier: int, king: int, black: NDArray[np.uint8], white: NDArray[np.uint8]) -> int:
    """Return how many elements of the group leave a position unchanged; O(elements * men * men)."""
    count = I64(1)
    for element in range(1, x.square.elements):
        table = advance(x.square.image, element * x.square.cells)
        if I64(table[king]) == king and _keeps(table, black, x.tier.attackers[tier]):
            count += I64(_keeps(table, white, x.tier.defenders[tier]))
    return count


# -- the entries that moves lead to --------------------------------------------------------


_MISSING, _GENERIC = -1, -2
"""Values in place of a base: there is no such entry; the row has aliases, so the rank must be found from all images."""


@inlined
def prepare_attacker(x: TierTables, w: Workspace, man: int, men: int) -> None:
    """Write the terms that the other attackers contribute to a rank, for `attacker_entry`; O(men).

    If j of the others are below the attacker, these contribute ``others[ROOM + j]``, and
    the ones above it ``others[2 * ROOM + j]``.
    """
    others, binomial, most = w.others, x.square.binomial, x.square.most
    for k in range(men - 1):
        others[k] = w.cursor.numbers[k + (1 if k >= man else 0)]
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
def attacker_entry(x: TierTables, w: Workspace, tier: int, man: int, target: int) -> int:
    """Return the entry of the open position with one attacker moved to a cell, or -1 if there is none; O(men)."""
    head, s = w.cursor.head, x.square
    column_men, men = x.tier.column_men[tier], x.tier.attackers[tier]
    if column_men > 0 and head[RESIDUAL] != 1:
        return _moved_entry(x, w, tier, 1, man, target)
    number = I64(w.cursor.number[target]) if column_men > 0 else I64(s.place[target])
    if number < 0:
        return I64(-1)
    others = w.others
    below = I64(0)
    while below < men - 1 and others[below] < number:
        below += 1
    rank = others[ROOM + below] + s.binomial[number * s.most + below + 1] + others[2 * ROOM + below]
    if column_men > 0:
        return head[BASE] + rank
    orbit = head[ORBIT]
    row = I64(x.row.number[x.tier.rows_at[tier] + orbit * x.tier.row_space[tier] + rank])
    return x.tier.base[tier * s.kings + orbit] + row if row >= 0 else I64(-1)


@inlined
def white_entry(x: TierTables, w: Workspace, tier: int, man: int, target: int) -> int:
    """Return the entry of the open position with a defender or the king moved to a cell, else -1; O(men * men)."""
    column_men = x.tier.column_men[tier]
    if column_men == 0:
        return _moved_entry(x, w, tier, 0, man, target)
    key = man * x.square.cells + target
    if w.hops.stamp[key] != w.cursor.head[STAMP]:
        _find_hop(x, w, tier, man, target)
    base = w.hops.base[key]
    if base < 0:
        return _moved_entry(x, w, tier, 0, man, target) if base == _GENERIC else I64(-1)
    numbers = advance(w.hops.number, key * x.square.cells)
    for k in range(column_men):
        sort_in(w.scratch, k, I64(numbers[w.cursor.numbers[k]]))
    return base + combination_rank(x.square.binomial, x.square.most, w.scratch, column_men)


@called
def _moved_entry(x: TierTables, w: Workspace, tier: int, side: int, man: int, target: int) -> int:
    """Return the entry of the open position with one man of a side moved to a cell, from the lists of cells."""
    black, white, king = w.here.black, w.here.white, w.cursor.head[KING]
    if side == 0 and man == x.tier.defenders[tier]:
        return entry_of(x, tier, target, black, white, w.scratch)
    men = black if side == 1 else white
    cell = men[man]
    men[man] = target
    entry = entry_of(x, tier, king, black, white, w.scratch)
    men[man] = cell
    return entry


@called
def _find_hop(x: TierTables, w: Workspace, tier: int, man: int, target: int) -> None:
    """Find the row that a move of a defender or the king reaches from the current row."""
    key, c = man * x.square.cells + target, w.cursor
    w.hops.stamp[key] = c.head[STAMP]
    if man == x.tier.row_men[tier]:
        _write_hop(x, w, tier, key, target)
        return
    here = c.row_cells[man]
    c.row_cells[man] = target
    _write_hop(x, w, tier, key, c.head[KING])
    c.row_cells[man] = here


@inlined
def _write_hop(x: TierTables, w: Workspace, tier: int, key: int, king: int) -> None:
    """Write the hop to the row of a king and of the current row soldiers: its base, and its numbers of cells."""
    s, h, c, row_men = x.square, w.hops, w.cursor, x.tier.row_men[tier]
    h.base[key] = _MISSING
    at = row_at(x, tier, king, c.row_cells, w.scratch)
    if at < 0:
        return
    orbit, row = I64(s.king[king]), I64(x.row.number[at])
    by_king = tier * s.kings + orbit
    if x.row.residual[x.tier.meta_at[tier] + x.tier.first_row[by_king] + row] != 1:
        h.base[key] = _GENERIC
        return
    h.base[key] = x.tier.base[by_king] + row * x.tier.width[by_king]
    element = I64(s.compose[(I64(x.row.element[at]) << 3) + I64(s.to_king[king])])
    for k in range(row_men):
        w.scratch[k] = I64(s.image[element * s.cells + c.row_cells[k]])
    for cell in range(s.cells):
        number = I64(c.number[cell])
        if number >= 0:
            there = place_of(x, orbit, w.scratch, row_men, I64(s.image[element * s.cells + cell]))
            h.number[key * s.cells + number] = there & 0xFFFF


# -- plies -----------------------------------------------------------------------------------


@inlined
def piece_of(t: Tables, w: Workspace, side: int, man: int, men: int) -> tuple[int, NDArray[np.uint32]]:
    """Return the cell of a man of the open position, and its table of slides."""
    if side == 1:
        return I64(w.here.black[man]), t.attacker_slides
    if man == men - 1:
        return I64(w.cursor.head[KING]), t.king_slides
    return I64(w.here.white[man]), t.defender_slides


@called
def entry_on(t: Tables, x: TierTables, w: Workspace, board: NDArray[np.uint32]) -> tuple[int, int]:
    """Return the tier and the entry of the position on a board; each is -1 if it does not exist."""
    tier = tier_at(x, count_of(t, board, 1), count_of(t, board, 0))
    if tier < 0:
        return tier, I64(-1)
    men_of_board(t, board, w.below.black, w.below.white)
    return tier, entry_of(x, tier, king_of(t, board), w.below.black, w.below.white, w.scratch)


@inlined
def capture_item(t: Tables, x: TierTables, w: Workspace, board: NDArray[np.uint32], lower: NDArray[np.int64]) -> int:
    """Return the item of the position on a board after a capture, from a lower tier; -1 if there is no such entry."""
    tier, entry = entry_on(t, x, w, board)
    return I64(items_at(lower[2 * tier + side_of(t, board)], np.uint16)[entry]) if entry >= 0 else I64(-1)


@inlined
def may_return(t: Tables, board: NDArray[np.uint32], slides: NDArray[np.uint32], start: int, target: int) -> bool:
    """Return whether a piece that moves to an empty cell without capturing could immediately move back."""
    rank, file = coordinates(t, target)
    along_row = I64(t.rank[start]) == rank
    line = rank if along_row else t.size + file
    content = occupied(line_of(board, line))
    home = I64(t.file[start]) if along_row else I64(t.rank[start])
    back = slides_along(t, slides, line, file if along_row else rank, (content & ~(1 << home)))
    return (back >> home) & 1 != 0
