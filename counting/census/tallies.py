"""What new positions some bins have: the task that counts them in memory and stores none.

All children of the families of a bin are made from its sorted parents
(`counting.census.sorting`), freed of duplicates and of what earlier plies have, counted, and
forgotten. What is left is a *tally*: the counters of the new positions, and of each leaf their number
and hash sum. Tallies of different bins add up, whatever bins were counted together, and to
what the index of a stored ply has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from counting.census.buckets import compact, leaf_sums, mark_known, mark_unique, scatter
from counting.census.expansion import EXPANSION_COUNTERS, expand_quiet
from counting.census.files import open_rows
from counting.census.memory import room
from counting.census.row_head import LEAF_BITS, Owner
from counting.census.row_writing import write_rows
from counting.census.sorting import bin_loads, read_bins
from counting.census.survey import COUNTERS, survey
from counting.census.tasks import answer_of, cleared, done_before, leaf_tables, rows_room
from counting.census.toolbox import Toolbox, toolbox
from tablut.running.clocks import thread_clock

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from counting.census.row_head import Source
    from tablut.variants import Variant

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
