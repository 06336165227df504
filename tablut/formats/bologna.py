"""JSON of the Bologna competition server: states, moves and the names of players.

A state is ``{"board": [[…], …], "turn": "WHITE"}``: row 0 of the board is rank 1, column 0 file a. The empty castle is
written ``THRONE``. Once the game is over, ``turn`` contains the result instead of the side to move.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, get_args

from tablut.errors import InputError, shown_value
from tablut.notation import parse_square, square_name
from tablut.position import Move, Position, Side
from tablut.work.files import excerpt
from tablut.work.records import read_json

if TYPE_CHECKING:
    from tablut.rules.outcome import GameResult

Turn = Literal["WHITE", "BLACK", "WHITEWIN", "BLACKWIN", "DRAW"]

_TURNS: tuple[Turn, ...] = get_args(Turn)
_SIDES: dict[str, Side] = {"WHITE": "w", "BLACK": "b"}
_TURN_OF: dict[Side, Turn] = {"w": "WHITE", "b": "BLACK"}
_OVER: dict[str, GameResult] = {"WHITEWIN": "white", "BLACKWIN": "black", "DRAW": "draw"}
_TURN_AT_END: dict[GameResult, Turn] = {"white": "WHITEWIN", "black": "BLACKWIN", "draw": "DRAW"}
_NAME_LENGTH, _LONGEST_NAME = 10, 100
_CELLS = {"EMPTY": ".", "WHITE": "w", "BLACK": "b", "KING": "K", "THRONE": "."}
_NAMES = {".": "EMPTY", "w": "WHITE", "b": "BLACK", "K": "KING"}
_SIZES = range(3, 20, 2)


@dataclass(frozen=True, slots=True)
class BolognaState:
    """A state of the server: the cells, and the side to move or the result of the game."""

    cells: str
    turn: Turn

    @property
    def size(self) -> int:
        """Side of the board in cells."""
        return isqrt(len(self.cells))

    @property
    def side(self) -> Side | None:
        """The side to move; None once the game is over."""
        return _SIDES.get(self.turn)

    @property
    def result(self) -> GameResult | None:
        """The winner, or ``draw``; None while the game goes on."""
        return _OVER.get(self.turn)

    def position(self, side: Side | None = None) -> Position:
        """Return the position; once the game is over, the side to move must be given."""
        to_move = self.side or side
        if to_move is None:
            raise InputError(
                "does not contain the side to move, because the game is over", subject=f"state with turn {self.turn!r}"
            )
        return Position(self.cells, to_move)


def read_state(text: str) -> BolognaState:
    """Parse a state from the server's JSON."""
    data = _json_object(text, "state")
    turn, board = data.get("turn"), data.get("board")
    if turn not in _TURNS:
        raise InputError(f"turn {shown_value(turn)}: expected one of {' '.join(_TURNS)}", subject="state")
    if not isinstance(board, list) or len(board) not in _SIZES:
        found = f"{len(board)} rows" if isinstance(board, list) else shown_value(board)
        raise InputError(f"board: expected a list of 9 rows (an odd number from 3 to 19), not {found}", subject="state")
    size = len(board)
    cells = ""
    for number, row in enumerate(board):
        if not isinstance(row, list) or len(row) != size:
            found = f"{len(row)} cells" if isinstance(row, list) else shown_value(row)
            raise InputError(
                f"board row {number} (rank {number + 1}): expected {size} cells, not {found}", subject="state"
            )
        for name in row:
            square = len(cells)
            if not isinstance(name, str) or name not in _CELLS:
                where = f"board row {number} column {square % size} ({square_name(square, size)})"
                raise InputError(f"{where}: {shown_value(name)}: expected one of {' '.join(_CELLS)}", subject="state")
            if name == "THRONE" and square != size * size // 2:
                centre = square_name(size * size // 2, size)
                raise InputError(f"THRONE on {square_name(square, size)}: the castle is on {centre}", subject="state")
            cells += _CELLS[name]
    return BolognaState(cells, turn)


def write_state(position: Position, turn: Turn | None = None) -> str:
    """Return the server's JSON for a position, without spaces."""
    size = position.size
    names = [_NAMES[letter] for letter in position.cells]
    centre = size * size // 2
    if names[centre] == "EMPTY":
        names[centre] = "THRONE"
    board = [names[rank * size : (rank + 1) * size] for rank in range(size)]
    return json.dumps({"board": board, "turn": turn or _TURN_OF[position.side]}, separators=(",", ":"))


def read_move(text: str, size: int = 9) -> tuple[Move, Side | None]:
    """Parse a move, and the side that claims to make it, from a client's JSON.

    Squares may be in either case and ``turn`` may be missing, because real clients differ in both.
    """
    data = _json_object(text, "move")
    squares = []
    for key in ("from", "to"):
        name = data.get(key)
        if not isinstance(name, str):
            raise InputError(f"{key} {shown_value(name)}: expected a square such as e4", subject="move")
        try:
            squares.append(parse_square(name, size))
        except InputError as error:
            raise InputError(f"{key}: {error}", subject="move") from error
    turn = data.get("turn")
    if turn is not None and (not isinstance(turn, str) or turn not in _SIDES):
        raise InputError(f"turn {shown_value(turn)}: expected WHITE or BLACK", subject="move")
    return Move(squares[0], squares[1], size), None if turn is None else _SIDES[turn]


def write_move(move: Move, side: Side) -> str:
    """Return a client's JSON for a move, without spaces; the inverse of `read_move`."""
    start, target = (square_name(square, move.size) for square in (move.start, move.target))
    return json.dumps({"from": start, "to": target, "turn": _TURN_OF[side]}, separators=(",", ":"))


def final_turn(result: GameResult) -> Turn:
    """Return the ``turn`` of the state that ends a game with a given result."""
    return _TURN_AT_END[result]


def read_name(text: str) -> str:
    """Parse the name of a player from a client's JSON. White space becomes single spaces; long names are cut off."""
    name = _json_value(text, "name")
    if not isinstance(name, str):
        raise InputError("expected a JSON string", subject=f"name {excerpt(text)}")
    return " ".join(name.split())[:_LONGEST_NAME]


def short_name(name: str) -> str:
    """Return the name of a player in the server's shortened form, at most ten letters and digits."""
    return "".join(sign for sign in name[:_NAME_LENGTH] if sign.isalnum())


def write_name(name: str) -> str:
    """Return a client's JSON for the name of its player."""
    return json.dumps(name)


def _json_object(text: str, what: str) -> dict[str, Any]:
    data = _json_value(text, what)
    if not isinstance(data, dict):
        raise InputError("expected a JSON object", subject=f"{what} {excerpt(text)}")
    return data


def _json_value(text: str, what: str) -> Any:
    try:
        return read_json(text)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too large or nested too deeply"
        raise InputError(f"is not valid JSON ({reason})", subject=f"{what} {excerpt(text)}") from error
