"""Rows by bin: the parents of a ply in the order of their children's families, and what is compared with them.

A task reads a share of a part and writes the rows whose bins a pass counts, ordered by bin
(`counting.census.families`). Of the ply that is expanded these are the parents, and as further
rows the children to which a capture leads, of other families than the rest; of an earlier ply they
are its positions. Files of sorted rows live as long as their pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counting.census.buckets import scatter
from counting.census.expansion import DECIDED, EXPANSION_COUNTERS, expand_captures
from counting.census.families import bin_sums, family_bins, family_marks
from counting.census.files import open_rows, read_rows
from counting.census.row_head import BINS, Owner, RowFile, Source, damaged, plan_name
from counting.census.row_writing import write_rows
from counting.census.tasks import done_before, rows_room
from counting.census.toolbox import Toolbox, toolbox
from tablut.engine.packing import count_children
from tablut.running.clocks import thread_clock

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tablut.variants import Variant

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
