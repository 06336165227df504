"""Count a ply without storing it, family by family, in as many passes as the disk space requires.

A pass processes a range of bins (`counting.census.buckets`). From the previous ply, the pass extracts the parents whose
children belong to these bins, sorts them by bin, and counts their children in memory, a few bins at a time
(`counting.census.tasks`). A parent is read in every pass but is expanded only once in total, so an additional pass is
cheap. Only parents and children reached by a capture are written to the disk. The number of passes depends on a sample
of the parents, the free disk space and the requested minimum.

A *tally* is a file with the counts for some bins. The tally is the same whichever pass counts the bins. A count that
was killed can therefore be resumed, even with a different number of passes, and parts of a ply can be counted
separately. These parts are measured in *hundredths*: each is a hundredth of the bins.

A pass may turn out to be too large for the disk. Its size is estimated from a sample of the parents, and a safety
margin is added unless the sample contains all parents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counting.census.buckets import BINS, LEAVES
from counting.census.census_store import (
    HUNDREDTHS,
    CountRecord,
    Hundredth,
    PlyRecord,
    bins_of,
    count_sums,
    edge,
    hundredth_of,
    tally_name,
    tally_owner,
)
from counting.census.rows import RowFile, cut, open_rows, read_rows
from counting.census.search import CensusSearch, PlyBuilder, TooLargeError
from counting.census.tasks import (
    SortTask,
    TallyTask,
    bin_loads,
    bins_of_rows,
    captures_of,
    undecided,
)
from tablut.engine.packing import count_children
from tablut.errors import InputError
from tablut.work.clocks import thread_clock
from tablut.work.files import excerpt
from tablut.work.ledger import drop
from tablut.work.parts import PartSource
from tablut.work.progress import plural, size_text
from tablut.work.run import PartResult
from tablut.work.sealed_records import DamagedError, digest_of

_SAMPLE_ROWS: Final = 200_000
_SLACK: Final = 1.15
"""Factor by which a pass may be larger than the sample predicts."""


@dataclass(frozen=True)
class CountRequest:
    """A request to count the last ply or a part of it.

    A request consists of the range of hundredths, the minimum number of passes, and a flag for repeating an earlier
    count.
    """

    hundredths: tuple[int, int] = (0, HUNDREDTHS)
    passes: int = 1
    again: bool = False

    @classmethod
    def part(cls, text: str, passes: int, *, again: bool) -> CountRequest:
        """Return the request for a part of a ply. ``K/N`` means the K-th of N equal parts."""
        found = re.fullmatch("([0-9]{1,3})/([0-9]{1,3})", text)
        which, of = (0, 0) if found is None else map(int, found.groups())
        if of == 0 or HUNDREDTHS % of or not 1 <= which <= of:
            why = f"expected K/N where N divides {HUNDREDTHS} and K is from 1 to N"
            raise InputError(why, parameter="part", value=excerpt(text))
        width = HUNDREDTHS // of
        return cls((width * (which - 1), width * which), passes, again)


class Counted(NamedTuple):
    """The results of `count_ply`."""

    record: CountRecord
    passes: int
    again: tuple[Hundredth, ...]

    @property
    def agrees(self) -> bool:
        """Whether the hundredths that were counted again have the same numbers as before."""
        return set(self.again) <= set(self.record.hundredths)


def count_ply(search: CensusSearch, ply: int, wish: CountRequest) -> Counted:
    """Count a ply, or a part of it, without storing its positions."""
    found: list[Counted] = []
    while not found:
        with search.mending.attempt(ply, search.resume):
            # If a part of an earlier ply is damaged, that ply is made again first.
            search.run(ply - 1)
            found.append(_CountedPly(search, ply, wish).count())
    return found[0]


class _CountedPly(PlyBuilder[tuple[int, int]]):
    """The process of counting one ply without storing it. A pass is given by its range of bins."""

    def __init__(self, search: CensusSearch, ply: int, wish: CountRequest) -> None:
        super().__init__(search, ply)
        self.wish = wish
        self.folder = self.store.count_folder(ply, again=wish.again)

    def count(self) -> Counted:
        """Count the bins that have not been counted yet, and return the ply's record."""
        record = self.store.count_record(self.before)
        try:
            if record is not None:
                self.store.check_tallies(record)
        except DamagedError as error:
            self.search.mending.remove(error, found=True)
            self.store.forget("count", self.ply)
            record = None
        counted = set() if record is None else {each.number for each in record.hundredths}
        if self.wish.again and not set(range(*self.wish.hundredths)) <= counted:
            remedy = "count it once without `again` first"
            raise InputError("names a part that was not counted before", parameter="again", remedy=remedy)
        if pending := self._pending():
            self._plan(pending)
            self.make()
        found = self._whole()
        if not self.wish.again or record is None:
            return Counted(self._commit(found, record), len(self.passes), ())
        again = count_sums(found)["hundredths"]
        self.store.drop_work()
        drop(self.folder)
        return Counted(record, len(self.passes), again)

    # -- tallies -----------------------------------------------------------------------

    def _counted(self) -> tuple[list[RowFile], NDArray[np.bool_]]:
        """Return the tallies, and an array that marks the bins counted in them."""
        files, bins = self.store.tallies(self.ply, self.before.digest, self.folder), np.zeros(BINS, dtype=np.bool_)
        for file in files:
            bins[slice(*bins_of(file))] = True
        return files, bins

    def _pending(self) -> list[tuple[int, int]]:
        """Return ranges of the requested bins that have not been counted yet. Each range lies within one hundredth."""
        counted, ranges = self._counted()[1], []
        for number in range(*self.wish.hundredths):
            missing = edge(number) + np.flatnonzero(~counted[edge(number) : edge(number + 1)])
            runs = np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1)
            ranges += [(int(run[0]), int(run[-1]) + 1) for run in runs if len(run)]
        return ranges

    def _whole(self) -> list[RowFile]:
        """Return the tallies for the hundredths whose bins have all been counted."""
        files, bins = self._counted()
        done = {number for number in range(HUNDREDTHS) if bins[edge(number) : edge(number + 1)].all()}
        return [file for file in files if hundredth_of(bins_of(file)) in done]

    # -- the plan ----------------------------------------------------------------------

    def _plan(self, pending: Sequence[tuple[int, int]]) -> None:
        """Divide the requested bins into passes, and report the plan.

        Bins that have already been counted are included. The passes are therefore the same after an interruption, and
        their sorted rows can be reused.
        """
        search, wish = self.search, self.wish
        sample = _Sample(search, self.before, self.ply)
        slack = 1.0 if sample.exact else _SLACK
        first, end = edge(wish.hundredths[0]), edge(wish.hundredths[1])
        loads = sample.bytes[first:end] * slack
        room, why = search.work_room()
        largest = float(loads.max())
        if largest > room:
            raise TooLargeError(
                f"ply {self.ply} needs at least {size_text(int(largest))} for the parents of one bin, but "
                f"only {size_text(max(0, room))} are available",
                parameter=why,
                remedy="allow more space",
            )
        children = max(float(sample.loads[slice(*bins)].max()) for bins in pending)
        if children * (0.8 if slack > 1 else 1.0) > search.limits.tally_children:
            raise self._too_many(int(children * slack), "about ")
        most = max(min(room, loads.sum() / wish.passes), largest)
        cuts = cut(loads.astype(np.int64), int(most))
        self.passes = [(first + begin, first + stop) for begin, stop in cuts]
        peak = max(float(loads[slice(*bins)].sum()) for bins in cuts)
        left = sum(any(one[0] < bins[1] and bins[0] < one[1] for one in pending) for bins in self.passes)
        share = wish.hundredths[1] - wish.hundredths[0]
        some = "" if share == HUNDREDTHS else f" {share} % of"
        search.announce(
            f"ply {self.ply}:{some} {self.before.next_children:,} children, counted without storing them, in "
            f"{plural(len(cuts), 'pass')} with at most {size_text(int(peak))} of parents on the disk",
            self.before.next_children * share // HUNDREDTHS,
            sample.seconds * left,  # every pass reads all parents
        )

    def _too_many(self, children: int, about: str = "") -> TooLargeError:
        """Return the error for a bin whose children do not fit into memory."""
        search = self.search
        need = search.limits.memory_for(children, search.words, search.scheduler.sharing)
        return TooLargeError(
            f"is too little for a bin of ply {self.ply}, which has {about}{children:,} children",
            parameter="memory",
            remedy=f"give it {need >> 20} MiB",
        )

    # -- one pass ----------------------------------------------------------------------

    def make_pass(self, some: tuple[int, int], step: str, *, last: bool) -> list[PartResult]:
        pending = [(max(some[0], first), min(some[1], end)) for first, end in self._pending()]
        pending = [bins for bins in pending if bins[0] < bins[1]]
        if not pending:
            return []
        parents = self._sort("parents", step, some)
        known = self._sort("known", step, some)
        tasks = self._tally_tasks(pending, bin_loads(parents), parents, known)
        total = sum(load for load, _ in tasks)
        spent = self.cpu
        tallies = self.run(f"{step}count", [task for _, task in tasks], total)
        self.cpu = spent  # the tally files record their own processor time
        if not last:
            self.store.drop_work()
        return tallies

    def _sort(self, name: str, step: str, bins: tuple[int, int]) -> tuple[PartSource, ...]:
        """Sort rows by bin: parents and their children reached by a capture, or known positions of earlier plies."""
        search, sources = self.search, self.parents if name == "parents" else self.known
        share = search.share_of(sum(open_rows(*source).rows for source in sources), search.limits.sort_rows)
        plan = digest_of(["sort", name, self.before.digest, [source.digest for source in sources], share, bins])
        cuts = [(source, leaves) for source in sources for leaves in cut(open_rows(*source).counts, share)]
        tasks = []
        for number, (source, leaves) in enumerate(cuts):
            target, owner = self.store.work_file(self.ply, name, number), self.owner(number, plan)
            tasks.append(SortTask(search.variant, search.full, owner, target, source, *leaves, bins, name == "known"))
        rows = [task.rows for task in tasks]
        answers = self.run(f"{step}sort {name}", tasks, sum(rows), lambda answer: rows[answer.number])
        return tuple(PartSource(task.target, answer.digest) for task, answer in zip(tasks, answers, strict=True))

    def _tally_tasks(
        self,
        pending: Sequence[tuple[int, int]],
        loads: NDArray[np.int64],
        parents: tuple[PartSource, ...],
        known: tuple[PartSource, ...],
    ) -> list[tuple[int, TallyTask]]:
        """Return the counting tasks and their loads.

        A task's bins lie within one hundredth, and their children fit into memory.
        """
        search, most = self.search, self.search.limits.tally_children
        if (largest := int(max(loads[slice(*bins)].max() for bins in pending))) > most:
            raise self._too_many(largest)
        share = search.share_of(int(loads.sum()), most)
        tasks = []
        for first, end in pending:
            for begin, stop in cut(loads[first:end], share):
                bins = (first + begin, first + stop)
                owner, target = tally_owner(self.ply, self.before.digest, bins), self.store.tally(self.folder, bins)
                task = TallyTask(search.variant, search.full, owner, target, parents, known, bins)
                tasks.append((int(loads[slice(*bins)].sum()), task))
        return tasks

    # -- the record --------------------------------------------------------------------

    def _commit(self, files: list[RowFile], last: CountRecord | None) -> CountRecord:
        """Write the record for the tallies, unless the store already contains the same record."""
        sums = count_sums(files)
        cpu = sum(file.part.cpu for file in files) + self.cpu
        if last is not None:  # processor time of earlier runs that is not in the tallies
            cpu += last.cpu - sum(open_rows(self.folder / tally_name(entry.bins)).part.cpu for entry in last.tallies)
        content = {
            "game": self.store.game,
            "full": self.search.full,
            "ply": self.ply,
            "before": self.before.digest,
            **sums,
            "hundredths": [each.model_dump() for each in sums["hundredths"]],
            "tallies": [{"bins": bins_of(file), **file.entry} for file in files],
            "passes": max(1, len(self.passes)),
            "cpu": max(0.0, cpu),
        }
        record = CountRecord.make(content)
        if last is not None and (last.digest, last.tallies) == (record.digest, record.tallies):
            return last
        if record.whole:
            self.search.check_made(record)
        self.store.commit("count", record)
        return record


