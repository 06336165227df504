"""What one thread works on: a row and a column of a tier, as lists of cells and as a board.

A *row* fixes the king and the leads; `open_row` writes them down, with the numbers
that the row gives to the cells left over. A *column* adds the trailing attackers.
In a tier without defenders the attackers are the leads and a row has one column.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.jit import I64, advance, called, inlined
from tablut.engine.kernels import toggle
from tablut.engine.layout import new_board, put_count, put_king, put_side
from tablut.indexing.tier_kernels import (
    SCRATCH,
    TierTables,
    entry_of,
    unrank_places,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.variants import Variant

__all__ = [
    "BASE",
    "CELLS",
    "ERRORS",
    "KING",
    "MARKED_TRAILS",
    "ORBIT",
    "RESIDUAL",
    "ROOM",
    "STAMP",
    "Workspace",
    "close_column",
    "is_alias",
    "new_workspace",
    "next_run",
    "open_column",
    "open_later_row",
    "open_row",
    "step_to",
]

ORBIT, BASE, RESIDUAL, KING, STAMP, ERRORS, CELLS = 0, 1, 2, 3, 4, 5, 6
"""Places in the head of a workspace: the king's orbit, the first entry of the row, the
elements that keep the row, the king's cell, the number of rows opened so far, how
many entries were asked for that do not exist, and the cells that the row leaves to trails."""

ROOM = 128
"""Room for a list of cells: no board has more."""
MARKED_TRAILS = 4
"""Trails up to which there is room to judge a row, see `retrograde.kernels.rows`."""
_STRIDE = 8
"""Columns up to which it is quicker to step on than to unrank."""


class Workspace(NamedTuple):
    """The memory of one thread; C is the number of cells.

    Attributes
    ----------
    head : ndarray of int64
        See `ORBIT` and its fellows.
    leads, numbers, others, scratch : ndarray of int64
        The leads' cells; the numbers of the trails' cells in this row (of the leads'
        places, without trails); sums for `retrograde.kernels.entries`; for `entry_of`.
    spot : ndarray of uint8
        By number in this row, the cell.
    number : ndarray of int16
        By cell, the number in this row.
    black, white, spare_black, spare_white : ndarray of uint8
        Cells of the soldiers; and of two other positions'.
    board, spare_board : ndarray of uint32, shape (2N + 4,)
        The position as the engine has it; and another.
    hop_stamp, hop_base : ndarray of int64, shape ((defenders + 1) * C,)
        At ``man * C + target`` the row for which they hold, and the first entry of the
        row that the move leads to.
    hop_number : ndarray of uint8
        At ``(man * C + target) * 128 + number`` the number there.
    seen : ndarray of int64
        Entries already treated.
    traits : ndarray of uint8
        By number in this row, what the cell means to a question about all columns.
    sharp, quiet : ndarray of int64
        At ``2 * man`` and the next the targets on its row and on its column; see `retrograde.kernels.forward`.
    run : ndarray of int64
        As ``numbers``, where columns are gone through without a board.
    lines : ndarray of uint16
    masks : ndarray of uint16
    marks : ndarray of uint8
        See `retrograde.kernels.rows`: masks of one choice of trails; of all; marks.
    sample : ndarray of uint16
        Gives the type of pointers to items.
    """

    head: NDArray[np.int64]
    leads: NDArray[np.int64]
    numbers: NDArray[np.int64]
    others: NDArray[np.int64]
    scratch: NDArray[np.int64]
    spot: NDArray[np.uint8]
    number: NDArray[np.int16]
    black: NDArray[np.uint8]
    white: NDArray[np.uint8]
    spare_black: NDArray[np.uint8]
    spare_white: NDArray[np.uint8]
    board: NDArray[np.uint32]
    spare_board: NDArray[np.uint32]
    hop_stamp: NDArray[np.int64]
    hop_base: NDArray[np.int64]
    hop_number: NDArray[np.uint8]
    seen: NDArray[np.int64]
    traits: NDArray[np.uint8]
    sharp: NDArray[np.int64]
    quiet: NDArray[np.int64]
    run: NDArray[np.int64]
    lines: NDArray[np.uint16]
    masks: NDArray[np.uint16]
    marks: NDArray[np.uint8]
    sample: NDArray[np.uint16]


def new_workspace(variant: Variant, defenders: int, trails: int = 0) -> Workspace:
    """Return memory for one thread that works on tiers of at most so many defenders and so many trails."""
    size, cells = variant.size, variant.size**2
    choices = comb(cells, max(min(trails, MARKED_TRAILS) - 1, 0))
    hops = (defenders + 1) * cells
    return Workspace(
        head=np.zeros(8, dtype=np.int64),
        leads=np.zeros(ROOM, dtype=np.int64),
        numbers=np.zeros(ROOM, dtype=np.int64),
        others=np.zeros(3 * ROOM, dtype=np.int64),
        scratch=np.zeros(SCRATCH, dtype=np.int64),
        spot=np.zeros(ROOM, dtype=np.uint8),
        number=np.zeros(ROOM, dtype=np.int16),
        black=np.zeros(ROOM, dtype=np.uint8),
        white=np.zeros(ROOM, dtype=np.uint8),
        spare_black=np.zeros(2 * ROOM, dtype=np.uint8),
        spare_white=np.zeros(2 * ROOM, dtype=np.uint8),
        board=new_board(size),
        spare_board=new_board(size),
        hop_stamp=np.zeros(hops, dtype=np.int64),
        hop_base=np.zeros(hops, dtype=np.int64),
        hop_number=np.zeros(hops * ROOM, dtype=np.uint8),
        seen=np.zeros(4 * cells, dtype=np.int64),
        traits=np.zeros(ROOM, dtype=np.uint8),
        sharp=np.zeros(2 * ROOM, dtype=np.int64),
        quiet=np.zeros(2 * ROOM, dtype=np.int64),
        run=np.zeros(ROOM, dtype=np.int64),
        lines=np.zeros(8 * size, dtype=np.uint16),
        masks=np.zeros(4 * size * choices, dtype=np.uint16),
        marks=np.zeros(cells * choices, dtype=np.uint8),
        sample=np.zeros(1, dtype=np.uint16),
    )


@called
def open_row(t: Tables, x: TierTables, w: Workspace, tier: int, row: int, side: int) -> None:
    """Set the workspace to a row of a tier, counted over all kings, without trails on the board."""
    by_king = tier * x.kings
    orbit = I64(0)
    while orbit + 1 < x.kings and x.first_row[by_king + orbit + 1] <= row:
        orbit += 1
    by_king += orbit
    kind, lead_men = x.lead_kind[tier], x.lead_men[tier]
    king = I64(x.representative[orbit])
    w.head[ORBIT] = orbit
    w.head[BASE] = x.base[by_king] + (row - x.first_row[by_king]) * x.width[by_king]
    w.head[RESIDUAL] = I64(x.residual[x.meta_at[tier] + row])
    w.head[KING] = king
    w.head[STAMP] += 1
    board = w.board
    for line in range(2 * t.size):
        board[line] = np.uint32(0)
    put_king(t, board, king)
    put_side(t, board, side)
    put_count(t, board, 1, x.attackers[tier])
    put_count(t, board, 0, x.defenders[tier])
    toggle(t, board, king, 16)
    unrank_places(x.binomial, x.most, I64(x.combination[x.meta_at[tier] + row]), lead_men, x.cells, w.numbers)
    men = w.white if kind == 1 else w.black
    for k in range(lead_men):
        cell = I64(x.spot[kind * x.cells + w.numbers[k]])
        w.leads[k] = cell
        men[k] = cell
        toggle(t, board, cell, kind << 4)
    if x.trail_men[tier] > 0:
        count = I64(0)
        for cell in range(x.cells):
            w.number[cell] = -1
            if x.place[cell] >= 0:
                w.number[cell] = count
                w.spot[count] = cell
                count += 1
                taken = cell == king
                for k in range(lead_men):
                    taken |= w.leads[k] == cell
                if taken:
                    count -= 1
                    w.number[cell] = -1
        w.head[CELLS] = count
    else:
        # As if the leads were trails, for `open_later_row`.
        for number in range(x.cells):
            w.spot[number] = x.spot[kind * x.cells + number]


@called
def open_later_row(t: Tables, x: TierTables, w: Workspace, tier: int, row: int, before: int, side: int) -> None:
    """Set the workspace to a row, knowing of an earlier one of the same king that is open, or of none if it is -1.

    Without trails a row is a single position, and the next one hardly another.
    """
    if before < 0 or x.trail_men[tier] > 0:
        open_row(t, x, w, tier, row, side)
        return
    w.head[BASE] += row - before
    w.head[RESIDUAL] = I64(x.residual[x.meta_at[tier] + row])
    w.head[STAMP] += 1
    combinations = advance(x.combination, x.meta_at[tier])
    lead_men = x.lead_men[tier]
    steps = I64(combinations[row]) - I64(combinations[before])
    if steps <= _STRIDE:
        for _ in range(steps):
            next_column(t, w, lead_men)
    else:
        close_column(t, w, lead_men)
        open_column(t, x, w, lead_men, I64(combinations[row]))


@inlined
def open_column(t: Tables, x: TierTables, w: Workspace, trail_men: int, column: int) -> None:
    """Put the trails of an open row on the cells of a column."""
    if trail_men > 0:
        unrank_places(x.binomial, x.most, column, trail_men, x.cells, w.numbers)
        for k in range(trail_men):
            w.black[k] = w.spot[w.numbers[k]]
            toggle(t, w.board, I64(w.black[k]), 0)


@inlined
def close_column(t: Tables, w: Workspace, trail_men: int) -> None:
    """Take the trails off the board."""
    for k in range(trail_men):
        toggle(t, w.board, I64(w.black[k]), 0)


@inlined
def next_column(t: Tables, w: Workspace, trail_men: int) -> None:
    """Move the trails on to the next column, which must exist."""
    k = I64(0)
    while k + 1 < trail_men and w.numbers[k] + 1 == w.numbers[k + 1]:
        toggle(t, w.board, I64(w.black[k]), 0)
        k += 1
    toggle(t, w.board, I64(w.black[k]), 0)
    w.numbers[k] += 1
    w.black[k] = w.spot[w.numbers[k]]
    toggle(t, w.board, I64(w.black[k]), 0)
    for low in range(k):
        w.numbers[low] = low
        w.black[low] = w.spot[low]
        toggle(t, w.board, I64(w.black[low]), 0)


@inlined
def step_to(t: Tables, x: TierTables, w: Workspace, trail_men: int, at: int, column: int) -> None:
    """Move the trails of an open row on from one column, or from none if it is -1, to a later one."""
    if at >= 0 and column - at <= _STRIDE:
        for _ in range(column - at):
            next_column(t, w, trail_men)
    else:
        if at >= 0:
            close_column(t, w, trail_men)
        open_column(t, x, w, trail_men, column)


@inlined
def next_run(numbers: NDArray[np.int64], trail_men: int) -> None:
    """Move the trails but the lowest on to the next choice of cells for them."""
    k = I64(1)
    while k + 1 < trail_men and numbers[k] + 1 == numbers[k + 1]:
        numbers[k] = k
        k += 1
    if k < trail_men:
        numbers[k] += 1


@called
def is_alias(x: TierTables, w: Workspace, tier: int, entry: int) -> bool:
    """Return whether the open position is ranked elsewhere; only a row with a residual group has such."""
    return entry_of(x, tier, w.head[KING], w.black, w.white, w.scratch) != entry
