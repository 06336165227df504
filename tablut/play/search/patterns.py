"""What the evaluation has learnt by heart: a score for every content of a line and of a corner.

Terms count what a person would count. A pattern knows what the games showed of exactly these
men on exactly this line, with the king where it is. Patterns are added to the terms, and cost
no look-up of their own on lines, since the score of a line stands in a table either way. They
come from self-play (`benchmarks.tuning.patterns`), hold for one board and one family of weights,
and stand in ``data/patterns``, a file for each.
"""

from __future__ import annotations

import io
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.notation import diagram_cells
from tablut.play.search.weights import weights_family

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from numpy.typing import NDArray

    from tablut.variants import Variant

__all__ = ["CORNER", "Patterns", "corner_cells", "load_patterns", "read_patterns", "written_patterns"]

CORNER: Final = 3
"""The side of the square of cells in a corner that a pattern covers."""


class Patterns(NamedTuple):
    """Scores by content for one board; N is its size, C = N² its cells. All are white's, in 1/SCALE centi-logits.

    Attributes
    ----------
    terrain : str
        The C letters of the board.
    family : str
        Beside whose weights they were learnt, see `tablut.play.search.weights.weights_family`.
    made : str
        By which command, of how many positions.
    line_scores : ndarray of int16, shape (tables, 3**N)
        By table, and content of a line in base 3: digit 1 an attacker, 2 a white piece.
    line_table : ndarray of uint8, shape (C, 2N)
        The table for the king's cell and the line.
    corner_scores : ndarray of int16, shape (4, 3**9)
        By corner and the content of its cells, see `corner_cells`.
    """

    terrain: str
    family: str
    made: str
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


def read_patterns(stored: bytes) -> Patterns:
    """Return patterns that were written.

    Parameters
    ----------
    stored : bytes
        What `written_patterns` gave.

    Returns
    -------
    Patterns
        The same ones.
    """
    with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
        terrain, family, made = (str(arrays[name]) for name in ("terrain", "family", "made"))
        lines, corners = arrays["line_scores"], arrays["corner_scores"]
        return Patterns(terrain, family, made, lines, arrays["line_table"], corners)


def written_patterns(patterns: Patterns) -> bytes:
    """Return patterns as the bytes of a file; the same ones for the same patterns.

    Parameters
    ----------
    patterns : Patterns
        Of one board.

    Returns
    -------
    bytes
        NumPy's archive of arrays, packed.
    """
    written = io.BytesIO()
    np.savez_compressed(written, **patterns._asdict())
    return written.getvalue()


@cache
def _shipped() -> dict[tuple[str, str], Traversable]:
    """Return the files of patterns by what they are for. Only that is read of each."""
    found = {}
    for file in files("tablut.play.search").joinpath("data", "patterns").iterdir():
        if file.name.endswith(".npz"):
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
                found[str(arrays["terrain"]), str(arrays["family"])] = file
    return found


@cache
def _stored(terrain: str, family: str) -> Patterns | None:
    file = _shipped().get((terrain, family))
    return None if file is None else read_patterns(file.read_bytes())


def load_patterns(variant: Variant) -> Patterns | None:
    """Return the patterns for the board and the family of a variant, or None if there are none.

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
    >>> load_patterns(load_variant("ashton-5-4v0")) is None
    True
    """
    return _stored("".join(diagram_cells(variant.terrain)), weights_family(variant))
