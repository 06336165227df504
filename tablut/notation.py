"""Squares and diagrams as text: ``e4``, rows of ``b w K .``, and the one-line position.

Squares are numbered ``index = rank * size + file`` from a1 = 0. A diagram is a
tuple of rows from the top rank down; index 0 of a row is file a.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from tablut.errors import InputError
from tablut.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FILES", "diagram_cells", "parse_square", "position_text", "square_name"]

FILES = "abcdefghijk"


def square_name(square: int, size: int) -> str:
    """Return the name of a square.

    Parameters
    ----------
    square : int
        Index, 0 to ``size**2 - 1``.
    size : int
        Side of the board in cells.

    Returns
    -------
    str
        File letter and rank number.

    Raises
    ------
    ValueError
        If the board has no such square.

    Examples
    --------
    >>> square_name(0, 9), square_name(40, 9), square_name(120, 11)
    ('a1', 'e5', 'k11')
    """
    if not 0 <= square < size * size:
        raise ValueError(f"a {size}x{size} board has no square number {square}")
    rank, file = divmod(square, size)
    return f"{FILES[file]}{rank + 1}"


def parse_square(name: str, size: int) -> int:
    """Return the index of a named square, in either case; the inverse of `square_name`.

    Parameters
    ----------
    name : str
        A file letter and a rank number.
    size : int
        Side of the board in cells.

    Returns
    -------
    int
        Index, 0 to ``size**2 - 1``.

    Raises
    ------
    InputError
        If the name is not that of a square of the board.

    Examples
    --------
    >>> parse_square("e5", 9), parse_square("E5", 9)
    (40, 40)
    """
    # No square has a longer name, and `int` refuses numbers of thousands of digits.
    plain = 2 <= len(name) <= 3 and name.isascii()
    file, rank = (FILES[:size].find(name[0].lower()), name[1:]) if plain else (-1, "")
    if file < 0 or not rank.isdecimal() or rank[0] == "0" or int(rank) > size:
        raise InputError(f"square {excerpt(name)}: expected a1 to {square_name(size * size - 1, size)}")
    return (int(rank) - 1) * size + file


def diagram_cells(rows: Sequence[str]) -> str:
    """Return the cells of a diagram in the order of their indices.

    Parameters
    ----------
    rows : sequence of str
        ``size`` rows of ``size`` characters, the top rank first.

    Returns
    -------
    str
        Character ``i`` is the content of square ``i``.

    Examples
    --------
    >>> diagram_cells(["b..", ".K.", "..w"])
    '..w.K.b..'
    """
    return "".join(reversed(rows))


def position_text(rows: Sequence[str], side: str) -> str:
    """Return the one-line text of a position.

    Parameters
    ----------
    rows : sequence of str
        A diagram with ``b`` attackers, ``w`` defenders, ``K`` king and ``.`` for empty.
    side : {'w', 'b'}
        The side to move.

    Returns
    -------
    str
        Rows from the top rank down, ``/`` between them, runs of empty cells as numbers.

    Examples
    --------
    >>> position_text(["..b..", "..w..", "bwKwb", "..w..", "..b.."], "w")
    '2b2/2w2/bwKwb/2w2/2b2 w'
    """
    return "/".join([_row_text(row) for row in rows]) + f" {side}"


@lru_cache(maxsize=1 << 14)
def _row_text(row: str) -> str:
    """Return a row with runs of empty cells as numbers; rows recur, and solving in plain Python writes millions."""
    return "".join(str(len(list(run))) if content == "." else "".join(run) for content, run in groupby(row))
