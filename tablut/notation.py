"""Text forms of squares, diagrams and positions: ``e4``, rows of ``b w K .``, and the one-line position.

Squares are numbered ``index = rank * size + file`` from a1 = 0. A diagram is a
tuple of rows from the top rank down; index 0 of a row is file a.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from tablut.errors import InputError
from tablut.work.files import excerpt

FILES = "abcdefghijklmnopqrs"


def square_name(square: int, size: int) -> str:
    """Return the name of a square."""
    if not 0 <= square < size * size:
        raise InputError(f"must be 0 to {size * size - 1} on a {size}x{size} board", subject=f"square {square!r}")
    rank, file = divmod(square, size)
    return f"{FILES[file]}{rank + 1}"


def parse_square(name: str, size: int) -> int:
    """Return the index of a square from its name in lower or upper case; the inverse of `square_name`."""
    # The length is checked first, because `int` raises a different error for a text of thousands of digits.
    plain = 2 <= len(name) <= 3 and name.isascii()
    file, rank = (FILES[:size].find(name[0].lower()), name[1:]) if plain else (-1, "")
    if file < 0 or not rank.isdecimal() or rank[0] == "0" or int(rank) > size:
        raise InputError(f"expected a1 to {square_name(size * size - 1, size)}", subject=f"square {excerpt(name)}")
    return (int(rank) - 1) * size + file


def diagram_cells(rows: Sequence[str]) -> str:
    """Return the cells of a diagram as one string, in the order of their indices."""
    return "".join(reversed(rows))


def position_text(rows: Sequence[str], side: str) -> str:
    """Return the one-line text of a position."""
    return "/".join([_row_text(row) for row in rows]) + f" {side}"


@lru_cache(maxsize=1 << 14)
def _row_text(row: str) -> str:
    """Return the text of a row, with runs of empty cells written as numbers.

    The results are cached, because solving in plain Python writes millions of rows, most of them many times.
    """
    return "".join(str(len(list(run))) if content == "." else "".join(run) for content, run in groupby(row))
