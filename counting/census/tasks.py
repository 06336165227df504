"""The two coarse tasks of a ply: expand a share of the positions, merge a share of the leaves.

Both read row files and write one. Only paths and counts pass between them, so they run in
a thread here or on a worker of a cluster that sees the same folder. A task whose file is
there already, from the same plan, is done: so a killed census goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from counting.census.buckets import (
    LeafTables,
    compact,
    copy_leaves,
    leaf_sums,
    mark_known,
    mark_unique,
    scatter,
    table_bits,
)
from counting.census.expansion import DECIDED, EXPANSION_COUNTERS, expand_canonical, expand_leaves
from counting.census.files import open_rows, read_rows, spans
from counting.census.memory import room
from counting.census.records import LEAF_BITS, Owner
from counting.census.row_head import damaged
from counting.census.row_writing import write_rows
from counting.census.survey import COUNTERS, survey
from counting.census.toolbox import Toolbox, toolbox
from tablut.engine.packing import count_children
from tablut.running.clocks import thread_clock

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from counting.census.row_head import RowFile, Source
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
        raise damaged(task.source.path, f"its rows have {found:,} children where its index says {total:,}")
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
