"""The solver: tiers as a graph, passes over one tier, tablebases built, what a start reaches.

`solve_game` and `build_tablebase` are the front doors; `tests.twins.solver` is the
twin in plain Python.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from retrograde.solver.build import build_tablebase
    from retrograde.solver.solution import SolvedGame, solve_game
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["SolvedGame", "build_tablebase", "solve_game"]
