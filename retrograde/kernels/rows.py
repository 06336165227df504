"""Black's losses a row at a time, by masks of cells instead of moves.

One trail is taken off, and the others stay: for each such choice, masks of the board's lines say
where the trail would be open (white, to move, has not won as far as is known), and on which cells it
would capture. From each cell that it may have stood on, its moves are then one look at
the row and one at the column, and what they come to is a few *marks*. Those of all its trails
decide a position; most are lost, and are never put on a board.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.kernels.codes import DECIDED
from retrograde.kernels.workspace import CELLS, KING, Workspace, next_run
from tablut.engine.attacks import captures_at, slides_along
from tablut.engine.jit import I64, advance, called, inlined
from tablut.engine.kernels import judge, toggle
from tablut.engine.layout import coordinates, occupied
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.indexing.tier_kernels import TierTables

__all__ = ["ASK", "judge_row"]

ASK = 1
"""Instead of an item: the moves of this position must be looked at."""

OPEN, SLOW, SOLDIER, ROYAL = 0, 1, 2, 3
"""Masks: where white has not won within the limit; where it has not within two plies less;
where a soldier is captured; where the king is. There is one of each for the trails that stay, two in the
workspace for all choices of these, and two of one choice."""

_TO_OPEN, _TO_SLOW, _TO_SOLDIER, _TO_KING = 1, 2, 4, 8
"""Marks: a move goes to such a cell."""


@inlined
def add_cell(t: Tables, masks: NDArray[np.uint16], cell: int) -> None:
    """Add a cell to the masks of its lines."""
    rank, file = coordinates(t, cell)
    masks[rank] |= np.uint16(1 << file)
    masks[t.size + file] |= np.uint16(1 << rank)


@inlined
def exchanged(x: TierTables, rank: int, numbers: NDArray[np.int64], k: int) -> int:
    """Return the rank of all trails but one, from that of all but the one below it, which stays now."""
    return rank + x.binomial[numbers[k - 1] * x.most + k] - x.binomial[numbers[k] * x.most + k]


@inlined
def without_lowest(x: TierTables, numbers: NDArray[np.int64], trail_men: int) -> int:
    """Return the rank of all trails but the lowest."""
    rank = I64(0)
    for k in range(1, trail_men):
        rank += x.binomial[numbers[k] * x.most + k]
    return rank


@called
def find_open_cells(
    t: Tables,
    x: TierTables,
    w: Workspace,
    trail_men: int,
    base: int,
    width: int,
    limit: int,
    theirs: NDArray[np.uint16],
) -> None:
    """Write the masks `OPEN` and `SLOW` of the open row, from the items with white to move."""
    lines, numbers = 2 * t.size, w.run
    choices = x.binomial[w.head[CELLS] * x.most + trail_men - 1]
    for place in range(choices * 2 * lines):
        w.masks[place] = np.uint16(0)
    won, soon = DECIDED | (limit << 1), DECIDED | ((limit - 2) << 1)
    for k in range(trail_men):
        numbers[k] = k
    column = I64(0)
    while column < width:
        run = numbers[1] if trail_men > 1 else width
        staying = without_lowest(x, numbers, trail_men)
        for low in range(run):
            item = I64(theirs[base + column + low])
            if item & 1 == 0 and DECIDED <= item <= soon:
                continue
            is_open = item & 1 != 0 or item < DECIDED or item > won
            numbers[0] = low
            rank = staying
            for k in range(trail_men):
                if k > 0:
                    rank = exchanged(x, rank, numbers, k)
                cell = I64(w.spot[numbers[k]])
                masks = advance(w.masks, rank * 2 * lines)
                add_cell(t, advance(masks, SLOW * lines), cell)
                if is_open:
                    add_cell(t, masks, cell)
        column += run
        next_run(numbers, trail_men)


@called
def find_marks(t: Tables, x: TierTables, w: Workspace, trail_men: int) -> None:
    """Write the marks of the open row: for the trails that stay, and the cell of the one that moves."""
    size, lines, board, king = t.size, 2 * t.size, w.board, w.head[KING]
    cells = w.head[CELLS]
    # A capture is made beside a white piece, and these stand still.
    beside = I64(0)
    for number in range(cells):
        cell = I64(w.spot[number])
        rank, file = coordinates(t, cell)
        row, column = (I64(board[rank]) >> 16) << 1, (I64(board[size + file]) >> 16) << 1
        if ((row >> file) | (column >> rank)) & 5 != 0:
            w.traits[beside] = cell
            beside += 1
    numbers, staying = w.run, trail_men - 1
    for k in range(staying):
        numbers[k] = k
        toggle(t, board, I64(w.spot[k]), 0)
    for choice in range(x.binomial[cells * x.most + staying]):
        for place in range(4 * lines):
            w.lines[place] = 0
        for k in range(beside):
            cell = I64(w.traits[k])
            if (I64(board[I64(t.rank[cell])]) >> I64(t.file[cell])) & 1 != 0:
                continue
            kind = I64(0)
            if captures_at(t, board, 1, cell, king) != 0:
                kind = I64(SOLDIER)
            if t.facing[king * t.cells + cell] != 0:
                toggle(t, board, cell, 0)
                if judge(t, board, 1, cell, king, trail_men) != UNDECIDED:
                    kind = I64(ROYAL)
                toggle(t, board, cell, 0)
            if kind != 0:
                add_cell(t, advance(w.lines, kind * lines), cell)
        masks = advance(w.masks, choice * 2 * lines)
        for line in range(lines):
            quiet = ~(w.lines[SOLDIER * lines + line] | w.lines[ROYAL * lines + line])
            w.lines[OPEN * lines + line] = masks[line] & quiet
            w.lines[SLOW * lines + line] = masks[lines + line] & quiet
        marks = advance(w.marks, choice * cells)
        for number in range(cells):
            cell = I64(w.spot[number])
            rank, file = I64(t.rank[cell]), size + I64(t.file[cell])
            row, column = I64(board[rank]), I64(board[file])
            row, column = occupied(row), occupied(column)
            row = slides_along(t, t.attacker_slides, rank, file - size, row)
            column = slides_along(t, t.attacker_slides, file, rank, column)
            found = I64(0)
            for mask in range(4):
                hits = (row & I64(w.lines[mask * lines + rank])) | (column & I64(w.lines[mask * lines + file]))
                found |= I64(hits != 0) << mask
            marks[number] = found
        k = I64(0)
        while k < staying:
            toggle(t, board, I64(w.spot[numbers[k]]), 0)
            if k + 1 == staying or numbers[k] + 1 < numbers[k + 1]:
                break
            k += 1
        if choice + 1 < x.binomial[cells * x.most + staying] and staying > 0:
            numbers[k] += 1
            toggle(t, board, I64(w.spot[numbers[k]]), 0)
            for low in range(k):
                numbers[low] = low
                toggle(t, board, I64(w.spot[low]), 0)


@inlined
def judge_row(
    t: Tables,
    x: TierTables,
    w: Workspace,
    trail_men: int,
    base: int,
    width: int,
    limit: int,
    theirs: NDArray[np.uint16],
    items: NDArray[np.uint16],
    report: NDArray[np.int64],
) -> None:
    """Write the items of the open row, black to move, that its marks decide.

    These are captures of the king, and losses in ``limit + 1`` plies. What may capture a soldier
    becomes `ASK`; so does, if ``limit`` is more than 1, what has a move to an open position.

    Parameters
    ----------
    t, x, w
        Flat tables, tiers and workspace. The row has trails, and no aliases.
    trail_men : int
        Their number.
    base, width : int
        The row's first entry and its columns.
    limit : int
        White's wins of so many plies are all known; and black's losses of less are written already.
    theirs, items : pointer to uint16
        The tier's items with white and with black to move.
    report : pointer to int64
        See `retrograde.kernels.forward.forward_pass`.
    """
    find_open_cells(t, x, w, trail_men, base, width, limit, theirs)
    find_marks(t, x, w, trail_men)
    cells, numbers = w.head[CELLS], w.run
    lost = I64(DECIDED | ((limit + 1) << 1) | 1)
    for k in range(trail_men):
        numbers[k] = k
    column = I64(0)
    while column < width:
        run = numbers[1] if trail_men > 1 else width
        staying = without_lowest(x, numbers, trail_men)
        for low in range(run):
            if items[base + column + low] != 0:
                continue
            numbers[0] = low
            rank = staying
            found = I64(w.marks[rank * cells + low])
            for k in range(1, trail_men):
                rank = exchanged(x, rank, numbers, k)
                found |= I64(w.marks[rank * cells + numbers[k]])
            item = I64(0)
            if found & _TO_KING != 0:
                item = I64(DECIDED | 2)
            elif found & _TO_OPEN != 0:
                item = I64(ASK) if limit > 1 else I64(0)
            elif found & _TO_SOLDIER != 0 or (limit > 1 and found & _TO_SLOW == 0):
                item = I64(ASK)
            else:
                item = lost
            items[base + column + low] = np.uint16(item)
            if item & DECIDED != 0:
                report[item & ~DECIDED] += 1
        column += run
        next_run(numbers, trail_men)
