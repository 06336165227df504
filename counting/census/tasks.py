"""The tasks that make a ply: they expand or sort some of the parents, and merge or count the children.

A ply that is stored is computed by `ExpandTask`, which writes children sorted by leaf, and `MergeTask`, which merges
the children in a range of leaves. A ply that is counted but not stored is computed by `SortTask` and `TallyTask`.
`SortTask` writes parents sorted by their children's bin. Children reached by a capture have different bins, and are
written to a second set of sections in the same file. `TallyTask` generates all children in a range of bins in memory
and keeps only their counts.

A task reads and writes row files (`counting.census.rows`). Only paths and counts are passed between tasks. A task can
therefore run in a thread of this process or on a cluster worker with access to the same folder.
"""

from __future__ import annotations

import threading
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
    CAPTURES,
    ExpansionStats,
    PartStats,
    RowFile,
    TallyStats,
    leaf_counts,
    open_rows,
    put_index,
    put_part_rows,
    put_rows,
    read_rows,
    spans,
)
from counting.census.toolbox import COUNTERS, Toolbox, survey, toolbox
from tablut.engine.packing import count_children
from tablut.variants import Variant
from tablut.work.clocks import thread_clock
from tablut.work.direct import Buffer
from tablut.work.ledger import damaged
from tablut.work.parts import Owner, PartFile, PartSource, PartWriter
from tablut.work.run import PartTask

_CAPTURES: Final = 2
"""First guess for the average number of children that a parent reaches by a capture."""


class _Scratch(threading.local):
    """The buffers that a thread's tasks reuse."""

    def __init__(self) -> None:
        self.parents, self.block = Buffer(), Buffer()
        self.children, self.rows = Buffer(), Buffer()
        self.leaves, self.slots, self.dead = Buffer(), Buffer(), Buffer()


_scratch = _Scratch()


@dataclass(frozen=True)
class RowTask(PartTask):
    """A task that writes a row file, given the rules, the file's path and its owner."""

    variant: Variant
    full: bool
    owner: Owner
    target: Path

    @property
    def tools(self) -> Toolbox:
        """The tables for kernels."""
        return toolbox(self.variant, self.full)

    def opened(self) -> PartFile[Any]:
        """Open the finished file, and check its index."""
        return open_rows(self.target).part


# -- shared functions ----------------------------------------------------------------------


def undecided(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the rows that are not marked as decided."""
    found: NDArray[np.uint64] = rows[(rows[:, -1] >> np.uint64(DECIDED)) == 0]
    return found


def _ordered(
    rows: NDArray[np.uint64], into: Buffer, leaves: tuple[int, int] = (0, LEAVES)
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]:
    """Return the rows in a range of leaves, sorted by leaf, and each leaf's count and hash sum."""
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
    """A filter that removes duplicates and the rows of earlier plies. The rows must be sorted by leaf."""

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
        """Drop the rows in the given leaves that occur in ``known``. Return the hash sums of ``known`` by leaf."""
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
) -> PartFile[Any]:
    """Survey new positions and write them as a part or, if ``tally`` is given, write only their tally."""
    counts, sums = index
    moves = np.zeros_like(counts)
    counters, material = np.zeros(len(COUNTERS), dtype=np.int64), np.zeros(tools.material, dtype=np.int64)
    survey(tools.tables, tools.space, tools.order, rows, counts, moves, counters, material)
    codes = None
    if tools.codes is not None and tally is None:
        # All positions of a ply have the same side to move. For an empty part, the value is arbitrary.
        at = 2 * tools.tables.cells + (tools.tables.cells - 1).bit_length()
        codes = (*tools.codes, int(rows[0, at >> 6] >> np.uint64(at & 63)) & 1 if len(rows) else 0)
    stats = {
        "words": rows.shape[1],
        "codes": codes,
        "children": children,
        "counters": dict(zip(COUNTERS, counters.tolist(), strict=True)),
        "material": tuple(tuple(map(tuple, kind)) for kind in material.tolist()),
        "next_children": int(moves.sum()),
    }
    with PartWriter(target) as writer:
        if tally is None:
            put_part_rows(writer, rows, (counts, sums, moves), codes)
        else:
            put_index(writer, (counts, sums, moves))
        found = PartStats(**stats) if tally is None else TallyStats(**stats, **tally)
        return writer.finish(owner, found, cpu=thread_clock() - began, lasting=True)


