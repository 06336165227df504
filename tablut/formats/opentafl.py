"""Position strings and moves of OpenTafl.

A position is written ``/3t3/3T3/…/``: rows from rank 1 up with a slash before, between and after them; ``t`` is an
attacker, ``T`` a defender, ``K`` the king, and runs of empty cells are decimal numbers. The side to move is not
included. The notation follows ``opentafl-notation-spec.txt`` of https://github.com/jslater89/OpenTafl.

hnefatafl.org writes the same strings with ``A``, ``D`` and ``K``. The start positions that it publishes look the same
upside down, so they do not show which row comes first; rank 1 is assumed.
"""

from __future__ import annotations

import re
from itertools import groupby

from tablut.errors import InputError
from tablut.notation import parse_square
from tablut.position import Move, MoveText, Position, Side, expand_row
from tablut.work.files import excerpt

_LETTERS = {"t": "b", "T": "w", "K": "K"}
_PIECES = {ours: theirs for theirs, ours in _LETTERS.items()}
_READ = _LETTERS | {"A": "b", "D": "w"}
"""Letters that are read: those of OpenTafl and those of hnefatafl.org. The strings are otherwise the same."""
_OTHERS = {
    "n": "knights",
    "N": "knights",
    "c": "commanders",
    "C": "commanders",
    "m": "mercenaries",
    "M": "mercenaries",
    "k": "an attacking king",
}
_FOREIGN = {letter: f"{kind}, " for letter, kind in _OTHERS.items()}
_TEXT = 480
"""Maximum length of a position in an error message, enough for a board of side 19."""
_PIECE, _SQUARE = r"([a-zA-Z]?)", r"([a-zA-Z][0-9]{1,2})"
_MOVE = re.compile(
    rf"{_PIECE}{_SQUARE}(\^=|[-^=]){_SQUARE}((?:[xX]{_PIECE}{_SQUARE}(?:/{_PIECE}{_SQUARE})*)?)(?:\+{{1,2}}|-{{1,2}})?"
)
_CAPTURE = re.compile(_PIECE + _SQUARE)


def read_position(text: str, side: Side, size: int | None = None) -> Position:
    """Parse a position from an OpenTafl string. The string does not contain the side to move, which is an argument."""
    trimmed = text.strip()
    shown = f"position {excerpt(text, _TEXT)}"
    if len(trimmed) < 2 or not trimmed.startswith("/") or not trimmed.endswith("/"):
        raise InputError("expected an OpenTafl string such as /1t1/tKT/3/, with a slash at each end", subject=shown)
    rows = trimmed[1:-1].split("/")
    size = size or len(rows)
    if size not in range(3, 20, 2):
        raise InputError(f"has {size} rows; boards have an odd side from 3 to 19", subject=shown)
    if len(rows) != size:
        raise InputError(f"has {len(rows)} rows, but the board has {size}", subject=shown)
    return Position("".join(expand_row(row, size, shown, _READ, _FOREIGN) for row in rows), side)


def write_position(position: Position) -> str:
    """Return the OpenTafl string for a position. The side to move and further fields are left out."""
    rows = []
    for row in reversed(position.rows()):
        runs = ((letter, len(list(run))) for letter, run in groupby(row))
        rows.append("".join(str(length) if letter == "." else _PIECES[letter] * length for letter, length in runs))
    return f"/{'/'.join(rows)}/"


def read_move(text: str, size: int) -> MoveText:
    """Parse a move of an OpenTafl record, such as ``Kd4-d6xd7/c6+``.

    The letter of the piece, and the signs after the move for a threat or the end of the game, are ignored.
    """
    found = _MOVE.fullmatch(text)
    if found is None:
        raise InputError(
            "expected two squares such as d4-d6, then captures such as xd7/c6", subject=f"move {excerpt(text)}"
        )
    piece, start, kind, target, taken = found[1], found[2], found[3], found[4], found[5]
    if kind != "-":
        raise InputError(
            f"{kind!r} is a jump or a berserk move; expected a slide such as d4-d6", subject=f"move {excerpt(text)}"
        )
    captures = _CAPTURE.findall(taken[1:].replace("/", " "))
    for letter in (piece, *(letter for letter, _ in captures)):
        if letter and letter not in _LETTERS:
            raise InputError(
                f"names {_OTHERS.get(letter, 'the unknown piece')}, {letter!r}",
                subject=f"move {excerpt(text)}",
                remedy="use the pieces t T K",
            )
    try:
        move = Move(parse_square(start, size), parse_square(target, size), size)
        squares = frozenset(parse_square(name, size) for _, name in captures)
    except InputError as error:
        raise InputError(str(error), subject=f"move {excerpt(text)}") from error
    return MoveText(move, squares or None)


def write_move(said: MoveText) -> str:
    """Return a move in the notation of OpenTafl records: ``d4-d6xd7/c6``, all captures after one ``x``."""
    return str(said).replace("x", "/").replace("/", "x", 1)
