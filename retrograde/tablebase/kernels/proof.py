"""The proof of a tier: every entry's two values out of the values of its children.

Placements are listed by a decoding of its own, from the stored representatives. The moves
are those of the engine, made and taken back on a board; the solver has its own way to
find children. Shared with it is the rank of a position, which is therefore put to the
proof as well: every image of every placement must be ranked to its entry, and the sizes of
the orbits are added up, so that nothing can be missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.jit import I64, U64, advance, called, inlined, keep, kernel, pointer
from tablut.engine.kernels import generate, make, toggle, unmake
from tablut.engine.layout import count_of, king_of, put_count, put_king, put_side, start_of, target_of, undo_captured
from tablut.engine.records import flat
from tablut.indexing.tier_kernels import SCRATCH, TierTables, entry_of, men_of_board
from tablut.indexing.values import code_at, tier_at
from tablut.rules.outcome import KING_CAPTURED, NO_MOVES_WHITE, UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

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
    "Listing",
    "prove_rows",
]

CHECKED, ALIASES, ORBITS, FAILURES, COUNTERS = 0, 1, 2, 3, 4
"""Counters: positions proved, aliases, sum of the placements' orbits, failures; and the number of counters."""

WRONG_VALUE: Final = 0
"""Failure: the stored code is not the one that the children give."""
NO_ENTRY: Final = 1
"""Failure: a child has no entry."""
WRONG_ALIAS: Final = 2
"""Failure: an entry's placement is ranked to another entry, but not to an earlier one of its row."""
WRONG_IMAGE: Final = 3
"""Failure: an image of an entry's placement is ranked elsewhere."""

_UNPROVED: Final = -1
_FAR: Final = 1 << 20


class Listing(NamedTuple):
    """The placements of a tier in the order of its entries; C cells, K kings, G symmetries.

    Attributes
    ----------
    lead_kind, lead_men, trail_men, trails, most, order : int
        Who leads (1: the defenders), how many lead and trail, the number of the trails'
        cells, the length of a row of ``binomial``, and G.
    king_cell, base, width : ndarray of int64, shape (K,)
        By king: its cell, its first entry, and the columns of its rows.
    first_row : ndarray of int64, shape (K + 1,)
        By king, the number of its first row.
    combination : ndarray of int64, flat
        By row, the leads' combination.
    lead_cell, trail_cell : ndarray of uint8
        The cells that leads and trails may have.
    binomial : ndarray of int64, flat
        At ``n * most + k`` the number of k-combinations of n.
    image : ndarray of uint8, shape (G * C,)
        At ``element * C + cell`` the image of a cell.
    """

    lead_kind: int
    lead_men: int
    trail_men: int
    trails: int
    most: int
    order: int
    king_cell: NDArray[np.int64]
    base: NDArray[np.int64]
    width: NDArray[np.int64]
    first_row: NDArray[np.int64]
    combination: NDArray[np.int64]
    lead_cell: NDArray[np.uint8]
    trail_cell: NDArray[np.uint8]
    binomial: NDArray[np.int64]
    image: NDArray[np.uint8]


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
def _prove(
    t: Tables,
    x: TierTables,
    rows: int,
    tier: int,
    side: int,
    king: int,
    board: NDArray[np.uint32],
    moves: NDArray[np.int32],
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    spare: NDArray[np.uint8],
    scratch: NDArray[np.int64],
    places: NDArray[np.int64],
) -> int:
    """Return the code of a position by its children, or `_UNPROVED` if one of them has no entry."""
    put_side(t, board, side)
    count = generate(t, board, moves)
    if count == 0:
        return I64(1)
    best, worst, safe = I64(_FAR), I64(0), False
    for index in range(count):
        move = I64(moves[index])
        start, target = start_of(move), target_of(move)
        undo, outcome = make(t, board, move)
        if outcome != UNDECIDED:
            unmake(t, board, undo)
            black_won = outcome in (KING_CAPTURED, NO_MOVES_WHITE)
            if black_won == (side == 1):
                # Nothing is quicker than to win at once.
                return I64(2)
            worst = max(worst, I64(1))
            continue
        child_tier, entry = I64(tier), I64(-1)
        if undo_captured(undo) == 0:
            unmake(t, board, undo)
            if side == 0 and start == king:
                entry = entry_of(x, tier, target, black, white, scratch)
            else:
                own = black if side == 1 else white
                place = _replace(own, start, target)
                entry = entry_of(x, tier, king, black, white, scratch)
                own[place] = start
        else:
            child_tier = tier_at(x, rows, count_of(t, board, 1), count_of(t, board, 0))
            if child_tier >= 0:
                spare_white = advance(spare, t.cells)
                men_of_board(t, board, spare, spare_white)
                entry = _entry(x, child_tier, king_of(t, board), spare, spare_white, scratch)
            unmake(t, board, undo)
        if entry < 0:
            return I64(_UNPROVED)
        code = code_at(places, 2 * child_tier + (side ^ 1), entry)
        if code == 0:
            safe = True
        elif code & 1:
            best = min(best, (code >> 1) + 1)
        else:
            worst = max(worst, (code >> 1) + 1)
    if best < _FAR:
        return 2 * best
    return I64(0) if safe else 2 * worst + 1


