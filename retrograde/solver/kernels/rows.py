"""Black's losses a row at a time, by masks of cells instead of moves.

One column soldier is taken off, and the others stay: for each such choice, masks of the board's lines say
where the position would be open with it there (white, to move, has not won as far as is known), and on which
cells it would capture. From each cell that it may have stood on, its moves are then one look at
the row and one at the column, and what they come to is a few *marks*. Those of all column soldiers
decide a position; most are lost, and are never put on a board.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.cursor import next_run
from retrograde.solver.kernels.workspace import CELLS, KING, Workspace
from tablut.engine.attacks import captures_at, king_falls_to, slides_along
from tablut.engine.jit import I64, advance, called, inlined
from tablut.engine.kernels import toggle
from tablut.engine.layout import coordinates, is_occupied, line_of, occupied
from tablut.indexing.tier_values import code_of, is_decided, is_loss, lost_in, won_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.task import Pass
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

__all__ = ["PENDING", "judge_row"]

PENDING = 1
"""Instead of an item: the moves of this position must be looked at."""

_OPEN, _SLOW, _SOLDIER, _ROYAL = 0, 1, 2, 3
"""Masks: where white has not won within the limit; where it has not within two plies less;
where a soldier is captured; where the king is. There are two in the workspace for all choices of
the soldiers that stay, and all four for one choice."""

_TO_OPEN, _TO_SLOW, _TO_SOLDIER, _TO_KING = 1, 2, 4, 8
"""Marks: a move goes to such a cell."""


@inlined
def _add_cell(t: Tables, masks: NDArray[np.uint16], cell: int) -> None:
    """Add a cell to the masks of its lines."""
    rank, file = coordinates(t, cell)
    masks[rank] |= np.uint16(1 << file)
    masks[t.size + file] |= np.uint16(1 << rank)


@inlined
def _exchanged(x: TierTables, rank: int, numbers: NDArray[np.int64], k: int) -> int:
    """Return the rank of all column soldiers but one, from that of all but the one below it, which stays now."""
    binomial, most = x.square.binomial, x.square.most
    return rank + binomial[numbers[k - 1] * most + k] - binomial[numbers[k] * most + k]


@inlined
def _without_lowest(x: TierTables, numbers: NDArray[np.int64], column_men: int) -> int:
    """Return the rank of all column soldiers but the lowest."""
    rank = I64(0)
    for k in range(1, column_men):
        rank += x.square.binomial[numbers[k] * x.square.most + k]
    return rank


@called
def _find_open_cells(t: Tables, x: TierTables, w: Workspace, p: Pass, base: int, width: int) -> None:
    """Write the masks `_OPEN` and `_SLOW` of the open row, from the items with white to move."""
    lines, numbers, column_men = 2 * t.size, w.run, x.tier.column_men[p.tier]
    choices = x.square.binomial[w.cursor.head[CELLS] * x.square.most + column_men - 1]
    for place in range(choices * 2 * lines):
        w.judged.masks[place] = np.uint16(0)
    won, soon = won_in(p.limit), won_in(p.limit - 2)
    for k in range(column_men):
        numbers[k] = k
    column = I64(0)
    while column < width:
        run = numbers[1] if column_men > 1 else width
        staying = _without_lowest(x, numbers, column_men)
        for low in range(run):
            item = I64(p.theirs[base + column + low])
            if is_decided(item) and not is_loss(item) and item <= soon:
                continue
            is_open = is_loss(item) or not is_decided(item) or item > won
            numbers[0] = low
            rank = staying
            for k in range(column_men):
                if k > 0:
                    rank = _exchanged(x, rank, numbers, k)
                cell = I64(w.cursor.spot[numbers[k]])
                masks = advance(w.judged.masks, rank * 2 * lines)
                _add_cell(t, advance(masks, _SLOW * lines), cell)
                if is_open:
                    _add_cell(t, masks, cell)
        column += run
        next_run(numbers, column_men)


@called
def _find_marks(t: Tables, x: TierTables, w: Workspace, column_men: int) -> None:
    """Write the marks of the open row: for the column soldiers that stay, and the cell of the one that moves."""
    size, lines, board, king = t.size, 2 * t.size, w.here.board, w.cursor.head[KING]
    cells, spot, here = w.cursor.head[CELLS], w.cursor.spot, w.judged.lines
    choices = x.square.binomial[cells * x.square.most + column_men - 1]
    # A capture is made beside a white piece, and these stand still.
    beside = I64(0)
    for number in range(cells):
        cell = I64(spot[number])
        rank, file = coordinates(t, cell)
        row, column = (I64(board[rank]) >> 16) << 1, (I64(board[size + file]) >> 16) << 1
        if ((row >> file) | (column >> rank)) & 5 != 0:
            w.traits[beside] = cell
            beside += 1
    numbers, staying = w.run, column_men - 1
    for k in range(staying):
        numbers[k] = k
        toggle(t, board, I64(spot[k]), 0)
    for choice in range(choices):
        for place in range(4 * lines):
            here[place] = 0
        for k in range(beside):
            cell = I64(w.traits[k])
            if is_occupied(t, board, cell):
                continue
            kind = I64(0)
            if captures_at(t, board, 1, cell, king) != 0:
                kind = I64(_SOLDIER)
            if t.facing[king * t.cells + cell] != 0:
                toggle(t, board, cell, 0)
                if king_falls_to(t, board, king, cell):
                    kind = I64(_ROYAL)
                toggle(t, board, cell, 0)
            if kind != 0:
                _add_cell(t, advance(here, kind * lines), cell)
        masks = advance(w.judged.masks, choice * 2 * lines)
        for line in range(lines):
            quiet = ~(here[_SOLDIER * lines + line] | here[_ROYAL * lines + line])
            here[_OPEN * lines + line] = masks[line] & quiet
            here[_SLOW * lines + line] = masks[lines + line] & quiet
        marks = advance(w.judged.marks, choice * cells)
        for number in range(cells):
            cell = I64(spot[number])
            rank, file = I64(t.rank[cell]), size + I64(t.file[cell])
            row, column = occupied(line_of(board, rank)), occupied(line_of(board, file))
            row = slides_along(t, t.attacker_slides, rank, file - size, row)
            column = slides_along(t, t.attacker_slides, file, rank, column)
            found = I64(0)
            for mask in range(4):
                hits = row & I64(here[mask * lines + rank]) | column & I64(here[mask * lines + file])
                found |= I64(hits != 0) << mask
            marks[number] = found
        k = I64(0)
        while k < staying:
            toggle(t, board, I64(spot[numbers[k]]), 0)
            if k + 1 == staying or numbers[k] + 1 < numbers[k + 1]:
                break
            k += 1
        if choice + 1 < choices and staying > 0:
            numbers[k] += 1
            toggle(t, board, I64(spot[numbers[k]]), 0)
            for low in range(k):
                numbers[low] = low
                toggle(t, board, I64(spot[low]), 0)


@inlined
def judge_row(t: Tables, x: TierTables, w: Workspace, p: Pass, base: int, width: int) -> None:
    """Write the items of the open row, black to move, that its marks decide; O(width + choices * cells).

    These are captures of the king, and losses in ``limit + 1`` plies. What may capture a soldier
    becomes `PENDING`; so does, if ``limit`` is more than 1, what has a move to an open position. White's
    wins of ``limit`` plies must all be known, and black's losses of less written already.

    Parameters
    ----------
    t : Tables
        The variant, flat.
    x : TierTables
        The tiers, flat.
    w : Workspace
        Flat; the open row has column soldiers, and no aliases.
    p : Pass
        Flat.
    base, width : int
        The row's first entry and its columns.
    """
    column_men = x.tier.column_men[p.tier]
    _find_open_cells(t, x, w, p, base, width)
    _find_marks(t, x, w, column_men)
    cells, numbers, marks = w.cursor.head[CELLS], w.run, w.judged.marks
    for k in range(column_men):
        numbers[k] = k
    column = I64(0)
    while column < width:
        run = numbers[1] if column_men > 1 else width
        staying = _without_lowest(x, numbers, column_men)
        for low in range(run):
            if p.mine[base + column + low] != 0:
                continue
            numbers[0] = low
            rank = staying
            found = I64(marks[rank * cells + low])
            for k in range(1, column_men):
                rank = _exchanged(x, rank, numbers, k)
                found |= I64(marks[rank * cells + numbers[k]])
            item = I64(0)
            if found & _TO_KING != 0:
                item = won_in(1)
            elif found & _TO_OPEN != 0:
                item = I64(PENDING) if p.limit > 1 else I64(0)
            elif found & _TO_SOLDIER != 0 or (p.limit > 1 and found & _TO_SLOW == 0):
                item = I64(PENDING)
            else:
                item = lost_in(p.limit + 1)
            p.mine[base + column + low] = np.uint16(item)
            if is_decided(item):
                p.report[code_of(item)] += 1
        column += run
        next_run(numbers, column_men)
