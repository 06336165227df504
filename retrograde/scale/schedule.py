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

__all__ = ["LEAD", "WORKER", "Schedule", "add_task", "equal_tasks", "least_time", "list_times", "simulate"]

WORKER: Final = "worker"
LEAD: Final = "lead"
_NOTHING: Final = 1e-12
"""Seconds that rounding may leave of a task."""


class Schedule(NamedTuple):
    """What came out.

    Attributes
    ----------
    seconds : float
        When the last task ends; the first begins at 0.
    spans : dict of int to (float, float)
        By task, when it begins and ends.
    """

    seconds: float
    spans: dict[int, tuple[float, float]]


def add_task(
    graph: nx.DiGraph[int], after: Iterable[int], computes: float, waits: float = 0.0, place: str = WORKER
) -> int:
    """Add a task to a graph.

    Parameters
    ----------
    graph : networkx.DiGraph
        The graph; tasks are numbered in the order in which they are added.
    after : iterable of int
        The tasks that must have ended.
    computes, waits : float
        Seconds for which it needs a processor, and for which it needs none.
    place : str
        ``worker`` or ``lead``.

    Returns
    -------
    int
        Its number.
    """
    number = len(graph)
    graph.add_node(number, computes=computes, waits=waits, place=place)
    graph.add_edges_from((before, number) for before in after)
    return number


def simulate(graph: nx.DiGraph[int], workers: int, cores: int, crowding: float = 1.0) -> Schedule:
    """Return when the tasks of a graph begin and end.

    Parameters
    ----------
    graph : networkx.DiGraph
        Of tasks that `add_task` added.
    workers : int
        Tasks at once, beside that of the leading process.
    cores : int
        Processors that they share.
    crowding : float
        How many times as long a task computes while all processors do; in proportion while some of them do.

    Returns
    -------
    Schedule
        By list scheduling in the order of the graph.

    Examples
    --------
    Four tasks of a second each, and one after all of them. Three workers that share two processors are slower than two:

    >>> graph = nx.DiGraph()
    >>> four = [add_task(graph, [], 1.0) for _ in range(4)]
    >>> last = add_task(graph, four, 0.0, 0.5, LEAD)
    >>> [simulate(graph, workers, cores=2).seconds for workers in (1, 2, 3, 4)]
    [4.5, 2.5, 3.0, 2.5]
    >>> simulate(graph, 4, cores=4).seconds
    1.5
    >>> simulate(graph, 4, cores=4, crowding=1.25).seconds
    1.75
    """
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
    """Return a time that no schedule of a graph is under: the longest chain, and all work shared evenly.

    Parameters
    ----------
    graph : networkx.DiGraph
        Of tasks that `add_task` added.
    workers, cores : int
        As for `simulate`.

    Returns
    -------
    float
        Seconds.
    """
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
    """Return how long tasks that wait for nothing take, as `simulate` does where nobody shares a processor.

    Parameters
    ----------
    seconds : sequence of float
        Of each, in the order in which they are taken.
    workers : int
        Tasks at once.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> list_times([3.0, 1.0, 1.0, 1.0, 2.0], 2)
    5.0
    """
    ends = [0.0] * max(1, min(workers, len(seconds)))
    for length in seconds:
        heapq.heapreplace(ends, ends[0] + length)
    return max(ends)


def equal_tasks(count: int, seconds: float, workers: int) -> float:
    """Return how long equal tasks take; `list_times` in closed form.

    Parameters
    ----------
    count : int
        How many there are.
    seconds : float
        Of each.
    workers : int
        Tasks at once.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> equal_tasks(10, 2.0, 4) == list_times([2.0] * 10, 4)
    True
    """
    return -(-count // workers) * seconds
