"""Finding black's losses one row at a time, with masks of cells instead of moves.

Take one column soldier off the board: the cells of the others are a *choice*. For each choice, masks of the board's
lines give the cells on which the missing soldier would make an open position (one in which white, to move, is not known
to win), and the cells on which it would capture. `LineSources` gives the cells from which a soldier can move to any of
these, for a whole line at a time. The result is a few *marks* for each choice and cell. The marks of all column
soldiers together decide a position. Most positions are lost, and never have to be put on a board.

Columns that differ only in their lowest soldier are adjacent, and form a *run*. If one of the other soldiers is
removed, the remaining choices are adjacent as well. Marks are stored in that order, so the marks of a run are combined
many at a time.

In a tier without defenders the attackers are the row soldiers, and a row is one position. All rows of a king then
correspond to the columns of a row without row soldiers: every choice of cells, in the same order. So the code that
judges a whole row can judge all rows of a king together. A king on an axis has symmetries, and only one of each class
of choices has a row. In that case, the items are *spread out*, one for each choice, and *taken in* again afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.cursor import close_column, columns_of_row, first_run, next_run, number_cells, open_row
from retrograde.solver.kernels.workspace import CELLS, KING, ORBIT, STRIDE, Workspace
from tablut.engine.attacks import captures_at, king_falls_to
from tablut.engine.jit import I64, advance, called, inlined, trailing_zeros
from tablut.engine.kernels import toggle
from tablut.engine.layout import coordinates, is_occupied, line_of, occupied
from tablut.indexing.tier_tables import code_of, is_decided, is_loss, lost_in, won_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Pass
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

PENDING = 1
"""Value in place of an item: the moves of the position must be examined."""

_OPEN, _SOLDIER, _ROYAL = 0, 1, 2
"""Masks of target cells: white has not won within the limit; a soldier is captured; the king is captured."""
_TO_OPEN, _TO_SOLDIER, _TO_KING = 1, 2, 4
"""Marks: a move goes to a cell of the corresponding mask."""


@inlined
def _add_cell(rules: Tables, masks: NDArray[np.uint16], cell: int) -> None:
    """Add a cell to the masks of its lines."""
    rank, file = coordinates(rules, cell)
    masks[rank] |= np.uint16(1 << file)
    masks[rules.size + file] |= np.uint16(1 << rank)


@inlined
def _remove_cell(rules: Tables, masks: NDArray[np.uint16], cell: int) -> None:
    """Remove a cell from the masks of its lines."""
    rank, file = coordinates(rules, cell)
    masks[rank] &= np.uint16(~(1 << file))
    masks[rules.size + file] &= np.uint16(~(1 << rank))


@inlined
def _choices(index: TierTables, work: Workspace, men: int) -> int:
    """Return the number of choices of the open row: the ways to place all column soldiers but one."""
    return index.square.binomial[work.cursor.head[CELLS] * index.square.most + men - 1]


@inlined
def _exchanged(index: TierTables, rank: int, numbers: NDArray[np.int64], k: int) -> int:
    """Return the rank of all column soldiers but number k, from ``rank``, that of all but number k - 1."""
    binomial, most = index.square.binomial, index.square.most
    return rank + binomial[numbers[k - 1] * most + k] - binomial[numbers[k] * most + k]


@inlined
def _without_lowest(index: TierTables, numbers: NDArray[np.int64], men: int) -> int:
    """Return the rank of all column soldiers but the lowest."""
    rank = I64(0)
    for k in range(1, men):
        rank += index.square.binomial[numbers[k] * index.square.most + k]
    return rank


@called
def _find_open_cells(
    rules: Tables, index: TierTables, work: Workspace, theirs: NDArray[np.uint16], men: int, limit: int, width: int
) -> None:
    """Write the `_OPEN` masks of all choices of the open row, from the items with white to move."""
    lines, numbers = 2 * rules.size, work.run
    for place in range(_choices(index, work, men) * lines):
        work.judged.masks[place] = np.uint16(0)
    won = won_in(limit)
    column, run = I64(0), first_run(numbers, men, width)
    while column < width:
        staying = _without_lowest(index, numbers, men)
        for low in range(run):
            item = I64(theirs[column + low])
            if is_decided(item) and not is_loss(item) and item <= won:
                continue
            numbers[0] = low
            rank = staying
            for k in range(men):
                if k > 0:
                    rank = _exchanged(index, rank, numbers, k)
                _add_cell(rules, advance(work.judged.masks, rank * lines), I64(work.cursor.spot[numbers[k]]))
        column += run
        run = next_run(numbers, men, width)


@inlined
def _add_marks(
    rules: Tables, work: Workspace, targets: NDArray[np.uint16], marks: NDArray[np.uint8], mark: int
) -> None:
    """Mark the cells from which a soldier can slide to a target.

    ``marks`` begins at the choice's mark for cell number 0; those of the other cells follow at the cursor's stride.
    """
    judged, board, stride = work.judged, work.here.board, work.cursor.head[STRIDE]
    for line in range(2 * rules.size):
        wanted = I64(targets[line])
        if wanted == 0:
            continue
        content = I64(rules.ternary[occupied(line_of(board, line))]) + 2 * I64(rules.ternary[wanted])
        found = I64(judged.sources.places[I64(judged.sources.at[line]) + content])
        while found:
            place = trailing_zeros(found)
            found &= found - 1
            cell = line * rules.size + place if line < rules.size else place * rules.size + line - rules.size
            at = I64(work.cursor.number[cell]) * stride
            marks[at] |= np.uint8(mark)


@inlined
def _find_captures(rules: Tables, work: Workspace, beside: int, quiet: NDArray[np.uint16]) -> bool:
    """Write the masks `_SOLDIER` and `_ROYAL` of the open choice, and remove their cells from the mask ``quiet``."""
    lines, board, here, king = 2 * rules.size, work.here.board, work.judged.lines, work.cursor.head[KING]
    for place in range(lines, 3 * lines):
        here[place] = np.uint16(0)
    any_found = False
    for k in range(beside):
        cell = I64(work.traits[k])
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
def _next_choice(rules: Tables, work: Workspace, staying: int) -> None:
    """Move the ``staying`` soldiers on the board to their next choice of cells; after the last, remove them."""
    board, spot, numbers = work.here.board, work.cursor.spot, work.run
    k = I64(0)
    while k < staying:
        toggle(rules, board, I64(spot[numbers[k]]), 0)
        if numbers[k] + 1 < (numbers[k + 1] if k + 1 < staying else work.cursor.head[CELLS]):
            break
        k += 1
    if k < staying:
        numbers[k] += 1
        toggle(rules, board, I64(spot[numbers[k]]), 0)
        for low in range(k):
            numbers[low] = low
            toggle(rules, board, I64(spot[low]), 0)


@called
def _find_marks(rules: Tables, index: TierTables, work: Workspace, men: int) -> None:
    """Write the marks of the open row, one for each cell of the moving soldier and choice of the others."""
    size, lines, board = rules.size, 2 * rules.size, work.here.board
    cells, spot, here = work.cursor.head[CELLS], work.cursor.spot, work.judged.lines
    choices = _choices(index, work, men)
    work.cursor.head[STRIDE] = choices
    for place in range(choices * cells):
        work.judged.marks[place] = np.uint8(0)
    # Captures occur only next to a white piece, and the white pieces do not move within a row.
    beside = I64(0)
    for number in range(cells):
        cell = I64(spot[number])
        rank, file = coordinates(rules, cell)
        along_rank, along_file = (I64(board[rank]) >> 16) << 1, (I64(board[size + file]) >> 16) << 1
        if ((along_rank >> file) | (along_file >> rank)) & 5 != 0:
            work.traits[beside] = cell
            beside += 1
    for k in range(men - 1):
        work.run[k] = k
        toggle(rules, board, I64(spot[k]), 0)
    for choice in range(choices):
        masks, marks = advance(work.judged.masks, choice * lines), advance(work.judged.marks, choice)
        if _find_captures(rules, work, beside, masks):
            _add_marks(rules, work, advance(here, _SOLDIER * lines), marks, _TO_SOLDIER)
            _add_marks(rules, work, advance(here, _ROYAL * lines), marks, _TO_KING)
        _add_marks(rules, work, masks, marks, _TO_OPEN)
        _next_choice(rules, work, men - 1)


@inlined
def _gather_marks(index: TierTables, work: Workspace, men: int, run: int) -> None:
    """Combine the marks of all soldiers for each column of a run, and write them to ``found``."""
    numbers, found, choices = work.run, work.judged.found, work.cursor.head[STRIDE]
    binomial, most = index.square.binomial, index.square.most
    rank = _without_lowest(index, numbers, men)
    for low in range(run):
        found[low] = work.judged.marks[low * choices + rank]
    for k in range(1, men):
        # The rank of the others without the lowest soldier, whose number is added as the offset.
        rank -= binomial[numbers[k] * most + k]
        if k > 1:
            rank += binomial[numbers[k - 1] * most + k]
        marks = advance(work.judged.marks, numbers[k] * choices + rank)
        for low in range(run):
            found[low] |= marks[low]


@inlined
def judge_row(
    rules: Tables,
    index: TierTables,
    work: Workspace,
    mine: NDArray[np.uint16],
    theirs: NDArray[np.uint16],
    report: NDArray[np.int64],
    men: int,
    limit: int,
) -> None:
    """Write the items of the open row, black to move, that its marks decide; O(men * width + choices * lines).

    These are captures of the king, and losses in ``limit + 1`` plies. A position in which black may capture a
    soldier becomes `PENDING`; if ``limit`` is more than 1, so does one with a move to an open position. All of white's
    wins in up to ``limit`` plies must be known, and all of black's quicker losses written already.
    """
    width = columns_of_row(index, work, men)
    _find_open_cells(rules, index, work, theirs, men, limit, width)
    _find_marks(rules, index, work, men)
    numbers, found = work.run, work.judged.found
    unlost = I64(PENDING) if limit > 1 else I64(0)
    column, run = I64(0), first_run(numbers, men, width)
    while column < width:
        _gather_marks(index, work, men, run)
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
def open_king(rules: Tables, index: TierTables, work: Workspace, task: Pass, orbit: int) -> None:
    """Reset the workspace to a king alone on the board, in O(cells) time."""
    open_row(rules, index, work, task.tier, index.tier.first_row[task.tier * index.square.kings + orbit], task.side)
    close_column(rules, work, index.tier.row_men[task.tier])
    number_cells(index, work, 0)


@inlined
def is_spread(index: TierTables, work: Workspace, task: Pass) -> bool:
    """Return whether the open king has fewer rows than choices of cells, because of its symmetries."""
    rows = index.tier.row_count[task.tier * index.square.kings + work.cursor.head[ORBIT]]
    return rows != columns_of_row(index, work, index.tier.row_men[task.tier])


@inlined
def _place_of_number(index: TierTables, work: Workspace, number: int) -> int:
    """Return the number of a cell among all cells of attackers, given its number among those other than the king's."""
    king = I64(index.square.king_place[work.cursor.head[ORBIT]])
    return number + I64(king >= 0 and number >= king)


