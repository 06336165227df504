"""Breadth-first search ply by ply, with delayed duplicate detection.

A ply is made in one or more passes. Each pass has two steps, which consist of coarse tasks (`counting.census.tasks`).
First, the previous ply's positions are expanded into files of children, which are divided into leaves according to
their hashes. Then each range of leaves is read from all these files. Duplicates are dropped, and so are positions that
occur in an earlier ply [1]_. Since the sides alternate, a ply has to be compared only with every other earlier ply. The
method reads and writes sequentially and needs memory for only one range of leaves. A ply that is counted but not stored
is made by `counting.census.counted`.

One pass suffices if all children fit on the disk. If there are several passes, each of them expands all parents again
and keeps only the children in its leaves. The number of passes changes the part boundaries, but not the ply's digest.
All ranges are fixed before the first pass, so a finished part is recognised even if its source files have been removed.
A census that was killed therefore resumes with the interrupted pass.

References
----------
.. [1] R. E. Korf, Linear-time disk-based implicit graph search, Journal of the ACM 55 (6), 2008,
   https://doi.org/10.1145/1455248.1455250.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

import numpy as np

from counting.census.buckets import FIXING, LEAVES, by_leaf
from counting.census.census_store import CensusStore, PlyRecord, SealedPly, contradiction, ended, excess, part_sums
from counting.census.expansion import EXPANSION_COUNTERS
from counting.census.rows import cut, leaf_counts, open_rows, read_rows, rows_digest
from counting.census.tasks import ExpandTask, MergeTask, RowTask, write_part
from counting.census.toolbox import toolbox
from tablut.errors import InputError
from tablut.work.clocks import thread_clock
from tablut.work.ledger import damaged
from tablut.work.parts import Owner, PartFile, PartSource
from tablut.work.progress import Observer, duration, plural, size_text
from tablut.work.run import Mending, PartResult, made_part, run_parts
from tablut.work.sealed_records import DamagedError, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tablut.variants import Variant
    from tablut.work.run import Scheduler

_RATE_CHILDREN = 1_000_000
"""Number of children that must have been made before the remaining time is estimated."""
_LEAST_ROWS = 1 << 18
_MERGE_ROWS: Final = 1 << 25
_MERGES: Final = 32
_SLACK: Final = 1.1
"""Factor by which a range of leaves may exceed its share of the children."""
_INTERPRETER_BYTES: Final = 384 << 20
_TASK_BYTES: Final = 96 << 20


# -- limits -------------------------------------------------------------------


class TooLargeError(InputError):
    """An error for a census that exceeds its memory or disk limit. Finished work is kept."""


@dataclass(frozen=True)
class Resources:
    """Memory, disk and workers for a census.

    Attributes
    ----------
    memory : int
        Memory limit in bytes, for this process or, on a cluster, for each worker.
    disk : int or None
        Maximum size of the folder in bytes. If the children of a ply do not fit, the ply is made in several passes. The
        default is the free space of the disk or, without a folder, the value of ``memory``.
    passes : int
        Minimum number of passes for the last ply.
    threads : int
        Number of tasks that run concurrently.
    scheduler : str or None
        Address of a running Dask cluster. Its workers must be able to access the folder at the same path. If an
        address is given, ``threads`` is ignored.
    """

    memory: int = 4 << 30
    disk: int | None = None
    passes: int = 1
    threads: int = 1
    scheduler: str | None = None


@dataclass(frozen=True)
class CensusLimits:
    """Limits for the size of tasks, in children, rows and bytes."""

    expand_children: int
    merge_children: int
    disk_bytes: int | None = None
    tally_children: int = 1 << 25
    sort_rows: int = 1 << 23
    in_passes: bool = False
    memory: int | None = None

    @classmethod
    def from_memory(cls, memory: int, workers: int, words: int, disk_bytes: int | None = None) -> CensusLimits:
        """Return limits that keep ``workers`` concurrent tasks within ``memory`` bytes.

        An expansion keeps every child in memory twice: as generated, and sorted. A merge keeps every child once, and
        its hash table takes at most twelve bytes per child. A task that counts bins keeps every child twice and needs a
        hash table, too. A sort keeps at most five copies of its rows, and about the same number of children reached by
        a capture.
        """
        share = (memory - _INTERPRETER_BYTES) // workers - _TASK_BYTES
        if share < 32 << 20:
            least = (_INTERPRETER_BYTES + workers * (128 << 20)) >> 20
            why = f"{plural(workers, 'task')} in parallel need at least {least} MiB"
            raise InputError(why, parameter="memory", value=f"{memory >> 20} MiB")
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
        """Return the memory that a count needs for ``children`` children in each of ``workers`` concurrent tasks."""
        share = children * _tally_bytes(words) + _TASK_BYTES
        return -(-(workers * share + _INTERPRETER_BYTES) // (1 << 20)) << 20


def _tally_bytes(words: int) -> int:
    return 16 * words + 16


# -- one census ----------------------------------------------------------------------------


class CensusSearch:
    """A census in a store. It reads the stored plies and computes further plies."""

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
        self.variant, self.full, self.store = variant, full, store
        self.scheduler, self.limits, self.observer = scheduler, limits, observer
        self.tools = toolbox(variant, full)
        self.words = self.tools.tables.words
        self.passes = 1
        self.records: list[PlyRecord] = []
        self.mending = Mending(observer.say)
        # The number of plies made by earlier runs. Their files may have been changed since then and may be the cause of
        # a contradiction.
        self._found = 0
        self.resume()
        store.sweep(None if self.complete else len(self.records))
        if self._found:
            observer.say(f"resuming after ply {len(self.records) - 1}")

    def resume(self) -> None:
        """Read the plies that are stored, up to the first one that is missing or damaged."""
        self.records = []
        try:
            for record in self.store.records():
                self._check_stored(record)
                self.records.append(record)
        except DamagedError as error:
            self.mending.remove(error, found=True)
            self.store.forget("ply", len(self.records))
        self._found = len(self.records)
        if self.records:
            self._check_bound(self.records)
        else:
            self.records.append(self._start())

    @property
    def complete(self) -> bool:
        """Whether the last ply has no new undecided position or reaches the move limit."""
        return ended(self.variant, self.records)

    def run(self, plies: int | None, passes: int = 1) -> list[PlyRecord]:
        """Compute every ply up to a given one, with at least ``passes`` passes for the last one. Return their records.

        The store may contain further plies. Their records are not returned.
        """
        while not self.complete and (plies is None or len(self.records) <= plies):
            with self.mending.attempt(len(self.records), self.resume):
                self._next_ply(passes if len(self.records) == plies else 1)
        return self.records if plies is None else self.records[: plies + 1]

    def _start(self) -> PlyRecord:
        """Make ply 0."""
        rows = self.tools.start
        _, counts, sums = by_leaf(rows)
        # The group is the stabiliser of the start, so all of its elements leave the start in place.
        rows[0, -1] |= np.uint64((self.tools.order.bit_length() - 1) << FIXING)
        owner = Owner(plan=digest_of(["start", self.store.game, self.full]), step=0, number=0)
        target = self.store.part(0, 0)
        part = write_part(target, self.tools, rows, (counts, sums), owner, children=0, began=thread_clock())
        return self._commit(owner.plan, [part], [0] * EXPANSION_COUNTERS, part.cpu)

    def _next_ply(self, passes: int) -> None:
        # The ply may already be stored, if an earlier ply was damaged and has been made again.
        record = self.store.record(len(self.records), self.records[-1])
        if record is not None:
            self._check_stored(record)
        else:
            passes = self._passes_needed(passes)
            self._check_space(passes)
            self.passes = max(self.passes, passes)
            builder = _StoredPly(self, passes)
            merged = builder.make()
            record = self._commit(builder.plan, merged, builder.counters or [], builder.cpu)
        self.records.append(record)

    def _commit(
        self, plan: str, merged: Sequence[PartResult | PartFile[Any]], expanded: Sequence[int], cpu: float
    ) -> PlyRecord:
        """Write the record that completes a ply, using the results of the tasks that made its parts."""
        ply = len(self.records)
        entries = [{"bytes": part.length, "digest": part.digest} for part in merged]
        files = [open_rows(self.store.part(ply, number), part.digest) for number, part in enumerate(merged)]
        content = {
            **part_sums(files),
            "game": self.store.game,
            "full": self.full,
            "ply": ply,
            "before": self.records[-1].digest if ply else None,
            "expanded": expanded,
            "rows": rows_digest(files),
            "plan": plan,
            "parts": entries,
            "cpu": cpu,
        }
        record = PlyRecord.make(content)
        self.check_made(record)
        self.store.commit("ply", record)
        return record

    # -- contradictions ----------------------------------------------------------------

    def _check_stored(self, record: PlyRecord) -> None:
        """Check that a ply made by an earlier run is complete and consistent. Raise an error otherwise."""
        files = self.store.check_parts(record)
        if np.array(record.material, dtype=object).shape != self.tools.material:
            self._contradict(record.ply, "its material does not fit this board")
        for file in files:
            codes = None if file.stats.codes is None else file.stats.codes[:3]
            if (file.stats.words, codes) != (self.words, self.tools.codes):
                raise damaged(file.path, "its rows do not fit this board")
        if not record.ply and not np.array_equal(read_rows(files[0], 0, LEAVES), self.tools.start):
            raise damaged(files[0].path, "it does not contain the start")

    def check_made(self, record: SealedPly) -> None:
        """Check that a ply has all expected children and no more positions than the board allows."""
        before = self.records[: record.ply]
        # The expansion counts parents and moves independently of the previous ply's survey.
        if before and (fault := contradiction(before[-1], record.expanded, record.children)) is not None:
            self._contradict(record.ply, fault)
        self._check_bound([*before, record])

    def _check_bound(self, records: Sequence[SealedPly]) -> None:
        """Check, for each material and side to move, that no more positions were reached than the board allows."""
        if (fault := excess(self.variant, records)) is not None:
            self._contradict(records[-1].ply, fault)

    def _contradict(self, ply: int, what: str) -> NoReturn:
        if self._found:
            raise TooLargeError(
                f"ply {ply} is inconsistent with the stored plies: {what}; a file of the store has been changed",
                subject=f"store {str(self.store.root)!r}",
                remedy=f"find it with `tablut census verify {str(self.store.root)!r}`, or count into another folder",
            )
        raise ArithmeticError(f"{self.variant.name}: ply {ply}: {what}")

    # -- space and time ----------------------------------------------------------------

    def space_needed(self, last: SealedPly | None = None) -> tuple[int, int]:
        """Return the number of bytes needed for the next ply's children, and an estimate for its positions.

        The number of children is exact. The share of new positions among them is assumed to be the same as in the last
        ply. When the growth slows down, the estimate is too high.
        """
        last = self.records[-1] if last is None else last
        ratio = last.classes / last.children if last.children else 1.0
        return last.next_children * 8 * self.words, int(last.next_children * ratio) * self.tools.row_bytes

    def work_room(self) -> tuple[int, str]:
        """Return the number of bytes that the next ply may take, and the parameter or folder that sets this limit.

        Files that an interrupted run left for this ply count as free space, so a resumed census gets the same result.
        """
        kept = sum(entry.bytes for record in self.records for entry in record.parts)
        free = self.store.free_bytes() + self.store.taken_bytes() - kept
        if (limit := self.limits.disk_bytes) is None or limit - kept > free:
            return free, f"store {str(self.store.root)!r}"
        return limit - kept, "disk"

    def announce(self, text: str, children: int, seconds: float = 0.0) -> None:
        """Report the work that is about to begin and an estimate of its duration."""
        before, cpu = sum(record.children for record in self.records), sum(record.cpu for record in self.records)
        known = before >= _RATE_CHILDREN
        if known:
            seconds += children * cpu / before
        seconds /= self.scheduler.workers
        if self.limits.memory is not None:
            text += f"; memory up to {size_text(self.limits.memory)}"
        self.observer.announce(f"{text}; about {duration(seconds)}" if known else text, seconds)

    def share_of(self, total: int, most: int) -> int:
        """Return a number of children or rows per task that keeps all workers busy without making the tasks tiny."""
        return max(1, min(most, max(_LEAST_ROWS, -(-total // (4 * self.scheduler.workers)))))

    def _passes_needed(self, passes: int) -> int:
        """Return the number of passes for the next ply: ``passes``, unless the disk limit requires more."""
        if not self.limits.in_passes:
            return passes
        children, positions = self.space_needed()
        room, limited = self.work_room()
        if children + positions <= room:
            return passes
        least = int(_SLACK * children / LEAVES) + 1
        if positions + least > room:
            ply, enough = len(self.records), self.store.taken_bytes() + positions + 2 * least
            raise TooLargeError(
                f"ply {ply} needs about {size_text(positions)} for its positions alone, but only "
                f"{size_text(max(0, room))} are available",
                parameter=limited,
                remedy=f"allow {size_text(enough)} of `disk`, or let `count` count ply {ply} without storing it",
            )
        return max(passes, min(LEAVES, -(-int(_SLACK * children) // (room - positions))))

    def _check_space(self, passes: int) -> None:
        ply, due = len(self.records), self.records[-1].next_children
        children, positions = self.space_needed()
        stored, limit = self.store.taken_bytes(), self.limits.disk_bytes
        made = f", in {passes} passes of {size_text(children // passes)}" if passes > 1 else ""
        # Every pass expands all parents, which is about half of the work.
        self.announce(
            f"ply {ply}: {due:,} children, {size_text(children)}{made}; positions about "
            f"{size_text(positions)}; stored so far {size_text(stored)}",
            due + due * (passes - 1) // 2,
        )
        need = children // passes + positions
        if limit is not None and not self.limits.in_passes and need + stored > limit:
            raise TooLargeError(
                f"ply {ply} needs about {size_text(need + stored)}, more than the memory of {size_text(limit)}",
                remedy="store the census in a folder with `store`, or allow more `memory` or `disk`",
            )
        room, _ = self.work_room()
        if limit is None and need > room:
            raise TooLargeError(
                f"ply {ply} needs about {size_text(need)}, but only {size_text(self.store.free_bytes())} are free",
                subject=f"store {str(self.store.root)!r}",
                remedy="free some space and try again, or set a limit with `disk`, so that the ply is made in passes",
            )


# -- making a ply --------------------------------------------------------------------------

Range = TypeVar("Range")


class PlyBuilder(ABC, Generic[Range]):
    """The process of making one ply, in passes over ranges of hashes."""

    def __init__(self, search: CensusSearch, ply: int) -> None:
        self.search, self.ply, self.store = search, ply, search.store
        self.before = search.records[ply - 1]
        self.parents = self.store.parts(self.before)
        self.known = tuple(
            source for record in search.records[ply % 2 : ply : 2] for source in self.store.parts(record)
        )
        self.passes: list[Range] = []
        self.cpu = 0.0

    def make(self) -> list[PartResult]:
        """Run all passes, and return the results of the tasks that wrote the permanent files."""
        answers: list[PartResult] = []
        for number, some in enumerate(self.passes):
            step = f"pass {number + 1} of {len(self.passes)}, " if len(self.passes) > 1 else ""
            answers += self.make_pass(some, step, last=number == len(self.passes) - 1)
        return answers

    @abstractmethod
    def make_pass(self, some: Range, step: str, *, last: bool) -> list[PartResult]:
        """Write the missing files of a pass. After every pass except the last, remove the intermediate files."""

    def owner(self, number: int, plan: str) -> Owner:
        """Return the owner of a task's output file."""
        return Owner(plan=plan, step=self.ply, number=number)

    def run(
        self,
        step: str,
        tasks: Sequence[RowTask],
        total: int,
        done: Callable[[PartResult], int] = lambda answer: answer.stats.children,
    ) -> list[PartResult]:
        """Run tasks and report progress. ``done`` maps a task's result to the amount of work done."""
        observer = self.search.observer
        observer.begin(f"ply {self.ply} {step}", total)
        answers = run_parts(self.search.scheduler, tasks, observer.say, lambda answer: observer.advance(done(answer)))
        self.cpu += sum(answer.cpu for answer in answers)
        return answers


