"""Readers for positions and for moves, which recognise the notations of all supported programs.

The notation is recognised from the text alone, because no text fits two notations. If a text fits none, the error
message describes the expected form. The short notations are defined at the end of this module:

- FEN of other tafl programs, such as ``3aaa3/4a4/4d4/a3d3a/aaddkddaa/a3d3a/4d4/4a4/3aaa3 a``: the rows from the top
  rank down (``a`` attacker, ``d`` defender, ``k`` king), followed by the side to move. Capitals are also accepted.
- Moves of Berkeley's course CS 61B: ``d5-7`` is a move to another rank, ``i6-g`` a move to another file.
- Moves of McGill's COMP 424 server: the row and column of the start, the row and column of the target, and the player
  (0 for black, which moves first). Rows are counted from the top and columns from the left, both starting at 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, runtime_checkable

from tablut import formats  # the longer formats in it are loaded when they are first needed
from tablut.errors import InputError, shown_value, text_value
from tablut.position import FILES, Move, MoveText, Position, Side, parse_square, square_name
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from tablut.variants import Variant

__all__ = ["PositionLike", "as_move", "as_position", "read_berkeley", "read_fen", "read_mcgill", "read_move"]
__all__ += ["read_position", "write_berkeley", "write_fen", "write_fen_move", "write_mcgill"]


@runtime_checkable
class BoardLike(Protocol):
    """The part of `tablut.board.Board` that is used by the modules that `board` itself imports."""

    @property
    def variant(self) -> Variant:
        """The rule set."""

    @property
    def position(self) -> Position:
        """The current position, as an immutable value."""

    @property
    def ply(self) -> int:
        """Number of moves made."""

    def peek(self) -> Move:
        """Return the last move made."""


PositionLike: TypeAlias = "Position | BoardLike | str"
"""Anything that `as_position` accepts as a position."""

# Limit on the length of a position or move. Even the JSON for a 19×19 board has fewer than 4,000 characters.
_MOST = 20_000
_SHOWN = 480
_ROWS = re.compile(r"[0-9bwK]+(?:/[0-9bwK]+)+")
_OPENTAFL = re.compile(r"/[0-9tTkKnNcCmMAD/]*")
_OPENTAFL_MOVE = re.compile(r"[tTkKnNcCmM][a-zA-Z][0-9]|.{0,6}[\^=]|.*[-+]\Z", re.DOTALL)


def read_position(text: str, size: int, side: Side | None = None) -> Position:
    r"""Parse a position from the toolkit's line or grid, an OpenTafl string, a FEN or the Bologna server's JSON.

    ``side`` is the side to move, for notations that can omit it. If the text contains a side, the two must agree.
    """
    trimmed = text_value("position", text).strip()
    if len(trimmed) > _MOST:
        raise InputError("is longer than any position", subject=f"position {excerpt(trimmed)}")
    if trimmed.startswith("{"):
        position = _from_state(trimmed, size, side)
    elif trimmed.startswith("/"):
        position = _from_opentafl(trimmed, size, side)
    elif _FEN.fullmatch(trimmed):
        position = read_fen(trimmed, size)
    else:
        position = Position.parse(trimmed, size)
    if side is not None and position.side != side:
        raise InputError(f"has {position.side} to move, not {side}", subject=f"position {excerpt(trimmed, _SHOWN)}")
    return position


def _from_state(text: str, size: int, side: Side | None) -> Position:
    state = formats.bologna.read_state(text)
    if state.size != size:
        raise InputError(f"its board has side {state.size}, not {size}", subject="state")
    return state.position(side)


def _from_opentafl(text: str, size: int, side: Side | None) -> Position:
    rows, *sides = text.split()
    if len(sides) > 1 or (sides and sides[0] not in ("w", "b")):
        raise InputError("expected only w or b after an OpenTafl string", subject=f"position {excerpt(text, _SHOWN)}")
    if sides:
        side = "w" if sides[0] == "w" else "b"
    if side is None:
        raise InputError(
            "does not contain the side to move",
            subject=f"position {excerpt(text, _SHOWN)}",
            remedy="add ' w' or ' b' at the end",
        )
    return formats.opentafl.read_position(rows, side, size)


def looks_like_position(text: str) -> bool:
    """Return whether a text looks like a position rather than a file name."""
    trimmed = text.strip()
    if not trimmed or "\n" in trimmed or trimmed.startswith("{"):
        return True
    first, *rest = trimmed.split()
    sided = bool(rest) and (rest[0] in ("w", "b") or _FEN.fullmatch(trimmed) is not None)
    return sided or any(shape.fullmatch(first) is not None for shape in (_ROWS, _OPENTAFL))


def read_move(text: str, size: int) -> MoveText:
    """Parse a move in the notation of the toolkit, OpenTafl, Bologna's clients (JSON), Berkeley or McGill."""
    text = text_value("move", text).strip()
    if len(text) > _MOST:
        raise InputError("is longer than any move", subject=f"move {excerpt(text)}")
    if text.startswith("{"):
        move, side = formats.bologna.read_move(text, size)
        return MoveText(move, side=side)
    if len(text.split()) == 5:
        move, side = read_mcgill(text, size)
        return MoveText(move, side=side)
    if _BERKELEY.fullmatch(text):
        return MoveText(read_berkeley(text, size))
    if _OPENTAFL_MOVE.match(text):
        return formats.opentafl.read_move(text, size)
    try:
        return MoveText.parse(text, size)
    except InputError:
        # OpenTafl may also write letters before captured pieces. If the text is not a move of this form either, the
        # error about the toolkit's notation is raised.
        if re.search(r"[xX/][tTK][a-zA-Z]", text) is None:
            raise
        return formats.opentafl.read_move(text, size)


