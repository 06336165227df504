"""A ply that is stored although its children do not fit on the disk: made in passes over ranges of leaves.

Each pass expands all parents once more, keeps the children in its leaves only, merges them
into parts of the ply, and removes them. A child outside is dropped as soon as its hash is known. The
parts are those of a ply made at once, cut at other leaves, so the digest is the same.

All ranges are fixed before the first pass: a part is known again without the children that it was
made from. So a killed census goes on with the pass in which it was.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from counting.census.expansion import EXPANSION_COUNTERS
from counting.census.files import open_rows
from counting.census.limits import TooLargeError, size_text
from counting.census.planning import plan_expansion, share_of
from counting.census.row_head import LEAF_BITS, Owner, Source, plan_name
from counting.census.tasks import MergeTask, done_before, run_expand, run_merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counting.census.search import Search

_LEAVES = 1 << LEAF_BITS
_SLACK = 1.1
"""By how much a range of leaves may have more children than its share."""


def passes_needed(search: Search, passes: int) -> int:
    """Return in how many passes the next ply is made, 1 where nothing limits the disk."""
    if not search.limits.in_passes:
        return passes
    children, positions = search.space_needed()
    room, option = search.work_room()
    if children + positions <= room:
        return passes
    least = int(_SLACK * children / _LEAVES) + 1
    if positions + least > room:
        ply, enough = len(search.records), search.stored_bytes() + positions + 2 * least
        raise TooLargeError(
            f"{option}: ply {ply} takes about {size_text(positions)} for its positions alone, and "
            f"{size_text(max(0, room))} are left; give at least --disk {enough / 2**30:.1f}, or count it without "
            f"storing it: --plies {ply} --count-last"
        )
    return max(passes, min(_LEAVES, -(-int(_SLACK * children) // (room - positions))))


def leaf_ranges(passes: int, merges: int) -> list[list[tuple[int, int]]]:
    """Return the ranges of leaves that are merged at once, pass by pass."""
    found = []
    for number in range(passes):
        first, last = (_LEAVES * place // passes for place in (number, number + 1))
        count = min(merges, last - first)
        ends = [first + (last - first) * place // count for place in range(count + 1)]
        found.append(list(pairwise(ends)))
    return found


def make_in_passes(search: Search, passes: int) -> tuple[list[dict[str, Any]], list[int], str, float]:
    """Make the parts of the next ply in passes."""
    ply, before = len(search.records), search.records[-1]
    share = share_of(search, int(before.next_children / passes), search.limits.merge_children)
    merges = max(1, -(-int(_SLACK * before.next_children) // (passes * share)))
    ranges = leaf_ranges(passes, merges)
    sources = search.store.parts(before)
    known = tuple(source for record in search.records[ply % 2 :: 2] for source in search.store.parts(record))
    digests = [[source.digest for source in some] for some in (sources, known)]
    plan = plan_name("passes", before.digest, digests, ranges)
    merged: list[dict[str, Any]] = []
    counters: list[int] | None = None
    cpu = 0.0
    for number, some in enumerate(ranges):
        owners = [Owner(search.store.game, search.full, ply, len(merged) + place, plan) for place in range(len(some))]
        targets = [search.store.part(ply, owner.number) for owner in owners]
        done = [done_before(target, owner) for target, owner in zip(targets, owners, strict=True)]
        # The counters of the parents come from a pass that is made in this run: the last one is, if no other.
        if None in done or (number == len(ranges) - 1 and counters is None):
            step = f"pass {number + 1} of {passes}"
            children, found, seconds = _expand(search, (some[0][0], some[-1][1]), step)
            if counters is not None and found != counters:
                raise ArithmeticError(f"ply {ply}: {step} expanded {found} where the one before expanded {counters}")
            counters, cpu = found, cpu + seconds
            _check_memory(search, ply, children, some)
            tasks = [
                MergeTask(search.variant, search.full, owner, tuple(children), known, first, last, target)
                for owner, (first, last), target in zip(owners, some, targets, strict=True)
            ]
            search.observer.begin(ply, f"{step}, merge", sum(open_rows(*source).header.rows for source in children))
            merged += search.run_tasks(run_merge, tasks)
            shutil.rmtree(search.store.root / "work", ignore_errors=True)
        else:
            merged += [answer for answer in done if answer is not None]
    if counters is None:
        raise ArithmeticError(f"ply {ply}: no pass has expanded anything")
    return merged, counters, plan, cpu


def _expand(search: Search, leaves: tuple[int, int], step: str) -> tuple[list[Source], list[int], float]:
    """Write the children in some leaves; return their files, the counters of all parents, and the seconds."""
    ply = len(search.records)
    tasks, _ = plan_expansion(search, ply)
    plan = plan_name("leaves", tasks[0].owner.plan, leaves)
    tasks = [replace(task, owner=task.owner._replace(plan=plan), leaves=leaves) for task in tasks]
    search.observer.begin(ply, f"{step}, expand", search.records[-1].next_children * (leaves[1] - leaves[0]) // _LEAVES)
    answers = search.run_tasks(run_expand, tasks)
    sources = [Source(task.target, answer["entry"]["digest"]) for task, answer in zip(tasks, answers, strict=True)]
    counters = [sum(answer["counters"][place] for answer in answers) for place in range(EXPANSION_COUNTERS)]
    return sources, counters, sum(answer["cpu"] for answer in answers)


def _check_memory(search: Search, ply: int, children: list[Source], ranges: Sequence[tuple[int, int]]) -> None:
    counts = np.zeros(_LEAVES, dtype=np.int64)
    for source in children:
        counts += open_rows(*source).counts
    largest = max(int(counts[first:last].sum()) for first, last in ranges)
    if largest > search.limits.merge_children:
        raise TooLargeError(
            f"--memory: some leaves of ply {ply} have {largest:,} children, {search.limits.merge_children:,} fit; "
            "give more, or more passes with --passes"
        )