class _StoredPly(PlyBuilder[list[tuple[int, int]]]):
    """The process of making and storing the next ply. A pass is a list of ranges of leaves, one for each merge."""

    def __init__(self, search: CensusSearch, passes: int) -> None:
        super().__init__(search, len(search.records))
        total = -(-self.before.next_children // passes)
        # With larger merges, the system would spend more time on providing new memory than on the merge itself.
        # With smaller merges, every file of children would be opened more often.
        fits = search.limits.merge_children
        # Leaves differ in size only by chance. This matters if a range contains few of them.
        most = min(max(1, int(fits / _SLACK - 20 * fits**0.5)), max(_MERGE_ROWS, -(-total // _MERGES)))
        self.passes = leaf_ranges(passes, max(1, -(-total // search.share_of(total, most))))
        digests = [[source.digest for source in some] for some in (self.parents, self.known)]
        self.plan = digest_of(["passes", self.before.digest, digests, self.passes])
        self.counters: list[int] | None = None
        self._parts = 0

    def make_pass(self, some: list[tuple[int, int]], step: str, *, last: bool) -> list[PartResult]:
        search, first = self.search, self._parts
        self._parts += len(some)
        tasks = [
            MergeTask(
                search.variant,
                search.full,
                self.owner(first + place, self.plan),
                self.store.part(self.ply, first + place),
                (),
                self.known,
                *leaves,
            )
            for place, leaves in enumerate(some)
        ]
        # The parents' counters come from a pass in this run. If this run made no pass, make the last pass again.
        if all(made_part(task) is not None for task in tasks) and not (last and self.counters is None):
            return self.run(f"{step}merge", tasks, 0)
        children = self._expand(step, (some[0][0], some[-1][1]))
        self._check_memory(children, some)
        total = sum(open_rows(*source).rows for source in children)
        merged = self.run(f"{step}merge", [replace(task, children=children) for task in tasks], total)
        if not last:
            self.store.drop_work()
        return merged

    def _expand(self, step: str, leaves: tuple[int, int]) -> tuple[PartSource, ...]:
        """Write the children in a range of leaves, and add up the counters of all parents."""
        tasks = self._expand_tasks(leaves)
        share = self.before.next_children * (leaves[1] - leaves[0]) // LEAVES
        answers = self.run(f"{step}expand", tasks, share)
        counters = [sum(answer.stats.counters[place] for answer in answers) for place in range(EXPANSION_COUNTERS)]
        if self.counters not in (None, counters):
            raise ArithmeticError(
                f"ply {self.ply}: {step}expanded {counters}, but the previous pass expanded {self.counters}"
            )
        self.counters = counters
        return tuple(PartSource(task.target, answer.digest) for task, answer in zip(tasks, answers, strict=True))

    def _expand_tasks(self, leaves: tuple[int, int]) -> list[ExpandTask]:
        search = self.search
        share = search.share_of(self.before.next_children, search.limits.expand_children)
        plan = digest_of(["expand", self.before.digest, [source.digest for source in self.parents], share, leaves])
        pieces = []
        for source in self.parents:
            moves = open_rows(*source).moves
            for first, last in cut(moves, share):
                load = int(moves[first:last].sum())
                # A leaf that is too large for one task is divided into shares of its rows. Since rows have different
                # numbers of children, 25 % more shares are made than the average requires.
                shares = -(-load * 5 // (share * 4)) if load > share else 1
                pieces += [(source, first, last, number, shares) for number in range(shares if load else 0)]
        # If no position has a move, a single task writes an empty file.
        pieces = pieces or [(self.parents[0], 0, LEAVES, 0, 1)]
        return [
            ExpandTask(
                search.variant,
                search.full,
                self.owner(number, plan),
                self.store.work_file(self.ply, "children", number),
                *piece,
                leaves,
            )
            for number, piece in enumerate(pieces)
        ]

    def _check_memory(self, children: Sequence[PartSource], ranges: Sequence[tuple[int, int]]) -> None:
        counts, most = leaf_counts(open_rows(*source) for source in children), self.search.limits.merge_children
        largest = max(int(counts[first:last].sum()) for first, last in ranges)
        if largest > most:
            raise TooLargeError(
                f"some leaves of ply {self.ply} have {largest:,} children, but only {most:,} fit into memory",
                parameter="memory",
                remedy="allow more `memory` or more `passes`",
            )


def leaf_ranges(passes: int, merges: int) -> list[list[tuple[int, int]]]:
    """Return the ranges of leaves for each pass. Each range is merged by one task."""
    found = []
    for number in range(passes):
        first, last = (LEAVES * place // passes for place in (number, number + 1))
        count = min(merges, last - first)
        ends = [first + (last - first) * place // count for place in range(count + 1)]
        found.append(list(pairwise(ends)))
    return found
