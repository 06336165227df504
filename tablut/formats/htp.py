"""Moves in the Hnefatafl Text Protocol of hnefatafl.org, such as ``play attacker d11 d9``.

Squares are written in lower case on 11×11 and in upper case on 13×13; both are read on every board. The notation
follows ``src/message.rs`` and ``src/play.rs`` of https://github.com/dcampbell24/hnefatafl.
"""

from __future__ import annotations

from typing import Final

from tablut.errors import InputError
from tablut.notation import parse_square, square_name
from tablut.position import Move, SideName
from tablut.work.files import excerpt

ROLES: Final[dict[SideName, str]] = {"black": "attacker", "white": "defender"}
_SIDES: Final[dict[str, SideName]] = {"a": "black", "attacker": "black", "d": "white", "defender": "white"}


def read_play(text: str, size: int) -> tuple[SideName, Move]:
    """Parse the side and the move of a line ``play ROLE FROM TO``.

    The role may be abbreviated to its first letter. Further words are ignored.
    """
    words = text.replace(",", " ").split()
    if len(words) < 4 or words[0] != "play" or words[1].lower() not in _SIDES:
        raise InputError("expected play ROLE FROM TO, such as play attacker d11 d9", subject=excerpt(text))
    return _SIDES[words[1].lower()], Move(parse_square(words[2], size), parse_square(words[3], size), size)


def write_square(cell: int, size: int) -> str:
    """Return the name of a square, in upper case on 13×13."""
    name = square_name(cell, size)
    return name.upper() if size == 13 else name


def write_play(side: SideName, move: Move) -> str:
    """Return the protocol's line for a move."""
    return f"play {ROLES[side]} {write_square(move.start, move.size)} {write_square(move.target, move.size)}"
