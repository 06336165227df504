"""One pass over one slice: what is read, what the passes do with it, and the file that it leaves.

==========  =======================================  ==================================
step        white's positions                        black's positions
==========  =======================================  ==================================
`START`     immediate wins, no move                  no move; white hears of it
`LOSSES`    wins that were heard of                  losses in two
`WINS`      wins in three, from black's near         all moves
`MOVES`     all moves, from black's near             wins in three (two)
then        what was heard of, round by round        what follows in the same rows
==========  =======================================  ==================================

The order of the passes, and what each may take for granted, are those of `retrograde.solver.tier_solver`. At the
end of a round a slice writes down which new values of black's concern which of white's positions,
slice by slice: the news. Their slices hear it in the next round.
"""

from __future__ import annotations

import threading
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from retrograde.solver.kernels.backward import backward_pass
from retrograde.solver.kernels.forward import forward_pass, immediate_pass
from retrograde.solver.kernels.slices import hear, tell
from retrograde.solver.kernels.workspace import FULL, LOSSES, WINS, News, Pass
from retrograde.solver.slices.files import (
    BLOCK,
    DamagedSliceError,
    PackedSection,
    SliceOwner,
    SliceStats,
    Source,
    Spool,
    open_slice,
    read_items,
    read_section,
    write_slice,
)
from retrograde.solver.slices.plan import SlicedTier, before, gather, room, runs_of, window_tables
from retrograde.solver.tier_solver import BLACK, SEEN, WHITE, SolverError, rules_to_solve_by
from retrograde.solver.trace import Meter
from retrograde.tablebase.store import open_store
from retrograde.tablebase.stored_tier import SIDES
from tablut.engine.records import directory
from tablut.indexing.values import ALIAS, CODES, DECIDED, code_of, lost_in, won_in
from tablut.running.machine import return_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Desk
    from retrograde.solver.slices.files import SliceFile
    from retrograde.tablebase.store import Store
    from tablut.variants import Variant

_lock = threading.Lock()
_tiers: dict[tuple[str, tuple[int, int], str], tuple[Store, SlicedTier]] = {}
_own = threading.local()


def shared_tier(root: str, material: tuple[int, int], plan: str) -> tuple[Store, SlicedTier]:
    """Return a store and one of its tiers, ready to be solved; the last one asked for is kept."""
    key = (root, material, plan)
    with _lock:
        if key not in _tiers:
            _tiers.clear()
            store = open_store(root)
            _tiers[key] = (store, SlicedTier(store.variant, material))
        return _tiers[key]


def share_tier(root: str, plan: str, store: Store, tier: SlicedTier) -> None:
    """Have the tasks of this process use a tier whose tables are there."""
    with _lock:
        _tiers.clear()
        _tiers[root, tier.material, plan] = (store, tier)


def forget_tier() -> None:
    """Forget the tier that the tasks of this process have shared."""
    with _lock:
        _tiers.clear()


def workspace_of(tier: SlicedTier) -> Desk:
    """Return this thread's desk for a tier."""
    held: tuple[SlicedTier, Desk] | None = getattr(_own, "desk", None)
    if held is None or held[0] is not tier:
        held = (tier, tier.solver.solving_desk(tier.material))
        _own.desk = held
    return held[1]


# -- the tasks ---------------------------------------------------------------------------------


START, LOSSES_STEP, WINS_STEP, MOVES_STEP = 0, 1, 2, 3
"""The first steps; each one after them is a round of news."""
LAST_PASS: Final = MOVES_STEP
_NEWS: Final = 1 << 18
"""Pieces of news that are found together."""


class SliceTask(NamedTuple):
    """One pass over one slice."""

    root: str
    material: tuple[int, int]
    plan: str
    cuts: tuple[int, ...]
    owner: SliceOwner
    own: Source | None
    near: tuple[tuple[int, Source], ...]
    heard: tuple[Source, ...]
    target: str


