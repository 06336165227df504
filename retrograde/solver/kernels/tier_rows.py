"""Evaluating whole rows with black to move, using bit masks of cells instead of single moves.

Suppose that one column soldier is taken off the board. The cells of the remaining column soldiers are called a
*choice*. For each choice, masks of the board's lines contain the cells where the missing soldier would make an open
position (one where white is to move but is not known to win), and the cells where it would capture. `LineSources`
contains the cells from which a soldier can move to any of these cells, for a whole line at a time. The result is a few
bits, the *marks*, for each choice and cell. Together, all column soldiers' marks decide the value of a position. Most
positions are lost, and never have to be put on a board.

Columns that differ only in their lowest soldier are consecutive, and form a *run*. If one of the other soldiers is
removed, the remaining choices are consecutive as well. Marks are stored in that order, which allows the marks of a run
to be combined many at a time.

In a tier without defenders, the attackers are the row soldiers, and a row is one position. All of a king's rows then
correspond to the columns of a row without row soldiers: both are all choices of cells, in the same order. The code that
evaluates a row can therefore also evaluate all of a king's rows together. If symmetries preserve the king's cell, only
one choice of each class has a row. In this case, the items are copied to an array with an item for every choice
(`expand_classes`), and copied back afterwards (`collect_classes`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.context import CELLS, KING, ORBIT, STRIDE
from retrograde.solver.kernels.cursor import clear_column, columns_of_row, first_run, next_run, number_cells, set_row
from tablut.engine.attacks import captures_at, king_falls_to
from tablut.engine.jit import I64, advance, called, inlined, trailing_zeros
from tablut.engine.kernels import toggle
from tablut.engine.layout import coordinates, is_occupied, line_of, occupied
from tablut.indexing.tier_tables import code_of, is_decided, is_loss, lost_in, won_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.context import Context, Pass
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

PENDING = 1
"""Value that replaces an item if the position's moves must be examined one by one."""

_OPEN, _SOLDIER, _ROYAL = 0, 1, 2
"""Kinds of target cells. In this order: a move to the cell leaves white without a win within the limit, captures a
soldier, or captures the king."""
_TO_OPEN, _TO_SOLDIER, _TO_KING = 1, 2, 4
"""Bits of a mark. A bit is set if a move leads to a cell of the corresponding kind."""


@inlined
def _add_cell(rules: Tables, masks: NDArray[np.uint16], cell: int) -> None:
    """Add a cell to its lines' masks."""
    rank, file = coordinates(rules, cell)
    masks[rank] |= np.uint16(1 << file)
    masks[rules.size + file] |= np.uint16(1 << rank)


@inlined
def _remove_cell(rules: Tables, masks: NDArray[np.uint16], cell: int) -> None:
    """Remove a cell from its lines' masks."""
    rank, file = coordinates(rules, cell)
    masks[rank] &= np.uint16(~(1 << file))
    masks[rules.size + file] &= np.uint16(~(1 << rank))


@inlined
def _choices(context: Context, men: int) -> int:
    """Return the number of choices in the current row, that is, of ways to place all column soldiers except one."""
    return context.tiers.square.binomial[context.cursor.head[CELLS] * context.tiers.square.most + men - 1]


@inlined
def _exchanged(index: TierTables, rank: int, numbers: NDArray[np.int64], soldier: int) -> int:
    """Return the rank of all column soldiers except one, given the rank of all except the soldier before that one."""
    binomial, most = index.square.binomial, index.square.most
    return rank + binomial[numbers[soldier - 1] * most + soldier] - binomial[numbers[soldier] * most + soldier]


@inlined
def _without_lowest(index: TierTables, numbers: NDArray[np.int64], men: int) -> int:
    """Return the rank of all column soldiers' cells except the lowest."""
    rank = I64(0)
    for k in range(1, men):
        rank += index.square.binomial[numbers[k] * index.square.most + k]
    return rank


