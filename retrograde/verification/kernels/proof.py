"""The proof of a tier: every entry's two values out of the values of its successors.

What it shares with the solver is said in `retrograde.verification`. The index is among that,
and therefore put to the proof as well: placements are listed by a decoding of its own, from
the stored representatives; every image of every placement must be ranked to its entry, and
the sizes of the orbits are added up, so that nothing can be missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.verification.kernels.desk import ProofDesk
from tablut.engine.attacks import winner_of
from tablut.engine.jit import I64, U64, advance, called, inlined, kernel, pointer
from tablut.engine.kernels import generate, make, toggle, unmake
from tablut.engine.layout import (
    count_of,
    king_of,
    put_count,
    put_king,
    put_side,
    start_of,
    target_of,
    undo_captured,
)
from tablut.engine.records import record_at
from tablut.indexing.tier_boards import men_of_board
from tablut.indexing.tier_kernels import entry_of, tier_at
from tablut.indexing.tier_values import code_at, is_loss, plies_of
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.indexing.tier_tables import TierTables

__all__ = [
    "ALIASES",
    "CHECKED",
    "COUNTERS",
    "FAILURES",
    "NO_ENTRY",
    "ORBITS",
    "WRONG_ALIAS",
    "WRONG_IMAGE",
    "WRONG_VALUE",
    "prove_rows",
]

CHECKED, ALIASES, ORBITS, FAILURES, COUNTERS = 0, 1, 2, 3, 4
"""Counters: positions proved, aliases, sum of the placements' orbits, failures; and the number of counters."""

WRONG_VALUE: Final = 0
"""Failure: the stored code is not the one that the successors give."""
NO_ENTRY: Final = 1
"""Failure: a successor has no entry."""
WRONG_ALIAS: Final = 2
"""Failure: an entry's placement is ranked to another entry, but not to an earlier one of its row."""
WRONG_IMAGE: Final = 3
"""Failure: an image of an entry's placement is ranked elsewhere."""

_UNPROVED, _WON, _LOST = -1, -2, -3
"""Instead of a successor's code: it has no entry; the ply ends the game, won or lost for its side."""
_FAR: Final = 1 << 20


@called
def _entry(
    x: TierTables,
    tier: int,
    king: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    scratch: NDArray[np.int64],
) -> int:
    return entry_of(x, tier, king, black, white, scratch)


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
    """Return the stored code of what a move leads to; or `_UNPROVED`, `_WON`, `_LOST`."""
    t, x, m = d.tables, d.tiers, d.memory
    start, target = start_of(move), target_of(move)
    undo, outcome = make(t, m.board, move)
    if outcome != UNDECIDED:
        unmake(t, m.board, undo)
        return I64(_WON) if winner_of(outcome) == side else I64(_LOST)
    tier, entry = I64(d.tier), I64(-1)
    if undo_captured(undo) == 0:
        unmake(t, m.board, undo)
        if side == 0 and start == king:
            entry = entry_of(x, tier, target, m.black, m.white, m.scratch)
        else:
            own = m.black if side == 1 else m.white
            place = _replace(own, start, target)
            entry = entry_of(x, tier, king, m.black, m.white, m.scratch)
            own[place] = start
    else:
        tier = tier_at(x, count_of(t, m.board, 1), count_of(t, m.board, 0))
        if tier >= 0:
            men_of_board(t, m.board, m.spare_black, m.spare_white)
            entry = _entry(x, tier, king_of(t, m.board), m.spare_black, m.spare_white, m.scratch)
        unmake(t, m.board, undo)
    return code_at(d.places, 2 * tier + (side ^ 1), entry) if entry >= 0 else I64(_UNPROVED)


@inlined
def _prove(d: ProofDesk, side: int, king: int) -> int:
    """Return the code of the position on the board by its successors, or `_UNPROVED` if one of them has no entry."""
    t, m = d.tables, d.memory
    put_side(t, m.board, side)
    count = generate(t, m.board, m.moves)
    if count == 0:
        return I64(1)
    best, worst, safe = I64(_FAR), I64(0), False
    for number in range(count):
        code = _successor_code(d, side, king, I64(m.moves[number]))
        if code == _UNPROVED:
            return code
        if code == _WON:
            # Nothing is quicker than to win at once.
            return I64(2)
        if code == _LOST:
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
        if _entry(x, d.tier, moved, m.spare_black, m.spare_white, m.scratch) != entry:
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
def _report(
    count: NDArray[np.int64], listed: NDArray[np.int64], room: int, kind: int, entry: int, side: int, proved: int
) -> None:
    """Count a failure, and write it down while there is room."""
    number = count[FAILURES]
    if number < room:
        listed[4 * number] = kind
        listed[4 * number + 1] = entry
        listed[4 * number + 2] = side
        listed[4 * number + 3] = proved
    count[FAILURES] = number + 1


