"""The proof of one entry, plainly: its images ranked, its moves made, its two values out of those of its successors.

What it shares with the solver is said in `retrograde.verification`. The index is among that,
and therefore put to the proof as well: placements are listed by a decoding of its own, from
the stored representatives; every image of every placement must be ranked to its entry, and
the sizes of the orbits are added up, so that nothing can be missing.

Everything can be proved like this. Most rows are proved by `retrograde.verification.kernels.rows`, which comes to
the same with less work; rows that have symmetries of their own are proved here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retrograde.verification.kernels.desk import ALIASES, CHECKED, FAILURES, ORBITS
from retrograde.verification.kernels.plies import LOST, QUIET, UNPROVED, WON, entry_at, judged_code
from retrograde.verification.kernels.walk import first_column, next_column, open_row, set_board
from tablut.engine.jit import I64, U64, advance, called, inlined
from tablut.engine.kernels import generate
from tablut.engine.layout import put_side, start_of, target_of
from tablut.indexing.tier_kernels import entry_of
from tablut.indexing.tier_tables import code_at, is_loss, plies_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from retrograde.verification.kernels.desk import ProofDesk, Tally

WRONG_VALUE: Final = 0
"""Failure: the stored code is not the one that the successors give."""
NO_ENTRY: Final = 1
"""Failure: a successor has no entry."""
WRONG_ALIAS: Final = 2
"""Failure: an entry's placement is ranked to another entry, but not to an earlier one of its row."""
WRONG_IMAGE: Final = 3
"""Failure: an image of an entry's placement is ranked elsewhere."""

_FAR: Final = 1 << 20


@inlined
def _replace(cells: NDArray[np.uint8], start: int, target: int) -> int:
    """Put a cell in the place of another in a list, and return that place."""
    place = I64(0)
    while I64(cells[place]) != start:
        place += 1
    cells[place] = target
    return place


@inlined
def _successor_code(d: ProofDesk, side: int, king: int, move: int) -> int:
    """Return the stored code of what a move leads to; or `UNPROVED`, `WON`, `LOST`."""
    x, m = d.tiers, d.memory
    code = judged_code(d, side, move)
    if code != QUIET:
        return code
    start, target = start_of(move), target_of(move)
    if side == 0 and start == king:
        entry = entry_of(x, d.tier, target, m.black, m.white, m.scratch)
    else:
        own = m.black if side == 1 else m.white
        place = _replace(own, start, target)
        entry = entry_of(x, d.tier, king, m.black, m.white, m.scratch)
        own[place] = start
    return code_at(d.places, 2 * d.tier + (side ^ 1), entry) if entry >= 0 else I64(UNPROVED)


@inlined
def _prove(d: ProofDesk, side: int, king: int) -> int:
    """Return the code of the position on the board by its successors, or `UNPROVED` if one of them has no entry."""
    t, m = d.tables, d.memory
    put_side(t, m.board, side)
    count = generate(t, m.board, m.moves)
    if count == 0:
        return I64(1)
    best, worst, safe = I64(_FAR), I64(0), False
    for number in range(count):
        code = _successor_code(d, side, king, I64(m.moves[number]))
        if code == UNPROVED:
            return code
        if code == WON:
            # Nothing is quicker than to win at once.
            return I64(2)
        if code == LOST:
            worst = max(worst, I64(1))
        elif code == 0:
            safe = True
        elif is_loss(code):
            best = min(best, plies_of(code) + 1)
        else:
            worst = max(worst, plies_of(code) + 1)
    if best < _FAR:
        return 2 * best
    return I64(0) if safe else 2 * worst + 1


@inlined
def _orbit(d: ProofDesk, entry: int, king: int) -> int:
    """Return the size of a placement's orbit, or -1 if an image of it is ranked elsewhere."""
    x, m, order = d.tiers, d.memory, d.listing.order
    attackers, defenders = x.tier.attackers[d.tier], x.tier.defenders[d.tier]
    stabiliser = I64(0)
    low, high = _mask(m.black, attackers)
    white_low, white_high = _mask(m.white, defenders)
    for element in range(order):
        table = advance(d.listing.image, element * x.square.cells)
        for k in range(attackers):
            m.spare_black[k] = table[I64(m.black[k])]
        for k in range(defenders):
            m.spare_white[k] = table[I64(m.white[k])]
        moved = I64(table[king])
        if entry_at(x, d.tier, moved, m.spare_black, m.spare_white, m.scratch) != entry:
            return I64(-1)
        same_low, same_high = _mask(m.spare_black, attackers)
        same_white_low, same_white_high = _mask(m.spare_white, defenders)
        if (
            moved == king
            and same_low == low
            and same_high == high
            and same_white_low == white_low
            and same_white_high == white_high
        ):
            stabiliser += 1
    return order // stabiliser


@inlined
def _mask(cells: NDArray[np.uint8], count: int) -> tuple[np.uint64, np.uint64]:
    """Return cells as a set of bits, the lower 64 and the others."""
    low, high = U64(0), U64(0)
    for k in range(count):
        cell = I64(cells[k])
        if cell < 64:
            low |= U64(1) << U64(cell)
        else:
            high |= U64(1) << U64(cell - 64)
    return low, high


@inlined
def report(tally: Tally, kind: int, entry: int, side: int, proved: int) -> None:
    """Count a failure, and write it down while there is room."""
    number = tally.counters[FAILURES]
    if number < tally.room:
        tally.failures[4 * number] = kind
        tally.failures[4 * number + 1] = entry
        tally.failures[4 * number + 2] = side
        tally.failures[4 * number + 3] = proved
    tally.counters[FAILURES] = number + 1


@inlined
def settle(tally: Tally, entry: int, side: int, stored: int, proved: int) -> None:
    """Count a value that is proved, and report it if it is not the stored one."""
    tally.counters[CHECKED] += 1
    if stored < tally.codes:
        tally.histogram[side * tally.codes + stored] += 1
    if proved != stored:
        report(tally, I64(NO_ENTRY) if proved < 0 else I64(WRONG_VALUE), entry, side, proved)


@called
def prove_row_plainly(d: ProofDesk, row: int, king: int, start: int, width: int) -> None:
    """Prove all positions of a row; O(entries * moves)."""
    m = d.memory
    open_row(d, row, king)
    first_column(d)
    for entry in range(start, start + width):
        next_column(d)
        ranked = entry_at(d.tiers, d.tier, king, m.black, m.white, m.scratch)
        if ranked != entry:
            d.tally.counters[ALIASES] += 1
            if ranked < start or ranked > entry:
                report(d.tally, I64(WRONG_ALIAS), entry, I64(0), ranked)
            continue
        images = _orbit(d, entry, king)
        if images < 0:
            report(d.tally, I64(WRONG_IMAGE), entry, I64(0), I64(-1))
        else:
            d.tally.counters[ORBITS] += images
        set_board(d, king)
        for side in range(2):
            stored = code_at(d.places, 2 * d.tier + side, entry)
            settle(d.tally, entry, side, stored, _prove(d, side, king))
