"""What a ply of the open position leads to: the item below of a capture, and whether a quiet move can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.attacks import slides_along
from tablut.engine.jit import I64, address_of, called, inlined
from tablut.engine.layout import coordinates, count_of, king_of, occupied
from tablut.indexing.tier_kernels import TierTables, entry_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from retrograde.kernels.workspace import Workspace
    from tablut.engine.tables import Tables

__all__ = ["capture_code", "may_return"]


@called
def capture_code(
    t: Tables,
    x: TierTables,
    w: Workspace,
    side: int,
    start: int,
    target: int,
    lower: NDArray[np.int64],
) -> int:
    """Return the item of the position that a capture leads to, from a lower tier; -1 if there is none.

    Parameters
    ----------
    t, x, w
        Flat tables, tiers and workspace; its lists still show the position before the
        move, its board the one after it.
    side, start, target : int
        The move.
    lower : pointer to int64
        At ``2 * tier + side to move`` the address of a tier's items.
    """
    king = king_of(t, w.board)
    attackers, defenders = count_of(t, w.board, 1), count_of(t, w.board, 0)
    # The boards' counts are those after the capture; the lists are as long as before it.
    own, enemy = (w.spare_black, w.spare_white) if side == 1 else (w.spare_white, w.spare_black)
    own_men, enemy_men = (w.black, w.white) if side == 1 else (w.white, w.black)
    for k in range(attackers if side == 1 else defenders):
        own[k] = own_men[k]
        if I64(own_men[k]) == start:
            own[k] = target
    shift = side << 4
    count, k = I64(0), I64(0)
    while count < (defenders if side == 1 else attackers):
        cell = I64(enemy_men[k])
        k += 1
        # What was captured is no longer on the board.
        enemy[count] = cell
        count += (I64(w.board[I64(t.rank[cell])]) >> (I64(t.file[cell]) + shift)) & 1
    tier = I64(x.tier[attackers * (x.most_defenders + 1) + defenders])
    entry = entry_of(x, tier, king, w.spare_black, w.spare_white, w.scratch)
    if entry < 0:
        return I64(-1)
    items = address_of(lower[2 * tier + (side ^ 1)], w.sample)
    return I64(items[entry])


@inlined
def may_return(t: Tables, board: NDArray[np.uint32], slides: NDArray[np.uint32], start: int, target: int) -> bool:
    """Return whether a piece that goes to an empty cell, and captures nothing there, may go straight back."""
    rank, file = coordinates(t, target)
    along_row = I64(t.rank[start]) == rank
    line = rank if along_row else t.size + file
    content = I64(board[line])
    content = occupied(content)
    home = I64(t.file[start]) if along_row else I64(t.rank[start])
    back = slides_along(t, slides, line, file if along_row else rank, (content & ~(1 << home)))
    return (back >> home) & 1 != 0
