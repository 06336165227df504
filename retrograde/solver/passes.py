"""The passes over a tier, or over a slice of one: every position a win, a loss or neither, with its distance.

==============  ==================================  ==================================
step            white's positions                   black's positions
==============  ==================================  ==================================
`START`         wins in one ply, no move            no move: their parents win
`QUICK_LOSSES`                                      losses in two plies
`QUICK_WINS`    wins in three                       all moves, where nothing is known
`MOVES`         all moves, where nothing is known
then            what black's new values lead to     what white's new values lead to
==============  ==================================  ==================================

The first pass looks at moves that escape or capture alone. The search for a loss ends at the first move that does not
lose, that for a win at the first that wins; all moves of the rest are looked at once. Then what is new is propagated
to its parents: backward from each new value, or forward, by looking at each parent that is not final; whichever are
fewer.

A whole tier is one slice. Of several, each has in memory white's positions of its own rows alone, and what a value of
black's says for white's is sent (`retrograde.solver.slices.tasks`) instead of propagated.

References
----------
K. Thompson, "Retrograde analysis of certain endgames", ICCA Journal 9(3), 1986;
E. Bleicher and others describe the forward initialisation with counters.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from retrograde.solver.kernels.backward import backward_pass
from retrograde.solver.kernels.forward import forward_pass, immediate_pass
from retrograde.solver.kernels.workspace import FULL, LOSSES, WINS, Pass, new_messages
from tablut.engine.jit import ahead
from tablut.engine.records import directory
from tablut.indexing.values import ALIAS, CODES, code_of, is_loss, lost_in, plies_of, won_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Desk, Messages

Worker = TypeVar("Worker")
Part = TypeVar("Part")

WHITE, BLACK = 0, 1
"""Sides to move, as the arrays of a tier are numbered."""
SEEN: Final = 3
"""White's wins in so many plies are known when all moves of black are looked at."""
START, QUICK_LOSSES, QUICK_WINS, MOVES = 0, 1, 2, 3
"""The first steps; each one after them is a round: what is new is propagated."""
_TASKS: Final = 32
"""Parts into which rows are divided, for each thread."""


class SolverError(RuntimeError):
    """The solver contradicts itself: a defect, never a property of the input."""


def distance_of(step: int, stride: int) -> int:
    """Return the distance in plies from which a round goes on; a stride is how many a round takes together."""
    return 1 + stride * (step - MOVES)


def values_of(step: int, stride: int, side: int) -> list[int]:
    """Return the items of a side that a step propagates, nearer ones first; of one distance, losses before wins."""
    if step < MOVES:
        return [lost_in(0)] if step == START and side == BLACK else []
    distance = distance_of(step, stride)
    # All moves have been looked at: black has seen white's wins up to 3, white black's losses up to 4.
    late = distance > SEEN
    if side == WHITE:
        values = [lost_in(distance + stride - 1), *([won_in(distance)] if late else [])]
    else:
        values = [won_in(distance + stride), *([lost_in(distance + 1)] if late else [])]
    return sorted(values, key=lambda item: (plies_of(item), not is_loss(item)))


def is_last(step: int, stride: int, longest: int) -> bool:
    """Return whether nothing follows from what is known after a step."""
    return step >= MOVES and distance_of(step, stride) + stride > longest


def describe_step(step: int, stride: int) -> str:
    """Return what a step looks for."""
    first = ("immediate wins", "quick losses", "quick wins, black's moves", "white's moves")
    return first[step] if step < len(first) else f"distance {distance_of(step, stride)}"