def stride_of(variant: Variant) -> int:
    """Return how many distances a round takes together."""
    return 1 if rules_to_solve_by(variant).rules.no_moves == "either_after_ply" else 2


def distance_of(step: int, stride: int) -> int:
    """Return the distance in plies of black's wins that are heard of in a step."""
    return 1 + stride * (step - MOVES_STEP)


def run_slice(task: SliceTask) -> dict[str, Any]:
    """Do one pass over one slice; nothing to do if the file is there, from the same plan."""
    meter, found = Meter(), ""
    if Path(task.target).exists():
        try:
            done = open_slice(Source(task.target, ""))
            if done.owner == task.owner:
                return _answer(done, 0, None)
        except DamagedSliceError as error:
            found = str(error)
    with Spool(Path(task.target).parent) as spool:
        work = _Slice(task, spool)
        work.run()
        file = work.write()
    answer = {**_answer(file, work.read, meter.read()), "entries": work.size, "window": work.total, "found": found}
    del work
    return_memory()
    return answer


def _answer(file: SliceFile, read: int, measured: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "found": "",
        "number": file.owner.number,
        "digest": file.digest,
        "bytes": file.bytes,
        "stats": file.stats.model_dump(),
        "read": read,
        "measured": measured,
    }


# -- one slice -----------------------------------------------------------------------------


