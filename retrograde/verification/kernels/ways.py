"""Where white's changes of place lead, for all columns of a row at once, and whether a row's images are ranked to it.

A ply of the king or of a defender leads to another row, in which the attackers' cells have other numbers. Row and
numbers depend on the open row, the man and the target alone: that is a *way*, found when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.verification.kernels.proof import MOST_CELLS
from tablut.engine.jit import I64, advance, called, inlined, popcount, trailing_zeros
from tablut.indexing.tier_tables import combination_rank, sort_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.verification.kernels.proof import ProofDesk
    from tablut.indexing.tier_tables import TierTables

NOWHERE: Final = -1
"""Instead of a base: there is no such entry."""
SEVERAL: Final = -2
"""Instead of a base: a row with symmetries of its own, in which a rank is the least of several."""


@called
def compare_symmetries(d: ProofDesk) -> None:
    """Write what the index's symmetries do to attackers' cells, and which of the listing's two make them; O(cells)."""
    s, r, w = d.tiers.square, d.listing, d.ways
    for element in range(s.elements):
        image = advance(s.image, element * s.cells)
        for cell in range(s.cells):
            w.place[element * MOST_CELLS + cell] = np.uint8(s.place[I64(image[cell])])
        for turn in range(r.order):
            made = I64(0)
            while made < r.order and not _is_made(d, made, turn, image):
                made += 1
            w.made[8 * element + turn] = made


@inlined
def _is_made(d: ProofDesk, made: int, first: int, second: NDArray[np.uint8]) -> bool:
    """Return whether a symmetry of the listing is another one of it and then a second one, given by its images."""
    cells, image = d.tiers.square.cells, d.listing.image
    same = True
    for cell in range(cells):
        same &= image[made * cells + cell] == second[I64(image[first * cells + cell])]
    return same


@inlined
def _row_place(x: TierTables, tier: int, king: int, white: NDArray[np.uint8], scratch: NDArray[np.int64]) -> int:
    """Return where the index has the row of a king and defenders, or -1; the tier has defenders."""
    s, men = x.square, x.tier.row_men[tier]
    orbit = I64(s.king[king])
    if orbit < 0:
        return I64(-1)
    first = I64(s.to_king[king])
    for k in range(men):
        number = I64(s.place[s.cells + I64(s.image[first * s.cells + I64(white[k])])])
        if number < 0:
            return I64(-1)
        sort_in(scratch, k, number)
    at = x.tier.rows_at[tier] + orbit * x.tier.row_space[tier] + combination_rank(s.binomial, s.most, scratch, men)
    return at if x.row.number[at] >= 0 else I64(-1)


@inlined
def _element(x: TierTables, at: int, king: int) -> int:
    """Return the symmetry by which the index takes a king and a row, of which `_row_place` is known, to its own."""
    return I64(x.square.compose[(I64(x.row.element[at]) << 3) + I64(x.square.to_king[king])])


@called
def row_is_regular(d: ProofDesk, row: int, orbit: int, king: int) -> bool:
    """Find the symmetries of the open row, and return whether the index ranks images of its placements by them alone.

    The index takes an image to the row by as many symmetries as the row has, and keeps the least of the columns that
    they make. If these, each after the one that made the image, are the row's own symmetries, then image and
    placement have the same entry, whatever the column is, and no image needs to be ranked by itself.
    """
    x, m, r, w = d.tiers, d.memory, d.listing, d.ways
    s = x.square
    own, residual = I64(0), I64(x.row.residual[x.tier.meta_at[d.tier] + row])
    for turn in range(r.order):
        own |= I64(_keeps_row(d, advance(r.image, turn * s.cells), king)) << turn
    w.turns[0] = own & ~1
    for turn in range(r.order):
        image = advance(r.image, turn * s.cells)
        moved = I64(image[king])
        for k in range(r.row_men):
            m.spare_white[k] = image[I64(m.white[k])]
        at = _row_place(x, d.tier, moved, m.spare_white, m.scratch)
        if at < 0 or s.king[moved] != orbit or I64(x.row.number[at]) != row - r.first_row[orbit]:
            return False
        element, found, left = _element(x, at, moved), I64(0), residual
        while left:
            last = I64(s.compose[(trailing_zeros(left) << 3) + element])
            left &= left - 1
            found |= I64(1) << I64(w.made[8 * last + turn])
        if found != own or popcount(residual) != popcount(own):
            return False
    return True


