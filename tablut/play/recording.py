"""The game that was played on a board, as a game record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.formats import GameRecord
from tablut.position import MoveText, Position
from tablut.variants import shipped_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tablut.board import Board
    from tablut.formats.game_record import Result

__all__ = ["record_of"]


def record_of(board: Board, tags: Mapping[str, str] | None = None, result: Result | None = None) -> GameRecord:
    """Return the record of the moves made on a board.

    Parameters
    ----------
    board : Board
        Not changed.
    tags : mapping of str to str, optional
        Of the record.
    result : {'white', 'black', 'draw'}, optional
        For a game that ended off the board; by default what the board says.

    Returns
    -------
    GameRecord
        With captures.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.formats import write_record
    >>> board = Board("ashton-5-4v0")
    >>> board.push("c3-b3")
    >>> print(write_record(record_of(board, {"White": "Anna"}, "black")), end="")
    [Variant "ashton-5-4v0"]
    [White "Anna"]
    <BLANKLINE>
    1. c3-b3
    black
    """
    walk = board.copy()
    moves: list[MoveText] = []
    while walk.ply:
        captures = frozenset(walk.captured())
        moves.append(MoveText(walk.pop(), captures or None))
    standard = Position.parse(board.variant.start_position, board.size)
    outcome = board.outcome()
    if result is None and outcome is not None:
        result = outcome.winner or "draw"
    return GameRecord(
        tags=dict(tags or {}),
        variant=shipped_name(board.variant) or board.variant,
        start=None if walk.position == standard else walk.position,
        moves=tuple(moves[::-1]),
        result=result,
    )
