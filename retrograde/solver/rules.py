"""The rules by which a game is solved: its own, or simpler ones under which every value is the same.

Under ``either_after_ply`` a ply ends the game if it leaves either side without a move, so that
after each move both sides must be asked. Where every slide can be taken back, the side that has just
moved always has a move: back to where it came from, for a capture only makes room. Then a ply
ends the game if and only if it leaves the other side without a move, and that side would lose at once under
``side_to_move_loses`` as well, in as many plies. So all values are those of that rule.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.lines import Mover, board_lines, slide_masks
from tablut.engine.tables import line_masks

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from tablut.variants import Variant


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