class TierPasses:
    """A tier while it is solved, or a slice of one.

    The items of both sides, all tiers below by their addresses, and which rows are solved: these are kept as they
    are given. Each desk is one thread's; kernels are given addresses, and the desks keep alive what lies there.
    """

    def __init__(
        self,
        name: str,
        tier: int,
        stride: int,
        sides: tuple[NDArray[np.uint16], NDArray[np.uint16]],
        lower: NDArray[np.int64],
        rows: tuple[int, int],
        desks: Sequence[Desk],
    ) -> None:
        self.name, self.tier, self.stride = name, tier, stride
        self.sides, self.lower, self.rows = sides, lower, rows
        self.index = desks[0].tiers
        self.size = len(sides[BLACK])
        # By side and code, how many items were given it; one that was improved counts twice.
        self.found = np.zeros((2, CODES), dtype=np.int64)
        self._desks = list(desks)
        self.directories = [directory(desk) for desk in desks]

    def run(self, step: int) -> None:
        """Do one step."""
        if step == START:
            # Each takes seconds to compile, once.
            ahead(forward_pass, self.directories[0], self.pass_of(WHITE), 0, 0)
            ahead(backward_pass, self.directories[0], self.pass_of(WHITE), 0, 0, 0)
            self.immediate(WHITE)
            self.immediate(BLACK)
        elif step == QUICK_LOSSES:
            self.forward(LOSSES, BLACK, 1, by_rows=True)
        elif step == QUICK_WINS:
            self.forward(WINS, WHITE, 1)
            self.forward(FULL, BLACK, SEEN, by_rows=True)
        elif step == MOVES:
            self.forward(FULL, WHITE, 1)
        for item in values_of(step, self.stride, WHITE):
            self.propagate(WHITE, item)
        for item in values_of(step, self.stride, BLACK):
            self.pass_on(item)
        if self.stride > 1 and (self.found[:, 3:ALIAS:4].any() or self.found[:, 4:ALIAS:4].any()):
            # A win in an even number of plies, or a loss in an odd one: the rounds would miss it.
            self.check(1)

    def longest(self) -> int:
        """Return the greatest distance so far."""
        return int(np.flatnonzero(self.found[:, :ALIAS].any(axis=0))[-1:].sum()) >> 1

    def pass_on(self, item: int) -> None:
        """Have a value of black's change white's positions."""
        self.propagate(BLACK, item)

    def pass_of(
        self,
        side: int,
        report: NDArray[np.int64] | None = None,
        *,
        mode: int = FULL,
        limit: int = 0,
        by_rows: int = 0,
        messages: Messages | None = None,
    ) -> Pass:
        """Return what a pass is given that writes the items of a side."""
        return Pass(
            self.tier,
            side,
            mode,
            limit,
            by_rows,
            self.sides[side],
            self.sides[1 - side],
            self.lower,
            self.found[side] if report is None else report,
            messages or new_messages(0, np.zeros(0, dtype=np.int64)),
        )

    def immediate(self, side: int) -> None:
        """Run the first pass over all rows."""
        self._run(immediate_pass, side, whole_kings=True)

    def forward(self, mode: int, side: int, limit: int, *, by_rows: bool = False) -> None:
        """Run a forward pass over all rows."""
        self._run(forward_pass, side, whole_kings=by_rows, mode=mode, limit=limit, by_rows=int(by_rows))

    def propagate(self, side: int, item: int) -> None:
        """Propagate all positions of one value to their parents, in whichever direction is shorter."""
        parents, lost, distance = self.found[1 - side], is_loss(item), plies_of(item)
        forward = self.size - int(parents.sum())
        if lost:
            # Wins may become quicker.
            forward += int(parents[2 * distance + 4 : ALIAS : 2].sum())
        limit = distance - lost
        # What has been seen of the other side's wins must not be forgotten.
        if limit >= SEEN and is_quicker(forward, int(self.found[side, code_of(item)])):
            self.forward(FULL, 1 - side, limit)
        elif self.found[side, code_of(item)]:
            self._run(backward_pass, 1 - side, item)

    def _parts(self, *, whole_kings: bool) -> list[tuple[int, int]]:
        """Return ranges of rows that cover all; where kings are judged as a whole, they can be kept together."""
        numbers, kings, (begin, end) = self.index.tier, self.index.square.kings, self.rows
        threads = len(self._desks)
        if threads == 1:
            return [self.rows]
        if whole_kings and numbers.column_men[self.tier] == 0:
            own = slice(self.tier * kings, (self.tier + 1) * kings)
            first = numbers.first_row[own]
            return list(zip(first.tolist(), (first + numbers.row_count[own]).tolist(), strict=True))
        count = max(1, min(end - begin, _TASKS * threads))
        edges = [begin + part * (end - begin) // count for part in range(count + 1)]
        return list(itertools.pairwise(edges))

    def _run(self, kernel: Callable[..., int], side: int, *item: int, whole_kings: bool = False, **asked: Any) -> None:
        """Run a pass that writes the items of a side part by part, on all threads, and count what it reports."""
        parts = self._parts(whole_kings=whole_kings)
        workers = [(desk, np.zeros(CODES, dtype=np.int64)) for desk in self.directories]

        def run(worker: tuple[NDArray[np.int64], NDArray[np.int64]], part: tuple[int, int]) -> int:
            desk, report = worker
            return kernel(desk, self.pass_of(side, report, **asked), *item, *part)

        self.check(on_threads(workers, parts, run))
        for _, report in workers:
            self.found[side] += report

    def check(self, errors: int) -> None:
        """Raise an error if there were contradictions."""
        if errors:
            raise SolverError(f"{self.name}: {errors} contradictions")


def on_threads(workers: Sequence[Worker], parts: Sequence[Part], run: Callable[[Worker, Part], int]) -> int:
    """Return the sum of what a function returns for all parts; a thread for each worker, who does one at a time."""
    if len(parts) == 1:
        return run(workers[0], parts[0])
    free = list(workers)

    def task(part: Part) -> int:
        worker = free.pop()
        try:
            return run(worker, part)
        finally:
            free.append(worker)

    with ThreadPoolExecutor(max_workers=len(workers)) as pool:
        return sum(pool.map(task, parts))


def is_quicker(forward: int, backward: int) -> bool:
    """Return whether it is less work to look at parents than to propagate from successors; the values are the same."""
    return forward < backward
