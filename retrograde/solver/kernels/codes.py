"""What an item of a tier's array says: a value, or how far its proof has come.

A decided item has the top bit set, and below it its code: ``2 d`` for a win in d
plies, ``2 d + 1`` for a loss in d. An open one counts the moves that are not yet
known to lose, beside two flags. What stays open is not forced by either side.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ALIAS", "CAPTURES", "CODES", "COUNTER", "DECIDED", "SAFE"]

DECIDED: Final = 0x8000
"""The item has a value, in its lower bits."""
CAPTURES: Final = 0x4000
"""Open: a capture is among the moves, so a loss may take longer than the quiet moves say."""
SAFE: Final = 0x2000
"""Open: a capture is known not to lose, so there will be no loss."""
COUNTER: Final = 0x1FFF
"""Open: the bits of the counter."""
ALIAS: Final = 0x7FFF
"""No position is ranked here; see `tablut.indexing.tiers`."""
CODES: Final = 1 << 15
"""Number of codes that an item can hold, `ALIAS` among them."""