# -- a ply that is stored ------------------------------------------------------------------


@dataclass(frozen=True)
class ExpandTask(RowTask):
    """A task that expands the undecided rows in a range of a part's leaves.

    It writes the children that belong to a given range of leaves.
    """

    source: PartSource
    first: int
    last: int
    share: int
    shares: int
    leaves: tuple[int, int]

    def make(self, began: float) -> PartFile[Any]:
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
        with PartWriter(self.target) as writer:
            put_rows(writer, ordered, (counts, sums, np.zeros_like(counts)))
            return writer.finish(self.owner, _stats(tools, len(ordered), counters), cpu=thread_clock() - began)


def _stats(tools: Toolbox, children: int, counters: NDArray[np.int64]) -> ExpansionStats:
    """Return the statistics of a file of children or sorted rows."""
    found: Any = tuple(counters.tolist())
    return ExpansionStats(words=tools.tables.words, codes=None, children=children, counters=found)


@dataclass(frozen=True)
class MergeTask(RowTask):
    """A task that merges the children in a range of leaves, dropping duplicates and positions from earlier plies."""

    children: tuple[PartSource, ...]
    known: tuple[PartSource, ...]
    first: int
    last: int

    def make(self, began: float) -> PartFile[Any]:
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
        return write_part(self.target, tools, kept, index, self.owner, children=len(rows), began=began)


def _name_the_damaged(files: list[RowFile], first: int, last: int) -> None:
    """Read all files again, and raise an error that names the first file whose rows do not match its checksums."""
    for file in files:
        read_rows(file, first, last)
    raise ArithmeticError(f"leaves {first} to {last}: the checksums of the files are right, but their sum is not")


# -- a ply that is counted -----------------------------------------------------------------


@dataclass(frozen=True)
class SortTask(RowTask):
    """A task that sorts the rows in a range of a part's leaves by bin.

    If ``known`` is set, the rows are sorted by their own bins. Otherwise they are parents, and are sorted by the bin of
    those children that are reached without a capture. In this case, the children reached by a capture are sorted by
    their own bins and written to the same file.
    """

    source: PartSource
    first: int
    last: int
    bins: tuple[int, int]
    known: bool

    @property
    def rows(self) -> int:
        """The number of rows that are read."""
        return int(open_rows(*self.source).counts[self.first : self.last].sum())

    def make(self, began: float) -> PartFile[Any]:
        """Write the rows sorted by bin."""
        tools = self.tools
        rows = read_rows(open_rows(*self.source), self.first, self.last, into=_scratch.parents)
        load = 0
        with PartWriter(self.target) as writer:
            if not self.known:
                rows = undecided(rows)
                children = captures_of(tools, rows)
                self._put(writer, children, bins_of_rows(tools, children), which=CAPTURES)
            load = self._put(writer, rows, bins_of_rows(tools, rows, of_children=not self.known), which="")
            stats = _stats(tools, load, np.zeros(EXPANSION_COUNTERS, dtype=np.int64))
            return writer.finish(self.owner, stats, cpu=thread_clock() - began)

    def _put(self, writer: PartWriter, rows: NDArray[np.uint64], bins: NDArray[np.uint16], *, which: str) -> int:
        """Write the rows in the task's bins.

        For parents, also write the number of moves in each bin, and return the sum of these numbers. Otherwise return
        0.
        """
        inside = (bins >= self.bins[0]) & (bins < self.bins[1])
        if not inside.all():
            rows, bins = rows[inside], bins[inside]
        moves, load = np.zeros(BINS, dtype=np.int64), 0
        if not self.known and which != CAPTURES:
            each = np.empty(len(rows), dtype=np.int64)
            load = int(count_children(self.tools.tables, np.ascontiguousarray(rows), each))
            np.add.at(moves, bins, each)
        counts = np.bincount(bins, minlength=BINS).astype(np.int64)
        ordered, sums = _scratch.rows.rows(len(rows), rows.shape[1]), np.empty(BINS, dtype=np.uint64)
        scatter(np.ascontiguousarray(rows), bins, np.cumsum(counts) - counts, ordered)
        bin_sums(ordered, counts, sums)
        put_rows(writer, ordered, (counts, sums, moves), which)
        return load


