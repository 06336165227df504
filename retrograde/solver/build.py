"""Build a tablebase: every tier of at most so many men, lower ones first, each a task of its own.

A task reads the tiers that captures lead to from the store, solves its tier and writes it there,
whole or not at all. A build that is killed therefore loses at most the tiers in the making,
and goes on with the others; what it writes does not depend on how often that happened,
nor on threads or workers.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from retrograde.solver.slices.building import SliceBuild, scratch_folder
from retrograde.solver.slices.files import DamagedSliceError, to_codes
from retrograde.solver.tier_solver import TierSolver
from retrograde.solver.tiers import generations, least_classes, tier_bytes, tier_graph, too_little
from retrograde.tablebase.records import DamagedTableError, TooOldError
from retrograde.tablebase.store import open_store, tier_name
from retrograde.tablebase.writer import create, write_tier, writing
from tablut import __version__
from tablut.indexing.tiers import TierIndex
from tablut.indexing.values import DECIDED
from tablut.position import SIDES
from tablut.running.clocks import cpu_clock, wall_clock
from tablut.running.progress import Observer
from tablut.running.scheduling import LocalScheduler, open_scheduler
from tablut.store.files import store_path
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from retrograde.solver.tiers import Material
    from retrograde.tablebase.store import Store
    from tablut.running.scheduling import Scheduler
    from tablut.variants import Variant, VariantLike


class TierTask(NamedTuple):
    """One tier to be built."""

    root: str
    attackers: int
    defenders: int
    threads: int


def build_tablebase(
    root: Path | str,
    variant: VariantLike,
    men: int | None,
    *,
    materials: Sequence[Material] = (),
    threads: int = 1,
    memory: int = 4 << 30,
    scheduler: str | Scheduler | None = None,
    observer: Observer | None = None,
) -> Store:
    """Build the tiers that are asked for and that a store does not have yet, and those that are damaged there.

    Parameters
    ----------
    root : Path or str
        The store; made if it is missing.
    variant : Variant, str or path-like
        The game.
    men : int or None
        Most men, the king counted.
    materials : sequence of (attackers, defenders)
        Tiers that are wanted besides, with all that captures lead to from them. Without ``men``, only these.
    threads : int
        Number of threads; one tier is built at a time, by all of them.
    memory : int
        Bytes for the arrays of one tier and those below it. A larger tier is built in slices
        (`retrograde.solver.slices`), each a task that takes no more.
    scheduler : str or Scheduler, optional
        Address of a running Dask cluster whose workers see the store under the same
        name. They build tiers that do not need each other side by side, each with one thread.
        Or what runs the tasks instead.
    observer : Observer, optional
        Takes notice of how many classes are solved, at least.

    Returns
    -------
    Store
        With all these tiers.

    Raises
    ------
    InputError
        If there is no tier of so few men, if the folder holds something else, or if not even a slice of a tier fits
        into the memory.
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
    root = store_path(root)
    graph = tier_graph(variant, men, materials)
    order, classes = generations(graph), least_classes(graph, len(variant.symmetries))
    watcher = observer or Observer()
    tell = watcher.note
    with open_scheduler(threads=1, address=scheduler) as cluster, ExitStack() as stack:
        # First the scheduler: one that does not answer leaves no store behind.
        store = create(root, variant, [material for tiers in order for material in tiers])
        stack.enter_context(writing(root))
        share = threads if scheduler is None else 1
        slicer = LocalScheduler(threads) if scheduler is None else cluster
        left = [[material for material in tiers if not is_sound(store, material, tell)] for tiers in order]
        for done in set(graph) - {material for tiers in left for material in tiers}:
            shutil.rmtree(scratch_folder(root, done), ignore_errors=True)
        watcher.begin("tiers", sum(classes[material] for tiers in left for material in tiers))
        for missing in left:
            sliced = [material for material in missing if _is_too_large(variant, material, memory)]
            whole = [material for material in missing if material not in sliced]
            tasks = [TierTask(str(Path(root).resolve()), *material, share) for material in whole]
            if scheduler is None:
                # In this process, so that every step of a tier can be told.
                for task, material in zip(tasks, whole, strict=True):
                    build_tier(task, tell)
                    watcher.advance(classes[material])
            else:
                cluster.run(build_tier, tasks, lambda answer: tell(f"{answer['tier']} built"))
                watcher.advance(sum(classes[material] for material in whole))
            for material in sliced:
                build_in_slices(Path(root).resolve(), material, slicer, memory=memory, tell=tell)
                watcher.advance(classes[material])
    return open_store(root)


