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

__all__ = ["WalkMove", "WalkNode", "walk"]


class WalkMove(Result):
    """A move with its value for the side that makes it.

    Attributes
    ----------
    move : str
        The move.
    takes : tuple of str
        The squares on which it captures.
    wdl : str
        ``win``, ``draw``, ``loss`` or ``unresolved``.
    dtm : int or None
        Plies to the end, the move included.
    to : int or None
        The number of the position that it leads to; None if the game is over, or the walk has it not.
    """

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
    """An undecided position with all its moves.

    Attributes
    ----------
    position : str
        As text.
    wdl : str
        Its value for the side to move.
    dtm : int or None
        Plies to the end.
    moves : list of WalkMove
        The best first.
    """

    position: str
    wdl: str
    dtm: int | None = None
    moves: list[WalkMove]


def walk(
    tablebase: Tablebase, position: Position, plies: int, most: int, tell: Callable[[], None] = lambda: None
) -> list[WalkNode]:
    """Return the positions near one, and best play from each.

    Parameters
    ----------
    tablebase : Tablebase
        Covers everything that the position can lead to.
    position : Position
        Undecided.
    plies : int
        How far all moves are followed.
    most : int
        Most positions.
    tell : callable
        Called after each position.

    Returns
    -------
    list of WalkNode
        The first is that of the position.

    Raises
    ------
    InputError
        If there are more, or the game is over.
    MissingTableError
        If the tablebase does not cover a position.

    Examples
    --------
    >>> from retrograde.tablebase.probing import prober_for
    >>> from tablut.position import Position
    >>> nodes = walk(prober_for("ashton"), Position.parse("9/9/9/4w4/2K6/9/9/9/4b4 b", 9), 1, 100)
    >>> nodes[0].wdl, nodes[0].dtm, nodes[0].moves[0].move, nodes[nodes[0].moves[0].to].wdl
    ('loss', 2, 'e1-a1', 'win')
    """
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
