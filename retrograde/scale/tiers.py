"""What of the model is counted: the classes of tiers, their rows, what a slice sees, and what fits into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retrograde.solver.kernels.workspace import judging_room
from retrograde.solver.tiers import least_memory, tier_bytes, tier_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrograde.scale.records import Windows
    from tablut.variants import Variant

__all__ = ["CountedTiers", "SlicedPlan"]

_ITEM: Final = 2
_MOST_SLICES: Final = 1 << 20
_FINER: Final = 1.1

Material = tuple[int, int]


class SlicedPlan(NamedTuple):
    """How a tier is built with so much memory."""

    slices: int
    seen: float


class CountedTiers:
    """The tiers of a game."""

    def __init__(self, variant: Variant, windows: Sequence[Windows]) -> None:
        self.variant, self.graph = variant, tier_graph(variant)
        self._windows = {one.defenders: one for one in windows}
        self._plans: dict[tuple[Material, int], SlicedPlan | None] = {}

    def classes(self, material: Material) -> int:
        """Return about how many classes a tier has, with either side to move."""
        return -(-int(self.graph.nodes[material]["positions"]) // len(self.variant.symmetries))

    def rows(self, defenders: int) -> int:
        """Return the rows of tiers with so many defenders."""
        return self._windows[defenders].rows

    def seen(self, defenders: int, slices: float) -> float:
        """Return how many times its own rows a slice sees."""
        windows = self._windows[defenders]
        return float(np.exp(np.interp(np.log(slices), np.log(windows.slices), np.log(windows.seen))))

    def plan(self, material: Material, memory: int) -> SlicedPlan | None:
        """Return how a tier is built with so much memory for each worker."""
        if (material, memory) not in self._plans:
            self._plans[material, memory] = self._find_plan(material, memory)
        return self._plans[material, memory]

    def _find_plan(self, material: Material, memory: int) -> SlicedPlan | None:
        if tier_bytes(self.variant, material) <= memory:
            return SlicedPlan(0, 1.0)
        left = memory - least_memory(self.variant, material)
        if not material[1] or left <= 0:
            return None
        own = self.classes(material) / 2
        lower = sum(self.classes(tier) / 2 for tier in self.graph.successors(material) if tier[1])
        slices = 1.0
        while slices <= min(self.rows(material[1]), _MOST_SLICES):
            seen = self.seen(material[1], slices)
            # Of the tiers below, as large a part as is seen of the tier itself.
            entries = own * (1 + seen) / slices + lower * min(1.0, seen / slices)
            if _ITEM * entries <= left:
                return SlicedPlan(round(slices), seen)
            slices *= _FINER
        return None

    def plans(self, tiers: Sequence[Material], memory: int) -> dict[Material, SlicedPlan] | None:
        """Return how some tiers are built with so much memory for each worker."""
        found = {}
        for material in tiers:
            plan = self.plan(material, memory)
            if plan is None:
                return None
            found[material] = plan
        return found

    def finer(self, material: Material, slices: int) -> SlicedPlan:
        """Return the plan of a tier that is cut into so many slices, or one for each row."""
        count = min(slices, self.rows(material[1]))
        return SlicedPlan(count, self.seen(material[1], count))

    def judged(self, material: Material) -> bool:
        """Return whether the rows of a tier are judged as a whole."""
        return judging_room(self.variant, material).men > 0
