"""Puzzles: positions solved by proof, new ones found, proofs saved and checked.

`solve` is the front door; `Solver` solves many positions. What they answer is a
`Solution`, within `Limits`. `retrograde.puzzles.checker` checks saved proofs by the
rules alone.
"""

from typing import Any

__all__ = ["Limits", "Puzzle", "Solution", "Solver", "solve"]

_HOMES = {
    "Limits": "retrograde.puzzles.solution",
    "Puzzle": "retrograde.puzzles.puzzle_file",
    "Solution": "retrograde.puzzles.solution",
    "Solver": "retrograde.puzzles.solver",
    "solve": "retrograde.puzzles.solver",
}


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): naming the package must not load numba.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'retrograde.puzzles' has no attribute {name!r}")
