"""What a single ply is worth to the side that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tablut.engine.attacks import winner_of
from tablut.engine.jit import I64, called
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import count_of, king_of, undo_captured
from tablut.indexing.tier_kernels import entry_of, men_of_board, tier_at
from tablut.indexing.tier_tables import code_at
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from retrograde.verification.kernels.desk import ProofDesk
    from tablut.indexing.tier_tables import TierTables

UNPROVED: Final = -1
"""Instead of a successor's code: it has no entry."""
WON: Final = -2
"""Instead of a successor's code: the ply wins at once."""
LOST: Final = -3
"""Instead of a successor's code: the ply loses at once."""
QUIET: Final = -4
"""Instead of a successor's code: the ply captures nothing and ends nothing, and the successor is of the same tier."""


@called
def entry_at(
    x: TierTables,
    tier: int,
    king: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    scratch: NDArray[np.int64],
) -> int:
    """Return what `tablut.indexing.tier_kernels.entry_of` returns, by a call."""
    return entry_of(x, tier, king, black, white, scratch)


@called
def judged_code(d: ProofDesk, side: int, move: int) -> int:
    """Return the stored code of what a move leads to; or `UNPROVED`, `WON`, `LOST` or `QUIET`."""
    t, x, m = d.tables, d.tiers, d.memory
    undo, outcome = make(t, m.board, move)
    if outcome != UNDECIDED:
        unmake(t, m.board, undo)
        return I64(WON) if winner_of(outcome) == side else I64(LOST)
    if undo_captured(undo) == 0:
        unmake(t, m.board, undo)
        return I64(QUIET)
    tier, entry = tier_at(x, count_of(t, m.board, 1), count_of(t, m.board, 0)), I64(-1)
    if tier >= 0:
        men_of_board(t, m.board, m.spare_black, m.spare_white)
        entry = entry_at(x, tier, king_of(t, m.board), m.spare_black, m.spare_white, m.scratch)
    unmake(t, m.board, undo)
    return code_at(d.places, 2 * tier + (side ^ 1), entry) if entry >= 0 else I64(UNPROVED)
