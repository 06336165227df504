"""Solve tiers: every position of a material a win, a loss or neither, with its distance.

The tiers that captures lead to come first. Within a tier:

1. White's immediate wins, and white without a move.
2. Black without a move: the parents of these positions are immediate wins as well, so that
   now all wins of white in one ply are known.
3. All black moves: most losses of black are losses in two plies and found here.
4. All white moves, except where white has won at once.
5. Distance by distance, what is new is told to the parents.

Steps 1 to 4 visit every position once, forward; most positions are decided by them. Only
the rest is worked out backwards. What is left open in the end, neither side can force.

References
----------
K. Thompson, "Retrograde analysis of certain endgames", ICCA Journal 9(3), 1986;
E. Bleicher and others describe the forward initialisation with counters.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from retrograde.kernels.backward import TOLD, WORST, backward_pass
from retrograde.kernels.codes import DECIDED
from retrograde.kernels.forward import FULL, IMMEDIATE, STUCK, forward_pass
from retrograde.kernels.reverse import reverse_slides
from retrograde.kernels.workspace import new_workspace
from retrograde.tiers import tier_graph
from tablut.engine.tables import build_tables
from tablut.indexing.tier_kernels import tier_tables
from tablut.indexing.tiers import TierIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from retrograde.kernels.workspace import Workspace
    from symmetry import Symmetry
    from tablut.variants import Variant

__all__ = ["SolverError", "TierSolver", "codes_of"]

WHITE, BLACK = 0, 1
_TASKS = 32
"""Parts into which a tier's rows are divided, for each thread."""
_COUNTED = 1 << 20
"""Items counted together; all at once, the count took four times the memory of the tier."""


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
        `retrograde.kernels.codes`.

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
        self._workspaces = [new_workspace(variant, defenders) for _ in range(threads)]

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
        work.forward(IMMEDIATE, WHITE)
        work.forward(STUCK, BLACK)
        work.backward(BLACK, lost=True, distance=0)
        tell("black's moves")
        work.forward(FULL, BLACK)
        work.backward(WHITE, lost=True, distance=0)
        tell("white's moves")
        work.forward(FULL, WHITE)
        work.count()
        distance = 1
        while distance <= work.longest:
            tell(f"distance {distance}")
            # The forward passes have told white of black's losses up to 2, and both of wins in 1.
            if distance > 2:
                work.backward(BLACK, lost=True, distance=distance)
            work.backward(WHITE, lost=True, distance=distance)
            if distance > 1:
                work.backward(BLACK, lost=False, distance=distance)
                work.backward(WHITE, lost=False, distance=distance)
            distance += 1
        self.items[material] = arrays
        return arrays


class _Tier:
    """One tier while it is solved."""

    def __init__(self, solver: TierSolver, tier: int, arrays: tuple[NDArray[np.uint16], NDArray[np.uint16]]) -> None:
        self.solver, self.tier, self.arrays = solver, tier, arrays
        kings = solver.index.kings
        self.rows = int(solver.index.row_count[tier * kings : (tier + 1) * kings].sum())
        self.longest = 0
        self.known: Counter[tuple[int, int]] = Counter()
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

    def forward(self, mode: int, side: int) -> None:
        """Run a forward pass over all rows."""
        solver = self.solver
        mine, theirs = self.arrays[side], self.arrays[1 - side]

        def run(workspace: Workspace, first: int, last: int) -> int:
            return forward_pass(
                solver.tables, solver.index, workspace, mode, self.tier, side, first, last, 1, mine, theirs, self.lower
            )

        self._share(run)

    def backward(self, side: int, *, lost: bool, distance: int) -> None:
        """Tell the parents of all positions of one value; nothing to do if there are none."""
        code = distance << 1 | lost
        if distance > 0 and not self.known[side, code]:
            return
        solver = self.solver
        items, parents = self.arrays[side], self.arrays[1 - side]
        reports = []

        def run(workspace: Workspace, first: int, last: int) -> int:
            report = np.zeros(16, dtype=np.int64)
            reports.append(report)
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

        self._share(run)
        told = sum(int(report[TOLD]) for report in reports)
        if told:
            worst = max(int(report[WORST]) for report in reports)
            self.longest = max(self.longest, worst)
            # Losses may be longer than their children by a capture: any distance up to the worst is possible.
            for later in range(distance + 1, worst + 1):
                self.known[1 - side, later << 1 | (not lost)] += told

    def count(self) -> None:
        """Count the values that are known after the forward passes."""
        for side in (WHITE, BLACK):
            codes = np.zeros(DECIDED, dtype=np.int64)
            for start in range(0, len(self.arrays[side]), _COUNTED):
                part = np.bincount(codes_of(self.arrays[side][start : start + _COUNTED]))
                codes[: len(part)] += part
            found = np.flatnonzero(codes)
            self.known.update({(side, int(code)): int(codes[code]) for code in found})
            self.longest = max(self.longest, int(found[-1]) >> 1)

    def _share(self, run: Callable[[Workspace, int, int], int]) -> None:
        solver = self.solver
        parts = list(self.parts())
        if len(parts) == 1:
            errors = run(solver._workspaces[0], *parts[0])
        else:
            free = list(solver._workspaces)

            def task(part: tuple[int, int]) -> int:
                workspace = free.pop()
                try:
                    return run(workspace, *part)
                finally:
                    free.append(workspace)

            with ThreadPoolExecutor(max_workers=solver.threads) as pool:
                errors = sum(pool.map(task, parts))
        if errors:
            attackers, defenders = solver.materials[self.tier]
            raise SolverError(f"tier {attackers}v{defenders} of {solver.variant.name}: {errors} contradictions")


def codes_of(items: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return the codes of items: 0 not forced, ``2 d`` a win in d plies, ``2 d + 1`` a loss; aliases give 0."""
    return np.where(items & DECIDED, items & ~np.uint16(DECIDED), 0).astype(np.uint16)
