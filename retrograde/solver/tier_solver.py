"""Solve tiers: every position of a material a win, a loss or neither, with its distance.

The tiers that captures lead to come first. Within a tier:

1. White's wins in one ply, by all moves that escape or capture; and white without a move.
2. Black without a move: the parents of these positions are wins in one ply as well.
3. Black's losses in two plies: the search of a position ends at the first move that does not lose.
4. White's wins in three: it ends at the first that wins.
5. All moves of black, then all moves of white, where nothing is known yet; that is little.
6. Distance by distance, what is new becomes known to its parents. Either it is told to them,
   read backwards from each new value, or they ask, forward from each parent that is not
   final: whichever are fewer.

References
----------
K. Thompson, "Retrograde analysis of certain endgames", ICCA Journal 9(3), 1986;
E. Bleicher and others describe the forward initialisation with counters.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.backward import backward_pass
from retrograde.solver.kernels.codes import ALIAS, CODES, DECIDED
from retrograde.solver.kernels.forward import FULL, LOSSES, WINS, forward_pass
from retrograde.solver.kernels.immediate import immediate_pass
from retrograde.solver.kernels.reverse import reverse_slides
from retrograde.solver.kernels.workspace import new_workspace
from retrograde.solver.tier_graph import tier_graph
from tablut.engine.tables import build_tables
from tablut.indexing.tier_kernels import tier_tables
from tablut.indexing.tiers import TierIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Workspace
    from symmetry import Symmetry
    from tablut.variants import Variant

__all__ = ["SolverError", "TierSolver", "codes_of"]

WHITE, BLACK = 0, 1
_SEEN = 3
"""White's wins in so many plies are known when all moves of black are looked at."""
_TASKS = 32
"""Parts into which a tier's rows are divided, for each thread."""


class SolverError(RuntimeError):
    """The solver contradicts itself: a defect, never a property of the input."""


