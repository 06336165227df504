"""What a ply of the open position leads to: the item below of a capture, and whether a quiet move can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.workspace import KING
from tablut.engine.attacks import slides_along
from tablut.engine.jit import I64, called, inlined, items_at
from tablut.engine.layout import coordinates, count_of, is_occupied, king_of, line_of, occupied, side_of
from tablut.indexing.tier_kernels import entry_of, tier_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Men, Workspace
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables


@inlined
def piece_of(t: Tables, w: Workspace, side: int, man: int, men: int) -> tuple[int, NDArray[np.uint32]]:
    """Return where a man of the open position stands, and how it slides."""
    if side == 1:
        return I64(w.here.black[man]), t.attacker_slides
    if man == men - 1:
        return I64(w.cursor.head[KING]), t.king_slides
    return I64(w.here.white[man]), t.defender_slides


@called
def capture_item(
    t: Tables,
    x: TierTables,
    w: Workspace,
    m: Men,
    lower: NDArray[np.int64],
    start: int,
    target: int,
) -> int:
    """Return the item of the position that a capture leads to, from a lower tier; -1 if there is none."""
    side = side_of(t, m.board) ^ 1
    attackers, defenders = count_of(t, m.board, 1), count_of(t, m.board, 0)
    # The board's counts are those after the capture; the lists are as long as before it.
    own, enemy = (w.below.black, w.below.white) if side == 1 else (w.below.white, w.below.black)
    own_men, enemy_men = (m.black, m.white) if side == 1 else (m.white, m.black)
    for k in range(attackers if side == 1 else defenders):
        own[k] = own_men[k]
        if I64(own_men[k]) == start:
            own[k] = target
    count, k = I64(0), I64(0)
    while count < (defenders if side == 1 else attackers):
        cell = I64(enemy_men[k])
        k += 1
        # What was captured is no longer on the board.
        enemy[count] = cell
        count += I64(is_occupied(t, m.board, cell))
    tier = tier_at(x, attackers, defenders)
    if tier < 0:
        return I64(-1)
    entry = entry_of(x, tier, king_of(t, m.board), w.below.black, w.below.white, w.scratch)
    if entry < 0:
        return I64(-1)
    return I64(items_at(lower[2 * tier + (side ^ 1)], np.uint16)[entry])


@inlined
def may_return(t: Tables, board: NDArray[np.uint32], slides: NDArray[np.uint32], start: int, target: int) -> bool:
    """Return whether a piece that goes to an empty cell, and captures nothing there, may go straight back."""
    rank, file = coordinates(t, target)
    along_row = I64(t.rank[start]) == rank
    line = rank if along_row else t.size + file
    content = occupied(line_of(board, line))
    home = I64(t.file[start]) if along_row else I64(t.rank[start])
    back = slides_along(t, slides, line, file if along_row else rank, (content & ~(1 << home)))
    return (back >> home) & 1 != 0
