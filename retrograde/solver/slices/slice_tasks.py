"""Tasks that run one step of one slice: a task reads its inputs, runs the passes, and writes a new file.

The steps are those of `retrograde.solver.passes`. White's moves may lead to other slices. At the end of a step, a slice
therefore writes *messages*, which the other slices receive in the next step. A message names a white-to-move position
in the receiving slice that has a move to a black-to-move position with a new value. Black's moves stay within the
slice's rows. `retrograde.solver.kernels` defines the terms *row*, *entry* and *item*.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from pydantic import Field

from retrograde.solver.kernels.backward import backward_pass, receive
from retrograde.solver.kernels.context import new_messages
from retrograde.solver.passes import BLACK, MOVES, QUICK_WINS, WHITE, SolverError, TierPasses, values_of
from retrograde.solver.slices.slice_plan import SlicedTier, Window, before, gather, room, runs_of, window_tables
from retrograde.tablebase.store import open_store
from tablut.indexing.values import DECIDED, code_of, is_loss
from tablut.position import SIDES
from tablut.work.clocks import thread_clock
from tablut.work.machine import return_memory
from tablut.work.parts import BLOCK, Owner, PartFile, PartSource, PartWriter, open_part
from tablut.work.run import PartTask
from tablut.work.sealed_records import Count, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from retrograde.solver.kernels.context import Context
    from retrograde.tablebase.store import Store

_lock = threading.Lock()
_tiers: dict[tuple[str, tuple[int, int], str], tuple[Store, SlicedTier]] = {}
_own = threading.local()


def shared_tier(root: str, material: tuple[int, int], plan: str) -> tuple[Store, SlicedTier]:
    """Return a store, and one of its tiers that is ready to be solved. The most recent tier is cached."""
    key = (root, material, plan)
    with _lock:
        if key not in _tiers:
            _tiers.clear()
            store = open_store(root)
            _tiers[key] = (store, SlicedTier(store.variant, material))
        return _tiers[key]


def share_tier(root: str, plan: str, store: Store, tier: SlicedTier) -> None:
    """Let this process's tasks use a tier whose tables have already been built."""
    with _lock:
        _tiers.clear()
        _tiers[root, tier.material, plan] = (store, tier)


def forget_tier() -> None:
    """Drop the tier that this process's tasks share."""
    with _lock:
        _tiers.clear()


def workspace_of(tier: SlicedTier) -> Context:
    """Return this thread's tables and workspace for a tier."""
    held: tuple[SlicedTier, Context] | None = getattr(_own, "context", None)
    if held is None or held[0] is not tier:
        held = (tier, tier.solver.solving_context(tier.material))
        _own.context = held
    return held[1]


# -- the tasks ---------------------------------------------------------------------------------


_MESSAGES: Final = 1 << 18
"""Number of messages that are collected before they are written."""


Counts = dict[Annotated[int, Field(ge=0, lt=1 << 16)], Count]
"""The number of items that were given each code."""


class SliceStats(Part):
    """Counts of a slice after a step: its codes by side to move, and its messages by receiving slice.

    ``entries`` and ``window`` are the numbers of items in the slice and in its window, and ``read`` is the number of
    bytes that the step has read.
    """

    white: Counts
    black: Counts
    wins: Counts
    losses: Counts
    entries: Count
    window: Count
    read: Count


@dataclass(frozen=True)
class SliceTask(PartTask):
    """A task that runs one step of one slice: the division of the tier, the input files and the file to write."""

    root: str
    material: tuple[int, int]
    plan: str
    cuts: tuple[int, ...]
    owner: Owner
    own: PartSource | None
    near: tuple[tuple[int, PartSource], ...]
    received: tuple[PartSource, ...]
    target: Path

    def opened(self) -> PartFile[Any]:
        """Open the slice's file that the task has written."""
        return open_slice(self.target)

    def make(self, began: float) -> PartFile[Any]:
        """Run the step and write its file."""
        with PartWriter(self.target) as writer:
            work = _Slice(self, writer)
            work.receive()
            work.run(self.owner.step)
            part = work.write(began)
        del work
        return_memory()
        return part


def open_slice(path: Path, digest: str = "") -> PartFile[Any]:
    """Open a slice's file. Its sections contain the items with either side to move, and the messages."""
    return open_part(path, SliceStats, digest)


# -- one slice -----------------------------------------------------------------------------


