"""A solver that keeps a game's tiers in memory. Each tier is solved after the tiers that captures lead to.

A game is solved under its own rules, or under simpler rules that leave the value of every position unchanged. Under
``either_after_ply``, a ply ends the game if it leaves either side without a legal move, so both sides must be checked
after each move. If every slide can be reversed, however, the side that has just moved always has a legal move: it can
move back, since a capture only empties cells. A ply then ends the game if and only if it leaves the other side without
a legal move. Under ``side_to_move_loses``, the side without a legal move also loses, and in the same number of plies.
The two rules therefore produce the same values.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.context import Context, new_context, row_array_sizes
from retrograde.solver.passes import SolverError, TierPasses, describe_step, is_last
from retrograde.solver.tier_graph import tier_graph
from tablut.engine.tables import Mover, board_lines, build_tables, line_masks, slide_masks
from tablut.indexing.tier_tables import tier_tables
from tablut.indexing.tiers import TierIndex, tier_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from symmetry import Symmetry
    from tablut.variants import Variant


class TierSolver:
    """Solver that keeps the items for a variant's tiers in memory. Lower tiers must be solved first."""

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
        # Simpler rules may be used for solving, but not for marking reachable positions.
        self._simpler = build_tables(rules_to_solve_by(variant))
        self.index = tier_tables(variant, self.materials, self.group)
        self.items: dict[tuple[int, int], tuple[NDArray[np.uint16], NDArray[np.uint16]]] = {}

    def size(self, material: tuple[int, int]) -> int:
        """Return the number of entries in a tier for one side to move."""
        return int(self.index.tier.size[self.materials.index(material)])

    def new_context(self, defenders: int) -> Context:
        """Return the tables and memory for a thread that works on tiers with up to ``defenders`` defenders."""
        return new_context(self.variant, self.tables, self.index, defenders)

    def solving_context(self, material: tuple[int, int]) -> Context:
        """Return the tables and memory for a thread that solves a tier."""
        sizes = row_array_sizes(self.variant, material)
        return new_context(self.variant, self._simpler, self.index, material[1], sizes)

    @property
    def stride(self) -> int:
        """Number of distances that a round of passes covers.

        The stride is 2 if the side that makes the last ply always wins. In this case, all wins take an odd number of
        plies, and all losses take an even number.
        """
        return 1 if self._simpler.either_after_ply else 2

    def rows(self, tier: int) -> int:
        """Return the number of rows in the tier with a given number."""
        kings = self.index.square.kings
        return int(self.index.tier.row_count[tier * kings : (tier + 1) * kings].sum())

    def tier_index(self, material: tuple[int, int]) -> TierIndex:
        """Return a tier's plain Python index."""
        return tier_index(self.variant, *material, self.group)

    def solve(
        self, material: tuple[int, int], advanced: Callable[[str], None] | None = None
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Solve one tier. All tiers that captures lead to must have been solved already."""
        missing = sorted(below for below in tier_graph(self.variant).successors(material) if below not in self.items)
        if missing:
            raise SolverError(f"tier {material[0]}v{material[1]}: needs {missing} first")
        tier, size = self.materials.index(material), self.size(material)
        sides = np.zeros(size, dtype=np.uint16), np.zeros(size, dtype=np.uint16)
        # The kernels receive only addresses, and `items` keeps the arrays alive.
        lower = np.zeros(2 * len(self.materials), dtype=np.int64)
        for below, (white, black) in self.items.items():
            number = self.materials.index(below)
            lower[2 * number : 2 * number + 2] = white.ctypes.data, black.ctypes.data
        name = f"tier {material[0]}v{material[1]} of {self.variant.name}"
        contexts = [self.solving_context(material) for _ in range(self.threads)]
        work = TierPasses(name, tier, self.stride, sides, lower, (0, self.rows(tier)), contexts)
        for step in itertools.count():
            if advanced is not None:
                advanced(describe_step(step, self.stride))
            work.run(step)
            if is_last(step, self.stride, work.longest()):
                break
        self.items[material] = sides
        return sides


# -- the rules under which a game is solved ----------------------------------------------------


def rules_to_solve_by(variant: Variant) -> Variant:
    """Return a variant with simpler rules that leave the value of every undecided position unchanged.

    If the rules cannot be simplified, the result is the given variant.
    """
    # An encirclement or a fort ends the game even though both sides may have legal moves.
    rules = variant.rules
    afar = rules.encirclement != "none" or rules.fort != "none"
    if rules.no_moves != "either_after_ply" or afar or not slides_can_be_taken_back(variant):
        return variant
    return replace(variant, rules=variant.rules.model_copy(update={"no_moves": "side_to_move_loses"}))


def slides_can_be_taken_back(variant: Variant) -> bool:
    """Return whether every slide can be reversed by the same piece, whatever else stands on the line."""
    regions = variant.regions
    standing: dict[Mover, AbstractSet[int]] = {
        "attacker": regions.soldier_cells,
        "defender": regions.free_cells,
        "king": regions.king_cells,
    }
    for mover, cells in standing.items():
        # Most lines are alike. Check each kind of line only once.
        lines = set(zip(board_lines(variant), line_masks(cells, variant.size).tolist(), strict=True))
        if not all(_can_be_taken_back(slide_masks(variant, terrain, mover), mask) for terrain, mask in lines):
            return False
    return True


def _can_be_taken_back(slides: NDArray[np.uint16], standing: int) -> bool:
    """Return whether every slide along a line can be reversed if it begins on one of the places in ``standing``."""
    size = len(slides)
    occupancy = np.arange(slides.shape[1])
    for start in (place for place in range(size) if standing >> place & 1):
        left = occupancy & ~(1 << start)
        for target in range(size):
            goes = slides[start] >> target & 1 != 0
            if (goes & (slides[target, left] >> start & 1 == 0)).any():
                return False
    return True
