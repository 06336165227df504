"""The two coarse tasks of a ply: expand a share of the positions, merge a share of the leaves.

Both read row files and write one. Only paths and counts pass between them, so they run in
a thread here or on a worker of a cluster that sees the same folder. A task whose file is
there already, from the same plan, is done: so a killed census goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counting.census.buckets import (
    BINS,
    LEAF_BITS,
    LeafTables,
    bin_sums,
    compact,
    copy_leaves,
    family_bins,
    family_marks,
    leaf_sums,
    mark_known,
    mark_unique,
    scatter,
    table_bits,
)
from counting.census.expansion import (
    DECIDED,
    EXPANSION_COUNTERS,
    expand_canonical,
    expand_captures,
    expand_leaves,
    expand_quiet,
)
from counting.census.rows import (
    Owner,
    RowFile,
    Source,
    damaged,
    open_rows,
    plan_name,
    read_rows,
    room,
    spans,
    write_rows,
)
from counting.census.toolbox import COUNTERS, Toolbox, survey, toolbox
from tablut.engine.packing import count_children
from tablut.running.clocks import thread_clock

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from counting.census.rows import RowFile, Source
    from tablut.variants import Variant


@dataclass(frozen=True)
class ExpandTask:
    """Expand the undecided rows of some leaves of a part."""

    variant: Variant
    full: bool
    owner: Owner
    source: Source
    first: int
    last: int
    share: int
    shares: int
    target: Path
    leaves: tuple[int, int] | None = None


@dataclass(frozen=True)
class MergeTask:
    """Unite the children in some leaves, without duplicates and without what earlier plies have."""

    variant: Variant
    full: bool
    owner: Owner
    children: tuple[Source, ...]
    known: tuple[Source, ...]
    first: int
    last: int
    target: Path


def done_before(target: Path, owner: Owner) -> dict[str, Any] | None:
    """Return the answer of a task that an earlier run has done."""
    if not target.exists():
        return None
    file = open_rows(target)
    return answer_of(file) if file.header.owner == owner else None


def answer_of(file: RowFile) -> dict[str, Any]:
    """Return what a task answers: the statistics of its file, and how the file is known again."""
    entry = {"rows": file.header.rows, "bytes": file.length, "digest": file.digest}
    return {**file.header.stats.model_dump(), "cpu": file.cpu, "entry": entry}


def run_expand(task: ExpandTask) -> dict[str, Any]:
    """Write the children of a share of positions in the order of their leaves."""
    if (done := done_before(task.target, task.owner)) is not None:
        return done
    began = thread_clock()
    tools = toolbox(task.variant, task.full)
    file = open_rows(*task.source)
    rows = read_rows(file, task.first, task.last, name="parents")
    bounds = [len(rows) * number // task.shares for number in (task.share, task.share + 1)]
    rows = rows[bounds[0] : bounds[1]]
    total = int(file.moves[task.first : task.last].sum())
    if task.shares > 1:
        undecided = rows[(rows[:, -1] >> np.uint64(DECIDED)) == 0]
        total = int(count_children(tools.tables, undecided, np.empty(len(undecided), dtype=np.int64)))
    children = rows_room("children", total + 4 * tools.tables.cells, tools.tables.words)
    counters = np.zeros(EXPANSION_COUNTERS, dtype=np.int64)
    if task.leaves is None:
        handled, found = expand_canonical(tools.expander, rows, children, counters)
    else:
        handled, found = expand_leaves(tools.expander, rows, children, counters, (LEAF_BITS, *task.leaves))
    if handled != len(rows) or (found != total if task.leaves is None else found > total):
        raise ArithmeticError(
            f"{task.source.path}: {found} children of {handled} rows where {total} of {len(rows)} were due"
        )
    leaves = len(file.counts)
    counts, sums = np.zeros(leaves, dtype=np.int64), np.zeros(leaves, dtype=np.uint64)
    leaf_bits = leaves.bit_length() - 1
    children = children[:found]
    leaf_of = room("leaves", 2 * found).view(np.uint16)
    leaf_sums(children, leaf_bits, leaf_of, counts, sums)
    ordered = rows_room("rows", found, tools.tables.words)
    scatter(children, leaf_of, np.cumsum(counts) - counts, ordered)
    stats = {"children": found, "counters": counters.tolist()}
    index = (counts, sums, np.zeros_like(counts))
    write_rows(task.target, ordered, index, task.owner, stats, cpu=thread_clock() - began)
    # The time in the file leaves out its own writing; the time that is reported does not.
    return {**answer_of(open_rows(task.target)), "cpu": thread_clock() - began}


def run_merge(task: MergeTask) -> dict[str, Any]:
    """Write the new positions of some leaves."""
    if (done := done_before(task.target, task.owner)) is not None:
        return done
    began = thread_clock()
    tools = toolbox(task.variant, task.full)
    width, first, last = tools.tables.words, task.first, task.last
    files = [open_rows(*source) for source in task.children]
    counts: NDArray[np.int64] = np.sum([file.counts[first:last] for file in files], axis=0, dtype=np.int64)
    sums: NDArray[np.uint64] = np.sum([file.sums[first:last] for file in files], axis=0, dtype=np.uint64)
    starts = np.zeros(last - first + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    rows = rows_room("rows", int(starts[-1]), width)
    cursors = starts[:-1].copy()
    for file in files:
        for begin, end in spans(file, first, last):
            local = slice(begin - first, end - first)
            children = read_rows(file, begin, end, check=False, name="block")
            copy_leaves(children, file.counts[begin:end], cursors[local], rows)

    unique, found_sums = np.empty_like(counts), np.empty_like(sums)
    block = leaf_tables(rows, starts)
    mark_unique(block, unique, found_sums)
    if not np.array_equal(sums, found_sums):
        _name_the_damaged(files, first, last)
    dead = cleared("dead", len(rows), np.dtype(np.uint8))
    for source in task.known:
        part = open_rows(*source)
        for begin, end in spans(part, first, last):
            known = read_rows(part, begin, end, check=False, name="block")
            local, known_sums = slice(begin - first, end - first), np.empty(end - begin, dtype=np.uint64)
            mark_known(known, part.counts[begin:end], block.part(local), dead, known_sums)
            if not np.array_equal(part.sums[begin:end], known_sums):
                _name_the_damaged([part], begin, end)
    leaves = 1 << LEAF_BITS
    part_counts, part_sums = np.zeros(leaves, dtype=np.int64), np.zeros(leaves, dtype=np.uint64)
    kept = compact(rows, starts, unique, dead, part_counts[first:last], part_sums[first:last])
    return write_part(
        task.target, tools, rows[:kept], (part_counts, part_sums), task.owner, children=len(rows), began=began
    )


def write_part(
    target: Path,
    tools: Toolbox,
    rows: NDArray[np.uint64],
    index: tuple[NDArray[np.int64], NDArray[np.uint64]],
    owner: Owner,
    *,
    children: int,
    began: float,
) -> dict[str, Any]:
    """Survey new positions and write them."""
    counts, sums = index
    moves = np.zeros_like(counts)
    counters, material = np.zeros(len(COUNTERS), dtype=np.int64), np.zeros(tools.material, dtype=np.int64)
    survey(tools.tables, tools.space, tools.order, rows, counts, moves, counters, material)
    stats = {
        "children": children,
        "counters": dict(zip(COUNTERS, counters.tolist(), strict=True)),
        "material": material.tolist(),
        "next_children": int(moves.sum()),
    }
    codes = None
    if tools.codes is not None:
        # A ply has one side to move; of no rows it does not matter.
        at = 2 * tools.tables.cells + (tools.tables.cells - 1).bit_length()
        side = int(rows[0, at >> 6] >> np.uint64(at & 63)) & 1 if len(rows) else 0
        codes = (*tools.codes, side)
    cpu = thread_clock() - began
    write_rows(target, rows, (counts, sums, moves), owner, stats, cpu=cpu, codes=codes, kind="part")
    return {**answer_of(open_rows(target)), "cpu": thread_clock() - began}


def rows_room(name: str, rows: int, width: int) -> NDArray[np.uint64]:
    """Return an uninitialised array of this thread; see `room`."""
    return room(name, 8 * rows * width).view(np.uint64).reshape(rows, width)


def leaf_tables(rows: NDArray[np.uint64], starts: NDArray[np.int64]) -> LeafTables:
    """Return rows of consecutive leaves with empty tables, for `mark_unique`."""
    bits = table_bits(np.diff(starts))
    sizes = np.left_shift(1, bits)
    slots = cleared("slots", int(sizes.sum()), np.dtype(np.uint32))
    return LeafTables(rows, starts, LEAF_BITS, bits, np.cumsum(sizes) - sizes, slots)


def cleared(name: str, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of zeros of this thread; see `room`."""
    array = room(name, count * kind.itemsize).view(kind)
    array.fill(0)
    return array