class TierSolver:
    """Solves the tiers of a variant, lower ones first, and keeps them in memory.

    Parameters
    ----------
    variant : Variant
        The rule set.
    materials : sequence of (attackers, defenders)
        All tiers that will be solved or given.
    group : sequence of Symmetry, optional
        Symmetries of the rules that form a group; by default all.
    threads : int
        Number of threads.

    Attributes
    ----------
    items : dict of (int, int) to tuple of ndarray of uint16
        For each tier solved so far, its items with white and with black to move; see
        `retrograde.solver.kernels.codes`.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> solver = TierSolver(load_variant("ashton"), [(1, 0)])
    >>> white, black = solver.solve((1, 0))
    >>> len(white), codes_of(white)[:4].tolist(), codes_of(black)[:4].tolist()
    (466, [2, 2, 2, 2], [5, 5, 5, 5])
    """

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
        self.index = tier_tables(variant, self.materials, self.group)
        self.items: dict[tuple[int, int], tuple[NDArray[np.uint16], NDArray[np.uint16]]] = {}
        self._reverse = reverse_slides(self.tables)
        defenders = max(defenders for _, defenders in self.materials)
        trails = max((attackers for attackers, defenders in self.materials if defenders), default=0)
        self._workspaces = [new_workspace(variant, defenders, trails) for _ in range(threads)]

    def size(self, material: tuple[int, int]) -> int:
        """Return the number of entries of a tier, for one side to move."""
        return int(self.index.size[self.materials.index(material)])

    def tier_index(self, material: tuple[int, int]) -> TierIndex:
        """Return the plain index of a tier."""
        return TierIndex(self.variant, *material, group=self.group)

    def solve(
        self,
        material: tuple[int, int],
        allocate: Callable[[int], NDArray[np.uint16]] | None = None,
        advanced: Callable[[str], None] | None = None,
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Solve one tier; all tiers that captures lead to must be there.

        Parameters
        ----------
        material : (int, int)
            Attackers and defenders.
        allocate : callable, optional
            Returns an array of zeros of so many items; by default in memory.
        advanced : callable, optional
            Told what is being done.

        Returns
        -------
        white, black : ndarray of uint16, shape (size,)
            The items; also kept in ``items``.

        Raises
        ------
        SolverError
            If the solver contradicts itself.
        """
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
        work.forward(FULL, BLACK, _SEEN, by_rows=True)
        tell("white's moves")
        work.forward(FULL, WHITE, 1)
        distance = 1
        while distance <= work.longest():
            tell(f"distance {distance}")
            # Black has seen white's wins up to 3 and losses in 0; white black's losses up to 4 and wins in 1.
            if distance > 4:
                work.spread(BLACK, lost=True, distance=distance)
            work.spread(WHITE, lost=True, distance=distance)
            if distance > 1:
                work.spread(BLACK, lost=False, distance=distance)
            if distance > _SEEN:
                work.spread(WHITE, lost=False, distance=distance)
            distance += 1
        self.items[material] = arrays
        return arrays


class _Tier:
    """One tier while it is solved."""

    def __init__(self, solver: TierSolver, tier: int, arrays: tuple[NDArray[np.uint16], NDArray[np.uint16]]) -> None:
        self.solver, self.tier, self.arrays = solver, tier, arrays
        kings = solver.index.kings
        self.rows = int(solver.index.row_count[tier * kings : (tier + 1) * kings].sum())
        # By side and code, how many items were given it; one that was improved counts twice.
        self.known = np.zeros((2, CODES), dtype=np.int64)
        # The kernels are given addresses; `items` keeps alive what lies there.
        self.lower = np.zeros(2 * len(solver.materials), dtype=np.int64)
        for material, (white, black) in solver.items.items():
            number = solver.materials.index(material)
            self.lower[2 * number], self.lower[2 * number + 1] = white.ctypes.data, black.ctypes.data
        attackers, defenders = solver.materials[tier]
        needed = tier_graph(solver.variant).successors((attackers, defenders))
        missing = sorted(material for material in needed if material not in solver.items)
        if missing:
            raise SolverError(f"tier {attackers}v{defenders}: needs {missing} first")

    def parts(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows that cover the tier."""
        count = min(self.rows, _TASKS * self.solver.threads) if self.solver.threads > 1 else 1
        for part in range(count):
            yield part * self.rows // count, (part + 1) * self.rows // count

    def longest(self) -> int:
        """Return the greatest distance so far."""
        return int(np.flatnonzero(self.known[:, :ALIAS].any(axis=0))[-1:].sum()) >> 1

    def immediate(self, side: int) -> None:
        """Run the first pass over all rows."""
        solver, items = self.solver, self.arrays[side]

        def run(workspace: Workspace, report: NDArray[np.int64], first: int, last: int) -> int:
            return immediate_pass(
                solver.tables, solver.index, workspace, self.tier, side, first, last, items, self.lower, report
            )

        self.known[side] += self._share(run)

    def forward(self, mode: int, side: int, limit: int, *, by_rows: bool = False) -> None:
        """Run a forward pass over all rows."""
        solver = self.solver
        mine, theirs = self.arrays[side], self.arrays[1 - side]

        def run(workspace: Workspace, report: NDArray[np.int64], first: int, last: int) -> int:
            return forward_pass(
                solver.tables,
                solver.index,
                workspace,
                mode,
                self.tier,
                side,
                first,
                last,
                limit,
                by_rows,
                mine,
                theirs,
                self.lower,
                report,
            )

        self.known[side] += self._share(run)

    def spread(self, side: int, *, lost: bool, distance: int) -> None:
        """Let the parents of all positions of one value know it, on whichever way is shorter."""
        parents = self.known[1 - side]
        asking = len(self.arrays[side]) - int(parents.sum())
        if lost:
            # Wins may become quicker.
            asking += int(parents[2 * distance + 4 : ALIAS : 2].sum())
        limit = distance - lost
        # What has been seen of the other side's wins must not be forgotten.
        if limit >= _SEEN and is_quicker(asking, int(self.known[side, distance << 1 | lost])):
            self.forward(FULL, 1 - side, limit)
        else:
            self.backward(side, lost=lost, distance=distance)

    def backward(self, side: int, *, lost: bool, distance: int) -> None:
        """Tell the parents of all positions of one value; nothing to do if there are none."""
        if not self.known[side, distance << 1 | lost]:
            return
        solver = self.solver
        items, parents = self.arrays[side], self.arrays[1 - side]

        def run(workspace: Workspace, report: NDArray[np.int64], first: int, last: int) -> int:
            return backward_pass(
                solver.tables,
                solver.index,
                workspace,
                solver._reverse,
                self.tier,
                side,
                lost,
                distance,
                first,
                last,
                items,
                parents,
                self.lower,
                report,
            )

        self.known[1 - side] += self._share(run)

    def _share(self, run: Callable[[Workspace, NDArray[np.int64], int, int], int]) -> NDArray[np.int64]:
        """Run a pass part by part, on all threads, and return what it reports."""
        solver = self.solver
        parts = list(self.parts())
        free = [(workspace, np.zeros(CODES, dtype=np.int64)) for workspace in solver._workspaces]
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


def is_quicker(asking: int, telling: int) -> bool:
    """Return whether so many parents ask for less than so many children tell; the values are the same."""
    return asking < telling


def codes_of(items: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return the codes of items: 0 not forced, ``2 d`` a win in d plies, ``2 d + 1`` a loss; aliases give 0."""
    return np.where(items & DECIDED, items & ~np.uint16(DECIDED), 0).astype(np.uint16)
