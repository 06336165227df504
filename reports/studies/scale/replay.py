"""Prediction of how long a build takes with other numbers of workers, from one worker's trace.

The tasks and their order are those of the trace. A tier in slices is planned first and then built in steps. Each step
begins when the previous step's slices are done, and the leading process writes a checkpoint in between. A tier that is
built whole is a single task. Whole tiers with the same number of men are built side by side.

A task's duration is fitted to the trace. It consists of the task's own processor time, a time per byte that it moves,
and an overhead that is the same for all tasks. The model uses only one worker's trace and the slowdown caused by busy
processors (`reports.studies.scale.records.Crowded`).
"""

from __future__ import annotations

import heapq
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import networkx as nx
import numpy as np

from reports.studies.scale.trace import PASS, WHOLE
from tablut.errors import InputError
from tablut.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reports.studies.scale.records import TaskTrace, Trace


class Costs(Result):
    """The time that a task takes in addition to its processor time, fitted to a trace of one worker."""

    overhead: float
    per_byte: float
    between_tasks: float
    between_steps: float
    tasks: int
    steps: int


class Replay(Result):
    """A build's predicted time with a given number of workers."""

    workers: int
    cores: int
    seconds: float
    least: float


class _Phase(NamedTuple):
    """Tasks that do not depend on each other, and the time that the leading process needs before they begin."""

    tasks: list[TaskTrace]
    before: float


def fit_costs(trace: Trace) -> Costs:
    """Return the time that tasks take in addition to their processor time, fitted to a trace."""
    from scipy.optimize import nnls

    if trace.workers != 1:
        raise InputError(
            "cannot be used to fit the model",
            subject=f"trace of {trace.workers} workers",
            remedy="build with one worker",
        )
    passes = [task for task in trace.tasks if task.kind == PASS]
    if not passes:
        raise InputError("no tier was built in slices", subject="trace", remedy="build with a smaller --memory")
    idle = np.array([_idle(task) for task in passes])
    moved = np.array([float(task.read + task.written) for task in passes])
    scale = max(float(moved.mean()), 1.0)
    (overhead, per_scale), _ = nnls(np.column_stack([np.ones(len(passes)), moved / scale]), idle)
    phases = _phases(trace)
    within = [
        max(after.began - before.ended, 0.0)
        for phase in phases
        if phase.tasks[0].kind == PASS
        for before, after in pairwise(phase.tasks)
    ]
    between = [phase.before for phase in phases if phase.tasks[0].kind == PASS]
    return Costs(
        overhead=float(overhead),
        per_byte=float(per_scale / scale),
        between_tasks=float(np.mean(within)) if within else 0.0,
        between_steps=float(np.mean(between)),
        tasks=len(passes),
        steps=len(between),
    )


def _idle(task: TaskTrace) -> float:
    """Return the seconds during which a task neither used a processor nor waited for one."""
    return max(task.seconds - task.cpu - (task.waited or 0.0), 0.0)


def _phases(trace: Trace) -> list[_Phase]:
    """Return the tasks in successive groups, each with the time since the previous group."""

    def group(task: TaskTrace) -> tuple[str, ...]:
        if task.kind == WHOLE:
            return (WHOLE, str(sum(task.material)))
        return task.tier, task.kind, str(task.step)

    found, end = [], 0.0
    for _, tasks in groupby(trace.tasks, group):
        some = list(tasks)
        found.append(_Phase(some, max(some[0].began - end, 0.0)))
        end = max(task.ended for task in some)
    return found


def task_graph(trace: Trace, costs: Costs) -> nx.DiGraph[int]:
    """Return a build's tasks as a graph, with their predicted durations and dependencies."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    done: Sequence[int] = []
    phases = _phases(trace)
    for phase in phases:
        lead = add_task(graph, done, 0.0, phase.before, LEAD)
        tasks = []
        for task in phase.tasks:
            if task.kind == PASS:
                waits = costs.overhead + costs.per_byte * (task.read + task.written) + costs.between_tasks
            else:
                waits = _idle(task)
            place = WORKER if task.kind in (PASS, WHOLE) else LEAD
            tasks.append(add_task(graph, [lead], task.cpu, waits, place))
        # An empty task after the group avoids one edge for each pair of tasks.
        done = [add_task(graph, tasks, 0.0, 0.0, LEAD)]
    rest = trace.seconds - max((task.ended for task in trace.tasks), default=0.0)
    add_task(graph, done, 0.0, max(rest, 0.0), LEAD)
    return graph


def replay(
    trace: Trace, workers: int, cores: int | None = None, costs: Costs | None = None, crowding: float = 1.0
) -> Replay:
    """Return a build's predicted time with the given number of workers."""
    graph = task_graph(trace, fit_costs(trace) if costs is None else costs)
    cores = trace.cores if cores is None else cores
    seconds = simulate(graph, workers, cores, crowding).seconds
    return Replay(workers=workers, cores=cores, seconds=seconds, least=least_time(graph, workers, cores))


