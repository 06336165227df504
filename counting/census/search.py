"""Breadth-first search ply by ply, with delayed duplicate detection.

A ply is made in passes of two steps of coarse tasks (`counting.census.tasks`). To store it, the positions of the
ply before are expanded into files of children, cut into leaves by their hash; then
each range of leaves is read from all these files, duplicates are dropped, and so are
the positions that an earlier ply has [1]_. As sides alternate, only every other ply
can have them. The method needs sequential reading and writing only, and memory for one
range of leaves. A ply that is counted and not stored is made by `counting.census.counted`.

One pass is enough where the disk holds all children. Of several, each expands all parents once more and keeps the
children in its leaves only. The parts are cut at other leaves then, and the digest of the ply is the same. All ranges
are fixed before the first pass: a part is known again without the children that it was made from. So a killed census
goes on with the pass in which it was.

References
----------
.. [1] R. E. Korf, Linear-time disk-based implicit graph search, Journal of the ACM 55 (6), 2008,
   https://doi.org/10.1145/1455248.1455250.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

import numpy as np

from counting.census.buckets import FIXING, LEAVES, by_leaf
from counting.census.expansion import EXPANSION_COUNTERS
from counting.census.rows import (
    Owner,
    RowSource,
    cut,
    damaged,
    leaf_counts,
    open_rows,
    plan_name,
    read_rows,
    rows_digest,
)
from counting.census.store import CensusStore, PlyRecord, SealedPly, contradiction, ended, excess, part_sums
from counting.census.tasks import ExpandTask, MergeTask, RowTask, answer_of, run_task, write_part
from counting.census.toolbox import start_rows, toolbox
from tablut.errors import InputError
from tablut.running.clocks import thread_clock
from tablut.running.progress import Observer, duration, plural, size_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tablut.running.scheduling import Scheduler
    from tablut.variants import Variant

_RATE_CHILDREN = 1_000_000
"""Fewer children take no time worth an estimate."""
_LEAST_ROWS = 1 << 18
_MERGE_ROWS: Final = 1 << 25
_MERGES: Final = 32
_SLACK: Final = 1.1
"""By how much a range of leaves may have more children than its share."""
_INTERPRETER_BYTES: Final = 384 << 20
_TASK_BYTES: Final = 96 << 20


# -- limits -------------------------------------------------------------------


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
            why = f"{plural(workers, 'task')} at once need at least {least} MiB"
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
        """Return the memory with which a task of a ply that is counted may have so many children."""
        share = children * _tally_bytes(words) + _TASK_BYTES
        return -(-(workers * share + _INTERPRETER_BYTES) // (1 << 20)) << 20


def _tally_bytes(words: int) -> int:
    return 16 * words + 16


# -- one census ----------------------------------------------------------------------------


class CensusSearch:
    """One census in one store: the plies that are there, and those that are made."""

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
        self.records = list(store.records())
        # A file of an earlier run may have been changed since; a file of this run has not.
        self._found = len(self.records)
        if self.records:
            self._check_found()
            store.sweep(None if self.complete else len(self.records))
            observer.say(f"resuming after ply {len(self.records) - 1}")
        else:
            store.sweep(None)
            self.records.append(self._start())

    @property
    def complete(self) -> bool:
        """Whether the last ply found nothing undecided that is new, or is the last of a game."""
        return ended(self.variant, self.records)

    def run(self, plies: int | None, passes: int = 1) -> list[PlyRecord]:
        """Make plies, the last in so many passes at least.

        A store that holds more plies gives only as many as were asked for.
        """
        while not self.complete and (plies is None or len(self.records) <= plies):
            self._next_ply(passes if len(self.records) == plies else 1)
        return self.records if plies is None else self.records[: plies + 1]

    def _start(self) -> PlyRecord:
        """Make ply 0."""
        rows = start_rows(self.variant, self.full)
        _, counts, sums = by_leaf(rows)
        # Classes are taken under the symmetries that keep the start.
        rows[0, -1] |= np.uint64((self.tools.order.bit_length() - 1) << FIXING)
        owner = Owner(self.store.game, self.full, 0, 0, "start")
        target = self.store.part(0, 0)
        write_part(target, self.tools, rows, (counts, sums), owner, children=0, began=thread_clock())
        answers = [answer for answer in (answer_of(target, owner),) if answer is not None]
        return self._commit("start", answers, [0] * EXPANSION_COUNTERS, 0.0)

    def _next_ply(self, passes: int) -> None:
        passes = self._passes_needed(passes)
        self._check_space(passes)
        self.passes = max(self.passes, passes)
        making = _StoredPly(self, passes)
        merged = making.make()
        self.records.append(self._commit(making.plan, merged, making.counters or [], making.cpu))

    def _commit(self, plan: str, merged: Sequence[dict[str, Any]], expanded: Sequence[int], cpu: float) -> PlyRecord:
        """Make a ply complete, from the answers of the tasks that made its parts."""
        ply = len(self.records)
        entries = [part["entry"] for part in merged]
        files = [open_rows(self.store.part(ply, number), entry["digest"]) for number, entry in enumerate(entries)]
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
            "cpu": cpu + sum(answer["cpu"] for answer in merged),
        }
        record = PlyRecord.make(content)
        self.check_made(record)
        self.store.commit("ply", record)
        return record

    # -- what is impossible ------------------------------------------------------------

    def _check_found(self) -> None:
        """Find the plies that an earlier run has made whole, and possible."""
        for record in self.records:
            files = self.store.check_parts(record)
            if np.array(record.material, dtype=object).shape != self.tools.material:
                self._contradict(record.ply, "its material is that of another board")
            for file in files:
                codes = None if file.header.codes is None else file.header.codes[:3]
                if (file.header.words, codes) != (self.words, self.tools.codes):
                    raise damaged(file.path, "its rows are those of another board")
            if not record.ply and not np.array_equal(
                read_rows(files[0], 0, LEAVES), start_rows(self.variant, self.full)
            ):
                raise damaged(files[0].path, "it does not hold the start")
        self._check_bound(self.records)

    def check_made(self, record: SealedPly) -> None:
        """Raise unless a ply has all children that are due, and no more positions than the board."""
        before = self.records[: record.ply]
        # The expansion counts parents and moves once more, by another way than the survey of the ply before.
        if before and (fault := contradiction(before[-1], record.expanded, record.children)) is not None:
            self._contradict(record.ply, fault)
        self._check_bound([*before, record])

    def _check_bound(self, records: Sequence[SealedPly]) -> None:
        """Find that no more positions of any material and side to move were reached than the board has."""
        if (fault := excess(self.variant, records)) is not None:
            self._contradict(records[-1].ply, fault)

    def _contradict(self, ply: int, what: str) -> NoReturn:
        if self._found:
            raise TooLargeError(
                f"store {str(self.store.root)!r}: ply {ply}: {what}; a file of the store has been changed: "
                "`tablut census verify` with that folder says which; or count again into another folder"
            )
        raise ArithmeticError(f"{self.variant.name}: ply {ply}: {what}")

    # -- space and time ----------------------------------------------------------------

    def space_needed(self, last: SealedPly | None = None) -> tuple[int, int]:
        """Return how many bytes the next ply needs: for children, and an estimate for its positions.

        The number of children is exact. What part of them is new is taken from the last
        ply, which overestimates it where the search slows down.
        """
        last = self.records[-1] if last is None else last
        ratio = last.classes / last.children if last.children else 1.0
        return last.next_children * 8 * self.words, int(last.next_children * ratio) * self.tools.row_bytes

    def work_room(self) -> tuple[int, str]:
        """Return how many bytes the next ply may take, and which parameter or folder says so.

        What an interrupted run has left of that ply counts as free, so that the answer is the same when it goes on.
        """
        kept = sum(entry.bytes for record in self.records for entry in record.parts)
        free = self.store.free_bytes() + self.store.taken_bytes() - kept
        if (limit := self.limits.disk_bytes) is None or limit - kept > free:
            return free, f"store {str(self.store.root)!r}"
        return limit - kept, "disk"

    def announce(self, text: str, children: int, seconds: float = 0.0) -> None:
        """Say what is begun, and how long it takes."""
        before, cpu = sum(record.children for record in self.records), sum(record.cpu for record in self.records)
        known = before >= _RATE_CHILDREN
        if known:
            seconds += children * cpu / before
        seconds /= self.scheduler.workers
        if self.limits.memory is not None:
            text += f"; memory up to {size_text(self.limits.memory)}"
        self.observer.announce(f"{text}; about {duration(seconds)}" if known else text, seconds)

    def share_of(self, total: int, most: int) -> int:
        """Return how many children or rows a task gets: enough tasks for all workers, none too small or too large."""
        return max(1, min(most, max(_LEAST_ROWS, -(-total // (4 * self.scheduler.workers)))))

    def _passes_needed(self, passes: int) -> int:
        """Return in how many passes the next ply is made, as many as are wished for where nothing limits the disk."""
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
                f"ply {ply} takes about {size_text(positions)} for its positions alone, and "
                f"{size_text(max(0, room))} are left",
                parameter=limited,
                remedy=f"allow {size_text(enough)} of `disk`, or let `count` count ply {ply} without storing it",
            )
        return max(passes, min(LEAVES, -(-int(_SLACK * children) // (room - positions))))

    def _check_space(self, passes: int) -> None:
        ply, due = len(self.records), self.records[-1].next_children
        children, positions = self.space_needed()
        stored, limit = self.store.taken_bytes(), self.limits.disk_bytes
        made = f", in {passes} passes of {size_text(children // passes)}" if passes > 1 else ""
        # Each pass expands all parents; that is about half of the work.
        self.announce(
            f"ply {ply}: {due:,} children, {size_text(children)}{made}; positions about "
            f"{size_text(positions)}; stored so far {size_text(stored)}",
            due + due * (passes - 1) // 2,
        )
        need = children // passes + positions
        if limit is not None and not self.limits.in_passes and need + stored > limit:
            raise TooLargeError(
                f"ply {ply} needs about {size_text(need + stored)}, more than the memory of {size_text(limit)}",
                remedy="store it in a folder with `store`, or give more `memory` or `disk`",
            )
        room, _ = self.work_room()
        if limit is None and need > room:
            raise TooLargeError(
                f"store {str(self.store.root)!r}: ply {ply} needs about {size_text(need)}, "
                f"{size_text(self.store.free_bytes())} are free; the plies so far are kept",
                remedy="free some space and run it again, or let it be made in passes within `disk`",
            )


# -- a ply in the making -------------------------------------------------------------------

Range = TypeVar("Range")


class Making(ABC, Generic[Range]):
    """A ply in the making: in passes, each over a range of what its positions hash to."""

    def __init__(self, search: CensusSearch, ply: int) -> None:
        self.search, self.ply, self.store = search, ply, search.store
        self.before = search.records[ply - 1]
        self.parents = self.store.parts(self.before)
        self.known = tuple(
            source for record in search.records[ply % 2 : ply : 2] for source in self.store.parts(record)
        )
        self.passes: list[Range] = []
        self.cpu = 0.0

    def make(self) -> list[dict[str, Any]]:
        """Make all passes; return the answers of the tasks that made what is kept."""
        answers: list[dict[str, Any]] = []
        for number, some in enumerate(self.passes):
            step = f"pass {number + 1} of {len(self.passes)}, " if len(self.passes) > 1 else ""
            answers += self.make_pass(some, step, last=number == len(self.passes) - 1)
        return answers

    @abstractmethod
    def make_pass(self, some: Range, step: str, *, last: bool) -> list[dict[str, Any]]:
        """Make what a pass is to make and is not there yet; unless it is the last, remove what that was made from."""

    def owner(self, number: int, plan: str) -> Owner:
        """Return what the file of a task belongs to."""
        return Owner(self.store.game, self.search.full, self.ply, number, plan)

    def run(self, step: str, tasks: Sequence[RowTask], total: int, done: str = "children") -> list[dict[str, Any]]:
        """Run tasks, which answer with how much they dealt."""
        observer = self.search.observer
        observer.begin(f"ply {self.ply} {step}", total)
        return self.search.scheduler.run(run_task, tasks, lambda answer: observer.advance(answer[done]))


class _StoredPly(Making[list[tuple[int, int]]]):
    """The next ply, to be stored; a pass has the ranges of leaves that are merged at once."""

    def __init__(self, search: CensusSearch, passes: int) -> None:
        super().__init__(search, len(search.records))
        total = -(-self.before.next_children // passes)
        # No larger than need be: memory that is touched for the first time costs the system more than the
        # merge. No smaller: every merge opens every file of children.
        fits = search.limits.merge_children
        # Leaves are alike but for chance, which tells where they are few.
        most = min(max(1, int(fits / _SLACK - 20 * fits**0.5)), max(_MERGE_ROWS, -(-total // _MERGES)))
        self.passes = leaf_ranges(passes, max(1, -(-total // search.share_of(total, most))))
        digests = [[source.digest for source in some] for some in (self.parents, self.known)]
        self.plan = plan_name("passes", self.before.digest, digests, self.passes)
        self.counters: list[int] | None = None
        self._parts = 0

    def make_pass(self, some: list[tuple[int, int]], step: str, *, last: bool) -> list[dict[str, Any]]:
        owners = [self.owner(self._parts + place, self.plan) for place in range(len(some))]
        self._parts += len(some)
        targets = [self.store.part(self.ply, owner.number) for owner in owners]
        done = [answer for answer in map(answer_of, targets, owners) if answer is not None]
        # The counters of the parents come from a pass that is made in this run: the last one is, if no other.
        if len(done) == len(some) and not (last and self.counters is None):
            return done
        children = self._expand(step, (some[0][0], some[-1][1]))
        self._check_memory(children, some)
        tasks = [
            MergeTask(self.search.variant, owner, target, children, self.known, *leaves)
            for owner, leaves, target in zip(owners, some, targets, strict=True)
        ]
        total = sum(open_rows(*source).header.rows for source in children)
        merged = self.run(f"{step}merge", tasks, total)
        if not last:
            self.store.drop_work()
        return merged

    def _expand(self, step: str, leaves: tuple[int, int]) -> tuple[RowSource, ...]:
        """Write the children in some leaves, and add up the counters of all parents."""
        tasks = self._expand_tasks(leaves)
        share = self.before.next_children * (leaves[1] - leaves[0]) // LEAVES
        answers = self.run(f"{step}expand", tasks, share)
        counters = [sum(answer["counters"][place] for answer in answers) for place in range(EXPANSION_COUNTERS)]
        if self.counters not in (None, counters):
            raise ArithmeticError(
                f"ply {self.ply}: {step}expanded {counters} where the one before expanded {self.counters}"
            )
        self.counters = counters
        self.cpu += sum(answer["cpu"] for answer in answers)
        return tuple(
            RowSource(task.target, answer["entry"]["digest"]) for task, answer in zip(tasks, answers, strict=True)
        )

    def _expand_tasks(self, leaves: tuple[int, int]) -> list[ExpandTask]:
        search = self.search
        share = search.share_of(self.before.next_children, search.limits.expand_children)
        plan = plan_name("expand", self.before.digest, [source.digest for source in self.parents], share, leaves)
        pieces = []
        for source in self.parents:
            moves = open_rows(*source).moves
            for first, last in cut(moves, share):
                load = int(moves[first:last].sum())
                # One leaf too large for a task is shared out by rows; a quarter of slack for uneven rows.
                shares = -(-load * 5 // (share * 4)) if load > share else 1
                pieces += [(source, first, last, number, shares) for number in range(shares if load else 0)]
        # Where every position is immobile, one task finds no children.
        pieces = pieces or [(self.parents[0], 0, LEAVES, 0, 1)]
        return [
            ExpandTask(
                search.variant,
                self.owner(number, plan),
                self.store.work_file(self.ply, "children", number),
                *piece,
                leaves,
            )
            for number, piece in enumerate(pieces)
        ]

    def _check_memory(self, children: Sequence[RowSource], ranges: Sequence[tuple[int, int]]) -> None:
        counts, most = leaf_counts(open_rows(*source) for source in children), self.search.limits.merge_children
        largest = max(int(counts[first:last].sum()) for first, last in ranges)
        if largest > most:
            raise TooLargeError(
                f"some leaves of ply {self.ply} have {largest:,} children, and {most:,} fit into memory",
                parameter="memory",
                remedy="give more, or more `passes`",
            )


def leaf_ranges(passes: int, merges: int) -> list[list[tuple[int, int]]]:
    """Return the ranges of leaves that are merged at once, pass by pass."""
    found = []
    for number in range(passes):
        first, last = (LEAVES * place // passes for place in (number, number + 1))
        count = min(merges, last - first)
        ends = [first + (last - first) * place // count for place in range(count + 1)]
        found.append(list(pairwise(ends)))
    return found