@called
def _find_open_cells(context: Context, theirs: NDArray[np.uint16], men: int, limit: int, width: int) -> None:
    """Write the `_OPEN` masks of all choices of the current row, given its items with white to move."""
    lines, numbers = 2 * context.rules.size, context.run
    for place in range(_choices(context, men) * lines):
        context.row_arrays.masks[place] = np.uint16(0)
    won = won_in(limit)
    column, run = I64(0), first_run(numbers, men, width)
    while column < width:
        staying = _without_lowest(context.tiers, numbers, men)
        for low in range(run):
            item = I64(theirs[column + low])
            if is_decided(item) and not is_loss(item) and item <= won:
                continue
            numbers[0] = low
            rank = staying
            for k in range(men):
                if k > 0:
                    rank = _exchanged(context.tiers, rank, numbers, k)
                _add_cell(
                    context.rules, advance(context.row_arrays.masks, rank * lines), I64(context.cursor.spot[numbers[k]])
                )
        column += run
        run = next_run(numbers, men, width)


@inlined
def _add_marks(context: Context, targets: NDArray[np.uint16], marks: NDArray[np.uint8], mark: int) -> None:
    """Mark the cells from which a soldier can slide to one of the target cells.

    ``marks`` begins with a choice's mark for cell number 0. The marks for the other cells follow at intervals of the
    cursor's stride.
    """
    rules = context.rules
    arrays, board, stride = context.row_arrays, context.here.board, context.cursor.head[STRIDE]
    for line in range(2 * rules.size):
        wanted = I64(targets[line])
        if wanted == 0:
            continue
        content = I64(rules.ternary[occupied(line_of(board, line))]) + 2 * I64(rules.ternary[wanted])
        found = I64(arrays.sources.places[I64(arrays.sources.at[line]) + content])
        while found:
            place = trailing_zeros(found)
            found &= found - 1
            cell = line * rules.size + place if line < rules.size else place * rules.size + line - rules.size
            at = I64(context.cursor.number[cell]) * stride
            marks[at] |= np.uint8(mark)


@inlined
def _find_captures(context: Context, beside: int, quiet: NDArray[np.uint16]) -> bool:
    """Write the `_SOLDIER` and `_ROYAL` masks of the current choice, and remove their cells from the mask ``quiet``.

    Return whether there are any such cells. Only the first ``beside`` cells in `Context.traits` are examined.
    """
    rules = context.rules
    lines, board, here, king = 2 * rules.size, context.here.board, context.row_arrays.lines, context.cursor.head[KING]
    for place in range(lines, 3 * lines):
        here[place] = np.uint16(0)
    any_found = False
    for k in range(beside):
        cell = I64(context.traits[k])
        if is_occupied(rules, board, cell):
            continue
        kind = I64(0)
        if captures_at(rules, board, 1, cell, king) != 0:
            kind = I64(_SOLDIER)
        if rules.facing[king * rules.cells + cell] != 0:
            toggle(rules, board, cell, 0)
            if king_falls_to(rules, board, king, cell):
                kind = I64(_ROYAL)
            toggle(rules, board, cell, 0)
        if kind != 0:
            any_found = True
            _add_cell(rules, advance(here, kind * lines), cell)
            _remove_cell(rules, quiet, cell)
    return any_found


@inlined
def _next_choice(context: Context, staying: int) -> None:
    """Move the ``staying`` soldiers to their next choice of cells. After the last choice, remove these soldiers."""
    rules = context.rules
    board, spot, numbers = context.here.board, context.cursor.spot, context.run
    k = I64(0)
    while k < staying:
        toggle(rules, board, I64(spot[numbers[k]]), 0)
        if numbers[k] + 1 < (numbers[k + 1] if k + 1 < staying else context.cursor.head[CELLS]):
            break
        k += 1
    if k < staying:
        numbers[k] += 1
        toggle(rules, board, I64(spot[numbers[k]]), 0)
        for low in range(k):
            numbers[low] = low
            toggle(rules, board, I64(spot[low]), 0)


