"""Move notation of McGill's COMP 424 server: five numbers separated by spaces.

The numbers are the row and column of the start, the row and column of the target, and the player.
Rows are counted from the top and columns from the left, both from 0. Player 0 is black, which
moves first there; player 1 is white.
"""

from __future__ import annotations

from tablut.errors import InputError
from tablut.position import Move, Side
from tablut.work.files import excerpt

_PLAYERS: tuple[Side, Side] = ("b", "w")


def read_move(text: str, size: int = 9) -> tuple[Move, Side]:
    """Parse a move, and the side that makes it, from five numbers."""
    expected = "expected five numbers: row and column of the start, of the target, then 0 (black) or 1 (white)"
    words = text.split()
    if len(words) != 5 or not all(word.isascii() and word.isdecimal() and len(word) <= 2 for word in words):
        raise InputError(expected, subject=f"move {excerpt(text)}")
    *places, player = (int(word) for word in words)
    if player >= len(_PLAYERS):
        raise InputError(f"has the unknown player {words[4]}", subject=f"move {text!r}", remedy=expected)
    for word, place in zip(words, places, strict=False):
        if place >= size:
            raise InputError(
                f"has the unknown row or column {word}", subject=f"move {text!r}", remedy=f"use 0 to {size - 1}"
            )
    row, column, new_row, new_column = places
    start, target = (size - 1 - row) * size + column, (size - 1 - new_row) * size + new_column
    return Move(start, target, size), _PLAYERS[player]


def write_move(move: Move, side: Side) -> str:
    """Return the five numbers for a move; the inverse of `read_move`."""
    numbers = []
    for square in (move.start, move.target):
        rank, file = divmod(square, move.size)
        numbers += [move.size - 1 - rank, file]
    return " ".join(str(number) for number in [*numbers, _PLAYERS.index(side)])
