"""Short move notation of Berkeley's course CS 61B: ``d5-7`` to another rank, ``i6-g`` to another file.

A rook's move changes either the rank or the file, so the text gives only the one that changes.
"""

from __future__ import annotations

import re

from tablut.errors import InputError
from tablut.notation import FILES, parse_square, square_name
from tablut.position import Move
from tablut.work.files import excerpt

_MOVE = re.compile(r"([a-z][0-9]{1,2})-(?:([a-z])|([0-9]{1,2}))", re.IGNORECASE | re.ASCII)


def read_move(text: str, size: int = 9) -> Move:
    """Return the move that a short text describes."""
    expected = "expected a square, a dash and the new rank or file, such as d5-7 or i6-g"
    found = _MOVE.fullmatch(text)
    if found is None:
        raise InputError(expected, subject=f"move {excerpt(text)}")
    square, file, rank = found.groups()
    try:
        start = parse_square(square, size)
        target = parse_square(f"{file or square[0]}{rank or square[1:]}", size)
    except InputError as error:
        raise InputError(str(error), subject=f"move {text!r}") from error
    if start == target:
        raise InputError(f"does not leave {square}", subject=f"move {text!r}", remedy=expected)
    return Move(start, target, size)


def write_move(move: Move) -> str:
    """Return the short text of a move; the inverse of `read_move`."""
    (rank, file), (new_rank, new_file) = divmod(move.start, move.size), divmod(move.target, move.size)
    if (rank == new_rank) == (file == new_file):
        raise InputError("is not along a rank or file, as Berkeley's notation requires", subject=f"move {str(move)!r}")
    return f"{square_name(move.start, move.size)}-" + (str(new_rank + 1) if file == new_file else FILES[new_file])
