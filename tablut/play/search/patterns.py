"""What the evaluation has learnt by heart: a score for every content of a line and of a corner.

Terms count what a person would count. A pattern knows what the games showed of exactly these
men on exactly this line, with the king where it is. Patterns are added to the terms, and cost
no look-up of their own on lines, since the score of a line stands in a table either way. They
come from self-play (`benchmarks.tuning.patterns`), hold for one board, and stand in
``data/patterns.npz``.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.notation import diagram_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

__all__ = ["CORNER", "Patterns", "corner_cells", "load_patterns"]

CORNER: Final = 3
"""The side of the square of cells in a corner that a pattern covers."""


class Patterns(NamedTuple):
    """Scores by content for one board; N is its size, C = N² its cells. All are white's, in 1/SCALE centi-logits.

    Attributes
    ----------
    terrain : str
        The C letters of the board.
    line_scores : ndarray of int16, shape (tables, 3**N)
        By table, and content of a line in base 3: digit 1 an attacker, 2 a white piece.
    line_table : ndarray of uint8, shape (C, 2N)
        The table for the king's cell and the line.
    corner_scores : ndarray of int16, shape (4, 3**9)
        By corner and the content of its cells, see `corner_cells`.
    """

    terrain: str
    line_scores: NDArray[np.int16]
    line_table: NDArray[np.uint8]
    corner_scores: NDArray[np.int16]


def corner_cells(size: int) -> list[list[int]]:
    """Return the cells that the patterns of each corner cover, in the order of the digits.

    Parameters
    ----------
    size : int
        N, at least `CORNER`.

    Returns
    -------
    list of list of int
        Four times nine cells: from the edge inwards, each row by file.

    Examples
    --------
    >>> corner_cells(9)[0]
    [0, 1, 2, 9, 10, 11, 18, 19, 20]
    >>> corner_cells(9)[3]
    [78, 79, 80, 69, 70, 71, 60, 61, 62]
    """
    corners = []
    for ranks in (range(CORNER), range(size - 1, size - 1 - CORNER, -1)):
        corners += [
            [rank * size + first + file for rank in ranks for file in range(CORNER)] for first in (0, size - CORNER)
        ]
    return corners


@cache
def _stored() -> Patterns:
    with (
        as_file(files("tablut.play.search").joinpath("data", "patterns.npz")) as path,
        np.load(path, allow_pickle=False) as stored,
    ):
        return Patterns(str(stored["terrain"]), stored["line_scores"], stored["line_table"], stored["corner_scores"])


def load_patterns(variant: Variant) -> Patterns | None:
    """Return the patterns for the board of a variant, or None if there are none.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    Patterns or None
        The same object each time.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> load_patterns(load_variant("ashton")).line_table.shape
    (81, 18)
    >>> load_patterns(load_variant("brandubh")) is None
    True
    """
    patterns = _stored()
    return patterns if "".join(diagram_cells(variant.terrain)) == patterns.terrain else None
