"""A part of a tablebase as a graph to walk in: positions near a first one, every move with its value.

A program that has it shows an ending or a solved board without the tables and without the rules. It holds all positions
within some plies of the first one and, from each of them, a line of best play to the end. Moves that lead elsewhere
have their values and no number to go to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import SerializerFunctionWrapHandler, model_serializer

from tablut.board import Board
from tablut.errors import InputError
from tablut.notation import square_name
from tablut.results import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrograde.tablebase.probing import Tablebase
    from tablut.position import Position


class WalkMove(Result):
    """A move with its value for the side that makes it."""

    move: str
    takes: tuple[str, ...] = ()
    wdl: str
    dtm: int | None = None
    to: int | None = None

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is empty."""
        return {name: value for name, value in whole(self).items() if value not in (None, (), [])}


class WalkNode(Result):
    """An undecided position with all its moves."""

    position: str
    wdl: str
    dtm: int | None = None
    moves: list[WalkMove]


def walk(
    tablebase: Tablebase, position: Position, plies: int, most: int, tell: Callable[[], None] = lambda: None
) -> list[WalkNode]:
    """Return the positions near one, and best play from each."""
    if Board(tablebase.variant, position).outcome() is not None:
        raise InputError(f"position '{position}': the game is over, there is nothing to walk to")
    numbers: dict[Position, int] = {position: 0}
    waiting: list[tuple[Position, int]] = [(position, plies)]
    nodes: list[WalkNode] = []
    while len(nodes) < len(waiting):
        at, left = waiting[len(nodes)]
        nodes.append(_node(tablebase, at, left, numbers, waiting))
        if len(waiting) > most:
            raise InputError(
                f"position '{position}': more than {most:,} positions; ask for fewer plies, or more with --most"
            )
        tell()
    return nodes


def _node(
    tablebase: Tablebase,
    position: Position,
    left: int,
    numbers: dict[Position, int],
    waiting: list[tuple[Position, int]],
) -> WalkNode:
    """Return the node of a position; what it leads to is put in the queue if it belongs to the walk."""
    board = Board(tablebase.variant, position)
    verdict = tablebase.probe(board)
    moves = []
    for place, rated in enumerate(tablebase.best_moves(board)):
        board.push(rated.move)
        takes = tuple(square_name(square, board.size) for square in board.captured())
        to = None
        if board.outcome() is None:
            # Best play is followed to its end, and where nothing is forced no further.
            wanted = left > 0 or (place == 0 and verdict.dtm is not None)
            to = numbers.get(board.position)
            if to is None and wanted:
                to = numbers[board.position] = len(numbers)
                waiting.append((board.position, max(0, left - 1)))
        board.pop()
        moves.append(WalkMove(move=str(rated.move), takes=takes, wdl=rated.wdl, dtm=rated.dtm, to=to))
    return WalkNode(position=str(position), wdl=verdict.wdl, dtm=verdict.dtm, moves=moves)
