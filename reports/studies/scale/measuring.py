"""Measurements for the resource model: ``python -m reports.studies.scale measure --store FILE``.

A game's tiers with ``--men`` men are built in slices on a Dask cluster on this machine, once for each number of
``--workers``; the lower tiers are built beforehand. Smaller tiers are built in slices by one thread, to measure the
cost of a class. This requires the extra ``cluster`` and an otherwise idle machine; for six men, it takes ten minutes on
two processors. Before each build, the wall time predicted from one worker's trace is printed for comparison. The model
also needs to know how much busy processors slow each other down. For this purpose, one tier is built in slices by one
process, then by one process per processor at the same time.
"""

from __future__ import annotations

import os
import platform
import random
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from reports.studies.scale.records import Crowded, Judged, ScaleCheck, TierCost, Trace, Windows, run_of, tier_costs
from reports.studies.scale.replay import fit_costs, replay
from reports.studies.scale.trace import Tracer
from retrograde.solver.build import TierTask, build_in_slices, build_tablebase, build_tier, stored_items
from retrograde.solver.slices.slice_plan import SlicedTier, even_cuts
from retrograde.solver.tier_graph import tier_graph
from retrograde.solver.tier_solver import TierSolver
from retrograde.tablebase.store import open_store, tier_name
from retrograde.tablebase.writer import create, writing
from tablut import __version__
from tablut.errors import InputError
from tablut.provenance import commit
from tablut.variants import Variant, load_variant
from tablut.work.clocks import cpu_clock
from tablut.work.run import LocalScheduler, open_scheduler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrograde.solver.kernels.context import Context

SLICES = (16, 64)
"""Numbers of slices into which the smaller tiers are divided to measure the cost of neighbouring rows."""
SAMPLE = 48
"""Number of slices whose windows are sampled."""


def say(*words: object) -> None:
    """Print a progress message immediately."""
    print(*words, flush=True)  # noqa: T201


def warm(name: str) -> None:
    """Load all kernels that a task needs into this process."""
    variant = load_variant(name)
    with tempfile.TemporaryDirectory() as folder:
        build_tablebase(folder, variant, 3)
        sliced_tier(Path(folder), variant, (1, 1), 2)


def sliced_tier(root: Path, variant: Variant, material: tuple[int, int], count: int) -> list[TierCost]:
    """Rebuild a tier in slices with one thread, and return its costs."""
    shutil.rmtree(root / tier_name(material), ignore_errors=True)
    tier = SlicedTier(variant, material)
    cuts = even_cuts(tier, min(count, tier.rows))
    tracer = Tracer(variant, 1 + sum(material), 1 << 30, LocalScheduler(1))
    with writing(root):
        build_in_slices(root, material, tracer, memory=1 << 30, tell=tracer.note, cuts=cuts)
        tracer.advance()
    return tier_costs(Trace.model_validate(tracer.trace()), open_store(root))


def passes_cpu(root: Path, name: str, material: tuple[int, int], count: int) -> float:
    """Return the processor seconds for the passes over a tier built in ``count`` slices."""
    return sum(costs.cpu for costs in sliced_tier(root, load_variant(name), material, count))


def crowded(base: Path, folder: Path, variant: Variant, material: tuple[int, int], count: int, cores: int) -> Crowded:
    """Build a tier in one process, then in one process per processor at the same time, and return the costs."""
    roots = [folder / f"crowd{number}" for number in range(cores)]
    for root in roots:
        shutil.copytree(base, root)
    with ProcessPoolExecutor(cores, get_context("spawn"), initializer=warm, initargs=(variant.name,)) as pool:
        asked = (variant.name, material, count)
        alone = pool.submit(passes_cpu, roots[0], *asked).result()
        beside = [done.result() for done in [pool.submit(passes_cpu, root, *asked) for root in roots]]
    for root in roots:
        shutil.rmtree(root)
    return Crowded(
        tier=tier_name(material), slices=count, processes=cores, alone=alone, beside=round(sum(beside) / cores, 3)
    )


def traced_build(root: Path, variant: Variant, men: int, memory: int, address: str | None) -> Trace:
    """Build the tiers with at most ``men`` men in this process or on a cluster, and return the task trace."""
    with open_scheduler(1, address) as scheduler:
        tracer = Tracer(variant, men, memory, scheduler)
        build_tablebase(root, variant, men, memory=memory, scheduler=tracer, observer=tracer)
    return Trace.model_validate(tracer.trace())


def build(
    base: Path, folder: Path, variant: Variant, men: int, memory: int, workers: int
) -> tuple[Trace, list[TierCost]]:
    """Build the tiers with at most ``men`` men on a local cluster, and return the trace and the tiers' costs."""
    from distributed import Client

    from tests.support.clusters import cluster

    root = folder / "run"
    shutil.copytree(base, root)
    with cluster(folder / "cluster", workers) as address:
        with Client(address) as client:  # type: ignore[no-untyped-call]
            client.run(warm, variant.name)
        trace = traced_build(root, variant, men, memory, address)
    costs = tier_costs(trace, open_store(root))
    for name in ("run", "cluster"):
        shutil.rmtree(folder / name)
    return trace, costs