@inlined
def _keeps_row(d: ProofDesk, image: NDArray[np.uint8], king: int) -> bool:
    """Return whether a symmetry keeps the king and the set of row soldiers."""
    m, men = d.memory, d.listing.row_men
    if I64(image[king]) != king:
        return False
    for k in range(men):
        found = False
        for other in range(men):
            found = found or image[I64(m.white[k])] == m.white[other]
        if not found:
            return False
    return True


@called
def king_is_regular(d: ProofDesk, orbit: int, king: int) -> bool:
    """Find the symmetries that keep a king, and return whether the index ranks images of placements by these alone.

    Without defenders, the index takes an image to one with the same king, and ranks its attackers. If every image
    becomes the placement after a symmetry that keeps the king, it is enough to rank those.
    """
    s, r, w = d.tiers.square, d.listing, d.ways
    own = I64(0)
    for turn in range(r.order):
        own |= I64(I64(r.image[turn * s.cells + king]) == king) << turn
    w.turns[0] = own & ~1
    for turn in range(r.order):
        moved = I64(r.image[turn * s.cells + king])
        if s.king[moved] != orbit:
            return False
        made = I64(w.made[8 * I64(s.to_king[moved]) + turn])
        if (own >> made) & 1 == 0:
            return False
    return True


@called
def find_way(d: ProofDesk, man: int, target: int, king: int, stamp: int) -> None:
    """Write where a change of place of a man of white leads; O(cells * men)."""
    x, m, w = d.tiers, d.memory, d.ways
    s, defenders = x.square, x.tier.defenders[d.tier]
    way = man * s.cells + target
    w.stamp[way], w.base[way] = stamp, NOWHERE
    if man == defenders:
        king = target
    orbit = I64(s.king[king])
    if orbit < 0:
        return
    by_king = d.tier * s.kings + orbit
    if defenders == 0:
        # The attackers are the row soldiers: their combination is ranked, and then looked up.
        w.base[way] = x.tier.rows_at[d.tier] + orbit * x.tier.row_space[d.tier]
        w.first[way] = x.tier.base[by_king]
        _copy_places(d, way, I64(s.to_king[king]))
        return
    for k in range(defenders):
        m.spare_white[k] = target if k == man else m.white[k]
    at = _row_place(x, d.tier, king, m.spare_white, m.scratch)
    if at < 0:
        return
    row = I64(x.row.number[at])
    if x.row.residual[x.tier.meta_at[d.tier] + x.tier.first_row[by_king] + row] != 1:
        w.base[way] = SEVERAL
        return
    w.base[way] = x.tier.base[by_king] + row * x.tier.width[by_king]
    element = _element(x, at, king)
    _copy_places(d, way, element)
    _close_up(d, way, element, king)
    for k in range(defenders):
        _close_up(d, way, element, I64(m.spare_white[k]))


@inlined
def _copy_places(d: ProofDesk, way: int, element: int) -> None:
    """Give attackers' cells the numbers that their images have if nobody else is on the board."""
    there, place = advance(d.ways.there, way * MOST_CELLS), advance(d.ways.place, element * MOST_CELLS)
    for cell in range(d.tiers.square.cells):
        there[cell] = place[cell]


@inlined
def _close_up(d: ProofDesk, way: int, element: int, taken: int) -> None:
    """Count a cell out that a piece takes: those behind it have numbers less by one."""
    there, place = advance(d.ways.there, way * MOST_CELLS), advance(d.ways.place, element * MOST_CELLS)
    number = place[taken]
    if I64(number) < MOST_CELLS:
        for cell in range(d.tiers.square.cells):
            there[cell] -= np.uint8(place[cell] > number)
