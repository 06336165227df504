"""Which symmetries a position has, from its lists of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.jit import I64, advance, called, inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.indexing.tier_tables import TierTables


@inlined
def _keeps(table: NDArray[np.uint8], cells: NDArray[np.uint8], count: int) -> bool:
    """Return whether a permutation maps a list of cells to the same cells."""
    for k in range(count):
        found = False
        for other in range(count):
            found |= cells[other] == table[I64(cells[k])]
        if not found:
            return False
    return True


@inlined
def _is_kept(
    x: TierTables, tier: int, element: int, king: int, black: NDArray[np.uint8], white: NDArray[np.uint8]
) -> bool:
    """Return whether an element of the group keeps a position."""
    table = advance(x.square.image, element * x.square.cells)
    if I64(table[king]) != king:
        return False
    return _keeps(table, black, x.tier.attackers[tier]) and _keeps(table, white, x.tier.defenders[tier])


@called
def has_symmetry(x: TierTables, tier: int, king: int, black: NDArray[np.uint8], white: NDArray[np.uint8]) -> bool:
    """Return whether an element of the group other than the identity keeps a position; O(elements * men * men)."""
    for element in range(1, x.square.elements):
        kept = _is_kept(x, tier, element, king, black, white)
        if kept:
            return True
    return False


@called
def symmetry_order(x: TierTables, tier: int, king: int, black: NDArray[np.uint8], white: NDArray[np.uint8]) -> int:
    """Return how many elements of the group keep a position; O(elements * men * men)."""
    count = I64(1)
    for element in range(1, x.square.elements):
        count += I64(_is_kept(x, tier, element, king, black, white))
    return count
