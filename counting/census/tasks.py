"""The coarse tasks of a ply: expand or sort a share of the parents, then merge or count their children.

A ply that is stored is made by `ExpandTask`, which writes children sorted by leaf, and `MergeTask`, which merges the
children of some leaves. A ply that is counted but not stored is made by `SortTask` and `TallyTask`. `SortTask` writes
parents sorted by the family of their children. It writes their children by capture, whose families differ, to a second
file. `TallyTask` generates all children of some bins in memory and keeps only their counts.

A task reads and writes row files. Only paths and counts are passed between tasks, so they can run in
a thread of this process or on a worker of a cluster that has access to the same folder. A task is skipped if its file
already exists and belongs to the same plan. This is how a census resumes after being killed.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from counting.census.buckets import (
    BINS,
    LEAVES,
    LeafTables,
    bin_sums,
    by_leaf,
    compact,
    copy_leaves,
    family_bins,
    family_marks,
    mark_known,
    mark_unique,
    scatter,
    table_bits,
)
from counting.census.expansion import (
    DECIDED,
    EXPANSION_COUNTERS,
)
from counting.census.rows import (
    Buffer,
    Owner,
    RowFile,
    RowSource,
    damaged,
    leaf_counts,
    open_rows,
    plan_name,
    read_rows,
    spans,
    write_rows,
)
from counting.census.toolbox import COUNTERS, Toolbox, survey, toolbox
from tablut.engine.packing import count_children
from tablut.variants import Variant
from tablut.work.clocks import thread_clock

_CAPTURES: Final = 2
"""First guess for the average number of children by capture of a parent."""


class _Scratch(threading.local):
    """Memory that the tasks of a thread reuse."""

    def __init__(self) -> None:
        self.parents, self.block = Buffer(), Buffer()
        self.children, self.rows = Buffer(), Buffer()
        self.leaves, self.slots, self.dead = Buffer(), Buffer(), Buffer()


_scratch = _Scratch()


@dataclass(frozen=True)
class RowTask(ABC):
    """A task that writes a row file, given the rules, the file's path and its owner."""

    variant: Variant
    owner: Owner
    target: Path

    @property
    def tools(self) -> Toolbox:
        """The tables for kernels."""
        return toolbox(self.variant, self.owner.full)

    def answer(self) -> dict[str, Any] | None:
        """Return the statistics and the entry of the file, or None if it has not been written."""
        return answer_of(self.target, self.owner)

    @abstractmethod
    def make(self, began: float) -> None:
        """Write the file. ``began`` is the time of the thread's clock at the start of the task."""


def run_task(task: RowTask) -> dict[str, Any]:
    """Run a task, unless an earlier run has done so, and return its result with its processor time."""
    if (done := task.answer()) is not None:
        return done
    began = thread_clock()
    task.make(began)
    answer = task.answer()
    if answer is None:
        raise ArithmeticError(f"{task.target}: was written but no longer exists")
    # The time stored in the file does not include writing the file.
    return {**answer, "cpu": thread_clock() - began}


def answer_of(target: Path, owner: Owner) -> dict[str, Any] | None:
    """Return the result of a task, the statistics of its file and the entry for a record; None if there is no file."""
    if not target.exists() or (file := open_rows(target)).header.owner != owner:
        return None
    entry = {"bytes": file.length, "digest": file.digest}
    return {**file.header.stats.model_dump(), "cpu": file.cpu, "entry": entry}


# -- shared functions ----------------------------------------------------------------------


