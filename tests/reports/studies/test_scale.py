"""The model of scale: the simulated schedule against hand and naive twin, laws and forecasts."""

from __future__ import annotations

import itertools
import json
import shutil
from math import log
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.studies.scale.__main__ import NAME, app
from reports.studies.scale.forecast import ScaleModel, exponential, fit_law
from reports.studies.scale.measuring import sliced_tier, traced_build
from reports.studies.scale.page import results
from reports.studies.scale.records import ScaleCheck, TaskTrace, Trace
from reports.studies.scale.replay import (
    LEAD,
    WORKER,
    Costs,
    add_task,
    fit_costs,
    least_time,
    replay,
    simulate,
)
from reports.studies.scale.trace import PASS, PLAN, STORE, WHOLE
from retrograde.solver.slices.slice_plan import SlicedTier
from retrograde.solver.tier_graph import estimate_build
from retrograde.tablebase.store import open_store, tier_name
from tablut.cli.shell import run
from tablut.variants import load_variant

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.study
GAME = load_variant("brandubh-5-4v4")
MEN, MEMORY = 6, 1 << 20
"""Of this game the largest tiers do not fit."""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Path]:
    root = tmp_path_factory.mktemp("traced") / "s"
    return traced_build(root, GAME, MEN, MEMORY, None), root


def test_every_task_is_traced_once(traced: tuple[Trace, Path], tmp_path: Path) -> None:
    trace, root = traced
    assert (trace.variant, trace.game, trace.men, trace.memory, trace.workers) == (GAME.name, GAME.digest, 6, MEMORY, 1)
    large = {f"{a}v{d}" for a, d in estimate_build(GAME, MEN, MEMORY).sliced}
    kinds = {kind: {task.tier for task in trace.tasks if task.kind == kind} for kind in (PLAN, PASS, STORE)}
    assert kinds == {PLAN: large, PASS: large, STORE: large}
    assert sorted(task.tier for task in trace.tasks if task.kind == WHOLE) == sorted(
        tier_name(material) for material in open_store(root).tiers() if tier_name(material) not in large
    )
    # One worker does one thing at a time, and nothing is counted twice.
    assert all(before.ended <= after.began + 1e-3 for before, after in itertools.pairwise(trace.tasks))
    assert sum(task.cpu for task in trace.tasks) <= trace.seconds * 1.05
    for tier in large:
        provenance = json.loads((root / "provenance" / f"{tier}.json").read_text(encoding="utf-8"))
        mine = [task for task in trace.tasks if (task.tier, task.kind) == (tier, PASS)]
        for name in ("read", "written"):
            assert provenance[name] == sum(getattr(task, name) for task in mine)
        assert provenance["cpu_seconds"] == pytest.approx(sum(task.cpu for task in mine), rel=0.1)
        assert {task.number for task in mine if task.step == 0} == set(range(provenance["slices"]))
        assert all(task.entries <= task.window for task in mine)
    other = tmp_path / "other"
    shutil.copytree(root, other)
    assert [costs.tier for costs in sliced_tier(other, GAME, (1, 1), 4)] == ["1v1"]


def test_the_page_is_that_of_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["page", "--check"], app, NAME) == 0
    assert "up to date" in capsys.readouterr().out


def graph_of(*tasks: tuple[Any, ...]) -> nx.DiGraph[int]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    for task in tasks:
        add_task(graph, *task)
    return graph


