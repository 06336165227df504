"""Building a tablebase. Every tier up to a given number of men is built by a separate task, beginning with the lowest.

A task reads the tiers that captures lead to from the store, solves its own tier, and writes it to the store atomically.
If a build is killed, at most the tiers in progress are lost, and a later build keeps the finished tiers. The result
does not depend on interruptions or on the number of threads or workers.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from retrograde.solver.slices.building import SliceBuild, scratch_folder, to_codes
from retrograde.solver.tier_graph import generations, least_classes, tier_bytes, tier_graph, too_little
from retrograde.solver.tier_solver import TierSolver
from retrograde.tablebase.store import DamagedTableError, open_store, tier_name
from retrograde.tablebase.writer import create, write_tier, writing
from tablut import __version__
from tablut.errors import SOME, THREADS, numbers
from tablut.indexing.tiers import TierIndex, packed_rows
from tablut.indexing.values import DECIDED
from tablut.position import SIDES
from tablut.variants import as_variant
from tablut.work.clocks import cpu_clock, wall_clock
from tablut.work.files import store_path
from tablut.work.progress import Observer
from tablut.work.run import LocalScheduler, open_scheduler
from tablut.work.sealed_records import TooOldError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from retrograde.solver.tier_graph import Material
    from retrograde.tablebase.store import Store
    from tablut.variants import Variant, VariantLike
    from tablut.work.run import Scheduler


class TierTask(NamedTuple):
    """A task that builds one tier."""

    root: str
    attackers: int
    defenders: int
    threads: int


@numbers(men=SOME, threads=THREADS, memory=SOME)
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
    """Build the requested tiers that a store lacks, and rebuild damaged tiers.

    Parameters
    ----------
    root : Path or str
        Folder of the store, which is created if it is missing.
    variant : Variant, str or path-like
        The game.
    men : int or None
        Maximum number of men, including the king. If ``men`` is None, only the tiers in ``materials`` are built, or all
        tiers if ``materials`` is empty.
    materials : sequence of (attackers, defenders)
        Additional tiers to build. All tiers to which captures lead from these tiers are built as well.
    threads : int
        Number of threads. One tier is built at a time, by all threads.
    memory : int
        Memory in bytes for the arrays of one tier and the tiers below it. A larger tier is built in slices
        (`retrograde.solver.slices`), and each slice is a task that stays within this limit.
    scheduler : str or Scheduler, optional
        Address of a running Dask cluster whose workers have access to the store at the same path. The workers build
        independent tiers in parallel, each with one thread. Alternatively, a `Scheduler` that runs the tasks.
    observer : Observer, optional
        Receives progress reports, as a lower bound on the number of classes solved.

    Returns
    -------
    Store
        The store, with all requested tiers.

    Raises
    ------
    InputError
        If no tier has as few men as requested, if the folder contains anything other than a store, or if even a slice
        of a tier does not fit into memory.
    MachineError
        If the disk is full. Finished tiers are kept.

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
        # Connect to the scheduler first, because a failure to connect should leave no store behind.
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
                # Run these tasks in this process, so that every step within a tier can be reported.
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
    """Return whether a tier does not fit into memory and must be built in slices.

    Raise `InputError` if the tier does not fit and cannot be divided into slices, because it has no defenders.
    """
    if tier_bytes(variant, material) <= memory:
        return False
    if not material[1]:
        raise too_little(variant, material, memory)
    return True


def is_sound(store: Store, material: tuple[int, int], tell: Callable[[str], None]) -> bool:
    """Return whether a tier is in the store and undamaged. Damage is reported, and the caller rebuilds the tier."""
    if not store.has(*material):
        return False
    if not Path(str(store.root), tier_name(material), "zarr.json").is_file():
        # An abandoned task moved its folder into place after the files in the folder had been removed.
        return False
    try:
        for damage in store.tier(*material).check_contents():
            raise damage
    except (DamagedTableError, TooOldError) as error:
        tell(f"{tier_name(material)}: {error}")
        return False
    return True


def build_tier(task: TierTask, advanced: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Build one tier from the stored tiers below it. Return its name and the time that the build took."""
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
    index = TierIndex(store.variant, *material, packed=packed_representatives(solver, material))
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
    """Build one tier slice by slice from the stored tiers below it. Return its name and the build's cost."""
    started = wall_clock()
    build = SliceBuild(root, material, scheduler, memory=memory, tell=tell, cuts=cuts)
    spent: dict[str, Any] = {}
    while not spent:
        white, black, done = build.solve()
        tell(f"{build.name}: stores")
        cost: dict[str, Any] = {
            "slices": build.count,
            "seconds": round(wall_clock() - started, 3),
            "cpu_seconds": round(done.cpu_seconds, 3),
            "read": done.read,
            "written": done.written,
        }
        solver = build.tier.solver
        index = TierIndex(solver.variant, *material, packed=packed_representatives(solver, material))
        with build.mending.attempt(done.step, build.resume):
            write_tier(root, index, white, black, {"version": __version__, **cost}, threads=scheduler.sharing)
            spent = cost
    build.remove()
    return {"tier": build.name, **spent}


def stored_items(store: Store, material: tuple[int, int]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return a stored tier's items, with white and with black to move."""
    tier = store.tier(*material)
    white, black = (tier.codes(side, np.empty(tier.entries, dtype=np.uint16)) for side in SIDES)
    for items in (white, black):
        np.bitwise_or(items, np.uint16(DECIDED), out=items, where=items != 0)
    return white, black


def packed_representatives(solver: TierSolver, material: tuple[int, int]) -> NDArray[np.uint8]:
    """Return which combinations of row soldiers represent their class, for each cell of the king, as bits.

    The result is read from the compiled index.
    """
    x, tier = solver.index, solver.materials.index(material)
    start, space = int(x.tier.rows_at[tier]), int(x.tier.row_space[tier])
    part = slice(start, start + x.square.kings * space)
    own = (x.row.number[part] >= 0) & (x.row.element[part] == 0)
    return packed_rows(own.reshape(x.square.kings, space))