def _name_the_damaged(files: list[RowFile], first: int, last: int) -> None:
    """Find the file whose rows differ from its checksums, by reading all once more."""
    for file in files:
        read_rows(file, first, last)
    raise ArithmeticError(f"leaves {first} to {last}: the checksums of the files fit, their sum does not")


# -- rows by bin: the parents of a ply in the order of their children's families, and what is compared with them


_CAPTURES: Final = 2
"""Children by capture that a parent has, at first guess."""


@dataclass(frozen=True)
class SortTask:
    """Order the rows of some leaves of a part by bin."""

    variant: Variant
    full: bool
    owner: Owner
    source: Source
    first: int
    last: int
    bins: tuple[int, int]
    target: Path
    captures: Path | None


def run_sort(task: SortTask) -> dict[str, Any]:
    """Write rows by bin."""
    if (done := _done(task)) is not None:
        return done
    began = thread_clock()
    tools, marks = toolbox(task.variant, task.full), family_marks(task.variant, task.full)
    file = open_rows(*task.source)
    rows = read_rows(file, task.first, task.last, name="parents")
    moves = np.zeros(BINS, dtype=np.int64)
    if task.captures is not None:
        rows = rows[(rows[:, -1] >> np.uint64(DECIDED)) == 0]
        children = captures_of(tools, rows)
        bins = _bins(tools, marks, children, turned=False)
        _write(
            task.captures, _captures_owner(task), *_wanted(children, bins, task.bins), moves, 0, thread_clock() - began
        )
    bins = _bins(tools, marks, rows, turned=task.captures is not None)
    rows, bins = _wanted(rows, bins, task.bins)
    load = 0
    if task.captures is not None:
        each = np.empty(len(rows), dtype=np.int64)
        load = int(count_children(tools.tables, rows, each))
        np.add.at(moves, bins, each)
    _write(task.target, task.owner, rows, bins, moves, load, thread_clock() - began)
    answer = _done(task)
    if answer is None:
        raise ArithmeticError(f"{task.target}: was written and is not there")
    # Only the second file says how long both took.
    return {**answer, "cpu": thread_clock() - began}


