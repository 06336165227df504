"""Quiet plies within an outer region, in plain Python, and paths of such plies between placements.

This is a second implementation of the rules in `closures`. The paths show that individual steps of the proof are
possible, and games are built from them.
"""

from __future__ import annotations

from functools import cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from reports.studies.lower_bound.layout import (
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

    from reports.studies.lower_bound.summing import RegionMaterial

MOST_SEEN: Final = 4_000_000
"""Maximum number of placements that a search for a path visits. They take about half a gigabyte of memory."""
_DOWN: Final = 3
"""The direction from an outer region to the middle."""


class GaveUpError(Exception):
    """Exception raised when a search for a path reaches its limit. It does not mean that the theorem is wrong."""


class Region(NamedTuple):
    """A placement in an outer region."""

    black: int
    soldiers: int
    king: int

    @property
    def white(self) -> int:
        """Mask of all white pieces: the defenders and the king."""
        return self.soldiers | (1 << self.king if self.king >= 0 else 0)

    def moved(self, start: int, target: int) -> Region:
        """Return the placement after moving a piece to another place."""
        change = 1 << start | 1 << target
        if start == self.king:
            return self._replace(king=target)
        if self.black >> start & 1:
            return self._replace(black=self.black ^ change)
        return self._replace(soldiers=self.soldiers ^ change)


class Ply(NamedTuple):
    """A ply within an outer region."""

    start: int
    target: int


def parked(material: RegionMaterial) -> Region:
    """Return the placement that parks an outer region's material."""
    black = sum(1 << place_of(cell) for cell in BLACK_SLOTS[: material.attackers])
    soldiers = sum(1 << place_of(cell) for cell in WHITE_SLOTS[material.king][: material.defenders])
    return Region(black, soldiers, place_of(KING_SLOT) if material.king else -1)


def is_quiet(region: Region, place: int, free: int = -1) -> bool:
    """Return whether the piece on a place would have captured nothing if it had arrived there last.

    ``free`` is a place in the lane whose neighbour in the middle is known to be empty, or -1 if there is no such place.
    A piece on this place cannot be captured from above.
    """
    own, enemies = (region.black, region.white) if region.black >> place & 1 else (region.white, region.black)
    if free >= 0 and rays_of(place)[_DOWN][0] == free:
        enemies &= ~(1 << free)
    return not any(enemies & victim and (own | HOSTILE) & anvil for victim, anvil in _captures(place))


@cache
def _captures(place: int) -> list[tuple[int, int]]:
    """Return the victims next to a place, each with the anvils behind it, as masks."""
    t = region_tables()
    return list(zip(t.victims[place].tolist(), t.anvils[place].tolist(), strict=True))


@cache
def rays_of(place: int) -> list[list[int]]:
    """Return the places in each direction from a place, nearest first, with -1 after the last one."""
    return list(region_tables().rays[place].tolist())


def is_safe(region: Region) -> bool:
    """Return whether an attacker that arrives on the camp's tip captures nothing in the region."""
    return not any(region.white >> first & 1 and region.black >> second & 1 for first, second in _traps())


@cache
def _traps() -> list[list[int]]:
    return list(region_tables().traps.tolist())


def _slides(region: Region, start: int) -> Iterator[int]:
    """Yield the places other than doors that a piece can slide to."""
    t = region_tables()
    taken = region.black | region.white
    for ray in rays_of(start):
        for target in ray:
            if target < 0 or taken >> target & 1:
                break
            if not t.doors >> target & 1 and (start != region.king or t.king_places[target] >= 0):
                yield target


def oscillation(region: Region, free: int = -1) -> Ply | None:
    """Return a quiet white ply that can be taken back quietly, or None if there is none."""
    doors = region_tables().doors
    for start in range(PLACES):
        if region.white >> start & 1 and not doors >> start & 1 and is_quiet(region, start, free):
            for target in _slides(region, start):
                moved = region.moved(start, target)
                if is_quiet(moved, target, free) and is_safe(moved):
                    return Ply(start, target)
    return None


def is_mobile(region: Region, free: int = -1) -> bool:
    """Return whether white can lose a tempo within the region."""
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


def find_path(goal: Region, root: Region, *, own_tempo: bool, free: int = -1) -> list[Ply] | None:
    """Return quiet plies from the placement ``root`` of an outer region to ``goal``, or None if none are found.

    If ``own_tempo`` is set, white must be able to lose a tempo in the region after each attacker's ply. The search goes
    backwards from the goal and prefers placements that resemble the root.
    """

    def _cost(region: Region) -> int:
        away = (region.black & ~root.black).bit_count() + (region.soldiers & ~root.soldiers).bit_count()
        return away + (region.king != root.king)

    if not is_safe(goal):
        return None
    after: dict[Region, tuple[Ply, Region] | None] = {goal: None}
    heap = [(_cost(goal), 0, 0, goal)]
    while heap and root not in after:
        if len(after) > MOST_SEEN:
            raise GaveUpError(
                f"no path to {goal} from {root} among {MOST_SEEN:,} placements, "
                "the limit of the search (plies.MOST_SEEN)"
            )
        _, depth, _, region = heappop(heap)
        for ply, before in _sources(region, own_tempo, free):
            if before not in after:
                after[before] = ply, region
                heappush(heap, (4 * _cost(before) + depth + 1, depth + 1, len(after), before))
    if root not in after:
        return None
    path, step = [], after[root]
    while step is not None:
        path.append(step[0])
        step = after[step[1]]
    return path
