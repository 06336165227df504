"""A thread's current position, and the entries after its moves.

`set_row` puts a row's king and row soldiers on the board, and numbers the cells that the row leaves for column
soldiers. `put_column` then places the column soldiers. In a tier without defenders, the attackers are the row soldiers,
and a row has only one column.

`entry_after` finds the entry after a move without ranking the new list of cells. A move by an attacker changes only one
term of the column's rank. A move by a defender or the king leads to another row, where all cells are numbered
differently. These numbers depend only on the row, and are computed once for each row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.context import BASE, CELLS, KING, ORBIT, RESIDUAL, STAMP
from tablut.engine.attacks import slides_along, slides_from
from tablut.engine.jit import I64, advance, called, inlined, items_at
from tablut.engine.kernels import toggle
from tablut.engine.layout import (
    BoardArray,
    coordinates,
    count_of,
    cross_of,
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
from tablut.indexing.tier_tables import next_places, rank_places, sort_in, unrank_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.context import Context
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

_STRIDE = 8
"""Maximum distance, in columns, at which stepping from column to column is faster than unranking."""


@inlined
def rows_of_king(index: TierTables, tier: int, orbit: int, first: int, last: int) -> tuple[int, int, int, int]:
    """Return the rows in a range with the king in a given orbit.

    The results are the first of these rows, the row after the last of them, the first entry of the first row, and the
    number of columns in each row.
    """
    by_king = tier * index.square.kings + orbit
    start, width = index.tier.first_row[by_king], index.tier.width[by_king]
    begin, end = max(I64(first), start), min(I64(last), start + index.tier.row_count[by_king])
    return begin, end, index.tier.base[by_king] + (begin - start) * width, width


@inlined
def are_all_rows(index: TierTables, tier: int, orbit: int, begin: int, end: int) -> bool:
    """Return whether a range of rows is not empty and consists of all rows of a king's orbit."""
    by_king = tier * index.square.kings + orbit
    return begin < end and begin == index.tier.first_row[by_king] and end == begin + index.tier.row_count[by_king]


@called
def set_row(context: Context, tier: int, row: int, side: int) -> None:
    """Make a row of a tier the current row, without column soldiers on the board, in O(cells) time."""
    rules, index, here = context.rules, context.tiers, context.here
    square, cursor, board = index.square, context.cursor, here.board
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
    men = here.white if kind == 1 else here.black
    for k in range(row_men):
        cell = I64(square.spot[kind * square.cells + cursor.numbers[k]])
        cursor.row_cells[k] = cell
        men[k] = cell
        toggle(rules, board, cell, kind * half_of(board))
    if index.tier.column_men[tier] > 0:
        number_cells(context, row_men)
    else:
        # For `set_later_row`, treat the row soldiers as column soldiers.
        for number in range(square.cells):
            cursor.spot[number] = square.spot[kind * square.cells + number]


@inlined
def number_cells(context: Context, row_men: int) -> None:
    """Assign numbers to the cells that the current row leaves for column soldiers."""
    square, cursor = context.tiers.square, context.cursor
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
def set_later_row(context: Context, tier: int, row: int, before: int, side: int) -> None:
    """Make a row the current row. ``before`` is the previous current row, or -1 if there is none with the same king.

    Without column soldiers, a row is a single position. The next row differs little from it, and only a few soldiers
    have to be moved.
    """
    index = context.tiers
    if before < 0 or index.tier.column_men[tier] > 0:
        set_row(context, tier, row, side)
        return
    head = context.cursor.head
    head[BASE] += row - before
    head[RESIDUAL] = I64(index.row.residual[index.tier.meta_at[tier] + row])
    head[STAMP] += 1
    combinations = advance(index.row.combination, index.tier.meta_at[tier])
    row_men = index.tier.row_men[tier]
    steps = I64(combinations[row]) - I64(combinations[before])
    if steps <= _STRIDE:
        for _ in range(steps):
            next_column(context, row_men)
    else:
        clear_column(context, row_men)
        put_column(context, row_men, I64(combinations[row]))


@inlined
def columns_of_row(context: Context, column_men: int) -> int:
    """Return the number of columns in the current row, that is, the number of ways to place the column soldiers."""
    return context.tiers.square.binomial[context.cursor.head[CELLS] * context.tiers.square.most + column_men]


@inlined
def put_column(context: Context, column_men: int, column: int) -> None:
    """Put the current row's column soldiers on the cells of a column, in O(cells) time."""
    here = context.here
    if column_men > 0:
        cursor, square = context.cursor, context.tiers.square
        unrank_places(square.binomial, square.most, column, column_men, square.cells, cursor.numbers)
        for k in range(column_men):
            here.black[k] = cursor.spot[cursor.numbers[k]]
            toggle(context.rules, here.board, I64(here.black[k]), 0)


@inlined
def clear_column(context: Context, column_men: int) -> None:
    """Take the column soldiers off the board."""
    for k in range(column_men):
        toggle(context.rules, context.here.board, I64(context.here.black[k]), 0)