@pytest.mark.parametrize(
    ("tasks", "workers", "cores", "seconds"),
    [
        ([], 3, 1, 0.0),
        ([([], 2.0), ([0], 3.0)], 2, 2, 5.0),  # a chain
        ([([], 2.0), ([], 3.0)], 1, 2, 5.0),  # one worker
        ([([], 2.0), ([], 3.0)], 2, 1, 5.0),  # one processor
        ([([], 3.0), ([], 1.0), ([], 2.0)], 2, 2, 3.0),
        ([([], 1.0), ([], 2.0), ([], 3.0)], 2, 2, 4.0),  # the order is not the best one
        ([([], 1.0, 5.0), ([], 1.0, 5.0)], 2, 1, 7.0),  # two share a processor for two seconds, then both wait
        ([([], 1.0, 5.0), ([], 4.0, 0.0)], 2, 1, 7.0),  # one waits while the other computes alone
        ([([], 0.0, 1.0, LEAD), ([], 3.0)], 1, 1, 3.0),  # who leads needs no worker
        ([([], 2.0, 0.0, LEAD), ([], 2.0)], 1, 1, 4.0),  # but a processor
        ([([], 0.0), ([0], 0.0), ([1], 1.0)], 1, 1, 1.0),
    ],
)
def test_schedules_made_by_hand(tasks: list[Any], workers: int, cores: int, seconds: float) -> None:
    graph = graph_of(*tasks)
    assert simulate(graph, workers, cores).seconds == pytest.approx(seconds)


