"""The complete computation of the lower bound, which checks the finite part of the proof and counts the placements."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import accumulate
from math import comb
from typing import TYPE_CHECKING, Final

import numpy as np
from pydantic import Field, ValidationError

from counting.spaces import spaces
from reports.reachable import LowerBound
from reports.studies.lower_bound.closures import closure_of
from reports.studies.lower_bound.layout import ATTACKERS, PLACES, region_tables
from reports.studies.lower_bound.plies import parked
from reports.studies.lower_bound.steps import check_openings, check_steps, parkable
from reports.studies.lower_bound.summing import RegionMaterial, constructed_by_material
from tablut.errors import InputError, output_failure
from tablut.results import ExactInt, Result
from tablut.variants import load_variant
from tablut.work.files import child, read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BUDGET: Final = 1_000_000
"""Default number of placements of an outer region to examine."""
_DEFENDERS: Final = 8
_MOST_ATTACKERS: Final = 8
"""Maximum number of attackers in an outer region. It equals the number of places in `layout.BLACK_SLOTS`."""


class MaterialCount(Result):
    """The number of constructed placements with the given numbers of attackers and defenders."""

    attackers: int
    defenders: int
    placements: ExactInt


class RegionCount(Result):
    """The number of assembled placements in an outer region that contains the given numbers of pieces."""

    attackers: int
    defenders: int
    king: int
    placements: int
    by_doors: list[int] = Field(min_length=27, max_length=27)
    tables: str


class ProvedBound(LowerBound, extra="forbid"):
    """A proved lower bound, and the counts from which it follows."""

    regions: list[RegionCount]
    materials: list[MaterialCount]


def closures_within(budget: int) -> list[RegionMaterial]:
    """Return the materials of an outer region for which closures raise the bound most within the budget.

    The materials are chosen in descending order of the following ratio: the number of counted placements with the
    material in the upper region, divided by the number of placements in the region that must be examined.
    """
    sizes = {material: _placements(material) for material in parkable(_MOST_ATTACKERS)}
    order = sorted(sizes, key=lambda material: Fraction(_positions_with(material), sizes[material]), reverse=True)
    totals = accumulate(sizes[material] for material in order)
    return [material for material, total in zip(order, totals, strict=True) if total <= budget]


def _placements(material: RegionMaterial) -> int:
    """Return the number of placements in an outer region with the given material."""
    attackers, defenders, king = material
    room, kings = PLACES - king, len(region_tables().kings) if king else 1
    return kings * comb(room, attackers) * comb(room - attackers, defenders)


def _positions_with(material: RegionMaterial) -> int:
    """Return the number of counted placements that have the given material in the upper region."""
    attackers, defenders, king = material
    # Outside the region there are 41 free cells and 16 camp cells. A king outside the region may be on 30 of the free
    # cells or on the castle.
    kings = {41: 1} if king else {40: 30, 41: 1}
    return _placements(material) * sum(
        ways * comb(free, d - defenders) * comb(free - (d - defenders) + ATTACKERS, a - attackers)
        for free, ways in kings.items()
        for a in range(max(attackers, 1), ATTACKERS + 1)
        for d in range(defenders, _DEFENDERS + 1)
    )


def _tables_digest() -> str:
    """Return a digest of all tables that a closure depends on."""
    digest = hashlib.sha256(b"closure 1")
    for table in region_tables():
        digest.update(np.asarray(table).tobytes())
    return digest.hexdigest()[:16]


def _counted(material: RegionMaterial, store: Path | None) -> RegionCount:
    """Return the number of placements in a closure, read from the store if the store contains it."""
    name = f"closure-{material.attackers}-{material.defenders}-{material.king}.json"
    tables = _tables_digest()
    path = None if store is None else child(store, name, "store")
    if path is not None and path.exists():
        try:
            found = RegionCount.model_validate_json(read_text(path, "closure"))
        except ValidationError as error:
            raise InputError(
                "is not a count of a closure", subject=str(path), remedy="remove the file, to make it again"
            ) from error
        own = (found.attackers, found.defenders, found.king, found.tables) == (*material, tables)
        possible = min(found.by_doors) >= 0 and sum(found.by_doors) == found.placements <= _placements(material)
        if not own or not possible:
            raise InputError(
                "belongs to another closure", subject=str(path), remedy="remove the file, to make it again"
            )
        return found
    region = parked(material)
    closure = closure_of(*region, own_tempo=bool(region.white))
    count = RegionCount(
        **material._asdict(), placements=closure.placements, by_doors=closure.by_doors.tolist(), tables=tables
    )
    if path is not None:
        write_text(path, count.model_dump_json() + "\n")
    return count


def prove_lower_bound(
    budget: int = BUDGET,
    store: Path | None = None,
    *,
    begin: Callable[[str, int], object] = lambda _stage, _total: None,
    tick: Callable[[int], object] = int,
) -> ProvedBound:
    """Prove a lower bound on the number of reachable positions of ashton. The bound is 0 if a step in the proof fails.

    ``budget`` is the number of placements to examine in an outer region, at about a microsecond each. The counts of
    closures are stored in the folder ``store`` and reused. ``begin`` receives the name and length of each stage, and
    ``tick`` receives its progress.
    """
    variant = load_variant("ashton")
    if store is not None:
        try:
            store.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise output_failure(f"--store {str(store)!r}", error) from error
    materials = closures_within(budget)
    begin("closures", len(materials))
    counts = []
    for material in materials:
        counts.append(_counted(material, store))
        tick(1)
    begin("steps", 2)
    steps = check_steps()
    tick(1)
    openings = check_openings()
    tick(1)
    begin("sum", 27 * 27)
    regions = {RegionMaterial(c.attackers, c.defenders, c.king): np.array(c.by_doors, dtype=np.int64) for c in counts}
    by_material = constructed_by_material(regions, tick)
    failures = [*steps.failures, *openings.failures]
    placements = 0 if failures else sum(by_material.values())
    counted = 2 * spaces(variant)["no_end"].value()
    return ProvedBound(
        variant=variant.name,
        positions=2 * placements,
        placements=placements,
        counted=counted,
        share=2 * placements / counted,
        budget=budget,
        steps=steps.checked,
        openings=openings.checked,
        failures=failures,
        assembled=sum(count.placements for count in counts),
        regions=counts,
        materials=[MaterialCount(attackers=a, defenders=d, placements=n) for (a, d), n in by_material.items()],
    )
