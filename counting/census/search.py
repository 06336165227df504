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

import shutil
from dataclasses import dataclass, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import numpy as np

from counting.census.buckets import FIXING, LEAF_BITS, leaf_sums
from counting.census.expansion import EXPANSION_COUNTERS
from counting.census.rows import Owner, Source, damaged, open_rows, part_sums, plan_name, read_rows, rows_digest
from counting.census.store import ended, excess
from counting.census.tasks import ExpandTask, MergeTask, done_before, run_expand, run_merge, write_part
from counting.census.toolbox import start_rows, toolbox
from tablut.errors import InputError
from tablut.results import scientific
from tablut.running.clocks import thread_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from counting.census.store import CensusStore, CountRecord, PlyRecord, StoredCensus
    from tablut.running.scheduling import Scheduler
    from tablut.variants import Variant

_RATE_CHILDREN = 1_000_000
"""Fewer children take no time worth an estimate."""


# -- progress of a census: who hears of it -----------------------------------------------


class Observer(Protocol):
    """Hears how far the search is."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """Hear that a step of a ply begins."""

    def advance(self, count: int) -> None:
        """Hear how many more rows have been dealt with."""

    def say(self, text: str) -> None:
        """Hear something worth a line."""

    def announce(self, text: str, seconds: float) -> None:
        """Hear what is about to begin."""


class Silent:
    """An observer that does nothing."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """See `Observer`."""

    def advance(self, count: int) -> None:
        """See `Observer`."""

    def say(self, text: str) -> None:
        """See `Observer`."""

    def announce(self, text: str, seconds: float) -> None:
        """See `Observer`."""


# -- how large the tasks of a census may be, and the error where something does not fit --


_INTERPRETER_BYTES: Final = 384 << 20
_TASK_BYTES: Final = 96 << 20


class TooLargeError(InputError):
    """A census that does not fit into the memory or the disk it may use; what is done is kept."""


@dataclass(frozen=True)
class CensusLimits:
    """How large a task may be."""

    expand_children: int
    merge_children: int
    disk_bytes: int | None = None
    tally_children: int = 1 << 25
    sort_rows: int = 1 << 23
    in_passes: bool = False
    memory: int | None = None

    @classmethod
    def from_memory(cls, memory: int, workers: int, words: int, disk_bytes: int | None = None) -> CensusLimits:
        """Return the limits with which so many tasks at once stay within ``memory`` bytes.

        An expansion holds every child twice (as found, and in order); a merge holds it
        once, with at most twelve bytes for the table that finds it; a count of bins does both. A sort
        holds its rows five times at most, and as many children by capture.
        """
        share = (memory - _INTERPRETER_BYTES) // workers - _TASK_BYTES
        if share < 32 << 20:
            least = (_INTERPRETER_BYTES + workers * (128 << 20)) >> 20
            raise InputError(f"--memory {memory >> 20}: {workers} tasks at once need at least {least} MiB")
        return cls(
            min(share // (20 * words), 1 << 21),
            share // (8 * words + 14),
            disk_bytes,
            min(share // _tally_bytes(words), 1 << 25),
            min(share // (80 * words), 1 << 23),
            memory=memory,
        )

    @staticmethod
    def memory_for(children: int, words: int, workers: int) -> int:
        """Return the memory with which a task of a ply that is counted may have so many children."""
        share = children * _tally_bytes(words) + _TASK_BYTES
        return -(-(workers * share + _INTERPRETER_BYTES) // (1 << 20)) << 20


def _tally_bytes(words: int) -> int:
    return 16 * words + 16


def size_text(count: int) -> str:
    """Return a number of bytes as people read it."""
    if count >= 10**15:
        return f"{scientific(count, 2)} bytes"
    for exponent, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**exponent:
            return f"{count / 1000**exponent:.1f} {unit}"
    return f"{count} bytes"


# -- the plies of a census that are stored: what they say, and whether it is possible ----


class Plies:
    """The plies of one census."""

    def __init__(self, variant: Variant, *, full: bool, store: StoredCensus) -> None:
        self.variant, self.full, self.store = variant, full, store
        self.words = toolbox(variant, full).tables.words
        self.records = store.records()
        # A file of an earlier run may have been changed since; a file of this run has not.
        self._found = len(self.records)
        self.passes = 1

    @property
    def complete(self) -> bool:
        """Whether the last ply found nothing undecided that is new, or is the last of a game."""
        return ended(self.variant, self.records)

    def check_found(self) -> None:
        """Find the plies that an earlier run has made whole, and possible."""
        tools = toolbox(self.variant, self.full)
        for record in self.records:
            files = self.store.check_parts(record)
            if np.array(record.material, dtype=object).shape != tools.material:
                self.contradict(record.ply, "its material is that of another board")
            for file in files:
                codes = None if file.header.codes is None else file.header.codes[:3]
                if (file.header.words, codes) != (self.words, tools.codes):
                    raise damaged(file.path, "its rows are those of another board")
            if not record.ply and not np.array_equal(
                read_rows(files[0], 0, 1 << LEAF_BITS), start_rows(self.variant, self.full)
            ):
                raise damaged(files[0].path, "it does not hold the start")
        self.check_bound(self.records)

    def check_bound(self, records: Sequence[PlyRecord | CountRecord]) -> None:
        """Find that no more positions of any material and side to move were reached than the board has."""
        if (fault := excess(self.variant, records)) is not None:
            self.contradict(records[-1].ply, fault)

    def contradict(self, ply: int, what: str) -> NoReturn:
        """Raise the error for impossible counts."""
        if self._found:
            raise TooLargeError(
                f"--store {str(self.store.root)!r}: ply {ply}: {what}; a file of the store has been changed: "
                "`tablut census verify` with that folder says which; or count again into another folder"
            )
        raise ArithmeticError(f"{self.variant.name}: ply {ply}: {what}")

    def space_needed(self, last: PlyRecord | CountRecord | None = None) -> tuple[int, int]:
        """Return how many bytes the next ply needs: for children, and an estimate for its positions.

        The number of children is exact. What part of them is new is taken from the last
        ply, which overestimates it where the search slows down.
        """
        last = self.records[-1] if last is None else last
        children = last.next_children
        kept = last.counters["new_classes"] + last.counters["decided_classes"]
        ratio = kept / last.children if last.children else 1.0
        bytes_each = toolbox(self.variant, self.full).row_bytes
        return children * 8 * self.words, int(children * ratio) * bytes_each

    def stored_bytes(self) -> int:
        """Return how many bytes the store takes."""
        return self.store.taken_bytes(self.records)


# -- how a ply is cut into tasks: shares of the positions to expand, ranges of leaves to merge


_LEAST_ROWS = 1 << 18
_MERGE_ROWS = 1 << 25
_MERGES = 32


def cut(loads: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Cut leaves into ranges of at most ``most`` rows, unless a single leaf has more."""
    ranges = []
    first, load = 0, 0
    for leaf, count in enumerate(loads.tolist()):
        if load and load + count > most:
            ranges.append((first, leaf))
            first, load = leaf, 0
        load += count
    ranges.append((first, len(loads)))
    return ranges


