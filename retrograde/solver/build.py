"""Build a tablebase: every tier of at most so many men, lower ones first, each a task of its own.

A task reads the tiers that captures lead to from the store, solves its tier and writes it there,
whole or not at all. A build that is killed therefore loses at most the tiers in the making,
and goes on with the others; what it writes does not depend on how often that happened,
nor on threads or workers.
"""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from retrograde.solver.tier_graph import generations, tier_graph
from retrograde.solver.tier_solver import TierSolver
from retrograde.tablebase.errors import DamagedTableError, TooOldError
from retrograde.tablebase.scratch import mapped_array
from retrograde.tablebase.store import SIDES, open_store, tier_name
from retrograde.tablebase.writer import create, write_tier, writing
from tablut import __version__
from tablut.compilation import cpu_clock, wall_clock
from tablut.indexing.tiers import TierIndex
from tablut.indexing.values import ALIAS, ALIAS_CODE, DECIDED, code_of
from tablut.scheduling import open_scheduler
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from retrograde.tablebase.store import Store
    from tablut.variants import VariantLike

__all__ = ["TierTask", "build_tablebase", "build_tier"]

_BYTES = 4
"""Bytes of memory for an entry of a tier: two items."""
_PART = 1 << 16
"""Items that are turned into codes together, and back."""


class TierTask(NamedTuple):
    """One tier to be built.

    Attributes
    ----------
    root : str
        The store.
    attackers, defenders : int
        The tier.
    threads : int
        Number of threads.
    memory : int
        Bytes of memory; what does not fit is mapped from files beside the store.
    """

    root: str
    attackers: int
    defenders: int
    threads: int
    memory: int


def build_tablebase(
    root: Path | str,
    variant: VariantLike,
    men: int,
    *,
    threads: int = 1,
    memory: int = 4 << 30,
    scheduler: str | None = None,
    advanced: Callable[[str], None] | None = None,
) -> Store:
    """Build all tiers of at most so many men that a store does not have yet, and those that are damaged there.

    Parameters
    ----------
    root : Path or str
        The store; made if it is missing.
    variant : Variant, str or path-like
        The game.
    men : int
        Most men, the king counted.
    threads : int
        Number of threads; one tier is built at a time, by all of them.
    memory : int
        Bytes for the arrays of one tier and those below it.
    scheduler : str, optional
        Address of a running Dask cluster whose workers see the store under the same
        name. They build tiers that do not need each other side by side, each with one thread.
    advanced : callable, optional
        Told what is being done.

    Returns
    -------
    Store
        With all these tiers.

    Raises
    ------
    InputError
        If there is no tier of so few men, or the folder holds something else.
    MachineError
        If the disk is full; the tiers that are finished are kept.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tablut.variants import load_variant
    >>> with TemporaryDirectory() as folder:
    ...     build_tablebase(folder + "/base", load_variant("brandubh-5-4v0"), men=3).tiers()
    [(1, 0), (2, 0)]
    """
    variant = as_variant(variant)
    order = generations(tier_graph(variant, men))
    store = create(root, variant, [material for tiers in order for material in tiers])
    tell = advanced or (lambda _: None)
    with writing(root), open_scheduler(threads=1, address=scheduler) as cluster:
        share = threads if scheduler is None else 1
        for tiers in order:
            missing = [material for material in tiers if not _is_sound(store, material, tell)]
            tasks = [TierTask(str(Path(root).resolve()), *material, share, memory) for material in missing]
            if scheduler is None:
                # In this process, so that every step of a tier can be told.
                for task in tasks:
                    build_tier(task, tell)
            else:
                cluster.run(build_tier, tasks, lambda answer: tell(f"{answer['tier']} built"))
    return open_store(root)


