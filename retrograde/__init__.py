"""Who wins: retrograde analysis by tiers of (attackers, defenders).

`solve_game` solves what a start reaches, `build_tablebase` and `open_tablebase` make and
read endgame tablebases; `retrograde.puzzles` proves single positions.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from retrograde.solver.build import build_tablebase
    from retrograde.solver.solution import SolvedGame, solve_game
    from retrograde.tablebase import Tablebase, open_tablebase
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["SolvedGame", "Tablebase", "build_tablebase", "open_tablebase", "solve_game"]