def as_position(value: PositionLike, variant: Variant) -> Position:
    """Convert a position, a board or a text to a position.

    Every function in the toolkit that takes a position uses this one.
    """
    if isinstance(value, str):
        return read_position(value, variant.size)
    board = value if isinstance(value, BoardLike) else None
    position = value if board is None else board.position
    if not isinstance(position, Position):
        raise InputError("expected a Position, a Board or a text", subject=f"position {shown_value(value)}")
    if board is not None and not board.variant.same_game(variant):
        raise InputError(
            f"is on a board of {board.variant.name}, not of {variant.name}", subject=f"position '{position}'"
        )
    if len(position.cells) != variant.size**2:
        raise InputError(
            f"has {position.size} rows, but {variant.name} has {variant.size}", subject=f"position '{position}'"
        )
    return position


def as_move(value: Move | str, size: int) -> MoveText:
    """Convert a `Move` or a text to a `MoveText`. If the value is a `Move`, no side and no captures are named."""
    if isinstance(value, str):
        return read_move(value, size)
    if isinstance(value, Move):
        return MoveText(value)
    raise InputError("expected a Move or a text such as e4-e7", subject=f"move {shown_value(value)}")


# -- the short notations -------------------------------------------------------------------


_FEN = re.compile(r"([0-9adkADK]+(?:/[0-9adkADK]+)+)\s+([adbwADBW])", re.ASCII)
_FROM_FEN: Final = str.maketrans("adkADK", "bwKbwK")
_TO_FEN: Final = str.maketrans("bwK", "adk")
_BERKELEY = re.compile(r"([a-z][0-9]{1,2})-(?:([a-z])|([0-9]{1,2}))", re.IGNORECASE | re.ASCII)
_MCGILL_PLAYERS: Final[tuple[Side, Side]] = ("b", "w")


def read_fen(text: str, size: int) -> Position:
    """Parse a position from the FEN of another program."""
    rows, side = text.split()
    return Position.parse(f"{rows.translate(_FROM_FEN)} {'b' if side in 'abAB' else 'w'}", size)


def write_fen(position: Position) -> str:
    """Return the FEN for a position. Further fields are left out."""
    rows, side = str(position).split()[:2]
    return f"{rows.translate(_TO_FEN)} {'a' if side == 'b' else 'd'}"


def write_fen_move(move: Move) -> str:
    """Return a move in the notation of programs that use this FEN, for example ``e1e2``."""
    return str(move).replace("-", "")


def read_berkeley(text: str, size: int = 9) -> Move:
    """Parse a move in the notation used by the Berkeley course."""
    expected = "expected a square, a dash and the new rank or file, such as d5-7 or i6-g"
    found = _BERKELEY.fullmatch(text)
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


def write_berkeley(move: Move) -> str:
    """Return a move in the notation of Berkeley's course; the inverse of `read_berkeley`."""
    (rank, file), (new_rank, new_file) = divmod(move.start, move.size), divmod(move.target, move.size)
    if (rank == new_rank) == (file == new_file):
        raise InputError("is not along a rank or file, as Berkeley's notation requires", subject=f"move {str(move)!r}")
    return f"{square_name(move.start, move.size)}-" + (str(new_rank + 1) if file == new_file else FILES[new_file])


def read_mcgill(text: str, size: int = 9) -> tuple[Move, Side]:
    """Parse the five numbers of McGill's notation, and return the move with the side that makes it."""
    expected = "expected five numbers: row and column of the start, of the target, then 0 (black) or 1 (white)"
    words = text.split()
    if len(words) != 5 or not all(word.isascii() and word.isdecimal() and len(word) <= 2 for word in words):
        raise InputError(expected, subject=f"move {excerpt(text)}")
    *places, player = (int(word) for word in words)
    if player >= len(_MCGILL_PLAYERS):
        raise InputError(f"has the unknown player {words[4]}", subject=f"move {text!r}", remedy=expected)
    for word, place in zip(words, places, strict=False):
        if place >= size:
            raise InputError(
                f"has the unknown row or column {word}", subject=f"move {text!r}", remedy=f"use 0 to {size - 1}"
            )
    row, column, new_row, new_column = places
    start, target = (size - 1 - row) * size + column, (size - 1 - new_row) * size + new_column
    return Move(start, target, size), _MCGILL_PLAYERS[player]


def write_mcgill(move: Move, side: Side) -> str:
    """Return the five numbers of a move in McGill's notation; the inverse of `read_mcgill`."""
    numbers = []
    for square in (move.start, move.target):
        rank, file = divmod(square, move.size)
        numbers += [move.size - 1 - rank, file]
    return " ".join(str(number) for number in [*numbers, _MCGILL_PLAYERS.index(side)])