def _is_sound(store: Store, material: tuple[int, int], tell: Callable[[str], None]) -> bool:
    """Return whether a tier is there as it was written; one that is damaged is built again, and that is told."""
    if not store.has(*material):
        return False
    if not (store.root / tier_name(material) / "zarr.json").is_file():
        # What an abandoned task named after its files had been removed.
        return False
    try:
        for damage in store.tier(*material).check_contents():
            raise damage
    except (DamagedTableError, TooOldError) as error:
        tell(f"{tier_name(material)}: {error}")
        return False
    return True


def build_tier(task: TierTask, advanced: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Build one tier from those below it, which the store must have.

    Parameters
    ----------
    task : TierTask
        What is to be built.
    advanced : callable, optional
        Told what is being done.

    Returns
    -------
    dict
        ``tier``, its name, and ``seconds`` and ``cpu_seconds`` that it took.
    """
    tell = advanced or (lambda _: None)
    material = (task.attackers, task.defenders)
    name = f"{task.attackers}v{task.defenders}"
    store = open_store(task.root)
    lower = list(tier_graph(store.variant).successors(material))
    started, cpu = wall_clock(), cpu_clock()
    tell(f"{name}: index")
    solver = TierSolver(store.variant, [*lower, material], threads=task.threads)
    sizes = [solver.size(other) for other in solver.materials]
    scratch = Path(task.root) / f".{name}.scratch"
    # What a killed task left is of no use.
    shutil.rmtree(scratch, ignore_errors=True)
    allocate = _mapped(scratch) if _BYTES * sum(sizes) > task.memory else _held
    try:
        for other in lower:
            tell(f"{name}: reads {other[0]}v{other[1]}")
            solver.items[other] = _read(store, other, allocate)
        white, black = solver.solve(material, allocate, lambda step: tell(f"{name}: {step}"))
        tell(f"{name}: stores")
        seconds = {
            "seconds": round(wall_clock() - started, 3),
            "cpu_seconds": round(cpu_clock() - cpu, 3),
        }
        index = TierIndex(store.variant, *material, representatives=_representatives(solver, material))
        codes = _to_codes(white), _to_codes(black)
        write_tier(task.root, index, *codes, {"version": __version__, **seconds}, threads=task.threads)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return {"tier": name, **seconds}


def _to_codes(items: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Turn a solver's items into codes that are to be stored, in their place; see `tablut.indexing.values`."""
    # Part by part, so that the cache holds what is in between.
    for start in range(0, len(items), _PART):
        part = items[start : start + _PART]
        codes = code_of(part)
        codes[part == ALIAS] = ALIAS_CODE
        part[:] = codes
    return items


def _read(
    store: Store, material: tuple[int, int], allocate: Callable[[int], NDArray[np.uint16]]
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the items of a stored tier; its aliases hold anything, and nobody asks for them."""
    tier = store.tier(*material)
    found = []
    for side in SIDES:
        items = allocate(tier.entries)
        tier.codes(side, items)
        for start in range(0, len(items), _PART):
            part = items[start : start + _PART]
            part[part != 0] |= np.uint16(DECIDED)
        found.append(items)
    return found[0], found[1]


def _representatives(solver: TierSolver, material: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which combinations of row soldiers are the least of their classes, from the compiled index."""
    x, tier = solver.index, solver.materials.index(material)
    start, space = int(x.tier.rows_at[tier]), int(x.tier.row_space[tier])
    part = slice(start, start + x.square.kings * space)
    own: NDArray[np.bool_] = (x.row.number[part] >= 0) & (x.row.element[part] == 0)
    return own.reshape(x.square.kings, space)


def _held(size: int) -> NDArray[np.uint16]:
    return np.zeros(size, dtype=np.uint16)


def _mapped(folder: Path) -> Callable[[int], NDArray[np.uint16]]:
    """Return a function that makes arrays in files of a folder."""
    number = count()

    def allocate(size: int) -> NDArray[np.uint16]:
        return mapped_array(folder / f"{next(number)}.items", size, np.uint16)

    return allocate