@inlined
def _combination_of_run(index: TierTables, work: Workspace, men: int) -> int:
    """Return the rank that the soldiers of a run contribute to a combination, without the lowest one."""
    rank = I64(0)
    for k in range(1, men):
        rank += index.square.binomial[_place_of_number(index, work, work.run[k]) * index.square.most + k + 1]
    return rank


@called
def spread_out(
    index: TierTables, work: Workspace, task: Pass, items: NDArray[np.uint16], spread: NDArray[np.uint16]
) -> None:
    """Write the items of a king for every choice of cells: each choice gets the item of its class; O(choices)."""
    men, orbit = index.tier.row_men[task.tier], work.cursor.head[ORBIT]
    width = columns_of_row(index, work, men)
    rows = advance(index.row.number, index.tier.rows_at[task.tier] + orbit * index.tier.row_space[task.tier])
    column, run = I64(0), first_run(work.run, men, width)
    while column < width:
        combination = _combination_of_run(index, work, men)
        for low in range(run):
            row = I64(rows[combination + _place_of_number(index, work, low)])
            spread[column + low] = items[row]
        column += run
        run = next_run(work.run, men, width)


@called
def take_in(
    index: TierTables, work: Workspace, task: Pass, items: NDArray[np.uint16], spread: NDArray[np.uint16]
) -> None:
    """Write the items of a king's rows from those of every choice of cells, and count new ones; O(choices)."""
    men, orbit = index.tier.row_men[task.tier], work.cursor.head[ORBIT]
    width = columns_of_row(index, work, men)
    at = index.tier.rows_at[task.tier] + orbit * index.tier.row_space[task.tier]
    rows, elements = advance(index.row.number, at), advance(index.row.element, at)
    column, run = I64(0), first_run(work.run, men, width)
    while column < width:
        combination = _combination_of_run(index, work, men)
        for low in range(run):
            place = combination + _place_of_number(index, work, low)
            # Only the identity takes the row of a class to itself.
            if elements[place] != 0:
                continue
            row, item = I64(rows[place]), I64(spread[column + low])
            if item != I64(items[row]):
                items[row] = np.uint16(item)
                if is_decided(item):
                    task.report[code_of(item)] += 1
        column += run
        run = next_run(work.run, men, width)


@called
def judge_king(rules: Tables, index: TierTables, work: Workspace, task: Pass, orbit: int) -> None:
    """Write the items of all rows of a king, black to move, that `judge_row` can decide."""
    open_king(rules, index, work, task, orbit)
    men, base = index.tier.row_men[task.tier], index.tier.base[task.tier * index.square.kings + orbit]
    mine, theirs = advance(task.mine, base), advance(task.theirs, base)
    if not is_spread(index, work, task):
        judge_row(rules, index, work, mine, theirs, task.report, men, task.limit)
        return
    spread_out(index, work, task, mine, work.judged.mine)
    spread_out(index, work, task, theirs, work.judged.theirs)
    # The report counts classes, so the counts of choices are written to scratch memory.
    judge_row(rules, index, work, work.judged.mine, work.judged.theirs, work.quiet, men, task.limit)
    take_in(index, work, task, mine, work.judged.mine)
