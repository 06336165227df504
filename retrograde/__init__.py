"""Who wins: retrograde analysis by tiers of (attackers, defenders).

`solve_game` solves what a start reaches, `build_tablebase` and `open_tablebase` make and
read endgame tablebases; `retrograde.puzzles` proves single positions.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