@called
def _find_marks(context: Context, men: int) -> None:
    """Write the current row's marks for each choice and each cell of the moving soldier."""
    rules, cursor = context.rules, context.cursor
    size, lines, board = rules.size, 2 * rules.size, context.here.board
    cells, spot, here = cursor.head[CELLS], cursor.spot, context.row_arrays.lines
    choices = _choices(context, men)
    cursor.head[STRIDE] = choices
    for place in range(choices * cells):
        context.row_arrays.marks[place] = np.uint8(0)
    # Captures occur only next to a white piece, and the white pieces do not move within a row.
    beside = I64(0)
    for number in range(cells):
        cell = I64(spot[number])
        rank, file = coordinates(rules, cell)
        along_rank, along_file = (I64(board[rank]) >> 16) << 1, (I64(board[size + file]) >> 16) << 1
        if ((along_rank >> file) | (along_file >> rank)) & 5 != 0:
            context.traits[beside] = cell
            beside += 1
    for k in range(men - 1):
        context.run[k] = k
        toggle(rules, board, I64(spot[k]), 0)
    for choice in range(choices):
        masks, marks = advance(context.row_arrays.masks, choice * lines), advance(context.row_arrays.marks, choice)
        if _find_captures(context, beside, masks):
            _add_marks(context, advance(here, _SOLDIER * lines), marks, _TO_SOLDIER)
            _add_marks(context, advance(here, _ROYAL * lines), marks, _TO_KING)
        _add_marks(context, masks, marks, _TO_OPEN)
        _next_choice(context, men - 1)


@inlined
def _gather_marks(context: Context, men: int, run: int) -> None:
    """Combine all soldiers' marks for each column of a run, and write them to `RowArrays.found`."""
    index = context.tiers
    numbers, found, choices = context.run, context.row_arrays.found, context.cursor.head[STRIDE]
    binomial, most = index.square.binomial, index.square.most
    rank = _without_lowest(index, numbers, men)
    for low in range(run):
        found[low] = context.row_arrays.marks[low * choices + rank]
    for k in range(1, men):
        # Now `rank` is the rank of the other soldiers without the lowest, whose number is an offset.
        rank -= binomial[numbers[k] * most + k]
        if k > 1:
            rank += binomial[numbers[k - 1] * most + k]
        marks = advance(context.row_arrays.marks, numbers[k] * choices + rank)
        for low in range(run):
            found[low] |= marks[low]


@inlined
def evaluate_row(
    context: Context,
    mine: NDArray[np.uint16],
    theirs: NDArray[np.uint16],
    report: NDArray[np.int64],
    men: int,
    limit: int,
) -> None:
    """Write the current row's black-to-move items that the marks decide.

    The marks decide captures of the king, and losses in ``limit + 1`` plies. A position where black may capture a
    soldier, but has no move to an open position, becomes `PENDING`. If ``limit`` is more than 1, a position with a move
    to an open position also becomes `PENDING`. All of white's wins in up to ``limit`` plies must be known, and black's
    quicker losses must have been written.

    Notes
    -----
    The running time is O(men * width + choices * lines).
    """
    width = columns_of_row(context, men)
    _find_open_cells(context, theirs, men, limit, width)
    _find_marks(context, men)
    numbers, found = context.run, context.row_arrays.found
    unlost = I64(PENDING) if limit > 1 else I64(0)
    column, run = I64(0), first_run(numbers, men, width)
    while column < width:
        _gather_marks(context, men, run)
        for low in range(run):
            if mine[column + low] != 0:
                continue
            marks = I64(found[low])
            item = lost_in(limit + 1)
            if marks & _TO_KING != 0:
                item = won_in(1)
            elif marks & _TO_OPEN != 0:
                item = unlost
            elif marks & _TO_SOLDIER != 0:
                item = I64(PENDING)
            mine[column + low] = np.uint16(item)
            if is_decided(item):
                report[code_of(item)] += 1
        column += run
        run = next_run(numbers, men, width)


# -- all rows of a king together, in tiers without defenders -----------------------------------


@called
def set_king(context: Context, task: Pass, orbit: int) -> None:
    """Put only a king on the board, in O(cells) time."""
    index = context.tiers
    set_row(context, task.tier, index.tier.first_row[task.tier * index.square.kings + orbit], task.side)
    clear_column(context, index.tier.row_men[task.tier])
    number_cells(context, 0)


