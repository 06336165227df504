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
from tablut.indexing.tier_kernels import combination_rank, entry_of, place_of, sort_in

if TYPE_CHECKING:
    from retrograde.solver.kernels.workspace import Workspace
    from tablut.indexing.tier_kernels import TierTables

__all__ = ["attacker_entry", "prepare_attacker", "white_entry"]

_MISSING, _GENERIC = -1, -2
"""Instead of a base: no such entry; a row with aliases, in which the rank needs all images."""


@inlined
def prepare_attacker(x: TierTables, w: Workspace, man: int, men: int) -> None:
    """Write what the other attackers contribute to a rank, for `attacker_entry`.

    With j of the others below the attacker, those contribute ``others[128 + j]`` and
    the ones above ``others[256 + j]``.
    """
    others = w.others
    for k in range(men - 1):
        others[k] = w.numbers[k + (1 if k >= man else 0)]
    total = I64(0)
    for k in range(men - 1):
        others[ROOM + k] = total
        total += x.binomial[others[k] * x.most + k + 1]
    others[ROOM + men - 1] = total
    total = I64(0)
    for k in range(men - 1, 0, -1):
        others[2 * ROOM + k] = total
        total += x.binomial[others[k - 1] * x.most + k + 1]
    others[2 * ROOM] = total


@inlined
def attacker_entry(x: TierTables, w: Workspace, tier: int, man: int, target: int) -> int:
    """Return the entry of the open position with one attacker elsewhere, or -1; `prepare_attacker` comes first."""
    trail_men, men = x.trail_men[tier], x.attackers[tier]
    if trail_men > 0 and w.head[RESIDUAL] != 1:
        return moved_entry(x, w, tier, 1, man, target)
    number = I64(w.number[target]) if trail_men > 0 else I64(x.place[target])
    if number < 0:
        return I64(-1)
    others = w.others
    below = I64(0)
    while below < men - 1 and others[below] < number:
        below += 1
    rank = others[ROOM + below] + x.binomial[number * x.most + below + 1] + others[2 * ROOM + below]
    if trail_men > 0:
        return w.head[BASE] + rank
    orbit = w.head[ORBIT]
    row = I64(x.row[x.rows_at[tier] + orbit * x.lead_space[tier] + rank])
    return x.base[tier * x.kings + orbit] + row if row >= 0 else I64(-1)


@inlined
def white_entry(x: TierTables, w: Workspace, tier: int, man: int, target: int) -> int:
    """Return the entry of the open position with a defender, or the king (the last man), elsewhere, or -1."""
    trail_men = x.trail_men[tier]
    if trail_men == 0:
        return moved_entry(x, w, tier, 0, man, target)
    key = man * x.cells + target
    if w.hop_stamp[key] != w.head[STAMP]:
        find_hop(x, w, tier, man, target)
    base = w.hop_base[key]
    if base < 0:
        return moved_entry(x, w, tier, 0, man, target) if base == _GENERIC else I64(-1)
    numbers = advance(w.hop_number, key * ROOM)
    for k in range(trail_men):
        sort_in(w.scratch, k, I64(numbers[w.numbers[k]]))
    return base + combination_rank(x.binomial, x.most, w.scratch, trail_men)


@called
def moved_entry(x: TierTables, w: Workspace, tier: int, side: int, man: int, target: int) -> int:
    """Return the entry of the open position with one man of a side elsewhere, from the lists of cells."""
    king = w.head[KING]
    if side == 0 and man == x.defenders[tier]:
        return entry_of(x, tier, target, w.black, w.white, w.scratch)
    men = w.black if side == 1 else w.white
    cell = men[man]
    men[man] = target
    entry = entry_of(x, tier, king, w.black, w.white, w.scratch)
    men[man] = cell
    return entry


@called
def find_hop(x: TierTables, w: Workspace, tier: int, man: int, target: int) -> None:
    """Work out, for the open row, where a defender's or the king's change of place leads."""
    key = man * x.cells + target
    lead_men = x.lead_men[tier]
    w.hop_stamp[key] = w.head[STAMP]
    w.hop_base[key] = _MISSING
    king = target if man == lead_men else w.head[KING]
    orbit = I64(x.king[king])
    if orbit < 0:
        return
    first = I64(x.to_king[king])
    kind = x.lead_kind[tier]
    for k in range(lead_men):
        cell = target if k == man else w.leads[k]
        number = I64(x.place[kind * x.cells + I64(x.image[first * x.cells + cell])])
        if number < 0:
            return
        sort_in(w.scratch, k, number)
    at = x.rows_at[tier] + orbit * x.lead_space[tier] + combination_rank(x.binomial, x.most, w.scratch, lead_men)
    row = I64(x.row[at])
    if row < 0:
        return
    by_king = tier * x.kings + orbit
    if x.residual[x.meta_at[tier] + x.first_row[by_king] + row] != 1:
        w.hop_base[key] = _GENERIC
        return
    w.hop_base[key] = x.base[by_king] + row * x.width[by_king]
    element = I64(x.compose[(I64(x.element[at]) << 3) + first])
    for k in range(lead_men):
        cell = target if k == man else w.leads[k]
        w.scratch[k] = I64(x.image[element * x.cells + cell])
    for cell in range(x.cells):
        number = I64(w.number[cell])
        if number >= 0:
            there = place_of(x, orbit, w.scratch, lead_men, I64(x.image[element * x.cells + cell]))
            w.hop_number[key * ROOM + number] = there & 0xFF
