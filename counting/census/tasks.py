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
from counting.census.row_writing import write_rows
from counting.census.survey import COUNTERS, survey
from counting.census.toolbox import Toolbox, toolbox
from tablut.compilation import thread_clock
from tablut.engine.packing import count_children

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from counting.census.row_head import RowFile, Source
    from tablut.variants import Variant

__all__ = [
    "ExpandTask",
    "MergeTask",
    "answer_of",
    "cleared",
    "done_before",
    "leaf_tables",
    "rows_room",
    "run_expand",
    "run_merge",
    "write_part",
]


@dataclass(frozen=True)
class ExpandTask:
    """Expand the undecided rows of some leaves of a part.

    Attributes
    ----------
    variant, full
        Which census.
    owner : Owner
        What the file of children belongs to.
    source : Source
        The part.
    first, last : int
        Its leaves, ``last`` excluded.
    share, shares : int
        Of the rows of these leaves the ``share``-th of so many equal parts.
    target : Path
        The file of children.
    leaves : tuple of int, optional
        Only children of these leaves are written: the first, and the end.
    """

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
    """Unite the children in some leaves, without duplicates and without what earlier plies have.

    Attributes
    ----------
    variant, full, owner, first, last, target
        As for `ExpandTask`.
    children : tuple of Source
        Files of children.
    known : tuple of Source
        Parts of the earlier plies with the same side to move.
    """

    variant: Variant
    full: bool
    owner: Owner
    children: tuple[Source, ...]
    known: tuple[Source, ...]
    first: int
    last: int
    target: Path


def done_before(target: Path, owner: Owner) -> dict[str, Any] | None:
    """Return the answer of a task that an earlier run has done.

    Parameters
    ----------
    target : Path
        The file that the task writes.
    owner : Owner
        What it must belong to.

    Returns
    -------
    dict or None
        As from `answer_of`; None if the file is missing, or of another plan.
    """
    if not target.exists():
        return None
    file = open_rows(target)
    return answer_of(file) if file.header.owner == owner else None


def answer_of(file: RowFile) -> dict[str, Any]:
    """Return what a task answers: the statistics of its file, and how the file is known again.

    Parameters
    ----------
    file : RowFile
        What the task wrote.

    Returns
    -------
    dict
        The statistics, ``cpu`` seconds, and rows, bytes and digest as ``entry``.
    """
    entry = {"rows": file.header.rows, "bytes": file.length, "digest": file.digest}
    return {**file.header.stats.model_dump(), "cpu": file.cpu, "entry": entry}


def run_expand(task: ExpandTask) -> dict[str, Any]:
    """Write the children of a share of positions in the order of their leaves.

    Parameters
    ----------
    task : ExpandTask
        What to expand, and where the children go.

    Returns
    -------
    dict
        ``children``, ``counters`` of `expand_canonical`, ``cpu`` seconds, and the ``entry`` of the file.

    Raises
    ------
    ArithmeticError
        If not every row was expanded, or with another number of children than its moves.
    InputError
        If the part is damaged.
    OutputError, MachineError
        If the file cannot be written.
    """
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
    """Write the new positions of some leaves.

    Parameters
    ----------
    task : MergeTask
        Which leaves of which files, and where the positions go.

    Returns
    -------
    dict
        ``counters`` of `survey` by name, ``material``, ``children`` read, ``next_children``, ``cpu`` seconds, and the
        ``entry`` of the file.

    Raises
    ------
    InputError
        If a file that is read is damaged.
    OutputError, MachineError
        If the file cannot be written.
    """
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
    """Survey new positions and write them.

    Parameters
    ----------
    target : Path
        The file.
    tools : Toolbox
        Of the game.
    rows : ndarray of uint64, shape (n, W)
        Distinct canonical positions in the order of leaves; the bits `FIXING` are cleared.
    index : tuple of ndarray
        Rows (int64) and hash sums (uint64) of each leaf.
    owner : Owner
        What the file belongs to.
    children : int
        From how many children the rows were sifted.
    began : float
        `thread_clock` when the task began.

    Returns
    -------
    dict
        The answer of the task, as `run_merge` gives it.
    """
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
    """Return an uninitialised array of this thread; see `room`.

    Parameters
    ----------
    name : str
        Which memory.
    rows, width : int
        How many rows, of how many words.

    Returns
    -------
    ndarray of uint64, shape (rows, width)
        Valid until the same name is asked for again.
    """
    return room(name, 8 * rows * width).view(np.uint64).reshape(rows, width)


def leaf_tables(rows: NDArray[np.uint64], starts: NDArray[np.int64]) -> LeafTables:
    """Return rows of consecutive leaves with empty tables, for `mark_unique`.

    Parameters
    ----------
    rows : ndarray of uint64, shape (n, W)
        In the order of leaves.
    starts : ndarray of int64, shape (L + 1,)
        Where each leaf begins, and n.

    Returns
    -------
    LeafTables
        The tables are memory of this thread.
    """
    bits = table_bits(np.diff(starts))
    sizes = np.left_shift(1, bits)
    slots = cleared("slots", int(sizes.sum()), np.dtype(np.uint32))
    return LeafTables(rows, starts, LEAF_BITS, bits, np.cumsum(sizes) - sizes, slots)


def cleared(name: str, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of zeros of this thread; see `room`.

    Parameters
    ----------
    name : str
        Which memory.
    count : int
        How many.
    kind : dtype
        Of which type.

    Returns
    -------
    ndarray
        Valid until the same name is asked for again.
    """
    array = room(name, count * kind.itemsize).view(kind)
    array.fill(0)
    return array


def _name_the_damaged(files: list[RowFile], first: int, last: int) -> None:
    """Find the file whose rows differ from its checksums, by reading all once more."""
    for file in files:
        read_rows(file, first, last)
    raise ArithmeticError(f"leaves {first} to {last}: the checksums of the files fit, their sum does not")