@inlined
def has_merged_choices(context: Context, task: Pass) -> bool:
    """Return whether the current king has fewer rows than there are choices of cells, because of symmetries."""
    index = context.tiers
    rows = index.tier.row_count[task.tier * index.square.kings + context.cursor.head[ORBIT]]
    return rows != columns_of_row(context, index.tier.row_men[task.tier])


@inlined
def _place_of_number(context: Context, number: int) -> int:
    """Return a cell's index among all cells that are open to attackers.

    ``number`` is the cell's index when the king's cell is left out.
    """
    king = I64(context.tiers.square.king_place[context.cursor.head[ORBIT]])
    return number + I64(king >= 0 and number >= king)


@inlined
def _combination_of_run(context: Context, men: int) -> int:
    """Return the part of a combination's rank contributed by all soldiers of a run except the lowest."""
    rank = I64(0)
    for k in range(1, men):
        rank += context.tiers.square.binomial[
            _place_of_number(context, context.run[k]) * context.tiers.square.most + k + 1
        ]
    return rank


@called
def expand_classes(context: Context, task: Pass, items: NDArray[np.uint16], every: NDArray[np.uint16]) -> None:
    """Write the item of every choice of cells, given the items of a king's rows, in O(choices) time."""
    index = context.tiers
    men, orbit = index.tier.row_men[task.tier], context.cursor.head[ORBIT]
    width = columns_of_row(context, men)
    rows = advance(index.row.number, index.tier.rows_at[task.tier] + orbit * index.tier.row_space[task.tier])
    column, run = I64(0), first_run(context.run, men, width)
    while column < width:
        combination = _combination_of_run(context, men)
        for low in range(run):
            row = I64(rows[combination + _place_of_number(context, low)])
            every[column + low] = items[row]
        column += run
        run = next_run(context.run, men, width)


@called
def collect_classes(context: Context, task: Pass, items: NDArray[np.uint16], every: NDArray[np.uint16]) -> None:
    """Write the items of a king's rows, given the items for all choices of cells, and count the new items.

    The function takes O(choices) time.
    """
    index = context.tiers
    men, orbit = index.tier.row_men[task.tier], context.cursor.head[ORBIT]
    width = columns_of_row(context, men)
    at = index.tier.rows_at[task.tier] + orbit * index.tier.row_space[task.tier]
    rows, elements = advance(index.row.number, at), advance(index.row.element, at)
    column, run = I64(0), first_run(context.run, men, width)
    while column < width:
        combination = _combination_of_run(context, men)
        for low in range(run):
            place = combination + _place_of_number(context, low)
            # Element 0 is the identity, and so this choice represents its class. All other choices are skipped.
            if elements[place] != 0:
                continue
            row, item = I64(rows[place]), I64(every[column + low])
            if item != I64(items[row]):
                items[row] = np.uint16(item)
                if is_decided(item):
                    task.report[code_of(item)] += 1
        column += run
        run = next_run(context.run, men, width)


@called
def evaluate_king(context: Context, task: Pass, orbit: int) -> None:
    """Write the black-to-move items of all of a king's rows, as far as `evaluate_row` can decide them."""
    index = context.tiers
    set_king(context, task, orbit)
    men, base = index.tier.row_men[task.tier], index.tier.base[task.tier * index.square.kings + orbit]
    mine, theirs = advance(task.mine, base), advance(task.theirs, base)
    if not has_merged_choices(context, task):
        evaluate_row(context, mine, theirs, task.report, men, task.limit)
        return
    expand_classes(context, task, mine, context.row_arrays.mine)
    expand_classes(context, task, theirs, context.row_arrays.theirs)
    # The report counts classes. Write the counts of choices to scratch memory.
    evaluate_row(context, context.row_arrays.mine, context.row_arrays.theirs, context.quiet, men, task.limit)
    collect_classes(context, task, mine, context.row_arrays.mine)
