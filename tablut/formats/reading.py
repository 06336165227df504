"""A reader for positions and one for moves, which recognise the notations of all supported programs.

The notation can be recognised from the text alone: a brace begins JSON, a slash an OpenTafl string; a, d and k are the
pieces of a FEN; five numbers are a move of McGill's server. No text fits two notations, so nothing is guessed. If a
text fits none of them, or if a part is missing, the error message says what is expected.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tablut.errors import InputError, shown_value, text_value
from tablut.formats import berkeley, bologna, fen, mcgill, opentafl
from tablut.position import BoardLike, Move, MoveText, Position, Side
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from tablut.variants import Variant

PositionLike: TypeAlias = "Position | BoardLike | str"
"""Anything that `as_position` accepts as a position."""

# Limit on the length of a position or move. Even the JSON of a board of side 19 has fewer than 4,000 characters.
_MOST = 20_000
_SHOWN = 480
_ROWS = re.compile(r"[0-9bwK]+(?:/[0-9bwK]+)+")
_OPENTAFL = re.compile(r"/[0-9tTkKnNcCmMAD/]*")
_SHORT = re.compile(r"[a-z][0-9]{1,2}-(?:[a-z]|[0-9]{1,2})", re.IGNORECASE | re.ASCII)
_OPENTAFL_MOVE = re.compile(r"[tTkKnNcCmM][a-zA-Z][0-9]|.{0,6}[\^=]|.*[-+]\Z", re.DOTALL)


class SaidMove(NamedTuple):
    """A move read from a text, with its side; None if the text does not name the side."""

    said: MoveText
    side: Side | None


def read_position(text: str, size: int, side: Side | None = None) -> Position:
    r"""Parse a position from a line or grid of the toolkit, an OpenTafl string, a FEN or the Bologna server's JSON.

    ``side`` is the side to move, for texts that do not contain it. If a text does, the two must agree.
    """
    trimmed = text_value("position", text).strip()
    if len(trimmed) > _MOST:
        raise InputError("is longer than any position", subject=f"position {excerpt(trimmed)}")
    if trimmed.startswith("{"):
        position = _from_state(trimmed, size, side)
    elif trimmed.startswith("/"):
        position = _from_opentafl(trimmed, size, side)
    elif fen.FEN.fullmatch(trimmed):
        position = fen.read_position(trimmed, size)
    else:
        position = Position.parse(trimmed, size)
    if side is not None and position.side != side:
        raise InputError(f"has {position.side} to move, not {side}", subject=f"position {excerpt(trimmed, _SHOWN)}")
    return position


def _from_state(text: str, size: int, side: Side | None) -> Position:
    state = bologna.read_state(text)
    if state.size != size:
        raise InputError(f"its board has side {state.size}, not {size}", subject="state")
    return state.position(side)


def _from_opentafl(text: str, size: int, side: Side | None) -> Position:
    rows, *said = text.split()
    if len(said) > 1 or (said and said[0] not in ("w", "b")):
        raise InputError("expected only w or b after an OpenTafl string", subject=f"position {excerpt(text, _SHOWN)}")
    if said:
        side = "w" if said[0] == "w" else "b"
    if side is None:
        raise InputError(
            "does not contain the side to move",
            subject=f"position {excerpt(text, _SHOWN)}",
            remedy="add ' w' or ' b' at the end",
        )
    return opentafl.read_position(rows, side, size)


def looks_like_position(text: str) -> bool:
    """Return whether a text looks like a position rather than the name of a file."""
    trimmed = text.strip()
    if not trimmed or "\n" in trimmed or trimmed.startswith("{"):
        return True
    first, *rest = trimmed.split()
    sided = bool(rest) and (rest[0] in ("w", "b") or fen.FEN.fullmatch(trimmed) is not None)
    return sided or any(shape.fullmatch(first) is not None for shape in (_ROWS, _OPENTAFL))


def read_move(text: str, size: int) -> SaidMove:
    """Parse a move in the notation of the toolkit, OpenTafl, a Bologna client (JSON), Berkeley or McGill."""
    text = text_value("move", text).strip()
    if len(text) > _MOST:
        raise InputError("is longer than any move", subject=f"move {excerpt(text)}")
    if text.startswith("{"):
        move, side = bologna.read_move(text, size)
        return SaidMove(MoveText(move), side)
    if len(text.split()) == 5:
        move, player = mcgill.read_move(text, size)
        return SaidMove(MoveText(move), player)
    if _SHORT.fullmatch(text):
        return SaidMove(MoveText(berkeley.read_move(text, size)), None)
    if _OPENTAFL_MOVE.match(text):
        return SaidMove(opentafl.read_move(text, size), None)
    try:
        return SaidMove(MoveText.parse(text, size), None)
    except InputError:
        # OpenTafl may also write letters before captured pieces. If the text is not such a move, the error about the
        # toolkit's own notation is raised.
        if re.search(r"[xX/][tTK][a-zA-Z]", text) is None:
            raise
        return SaidMove(opentafl.read_move(text, size), None)


def as_position(value: PositionLike, variant: Variant) -> Position:
    """Convert a position, a board or a text to a position.

    Every function of the toolkit that takes a position uses this function.
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


def as_move(value: Move | str, size: int) -> SaidMove:
    """Convert a move or a text to a move with its side, as if read from a text."""
    if isinstance(value, str):
        return read_move(value, size)
    if isinstance(value, Move):
        return SaidMove(MoveText(value), None)
    raise InputError("expected a Move or a text such as e4-e7", subject=f"move {shown_value(value)}")
