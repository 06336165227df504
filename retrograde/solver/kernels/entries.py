"""To which entry a piece's change of place leads, from the open position.

`attacker_entry` and `white_entry` need no list of cells: an attacker's step changes one
term of the column's rank; a step of a defender or of the king leads to another row,
in which all cells have other numbers, and these depend on the row alone, so that they are
worked out once a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrograde.solver.kernels.workspace import BASE, KING, ORBIT, RESIDUAL, ROOM, STAMP
from tablut.engine.jit import I64, advance, called, inlined
from tablut.indexing.tier_kernels import entry_of, place_of
from tablut.indexing.tier_tables import combination_rank, sort_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Workspace
    from tablut.indexing.tier_tables import TierTables

_MISSING, _GENERIC = -1, -2
"""Instead of a base: no such entry; a row with aliases, in which the rank needs all images."""


@inlined
def prepare_attacker(x: TierTables, w: Workspace, man: int, men: int) -> None:
    """Write what the other attackers contribute to a rank, for `attacker_entry`; O(men).

    With j of the others below the attacker, those contribute ``others[128 + j]`` and
    the ones above ``others[256 + j]``.
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
    """Return the entry of the open position with one attacker elsewhere, or -1; O(men)."""
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
    """Return the entry of the open position with a defender or the king elsewhere, or -1; O(men * men)."""
    column_men = x.tier.column_men[tier]
    if column_men == 0:
        return _moved_entry(x, w, tier, 0, man, target)
    key = man * x.square.cells + target
    if w.hops.stamp[key] != w.cursor.head[STAMP]:
        _find_hop(x, w, tier, man, target)
    base = w.hops.base[key]
    if base < 0:
        return _moved_entry(x, w, tier, 0, man, target) if base == _GENERIC else I64(-1)
    numbers = advance(w.hops.number, key * ROOM)
    for k in range(column_men):
        sort_in(w.scratch, k, I64(numbers[w.cursor.numbers[k]]))
    return base + combination_rank(x.square.binomial, x.square.most, w.scratch, column_men)


@called
def _moved_entry(x: TierTables, w: Workspace, tier: int, side: int, man: int, target: int) -> int:
    """Return the entry of the open position with one man of a side elsewhere, from the lists of cells."""
    black, white, king = w.here.black, w.here.white, w.cursor.head[KING]
    if side == 0 and man == x.tier.defenders[tier]:
        return entry_of(x, tier, target, black, white, w.scratch)
    men = black if side == 1 else white
    cell = men[man]
    men[man] = target
    entry = entry_of(x, tier, king, black, white, w.scratch)
    men[man] = cell
    return entry


@inlined
def row_place(x: TierTables, w: Workspace, tier: int, king: int, cells: NDArray[np.int64]) -> int:
    """Return where the tables of rows have a king and row soldiers, or -1 if there is no such row; O(men * men)."""
    s = x.square
    orbit = I64(s.king[king])
    if orbit < 0:
        return I64(-1)
    first, kind, men = I64(s.to_king[king]), x.tier.row_kind[tier], x.tier.row_men[tier]
    for k in range(men):
        number = I64(s.place[kind * s.cells + I64(s.image[first * s.cells + cells[k]])])
        if number < 0:
            return I64(-1)
        sort_in(w.scratch, k, number)
    combination = combination_rank(s.binomial, s.most, w.scratch, men)
    at = x.tier.rows_at[tier] + orbit * x.tier.row_space[tier] + combination
    return at if x.row.number[at] >= 0 else I64(-1)


@called
def _find_hop(x: TierTables, w: Workspace, tier: int, man: int, target: int) -> None:
    """Work out, for the open row, where a defender's or the king's change of place leads."""
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
    """Write what is known of the row to which a change of place, already made in the list of row soldiers, leads."""
    s, h, c, row_men = x.square, w.hops, w.cursor, x.tier.row_men[tier]
    h.base[key] = _MISSING
    at = row_place(x, w, tier, king, c.row_cells)
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
            h.number[key * ROOM + number] = there & 0xFF
