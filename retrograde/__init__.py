"""Retrograde analysis: computing which side wins from each position, and in how many plies, tier by tier.

`solve_game` solves every position reachable from the start. `build_tablebase` and `open_tablebase` build and read
endgame tablebases. `retrograde.proofs` solves single positions.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