@inlined
def _orbit(
    x: TierTables,
    tier: int,
    order: int,
    image: NDArray[np.uint8],
    entry: int,
    king: int,
    black: NDArray[np.uint8],
    attackers: int,
    white: NDArray[np.uint8],
    defenders: int,
    spare: NDArray[np.uint8],
    scratch: NDArray[np.int64],
) -> int:
    """Return the size of a placement's orbit, or -1 if an image of it is ranked elsewhere."""
    spare_white = advance(spare, x.cells)
    stabiliser = I64(0)
    low, high = _mask(black, attackers)
    white_low, white_high = _mask(white, defenders)
    for element in range(order):
        table = advance(image, element * x.cells)
        for k in range(attackers):
            spare[k] = table[I64(black[k])]
        for k in range(defenders):
            spare_white[k] = table[I64(white[k])]
        moved = I64(table[king])
        if _entry(x, tier, moved, spare, spare_white, scratch) != entry:
            return I64(-1)
        same_low, same_high = _mask(spare, attackers)
        same_white_low, same_white_high = _mask(spare_white, defenders)
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


@kernel
def prove_rows(
    tables: Tables,
    index: TierTables,
    listing: Listing,
    places: NDArray[np.int64],
    tier: int,
    first: int,
    last: int,
    counters: NDArray[np.int64],
    histogram: NDArray[np.int64],
    failures: NDArray[np.int64],
) -> None:
    """Prove all positions in some rows of a tier.

    Parameters
    ----------
    tables : Tables
        The variant.
    index : TierTables
        The compiled index, of this tier and of those that captures lead to.
    listing : Listing
        The tier's placements.
    places : ndarray of int64
        Where the codes lie, see `tablut.indexing.values.TierValues`.
    tier : int
        Its number in ``index``.
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
    t, x = flat(tables), flat(index)
    rows = index.tier.size // (x.most_defenders + 1)
    soldiers, numbers = np.empty(4 * t.cells, dtype=np.uint8), np.empty(SCRATCH, dtype=np.int64)
    board_array, move_array = np.zeros(2 * t.size + 4, dtype=np.uint32), np.empty(4 * t.cells, dtype=np.int32)
    open_array, column_array = np.empty(t.cells, dtype=np.uint8), np.empty(t.cells + 1, dtype=np.int64)
    black, scratch, at = pointer(soldiers), pointer(numbers), pointer(places)
    white, spare = advance(black, t.cells), advance(black, 2 * t.cells)
    board, moves = pointer(board_array), pointer(move_array)
    image, count, listed, room = pointer(listing.image), pointer(counters), pointer(failures), len(failures)
    leads, trails = (white, black) if listing.lead_kind == 1 else (black, white)
    lead_men, trail_men = listing.lead_men, listing.trail_men
    attackers, defenders = (trail_men, lead_men) if listing.lead_kind == 1 else (lead_men, trail_men)
    lead_shift, trail_shift = 16 * listing.lead_kind, 16 - 16 * listing.lead_kind
    codes = histogram.shape[1]
    number = I64(0)
    for row in range(first, last):
        while row >= listing.first_row[number + 1]:
            number += 1
        king = listing.king_cell[number]
        rest, place = listing.combination[row], I64(len(listing.lead_cell))
        for k in range(lead_men, 0, -1):
            place -= 1
            while listing.binomial[place * listing.most + k] > rest:
                place -= 1
            rest -= listing.binomial[place * listing.most + k]
            leads[k - 1] = listing.lead_cell[place]
        free = I64(0)
        for k in range(listing.trails):
            cell = I64(listing.trail_cell[k])
            taken = cell == king
            for lead in range(lead_men):
                taken = taken or I64(leads[lead]) == cell
            if not taken:
                open_array[free] = cell
                free += 1
        for k in range(trail_men):
            column_array[k] = k
        start = listing.base[number] + (row - listing.first_row[number]) * listing.width[number]
        for entry in range(start, start + listing.width[number]):
            for k in range(trail_men):
                trails[k] = open_array[column_array[k]]
            # The next combination: the first place that can move up does, those below start again.
            k = I64(0)
            while k + 1 < trail_men and column_array[k] + 1 == column_array[k + 1]:
                column_array[k] = k
                k += 1
            column_array[k] += 1

            ranked = _entry(x, tier, king, black, white, scratch)
            if ranked != entry:
                count[ALIASES] += 1
                if ranked < start or ranked > entry:
                    _report(count, listed, room, WRONG_ALIAS, entry, 0, ranked)
                continue
            orbit = _orbit(
                x, tier, listing.order, image, entry, king, black, attackers, white, defenders, spare, scratch
            )
            if orbit < 0:
                _report(count, listed, room, WRONG_IMAGE, entry, 0, -1)
            else:
                count[ORBITS] += orbit
            for line in range(2 * t.size):
                board[line] = np.uint32(0)
            toggle(t, board, king, 16)
            for k in range(lead_men):
                toggle(t, board, I64(leads[k]), lead_shift)
            for k in range(trail_men):
                toggle(t, board, I64(trails[k]), trail_shift)
            put_king(t, board, king)
            put_count(t, board, 1, attackers)
            put_count(t, board, 0, defenders)
            for side in range(2):
                count[CHECKED] += 1
                stored = code_at(at, 2 * tier + side, entry)
                if stored < codes:
                    histogram[side, stored] += 1
                proved = _prove(t, x, rows, tier, side, king, board, moves, black, white, spare, scratch, at)
                if proved != stored:
                    _report(count, listed, room, NO_ENTRY if proved < 0 else WRONG_VALUE, entry, side, proved)
    keep(soldiers)
    keep(numbers)
    keep(board_array)
    keep(move_array)
