"""The theorem's conditions for a single placement, checked independently of the counts in `summing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from reports.studies.lower_bound.closures import Closure, closure_of, placement_number
from reports.studies.lower_bound.layout import (
    CAMPS,
    CASTLE,
    DOORS,
    LANE_PAIRS,
    MIDDLE,
    SIZE,
    UPPER,
    UPWARD,
    cell_of,
    cells_of,
    mirrored,
)
from reports.studies.lower_bound.middle import comes_apart, middle_tables
from reports.studies.lower_bound.plies import Region, parked
from reports.studies.lower_bound.summing import MOST_ATTACKERS, MOST_WHITE, RegionMaterial, is_token_camp

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

_PAIRS: Final = (
    *LANE_PAIRS,
    *((door, door - SIZE) for door in DOORS),
    *((mirrored(door), mirrored(door) + SIZE) for door in DOORS),
    *(tuple(map(cell_of, pair)) for pair in (("c5", "d5"), ("f5", "g5"))),
)
"""Pairs of neighbouring cells that must not contain pieces of different colours."""
_TOKEN_ORDER: Final = (1, 2, 0, 3)
_SIDES_OF_CASTLE: Final = cells_of("e6 e4 d5 f5")


class Parts(NamedTuple):
    """A placement: all its pieces, the two outer regions, and each camp's occupied cells."""

    pieces: dict[int, str]
    regions: tuple[Region, Region]
    held: tuple[int, ...]


def parts_of(pieces: Mapping[tuple[int, int], str]) -> Parts:
    """Divide a placement into outer regions and camps."""
    by_cell = {rank * SIZE + file: piece for (file, rank), piece in pieces.items()}
    regions = []
    for lower in (False, True):
        masks, king = {"b": 0, "w": 0}, -1
        for place, cell in enumerate(UPPER):
            piece = by_cell.get(mirrored(cell) if lower else cell)
            if piece == "K":
                king = place
            elif piece is not None:
                masks[piece] |= 1 << place
        regions.append(Region(masks["b"], masks["w"], king))
    held = tuple(sum(1 << bit for bit, cell in enumerate(camp) if cell in by_cell) for camp in CAMPS)
    return Parts(by_cell, (regions[0], regions[1]), held)


def token_camp(held: tuple[int, ...]) -> int | None:
    """Return the camp where black can lose a tempo, or None if there is no token camp."""
    return next((camp for camp in _TOKEN_ORDER if is_token_camp(held[camp])), None)


class Closures:
    """The closures of outer regions. Each is computed when it is first needed."""

    def __init__(self, admitted: Callable[[RegionMaterial], bool]) -> None:
        self.admitted = admitted
        self._known: dict[RegionMaterial, Closure] = {}

    def of(self, material: RegionMaterial) -> Closure:
        """Return the closure for the given pieces in an outer region."""
        if material not in self._known:
            region = parked(material)
            self._known[material] = closure_of(*region, own_tempo=bool(region.white))
        return self._known[material]

    def __contains__(self, region: Region) -> bool:
        """Return whether a placement in an outer region can be assembled."""
        material = RegionMaterial(region.black.bit_count(), region.soldiers.bit_count(), int(region.king >= 0))
        return self.admitted(material) and bool(self.of(material).seen[placement_number(*region)])


def goes_up(cell: int) -> bool:
    """Return whether a piece on a given cell in the middle leaves it upward."""
    return cell in UPWARD or cell // SIZE == SIZE // 2 + 1


def exclusion(parts: Parts, closures: Container[Region] | None) -> str | None:
    """Return the reason why a placement does not satisfy the theorem's conditions, or None if it does."""
    pieces, regions, held = parts
    colours = {cell: "b" if piece == "b" else "w" for cell, piece in pieces.items()}
    for one, other in _PAIRS:
        if {colours.get(one), colours.get(other)} == {"b", "w"}:
            return f"{_name(one)} and {_name(other)} are of different colours"
    camp = token_camp(held)
    if camp is None:
        return "no token camp"
    if not any(region.white for region in regions):
        return "no white piece in an outer region"
    if pieces.get(CASTLE) == "K" and all(pieces.get(cell) == "b" for cell in _SIDES_OF_CASTLE):
        return "the castle is besieged"
    black = sum(1 << place for place, cell in enumerate(MIDDLE) if colours.get(cell) == "b")
    white = sum(1 << place for place, cell in enumerate(MIDDLE) if colours.get(cell) == "w")
    t = middle_tables()
    if not comes_apart(black, white, t.victims, t.anvils, t.ways):
        return "the middle does not come apart"
    for region, upward, own_camp in zip(regions, (True, False), (0, 3), strict=True):
        coming = [colours.get(cell) for cell in MIDDLE if goes_up(cell) == upward]
        room = MOST_ATTACKERS + (0 if camp == own_camp else 4 - held[own_camp].bit_count())
        if region.black.bit_count() + coming.count("b") > room:
            return "no room for attackers"
        if region.white.bit_count() + coming.count("w") > MOST_WHITE:
            return "no room for white"
        if closures is not None and region not in closures:
            return "an outer region that is not assembled"
    return None


def _name(cell: int) -> str:
    return f"{'abcdefghi'[cell % SIZE]}{cell // SIZE + 1}"
