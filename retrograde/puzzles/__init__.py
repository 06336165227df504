"""Puzzles: files of positions with what is to be shown, and the collection that ships.

`Puzzle` is one line of a file. Positions are solved by `retrograde.proofs`.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from retrograde.puzzles.puzzle_file import Puzzle
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["Puzzle"]