@inlined
def next_column(context: Context, column_men: int) -> None:
    """Move the column soldiers to the next column, which must exist. On average, two soldiers move."""
    rules = context.rules
    cursor, board, black = context.cursor, context.here.board, context.here.black
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
def step_to(context: Context, column_men: int, at: int, column: int) -> None:
    """Move the current row's column soldiers from column ``at`` (-1 if no column is set) to a later column."""
    if at >= 0 and column - at <= _STRIDE:
        for _ in range(column - at):
            next_column(context, column_men)
    else:
        if at >= 0:
            clear_column(context, column_men)
        put_column(context, column_men, column)


@inlined
def first_run(numbers: NDArray[np.int64], column_men: int, width: int) -> int:
    """Write the cell numbers for the first column, and return the length of its run.

    A run consists of the columns that differ only in their lowest soldier. These columns are consecutive.
    """
    for k in range(column_men):
        numbers[k] = k
    return numbers[1] if column_men > 1 else width


@inlined
def next_run(numbers: NDArray[np.int64], column_men: int, width: int) -> int:
    """Write the next run's cell numbers for all column soldiers except the lowest. Return the run's length."""
    next_places(numbers, 1, column_men)
    return numbers[1] if column_men > 1 else width


@inlined
def _rank_men(context: Context, tier: int, king: int) -> int:
    """Return the entry of the position with the current soldiers and the king on a given cell, or -1 if it has none."""
    return entry_of(context.tiers, tier, king, context.here.black, context.here.white, context.scratch)


@called
def is_alias(context: Context, tier: int, entry: int) -> bool:
    """Return whether the current position is ranked at an entry other than the given one."""
    return _rank_men(context, tier, context.cursor.head[KING]) != entry


# -- symmetries ----------------------------------------------------------------------------


@inlined
def _keeps(table: NDArray[np.uint8], cells: NDArray[np.uint8], count: int) -> bool:
    """Return whether a permutation of the cells maps a set of cells, given as a list, to itself."""
    for k in range(count):
        found = False
        for other in range(count):
            found |= cells[other] == table[I64(cells[k])]
        if not found:
            return False
    return True


@called
def symmetry_order(index: TierTables, tier: int, king: int, black: NDArray[np.uint8], white: NDArray[np.uint8]) -> int:
    """Return the number of symmetries that leave a position unchanged, in O(symmetries * men²) time."""
    count = I64(1)
    for element in range(1, index.square.elements):
        table = advance(index.square.image, element * index.square.cells)
        if I64(table[king]) == king and _keeps(table, black, index.tier.attackers[tier]):
            count += I64(_keeps(table, white, index.tier.defenders[tier]))
    return count


# -- the entries after moves ---------------------------------------------------------------


_MISSING, _GENERIC = -1, -2
"""Values that replace a row's first entry. The first means that there is no such row. The second means that the row can
have aliases, so the position must be ranked from its cells."""


@inlined
def _prepare_attacker(context: Context, man: int, men: int) -> None:
    """Prepare `entry_after` for one attacker's moves by writing the other attackers' terms of the rank.

    If j of the other attackers have lower numbers than the moved attacker, they contribute ``others[ROOM + j]`` to the
    rank, and those with higher numbers contribute ``others[2 * ROOM + j]``. The preparation takes O(men) time.
    """
    others, binomial, most = context.others, context.tiers.square.binomial, context.tiers.square.most
    for k in range(men - 1):
        others[k] = context.cursor.numbers[k + (1 if k >= man else 0)]
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
def _attacker_entry(context: Context, tier: int, man: int, target: int) -> int:
    """Return the position's entry after a quiet move by an attacker, or -1 if it has none, in O(men) time."""
    index = context.tiers
    head, square = context.cursor.head, index.square
    column_men, men = index.tier.column_men[tier], index.tier.attackers[tier]
    if column_men > 0 and head[RESIDUAL] != 1:
        return _moved_entry(context, tier, 1, man, target)
    number = I64(context.cursor.number[target]) if column_men > 0 else I64(square.place[target])
    if number < 0:
        return I64(-1)
    others = context.others
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
def _white_entry(context: Context, tier: int, man: int, target: int) -> int:
    """Return the position's entry after a quiet move by a defender or the king, or -1 if it has none.

    The function takes O(men²) time.
    """
    index = context.tiers
    column_men = index.tier.column_men[tier]
    if column_men == 0:
        return _moved_entry(context, tier, 0, man, target)
    key = man * index.square.cells + target
    if context.row_moves.stamp[key] != context.cursor.head[STAMP]:
        _find_row_move(context, tier, man, target)
    base = context.row_moves.base[key]
    if base < 0:
        return _moved_entry(context, tier, 0, man, target) if base == _GENERIC else I64(-1)
    numbers = advance(context.row_moves.number, key * index.square.cells)
    for k in range(column_men):
        sort_in(context.scratch, k, I64(numbers[context.cursor.numbers[k]]))
    return base + rank_places(index.square.binomial, index.square.most, context.scratch, column_men)