def undecided(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the rows that are not marked as decided."""
    found: NDArray[np.uint64] = rows[(rows[:, -1] >> np.uint64(DECIDED)) == 0]
    return found


def _ordered(
    rows: NDArray[np.uint64], into: Buffer, leaves: tuple[int, int] = (0, LEAVES)
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]:
    """Return the rows of a range of leaves, sorted by leaf, with the count and the hash sum of each leaf."""
    leaf_of, counts, sums = by_leaf(rows, _scratch.leaves.bytes(2 * len(rows)).view(np.uint16))
    if leaves != (0, LEAVES):
        kept = (leaf_of >= leaves[0]) & (leaf_of < leaves[1])
        rows, leaf_of = rows[kept], leaf_of[kept]
        for array in (counts, sums):
            array[: leaves[0]] = array[leaves[1] :] = 0
    ordered = into.rows(len(rows), rows.shape[1])
    scatter(rows, leaf_of, np.cumsum(counts) - counts, ordered)
    return ordered, counts, sums


class _Sieve:
    """A filter that keeps each row once, and only if no earlier ply contains it. Rows are sorted by leaf."""

    def __init__(self, rows: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        starts = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        bits = table_bits(counts)
        sizes = np.left_shift(1, bits)
        slots = _scratch.slots.zeros(int(sizes.sum()), np.uint32)
        self._leaves = LeafTables(rows, starts, bits, np.cumsum(sizes) - sizes, slots)
        self._unique, self.sums = np.empty_like(counts), np.empty(len(counts), dtype=np.uint64)
        mark_unique(self._leaves, self._unique, self.sums)
        self._dead = _scratch.dead.zeros(len(rows), np.uint8)

    def drop(self, known: NDArray[np.uint64], counts: NDArray[np.int64], leaves: slice) -> NDArray[np.uint64]:
        """Drop the rows of some leaves that are already known; return the hash sums of the dropped rows by leaf."""
        sums = np.empty(len(counts), dtype=np.uint64)
        mark_known(known, counts, self._leaves.part(leaves), self._dead, sums)
        return sums

    def kept(self, counts: NDArray[np.int64], sums: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the remaining rows, and write their counts and hash sums by leaf to ``counts`` and ``sums``."""
        rows: NDArray[np.uint64] = self._leaves.rows
        count = compact(rows, self._leaves.starts, self._unique, self._dead, counts, sums)
        return rows[:count]


def write_part(
    target: Path,
    tools: Toolbox,
    rows: NDArray[np.uint64],
    index: tuple[NDArray[np.int64], NDArray[np.uint64]],
    owner: Owner,
    *,
    children: int,
    began: float,
    tally: dict[str, Any] | None = None,
) -> None:
    """Survey new positions and write them as a part or, if ``tally`` is given, write only their tally."""
    counts, sums = index
    moves = np.zeros_like(counts)
    counters, material = np.zeros(len(COUNTERS), dtype=np.int64), np.zeros(tools.material, dtype=np.int64)
    survey(tools.tables, tools.space, tools.order, rows, counts, moves, counters, material)
    stats = {
        "children": children,
        "counters": dict(zip(COUNTERS, counters.tolist(), strict=True)),
        "material": material.tolist(),
        "next_children": int(moves.sum()),
        **({} if tally is None else tally),
    }
    codes = None
    if tally is not None:
        rows = rows[:0]
    elif tools.codes is not None:
        # All positions of a ply have the same side to move; for an empty part the value is arbitrary.
        at = 2 * tools.tables.cells + (tools.tables.cells - 1).bit_length()
        codes = (*tools.codes, int(rows[0, at >> 6] >> np.uint64(at & 63)) & 1 if len(rows) else 0)
    kind = "part" if tally is None else "tally"
    write_rows(target, rows, (counts, sums, moves), owner, stats, cpu=thread_clock() - began, codes=codes, kind=kind)


# -- a ply that is stored ------------------------------------------------------------------


@dataclass(frozen=True)
class ExpandTask(RowTask):
    """A task that expands the undecided rows in some leaves of a part, and keeps the children in a range of leaves."""

    source: RowSource
    first: int
    last: int
    share: int
    shares: int
    leaves: tuple[int, int]

    def make(self, began: float) -> None:
        """Write the children, sorted by leaf."""
        tools, file = self.tools, open_rows(*self.source)
        rows = read_rows(file, self.first, self.last, into=_scratch.parents)
        bounds = [len(rows) * number // self.shares for number in (self.share, self.share + 1)]
        rows = rows[bounds[0] : bounds[1]]
        total = int(file.moves[self.first : self.last].sum())
        if self.shares > 1:
            movable = undecided(rows)
            total = int(count_children(tools.tables, movable, np.empty(len(movable), dtype=np.int64)))
        children = _scratch.children.rows(total + 4 * tools.tables.cells, tools.tables.words)
        counters = np.zeros(EXPANSION_COUNTERS, dtype=np.int64)
        handled, found = tools.expand(rows, children, counters)
        if handled != len(rows) or found != total:
            raise damaged(self.source.path, f"its rows have {found:,} children, but its index gives {total:,}")
        ordered, counts, sums = _ordered(children[:found], _scratch.rows, self.leaves)
        stats, index = {"children": len(ordered), "counters": counters.tolist()}, (counts, sums, np.zeros_like(counts))
        write_rows(self.target, ordered, index, self.owner, stats, cpu=thread_clock() - began)


@dataclass(frozen=True)
class MergeTask(RowTask):
    """A task that merges the children in some leaves, without duplicates and without positions of earlier plies."""

    children: tuple[RowSource, ...]
    known: tuple[RowSource, ...]
    first: int
    last: int

    def make(self, began: float) -> None:
        """Write the new positions."""
        tools, first, last = self.tools, self.first, self.last
        files = [open_rows(*source) for source in self.children]
        counts = leaf_counts(files, first, last)
        rows = _scratch.rows.rows(int(counts.sum()), tools.tables.words)
        cursors = np.cumsum(counts) - counts
        for file in files:
            for begin, end in spans(file, first, last):
                children = read_rows(file, begin, end, check=False, into=_scratch.block)
                copy_leaves(children, file.counts[begin:end], cursors[begin - first : end - first], rows)
        sieve = _Sieve(rows, counts)
        if not np.array_equal(np.sum([file.sums[first:last] for file in files], axis=0, dtype=np.uint64), sieve.sums):
            _name_the_damaged(files, first, last)
        for source in self.known:
            part = open_rows(*source)
            for begin, end in spans(part, first, last):
                known = read_rows(part, begin, end, check=False, into=_scratch.block)
                sums = sieve.drop(known, part.counts[begin:end], slice(begin - first, end - first))
                if not np.array_equal(part.sums[begin:end], sums):
                    _name_the_damaged([part], begin, end)
        index = np.zeros(LEAVES, dtype=np.int64), np.zeros(LEAVES, dtype=np.uint64)
        kept = sieve.kept(index[0][first:last], index[1][first:last])
        write_part(self.target, tools, kept, index, self.owner, children=len(rows), began=began)


def _name_the_damaged(files: list[RowFile], first: int, last: int) -> None:
    """Read all files again, and raise an error that names the file whose rows do not match its checksums."""
    for file in files:
        read_rows(file, first, last)
    raise ArithmeticError(f"leaves {first} to {last}: the checksums of the files are right, but their sum is not")


# -- a ply that is counted -----------------------------------------------------------------


@dataclass(frozen=True)
class SortTask(RowTask):
    """A task that sorts the rows in some leaves of a part by bin.

    If ``known`` is set, the rows are sorted by their own bin. Otherwise they are parents, and are sorted by the bin of
    their children by moves without a capture; the children by capture are written to a second file, sorted by their own
    bin.
    """

    source: RowSource
    first: int
    last: int
    bins: tuple[int, int]
    known: bool

    @property
    def rows(self) -> int:
        """The number of rows that are read."""
        return int(open_rows(*self.source).counts[self.first : self.last].sum())

    @property
    def files(self) -> list[tuple[Path, Owner]]:
        """The files that are written, with their owners. Their plans differ, so that they cannot be confused."""
        plan = plan_name("captures", self.owner.plan)
        captures = self.target.with_name(f"captures-{self.owner.number:05}.rows"), self.owner._replace(plan=plan)
        return [(self.target, self.owner)] + [captures] * (not self.known)

    def answer(self) -> dict[str, Any] | None:
        """Return the result with the entries of all files, or None unless all files have been written."""
        answers = [answer for answer in (answer_of(*file) for file in self.files) if answer is not None]
        if len(answers) < len(self.files):
            return None
        return {**answers[0], "read": self.rows, "entries": [answer["entry"] for answer in answers]}

    def make(self, began: float) -> None:
        """Write the rows sorted by bin. The file of children by capture is written first."""
        tools, marks = self.tools, family_marks(self.variant, self.owner.full)
        rows = read_rows(open_rows(*self.source), self.first, self.last, into=_scratch.parents)
        if not self.known:
            rows = undecided(rows)
            children = captures_of(tools, rows)
            self._write(-1, children, bins_of_rows(tools, marks, children), began)
        self._write(0, rows, bins_of_rows(tools, marks, rows, of_children=not self.known), began)

    def _write(self, number: int, rows: NDArray[np.uint64], bins: NDArray[np.uint16], began: float) -> None:
        """Write the rows in the bins of the task and, for parents, their numbers of moves, by bin and in total."""
        which = (bins >= self.bins[0]) & (bins < self.bins[1])
        if not which.all():
            rows, bins = rows[which], bins[which]
        moves, load = np.zeros(BINS, dtype=np.int64), 0
        if not self.known and number == 0:
            each = np.empty(len(rows), dtype=np.int64)
            load = int(count_children(self.tools.tables, np.ascontiguousarray(rows), each))
            np.add.at(moves, bins, each)
        counts = np.bincount(bins, minlength=BINS).astype(np.int64)
        ordered, sums = _scratch.rows.rows(len(rows), rows.shape[1]), np.empty(BINS, dtype=np.uint64)
        scatter(np.ascontiguousarray(rows), bins, np.cumsum(counts) - counts, ordered)
        bin_sums(ordered, counts, sums)
        (target, owner), stats = self.files[number], {"children": load, "counters": [0] * EXPANSION_COUNTERS}
        write_rows(target, ordered, (counts, sums, moves), owner, stats, cpu=thread_clock() - began, kind="sorted")


@dataclass(frozen=True)
class TallyTask(RowTask):
    """A task that counts the new positions in a range of bins."""

    parents: tuple[RowSource, ...]
    captures: tuple[RowSource, ...]
    known: tuple[RowSource, ...]
    bins: tuple[int, int]

    def make(self, began: float) -> None:
        """Write the tally."""
        children, expanded = _children(self.tools, self)
        rows, counts, sums = _ordered(children, _scratch.rows)
        sieve = _Sieve(rows, counts)
        if not np.array_equal(sums, sieve.sums):
            raise ArithmeticError(f"{self.target}: rows changed while they were sorted")
        for source in self.known:
            # The children are sorted into another buffer by now, so this one can be reused.
            known, known_counts, _ = _ordered(_read_bins(source, self.bins), _scratch.children)
            sieve.drop(known, known_counts, slice(0, LEAVES))
        index, tally = (np.zeros_like(counts), np.zeros_like(sums)), {"bins": self.bins, "expanded": expanded.tolist()}
        kept = sieve.kept(*index)
        write_part(self.target, self.tools, kept, index, self.owner, children=len(rows), began=began, tally=tally)


def captures_of(tools: Toolbox, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the children of positions by moves that capture."""
    width, slack = tools.tables.words, 4 * tools.tables.cells
    space, found, done = _CAPTURES * len(rows) + slack, 0, 0
    children = np.empty((space, width), dtype=np.uint64)
    counters = np.zeros(EXPANSION_COUNTERS, dtype=np.int64)
    while done < len(rows):
        handled, more = tools.expand(rows[done:], children[found:], counters, quiet=False)
        done, found = done + handled, found + more
        if done < len(rows):
            wider = np.empty((2 * len(children), width), dtype=np.uint64)
            wider[:found] = children[:found]
            children = wider
    return children[:found]


def bins_of_rows(
    tools: Toolbox, marks: NDArray[np.uint64], rows: NDArray[np.uint64], *, of_children: bool = False
) -> NDArray[np.uint16]:
    """Return the bins of rows, or of their children by moves without a capture."""
    bins = np.empty(len(rows), dtype=np.uint16)
    family_bins(tools.tables, marks, tools.order, int(of_children), rows, bins)
    return bins


def _read_bins(source: RowSource, bins: tuple[int, int]) -> NDArray[np.uint64]:
    """Return the sorted rows of a range of bins after checking their hash sums."""
    file, (first, last) = open_rows(*source), bins
    rows = read_rows(file, first, last, check=False, into=_scratch.block)
    sums = np.empty(last - first, dtype=np.uint64)
    bin_sums(rows, file.counts[first:last], sums)
    if not np.array_equal(sums, file.sums[first:last]):
        number = first + int(np.flatnonzero(sums != file.sums[first:last])[0])
        raise damaged(file.path, f"the checksum of the rows of bin {number} is wrong")
    return rows


def bin_loads(parents: Sequence[RowSource], captures: Sequence[RowSource]) -> NDArray[np.int64]:
    """Return the maximum number of children of each bin: all moves of its parents, plus its children by capture."""
    loads = leaf_counts(open_rows(*source) for source in captures)
    for source in parents:
        loads += open_rows(*source).moves
    return loads


def _children(tools: Toolbox, task: TallyTask) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return all children in the bins of a task, and the counters of their parents."""
    most = int(bin_loads(task.parents, task.captures)[slice(*task.bins)].sum())
    children = _scratch.children.rows(most + 4 * tools.tables.cells, tools.tables.words)
    expanded, found = np.zeros(EXPANSION_COUNTERS, dtype=np.int64), 0
    for source in task.parents:
        rows = _read_bins(source, task.bins)
        handled, more = tools.expand(rows, children[found:], expanded, captures=False)
        if handled != len(rows):
            raise ArithmeticError(f"{source.path}: {handled} of {len(rows)} parents have more moves than were counted")
        found += more
    for source in task.captures:
        rows = _read_bins(source, task.bins)
        children[found : found + len(rows)] = rows
        found += len(rows)
    return children[:found], expanded
