"""The passes that solve a tier or a slice: they find which positions are won or lost, and in how many plies.

==============  ===================================  ===================================
step            white to move                        black to move
==============  ===================================  ===================================
`START`         wins in one ply, no legal move       no legal move: their parents win
`QUICK_LOSSES`                                       losses in two plies
`QUICK_WINS`    wins in three plies                  all moves of the other positions
`MOVES`         all moves of the other positions
later           parents of black's new values        parents of white's new values
==============  ===================================  ===================================

The first pass examines only escapes by the king and captures. The search for a loss ends at the first move that does
not lose, and the search for a win ends at the first move that wins. All moves from the remaining positions are examined
once. After that, new values are propagated to parents, either backward, from each new value, or forward, by examining
each parent whose value is not final. The direction with fewer positions is chosen.

A tier that is solved as a whole is a single slice. If there are several slices, each slice keeps in memory only the
white-to-move positions of its own rows. New values of black-to-move positions are then sent to other slices as messages
(`retrograde.solver.slices.slice_tasks`), instead of being propagated directly to white-to-move positions.

The terms *item*, *row* and *entry* are defined in `retrograde.solver.kernels`.

References
----------
K. Thompson, "Retrograde analysis of certain endgames", ICCA Journal 9(3), 1986.
E. Bleicher and others describe the forward initialisation with counters.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from retrograde.solver.kernels.backward import backward_pass
from retrograde.solver.kernels.context import FULL, LOSSES, WINS, Pass, new_messages
from retrograde.solver.kernels.forward import forward_pass, immediate_pass
from tablut.engine.jit import ahead
from tablut.engine.kernel_records import directory
from tablut.indexing.values import ALIAS, CODES, code_of, is_loss, lost_in, plies_of, won_in
from tablut.work.progress import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from retrograde.solver.kernels.context import Context, Messages

Worker = TypeVar("Worker")
Part = TypeVar("Part")

WHITE, BLACK = 0, 1
"""The sides to move, in the order of a tier's arrays."""
SEEN: Final = 3
"""Maximum distance, in plies, of white's wins that are known when the passes examine all of black's moves."""
START, QUICK_LOSSES, QUICK_WINS, MOVES = 0, 1, 2, 3
"""Numbers of the first steps. Each later step is a round that propagates new values."""
_TASKS: Final = 32
"""Number of parts, per thread, into which the rows are divided."""


class SolverError(RuntimeError):
    """A contradiction between results of the solver. The cause is always a defect in the program, never the input."""


def distance_of(step: int, stride: int) -> int:
    """Return the first distance in a round, in plies; ``stride`` is the number of distances in a round."""
    return 1 + stride * (step - MOVES)


def values_of(step: int, stride: int, side: int) -> list[int]:
    """Return a side's items that a step propagates, in order of distance. At equal distance, losses come first."""
    if step < MOVES:
        return [lost_in(0)] if step == START and side == BLACK else []
    distance = distance_of(step, stride)
    # The passes over all moves have already used white's wins up to distance 3 and black's losses up to distance 4.
    late = distance > SEEN
    if side == WHITE:
        values = [lost_in(distance + stride - 1), *([won_in(distance)] if late else [])]
    else:
        values = [won_in(distance + stride), *([lost_in(distance + 1)] if late else [])]
    return sorted(values, key=lambda item: (plies_of(item), not is_loss(item)))


def is_last(step: int, stride: int, longest: int) -> bool:
    """Return whether a step is the last step. If so, no new values can follow from the values found so far."""
    return step >= MOVES and distance_of(step, stride) + stride > longest


def describe_step(step: int, stride: int) -> str:
    """Return a description of a step for progress messages."""
    first = ("immediate wins", "quick losses", "quick wins, black's moves", "white's moves")
    return first[step] if step < len(first) else f"distance {distance_of(step, stride)}"


