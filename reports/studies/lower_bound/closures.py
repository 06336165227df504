"""Exhaustive search for the placements in an outer region that can be assembled within it by quiet plies.

The set of these placements is the *closure* of the placement at which the plies begin. A placement in the region
contains attackers, defenders and possibly the king. Its number combines the king's place, the attackers' places among
the other places, and the defenders' places among the rest. Each set of places is encoded as the rank of a combination.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from reports.studies.lower_bound.layout import HOSTILE, PLACES, SIZE, region_tables
from tablut.engine.jit import I64, inlined, kernel, popcount, trailing_zeros
from tablut.engine.kernel_records import flat

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reports.studies.lower_bound.layout import RegionTables

_ROW: Final = PLACES + 1
"""Length of a row of `MaskTables.combinations`."""
_TRAPS: Final = 2
"""Number of pairs in `RegionTables.traps`."""


class MaskTables(NamedTuple):
    """Tables for ranking combinations of places.

    Attributes
    ----------
    ranks : ndarray of int32, shape (2**23,)
        Rank of each mask among the masks with the same number of bits, in ascending order.
    masks : ndarray of int32, shape (2**23,)
        The masks, ordered by number of bits and then ascending.
    firsts : ndarray of int64, shape (25,)
        Index of the first mask with each number of bits.
    combinations : ndarray of int64, shape (24, 24)
        Binomial coefficients.
    """

    ranks: NDArray[np.int32]
    masks: NDArray[np.int32]
    firsts: NDArray[np.int64]
    combinations: NDArray[np.int64]


@lru_cache(maxsize=1)
def mask_tables() -> MaskTables:
    """Return the tables. Every call returns the same object."""
    bits = np.zeros(1, dtype=np.uint8)
    for _ in range(PLACES):
        bits = np.concatenate([bits, bits + np.uint8(1)])
    masks = np.argsort(bits, kind="stable").astype(np.int32)
    firsts = np.concatenate([[0], np.cumsum(np.bincount(bits, minlength=PLACES + 1))]).astype(np.int64)
    ranks = np.empty(len(masks), dtype=np.int32)
    ranks[masks] = np.arange(len(masks), dtype=np.int32) - firsts[bits[masks]].astype(np.int32)
    table = np.array([[comb(n, k) for k in range(PLACES + 1)] for n in range(PLACES + 1)], dtype=np.int64)
    return MaskTables(ranks, masks, firsts, table)


@inlined
def _without(mask: int, removed: int) -> int:
    """Return a mask with its places renumbered as if the places in ``removed`` did not exist.

    The mask must not contain any of the removed places.
    """
    result = I64(0)
    while mask:
        bit = mask & -mask
        mask ^= bit
        result |= I64(1) << (trailing_zeros(bit) - popcount(removed & (bit - 1)))
    return result


@inlined
def _with(mask: int, added: int) -> int:
    """Return a mask with its places renumbered as if the places in ``added`` existed again. It inverts `_without`."""
    result, number = I64(0), I64(0)
    for place in range(PLACES):
        if (added >> place) & 1 == 0:
            result |= ((mask >> number) & 1) << place
            number += 1
    return result


@inlined
def _number(t: RegionTables, m: MaskTables, black: int, soldiers: int, king: int) -> int:
    """Return a placement's number. ``king`` is a place, or -1 if the placement has no king."""
    room, royal, first = I64(PLACES), I64(0), I64(0)
    if king >= 0:
        room, royal, first = I64(PLACES - 1), I64(1) << king, I64(t.king_places[king])
    attackers, defenders = popcount(black), popcount(soldiers)
    low = I64(m.ranks[_without(soldiers, black | royal)])
    high = I64(m.ranks[_without(black, royal)])
    return (first * m.combinations[room * _ROW + attackers] + high) * m.combinations[
        (room - attackers) * _ROW + defenders
    ] + low