def _is_too_large(variant: Variant, material: tuple[int, int], memory: int) -> bool:
    """Return whether a tier does not fit into memory and is built in slices; one that cannot be is refused."""
    if tier_bytes(variant, material) <= memory:
        return False
    if not material[1]:
        raise too_little(variant, material, memory)
    return True


def is_sound(store: Store, material: tuple[int, int], tell: Callable[[str], None]) -> bool:
    """Return whether a tier is there as it was written; one that is damaged is built again, and that is told."""
    if not store.has(*material):
        return False
    if not Path(str(store.root), tier_name(material), "zarr.json").is_file():
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
    """Build one tier from those below it, which the store must have."""
    tell = advanced or (lambda _: None)
    material = (task.attackers, task.defenders)
    name = tier_name(material)
    store = open_store(task.root)
    lower = list(tier_graph(store.variant).successors(material))
    started, cpu = wall_clock(), cpu_clock()
    tell(f"{name}: index")
    solver = TierSolver(store.variant, [*lower, material], threads=task.threads)
    for other in lower:
        tell(f"{name}: reads {tier_name(other)}")
        solver.items[other] = stored_items(store, other)
    white, black = solver.solve(material, advanced=lambda step: tell(f"{name}: {step}"))
    tell(f"{name}: stores")
    seconds = {"seconds": round(wall_clock() - started, 3), "cpu_seconds": round(cpu_clock() - cpu, 3)}
    index = TierIndex(store.variant, *material, representatives=representatives(solver, material))
    codes = to_codes(white), to_codes(black)
    write_tier(task.root, index, *codes, {"version": __version__, **seconds}, threads=task.threads)
    return {"tier": name, **seconds}


def build_in_slices(
    root: Path,
    material: tuple[int, int],
    scheduler: Scheduler,
    *,
    memory: int,
    tell: Callable[[str], None],
    cuts: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Build one tier slice by slice from those below it, which the store must have."""
    started = wall_clock()
    build = SliceBuild(root, material, scheduler, memory=memory, tell=tell, cuts=cuts)
    while True:
        white, black, done = build.solve()
        tell(f"{build.name}: stores")
        spent: dict[str, Any] = {
            "slices": build.count,
            "seconds": round(wall_clock() - started, 3),
            "cpu_seconds": round(done.cpu_seconds, 3),
            "read": done.read,
            "written": done.written,
        }
        solver = build.tier.solver
        index = TierIndex(solver.variant, *material, representatives=representatives(solver, material))
        try:
            write_tier(root, index, white, black, {"version": __version__, **spent}, threads=scheduler.sharing)
        except DamagedSliceError as error:
            build.count_damage(error)
            continue
        build.remove()
        return {"tier": build.name, **spent}


def stored_items(store: Store, material: tuple[int, int]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the items of a stored tier."""
    tier = store.tier(*material)
    white, black = (tier.codes(side, np.empty(tier.entries, dtype=np.uint16)) for side in SIDES)
    for items in (white, black):
        np.bitwise_or(items, np.uint16(DECIDED), out=items, where=items != 0)
    return white, black


def representatives(solver: TierSolver, material: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which combinations of row soldiers are the least of their classes, from the compiled index."""
    x, tier = solver.index, solver.materials.index(material)
    start, space = int(x.tier.rows_at[tier]), int(x.tier.row_space[tier])
    part = slice(start, start + x.square.kings * space)
    own: NDArray[np.bool_] = (x.row.number[part] >= 0) & (x.row.element[part] == 0)
    return own.reshape(x.square.kings, space)
