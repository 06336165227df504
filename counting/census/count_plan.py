"""What is to be counted of a ply that is not stored, and in how many passes: from a sample of its parents.

The sample says how parents, children by capture and children are spread over the bins. The passes follow
from it, from the room on the disk and from what was asked for.

Non-guarantee: the sizes are estimates, with some slack, unless the sample is all of the ply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.count_record import HUNDREDTHS, edge
from counting.census.expansion import DECIDED
from counting.census.families import family_bins, family_marks
from counting.census.files import open_rows, read_rows
from counting.census.limits import TooLargeError, size_text
from counting.census.row_head import BINS, LEAF_BITS
from counting.census.sorting import captures_of
from counting.census.toolbox import toolbox
from tablut.engine.packing import count_children
from tablut.errors import InputError
from tablut.running.clocks import thread_clock
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from counting.census.records import PlyRecord
    from counting.census.search import Search

_SAMPLE_ROWS: Final = 200_000
_SLACK: Final = 1.15
"""By how much a pass may turn out larger than the sample says."""


@dataclass(frozen=True)
class CountWish:
    """What is to be counted of the last ply, and how."""

    hundredths: tuple[int, int] = (0, HUNDREDTHS)
    passes: int = 1
    again: bool = False

    @classmethod
    def part(cls, text: str, passes: int, *, again: bool) -> CountWish:
        """Return what the option ``--part`` asks for."""
        number, _, parts = text.partition("/")
        if not (number.isascii() and number.isdigit() and parts.isascii() and parts.isdigit()) or len(text) > 7:
            raise InputError(f"--part {excerpt(text)}: expected a part such as 1/10")
        which, of = int(number), int(parts)
        if of == 0 or HUNDREDTHS % of or not 1 <= which <= of:
            raise InputError(f"--part {excerpt(text)}: expected K/N where N divides {HUNDREDTHS} and K is from 1 to N")
        width = HUNDREDTHS // of
        return cls((width * (which - 1), width * which), passes, again)


@dataclass(frozen=True)
class CountPlan:
    """How a ply will be counted: an estimate from a sample."""

    passes: tuple[tuple[int, int], ...]
    work_bytes: int
    seconds: float


def plan_count(search: Search, before: PlyRecord, wish: CountWish, pending: Sequence[tuple[int, int]]) -> CountPlan:
    """Return in how many passes a ply is counted.

    They are cut from all bins that are wished for, counted or not, so that an interrupted pass is the same
    again and its sorted rows are found.
    """
    sample = _Sample(search, before)
    slack = 1.0 if sample.exact else _SLACK
    first, end = edge(wish.hundredths[0]), edge(wish.hundredths[1])
    loads = sample.bytes[first:end] * slack
    room, why = search.work_room()
    largest = float(loads.max())
    if largest > room:
        raise TooLargeError(
            f"{why}: ply {before.ply + 1} needs {size_text(int(largest))} at least for the parents of one bin, and "
            f"{size_text(max(0, room))} are there; give more"
        )
    children = max(float(sample.loads[slice(*bins)].max()) for bins in pending)
    if children * (0.8 if slack > 1 else 1.0) > search.limits.tally_children:
        raise too_many(search, before.ply + 1, int(children * slack), "about ")
    cuts = _cut_passes(loads, max(min(room, loads.sum() / wish.passes), largest))
    passes = [(first + begin, first + stop) for begin, stop in cuts]
    peak = max(float(loads[slice(*bins)].sum()) for bins in cuts)
    left = sum(any(one[0] < bins[1] and bins[0] < one[1] for one in pending) for bins in passes)
    # Every pass reads all parents once.
    return CountPlan(tuple(passes), int(peak), sample.seconds * left)


def too_many(search: Search, ply: int, children: int, about: str = "") -> TooLargeError:
    """Return the error for a bin whose children do not fit into memory."""
    need = search.limits.memory_for(children, search.words, search.scheduler.sharing)
    return TooLargeError(
        f"--memory: a bin of ply {ply} has {about}{children:,} children; counting it takes --memory {need >> 20}"
    )


class _Sample:
    """What a sample of the parents says: how their rows and children are spread over the bins."""

    def __init__(self, search: Search, before: PlyRecord) -> None:
        tools, marks = toolbox(search.variant, search.full), family_marks(search.variant, search.full)
        self.rows, self.loads = np.zeros(BINS), np.zeros(BINS)
        # Whole leaves of the first part: their positions are as good as drawn by lot.
        read, total = 0, before.counters["new_classes"] + before.counters["decided_classes"]
        self.seconds = 0.0
        for source in search.store.parts(before):
            file = open_rows(*source)
            ends = np.cumsum(file.counts)
            last = min(int(np.searchsorted(ends, _SAMPLE_ROWS - read)) + 1, 1 << LEAF_BITS)
            rows = read_rows(file, 0, last)
            read += len(rows)
            rows = rows[(rows[:, -1] >> np.uint64(DECIDED)) == 0]
            if len(rows):
                captures_of(tools, rows[:1])  # compiled before the clock begins
            began = thread_clock()
            captures, moves = captures_of(tools, rows), np.empty(len(rows), dtype=np.int64)
            for some, turned in ((captures, 0), (rows, 1)):
                bins = np.empty(len(some), dtype=np.uint16)
                family_bins(tools.tables, marks, tools.order, turned, some, bins)
                self.rows += np.bincount(bins, minlength=BINS)
            count_children(tools.tables, rows, moves)
            self.loads += np.bincount(bins, weights=moves, minlength=BINS)
            self.seconds += thread_clock() - began
            if read >= _SAMPLE_ROWS:
                break
        scale = total / read if read else 0.0
        self.exact = read >= total
        self.rows, self.loads, self.seconds = self.rows * scale, self.loads * scale, self.seconds * scale
        known = sum(
            record.counters["new_classes"] + record.counters["decided_classes"]
            for record in search.records[(before.ply + 1) % 2 : before.ply + 1 : 2]
        )
        self.bytes = (self.rows + known * (self.loads / max(1.0, self.loads.sum()))) * (8 * search.words)


def _cut_passes(loads: NDArray[np.float64], most: float) -> list[tuple[int, int]]:
    """Cut bins into ranges of a load of at most ``most``, but for a single bin that has more."""
    passes = []
    first, load = 0, 0.0
    for number, more in enumerate(loads.tolist()):
        if number > first and load + more > most * (1 + 1e-9):
            passes.append((first, number))
            first, load = number, 0.0
        load += more
    return [*passes, (first, len(loads))]