# -- list scheduling: the start and end of each task in a graph, on workers that may share processors


WORKER: Final = "worker"
LEAD: Final = "lead"
_NOTHING: Final = 1e-12
"""Remaining seconds of a task below which the task counts as finished, to allow for rounding errors."""


class Schedule(NamedTuple):
    """The result of a simulation: the total time, and each task's start and end."""

    seconds: float
    spans: dict[int, tuple[float, float]]


def add_task(
    graph: nx.DiGraph[int], after: Iterable[int], computes: float, waits: float = 0.0, place: str = WORKER
) -> int:
    """Add a task to a graph and return its number."""
    number = len(graph)
    graph.add_node(number, computes=computes, waits=waits, place=place)
    graph.add_edges_from((before, number) for before in after)
    return number


def simulate(graph: nx.DiGraph[int], workers: int, cores: int, crowding: float = 1.0) -> Schedule:
    """Return the start and end of each task in a graph under list scheduling."""
    tasks = graph.nodes
    missing = dict(graph.in_degree())
    ready: dict[str, list[int]] = {WORKER: [], LEAD: []}
    for task in tasks:
        if not missing[task]:
            heapq.heappush(ready[tasks[task]["place"]], task)
    free = {WORKER: workers, LEAD: 1}
    left: dict[int, list[float]] = {}
    spans: dict[int, tuple[float, float]] = {}
    now = 0.0
    while left or any(ready.values()):
        for place, waiting in ready.items():
            while waiting and free[place]:
                task = heapq.heappop(waiting)
                free[place] -= 1
                left[task] = [tasks[task]["computes"], tasks[task]["waits"]]
                spans[task] = (now, now)
        now += _advance(left, cores, crowding)
        for task in [task for task, (computes, waits) in left.items() if computes <= 0.0 and waits <= 0.0]:
            del left[task]
            spans[task] = (spans[task][0], now)
            free[tasks[task]["place"]] += 1
            for after in graph.successors(task):
                missing[after] -= 1
                if not missing[after]:
                    heapq.heappush(ready[tasks[after]["place"]], after)
    if len(spans) < len(graph):
        raise ValueError("tasks wait for each other in a cycle")
    return Schedule(now, spans)


def _advance(left: dict[int, list[float]], cores: int, crowding: float) -> float:
    """Advance all running tasks until one of them finishes computing or waiting. Return the time that this takes."""
    computing = sum(computes > 0.0 for computes, _ in left.values())
    busy = min(computing, cores)
    speed = busy / computing if computing else 1.0
    if busy > 1:
        speed /= 1.0 + (crowding - 1.0) * (busy - 1) / (cores - 1)
    step = min(computes / speed if computes > 0.0 else waits for computes, waits in left.values())
    for parts in left.values():
        part, done = (0, step * speed) if parts[0] > 0.0 else (1, step)
        parts[part] = parts[part] - done if parts[part] - done > _NOTHING else 0.0
    return step


def least_time(graph: nx.DiGraph[int], workers: int, cores: int) -> float:
    """Return a lower bound on any schedule's time: the time for the longest chain, or for all work shared evenly."""
    tasks = graph.nodes
    length: dict[int, float] = {task: tasks[task]["computes"] + tasks[task]["waits"] for task in tasks}
    chain: nx.DiGraph[int] = nx.DiGraph()
    # Find the longest path. Each edge is weighted by the duration of its first task; node -1 follows all tasks.
    for task in tasks:
        chain.add_edges_from(((task, after) for after in graph.successors(task)), weight=length[task])
        chain.add_edge(task, -1, weight=length[task])
    longest = float(nx.dag_longest_path_length(chain)) if length else 0.0
    on_workers = sum(length[task] for task in tasks if tasks[task]["place"] == WORKER)
    computing: float = sum(tasks[task]["computes"] for task in tasks)
    return max(longest, on_workers / workers, computing / cores)


def list_times(seconds: Sequence[float], workers: int) -> float:
    """Return how long independent tasks take if no processor is shared. The result equals that of `simulate`."""
    ends = [0.0] * max(1, min(workers, len(seconds)))
    for length in seconds:
        heapq.heapreplace(ends, ends[0] + length)
    return max(ends)


def equal_tasks(count: int, seconds: float, workers: int) -> float:
    """Return how long independent tasks of equal length take. This is a closed form of `list_times`."""
    return -(-count // workers) * seconds
