"""How large the sampled spaces are, and how many classes they have up to the symmetries that keep the start."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from counting.reachable.drawing import drawer_for
from counting.reachable.endings import ending_index
from counting.reachable.intervals import SpaceSizes
from counting.spaces import FINAL, fixed_material, spaces
from symmetry import count_orbits
from tablut.engine import engine_for

if TYPE_CHECKING:
    from counting.reachable.certificates import Space
    from tablut.variants import Variant


@lru_cache(maxsize=32)
def space_sizes(variant: Variant, space: Space) -> SpaceSizes:
    """Return the sizes of a space."""
    group, known = engine_for(variant).group, spaces(variant)
    names = ("no_end",) if space == "undecided" else FINAL
    classes = sum(
        count_orbits(group, lambda symmetry, name=name: fixed_material(known[name], symmetry).total())  # type: ignore[misc]
        for name in names
    )
    if space == "undecided":
        return SpaceSizes(drawer_for(variant).size, 2 * classes, len(group))
    return SpaceSizes(ending_index(variant).size, classes, len(group))
