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

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from counting.census.buckets import FIXING, leaf_sums
from counting.census.expansion import EXPANSION_COUNTERS
from counting.census.files import open_rows
from counting.census.limits import TooLargeError, size_text
from counting.census.passes import make_in_passes, passes_needed
from counting.census.planning import plan_expansion, plan_merge
from counting.census.plies import Plies
from counting.census.row_head import LEAF_BITS, Owner, Source
from counting.census.row_sums import part_sums, rows_digest
from counting.census.tasks import run_expand, run_merge, write_part
from counting.census.toolbox import start_rows, toolbox
from tablut.running.clocks import thread_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counting.census.count_record import CountRecord
    from counting.census.limits import CensusLimits
    from counting.census.observer import Observer
    from counting.census.records import PlyRecord
    from counting.census.store import CensusStore
    from tablut.running.scheduling import Scheduler
    from tablut.variants import Variant

__all__ = ["Search"]

_RATE_CHILDREN = 1_000_000
"""Fewer children take no time worth an estimate."""


class Search(Plies):
    """One census in one store."""

    store: CensusStore

    def __init__(
        self,
        variant: Variant,
        *,
        full: bool,
        store: CensusStore,
        scheduler: Scheduler,
        limits: CensusLimits,
        observer: Observer,
    ) -> None:
        super().__init__(variant, full=full, store=store)
        self.scheduler, self.limits, self.observer = scheduler, limits, observer
        self.passes = 1
        if self.records:
            self.check_found()
            store.sweep(None if self.complete else len(self.records))
            self.observer.say(f"resuming after ply {len(self.records) - 1}")
        else:
            store.sweep(None)
            self.records.append(self._start())

    def run(self, plies: int | None, passes: int = 1) -> list[PlyRecord]:
        """Make plies.

        A store that holds more plies gives only as many as were asked for.
        """
        while not self.complete and (plies is None or len(self.records) <= plies):
            self._next_ply(passes if len(self.records) == plies else 1)
        return self.records if plies is None else self.records[: plies + 1]

    # -- one ply -----------------------------------------------------------------------

    def _start(self) -> PlyRecord:
        """Make ply 0."""
        rows = start_rows(self.variant, self.full)
        counts, sums = np.zeros(1 << LEAF_BITS, dtype=np.int64), np.zeros(1 << LEAF_BITS, dtype=np.uint64)
        leaf_sums(rows, LEAF_BITS, np.empty(1, dtype=np.uint16), counts, sums)
        tools = toolbox(self.variant, self.full)
        # Classes are taken under the symmetries that keep the start.
        rows[0, -1] |= np.uint64((tools.order.bit_length() - 1) << FIXING)
        owner, began = self._owner(0, 0, "start"), thread_clock()
        answer = write_part(self.store.part(0, 0), tools, rows, (counts, sums), owner, children=0, began=began)
        return self.store.commit(self._content(0, "start", [answer], (0, 0, 0, 0), 0.0))

    def _owner(self, ply: int, number: int, plan: str) -> Owner:
        return Owner(self.store.game, self.full, ply, number, plan)

    def _content(
        self, ply: int, plan: str, merged: Sequence[dict[str, Any]], expanded: Sequence[int], cpu: float
    ) -> dict[str, Any]:
        """Return what the record of a ply says, from the answers of the tasks that made its parts."""
        paths = [self.store.part(ply, number) for number in range(len(merged))]
        entries = [part["entry"] for part in merged]
        files = [open_rows(path, entry["digest"]) for path, entry in zip(paths, entries, strict=True)]
        return {
            **part_sums(merged),
            "ply": ply,
            "before": self.records[-1].digest if ply else None,
            "expanded": tuple(expanded),
            "rows": rows_digest(files),
            "plan": plan,
            "parts": tuple(entries),
            "cpu": cpu,
        }

    def _next_ply(self, passes: int) -> None:
        ply, before = len(self.records), self.records[-1]
        passes = passes_needed(self, passes)
        self._check_space(ply, passes)
        self.passes = max(self.passes, passes)
        merged, counters, plan, cpu = make_in_passes(self, passes) if passes > 1 else self._make_at_once(ply)
        # The expansion counts parents and moves once more, by another way.
        found = [*counters[:2], sum(answer["children"] for answer in merged)]
        due = [before.counters["new"], before.counters["moves"], before.next_children]
        if found != due:
            self.contradict(ply, f"{found} parents, moves and children where {due} are due")
        cpu += sum(answer["cpu"] for answer in merged)
        content = self._content(ply, plan, merged, counters, cpu)
        self.check_bound([*self.records, SimpleNamespace(**content)])  # type: ignore[list-item]
        self.records.append(self.store.commit(content))

    def _make_at_once(self, ply: int) -> tuple[list[dict[str, Any]], list[int], str, float]:
        """Make the parts of a ply from all its children; return as `make_in_passes` does."""
        tasks, plan = plan_expansion(self, ply)
        self.observer.begin(ply, "expand", self.records[-1].next_children)
        expanded = self.run_tasks(run_expand, tasks)
        children = sum(answer["children"] for answer in expanded)
        if children != (due := self.records[-1].next_children):
            self.contradict(ply, f"{children} children were expanded where {due} are due")
        sources = [Source(task.target, answer["entry"]["digest"]) for task, answer in zip(tasks, expanded, strict=True)]
        merges = plan_merge(self, ply, plan, sources)
        self.observer.begin(ply, "merge", children)
        merged = self.run_tasks(run_merge, merges)
        counters = [sum(answer["counters"][place] for answer in expanded) for place in range(EXPANSION_COUNTERS)]
        return merged, counters, merges[0].owner.plan, sum(answer["cpu"] for answer in expanded)

    def run_tasks(self, function: Callable[[Any], dict[str, Any]], tasks: Sequence[Any]) -> list[dict[str, Any]]:
        """Run tasks that answer how many ``children`` they dealt with, and report these."""
        return self.scheduler.run(function, tasks, lambda stats: self.observer.advance(stats["children"]))

    def work_room(self) -> tuple[int, str]:
        """Return how many bytes the next ply may take, and which option or folder says so.

        What an interrupted run has left of that ply counts as free, so that the answer is the same when it goes on.
        """
        kept = sum(entry.bytes for record in self.records for entry in record.parts)
        free = self.store.free_bytes() + self.stored_bytes() - kept
        if (limit := self.limits.disk_bytes) is None or limit - kept > free:
            return free, f"--store {str(self.store.root)!r}"
        return limit - kept, "--disk"

    def announce(self, text: str, children: int, seconds: float = 0.0) -> None:
        """Say what is begun, and how long it takes."""
        before, cpu = sum(record.children for record in self.records), sum(record.cpu for record in self.records)
        known = before >= _RATE_CHILDREN
        if known:
            seconds += children * cpu / before
        seconds /= self.scheduler.workers
        shown = f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"
        if self.limits.memory is not None:
            text += f"; memory up to {size_text(self.limits.memory)}"
        self.observer.announce(f"{text}; about {shown}" if known else text, seconds)

    def check_counted(self, record: CountRecord) -> None:
        """Raise unless a ply that was counted has all children that are due, and no more positions than the board."""
        before = self.records[record.ply - 1]
        due = [before.counters["new"], before.counters["moves"], before.next_children]
        found = [*record.expanded[:2], record.children]
        if found != due:
            self.contradict(record.ply, f"{found} parents, moves and children where {due} are due")
        self.check_bound([*self.records[: record.ply], record])

    def _check_space(self, ply: int, passes: int) -> None:
        children, positions = self.space_needed()
        stored, limit = self.stored_bytes(), self.limits.disk_bytes
        made = f", in {passes} passes of {size_text(children // passes)}" if passes > 1 else ""
        # Each pass expands all parents; that is about half of the work.
        again = self.records[-1].next_children * (passes - 1) // 2
        self.announce(
            f"ply {ply}: {self.records[-1].next_children:,} children, {size_text(children)}{made}; positions about "
            f"{size_text(positions)}; stored so far {size_text(stored)}",
            self.records[-1].next_children + again,
        )
        need = children // passes + positions
        if limit is not None and not self.limits.in_passes and need + stored > limit:
            raise TooLargeError(
                f"ply {ply} needs about {size_text(need + stored)}, more than the memory of "
                f"{size_text(limit)}; give a folder with --store, or more with --memory, or more disk with --disk"
            )
        room, _ = self.work_room()
        if limit is None and need > room:
            raise TooLargeError(
                f"--store {str(self.store.root)!r}: ply {ply} needs about {size_text(need)}, "
                f"{size_text(self.store.free_bytes())} are free; the plies so far are kept: free some space and go on "
                "with --resume, or let --disk make it in passes"
            )