class _Slice:
    """A slice while it is worked on."""

    def __init__(self, task: SliceTask, spool: Spool) -> None:
        self.task, self.spool, self.step, self.number = task, spool, task.owner.step, task.owner.number
        self.store, self.tier = shared_tier(task.root, task.material, task.plan)
        self.stride = stride_of(self.tier.variant)
        rows = task.cuts[self.number], task.cuts[self.number + 1]
        self.window = self.tier.window(*rows)
        whole, own = self.tier.solver.index, self.tier.number
        masks = {count: self.window.below[material] for count, material in enumerate(self.tier.lower)}
        self.index = window_tables(whole, {**masks, own: self.window.near})
        self.runs = runs_of(whole, own, self.window.near)
        self.begin, self.end = int(self.tier.starts[rows[0]]), int(self.tier.starts[rows[1]])
        # The rows of the slice follow each other in the window, too.
        earlier = self.window.near[: rows[0]]
        self.rows = int(np.count_nonzero(earlier)), int(np.count_nonzero(earlier)) + rows[1] - rows[0]
        self.shift = int(np.diff(self.tier.starts)[: rows[0]][earlier].sum())
        self.size, self.total, self.read = self.end - self.begin, self.runs.total, 0
        self.own = slice(self.shift, self.shift + self.size)
        self._part = room("white", self.size)
        self.white = before(self._part, self.shift, self.total)
        self.black = room("black", self.total)
        self.found = np.zeros((2, CODES), dtype=np.int64)
        self.news: dict[str, PackedSection] = {}
        self._lower()
        desk = workspace_of(self.tier)._replace(tiers=self.index)
        self.desk, self._alive = directory(desk), desk
        self._load()

    # -- reading -----------------------------------------------------------------------

    def _lower(self) -> None:
        """Read what captures lead to: with white to move after black's, and the other way round."""
        lower = self.tier.lower
        self.lower = np.zeros(2 * len(self.tier.solver.materials), dtype=np.int64)
        for count, material in enumerate(lower):
            side = WHITE if material[0] == self.task.material[0] else BLACK
            runs = runs_of(self.tier.solver.index, count, self.window.below[material])
            items = room(f"lower-{count}", runs.total)
            stored = self.store.tier(*material)

            def read(wanted: NDArray[np.bool_], name: str = SIDES[side], stored: Any = stored) -> Any:
                for number in np.flatnonzero(wanted).tolist():
                    yield number * stored.record.chunk, stored.chunk(name, number)

            gather(runs, stored.record.chunk, stored.entries, read)(items, 0)
            np.bitwise_or(items, np.uint16(DECIDED), out=items, where=items != 0)
            self.lower[2 * count + side] = items.ctypes.data

    def _load(self) -> None:
        """Read the slice so far, and black's items near it."""
        if self.task.own is None:
            self._part.fill(0)
            self.black[self.own].fill(0)
            return
        file = open_slice(self.task.own)
        self._read(file, "white", self._part)
        if self.step not in (WINS_STEP, MOVES_STEP):
            self._read(file, "black", self.black[self.own])
        for code, count in file.stats.white.items():
            self.found[WHITE, code] = count
        for code, count in file.stats.black.items():
            self.found[BLACK, code] = count
        for number, source in self.task.near:
            first, last = (int(self.tier.starts[self.task.cuts[number + more]]) for more in (0, 1))
            parts = partial(self._parts, open_slice(source), "black")
            gather(self.runs, BLOCK, last - first, parts)(self.black, first)

    def _read(self, file: SliceFile, name: str, out: NDArray[Any]) -> None:
        """Read all items of a section, and count its bytes."""
        self.read += sum(file.sections[name][0].blocks)
        read_section(file, name, out)

    def _blocks(self, file: SliceFile, name: str) -> Iterator[NDArray[Any]]:
        """Yield the blocks of a section, and count its bytes."""
        self.read += sum(file.sections[name][0].blocks)
        for _, items in read_items(file, name):
            yield items

    def _parts(self, file: SliceFile, name: str, wanted: NDArray[np.bool_]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the blocks of a section that are wanted, and count their bytes."""
        lengths = file.sections[name][0].blocks
        for at, items in read_items(file, name, wanted):
            self.read += lengths[at // BLOCK]
            yield at, items

    # -- the passes --------------------------------------------------------------------

    def run(self) -> None:
        """Do the pass of the task's step."""
        for source in self.task.heard:
            self._hear(open_slice(source))
        if self.step == START:
            self._pass(WHITE, immediate_pass)
            self._pass(BLACK, immediate_pass)
            self._tell(lost_in(0))
        elif self.step == LOSSES_STEP:
            self._pass(BLACK, forward_pass, LOSSES, 1, by_rows=1)
        elif self.step == WINS_STEP:
            self._pass(WHITE, forward_pass, WINS, 1)
            self._pass(BLACK, forward_pass, FULL, SEEN, by_rows=1)
        elif self.step == MOVES_STEP:
            self._pass(WHITE, forward_pass, FULL, 1)
            self._follow()
        else:
            self._follow()

    def _follow(self) -> None:
        """Propagate white's values of this round to black's positions, and tell what is new there."""
        distance = distance_of(self.step, self.stride)
        self._backward(lost_in(distance + self.stride - 1))
        if distance > SEEN:
            self._backward(won_in(distance))
        if distance + 1 > SEEN + 1:
            self._tell(lost_in(distance + 1))
        self._tell(won_in(distance + self.stride))

    def _pass(self, side: int, kernel: Callable[..., int], mode: int = FULL, limit: int = 0, by_rows: int = 0) -> None:
        """Run a pass over the rows of the slice."""
        mine, theirs = (self.white, self.black) if side == WHITE else (self.black, self.white)
        task = Pass(self.tier.number, side, mode, limit, by_rows, mine, theirs, self.lower, self.found[side])
        self._check(kernel(self.desk, task, *self.rows))

    def _backward(self, item: int) -> None:
        """Propagate a value of white's to black's positions; nothing to do if there is none."""
        if self.found[WHITE, code_of(item)]:
            task = Pass(self.tier.number, BLACK, FULL, 0, 0, self.black, self.white, self.lower, self.found[BLACK])
            self._check(backward_pass(self.desk, task, item, *self.rows))

    def _check(self, errors: int) -> None:
        if errors:
            attackers, defenders = self.task.material
            raise SolverError(
                f"tier {attackers}v{defenders} of {self.tier.variant.name}, slice {self.number}, step {self.step}: "
                f"{errors} contradictions"
            )

    # -- news --------------------------------------------------------------------------

    def _tell(self, item: int) -> None:
        """Write down whom a value of black's concerns, slice by slice."""
        if not self.found[BLACK, code_of(item)]:
            return
        kind = "losses" if item & 1 else "wins"
        near = self.tier.starts[:-1][self.window.near]
        news = News(np.empty(_NEWS, dtype=np.int64), np.empty(_NEWS, dtype=np.uint8), np.zeros(2, dtype=np.int64), near)
        nobody = Pass(self.tier.number, WHITE, FULL, 0, 0, self.white, self.black, self.lower, self.found[WHITE])
        edges = self.tier.starts[np.array(self.task.cuts)]
        while news.place[0] >= 0:
            news.place[1] = 0
            self._check(tell(self.desk, nobody, news, item, *self.rows))
            entries, moves = news.entries[: news.place[1]], news.moves[: news.place[1]]
            slices = (np.searchsorted(edges, entries, side="right") - 1).astype(np.min_scalar_type(len(edges)))
            order = np.argsort(slices, kind="stable")
            counts = np.bincount(slices, minlength=len(edges) - 1)
            ends = np.cumsum(counts)
            for number in np.flatnonzero(counts).tolist():
                places = order[ends[number] - counts[number] : ends[number]]
                concerned = (entries[places] - edges[number]).astype(np.uint32)
                self._section(f"{kind}-{number}", "uint32").add(concerned)
                if kind == "wins":
                    self._section(f"moves-{number}", "uint8").add(moves[places])

    def _section(self, name: str, dtype: str) -> PackedSection:
        if name not in self.news:
            self.news[name] = PackedSection(dtype, self.spool)
        return self.news[name]

    def _hear(self, file: SliceFile) -> None:
        """Make of the news in a file what it says for the slice."""
        distance = distance_of(self.step, self.stride)
        here = Pass(self.tier.number, WHITE, FULL, 0, 0, self.white, self.black, self.lower, self.found[WHITE])
        for kind, plies in (("losses", distance - self.stride + 1), ("wins", distance)):
            name = f"{kind}-{self.number}"
            if name not in file.sections:
                continue
            lost = int(kind == "losses")
            plies = 0 if self.step == LOSSES_STEP else plies
            # Block by block: all news for a slice together can take more room than the slice.
            counted = self._blocks(file, f"moves-{self.number}") if kind == "wins" else repeat(np.zeros(0, np.uint8))
            for entries, moves in zip(self._blocks(file, name), counted, strict=kind == "wins"):
                if int(entries.max()) >= self.size:
                    raise SolverError(f"{file.path}: its news is of entries that the slice does not have")
                self._check(hear(self.desk, here, entries, moves, self.shift, lost, plies))

    # -- writing -----------------------------------------------------------------------

    def write(self) -> SliceFile:
        """Write the slice as it is now, and the news."""
        odd = self.found[:, 3:ALIAS:4].any() or self.found[:, 4:ALIAS:4].any()
        if self.stride > 1 and odd:
            # A win in an even number of plies, or a loss in an odd one: the rounds would miss it.
            self._check(1)
        counts = [{int(code): int(side[code]) for code in np.flatnonzero(side)} for side in self.found]
        news = dict(sorted(self.news.items()))
        told = {
            kind: {int(name.partition("-")[2]): news[name].items for name in news if name.startswith(kind)}
            for kind in ("wins", "losses")
        }
        stats = SliceStats(white=counts[WHITE], black=counts[BLACK], **told)
        sides = {"white": PackedSection("uint16", self.spool), "black": PackedSection("uint16", self.spool)}
        sides["white"].add(self._part)
        sides["black"].add(self.black[self.own])
        return write_slice(Path(self.task.target), self.task.owner, stats, {**sides, **news})