@inlined
def _is_active(t: RegionTables, place: int, own: int, enemies: int) -> bool:
    """Return whether a piece that arrives on a place captures another piece for some contents of the middle."""
    own |= HOSTILE
    active = False
    for way in range(4):
        active |= (enemies & t.victims[4 * place + way]) != 0 and (own & t.anvils[4 * place + way]) != 0
    return active


@inlined
def _tips_are_safe(t: RegionTables, black: int, white: int) -> bool:
    """Return whether an attacker that arrives on the camp's tip captures nothing in the region."""
    safe = True
    for trap in range(_TRAPS):
        safe &= (white >> t.traps[2 * trap]) & (black >> t.traps[2 * trap + 1]) & 1 == 0
    return safe


@inlined
def _white_is_mobile(t: RegionTables, black: int, white: int, king: int) -> bool:
    """Return whether some white piece can move away and back quietly while the camp's tip stays safe."""
    movers = white & ~t.doors
    while movers:
        place = trailing_zeros(movers)
        movers &= movers - 1
        if _is_active(t, place, white, black):
            continue
        for way in range(4):
            for step in range(SIZE):
                target = t.rays[(4 * place + way) * SIZE + step]
                if target < 0 or ((black | white) >> target) & 1:
                    break
                if (t.doors >> target) & 1 or (place == king and t.king_places[target] < 0):
                    continue
                moved = white ^ (I64(1) << place) ^ (I64(1) << target)
                if not _is_active(t, target, moved, black) and _tips_are_safe(t, black, moved):
                    return True
    return False


@inlined
def _door_code(black: int, white: int) -> int:
    """Return the contents of the three doors in base 3: 0 for empty, 1 for an attacker, 2 for a white piece."""
    code = I64(0)
    for place in (1, 4, 7):
        code = 3 * code + ((black >> place) & 1) + 2 * ((white >> place) & 1)
    return code


class _Search(NamedTuple):
    """The state of a closure's computation.

    Attributes
    ----------
    attackers, defenders, crowned : int
        The material. ``crowned`` is 1 if it includes the king, else 0.
    own_tempo : int
        1 if white must be able to lose a tempo in the region after an attacker's ply, else 0.
    queue : ndarray of uint32 or int64
        Numbers of the placements found, in order of discovery. `queue_type` chooses the data type.
    seen : ndarray of uint8
        For each placement number, whether the placement has been found.
    counts : ndarray of int64, shape (27,)
        Number of placements found, by door contents.
    """

    attackers: int
    defenders: int
    crowned: int
    own_tempo: int
    queue: NDArray[np.uint32 | np.int64]
    seen: NDArray[np.uint8]
    counts: NDArray[np.int64]


@inlined
def _found_by(
    t: RegionTables, m: MaskTables, s: _Search, black: int, soldiers: int, king: int, place: int, target: int
) -> int:
    """Return the placement number after a ply, or -1 if the ply is not safe or the placement is not new."""
    royal = I64(1) << king if king >= 0 else I64(0)
    white, change = soldiers | royal, (I64(1) << place) | (I64(1) << target)
    is_black = (black >> place) & 1 != 0
    own, enemies = (black ^ change, white) if is_black else (white ^ change, black)
    if _is_active(t, target, own, enemies):
        return I64(-1)
    if is_black:
        if not _tips_are_safe(t, own, white):
            return I64(-1)
        found = _number(t, m, own, soldiers, king)
        if s.seen[found] or (s.own_tempo != 0 and not _white_is_mobile(t, own, white, king)):
            return I64(-1)
        return found
    if not _tips_are_safe(t, black, own):
        return I64(-1)
    if place == king:
        king = target
    else:
        soldiers ^= change
    found = _number(t, m, black, soldiers, king)
    return I64(-1) if s.seen[found] else found


