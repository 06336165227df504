"""How a ply is cut into tasks: shares of the positions to expand, ranges of leaves to merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counting.census.files import open_rows
from counting.census.limits import TooLargeError
from counting.census.row_head import LEAF_BITS, Owner, plan_name
from counting.census.tasks import ExpandTask, MergeTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counting.census.row_head import Source
    from counting.census.search import Search

_LEAST_ROWS = 1 << 18
_MERGE_ROWS = 1 << 25
_MERGES = 32


def cut(loads: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Cut leaves into ranges of at most ``most`` rows, unless a single leaf has more."""
    ranges = []
    first, load = 0, 0
    for leaf, count in enumerate(loads.tolist()):
        if load and load + count > most:
            ranges.append((first, leaf))
            first, load = leaf, 0
        load += count
    ranges.append((first, len(loads)))
    return ranges


def share_of(search: Search, total: int, most: int) -> int:
    """Return how many children or rows a task gets: enough tasks for all workers, none too small or too large."""
    return max(1, min(most, max(_LEAST_ROWS, -(-total // (4 * search.scheduler.workers)))))


def plan_expansion(search: Search, ply: int) -> tuple[list[ExpandTask], str]:
    """Return the tasks that expand the last ply."""
    before = search.records[-1]
    share = share_of(search, before.next_children, search.limits.expand_children)
    sources = search.store.parts(before)
    plan = plan_name("expand", before.digest, [source.digest for source in sources], share)
    tasks: list[ExpandTask] = []
    for source in sources:
        moves = open_rows(*source).moves
        for first, last in cut(moves, share):
            load = int(moves[first:last].sum())
            # One leaf too large for a task is shared out by rows; a quarter of slack for uneven rows.
            shares = -(-load * 5 // (share * 4)) if load > share else 1
            for number in range(shares if load else 0):
                tasks.append(
                    _expansion(search, source, _owner(search, ply, len(tasks), plan), (first, last), (number, shares))
                )
    if not tasks:  # every position is immobile: one task that finds no children
        tasks.append(_expansion(search, sources[0], _owner(search, ply, 0, plan), (0, 1 << LEAF_BITS), (0, 1)))
    return tasks, plan


def _expansion(
    search: Search, source: Source, owner: Owner, leaves: tuple[int, int], share: tuple[int, int]
) -> ExpandTask:
    target = search.store.work_file(owner.ply, "children", owner.number)
    return ExpandTask(search.variant, search.full, owner, source, *leaves, *share, target)


def _owner(search: Search, ply: int, number: int, plan: str) -> Owner:
    return Owner(search.store.game, search.full, ply, number, plan)


def plan_merge(search: Search, ply: int, plan: str, children: list[Source]) -> list[MergeTask]:
    """Return the tasks that make a ply from all its children."""
    counts = np.zeros(1 << LEAF_BITS, dtype=np.int64)
    for source in children:
        counts += open_rows(*source).counts
    most = search.limits.merge_children
    if (largest := int(counts.max())) > most:
        per_child = 8 * search.words + 14
        raise TooLargeError(
            f"--memory: a leaf of ply {ply} has {largest:,} children; each task needs "
            f"{(largest * per_child >> 20) + 200:,} MiB more, one a thread"
        )
    # No larger than need be: memory that is touched for the first time costs the system more than the
    # merge. No smaller: every merge opens every file of children.
    total = int(counts.sum())
    share = share_of(search, total, min(most, max(_MERGE_ROWS, -(-total // _MERGES))))
    ranges = cut(counts, share)
    known = tuple(source for record in search.records[ply % 2 :: 2] for source in search.store.parts(record))
    digests = [[source.digest for source in sources] for sources in (children, known)]
    name = plan_name("merge", plan, digests, ranges)
    return [
        MergeTask(
            search.variant,
            search.full,
            _owner(search, ply, number, name),
            tuple(children),
            known,
            first,
            last,
            search.store.part(ply, number),
        )
        for number, (first, last) in enumerate(ranges)
    ]
