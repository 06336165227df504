"""How much room a thread needs to judge the rows of a tier as a whole; see `retrograde.solver.kernels.rows`.

The kernels check no bounds: what `judging_room` says is what they index, for every row of the tier.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tablut.variants import Variant

__all__ = ["NOT_JUDGED", "JudgingRoom", "judging_room"]

_MOST_MEN: Final = 5
"""Attackers of a tier up to which its rows are judged: what it takes grows with the choices of all but one."""


class JudgingRoom(NamedTuple):
    """Lengths of the arrays of `retrograde.solver.kernels.workspace.RowMasks`.

    Attributes
    ----------
    men : int
        The attackers of the tier's positions; 0 if its rows are not judged.
    masks, marks : int
        A mask for each line, and a mark for each cell, of every choice of all attackers but one.
    columns : int
        Without defenders the choices of all attackers: what a king's rows are spread out to.
    """

    men: int
    masks: int
    marks: int
    columns: int

    @property
    def bytes(self) -> int:
        """What the arrays take, the items of both sides among them."""
        return 2 * self.masks + self.marks + 2 * 2 * self.columns


NOT_JUDGED: Final = JudgingRoom(0, 0, 0, 0)


def judging_room(variant: Variant, material: tuple[int, int]) -> JudgingRoom:
    """Return the room to judge a tier, none if its rows are not judged.

    A row leaves fewer cells to the attackers than there are, so no choice of theirs has a number beyond these.
    """
    attackers, defenders = material
    if attackers > _MOST_MEN:
        return NOT_JUDGED
    cells = len(variant.regions.free_cells | variant.regions.camp_cells)
    choices = comb(cells, attackers - 1)
    columns = 0 if defenders else comb(cells, attackers)
    return JudgingRoom(attackers, 2 * variant.size * choices, cells * choices, columns)