class TierPasses:
    """A tier, or a slice of a tier, while it is being solved.

    Both sides' items (``sides``), the addresses of all lower tiers' items (``lower``) and the range of rows to solve
    are stored without being copied. Each `Context` serves one thread. Kernels receive only addresses, so the contexts
    are stored here to keep their arrays alive.
    """

    def __init__(
        self,
        name: str,
        tier: int,
        stride: int,
        sides: tuple[NDArray[np.uint16], NDArray[np.uint16]],
        lower: NDArray[np.int64],
        rows: tuple[int, int],
        contexts: Sequence[Context],
    ) -> None:
        self.name, self.tier, self.stride = name, tier, stride
        self.sides, self.lower, self.rows = sides, lower, rows
        self.index = contexts[0].tiers
        self.size = len(sides[BLACK])
        # The number of items that were given each code, by side. An item whose value was improved counts twice.
        self.found = np.zeros((2, CODES), dtype=np.int64)
        self._contexts = list(contexts)
        self.directories = [directory(context) for context in contexts]

    def run(self, step: int) -> None:
        """Run one step."""
        if step == START:
            # Each kernel has to be compiled once, which takes seconds. Start now, while the first pass is running.
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
            # The rounds would miss a win in an even number of plies, or a loss in an odd number of plies.
            self.check(1)

    def longest(self) -> int:
        """Return the greatest distance found so far, in plies."""
        return int(np.flatnonzero(self.found[:, :ALIAS].any(axis=0))[-1:].sum()) >> 1

    def pass_on(self, item: int) -> None:
        """Propagate black-to-move positions with a given value. Slices override this method to send messages."""
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
        """Return the parameters of a pass that writes one side's items."""
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
        """Propagate all positions with a given value to their parents, in whichever direction takes less work."""
        parents, lost, distance = self.found[1 - side], is_loss(item), plies_of(item)
        forward = self.size - int(parents.sum())
        if lost:
            # Slower wins may turn out to be quicker, so the positions with such wins are examined too.
            forward += int(parents[2 * distance + 4 : ALIAS : 2].sum())
        limit = distance - lost
        # With a lower limit, a forward pass would again count as open some moves that have already been subtracted.
        if limit >= SEEN and is_quicker(forward, int(self.found[side, code_of(item)])):
            self.forward(FULL, 1 - side, limit)
        elif self.found[side, code_of(item)]:
            self._run(backward_pass, 1 - side, item)

    def _parts(self, *, whole_kings: bool) -> list[tuple[int, int]]:
        """Divide the rows into ranges, one for each part of the work.

        With ``whole_kings``, a tier without defenders is divided by the king's cell, since all rows with the king on
        the same cell can be evaluated together.
        """
        numbers, kings, (begin, end) = self.index.tier, self.index.square.kings, self.rows
        threads = len(self._contexts)
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
        """Run a pass that writes one side's items, part by part on all threads, and add up its counts."""
        parts = self._parts(whole_kings=whole_kings)
        workers = [(tables, np.zeros(CODES, dtype=np.int64)) for tables in self.directories]

        def run(worker: tuple[NDArray[np.int64], NDArray[np.int64]], part: tuple[int, int]) -> int:
            tables, report = worker
            return kernel(tables, self.pass_of(side, report, **asked), *item, *part)

        self.check(on_threads(workers, parts, run))
        for _, report in workers:
            self.found[side] += report

    def check(self, errors: int) -> None:
        """Raise `SolverError` if a pass has found any contradictions."""
        if errors:
            raise SolverError(f"{self.name}: {plural(errors, 'contradiction')}")


def on_threads(workers: Sequence[Worker], parts: Sequence[Part], run: Callable[[Worker, Part], int]) -> int:
    """Call a function for all parts, using one thread for each worker, and return the sum of the results.

    Each worker is used for one part at a time.
    """
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
    """Return whether a forward pass takes less work than a backward pass, given the numbers of positions to examine.

    Both directions produce the same values.
    """
    return forward < backward
