"""List scheduling: when the tasks of a graph begin and end on so many workers that share so many processors.

A worker that is free takes the first task that is ready, in the order of the graph. One process
leads: what it does itself needs no worker. A task first computes and then waits (for a disk, or for
the next message). Those that compute share the processors evenly: with two processors, four of them go at half
speed. Tasks that wait need none. Processors that compute beside each other share caches and the way to memory:
by how much that slows them is one number, which is measured beforehand.

This is a model. It knows no other programs.

References
----------
R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied Mathematics 17 (1969).
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final, NamedTuple

import networkx as nx

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WORKER: Final = "worker"
LEAD: Final = "lead"
_NOTHING: Final = 1e-12
"""Seconds that rounding may leave of a task."""


class Schedule(NamedTuple):
    """What came out."""

    seconds: float
    spans: dict[int, tuple[float, float]]


def add_task(
    graph: nx.DiGraph[int], after: Iterable[int], computes: float, waits: float = 0.0, place: str = WORKER
) -> int:
    """Add a task to a graph."""
    number = len(graph)
    graph.add_node(number, computes=computes, waits=waits, place=place)
    graph.add_edges_from((before, number) for before in after)
    return number


def simulate(graph: nx.DiGraph[int], workers: int, cores: int, crowding: float = 1.0) -> Schedule:
    """Return when the tasks of a graph begin and end."""
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
        raise ValueError("tasks wait for each other in a circle")
    return Schedule(now, spans)


def _advance(left: dict[int, list[float]], cores: int, crowding: float) -> float:
    """Let all tasks that run go on until one of them computes or waits no more; return how long that is."""
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
    """Return a time that no schedule of a graph is under: the longest chain, and all work shared evenly."""
    tasks = graph.nodes
    length: dict[int, float] = {task: tasks[task]["computes"] + tasks[task]["waits"] for task in tasks}
    chain: nx.DiGraph[int] = nx.DiGraph()
    # The longest chain of a graph whose edges weigh what their first task takes; what follows the last ones is nothing.
    for task in tasks:
        chain.add_edges_from(((task, after) for after in graph.successors(task)), weight=length[task])
        chain.add_edge(task, -1, weight=length[task])
    longest = float(nx.dag_longest_path_length(chain)) if length else 0.0
    on_workers = sum(length[task] for task in tasks if tasks[task]["place"] == WORKER)
    computing: float = sum(tasks[task]["computes"] for task in tasks)
    return max(longest, on_workers / workers, computing / cores)


def list_times(seconds: Sequence[float], workers: int) -> float:
    """Return how long tasks that wait for nothing take, as `simulate` does where nobody shares a processor."""
    ends = [0.0] * max(1, min(workers, len(seconds)))
    for length in seconds:
        heapq.heapreplace(ends, ends[0] + length)
    return max(ends)


def equal_tasks(count: int, seconds: float, workers: int) -> float:
    """Return how long equal tasks take; `list_times` in closed form."""
    return -(-count // workers) * seconds