class _Sample:
    """A sample of the parents, from which the distribution of rows and children over the bins is estimated."""

    def __init__(self, search: CensusSearch, before: PlyRecord, ply: int) -> None:
        tools = search.tools
        rows_in, self.loads = np.zeros(BINS), np.zeros(BINS)
        # Take whole leaves from the first parts. A row's leaf is determined by its hash, so these rows are as good as a
        # random sample.
        read, self.seconds = 0, 0.0
        for source in search.store.parts(before):
            file = open_rows(*source)
            ends = np.cumsum(file.counts)
            last = min(int(np.searchsorted(ends, _SAMPLE_ROWS - read)) + 1, LEAVES)
            rows = read_rows(file, 0, last)
            read += len(rows)
            rows = undecided(rows)
            if len(rows):
                captures_of(tools, rows[:1])  # compile the kernel before timing it
            began = thread_clock()
            captures, moves = captures_of(tools, rows), np.empty(len(rows), dtype=np.int64)
            rows_in += np.bincount(bins_of_rows(tools, captures), minlength=BINS)
            bins = bins_of_rows(tools, rows, of_children=True)
            rows_in += np.bincount(bins, minlength=BINS)
            count_children(tools.tables, rows, moves)
            self.loads += np.bincount(bins, weights=moves, minlength=BINS)
            self.seconds += thread_clock() - began
            if read >= _SAMPLE_ROWS:
                break
        scale = before.classes / read if read else 0.0
        self.exact = read >= before.classes
        rows_in, self.loads, self.seconds = rows_in * scale, self.loads * scale, self.seconds * scale
        known = sum(record.classes for record in search.records[ply % 2 : ply : 2])
        self.bytes = (rows_in + known * (self.loads / max(1.0, self.loads.sum()))) * (8 * search.words)