@dataclass(frozen=True)
class TallyTask(RowTask):
    """A task that counts the new positions in a range of bins."""

    parents: tuple[PartSource, ...]
    known: tuple[PartSource, ...]
    bins: tuple[int, int]

    def make(self, began: float) -> PartFile[Any]:
        """Write the tally."""
        children, expanded = _children(self.tools, self)
        rows, counts, sums = _ordered(children, _scratch.rows)
        sieve = _Sieve(rows, counts)
        if not np.array_equal(sums, sieve.sums):
            raise ArithmeticError(f"{self.target}: rows changed while they were sorted")
        for source in self.known:
            # By now the children have been sorted into another buffer, so this one can be reused.
            known, known_counts, _ = _ordered(_read_bins(open_rows(*source), self.bins), _scratch.children)
            sieve.drop(known, known_counts, slice(0, LEAVES))
        index = np.zeros_like(counts), np.zeros_like(sums)
        tally = {"bins": self.bins, "expanded": tuple(expanded.tolist())}
        kept, count = sieve.kept(*index), len(rows)
        return write_part(self.target, self.tools, kept, index, self.owner, children=count, began=began, tally=tally)


def captures_of(tools: Toolbox, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the children that are reached from the given positions by a capture."""
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


def bins_of_rows(tools: Toolbox, rows: NDArray[np.uint64], *, of_children: bool = False) -> NDArray[np.uint16]:
    """Return the bins of rows, or of the children that are reached from them without a capture."""
    bins = np.empty(len(rows), dtype=np.uint16)
    family_bins(tools.tables, tools.marks, tools.order, int(of_children), rows, bins)
    return bins


def _read_bins(file: RowFile, bins: tuple[int, int]) -> NDArray[np.uint64]:
    """Return the sorted rows in a range of bins after checking their hash sums."""
    first, last = bins
    rows = read_rows(file, first, last, check=False, into=_scratch.block)
    sums = np.empty(last - first, dtype=np.uint64)
    bin_sums(rows, file.counts[first:last], sums)
    if not np.array_equal(sums, file.sums[first:last]):
        number = first + int(np.flatnonzero(sums != file.sums[first:last])[0])
        raise damaged(file.path, f"the checksum of the rows of bin {number} is wrong")
    return rows


def bin_loads(parents: Sequence[PartSource]) -> NDArray[np.int64]:
    """Return an upper bound on the number of children in each bin.

    The bound is the number of all moves of the bin's parents, plus the number of children reached by a capture.
    """
    loads = leaf_counts(open_rows(*source, which=CAPTURES) for source in parents)
    for source in parents:
        loads += open_rows(*source).moves
    return loads


def _children(tools: Toolbox, task: TallyTask) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return all children in a task's bins, and the expansion counters."""
    most = int(bin_loads(task.parents)[slice(*task.bins)].sum())
    children = _scratch.children.rows(most + 4 * tools.tables.cells, tools.tables.words)
    expanded, found = np.zeros(EXPANSION_COUNTERS, dtype=np.int64), 0
    for source in task.parents:
        rows = _read_bins(open_rows(*source), task.bins)
        handled, more = tools.expand(rows, children[found:], expanded, captures=False)
        if handled != len(rows):
            raise ArithmeticError(f"{source.path}: {handled} of {len(rows)} parents have more moves than were counted")
        found += more
        rows = _read_bins(open_rows(*source, which=CAPTURES), task.bins)
        children[found : found + len(rows)] = rows
        found += len(rows)
    return children[:found], expanded