@inlined
def _open_row(d: ProofDesk, row: int, king: int) -> None:
    """Write the row soldiers' cells, those that are left to column soldiers, and the first column."""
    r, m = d.listing, d.memory
    soldiers = m.white if r.row_kind == 1 else m.black
    rest, place = r.combination[row], I64(r.row_spots)
    for k in range(r.row_men, 0, -1):
        place -= 1
        while r.binomial[place * r.most + k] > rest:
            place -= 1
        rest -= r.binomial[place * r.most + k]
        soldiers[k - 1] = r.row_cell[place]
    left = I64(0)
    for k in range(r.column_spots):
        cell = I64(r.column_cell[k])
        taken = cell == king
        for soldier in range(r.row_men):
            taken = taken or I64(soldiers[soldier]) == cell
        if not taken:
            m.left[left] = cell
            left += 1
    for k in range(r.column_men):
        m.column[k] = k


@inlined
def _next_column(d: ProofDesk) -> None:
    """Write the column soldiers' cells, and move on to the next combination of them."""
    m, men = d.memory, d.listing.column_men
    soldiers = m.black if d.listing.row_kind == 1 else m.white
    for k in range(men):
        soldiers[k] = m.left[m.column[k]]
    # The first place that can move up does, those below start again.
    k = I64(0)
    while k + 1 < men and m.column[k] + 1 == m.column[k + 1]:
        m.column[k] = k
        k += 1
    m.column[k] += 1


@inlined
def _set_board(d: ProofDesk, king: int) -> None:
    """Put the king and the lists of cells on the board."""
    t, m = d.tables, d.memory
    attackers, defenders = d.tiers.tier.attackers[d.tier], d.tiers.tier.defenders[d.tier]
    for line in range(2 * t.size):
        m.board[line] = np.uint32(0)
    toggle(t, m.board, king, 16)
    for k in range(attackers):
        toggle(t, m.board, I64(m.black[k]), 0)
    for k in range(defenders):
        toggle(t, m.board, I64(m.white[k]), 16)
    put_king(t, m.board, king)
    put_count(t, m.board, 1, attackers)
    put_count(t, m.board, 0, defenders)


@kernel
def prove_rows(
    desk: NDArray[np.int64],
    first: int,
    last: int,
    counters: NDArray[np.int64],
    histogram: NDArray[np.int64],
    failures: NDArray[np.int64],
) -> None:
    """Prove all positions in some rows of a tier; O(entries * moves).

    Parameters
    ----------
    desk : ndarray of int64
        The directory of a `ProofDesk`.
    first, last : int
        The rows; the last one is left out.
    counters : ndarray of int64, shape (COUNTERS,)
        Added to.
    histogram : ndarray of int64, shape (2, H)
        By side to move and stored code, the number of classes; added to, codes from H on are not counted.
    failures : ndarray of int64, shape (M, 4)
        Receives the first M failures: kind, entry, side to move, and the proved code
        (for `WRONG_ALIAS` where the placement is ranked to).
    """
    d = record_at(pointer(desk), ProofDesk)
    m, r, codes = d.memory, d.listing, histogram.shape[1]
    count, listed, room = pointer(counters), pointer(failures), len(failures)
    orbit = I64(0)
    for row in range(first, last):
        while row >= r.first_row[orbit + 1]:
            orbit += 1
        king = r.king_cell[orbit]
        _open_row(d, row, king)
        start = r.base[orbit] + (row - r.first_row[orbit]) * r.width[orbit]
        for entry in range(start, start + r.width[orbit]):
            _next_column(d)
            ranked = _entry(d.tiers, d.tier, king, m.black, m.white, m.scratch)
            if ranked != entry:
                count[ALIASES] += 1
                if ranked < start or ranked > entry:
                    _report(count, listed, room, WRONG_ALIAS, entry, 0, ranked)
                continue
            images = _orbit(d, entry, king)
            if images < 0:
                _report(count, listed, room, WRONG_IMAGE, entry, 0, -1)
            else:
                count[ORBITS] += images
            _set_board(d, king)
            for side in range(2):
                count[CHECKED] += 1
                stored = code_at(d.places, 2 * d.tier + side, entry)
                if stored < codes:
                    histogram[side, stored] += 1
                proved = _prove(d, side, king)
                if proved != stored:
                    _report(count, listed, room, NO_ENTRY if proved < 0 else WRONG_VALUE, entry, side, proved)