class _Slice(TierPasses):
    """A slice while one of its steps is running."""

    def __init__(self, task: SliceTask, writer: PartWriter) -> None:
        self.task, self.writer, self.step, self.number = task, writer, task.owner.step, task.owner.number
        self.store, self.whole = shared_tier(task.root, task.material, task.plan)
        rows = task.cuts[self.number], task.cuts[self.number + 1]
        window, starts = self.whole.window(*rows), self.whole.starts
        masks = {count: window.below[material] for count, material in enumerate(self.whole.lower)}
        index = window_tables(self.whole.solver.index, {**masks, self.whole.number: window.near})
        self.runs = runs_of(self.whole.solver.index, self.whole.number, window.near)
        # The slice is a contiguous range of rows in the window as well.
        earlier = window.near[: rows[0]]
        first = int(np.count_nonzero(earlier))
        self.shift = int(np.diff(starts)[: rows[0]][earlier].sum())
        size, self.total, self.read = int(starts[rows[1]] - starts[rows[0]]), self.runs.total, 0
        self.own = slice(self.shift, self.shift + size)
        self._near = starts[:-1][window.near]
        self._white, self._black = room("white", size), room("black", self.total)
        attackers, defenders = task.material
        super().__init__(
            f"tier {attackers}v{defenders} of {self.whole.variant.name}, slice {self.number}, step {self.step}",
            self.whole.number,
            self.whole.solver.stride,
            (before(self._white, self.shift, self.total), self._black),
            self._lower(window),
            (first, first + rows[1] - rows[0]),
            [workspace_of(self.whole)._replace(tiers=index)],
        )
        self.size = size
        self.sent: dict[str, dict[int, int]] = {"wins": {}, "losses": {}}
        self._load()

    # -- reading -----------------------------------------------------------------------

    def _lower(self, window: Window) -> NDArray[np.int64]:
        """Read the parts of lower tiers that captures lead to, and return their items' addresses.

        After a capture by black, white is to move. After a capture by white, black is to move.
        """
        lower = np.zeros(2 * len(self.whole.solver.materials), dtype=np.int64)
        for count, material in enumerate(self.whole.lower):
            side = WHITE if material[0] == self.task.material[0] else BLACK
            runs = runs_of(self.whole.solver.index, count, window.below[material])
            items = room(f"lower-{count}", runs.total)
            stored = self.store.tier(*material)

            def read(wanted: NDArray[np.bool_], name: str = SIDES[side], stored: Any = stored) -> Any:
                for number in np.flatnonzero(wanted).tolist():
                    yield number * stored.record.chunk, stored.chunk(name, number)

            gather(runs, stored.record.chunk, 0, stored.entries, read, items)
            np.bitwise_or(items, np.uint16(DECIDED), out=items, where=items != 0)
            lower[2 * count + side] = items.ctypes.data
        return lower

    def _load(self) -> None:
        """Read the slice's current items, and the black-to-move items of the rows near it."""
        if self.task.own is None:
            self._white.fill(0)
            self._black[self.own].fill(0)
            return
        file = open_slice(*self.task.own)
        for at, items in self._items(file, "white"):
            self._white[at : at + len(items)] = items
        if self.step not in (QUICK_WINS, MOVES):
            for at, items in self._items(file, "black"):
                self._black[self.shift + at : self.shift + at + len(items)] = items
        for side, counts in ((WHITE, file.header.stats.white), (BLACK, file.header.stats.black)):
            for code, count in counts.items():
                self.found[side, code] = count
        for number, source in self.task.near:
            first, last = (int(self.whole.starts[self.task.cuts[number + more]]) for more in (0, 1))
            parts = partial(self._items, open_slice(*source), "black")
            gather(self.runs, BLOCK, first, last, parts, self._black)

    def _items(
        self, file: PartFile[Any], name: str, wanted: NDArray[np.bool_] | None = None
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the wanted blocks of a section, and count the bytes read."""
        blocks = file.header.sections[name].blocks
        for at, items in file.blocks(name, wanted):
            self.read += blocks[at // BLOCK].bytes
            yield at, items

    # -- messages ----------------------------------------------------------------------

    def pass_on(self, item: int) -> None:
        """Write messages about all black-to-move positions with a given value, and sort them by receiving slice."""
        if not self.found[BLACK, code_of(item)]:
            return
        kind = "losses" if is_loss(item) else "wins"
        messages = new_messages(_MESSAGES, self._near)
        edges = self.whole.starts[np.array(self.task.cuts)]
        while messages.place[0] >= 0:
            messages.place[1] = 0
            self.check(backward_pass(self.directories[0], self.pass_of(WHITE, messages=messages), item, *self.rows))
            entries, moves = messages.entries[: messages.place[1]], messages.moves[: messages.place[1]]
            slices = (np.searchsorted(edges, entries, side="right") - 1).astype(np.min_scalar_type(len(edges)))
            order = np.argsort(slices, kind="stable")
            counts = np.bincount(slices, minlength=len(edges) - 1)
            ends = np.cumsum(counts)
            for number in np.flatnonzero(counts).tolist():
                places = order[ends[number] - counts[number] : ends[number]]
                self.sent[kind][number] = self.sent[kind].get(number, 0) + len(places)
                self.writer.add(f"{kind}-{number}", (entries[places] - edges[number]).astype(np.uint32))
                if kind == "wins":
                    self.writer.add(f"moves-{number}", moves[places])

    def receive(self) -> None:
        """Apply the messages that were written for this slice in the previous step."""
        values = values_of(self.step - 1, self.stride, BLACK)
        for file in (open_slice(*source) for source in self.task.received):
            for item in values:
                kind = "losses" if is_loss(item) else "wins"
                name = f"{kind}-{self.number}"
                if name not in file.header.sections:
                    continue
                # Apply the messages block by block, since all of them together can take more memory than the items.
                none = repeat((0, np.zeros(0, np.uint8)))
                moves = self._items(file, f"moves-{self.number}") if kind == "wins" else none
                for (_, entries), (_, counted) in zip(self._items(file, name), moves, strict=kind == "wins"):
                    if int(entries.max()) >= self.size:
                        raise SolverError(f"{file.path}: its messages refer to entries outside the slice")
                    context, here = self.directories[0], self.pass_of(WHITE)
                    self.check(receive(context, here, entries, counted, self.shift, item))

    # -- writing -----------------------------------------------------------------------

    def write(self, began: float) -> PartFile[Any]:
        """Write the slice's items and finish its file, which already contains the messages."""
        counts = [{int(code): int(side[code]) for code in np.flatnonzero(side)} for side in self.found]
        about = {"entries": self.size, "window": self.total, "read": self.read}
        stats = SliceStats(white=counts[WHITE], black=counts[BLACK], **self.sent, **about)  # type: ignore[arg-type]
        self.writer.add("white", self._white)
        self.writer.add("black", self._black[self.own])
        return self.writer.finish(self.task.owner, stats, cpu=thread_clock() - began)
