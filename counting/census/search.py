"""Breadth-first search ply by ply, with delayed duplicate detection.

A ply is made in two steps of coarse tasks (`counting.census.tasks`): the positions of the
ply before are expanded into files of children, cut into leaves by their hash; then
each range of leaves is read from all these files, duplicates are dropped, and so are
the positions that an earlier ply has [1]_. As sides alternate, only every other ply
can have them. The method needs sequential reading and writing only, and memory for one
range of leaves.

References
----------
.. [1] R. E. Korf, Linear-time disk-based implicit graph search, Journal of the ACM 55 (6), 2008,
   https://doi.org/10.1145/1455248.1455250.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from counting.census.buckets import FIXING, leaf_sums
from counting.census.files import open_rows
from counting.census.store import LEAF_BITS
from counting.census.tasks import ExpandTask, MergeTask, run_expand, run_merge, start_rows, toolbox, write_part
from tablut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from counting.census.store import CensusStore
    from tablut.scheduling import Scheduler
    from tablut.variants import Variant

__all__ = ["Limits", "Observer", "Search", "Silent"]

_LEAST_ROWS = 1 << 18
_MERGE_ROWS = 1 << 25
_MERGES = 32
_INTERPRETER_BYTES = 384 << 20


class Observer(Protocol):
    """Whoever wants to know how far the search is."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """Hear that a step of a ply begins, with so many children to deal with."""

    def advance(self, count: int) -> None:
        """Hear that so many children have been dealt with."""

    def say(self, text: str) -> None:
        """Hear something worth a line."""


class Silent:
    """An observer that does nothing."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """See `Observer`."""

    def advance(self, count: int) -> None:
        """See `Observer`."""

    def say(self, text: str) -> None:
        """See `Observer`."""


@dataclass(frozen=True)
class Limits:
    """How large a task may be.

    Attributes
    ----------
    expand_children, merge_children : int
        Most children of a task of each kind.
    disk_bytes : int or None
        Most bytes that the folder may take; None for what the disk has.
    """

    expand_children: int
    merge_children: int
    disk_bytes: int | None = None

    @classmethod
    def from_memory(cls, memory: int, workers: int, words: int, disk_bytes: int | None = None) -> Limits:
        """Return the limits with which so many tasks at once stay within ``memory`` bytes.

        An expansion holds every child twice (as found, and in order); a merge holds it
        once, with at most twelve bytes for the table that finds it.

        Raises
        ------
        InputError
            If there is no room for the least task.

        Examples
        --------
        >>> Limits.from_memory(4 << 30, 2, 3).merge_children
        48565625
        """
        share = (memory - _INTERPRETER_BYTES) // workers - (96 << 20)
        if share < 32 << 20:
            least = (_INTERPRETER_BYTES + workers * (128 << 20)) >> 20
            raise InputError(f"--memory {memory >> 20}: {workers} tasks at once need at least {least} MiB")
        return cls(min(share // (20 * words), 1 << 21), share // (8 * words + 14), disk_bytes)


class Search:
    """One census in one store.

    Parameters
    ----------
    variant : Variant
        The game.
    full : bool
        Whether to count without symmetry.
    store : CensusStore
        Where the plies are.
    scheduler : Scheduler
        What runs the tasks.
    limits : Limits
        How large these may be.
    observer : Observer
        Is told of the progress.
    """

    def __init__(
        self,
        variant: Variant,
        *,
        full: bool,
        store: CensusStore,
        scheduler: Scheduler,
        limits: Limits,
        observer: Observer,
    ) -> None:
        self.variant, self.full, self.store = variant, full, store
        self.scheduler, self.limits, self.observer = scheduler, limits, observer
        self.words = toolbox(variant, full).tables.words
        self.records = store.records()
        if self.records:
            self.observer.say(f"resuming after ply {len(self.records) - 1}")
        else:
            self._commit_start()

    @property
    def complete(self) -> bool:
        """Whether the last ply found nothing new."""
        return bool(self.records[-1]["stats"]["counters"]["new_classes"] == 0)

    def run(self, plies: int | None) -> list[dict[str, Any]]:
        """Make plies until ``plies`` are there (None: all), and return the records from ply 0 on.

        A store that holds more plies gives only as many as were asked for.
        """
        while not self.complete and (plies is None or len(self.records) <= plies):
            self._next_ply()
        return self.records if plies is None else self.records[: plies + 1]

    # -- one ply -----------------------------------------------------------------------

    def _commit_start(self) -> None:
        rows = start_rows(self.variant, self.full)
        counts, sums = np.zeros(1 << LEAF_BITS, dtype=np.int64), np.zeros(1 << LEAF_BITS, dtype=np.uint64)
        leaf_sums(rows, LEAF_BITS, np.empty(1, dtype=np.uint16), counts, sums)
        tools = toolbox(self.variant, self.full)
        # Classes are taken under the symmetries that keep the start.
        rows[0, -1] |= np.uint64((tools.order.bit_length() - 1) << FIXING)
        stats = write_part(self.store.part(0, 0), tools, rows, (counts, sums), "start", {"children": 0}, 0.0)
        self._commit({"ply": 0, "plan": "start", "parts": 1, "stats": {**stats, "cpu": 0.0}, "counters": [0, 0, 0, 0]})

    def _commit(self, record: dict[str, Any]) -> None:
        self.store.commit(record)
        self.records.append(record)

    def _next_ply(self) -> None:
        ply, before = len(self.records), self.records[-1]
        self._check_space(ply)
        tasks, plan = self._plan_expansion(ply)
        self.observer.begin(ply, "expand", before["stats"]["next_children"])
        expanded = self._run(run_expand, tasks)
        # The expansion counts parents and moves once more, by another way.
        counters = _sum([stats["counters"] for stats in expanded])
        expected = before["stats"]["counters"]
        if counters[:2].tolist() != [expected["new"], expected["moves"]]:
            raise ArithmeticError(f"ply {ply}: {counters[:2]} parents and moves expanded where {expected} were counted")

        merges = self._plan_merge(ply, plan, [task.target for task in tasks])
        self.observer.begin(ply, "merge", sum(stats["children"] for stats in expanded))
        merged = self._run(run_merge, merges)
        self._commit(
            {
                "ply": ply,
                "plan": merges[0].plan,
                "parts": len(merges),
                "counters": counters.tolist(),
                "stats": {
                    "counters": {
                        name: sum(stats["counters"][name] for stats in merged) for name in merged[0]["counters"]
                    },
                    "material": _sum([stats["material"] for stats in merged]).tolist(),
                    "children": sum(stats["children"] for stats in merged),
                    "next_children": sum(stats["next_children"] for stats in merged),
                    "cpu": sum(stats["cpu"] for stats in [*expanded, *merged]),
                },
            }
        )

    def _run(self, function: Callable[[Any], dict[str, Any]], tasks: Sequence[Any]) -> list[dict[str, Any]]:
        return self.scheduler.run(function, tasks, lambda stats: self.observer.advance(stats["children"]))

    def _share(self, total: int, most: int) -> int:
        """Return how many children a task gets: enough tasks for all workers, none too small or too large."""
        return max(1, min(most, max(_LEAST_ROWS, -(-total // (4 * self.scheduler.workers)))))

    def _plan_expansion(self, ply: int) -> tuple[list[ExpandTask], str]:
        before = self.records[-1]
        share = self._share(before["stats"]["next_children"], self.limits.expand_children)
        sources = self.store.parts(before)
        plan = _plan_name("expand", before, share)
        tasks: list[ExpandTask] = []
        for source in sources:
            moves = open_rows(source).moves
            for first, last in cut(moves, share):
                load = int(moves[first:last].sum())
                # One leaf too large for a task is shared out by rows; a quarter of slack for uneven rows.
                shares = -(-load * 5 // (share * 4)) if load > share else 1
                for number in range(shares if load else 0):
                    target = self.store.children(ply, len(tasks))
                    tasks.append(ExpandTask(self.variant, self.full, plan, source, first, last, number, shares, target))
        if not tasks:  # every position is immobile: one task that finds no children
            target = self.store.children(ply, 0)
            tasks.append(ExpandTask(self.variant, self.full, plan, sources[0], 0, 1 << LEAF_BITS, 0, 1, target))
        return tasks, plan

    def _plan_merge(self, ply: int, plan: str, children: list[Path]) -> list[MergeTask]:
        counts = _sum([open_rows(path).counts for path in children])
        most = self.limits.merge_children
        if (largest := int(counts.max())) > most:
            per_child = 8 * self.words + 14
            raise InputError(
                f"--memory: a leaf of ply {ply} has {largest:,} children; each task needs "
                f"{(largest * per_child >> 20) + 200:,} MiB more, one a thread"
            )
        # No larger than need be: memory that is touched for the first time costs the system more than the
        # merge. No smaller: every merge opens every file of children.
        total = int(counts.sum())
        share = self._share(total, min(most, max(_MERGE_ROWS, -(-total // _MERGES))))
        ranges = cut(counts, share)
        known = tuple(path for record in self.records[ply % 2 :: 2] for path in self.store.parts(record))
        name = _plan_name("merge", plan, [path.name for path in children], ranges)
        return [
            MergeTask(self.variant, self.full, name, tuple(children), known, first, last, self.store.part(ply, number))
            for number, (first, last) in enumerate(ranges)
        ]

    def space_needed(self) -> tuple[int, int]:
        """Return how many bytes the next ply needs: for children, and an estimate for its positions.

        The number of children is exact. What part of them is new is taken from the last
        ply, which overestimates it where the search slows down.
        """
        children = self.records[-1]["stats"]["next_children"]
        last = self.records[-1]["stats"]
        kept = last["counters"]["new_classes"] + last["counters"]["decided_classes"]
        ratio = kept / last["children"] if last["children"] else 1.0
        bytes_each = toolbox(self.variant, self.full).row_bytes
        return children * 8 * self.words, int(children * ratio) * bytes_each

    def stored_bytes(self) -> int:
        """Return how many bytes the store takes."""
        return sum(path.stat().st_size for path in self.store.root.rglob("*.rows"))

    def _check_space(self, ply: int) -> None:
        children, positions = self.space_needed()
        stored, limit = self.stored_bytes(), self.limits.disk_bytes
        self.observer.say(
            f"ply {ply}: {self.records[-1]['stats']['next_children']:,} children, {_size(children)}; "
            f"positions about {_size(positions)}; stored so far {_size(stored)}"
        )
        if limit is not None and children + positions + stored > limit:
            raise InputError(
                f"ply {ply} needs about {_size(children + positions + stored)}, more than the memory of "
                f"{_size(limit)}; give a folder with --store, or more with --memory"
            )
        work = self.store.root / "work"
        there = sum(path.stat().st_size for path in work.rglob("*.rows")) if work.exists() else 0
        if limit is None and children + positions - there > (free := self.store.free_bytes()):
            raise InputError(
                f"--store {str(self.store.root)!r}: ply {ply} needs about {_size(children + positions)}, {_size(free)} "
                "are free; the plies so far are kept: free some space and go on with --resume"
            )


def _sum(arrays: Sequence[Any]) -> NDArray[np.int64]:
    return np.asarray(np.sum(arrays, axis=0, dtype=np.int64))


def cut(loads: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Cut leaves into ranges of at most ``most`` rows, unless a single leaf has more.

    Examples
    --------
    >>> cut(np.array([3, 3, 9, 1, 1]), 6)
    [(0, 2), (2, 3), (3, 5)]
    >>> cut(np.array([0, 0]), 6)
    [(0, 2)]
    """
    ranges = []
    first, load = 0, 0
    for leaf, count in enumerate(loads.tolist()):
        if load and load + count > most:
            ranges.append((first, leaf))
            first, load = leaf, 0
        load += count
    ranges.append((first, len(loads)))
    return ranges


def _plan_name(*content: Any) -> str:
    """Return a name that two plans share only if they are the same, whatever run made them."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _size(count: int) -> str:
    """Return a number of bytes as people read it.

    Examples
    --------
    >>> _size(999), _size(24_690_000_000)
    ('999 bytes', '24.7 GB')
    """
    for exponent, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**exponent:
            return f"{count / 1000**exponent:.1f} {unit}"
    return f"{count} bytes"
