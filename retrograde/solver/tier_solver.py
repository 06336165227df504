"""Solve tiers: every position of a material a win, a loss or neither, with its distance.

The tiers that captures lead to come first. Within a tier:

1. White's wins in one ply, by all moves that escape or capture; and white without a move.
2. Black without a move: the parents of these positions are wins in one ply as well.
3. Black's losses in two plies: the search of a position ends at the first move that does not lose.
4. White's wins in three: it ends at the first that wins.
5. All moves of black, then all moves of white, where nothing is known yet; that is little.
6. Distance by distance, what is new is propagated to its parents: backward from each new
   value, or forward, by looking at each parent that is not final; whichever are fewer.

References
----------
K. Thompson, "Retrograde analysis of certain endgames", ICCA Journal 9(3), 1986;
E. Bleicher and others describe the forward initialisation with counters.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.backward import backward_pass
from retrograde.solver.kernels.forward import forward_pass, immediate_pass
from retrograde.solver.kernels.workspace import FULL, LOSSES, NOT_JUDGED, WINS, Desk, Pass, judging_room, new_workspace
from retrograde.solver.tiers import tier_graph
from tablut.engine.lines import Mover, board_lines, slide_masks
from tablut.engine.records import directory
from tablut.engine.tables import build_tables, line_masks
from tablut.engine.unmoves import build_origins
from tablut.indexing.tier_tables import tier_tables
from tablut.indexing.tiers import TierIndex
from tablut.indexing.values import ALIAS, CODES, code_of, lost_in, won_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import JudgingRoom
    from symmetry import Symmetry
    from tablut.variants import Variant

WHITE, BLACK = 0, 1
"""Sides to move, as the arrays of a tier are numbered."""
SEEN = 3
"""White's wins in so many plies are known when all moves of black are looked at."""
_TASKS = 32
"""Parts into which a tier's rows are divided, for each thread."""


class SolverError(RuntimeError):
    """The solver contradicts itself: a defect, never a property of the input."""