def _captures_owner(task: SortTask) -> Owner:
    """Return what the children by capture belong to: a plan of their own, so that no file stands for the other."""
    return task.owner._replace(plan=plan_name("captures", task.owner.plan))


def _done(task: SortTask) -> dict[str, Any] | None:
    """Return the answer of a task that an earlier run has done."""
    answer = done_before(task.target, task.owner)
    captures = None if task.captures is None else done_before(task.captures, _captures_owner(task))
    if answer is None or (captures is None) != (task.captures is None):
        return None
    read = int(open_rows(*task.source).counts[task.first : task.last].sum())
    return {**answer, "read": read, "captures": None if captures is None else captures["entry"]}


def captures_of(tools: Toolbox, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the children by capture of positions."""
    width, slack = tools.tables.words, 4 * tools.tables.cells
    space, found, done = _CAPTURES * len(rows) + slack, 0, 0
    children = np.empty((space, width), dtype=np.uint64)
    counters = np.zeros(EXPANSION_COUNTERS, dtype=np.int64)
    while done < len(rows):
        handled, more = expand_captures(tools.expander, rows[done:], children[found:], counters)
        done, found = done + handled, found + more
        if done < len(rows):
            wider = np.empty((2 * len(children), width), dtype=np.uint64)
            wider[:found] = children[:found]
            children = wider
    return children[:found]


def _bins(tools: Toolbox, marks: NDArray[np.uint64], rows: NDArray[np.uint64], *, turned: bool) -> NDArray[np.uint16]:
    bins = np.empty(len(rows), dtype=np.uint16)
    family_bins(tools.tables, marks, tools.order, int(turned), rows, bins)
    return bins


def _wanted(
    rows: NDArray[np.uint64], bins: NDArray[np.uint16], some: tuple[int, int]
) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Return the rows of some bins, and their bins."""
    if some == (0, BINS):
        return np.ascontiguousarray(rows), bins
    which = (bins >= some[0]) & (bins < some[1])
    return rows[which], bins[which]


def _write(
    target: Path,
    owner: Owner,
    rows: NDArray[np.uint64],
    bins: NDArray[np.uint16],
    moves: NDArray[np.int64],
    load: int,
    cpu: float,
) -> None:
    """Write rows in the order of their bins."""
    counts = np.bincount(bins, minlength=BINS).astype(np.int64)
    ordered, sums = rows_room("rows", len(rows), rows.shape[1]), np.empty(BINS, dtype=np.uint64)
    scatter(rows, bins, np.cumsum(counts) - counts, ordered)
    bin_sums(ordered, counts, sums)
    stats = {"children": load, "counters": [0] * EXPANSION_COUNTERS}
    write_rows(target, ordered, (counts, sums, moves), owner, stats, cpu=cpu, kind="sorted")


def read_bins(source: Source, first: int, last: int) -> NDArray[np.uint64]:
    """Return the sorted rows of some bins, found to have the right hash sums."""
    file = open_rows(*source)
    rows = read_rows(file, first, last, check=False, name="block")
    sums = np.empty(last - first, dtype=np.uint64)
    bin_sums(rows, file.counts[first:last], sums)
    if not np.array_equal(sums, file.sums[first:last]):
        number = first + int(np.flatnonzero(sums != file.sums[first:last])[0])
        raise damaged(file.path, f"the rows of bin {number} have another checksum")
    return rows


def bin_loads(parents: list[RowFile], captures: list[RowFile]) -> NDArray[np.int64]:
    """Return how many children the bins have at most: all moves of their parents, and their children by capture."""
    loads = np.zeros(BINS, dtype=np.int64)
    for file in parents:
        loads += file.moves
    for file in captures:
        loads += file.counts
    return loads


# -- what new positions some bins have: the task that counts them in memory and stores none


_LEAVES = 1 << LEAF_BITS


@dataclass(frozen=True)
class TallyTask:
    """Count the new positions of some bins."""

    variant: Variant
    full: bool
    owner: Owner
    parents: tuple[Source, ...]
    captures: tuple[Source, ...]
    known: tuple[Source, ...]
    bins: tuple[int, int]
    target: Path


def run_tally(task: TallyTask) -> dict[str, Any]:
    """Count the new positions of some bins and write the tally."""
    if (done := done_before(task.target, task.owner)) is not None:
        return done
    began = thread_clock()
    tools = toolbox(task.variant, task.full)
    children, expanded = _children(tools, task)
    total = len(children)
    rows, counts, sums = _ordered("rows", children)
    starts = np.concatenate(([0], np.cumsum(counts)))
    unique, found_sums = np.empty_like(counts), np.empty_like(sums)
    block = leaf_tables(rows, starts)
    mark_unique(block, unique, found_sums)
    if not np.array_equal(sums, found_sums):
        raise ArithmeticError(f"{task.target}: rows changed while they were put in order")
    dead = cleared("dead", total, np.dtype(np.uint8))
    for source in task.known:
        # Children lie in order by now: what held them is free.
        known, known_counts, _ = _ordered("children", read_bins(source, *task.bins))
        mark_known(known, known_counts, block, dead, np.empty(_LEAVES, dtype=np.uint64))
    new_counts, new_sums = np.zeros_like(counts), np.zeros_like(sums)
    kept = compact(rows, starts, unique, dead, new_counts, new_sums)
    moves, counters = np.zeros_like(counts), np.zeros(len(COUNTERS), dtype=np.int64)
    material = np.zeros(tools.material, dtype=np.int64)
    survey(tools.tables, tools.space, tools.order, rows[:kept], new_counts, moves, counters, material)
    stats = {
        "children": total,
        "counters": dict(zip(COUNTERS, counters.tolist(), strict=True)),
        "material": material.tolist(),
        "next_children": int(moves.sum()),
        "bins": task.bins,
        "expanded": expanded.tolist(),
    }
    index = (new_counts, new_sums, moves)
    write_rows(task.target, rows[:0], index, task.owner, stats, cpu=thread_clock() - began, kind="tally")
    return {**answer_of(open_rows(task.target)), "cpu": thread_clock() - began}


def _children(tools: Toolbox, task: TallyTask) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return all children in some bins, and the counters of their parents."""
    first, last = task.bins
    parents = [open_rows(*source) for source in task.parents]
    captures = [open_rows(*source) for source in task.captures]
    most = int(bin_loads(parents, captures)[first:last].sum())
    children = rows_room("children", most + 4 * tools.tables.cells, tools.tables.words)
    expanded, found = np.zeros(EXPANSION_COUNTERS, dtype=np.int64), 0
    for source in task.parents:
        rows = read_bins(source, first, last)
        handled, more = expand_quiet(tools.expander, rows, children[found:], expanded)
        if handled != len(rows):
            raise ArithmeticError(f"{source.path}: {handled} of {len(rows)} parents have more moves than were counted")
        found += more
    for source in task.captures:
        rows = read_bins(source, first, last)
        children[found : found + len(rows)] = rows
        found += len(rows)
    return children[:found], expanded


def _ordered(name: str, rows: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]:
    """Return rows in the order of leaves, in memory of that name, with number and hash sum of each leaf."""
    counts, sums = np.zeros(_LEAVES, dtype=np.int64), np.zeros(_LEAVES, dtype=np.uint64)
    leaf_of = room("leaves", 2 * len(rows)).view(np.uint16)
    leaf_sums(rows, LEAF_BITS, leaf_of, counts, sums)
    ordered = rows_room(name, len(rows), rows.shape[1])
    scatter(rows, leaf_of, np.cumsum(counts) - counts, ordered)
    return ordered, counts, sums
