"""The graph of a game's tiers and captures, and estimates of a build's memory, disk space and time."""

from __future__ import annotations

import shutil
from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

import networkx as nx

from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.indexing.tiers import tier_index
from tablut.variants import as_variant
from tablut.variants.model import derived
from tablut.work.machine import physical_memory
from tablut.work.progress import duration, plural, size_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from tablut.variants import Variant, VariantLike

Material = tuple[int, int]
"""Numbers of attackers and of defenders."""

_MOST_CAPTURED = 3
"""Maximum number of soldiers that one ply captures without a shieldwall: one on each side of the target cell, except
the side that the piece came from."""


def tier_graph(
    variant: VariantLike, men: int | None = None, materials: Sequence[Material] = ()
) -> nx.DiGraph[Material]:
    """Return the graph of tiers, with an edge from each tier to every tier that a capture can lead to.

    The graph contains the tiers with up to ``men`` men, the tiers in ``materials``, and all tiers below these. If
    neither argument is given, the graph contains all tiers.
    """
    variant = as_variant(variant)
    if not materials:
        return _tier_graph(variant, men)
    whole = _tier_graph(variant, None)
    wanted = set() if men is None else set(_tier_graph(variant, men))
    for material in materials:
        if material not in whole:
            raise InputError(
                f"is not the material of a tier of {variant.name}",
                parameter="material",
                value="{}v{}".format(*material),
                remedy=f"give 1 to {variant.attackers} attackers and at most {variant.defenders} defenders",
            )
        wanted |= {material, *nx.descendants(whole, material)}
    return whole.subgraph(wanted)


@derived
def _tier_graph(variant: Variant, men: int | None) -> nx.DiGraph[Material]:
    most = 1 + variant.attackers + variant.defenders if men is None else men
    if most < 2:
        why = "must be 2 or more, because an undecided position has a king and an attacker"
        raise InputError(why, parameter="men", value=most)
    # Captures lead strictly downwards, so the graph has no cycles.
    graph: nx.DiGraph[Material] = nx.DiGraph()
    sizes = PlacementIndex(variant).tiers
    for material, tier in sizes.items():
        if sum(material) < most:
            graph.add_node(material, positions=2 * tier.size)
    captured_most = _MOST_CAPTURED if variant.rules.shieldwall is None else most
    for attackers, defenders in list(graph):
        for captured in range(1, captured_most + 1):
            for below in ((attackers - captured, defenders), (attackers, defenders - captured)):
                if below in graph:
                    graph.add_edge((attackers, defenders), below)
    return graph


def generations(graph: nx.DiGraph[Material]) -> list[list[Material]]:
    """Return lists of tiers, in an order suitable for solving them.

    The tiers in one list do not depend on each other.
    """
    return [sorted(tiers) for tiers in nx.topological_generations(graph.reverse(copy=False))]


