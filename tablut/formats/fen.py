"""FEN of other tafl programs: rows from the top rank down (``a`` attacker, ``d`` defender, ``k`` king), then the side.

    3aaa3/4a4/4d4/a3d3a/aaddkddaa/a3d3a/4d4/4a4/3aaa3 a

It differs from the toolkit's one-line position only in its letters. Capitals are also read, and so are ``b`` and ``w``
for the side to move.
"""

from __future__ import annotations

import re

from tablut.position import Move, Position

FEN = re.compile(r"([0-9adkADK]+(?:/[0-9adkADK]+)+)\s+([adbwADBW])", re.ASCII)
_OURS = str.maketrans("adkADK", "bwKbwK")
_THEIRS = str.maketrans("bwK", "adk")


def read_position(text: str, size: int) -> Position:
    """Return the position from a text that `FEN` matches.

    The error message for a board of another size shows the position in the toolkit's own letters.
    """
    rows, side = text.split()
    return Position.parse(f"{rows.translate(_OURS)} {'b' if side in 'abAB' else 'w'}", size)


def write_position(position: Position) -> str:
    """Return the FEN of a position. Further fields are left out."""
    rows, side = str(position).split()[:2]
    return f"{rows.translate(_THEIRS)} {'a' if side == 'b' else 'd'}"


def write_move(move: Move) -> str:
    """Return a move in the notation of these programs, such as ``e1e2``."""
    return str(move).replace("-", "")
