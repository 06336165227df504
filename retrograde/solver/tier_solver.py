"""The tiers of a game in memory, solved one after the other; those that captures lead to come first.

The rules by which a game is solved are its own, or simpler ones under which every value is the same. Under
``either_after_ply`` a ply ends the game if it leaves either side without a move, so that
after each move both sides must be asked. Where every slide can be taken back, the side that has just
moved always has a move: back to where it came from, for a capture only makes room. Then a ply
ends the game if and only if it leaves the other side without a move, and that side would lose at once under
``side_to_move_loses`` as well, in as many plies. So all values are those of that rule.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.workspace import NOT_JUDGED, Desk, judging_room, new_workspace
from retrograde.solver.passes import SolverError, TierPasses, describe_step, is_last
from retrograde.solver.tiers import tier_graph
from tablut.engine.lines import Mover, board_lines, slide_masks
from tablut.engine.tables import build_tables, line_masks
from tablut.engine.unmoves import build_origins
from tablut.indexing.tier_tables import tier_tables
from tablut.indexing.tiers import TierIndex, tier_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import JudgingRoom
    from symmetry import Symmetry
    from tablut.variants import Variant


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

    @property
    def stride(self) -> int:
        """How many distances a round of passes takes together.

        Where whoever makes the last ply wins, wins take an odd number of plies and losses an even one.
        """
        return 1 if self._simpler.either_after_ply else 2

    def rows(self, tier: int) -> int:
        """Return the number of rows of a tier, given by its number."""
        kings = self.index.square.kings
        return int(self.index.tier.row_count[tier * kings : (tier + 1) * kings].sum())

    def tier_index(self, material: tuple[int, int]) -> TierIndex:
        """Return the plain index of a tier."""
        return tier_index(self.variant, *material, self.group)

    def solve(
        self, material: tuple[int, int], advanced: Callable[[str], None] | None = None
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Solve one tier; all tiers that captures lead to must be there."""
        missing = sorted(below for below in tier_graph(self.variant).successors(material) if below not in self.items)
        if missing:
            raise SolverError(f"tier {material[0]}v{material[1]}: needs {missing} first")
        tier, size = self.materials.index(material), self.size(material)
        sides = np.zeros(size, dtype=np.uint16), np.zeros(size, dtype=np.uint16)
        # The kernels are given addresses; `items` keeps alive what lies there.
        lower = np.zeros(2 * len(self.materials), dtype=np.int64)
        for below, (white, black) in self.items.items():
            number = self.materials.index(below)
            lower[2 * number : 2 * number + 2] = white.ctypes.data, black.ctypes.data
        name = f"tier {material[0]}v{material[1]} of {self.variant.name}"
        desks = [self.solving_desk(material) for _ in range(self.threads)]
        work = TierPasses(name, tier, self.stride, sides, lower, (0, self.rows(tier)), desks)
        for step in itertools.count():
            if advanced is not None:
                advanced(describe_step(step, self.stride))
            work.run(step)
            if is_last(step, self.stride, work.longest()):
                break
        self.items[material] = sides
        return sides


# -- the rules by which a game is solved -------------------------------------------------------


def rules_to_solve_by(variant: Variant) -> Variant:
    """Return a variant of which every undecided position has the same value, with rules that take less work."""
    # Encirclement and forts end games by a ply that need not leave anybody stuck.
    rules = variant.rules
    afar = rules.encirclement != "none" or rules.fort != "none"
    if rules.no_moves != "either_after_ply" or afar or not slides_can_be_taken_back(variant):
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
    occupancy = np.arange(slides.shape[1])
    for start in (place for place in range(size) if standing >> place & 1):
        left = occupancy & ~(1 << start)
        for target in range(size):
            goes = slides[start] >> target & 1 != 0
            if (goes & (slides[target, left] >> start & 1 == 0)).any():
                return False
    return True