def share_of(search: Search, total: int, most: int) -> int:
    """Return how many children or rows a task gets: enough tasks for all workers, none too small or too large."""
    return max(1, min(most, max(_LEAST_ROWS, -(-total // (4 * search.scheduler.workers)))))


def plan_expansion(search: Search, ply: int) -> tuple[list[ExpandTask], str]:
    """Return the tasks that expand the last ply."""
    before = search.records[-1]
    share = share_of(search, before.next_children, search.limits.expand_children)
    sources = search.store.parts(before)
    plan = plan_name("expand", before.digest, [source.digest for source in sources], share)
    tasks: list[ExpandTask] = []
    for source in sources:
        moves = open_rows(*source).moves
        for first, last in cut(moves, share):
            load = int(moves[first:last].sum())
            # One leaf too large for a task is shared out by rows; a quarter of slack for uneven rows.
            shares = -(-load * 5 // (share * 4)) if load > share else 1
            for number in range(shares if load else 0):
                tasks.append(
                    _expansion(search, source, _owner(search, ply, len(tasks), plan), (first, last), (number, shares))
                )
    if not tasks:  # every position is immobile: one task that finds no children
        tasks.append(_expansion(search, sources[0], _owner(search, ply, 0, plan), (0, 1 << LEAF_BITS), (0, 1)))
    return tasks, plan


def _expansion(
    search: Search, source: Source, owner: Owner, leaves: tuple[int, int], share: tuple[int, int]
) -> ExpandTask:
    target = search.store.work_file(owner.ply, "children", owner.number)
    return ExpandTask(search.variant, search.full, owner, source, *leaves, *share, target)


def _owner(search: Search, ply: int, number: int, plan: str) -> Owner:
    return Owner(search.store.game, search.full, ply, number, plan)


def plan_merge(search: Search, ply: int, plan: str, children: list[Source]) -> list[MergeTask]:
    """Return the tasks that make a ply from all its children."""
    counts = np.zeros(1 << LEAF_BITS, dtype=np.int64)
    for source in children:
        counts += open_rows(*source).counts
    most = search.limits.merge_children
    if (largest := int(counts.max())) > most:
        per_child = 8 * search.words + 14
        raise TooLargeError(
            f"--memory: a leaf of ply {ply} has {largest:,} children; each task needs "
            f"{(largest * per_child >> 20) + 200:,} MiB more, one a thread"
        )
    # No larger than need be: memory that is touched for the first time costs the system more than the
    # merge. No smaller: every merge opens every file of children.
    total = int(counts.sum())
    share = share_of(search, total, min(most, max(_MERGE_ROWS, -(-total // _MERGES))))
    ranges = cut(counts, share)
    known = tuple(source for record in search.records[ply % 2 :: 2] for source in search.store.parts(record))
    digests = [[source.digest for source in sources] for sources in (children, known)]
    name = plan_name("merge", plan, digests, ranges)
    return [
        MergeTask(
            search.variant,
            search.full,
            _owner(search, ply, number, name),
            tuple(children),
            known,
            first,
            last,
            search.store.part(ply, number),
        )
        for number, (first, last) in enumerate(ranges)
    ]


# -- A ply that is stored although its children do not fit on the disk: made in passes over ranges of leaves


_LEAVES = 1 << LEAF_BITS
_SLACK = 1.1
"""By how much a range of leaves may have more children than its share."""


def passes_needed(search: Search, passes: int) -> int:
    """Return in how many passes the next ply is made, 1 where nothing limits the disk."""
    if not search.limits.in_passes:
        return passes
    children, positions = search.space_needed()
    room, option = search.work_room()
    if children + positions <= room:
        return passes
    least = int(_SLACK * children / _LEAVES) + 1
    if positions + least > room:
        ply, enough = len(search.records), search.stored_bytes() + positions + 2 * least
        raise TooLargeError(
            f"{option}: ply {ply} takes about {size_text(positions)} for its positions alone, and "
            f"{size_text(max(0, room))} are left; give at least --disk {enough / 2**30:.1f}, or count it without "
            f"storing it: --plies {ply} --count-last"
        )
    return max(passes, min(_LEAVES, -(-int(_SLACK * children) // (room - positions))))


def leaf_ranges(passes: int, merges: int) -> list[list[tuple[int, int]]]:
    """Return the ranges of leaves that are merged at once, pass by pass."""
    found = []
    for number in range(passes):
        first, last = (_LEAVES * place // passes for place in (number, number + 1))
        count = min(merges, last - first)
        ends = [first + (last - first) * place // count for place in range(count + 1)]
        found.append(list(pairwise(ends)))
    return found


def make_in_passes(search: Search, passes: int) -> tuple[list[dict[str, Any]], list[int], str, float]:
    """Make the parts of the next ply in passes."""
    ply, before = len(search.records), search.records[-1]
    share = share_of(search, int(before.next_children / passes), search.limits.merge_children)
    merges = max(1, -(-int(_SLACK * before.next_children) // (passes * share)))
    ranges = leaf_ranges(passes, merges)
    sources = search.store.parts(before)
    known = tuple(source for record in search.records[ply % 2 :: 2] for source in search.store.parts(record))
    digests = [[source.digest for source in some] for some in (sources, known)]
    plan = plan_name("passes", before.digest, digests, ranges)
    merged: list[dict[str, Any]] = []
    counters: list[int] | None = None
    cpu = 0.0
    for number, some in enumerate(ranges):
        owners = [Owner(search.store.game, search.full, ply, len(merged) + place, plan) for place in range(len(some))]
        targets = [search.store.part(ply, owner.number) for owner in owners]
        done = [done_before(target, owner) for target, owner in zip(targets, owners, strict=True)]
        # The counters of the parents come from a pass that is made in this run: the last one is, if no other.
        if None in done or (number == len(ranges) - 1 and counters is None):
            step = f"pass {number + 1} of {passes}"
            children, found, seconds = _expand(search, (some[0][0], some[-1][1]), step)
            if counters is not None and found != counters:
                raise ArithmeticError(f"ply {ply}: {step} expanded {found} where the one before expanded {counters}")
            counters, cpu = found, cpu + seconds
            _check_memory(search, ply, children, some)
            tasks = [
                MergeTask(search.variant, search.full, owner, tuple(children), known, first, last, target)
                for owner, (first, last), target in zip(owners, some, targets, strict=True)
            ]
            search.observer.begin(ply, f"{step}, merge", sum(open_rows(*source).header.rows for source in children))
            merged += search.run_tasks(run_merge, tasks)
            shutil.rmtree(search.store.root / "work", ignore_errors=True)
        else:
            merged += [answer for answer in done if answer is not None]
    if counters is None:
        raise ArithmeticError(f"ply {ply}: no pass has expanded anything")
    return merged, counters, plan, cpu


def _expand(search: Search, leaves: tuple[int, int], step: str) -> tuple[list[Source], list[int], float]:
    """Write the children in some leaves; return their files, the counters of all parents, and the seconds."""
    ply = len(search.records)
    tasks, _ = plan_expansion(search, ply)
    plan = plan_name("leaves", tasks[0].owner.plan, leaves)
    tasks = [replace(task, owner=task.owner._replace(plan=plan), leaves=leaves) for task in tasks]
    search.observer.begin(ply, f"{step}, expand", search.records[-1].next_children * (leaves[1] - leaves[0]) // _LEAVES)
    answers = search.run_tasks(run_expand, tasks)
    sources = [Source(task.target, answer["entry"]["digest"]) for task, answer in zip(tasks, answers, strict=True)]
    counters = [sum(answer["counters"][place] for answer in answers) for place in range(EXPANSION_COUNTERS)]
    return sources, counters, sum(answer["cpu"] for answer in answers)


def _check_memory(search: Search, ply: int, children: list[Source], ranges: Sequence[tuple[int, int]]) -> None:
    counts = np.zeros(_LEAVES, dtype=np.int64)
    for source in children:
        counts += open_rows(*source).counts
    largest = max(int(counts[first:last].sum()) for first, last in ranges)
    if largest > search.limits.merge_children:
        raise TooLargeError(
            f"--memory: some leaves of ply {ply} have {largest:,} children, {search.limits.merge_children:,} fit; "
            "give more, or more passes with --passes"
        )


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
