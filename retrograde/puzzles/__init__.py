"""Puzzles: positions solved by proof, new ones found, proofs saved and checked.

`solve` is the front door; `Solver` solves many positions. What they answer is a
`Solution`, within `Limits`. `retrograde.puzzles.checker` checks saved proofs by the
rules alone.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from retrograde.puzzles.puzzle_file import Puzzle
    from retrograde.puzzles.solution import Limits, Solution
    from retrograde.puzzles.solver import Solver, solve
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "Limits": "retrograde.puzzles.solution",
            "Puzzle": "retrograde.puzzles.puzzle_file",
            "Solution": "retrograde.puzzles.solution",
            "Solver": "retrograde.puzzles.solver",
            "solve": "retrograde.puzzles.solver",
        },
    )

__all__ = ["Limits", "Puzzle", "Solution", "Solver", "solve"]