def least_classes(graph: nx.DiGraph[Material], order: int) -> dict[Material, int]:
    """Return a lower bound on the number of classes in each tier under a symmetry group of the given order."""
    return {material: -(-graph.nodes[material]["positions"] // order) for material in graph}


# -- the cost of a build -----------------------------------------------------------------------


CLASSES_A_SECOND: Final = 4_000_000
"""Estimated number of classes that one processor solves per second. Measurements gave 7 to 12 million for builds in
memory, and fewer for builds in slices (docs/notes/solving.md)."""
_STORED_BYTES: Final = 0.012
"""Bytes per class on disk, measured for the tiers of ashton with up to six men."""
_ITEM_BYTES: Final = 2
"""Bytes per class while a tier is solved."""
_INDEX_BYTES: Final = 10
"""Maximum size of the index, in bytes per combination of a king's cell and row soldiers."""
_WINDOW_BYTES: Final = 6
"""Maximum size of a window's tables, in bytes per combination of a king's cell and row soldiers."""
_SLICE_BYTES: Final = 1.0
"""Bytes per class in the scratch files of slices.

When tier 2v2 of brandubh was built in nine slices, all steps together wrote 4 bytes per class. The files of only two or
three steps are kept at a time.
"""
_SHOWN: Final = 8
"""Maximum number of tiers that a description lists by name."""
_INDEXED: Final = 1 << 31
"""Limit on the number of combinations of a king's cell and row soldiers that the index can number."""


@derived
def tier_bytes(variant: Variant, material: Material) -> int:
    """Return the number of bytes needed to solve a tier in memory.

    The memory contains the arrays for the tier and the tiers below it, and the index.
    """
    graph = tier_graph(variant)
    needed = [material, *graph.successors(material)]
    classes: int = sum(-(-graph.nodes[tier]["positions"] // len(variant.symmetries)) for tier in needed)
    return _ITEM_BYTES * classes + sum(_INDEX_BYTES * tier_index(variant, *tier).combinations for tier in needed)


@derived
def least_memory(variant: Variant, material: Material) -> int:
    """Return an amount of memory, in bytes, that suffices to build a tier.

    A tier with defenders is then built in the smallest slices.
    """
    from retrograde.solver.kernels.context import row_array_sizes

    defenders = material[1]
    if not defenders:
        return tier_bytes(variant, material)
    needed = [material, *tier_graph(variant).successors(material)]
    near = 1 + 2 * (variant.size - 1) * (defenders + 1)
    entries = max(tier_index(variant, *material).widths)
    for tier in needed:
        index = tier_index(variant, *tier)
        # Count the rows that white's moves or black's captures lead to. In a tier without defenders, count all of a
        # king's rows.
        rows = near if tier[1] == defenders else comb(defenders, tier[1]) if tier[1] else index.row_space
        entries += rows * max(index.widths)
    tables = sum((_INDEX_BYTES + _WINDOW_BYTES) * tier_index(variant, *tier).combinations for tier in needed)
    return _ITEM_BYTES * entries + tables + row_array_sizes(variant, material).bytes


def too_little(variant: Variant, material: Material, memory: int, workers: int = 1) -> InputError:
    """Return the error to raise when even a tier's smallest slices do not fit into memory."""
    enough = -(-workers * least_memory(variant, material) // (1 << 20))
    shared = f" for {plural(workers, 'task')} in parallel" if workers > 1 else ""
    return InputError(
        f"is too little for tier {material[0]}v{material[1]} of {variant.name}{shared}, even in the smallest slices",
        parameter="memory",
        value=f"{memory >> 20} MiB",
        remedy=f"give it {enough} MiB",
    )


class BuildEstimate(NamedTuple):
    """Estimated cost of a build.

    Sizes are in bytes. ``memory`` is the peak memory. ``least`` is an amount of memory that suffices for every tier
    that does not fit as a whole. ``scratch`` is the disk space for temporary files, and ``stored`` is the size of the
    result. ``seconds`` is the processor time in seconds.
    """

    tiers: int
    classes: int
    memory: int
    sliced: tuple[Material, ...]
    least: int
    scratch: int
    stored: int
    seconds: float
    indexable: bool

    def __str__(self) -> str:
        scratch = f" and {size_text(self.scratch)} of scratch" if self.scratch else ""
        rate = f"{CLASSES_A_SECOND // 10**6} million classes a second"
        names = ", ".join(f"{attackers}v{defenders}" for attackers, defenders in self.sliced[:_SHOWN])
        names += f" and {len(self.sliced) - _SHOWN} more" if len(self.sliced) > _SHOWN else ""
        return (
            f"{plural(self.tiers, 'tier')}, at least {plural(self.classes, 'class')}: about "
            f"{size_text(self.memory)} of memory, {size_text(self.stored)} on disk{scratch}, "
            f"{duration(self.seconds)} of processor time at {rate}" + (f"; in slices: {names}" if names else "")
        )


def estimate_build(
    variant: Variant,
    men: int | None,
    memory: int,
    built: Collection[Material] = (),
    *,
    materials: Sequence[Material] = (),
) -> BuildEstimate:
    """Estimate the cost of building a set of tiers, excluding the tiers that are already ``built``."""
    graph = tier_graph(variant, men, materials)
    classes = least_classes(graph, len(variant.symmetries))
    todo = [material for material in graph if material not in built]
    takes = {material: tier_bytes(variant, material) for material in todo}
    too_large = [material for material in todo if takes[material] > memory]
    sliced = tuple(material for material in too_large if material[1])
    whole = sum(classes[material] for material in todo)
    return BuildEstimate(
        tiers=len(todo),
        classes=whole,
        memory=max((memory if material in sliced else takes[material] for material in todo), default=0),
        sliced=sliced,
        least=max((least_memory(variant, material) for material in too_large), default=0),
        scratch=round(_SLICE_BYTES * max((classes[material] for material in sliced), default=0)),
        stored=round(_STORED_BYTES * whole),
        seconds=whole / CLASSES_A_SECOND,
        indexable=all(tier_index(variant, *material).combinations < _INDEXED for material in todo),
    )


def check_build(
    variant: Variant,
    men: int | None,
    memory: int,
    root: Path,
    built: Collection[Material] = (),
    *,
    materials: Sequence[Material] = (),
) -> BuildEstimate:
    """Estimate the cost of a build, and raise `InputError` if this machine does not have the resources."""
    estimate = estimate_build(variant, men, memory, built, materials=materials)
    problem = _problem(estimate, root, memory)
    if problem is None:
        return estimate
    most = max([0 if men is None else men, *(1 + sum(material) for material in materials)])
    possible = most_men(variant, most - 1, memory, root, built)
    way_out = f"this machine can build `men` {possible} or less" if possible > 1 else "use a larger machine"
    asked = [] if men is None else [str(men)]
    asked += [f"{attackers}v{defenders}" for attackers, defenders in materials]
    which = "material" if men is None else "men"
    raise InputError(problem, parameter=which, value=" ".join(asked), remedy=way_out)


def most_men(variant: Variant, men: int, memory: int, root: Path, built: Collection[Material] = ()) -> int:
    """Return the greatest number of men, up to ``men``, whose tiers this machine can build, or 1 if there is none."""
    fewer = range(men, 1, -1)
    return next(
        (some for some in fewer if _problem(estimate_build(variant, some, memory, built), root, memory) is None), 1
    )


def _problem(estimate: BuildEstimate, root: Path, memory: int) -> str | None:
    if not estimate.indexable:
        return "has more positions than can be numbered"
    has = physical_memory()
    if has is not None and max(estimate.memory, estimate.least) > has:
        needed = size_text(max(estimate.memory, estimate.least))
        return f"needs {needed} of memory, but the machine has {size_text(has)}"
    if estimate.least > memory:
        enough = -(-estimate.least // (1 << 20))
        return f"needs {enough:,} MiB of memory even in the smallest slices, but {memory >> 20:,} MiB are allowed"
    place = root.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if estimate.stored + estimate.scratch > free:
        needed = size_text(estimate.stored + estimate.scratch)
        return f"needs {needed} on the disk of {str(root)!r}, but {size_text(free)} are free"
    return None