@kernel
def _close(region: RegionTables, masks: MaskTables, search: _Search, root: int) -> int:
    """Find the placements that can be assembled from ``root``, and return how many there are.

    The cost is O(placements x plies).
    """
    t, m, s = flat(region), flat(masks), flat(search)
    room = I64(PLACES) - s.crowned
    lows = I64(m.combinations[(room - s.attackers) * _ROW + s.defenders])
    highs = I64(m.combinations[room * _ROW + s.attackers])
    s.queue[0] = root
    s.seen[root] = 1
    head, tail = 0, 1
    while head < tail:
        number = I64(s.queue[head])
        head += 1
        rest, low = number // lows, number % lows
        first, high = rest // highs, rest % highs
        king, royal = I64(-1), I64(0)
        if s.crowned != 0:
            king = I64(t.kings[first])
            royal = I64(1) << king
        black = _with(I64(m.masks[m.firsts[s.attackers] + high]), royal)
        soldiers = _with(I64(m.masks[m.firsts[s.defenders] + low]), black | royal)
        taken = black | soldiers | royal
        s.counts[_door_code(black, soldiers | royal)] += 1
        movers = taken & ~t.doors
        while movers:
            place = trailing_zeros(movers)
            movers &= movers - 1
            for way in range(4):
                for step in range(SIZE):
                    target = I64(t.rays[(4 * place + way) * SIZE + step])
                    if target < 0 or (taken >> target) & 1:
                        break
                    if place == king and t.king_places[target] < 0:
                        continue
                    found = _found_by(t, m, s, black, soldiers, king, place, target)
                    if found >= 0:
                        s.seen[found] = 1
                        s.queue[tail] = found
                        tail += 1
    return tail


class Closure(NamedTuple):
    """The placements in an outer region that can be assembled from given material.

    Attributes
    ----------
    placements : int
        Number of placements.
    by_doors : ndarray of int64, shape (27,)
        Number of placements by door contents in base 3: 0 for empty, 1 for an attacker, 2 for white.
    seen : ndarray of uint8
        For each placement number, whether the placement can be assembled.
    """

    placements: int
    by_doors: NDArray[np.int64]
    seen: NDArray[np.uint8]


def placement_number(black: int, soldiers: int, king: int) -> int:
    """Return the number of a placement in an outer region."""
    ranks = mask_tables().ranks
    royal = 0 if king < 0 else 1 << king
    room = PLACES - (king >= 0)
    first = 0 if king < 0 else int(region_tables().king_places[king])
    attackers, defenders = black.bit_count(), soldiers.bit_count()
    low = int(ranks[_squeezed(soldiers, black | royal)])
    high = int(ranks[_squeezed(black, royal)])
    return (first * comb(room, attackers) + high) * comb(room - attackers, defenders) + low


def _squeezed(mask: int, removed: int) -> int:
    places = [place for place in range(PLACES) if not removed >> place & 1]
    return sum(1 << number for number, place in enumerate(places) if mask >> place & 1)


def queue_type(size: int) -> type[np.uint32 | np.int64]:
    """Return an integer type wide enough for the numbers of ``size`` placements."""
    return np.uint32 if size <= 1 << 32 else np.int64


def closure_of(black: int, soldiers: int, king: int, *, own_tempo: bool) -> Closure:
    """Return the placements that can be reached from a given placement by quiet plies within an outer region."""
    region = region_tables()
    attackers, defenders, room = black.bit_count(), soldiers.bit_count(), PLACES - (king >= 0)
    size = (len(region.kings) if king >= 0 else 1) * comb(room, attackers) * comb(room - attackers, defenders)
    search = _Search(
        attackers=attackers,
        defenders=defenders,
        crowned=int(king >= 0),
        own_tempo=int(own_tempo),
        queue=np.empty(size, dtype=queue_type(size)),
        seen=np.zeros(size, dtype=np.uint8),
        counts=np.zeros(27, dtype=np.int64),
    )
    placements = _close(region, mask_tables(), search, placement_number(black, soldiers, king))
    return Closure(int(placements), search.counts, search.seen)
