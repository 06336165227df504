"""Quiet plies within an outer region, in plain Python, and paths of them from one placement to another.

The same rules as in `closures`, said a second time: the paths prove single steps and build games.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from counting.reachable.construction.layout import (
    BLACK_SLOTS,
    HOSTILE,
    KING_SLOT,
    PLACES,
    WHITE_SLOTS,
    place_of,
    region_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counting.reachable.construction.summing import RegionMaterial

__all__ = ["Ply", "Region", "find_path", "is_mobile", "is_quiet", "is_safe", "oscillation", "parked"]

_DOWN: Final = 3
"""The direction from an outer region to the middle."""


class Region(NamedTuple):
    """A placement of an outer region.

    Attributes
    ----------
    black, soldiers : int
        Masks of places.
    king : int
        The king's place, or -1.
    """

    black: int
    soldiers: int
    king: int

    @property
    def white(self) -> int:
        """Return the mask of defenders and king."""
        return self.soldiers | (1 << self.king if self.king >= 0 else 0)

    def moved(self, start: int, target: int) -> Region:
        """Return the placement with a piece on another place.

        Parameters
        ----------
        start, target : int
            Where the piece stands, and a free place.

        Returns
        -------
        Region
            Without captures.

        Examples
        --------
        >>> Region(1, 2, -1).moved(0, 5)
        Region(black=32, soldiers=2, king=-1)
        """
        change = 1 << start | 1 << target
        if start == self.king:
            return self._replace(king=target)
        if self.black >> start & 1:
            return self._replace(black=self.black ^ change)
        return self._replace(soldiers=self.soldiers ^ change)


class Ply(NamedTuple):
    """A ply within an outer region.

    Attributes
    ----------
    start, target : int
        Places.
    """

    start: int
    target: int


def parked(material: RegionMaterial) -> Region:
    """Return the placement in which an outer region's material is parked.

    Parameters
    ----------
    material : RegionMaterial
        At most eight attackers, and seven white pieces.

    Returns
    -------
    Region
        White on the left, attackers on the right.

    Examples
    --------
    >>> from counting.reachable.construction.summing import RegionMaterial
    >>> parked(RegionMaterial(1, 1, 0))
    Region(black=4194304, soldiers=131072, king=-1)
    """
    black = sum(1 << place_of(cell) for cell in BLACK_SLOTS[: material.attackers])
    soldiers = sum(1 << place_of(cell) for cell in WHITE_SLOTS[material.king][: material.defenders])
    return Region(black, soldiers, place_of(KING_SLOT) if material.king else -1)


def is_quiet(region: Region, place: int, free: int = -1) -> bool:
    """Return whether the piece on a place, had it come last, would have captured nothing.

    Parameters
    ----------
    region : Region
        Any placement.
    place : int
        Where a piece stands.
    free : int
        A place of the lane: the cell of the middle before it is free. By default none is known to be.

    Returns
    -------
    bool
        False as well where that depends on what stands beyond the region.

    Examples
    --------
    A defender on c8 next to an attacker on d8, behind which is a camp:

    >>> is_quiet(Region(1 << 12, 1 << 11, -1), 11)
    False
    """
    t = region_tables()
    own, enemies = (region.black, region.white) if region.black >> place & 1 else (region.white, region.black)
    if free >= 0:
        enemies &= ~(1 << free) if t.rays[place, _DOWN, 0] == free else -1
    return not any(
        enemies & int(victim) and (own | HOSTILE) & int(anvil)
        for victim, anvil in zip(t.victims[place], t.anvils[place], strict=True)
    )


def is_safe(region: Region) -> bool:
    """Return whether an attacker that arrives on the camp's tip captures nothing in the region.

    Parameters
    ----------
    region : Region
        Any placement.

    Returns
    -------
    bool
        False with white on d8 and an attacker on c8, for one.

    Examples
    --------
    >>> is_safe(Region(1 << 11, 1 << 12, -1))
    False
    """
    return not any(
        region.white >> first & 1 and region.black >> second & 1 for first, second in region_tables().traps.tolist()
    )


def _slides(region: Region, start: int) -> Iterator[int]:
    """Yield the places to which a piece can slide, those among the doors left out."""
    t = region_tables()
    taken = region.black | region.white
    for ray in t.rays[start].tolist():
        for target in ray:
            if target < 0 or taken >> target & 1:
                break
            if not t.doors >> target & 1 and (start != region.king or t.king_places[target] >= 0):
                yield target


def oscillation(region: Region, free: int = -1) -> Ply | None:
    """Return a quiet ply of a white piece that it can take back quietly, or None.

    Parameters
    ----------
    region : Region
        Any placement.
    free : int
        As in `is_quiet`.

    Returns
    -------
    Ply or None
        The camp's tip is safe before and after.

    Examples
    --------
    >>> oscillation(Region(0, 1 << 9, -1))
    Ply(start=9, target=10)
    """
    doors = region_tables().doors
    for start in range(PLACES):
        if region.white >> start & 1 and not doors >> start & 1 and is_quiet(region, start, free):
            for target in _slides(region, start):
                moved = region.moved(start, target)
                if is_quiet(moved, target, free) and is_safe(moved):
                    return Ply(start, target)
    return None


def is_mobile(region: Region, free: int = -1) -> bool:
    """Return whether white can lose a tempo within the region.

    Parameters
    ----------
    region : Region
        Any placement.
    free : int
        As in `is_quiet`.

    Returns
    -------
    bool
        Whether there is an `oscillation`.

    Examples
    --------
    >>> is_mobile(Region(1, 0, -1))
    False
    """
    return oscillation(region, free) is not None


def _sources(region: Region, own_tempo: bool, free: int) -> Iterator[tuple[Ply, Region]]:
    """Yield the quiet plies that lead to a placement, each with the placement before it."""
    mobile = not own_tempo or is_mobile(region, free)
    for place in range(PLACES):
        black = region.black >> place & 1
        if not (black or region.white >> place & 1) or (black and not mobile) or not is_quiet(region, place, free):
            continue
        for source in _slides(region, place):
            before = region.moved(place, source)
            if is_safe(before):
                yield Ply(source, place), before


def find_path(goal: Region, root: Region, *, own_tempo: bool, free: int = -1, most: int = 200_000) -> list[Ply] | None:
    """Return quiet plies that lead from one placement of an outer region to another.

    The search goes backward from the goal, first to what has most pieces where the root has them.

    Parameters
    ----------
    goal : Region
        The placement to be assembled.
    root : Region
        The placement to begin with, of the same material.
    own_tempo : bool
        As in `closures.closure_of`.
    free : int
        As in `is_quiet`, all the way.
    most : int
        How many placements are looked at.

    Returns
    -------
    list of Ply or None
        From the root on; None if none was found.

    Examples
    --------
    >>> find_path(Region(1, 0, -1), Region(1 << 8, 0, -1), own_tempo=False)
    [Ply(start=8, target=0)]
    """

    def cost(region: Region) -> int:
        away = (region.black & ~root.black).bit_count() + (region.soldiers & ~root.soldiers).bit_count()
        return away + (region.king != root.king)

    if not is_safe(goal):
        return None
    after: dict[Region, tuple[Ply, Region] | None] = {goal: None}
    heap = [(cost(goal), 0, 0, goal)]
    while heap and root not in after and len(after) < most:
        _, depth, _, region = heappop(heap)
        for ply, before in _sources(region, own_tempo, free):
            if before not in after:
                after[before] = ply, region
                heappush(heap, (4 * cost(before) + depth + 1, depth + 1, len(after), before))
    if root not in after:
        return None
    path, step = [], after[root]
    while step is not None:
        path.append(step[0])
        step = after[step[1]]
    return path