class TierSolver:
    """Solves the tiers of a variant, lower ones first, and keeps them in memory."""

    def __init__(
        self,
        variant: Variant,
        materials: Sequence[tuple[int, int]],
        group: Sequence[Symmetry] | None = None,
        threads: int = 1,
    ) -> None:
        self.variant = variant
        self.materials = list(materials)
        self.group = tuple(group if group is not None else variant.symmetries)
        self.threads = threads
        self.tables = build_tables(variant)
        # The solver's own passes may go by other rules; those that count what is reached may not.
        self._simpler = build_tables(rules_to_solve_by(variant))
        self.index = tier_tables(variant, self.materials, self.group)
        self.items: dict[tuple[int, int], tuple[NDArray[np.uint16], NDArray[np.uint16]]] = {}

    def size(self, material: tuple[int, int]) -> int:
        """Return the number of entries of a tier, for one side to move."""
        return int(self.index.tier.size[self.materials.index(material)])

    def new_desk(self, defenders: int, judged: JudgingRoom = NOT_JUDGED) -> Desk:
        """Return what a thread works with; see `retrograde.solver.kernels.workspace.new_workspace`."""
        workspace = new_workspace(self.variant, defenders, judged)
        return Desk(self.tables, build_origins(self.variant), self.index, workspace)

    def solving_desk(self, material: tuple[int, int]) -> Desk:
        """Return what a thread works with that solves a tier."""
        judged = judging_room(self.variant, material)
        return self.new_desk(material[1], judged)._replace(tables=self._simpler)

    def rows(self, tier: int) -> int:
        """Return the number of rows of a tier, given by its number."""
        kings = self.index.square.kings
        return int(self.index.tier.row_count[tier * kings : (tier + 1) * kings].sum())

    def tier_index(self, material: tuple[int, int]) -> TierIndex:
        """Return the plain index of a tier."""
        return TierIndex(self.variant, *material, group=self.group)

    def solve(
        self,
        material: tuple[int, int],
        allocate: Callable[[int], NDArray[np.uint16]] | None = None,
        advanced: Callable[[str], None] | None = None,
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Solve one tier; all tiers that captures lead to must be there."""
        tier = self.materials.index(material)
        make_array = allocate or (lambda size: np.zeros(size, dtype=np.uint16))
        arrays = (make_array(self.size(material)), make_array(self.size(material)))
        work = _Tier(self, tier, arrays)
        tell = advanced or (lambda _: None)
        tell("immediate wins")
        work.immediate(WHITE)
        work.immediate(BLACK)
        work.backward(BLACK, lost=True, distance=0)
        tell("quick losses and wins")
        work.forward(LOSSES, BLACK, 1, by_rows=True)
        work.forward(WINS, WHITE, 1)
        tell("black's moves")
        work.forward(FULL, BLACK, SEEN, by_rows=True)
        tell("white's moves")
        work.forward(FULL, WHITE, 1)
        distance = 1
        while distance <= work.longest():
            tell(f"distance {distance}")
            # Black has seen white's wins up to 3 and losses in 0; white black's losses up to 4 and wins in 1.
            if distance > 4:
                work.propagate(BLACK, lost=True, distance=distance)
            work.propagate(WHITE, lost=True, distance=distance)
            if distance > 1:
                work.propagate(BLACK, lost=False, distance=distance)
            if distance > SEEN:
                work.propagate(WHITE, lost=False, distance=distance)
            distance += 1
        self.items[material] = arrays
        return arrays


class _Tier:
    """One tier while it is solved."""

    def __init__(self, solver: TierSolver, tier: int, arrays: tuple[NDArray[np.uint16], NDArray[np.uint16]]) -> None:
        self.solver, self.tier, self.arrays = solver, tier, arrays
        self.rows = solver.rows(tier)
        # By side and code, how many items were given it; one that was improved counts twice.
        self.found = np.zeros((2, CODES), dtype=np.int64)
        # The kernels are given addresses; `items` keeps alive what lies there.
        self.lower = np.zeros(2 * len(solver.materials), dtype=np.int64)
        for material, (white, black) in solver.items.items():
            number = solver.materials.index(material)
            self.lower[2 * number], self.lower[2 * number + 1] = white.ctypes.data, black.ctypes.data
        attackers, defenders = solver.materials[tier]
        self._desks = [solver.solving_desk((attackers, defenders)) for _ in range(solver.threads)]
        self.directories = [directory(desk) for desk in self._desks]
        needed = tier_graph(solver.variant).successors((attackers, defenders))
        missing = sorted(material for material in needed if material not in solver.items)
        if missing:
            raise SolverError(f"tier {attackers}v{defenders}: needs {missing} first")

    def parts(self, *, whole_kings: bool) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows that cover the tier; where kings are judged as a whole, they can be kept together."""
        numbers, kings = self.solver.index.tier, self.solver.index.square.kings
        if self.solver.threads > 1 and whole_kings and numbers.column_men[self.tier] == 0:
            for by_king in range(self.tier * kings, (self.tier + 1) * kings):
                first = int(numbers.first_row[by_king])
                yield first, first + int(numbers.row_count[by_king])
            return
        count = min(self.rows, _TASKS * self.solver.threads) if self.solver.threads > 1 else 1
        for part in range(count):
            yield part * self.rows // count, (part + 1) * self.rows // count

    def longest(self) -> int:
        """Return the greatest distance so far."""
        return int(np.flatnonzero(self.found[:, :ALIAS].any(axis=0))[-1:].sum()) >> 1

    def task(
        self, side: int, report: NDArray[np.int64], mode: int = FULL, limit: int = 0, *, by_rows: bool = False
    ) -> Pass:
        """Return what a pass is given that writes the items of a side."""
        return Pass(
            self.tier, side, mode, limit, int(by_rows), self.arrays[side], self.arrays[1 - side], self.lower, report
        )

    def immediate(self, side: int) -> None:
        """Run the first pass over all rows."""

        def run(desk: NDArray[np.int64], report: NDArray[np.int64], first: int, last: int) -> int:
            return immediate_pass(desk, self.task(side, report), first, last)

        self.found[side] += self._share(run, whole_kings=True)

    def forward(self, mode: int, side: int, limit: int, *, by_rows: bool = False) -> None:
        """Run a forward pass over all rows."""

        def run(desk: NDArray[np.int64], report: NDArray[np.int64], first: int, last: int) -> int:
            return forward_pass(desk, self.task(side, report, mode, limit, by_rows=by_rows), first, last)

        self.found[side] += self._share(run, whole_kings=by_rows)

    def propagate(self, side: int, *, lost: bool, distance: int) -> None:
        """Propagate all positions of one value to their parents, in whichever direction is shorter."""
        parents = self.found[1 - side]
        forward = len(self.arrays[side]) - int(parents.sum())
        if lost:
            # Wins may become quicker.
            forward += int(parents[2 * distance + 4 : ALIAS : 2].sum())
        limit = distance - lost
        # What has been seen of the other side's wins must not be forgotten.
        if limit >= SEEN and is_quicker(forward, int(self.found[side, distance << 1 | lost])):
            self.forward(FULL, 1 - side, limit)
        else:
            self.backward(side, lost=lost, distance=distance)

    def backward(self, side: int, *, lost: bool, distance: int) -> None:
        """Propagate all positions of one value, with a side to move, backward; nothing to do if there are none."""
        item = lost_in(distance) if lost else won_in(distance)
        if not self.found[side, code_of(item)]:
            return

        def run(desk: NDArray[np.int64], report: NDArray[np.int64], first: int, last: int) -> int:
            return backward_pass(desk, self.task(1 - side, report), item, first, last)

        self.found[1 - side] += self._share(run)

    def _share(
        self, run: Callable[[NDArray[np.int64], NDArray[np.int64], int, int], int], *, whole_kings: bool = False
    ) -> NDArray[np.int64]:
        """Run a pass part by part, on all threads, and return what it reports."""
        solver = self.solver
        parts = list(self.parts(whole_kings=whole_kings))
        free = [(desk, np.zeros(CODES, dtype=np.int64)) for desk in self.directories]
        reports = [report for _, report in free]
        if len(parts) == 1:
            errors = run(*free[0], *parts[0])
        else:

            def task(part: tuple[int, int]) -> int:
                mine = free.pop()
                try:
                    return run(*mine, *part)
                finally:
                    free.append(mine)

            with ThreadPoolExecutor(max_workers=solver.threads) as pool:
                errors = sum(pool.map(task, parts))
        if errors:
            attackers, defenders = solver.materials[self.tier]
            raise SolverError(f"tier {attackers}v{defenders} of {solver.variant.name}: {errors} contradictions")
        total: NDArray[np.int64] = np.sum(reports, axis=0)
        return total


def is_quicker(forward: int, backward: int) -> bool:
    """Return whether it is less work to look at parents than to propagate from successors; the values are the same."""
    return forward < backward


def codes_of(items: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return the codes of items, see `tablut.indexing.values`; aliases give 0."""
    codes: NDArray[np.uint16] = code_of(items)
    return codes


# -- the rules by which a game is solved -------------------------------------------------------


def rules_to_solve_by(variant: Variant) -> Variant:
    """Return a variant of which every undecided position has the same value, with rules that take less work."""
    if variant.rules.no_moves != "either_after_ply" or not slides_can_be_taken_back(variant):
        return variant
    return replace(variant, rules=variant.rules.model_copy(update={"no_moves": "side_to_move_loses"}))


def slides_can_be_taken_back(variant: Variant) -> bool:
    """Return whether every piece may slide back to where it came from, whatever else stands on the line."""
    regions = variant.regions
    standing: dict[Mover, AbstractSet[int]] = {
        "attacker": regions.free_cells | regions.camp_cells,
        "defender": regions.free_cells,
        "king": regions.king_cells,
    }
    for mover, cells in standing.items():
        # Most lines are alike.
        lines = set(zip(board_lines(variant), line_masks(cells, variant.size).tolist(), strict=True))
        if not all(_can_be_taken_back(slide_masks(variant, terrain, mover), mask) for terrain, mask in lines):
            return False
    return True


def _can_be_taken_back(slides: NDArray[np.uint16], standing: int) -> bool:
    """Return whether the slides of a line that begin on some of its places all have a way back."""
    size = len(slides)
    occupancy = np.arange(1 << size)
    for start in (place for place in range(size) if standing >> place & 1):
        left = occupancy & ~(1 << start)
        for target in range(size):
            goes = slides[start] >> target & 1 != 0
            if (goes & (slides[target, left] >> start & 1 == 0)).any():
                return False
    return True