@inlined
def prepare_moves(context: Context, side: int, man: int, men: int) -> None:
    """Prepare `entry_after` for one man's moves, in O(men) time."""
    if side == 1:
        _prepare_attacker(context, man, men)


@inlined
def entry_after(context: Context, tier: int, side: int, man: int, target: int) -> int:
    """Return the position's entry after a side's man moves to a cell, or -1 if that position has no entry."""
    if side == 1:
        return _attacker_entry(context, tier, man, target)
    return _white_entry(context, tier, man, target)


@called
def _moved_entry(context: Context, tier: int, side: int, man: int, target: int) -> int:
    """Return the entry of the position after a quiet move by one man, computed by ranking all cells of the position."""
    if side == 0 and man == context.tiers.tier.defenders[tier]:
        return _rank_men(context, tier, target)
    men = context.here.black if side == 1 else context.here.white
    cell = men[man]
    men[man] = target
    entry = _rank_men(context, tier, context.cursor.head[KING])
    men[man] = cell
    return entry


@called
def _find_row_move(context: Context, tier: int, man: int, target: int) -> None:
    """Find the row after a move by a defender or the king from the current row, and store it in `RowMoves`."""
    key, cursor = man * context.tiers.square.cells + target, context.cursor
    context.row_moves.stamp[key] = cursor.head[STAMP]
    if man == context.tiers.tier.row_men[tier]:
        _write_row_move(context, tier, key, target)
        return
    here = cursor.row_cells[man]
    cursor.row_cells[man] = target
    _write_row_move(context, tier, key, cursor.head[KING])
    cursor.row_cells[man] = here


@inlined
def _write_row_move(context: Context, tier: int, key: int, king: int) -> None:
    """Store the first entry of the row with a given king and row soldiers, and the cells' numbers in this row."""
    index = context.tiers
    square, row_moves, cursor, row_men = index.square, context.row_moves, context.cursor, index.tier.row_men[tier]
    row_moves.base[key] = _MISSING
    at = row_at(index, tier, king, cursor.row_cells, context.scratch)
    if at < 0:
        return
    orbit, row = I64(square.king[king]), I64(index.row.number[at])
    by_king = tier * square.kings + orbit
    if index.row.residual[index.tier.meta_at[tier] + index.tier.first_row[by_king] + row] != 1:
        row_moves.base[key] = _GENERIC
        return
    row_moves.base[key] = index.tier.base[by_king] + row * index.tier.width[by_king]
    element = I64(square.compose[(I64(index.row.element[at]) << 3) + I64(square.to_king[king])])
    for k in range(row_men):
        context.scratch[k] = I64(square.image[element * square.cells + cursor.row_cells[k]])
    for cell in range(square.cells):
        number = I64(cursor.number[cell])
        if number >= 0:
            there = place_of(index, orbit, context.scratch, row_men, I64(square.image[element * square.cells + cell]))
            row_moves.number[key * square.cells + number] = there & 0xFFFF


# -- plies -----------------------------------------------------------------------------------


@inlined
def piece_of(context: Context, side: int, man: int, men: int) -> tuple[int, NDArray[np.uint32]]:
    """Return a man's cell in the current position, and the offsets of its slides."""
    rules = context.rules
    if side == 1:
        return I64(context.here.black[man]), rules.attacker_slides
    if man == men - 1:
        return I64(context.cursor.head[KING]), rules.king_slides
    return I64(context.here.white[man]), rules.defender_slides


@inlined
def moves_of(context: Context, side: int, man: int, men: int) -> tuple[int, int]:
    """Return a man's cell in the current position, and the targets of its moves as a cross."""
    start, slides = piece_of(context, side, man, men)
    along_rank, along_file = slides_from(context.rules, context.here.board, slides, start)
    return start, cross_of(along_rank, along_file)


@inlined
def count_men(index: TierTables, tier: int, side: int) -> int:
    """Return the number of men that a side has in a tier, including the king."""
    return index.tier.attackers[tier] if side == 1 else index.tier.defenders[tier] + 1


@called
def entry_on(context: Context, board: BoardArray) -> tuple[int, int]:
    """Return the tier and entry of the position on a board. A tier or entry that does not exist is -1."""
    rules = context.rules
    tier = tier_at(context.tiers, count_of(rules, board, 1), count_of(rules, board, 0))
    if tier < 0:
        return tier, I64(-1)
    men_of_board(rules, board, context.below.black, context.below.white)
    return tier, entry_of(
        context.tiers, tier, king_of(rules, board), context.below.black, context.below.white, context.scratch
    )


@inlined
def capture_item(context: Context, board: BoardArray, lower: NDArray[np.int64]) -> int:
    """Return the position's item after a capture, or -1 if it has no entry. The position is in a lower tier."""
    tier, entry = entry_on(context, board)
    return I64(items_at(lower[2 * tier + side_of(context.rules, board)], np.uint16)[entry]) if entry >= 0 else I64(-1)


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