def prepare(base: Path, variant: Variant, men: int) -> dict[str, float]:
    """Build all tiers with fewer men. Return the processor seconds per class of the tiers without defenders."""
    build_tablebase(base, variant, men - 1)
    create(base, variant, list(tier_graph(variant, men)))
    found = {}
    for attackers in range(3, men):
        shutil.rmtree(base / tier_name((attackers, 0)), ignore_errors=True)
        began = cpu_clock()
        answer = build_tier(TierTask(str(base), attackers, 0, 1))
        found[answer["tier"]] = (cpu_clock() - began) / classes(variant, (attackers, 0))
    return found


def classes(variant: Variant, material: tuple[int, int]) -> int:
    """Return the approximate number of classes in a tier, with either side to move."""
    return -(-int(tier_graph(variant).nodes[material]["positions"]) // len(variant.symmetries))


class Unjudged(TierSolver):
    """A solver that does not evaluate rows as wholes. It is used to measure how much longer solving then takes."""

    def solving_context(self, material: tuple[int, int]) -> Context:
        """Return the solver's tables and memory, without the arrays for whole rows."""
        return self.new_context(material[1])._replace(rules=super().solving_context(material).rules)


def in_memory(base: Path, variant: Variant, material: tuple[int, int], kind: type[TierSolver] = TierSolver) -> float:
    """Return the processor seconds needed to solve a tier in memory."""
    store = open_store(base)
    lower = list(tier_graph(variant).successors(material))
    solver = kind(variant, [*lower, material])
    for other in lower:
        solver.items[other] = stored_items(store, other)
    began = cpu_clock()
    solver.solve(material)
    return cpu_clock() - began


def windows(variant: Variant, defenders: int) -> Windows:
    """Return how many rows a slice needs in relation to its own rows, for increasing numbers of slices."""
    tier, rng = SlicedTier(variant, (1, defenders)), random.Random(defenders)
    slices, seen = [], []
    count = 1
    while count <= tier.rows:
        cuts = even_cuts(tier, count)
        some = rng.sample(range(len(cuts) - 1), min(SAMPLE, len(cuts) - 1))
        near = [
            tier.window(cuts[number], cuts[number + 1]).near.sum() / (cuts[number + 1] - cuts[number])
            for number in some
        ]
        slices.append(count)
        seen.append(round(float(sum(near) / len(near)), 4))
        tier.forget()
        count *= 2
    return Windows(defenders=defenders, rows=tier.rows, slices=tuple(slices), seen=tuple(seen))


def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def measure(variant: Variant, men: int, memory: int, workers: Sequence[int], command: str) -> ScaleCheck:
    """Run all measurements.

    ``memory`` is the memory per worker in bytes. ``command`` is recorded in the result as its origin.
    """
    if 1 not in workers:
        raise InputError("must include 1, to which the model is fitted", subject="--workers", remedy="add 1")
    load = os.getloadavg()[0]
    say(f"load {load:.1f}; above 0.3, other programs use this machine")
    warm(variant.name)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = folder / "base"
        whole = prepare(base, variant, men)
        sided = [one for one in tier_graph(variant, men) if one[1] and sum(one) > 2]
        tiers: list[TierCost] = []
        judged: list[Judged] = []
        for material in sided:
            seconds = in_memory(base, variant, material)
            whole[tier_name(material)] = seconds / classes(variant, material)
            say(f"{tier_name(material)}: {seconds:.2f} processor seconds in memory")
            if sum(material) < men - 1:
                for count in SLICES:
                    tiers += sliced_tier(base, variant, material, count)
                    say(tiers[-1])
            if sum(material) == men - 2:
                unjudged = in_memory(base, variant, material, Unjudged)
                judged.append(Judged(tier=tier_name(material), judged=seconds, unjudged=unjudged))
        trace, costs = build(base, folder, variant, men, memory, 1)
        tiers += costs
        fitted, runs = fit_costs(trace), [run_of(trace)]
        say(runs[0], fitted)
        longest = max(costs, key=lambda tier: tier.cpu)
        crowd = crowded(base, folder, variant, longest.material, longest.slices, trace.cores)
        say(crowd)
        for count in sorted(set(workers) - {1}):
            foretold = replay(trace, count, costs=fitted, crowding=crowd.factor)
            say(f"{count} workers: {foretold.seconds:.1f} s predicted")
            runs.append(run_of(build(base, folder, variant, men, memory, count)[0]))
            error = foretold.seconds / runs[-1].seconds - 1
            say(f"{count} workers: {runs[-1].seconds:.1f} s measured, {error:+.1%}", runs[-1])
        most = max(defenders for _, defenders in tier_graph(variant))
        return ScaleCheck(
            command=command,
            version=__version__, commit=commit(), machine=f"{processor()}, {trace.cores} processors", load=load,
            variant=variant.name, trace=trace, runs=tuple(runs), tiers=tuple(tiers), whole=whole,
            judged=tuple(judged), crowded=crowd, windows=tuple(windows(variant, count) for count in range(1, most + 1)),
        )  # fmt: skip
