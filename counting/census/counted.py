"""A ply that is counted and not stored: family by family, in as many passes as the disk asks for.

A pass takes a range of bins (`counting.census.buckets`). It sorts the parents of these bins out of the
ply before, and counts their children in memory, some bins at a time
(`counting.census.tasks`). A parent is read once a pass and expanded once in all, so a pass
costs little, and what goes through the disk are parents and children by capture, not
children. How many passes there are follows from a sample of the parents, the room on the
disk and what was asked for.

A tally belongs to its bins, whatever pass counted them. So a count goes on after it was killed, with another number of
passes if need be, and a part of the bins can be counted by itself.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from counting.census.buckets import BINS, LEAF_BITS, family_bins, family_marks
from counting.census.expansion import DECIDED
from counting.census.rows import Owner, Source, open_rows, plan_name, read_rows
from counting.census.search import TooLargeError, cut, share_of, size_text
from counting.census.store import (
    HUNDREDTHS,
    CountRecord,
    Hundredth,
    bins_of,
    count_sums,
    edge,
    hundredth_of,
    tally_name,
    tally_owner,
)
from counting.census.tasks import SortTask, TallyTask, bin_loads, captures_of, run_sort, run_tally
from counting.census.toolbox import toolbox
from tablut.engine.packing import count_children
from tablut.errors import InputError
from tablut.running.clocks import thread_clock
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from counting.census.rows import RowFile
    from counting.census.search import Search
    from counting.census.store import PlyRecord


class Counted(NamedTuple):
    """What `count_ply` has done."""

    record: CountRecord
    passes: int
    again: tuple[Hundredth, ...]

    @property
    def agrees(self) -> bool:
        """Whether what was counted anew is as it was."""
        return set(self.again) <= set(self.record.hundredths)


def count_ply(search: Search, ply: int, wish: CountWish) -> Counted:
    """Count a ply, or a part of it, without storing its positions."""
    return _Counting(search, ply, wish).run()


class _Counting:
    """One ply that is counted."""

    def __init__(self, search: Search, ply: int, wish: CountWish) -> None:
        self.search, self.ply, self.wish, self.store = search, ply, wish, search.store
        self.before = search.records[ply - 1]
        self.folder = self.store.count_folder(ply, again=wish.again)
        self.cpu = 0.0

    def run(self) -> Counted:
        """Count what is not counted yet, and return the record of all."""
        record = self.store.count_record(self.before)
        if record is not None:
            self.store.check_tallies(record)
        if self.wish.again and not set(range(*self.wish.hundredths)) <= _numbers(record):
            raise InputError("--again: what it names was not counted before; count it without --again first")
        self._discard()
        pending, passes = self._pending(), 0
        if pending:
            plan = plan_count(self.search, self.before, self.wish, pending)
            passes = len(plan.passes)
            self._announce(plan)
            for number, bins in enumerate(plan.passes):
                self._pass(number, passes, bins)
        found = self._whole()
        if not self.wish.again or record is None:
            return Counted(self._commit(found, record, max(1, passes)), passes, ())
        again = count_sums(found)["hundredths"]
        shutil.rmtree(self.folder)
        return Counted(record, passes, again)

    # -- what is there -----------------------------------------------------------------

    def _tallies(self) -> list[RowFile]:
        return self.store.tallies(self.ply, self.before.digest, self.folder)[0]

    def _discard(self) -> None:
        """Name and remove tallies that are damaged or belong elsewhere; their bins are counted again."""
        _, faults = self.store.tallies(self.ply, self.before.digest, self.folder)
        for fault in faults:
            self.search.observer.say(f"{fault}: counted again")
        for path in self.folder.glob("tally-*.rows") if faults else ():
            if path not in {file.path for file in self._tallies()}:
                path.unlink()

    def _pending(self) -> list[tuple[int, int]]:
        """Return the bins that are wanted and not counted, as ranges within hundredths."""
        counted = np.zeros(BINS, dtype=np.bool_)
        for file in self._tallies():
            counted[slice(*bins_of(file))] = True
        ranges = []
        for number in range(*self.wish.hundredths):
            first = edge(number)
            for end in range(edge(number) + 1, edge(number + 1) + 1):
                if counted[end - 1]:
                    if first < end - 1:
                        ranges.append((first, end - 1))
                    first = end
            if first < edge(number + 1):
                ranges.append((first, edge(number + 1)))
        return ranges

    # -- the plan ----------------------------------------------------------------------

    def _announce(self, plan: CountPlan) -> None:
        number, share = len(plan.passes), self.wish.hundredths[1] - self.wish.hundredths[0]
        some = "" if share == HUNDREDTHS else f" {share} % of"
        self.search.announce(
            f"ply {self.ply}:{some} {self.before.next_children:,} children, counted and not stored, in {number} "
            f"pass{'es' if number > 1 else ''} of at most {size_text(plan.work_bytes)} of parents on the disk",
            self.before.next_children * share // HUNDREDTHS,
            plan.seconds,
        )

    # -- one pass ----------------------------------------------------------------------

    def _pass(self, number: int, passes: int, bins: tuple[int, int]) -> None:
        """Count the bins of a pass."""
        search, pending = self.search, self._pending()
        pending = [(max(bins[0], first), min(bins[1], end)) for first, end in pending]
        pending = [some for some in pending if some[0] < some[1]]
        if not pending:
            return
        step = f"pass {number + 1} of {passes}"
        groups = {name: self._sort_tasks(name, bins) for name in ("parents", "known")}
        answers: dict[str, list[dict[str, Any]]] = {}
        for name, tasks in groups.items():
            self._forget_damaged(path for task in tasks for path in (task.target, task.captures))
            search.observer.begin(self.ply, f"{step}, sort {name}", sum(_rows(task) for task in tasks))
            answers[name] = search.scheduler.run(
                run_sort, tasks, lambda answer: search.observer.advance(answer["read"])
            )
        self.cpu += sum(answer["cpu"] for some in answers.values() for answer in some)
        sources = {
            name: tuple(
                Source(task.target, answer["entry"]["digest"]) for task, answer in zip(groups[name], some, strict=True)
            )
            for name, some in answers.items()
        }
        captures = tuple(
            Source(task.captures, answer["captures"]["digest"])
            for task, answer in zip(groups["parents"], answers["parents"], strict=True)
            if task.captures is not None
        )
        opened = [[open_rows(*source) for source in some] for some in (sources["parents"], captures)]
        loads = bin_loads(*opened)
        counts = self._tally_tasks(pending, loads, sources, captures)
        search.observer.begin(self.ply, f"{step}, count", int(sum(loads[slice(*task.bins)].sum() for task in counts)))
        search.run_tasks(run_tally, counts)
        shutil.rmtree(self.store.root / "work", ignore_errors=True)

    def _sort_tasks(self, name: str, bins: tuple[int, int]) -> list[SortTask]:
        """Return the tasks that sort the parents, or what is compared with their children."""
        search = self.search
        records = [self.before] if name == "parents" else search.records[self.ply % 2 : self.ply : 2]
        sources = [source for record in records for source in self.store.parts(record)]
        share = share_of(
            search,
            sum(record.counters["new_classes"] + record.counters["decided_classes"] for record in records),
            search.limits.sort_rows,
        )
        plan = plan_name("sort", name, self.before.digest, [source.digest for source in sources], share, bins)
        tasks: list[SortTask] = []
        for source in sources:
            for first, last in cut(open_rows(*source).counts, share):
                number = len(tasks)
                owner = Owner(self.store.game, search.full, self.ply, number, plan)
                captures = self.store.work_file(self.ply, "captures", number) if name == "parents" else None
                target = self.store.work_file(self.ply, name, number)
                tasks.append(SortTask(search.variant, search.full, owner, source, first, last, bins, target, captures))
        return tasks

    def _forget_damaged(self, paths: Iterable[Path | None]) -> None:
        """Name and remove files of an interrupted pass that are damaged; they are made again."""
        for path in paths:
            if path is None or not path.exists():
                continue
            try:
                open_rows(path)
            except InputError as error:
                self.search.observer.say(f"{error}: made again")
                path.unlink()

    def _tally_tasks(
        self,
        pending: Sequence[tuple[int, int]],
        loads: NDArray[np.int64],
        sources: dict[str, tuple[Source, ...]],
        captures: tuple[Source, ...],
    ) -> list[TallyTask]:
        """Return the tasks that count, each of bins that fit into memory together and lie in one hundredth."""
        search, most = self.search, self.search.limits.tally_children
        if (largest := int(max(loads[slice(*bins)].max() for bins in pending))) > most:
            raise too_many(search, self.ply, largest)
        share = share_of(search, int(loads.sum()), most)
        tasks = []
        for first, end in pending:
            for begin, stop in cut(loads[first:end], share):
                bins = (first + begin, first + stop)
                owner = tally_owner(self.store.game, search.full, self.ply, self.before.digest, bins)
                target = self.store.tally(self.folder, bins)
                rules = (search.variant, search.full, owner, sources["parents"], captures, sources["known"])
                tasks.append(TallyTask(*rules, bins, target))
        return tasks

    # -- the record --------------------------------------------------------------------

    def _whole(self) -> list[RowFile]:
        """Return the tallies of the hundredths that are counted to the end."""
        files, covered = self._tallies(), np.zeros(BINS, dtype=np.bool_)
        for file in files:
            covered[slice(*bins_of(file))] = True
        done = {number for number in range(HUNDREDTHS) if covered[edge(number) : edge(number + 1)].all()}
        return [file for file in files if hundredth_of(bins_of(file)) in done]

    def _commit(self, files: list[RowFile], last: CountRecord | None, passes: int) -> CountRecord:
        """Write the record of tallies, unless it is there already."""
        sums = count_sums(files)
        cpu = sum(file.cpu for file in files) + self.cpu
        if last is not None:  # what it took besides its tallies
            cpu += last.cpu - sum(open_rows(self.folder / tally_name(entry.bins)).cpu for entry in last.tallies)
        content = {
            "game": self.store.game,
            "full": self.search.full,
            "ply": self.ply,
            "before": self.before.digest,
            **sums,
            "hundredths": [each.model_dump() for each in sums["hundredths"]],
            "tallies": [{"bins": bins_of(file), "bytes": file.length, "digest": file.digest} for file in files],
            "passes": passes,
            "cpu": max(0.0, cpu),
        }
        record = CountRecord.make(content)
        if last is not None and (last.digest, last.tallies) == (record.digest, record.tallies):
            return last
        if record.whole:
            self.search.check_counted(record)
        self.store.commit_count(record)
        return record


def _numbers(record: CountRecord | None) -> set[int]:
    return set() if record is None else {each.number for each in record.hundredths}


def _rows(task: SortTask) -> int:
    return int(open_rows(*task.source).counts[task.first : task.last].sum())


# -- what is to be counted of a ply that is not stored, and in how many passes: from a sample of its parents


_SAMPLE_ROWS: Final = 200_000
_SLACK: Final = 1.15
"""By how much a pass may turn out larger than the sample says."""


@dataclass(frozen=True)
class CountWish:
    """What is to be counted of the last ply, and how."""

    hundredths: tuple[int, int] = (0, HUNDREDTHS)
    passes: int = 1
    again: bool = False

    @classmethod
    def part(cls, text: str, passes: int, *, again: bool) -> CountWish:
        """Return what the option ``--part`` asks for."""
        number, _, parts = text.partition("/")
        if not (number.isascii() and number.isdigit() and parts.isascii() and parts.isdigit()) or len(text) > 7:
            raise InputError(f"--part {excerpt(text)}: expected a part such as 1/10")
        which, of = int(number), int(parts)
        if of == 0 or HUNDREDTHS % of or not 1 <= which <= of:
            raise InputError(f"--part {excerpt(text)}: expected K/N where N divides {HUNDREDTHS} and K is from 1 to N")
        width = HUNDREDTHS // of
        return cls((width * (which - 1), width * which), passes, again)


@dataclass(frozen=True)
class CountPlan:
    """How a ply will be counted: an estimate from a sample."""

    passes: tuple[tuple[int, int], ...]
    work_bytes: int
    seconds: float


def plan_count(search: Search, before: PlyRecord, wish: CountWish, pending: Sequence[tuple[int, int]]) -> CountPlan:
    """Return in how many passes a ply is counted.

    They are cut from all bins that are wished for, counted or not, so that an interrupted pass is the same
    again and its sorted rows are found.
    """
    sample = _Sample(search, before)
    slack = 1.0 if sample.exact else _SLACK
    first, end = edge(wish.hundredths[0]), edge(wish.hundredths[1])
    loads = sample.bytes[first:end] * slack
    room, why = search.work_room()
    largest = float(loads.max())
    if largest > room:
        raise TooLargeError(
            f"{why}: ply {before.ply + 1} needs {size_text(int(largest))} at least for the parents of one bin, and "
            f"{size_text(max(0, room))} are there; give more"
        )
    children = max(float(sample.loads[slice(*bins)].max()) for bins in pending)
    if children * (0.8 if slack > 1 else 1.0) > search.limits.tally_children:
        raise too_many(search, before.ply + 1, int(children * slack), "about ")
    cuts = _cut_passes(loads, max(min(room, loads.sum() / wish.passes), largest))
    passes = [(first + begin, first + stop) for begin, stop in cuts]
    peak = max(float(loads[slice(*bins)].sum()) for bins in cuts)
    left = sum(any(one[0] < bins[1] and bins[0] < one[1] for one in pending) for bins in passes)
    # Every pass reads all parents once.
    return CountPlan(tuple(passes), int(peak), sample.seconds * left)


def too_many(search: Search, ply: int, children: int, about: str = "") -> TooLargeError:
    """Return the error for a bin whose children do not fit into memory."""
    need = search.limits.memory_for(children, search.words, search.scheduler.sharing)
    return TooLargeError(
        f"--memory: a bin of ply {ply} has {about}{children:,} children; counting it takes --memory {need >> 20}"
    )


class _Sample:
    """What a sample of the parents says: how their rows and children are spread over the bins."""

    def __init__(self, search: Search, before: PlyRecord) -> None:
        tools, marks = toolbox(search.variant, search.full), family_marks(search.variant, search.full)
        self.rows, self.loads = np.zeros(BINS), np.zeros(BINS)
        # Whole leaves of the first part: their positions are as good as drawn by lot.
        read, total = 0, before.counters["new_classes"] + before.counters["decided_classes"]
        self.seconds = 0.0
        for source in search.store.parts(before):
            file = open_rows(*source)
            ends = np.cumsum(file.counts)
            last = min(int(np.searchsorted(ends, _SAMPLE_ROWS - read)) + 1, 1 << LEAF_BITS)
            rows = read_rows(file, 0, last)
            read += len(rows)
            rows = rows[(rows[:, -1] >> np.uint64(DECIDED)) == 0]
            if len(rows):
                captures_of(tools, rows[:1])  # compiled before the clock begins
            began = thread_clock()
            captures, moves = captures_of(tools, rows), np.empty(len(rows), dtype=np.int64)
            for some, turned in ((captures, 0), (rows, 1)):
                bins = np.empty(len(some), dtype=np.uint16)
                family_bins(tools.tables, marks, tools.order, turned, some, bins)
                self.rows += np.bincount(bins, minlength=BINS)
            count_children(tools.tables, rows, moves)
            self.loads += np.bincount(bins, weights=moves, minlength=BINS)
            self.seconds += thread_clock() - began
            if read >= _SAMPLE_ROWS:
                break
        scale = total / read if read else 0.0
        self.exact = read >= total
        self.rows, self.loads, self.seconds = self.rows * scale, self.loads * scale, self.seconds * scale
        known = sum(
            record.counters["new_classes"] + record.counters["decided_classes"]
            for record in search.records[(before.ply + 1) % 2 : before.ply + 1 : 2]
        )
        self.bytes = (self.rows + known * (self.loads / max(1.0, self.loads.sum()))) * (8 * search.words)


def _cut_passes(loads: NDArray[np.float64], most: float) -> list[tuple[int, int]]:
    """Cut bins into ranges of a load of at most ``most``, but for a single bin that has more."""
    passes = []
    first, load = 0, 0.0
    for number, more in enumerate(loads.tolist()):
        if number > first and load + more > most * (1 + 1e-9):
            passes.append((first, number))
            first, load = number, 0.0
        load += more
    return [*passes, (first, len(loads))]
