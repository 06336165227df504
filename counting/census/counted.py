"""A ply that is counted and not stored: family by family, in as many passes as the disk asks for.

A pass takes a range of bins (`counting.census.families`). It sorts the parents of these bins out of the
ply before, and counts their children in memory, some bins at a time
(`counting.census.tallies`). A parent is read once a pass and expanded once in all, so a pass
costs little, and what goes through the disk are parents and children by capture, not
children. How many passes there are follows from a sample of the parents, the room on the
disk and what was asked for.

A tally belongs to its bins, whatever pass counted them. So a count goes on after it was killed, with another number of
passes if need be, and a part of the bins can be counted by itself.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counting.census.count_plan import plan_count, too_many
from counting.census.count_record import HUNDREDTHS, CountRecord, Hundredth, edge, hundredth_of
from counting.census.files import open_rows
from counting.census.limits import size_text
from counting.census.planning import cut, share_of
from counting.census.row_head import BINS, Owner, Source, plan_name
from counting.census.sorting import SortTask, bin_loads, run_sort
from counting.census.tallies import TallyTask, run_tally
from counting.census.tally_files import bins_of, count_sums, tally_name, tally_owner
from tablut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from counting.census.count_plan import CountPlan, CountWish
    from counting.census.row_head import RowFile
    from counting.census.search import Search


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
