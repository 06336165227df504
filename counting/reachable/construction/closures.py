"""Placements of an outer region that can be assembled within it, by exhaustive search: closures of its quiet plies.

A placement of the region has some attackers, defenders and perhaps the king. Its number: the king's place first, then
the attackers among the places left, then the defenders among those left, each as a rank of combinations.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from counting.reachable.construction.layout import HOSTILE, PLACES, region_tables
from tablut.engine.jit import I64, inlined, kernel, popcount, trailing_zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Closure", "closure_of", "mask_tables", "placement_number"]


class MaskTables(NamedTuple):
    """Ranks of combinations of places.

    Attributes
    ----------
    ranks : ndarray of int32, shape (2**23,)
        Of each mask, among those with as many bits, in ascending order.
    masks : ndarray of int32, shape (2**23,)
        The masks by number of bits, then ascending.
    firsts : ndarray of int64, shape (25,)
        Where the masks of each number of bits begin.
    combinations : ndarray of int64, shape (24, 24)
        Binomial coefficients.
    """

    ranks: NDArray[np.int32]
    masks: NDArray[np.int32]
    firsts: NDArray[np.int64]
    combinations: NDArray[np.int64]


@lru_cache(maxsize=1)
def mask_tables() -> MaskTables:
    """Return the tables; the same object each time."""
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
    """Return a mask of places renumbered as if those of ``removed`` did not exist; they hold none of its bits."""
    result = I64(0)
    while mask:
        bit = mask & -mask
        mask ^= bit
        result |= I64(1) << (trailing_zeros(bit) - popcount(removed & (bit - 1)))
    return result


@inlined
def _with(mask: int, added: int) -> int:
    """Undo `_without`."""
    result, number = I64(0), I64(0)
    for place in range(PLACES):
        if (added >> place) & 1 == 0:
            result |= ((mask >> number) & 1) << place
            number += 1
    return result


@inlined
def _number(
    black: int,
    soldiers: int,
    king: int,
    ranks: NDArray[np.int32],
    combinations: NDArray[np.int64],
    king_places: NDArray[np.int64],
) -> int:
    """Return the number of a placement; ``king`` is a place or -1."""
    room, royal, first = I64(PLACES), I64(0), I64(0)
    if king >= 0:
        room, royal, first = I64(PLACES - 1), I64(1) << king, I64(king_places[king])
    attackers, defenders = popcount(black), popcount(soldiers)
    low = I64(ranks[_without(soldiers, black | royal)])
    high = I64(ranks[_without(black, royal)])
    return (first * combinations[room, attackers] + high) * combinations[room - attackers, defenders] + low


@inlined
def _is_active(place: int, own: int, enemies: int, victims: NDArray[np.int64], anvils: NDArray[np.int64]) -> bool:
    """Return whether a piece that arrives on a place captures something, or may."""
    own |= HOSTILE
    active = False
    for way in range(4):
        active |= (enemies & victims[place, way]) != 0 and (own & anvils[place, way]) != 0
    return active


@inlined
def _tips_are_safe(black: int, white: int, traps: NDArray[np.int64]) -> bool:
    """Return whether an attacker that arrives on the tip of the camp captures nothing in the region."""
    safe = True
    for trap in range(len(traps)):
        safe &= (white >> traps[trap, 0]) & (black >> traps[trap, 1]) & 1 == 0
    return safe


@inlined
def _white_is_mobile(
    black: int,
    white: int,
    king: int,
    doors: int,
    traps: NDArray[np.int64],
    rays: NDArray[np.int64],
    victims: NDArray[np.int64],
    anvils: NDArray[np.int64],
    king_places: NDArray[np.int64],
) -> bool:
    """Return whether some white piece can go and come back quietly, the tip of the camp being safe meanwhile."""
    movers = white & ~doors
    while movers:
        place = trailing_zeros(movers)
        movers &= movers - 1
        if _is_active(place, white, black, victims, anvils):
            continue
        for way in range(4):
            for step in range(9):
                target = rays[place, way, step]
                if target < 0 or ((black | white) >> target) & 1:
                    break
                if (doors >> target) & 1 or (place == king and king_places[target] < 0):
                    continue
                moved = white ^ (I64(1) << place) ^ (I64(1) << target)
                if not _is_active(target, moved, black, victims, anvils) and _tips_are_safe(black, moved, traps):
                    return True
    return False


@inlined
def _door_code(black: int, white: int) -> int:
    """Return what stands on the three doors, in base 3: 0 nothing, 1 an attacker, 2 white."""
    code = I64(0)
    for place in (1, 4, 7):
        code = 3 * code + ((black >> place) & 1) + 2 * ((white >> place) & 1)
    return code


@kernel
def _close(
    attackers: int,
    defenders: int,
    kings: NDArray[np.int64],
    root: int,
    own_tempo: bool,
    doors: int,
    traps: NDArray[np.int64],
    rays: NDArray[np.int64],
    victims: NDArray[np.int64],
    anvils: NDArray[np.int64],
    king_places: NDArray[np.int64],
    ranks: NDArray[np.int32],
    masks: NDArray[np.int32],
    firsts: NDArray[np.int64],
    combinations: NDArray[np.int64],
    queue: NDArray[np.int32],
    seen: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> int:
    """Mark in ``seen`` what is assembled from ``root``, count it by doors, shape (27,), and return how much it is.

    ``kings`` lists where a king can be; it is empty if there is none. O(placements x plies).
    """
    crowned = len(kings) > 0
    room = I64(PLACES - 1) if crowned else I64(PLACES)
    lows = I64(combinations[room - attackers, defenders])
    highs = I64(combinations[room, attackers])
    queue[0] = root
    seen[root] = 1
    head, tail = 0, 1
    while head < tail:
        number = I64(queue[head])
        head += 1
        rest, low = number // lows, number % lows
        first, high = rest // highs, rest % highs
        king, royal = I64(-1), I64(0)
        if crowned:
            king = I64(kings[first])
            royal = I64(1) << king
        black = _with(I64(masks[firsts[attackers] + high]), royal)
        soldiers = _with(I64(masks[firsts[defenders] + low]), black | royal)
        white = soldiers | royal
        counts[_door_code(black, white)] += 1
        movers = (black | white) & ~doors
        while movers:
            place = trailing_zeros(movers)
            movers &= movers - 1
            bit = I64(1) << place
            is_black = (black & bit) != 0
            for way in range(4):
                for step in range(9):
                    target = I64(rays[place, way, step])
                    if target < 0 or ((black | white) >> target) & 1:
                        break
                    if place == king and king_places[target] < 0:
                        continue
                    change = bit | (I64(1) << target)
                    if is_black:
                        if _is_active(target, black ^ change, white, victims, anvils):
                            continue
                        if not _tips_are_safe(black ^ change, white, traps):
                            continue
                        found = _number(black ^ change, soldiers, king, ranks, combinations, king_places)
                        if seen[found]:
                            continue
                        if own_tempo and not _white_is_mobile(
                            black ^ change, white, king, doors, traps, rays, victims, anvils, king_places
                        ):
                            continue
                    else:
                        if _is_active(target, white ^ change, black, victims, anvils):
                            continue
                        if not _tips_are_safe(black, white ^ change, traps):
                            continue
                        if place == king:
                            found = _number(black, soldiers, target, ranks, combinations, king_places)
                        else:
                            found = _number(black, soldiers ^ change, king, ranks, combinations, king_places)
                        if seen[found]:
                            continue
                    seen[found] = 1
                    queue[tail] = found
                    tail += 1
    return tail


class Closure(NamedTuple):
    """What can be assembled of some material.

    Attributes
    ----------
    placements : int
        How many there are.
    by_doors : ndarray of int64, shape (27,)
        The same by what stands on the doors, in base 3: 0 nothing, 1 an attacker, 2 white.
    seen : ndarray of uint8
        Whether each placement is among them, by its number.
    """

    placements: int
    by_doors: NDArray[np.int64]
    seen: NDArray[np.uint8]


def placement_number(black: int, soldiers: int, king: int) -> int:
    """Return the number of a placement of an outer region.

    Parameters
    ----------
    black, soldiers : int
        Masks of places.
    king : int
        The king's place, or -1.

    Returns
    -------
    int
        Its entry in `Closure.seen`.

    Examples
    --------
    >>> placement_number(0b1, 0b10, -1)
    0
    """
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


def closure_of(black: int, soldiers: int, king: int, *, own_tempo: bool) -> Closure:
    """Return what quiet plies within an outer region lead to from a placement.

    Parameters
    ----------
    black, soldiers : int
        Masks of places: the placement from which all is assembled.
    king : int
        The king's place, or -1.
    own_tempo : bool
        Whether white has no other piece to lose a tempo with: after an attacker's ply some
        white piece of the region must then be able to go and come back.

    Returns
    -------
    Closure
        Its placements.

    Examples
    --------
    One attacker gets everywhere:

    >>> int(closure_of(1 << 22, 0, -1, own_tempo=False).placements)
    23
    """
    t, m = region_tables(), mask_tables()
    attackers, defenders, room = black.bit_count(), soldiers.bit_count(), PLACES - (king >= 0)
    kings = t.kings if king >= 0 else np.empty(0, dtype=np.int64)
    size = max(1, len(kings)) * comb(room, attackers) * comb(room - attackers, defenders)
    queue, seen = np.empty(size, dtype=np.int32), np.zeros(size, dtype=np.uint8)
    by_doors = np.zeros(27, dtype=np.int64)
    placements = _close(
        attackers,
        defenders,
        kings,
        placement_number(black, soldiers, king),
        own_tempo,
        t.doors,
        t.traps,
        t.rays,
        t.victims,
        t.anvils,
        t.king_places,
        m.ranks,
        m.masks,
        m.firsts,
        m.combinations,
        queue,
        seen,
        by_doors,
    )
    return Closure(int(placements), by_doors, seen)