@st.composite
def graphs(draw: st.DrawFn, most: int = 9) -> nx.DiGraph[int]:
    """Draw tasks of whole seconds, each after some of those before."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    for number in range(draw(st.integers(1, most))):
        after = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        place = draw(st.sampled_from([WORKER, WORKER, WORKER, LEAD]))
        add_task(graph, sorted(after), float(draw(st.integers(0, 4))), float(draw(st.integers(0, 3))), place)
    return graph


def naive(graph: nx.DiGraph[int], workers: int) -> int:
    """Schedule second by second, with a processor for everyone."""
    left = {task: int(graph.nodes[task]["computes"] + graph.nodes[task]["waits"]) for task in graph}
    running: set[int] = set()
    ended: set[int] = set()
    now = 0
    while True:
        while True:  # what takes no time ends as soon as it begins
            for task in graph:
                place = graph.nodes[task]["place"]
                busy = sum(graph.nodes[other]["place"] == place for other in running)
                ready = task not in running | ended and set(graph.predecessors(task)) <= ended
                if ready and busy < (workers if place == WORKER else 1):
                    running.add(task)
            nothing = {task for task in running if not left[task]}
            if not nothing:
                break
            ended |= nothing
            running -= nothing
        if not running:
            return now
        now += 1
        for task in running:
            left[task] -= 1
        ended |= {task for task in running if not left[task]}
        running -= ended


@given(graph=graphs(), workers=st.integers(1, 4))
def test_the_naive_twin_agrees(graph: nx.DiGraph[int], workers: int) -> None:
    assert simulate(graph, workers, cores=100).seconds == pytest.approx(naive(graph, workers))


@given(graph=graphs(), workers=st.integers(1, 4), cores=st.integers(1, 4))
def test_no_schedule_is_under_the_longest_chain_or_the_work_shared(
    graph: nx.DiGraph[int], workers: int, cores: int
) -> None:
    schedule = simulate(graph, workers, cores)
    assert schedule.seconds >= least_time(graph, workers, cores) - 1e-9
    for before, after in graph.edges:
        assert schedule.spans[before][1] <= schedule.spans[after][0] + 1e-9
    on_workers = [schedule.spans[task] for task in graph if graph.nodes[task]["place"] == WORKER]
    for begin, _ in on_workers:
        assert sum(first <= begin < last for first, last in on_workers) <= workers
    # All of it, one after the other, is the longest that a schedule takes.
    total = sum(graph.nodes[task]["computes"] + graph.nodes[task]["waits"] for task in graph)
    assert schedule.seconds <= total + 1e-9


# -- the replay ----------------------------------------------------------------------------


def made_up(costs: Costs, slices: int, steps: int) -> Trace:
    """Return the trace of a build that takes exactly what the model says."""
    now, tasks = 0.25, []
    seconds: dict[str, Any] = {"cpu": 0.5, "waited": 0.0, "worker": 0, "peak": None}
    tasks.append(TaskTrace(tier="2v2", kind=PLAN, began=now, ended=now + 0.5, **seconds))
    now += 0.5
    for step in range(steps):
        now += costs.between_steps
        for number in range(slices):
            moved = 1000 * (1 + number % 3)
            cpu = 0.01 * (1 + number % 2)
            length = cpu + costs.overhead + costs.per_byte * moved
            tasks.append(
                TaskTrace(
                    tier="2v2", kind=PASS, step=step, number=number, began=now, ended=now + length,
                    cpu=cpu, waited=0.0, read=moved, worker=0, peak=None,
                )
            )  # fmt: skip
            now += length + costs.between_tasks * (number + 1 < slices)
    return Trace(
        version="0", variant="brandubh", game="0" * 64, men=5, memory=1, workers=1, cores=2, seconds=now,
        tasks=tuple(tasks),
    )  # fmt: skip


def test_costs_are_found_again_and_one_worker_takes_what_it_took() -> None:
    costs = Costs(overhead=0.02, per_byte=1e-6, between_tasks=0.003, between_steps=0.1, tasks=90, steps=3)
    trace = made_up(costs, slices=30, steps=3)
    found = fit_costs(trace)
    for name, value in costs.model_dump().items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-6), name
    assert replay(trace, 1).seconds == pytest.approx(trace.seconds, rel=0.01)
    times = [replay(trace, workers, cores=workers).seconds for workers in (1, 2, 3, 30, 60)]
    assert times == sorted(times, reverse=True)
    assert times[-1] == pytest.approx(times[-2])
    assert replay(trace, 30, cores=2).seconds > times[3]


# -- rates and forecasts -------------------------------------------------------------------


def test_a_law_is_found_again_with_its_error() -> None:
    generator = np.random.default_rng(7)
    materials = [(a, d) for a in range(1, 6) for d in range(1, 5)]
    hits = 0
    for _ in range(200):
        rates = [np.exp(-14 + 0.3 * a + 0.2 * d + 0.25 * generator.standard_normal()) for a, d in materials[:9]]
        truth = np.exp(-14 + 0.3 * 5 + 0.2 * 4 + 0.25 * generator.standard_normal())
        drawn = fit_law(exponential, materials[:9], rates).draw([(5, 4)], 400, generator)[:, 0]
        low, high = np.quantile(drawn, (0.05, 0.95))
        hits += low <= truth <= high
    # Nine in ten, with four standard deviations of 200 cases.
    assert hits / 200 > 0.9 - 4 * 0.0212


@pytest.fixture(scope="module")
def check() -> ScaleCheck:
    return ScaleCheck.model_validate(results())


def test_forecasts_hang_together(check: ScaleCheck) -> None:
    model = ScaleModel(check, draws=200)
    found = {(men, workers): model.forecast(men, workers) for men in (6, 7, 8) for workers in (16, 64)}
    for one in found.values():
        for name in ("cpu", "seconds", "shared", "stored", "written", "moved", "scratch"):
            interval = getattr(one, name)
            assert 0 <= interval.low <= interval.middle <= interval.high, name
        assert one.shared.middle <= one.seconds.middle * (1 + 1e-9)
        assert one.seconds.middle * one.workers >= 0.5 * one.cpu.middle / one.workers
    for men in (6, 7, 8):
        assert found[men, 64].shared.middle <= found[men, 16].shared.middle
        assert found[men, 64].classes == found[men, 16].classes
    assert found[7, 16].cpu.middle > 5 * found[6, 16].cpu.middle
    # The order of the tiers' sizes is counted, not modelled.
    assert found[7, 16].classes == sum(model.tiers.classes(tier) for tier in model.tiers.graph if 1 + sum(tier) <= 7)


def test_the_slices_are_those_that_fit(check: ScaleCheck) -> None:
    """Against the program's own way to cut, which looks at every window."""
    from retrograde.solver.slices.slice_plan import cut_tier

    model = ScaleModel(check, draws=0)
    for material, memory in (((2, 2), 4 << 20), ((3, 2), 64 << 20), ((2, 3), 64 << 20)):
        plan = model.tiers.plan(material, memory)
        assert plan is not None
        real = len(cut_tier(SlicedTier(model.variant, material), memory)) - 1
        # The model counts the room that all slices may take, the program what each does.
        assert abs(log(plan.slices / real)) < log(2.5), (material, plan, real)
    assert model.tiers.plan((2, 2), 1 << 30) == (0, 1.0)
    assert model.tiers.plan((4, 4), 1 << 20) is None
