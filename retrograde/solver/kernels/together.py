"""In tiers without defenders, all rows of one king taken together, as if they were the columns of one row.

There the attackers are the row soldiers, and a row is one position. But for its name, all rows
of a king are what the columns of a row without row soldiers would be: every choice of cells, in the same
order. So what looks at a row as a whole can look at a king as a whole. A king on an axis has
symmetries, and only one of each class of choices has a row: then items are *spread out*, one for each choice,
and *taken in* again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.cursor import close_column, columns_of_row, next_run, number_cells, open_row
from retrograde.solver.kernels.rows import judge_row
from retrograde.solver.kernels.workspace import ORBIT, Workspace
from tablut.engine.jit import I64, advance, called, inlined
from tablut.indexing.tier_tables import code_of, is_decided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.task import Pass
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables


@called
def open_king(t: Tables, x: TierTables, w: Workspace, p: Pass, orbit: int) -> None:
    """Set the workspace to a king, without soldiers on the board; O(cells)."""
    open_row(t, x, w, p.tier, x.tier.first_row[p.tier * x.square.kings + orbit], p.side)
    close_column(t, w, x.tier.row_men[p.tier])
    number_cells(x, w, 0)


@inlined
def is_spread(x: TierTables, w: Workspace, p: Pass) -> bool:
    """Return whether the open king has fewer rows than choices of cells, because of its symmetries."""
    rows = x.tier.row_count[p.tier * x.square.kings + w.cursor.head[ORBIT]]
    return rows != columns_of_row(x, w, x.tier.row_men[p.tier])


@inlined
def _place_of_number(x: TierTables, w: Workspace, number: int) -> int:
    """Return the number of a cell among all attackers' cells, from that among the cells that the king leaves."""
    king = I64(x.square.king_place[w.cursor.head[ORBIT]])
    return number + I64(king >= 0 and number >= king)


@inlined
def _combination_of_run(x: TierTables, w: Workspace, men: int) -> int:
    """Return the combination of the soldiers of a run, all but the lowest."""
    rank = I64(0)
    for k in range(1, men):
        rank += x.square.binomial[_place_of_number(x, w, w.run[k]) * x.square.most + k + 1]
    return rank


@called
def spread_out(x: TierTables, w: Workspace, p: Pass, items: NDArray[np.uint16], spread: NDArray[np.uint16]) -> None:
    """Write the items of a king for every choice of cells, each that of its class; O(choices)."""
    men, orbit = x.tier.row_men[p.tier], w.cursor.head[ORBIT]
    width = columns_of_row(x, w, men)
    rows = advance(x.row.number, x.tier.rows_at[p.tier] + orbit * x.tier.row_space[p.tier])
    for k in range(men):
        w.run[k] = k
    column = I64(0)
    while column < width:
        run = w.run[1] if men > 1 else width
        combination = _combination_of_run(x, w, men)
        for low in range(run):
            row = I64(rows[combination + _place_of_number(x, w, low)])
            spread[column + low] = items[row]
        column += run
        next_run(w.run, men)


@called
def take_in(x: TierTables, w: Workspace, p: Pass, items: NDArray[np.uint16], spread: NDArray[np.uint16]) -> None:
    """Write the items of a king's rows from those of every choice of cells, and report the new ones; O(choices)."""
    men, orbit = x.tier.row_men[p.tier], w.cursor.head[ORBIT]
    width = columns_of_row(x, w, men)
    at = x.tier.rows_at[p.tier] + orbit * x.tier.row_space[p.tier]
    rows, elements = advance(x.row.number, at), advance(x.row.element, at)
    for k in range(men):
        w.run[k] = k
    column = I64(0)
    while column < width:
        run = w.run[1] if men > 1 else width
        combination = _combination_of_run(x, w, men)
        for low in range(run):
            place = combination + _place_of_number(x, w, low)
            # The identity alone leads from a class's own row to itself.
            if elements[place] != 0:
                continue
            row, item = I64(rows[place]), I64(spread[column + low])
            if item != I64(items[row]):
                items[row] = np.uint16(item)
                if is_decided(item):
                    p.report[code_of(item)] += 1
        column += run
        next_run(w.run, men)


@called
def judge_king(t: Tables, x: TierTables, w: Workspace, p: Pass, orbit: int) -> None:
    """Write the items of all rows of a king, black to move, that `judge_row` decides."""
    open_king(t, x, w, p, orbit)
    men, base = x.tier.row_men[p.tier], x.tier.base[p.tier * x.square.kings + orbit]
    mine, theirs = advance(p.mine, base), advance(p.theirs, base)
    if not is_spread(x, w, p):
        judge_row(t, x, w, mine, theirs, p.report, men, p.limit)
        return
    spread_out(x, w, p, mine, w.judged.mine)
    spread_out(x, w, p, theirs, w.judged.theirs)
    # The report counts classes.
    judge_row(t, x, w, w.judged.mine, w.judged.theirs, w.quiet, men, p.limit)
    take_in(x, w, p, mine, w.judged.mine)
