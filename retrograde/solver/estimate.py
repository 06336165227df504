"""What a tablebase will take, said before it is begun; and whether this machine can make it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final, NamedTuple

from retrograde.solver.tier_graph import Material, tier_graph
from tablut.errors import InputError
from tablut.indexing.tiers import TierIndex
from tablut.machine import physical_memory

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tablut.variants import Variant

__all__ = ["CLASSES_A_SECOND", "BuildEstimate", "check_build", "estimate_build"]

CLASSES_A_SECOND: Final = 4_000_000
"""What a processor solves: 2 to 9 million were measured for tiers of ashton, 1.5 for mcgill (docs/solving.md)."""
_STORED_BYTES: Final = 0.012
"""Of a class on disk, as measured for ashton up to six men."""
_ITEM_BYTES: Final = 2
"""Of a class while it is solved."""
_INDEX_BYTES: Final = 10
"""For each king and combination of row soldiers, at most."""
_INDEXED: Final = 1 << 31
"""Combinations of row soldiers that the index can number."""


class BuildEstimate(NamedTuple):
    """What a build will take.

    Attributes
    ----------
    tiers : int
        Those that are to be built.
    classes : int
        In them, with either side to move.
    memory : int
        Bytes at once: the index, and as much of the arrays as is allowed in memory.
    scratch : int
        Bytes at once of arrays that are mapped from a disk.
    stored : int
        Bytes of the tiers that are to be built.
    seconds : float
        Of one processor.
    indexable : bool
        Whether the index can number the classes at all.
    """

    tiers: int
    classes: int
    memory: int
    scratch: int
    stored: int
    seconds: float
    indexable: bool

    def __str__(self) -> str:
        disk = f"{_size(self.stored)} on disk" + (f" and {_size(self.scratch)} of scratch" if self.scratch else "")
        rate = f"{CLASSES_A_SECOND // 10**6} million classes a second"
        return (
            f"{self.tiers} tiers, {self.classes:,} classes: about {_size(self.memory)} of memory, {disk}, "
            f"{_time(self.seconds)} of processor time at {rate}"
        )


def estimate_build(variant: Variant, men: int, memory: int, built: Collection[Material] = ()) -> BuildEstimate:
    """Return what the tiers of at most so many men will take.

    Parameters
    ----------
    variant : Variant
        The game.
    men : int
        Most men, the king counted.
    memory : int
        Bytes that the arrays of a tier may take in memory.
    built : collection of (attackers, defenders)
        Tiers that are there.

    Returns
    -------
    BuildEstimate
        What it takes.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> found = estimate_build(load_variant("ashton"), 5, 4 << 30)
    >>> found.tiers, 160_000_000 < found.classes < 180_000_000, found.indexable
    (10, True, True)
    """
    graph = tier_graph(variant, men)
    order = len(variant.symmetries)
    classes = {material: -(-graph.nodes[material]["positions"] // order) for material in graph}
    index: dict[Material, int] = {}
    for material in graph:
        plain = TierIndex(variant, *material)
        index[material] = plain.row_space * len(plain.kings.representatives)
    todo = [material for material in graph if material not in built]
    most_memory = scratch = 0
    for material in todo:
        needed = [material, *graph.successors(material)]
        arrays = _ITEM_BYTES * sum(classes[tier] for tier in needed)
        tables = _INDEX_BYTES * sum(index[tier] for tier in needed)
        most_memory = max(most_memory, tables + (arrays if arrays <= memory else 0))
        scratch = max(scratch, arrays if arrays > memory else 0)
    whole = sum(classes[material] for material in todo)
    return BuildEstimate(
        tiers=len(todo),
        classes=whole,
        memory=most_memory,
        scratch=scratch,
        stored=round(_STORED_BYTES * whole),
        seconds=whole / CLASSES_A_SECOND,
        indexable=all(index[material] < _INDEXED for material in todo),
    )


def check_build(variant: Variant, men: int, memory: int, root: Path, built: Collection[Material] = ()) -> BuildEstimate:
    """Return what a build will take, if this machine has it.

    Parameters
    ----------
    variant : Variant
        The rule set.
    men : int
        Most men, the king counted.
    memory : int
        Bytes for the arrays of one tier and those below it.
    root : Path
        Where the store is to be.
    built : collection of (attackers, defenders)
        Tiers that are there.

    Returns
    -------
    BuildEstimate
        What it takes.

    Raises
    ------
    InputError
        If it cannot be made here, with what could.
    """
    estimate = estimate_build(variant, men, memory, built)
    problem = _problem(estimate, root)
    if problem is None:
        return estimate
    possible = men - 1
    while possible > 1 and _problem(estimate_build(variant, possible, memory, built), root) is not None:
        possible -= 1
    way_out = f"--men {possible} is possible here" if possible > 1 else "use a machine that has more"
    raise InputError(f"--men {men}: {problem}; {way_out} ({estimate})")


def _problem(estimate: BuildEstimate, root: Path) -> str | None:
    if not estimate.indexable:
        return "has more classes than can be numbered"
    has = physical_memory()
    if has is not None and estimate.memory > has:
        return f"needs {_size(estimate.memory)} of memory, the machine has {_size(has)}"
    place = root.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if estimate.stored + estimate.scratch > free:
        return f"needs {_size(estimate.stored + estimate.scratch)} on the disk of {str(root)!r}, {_size(free)} are free"
    return None


def _size(count: float) -> str:
    units = ("bytes", "KB", "MB", "GB", "TB")
    power = min(max(len(f"{count:.0f}") - 1, 0) // 3, len(units) - 1)
    value = count / 1000**power
    return f"{value:,.0f} {units[power]}" if power == 0 or value >= 100 else f"{value:.1f} {units[power]}"


def _time(seconds: float) -> str:
    for most, length, unit in ((120, 1, "seconds"), (7200, 60, "minutes"), (48 * 3600, 3600, "hours")):
        if seconds < most:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds / 86400:,.0f} days"
