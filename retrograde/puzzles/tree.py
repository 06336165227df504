"""The whole solution of a puzzle as a tree: what every move of the winner that can come up is worth, and its answer.

A program that has the tree plays the puzzle without knowing the rules: every legal move is in it, with the pieces that
it takes. Positions that several lines reach are one node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import SerializerFunctionWrapHandler, model_serializer

from retrograde.puzzles.game import PuzzleGame, open_puzzle
from tablut.board import Board
from tablut.errors import UnknownError
from tablut.notation import square_name
from tablut.results import Result
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrograde.proofs.solution import ProofLimits
    from retrograde.puzzles.puzzle_file import Puzzle
    from tablut.position import Move, Position

MOST_NODES: Final = 2_000
"""Positions of a tree, unless more are asked for."""


class TreeMove(Result):
    """A move of the winner and its answer."""

    takes: tuple[str, ...] = ()
    reply: str | None = None
    reply_takes: tuple[str, ...] = ()
    to: int | None = None

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is empty: most moves take nothing, and a tree has thousands."""
        return {name: value for name, value in whole(self).items() if value not in (None, (), [])}


class TreeNode(Result):
    """A position with the winner to move."""

    position: str
    plies: int
    right: dict[str, TreeMove]
    wrong: dict[str, TreeMove]


class PuzzleTree(Result):
    """A puzzle and everything that may come up while it is solved."""

    id: str
    variant: str
    position: str
    winner: str
    plies: int
    opening: str | None = None
    opening_takes: tuple[str, ...] = ()
    nodes: list[TreeNode]


def puzzle_tree(
    puzzle: Puzzle,
    limits: ProofLimits | None = None,
    most: int = MOST_NODES,
    tell: Callable[[], None] = lambda: None,
) -> PuzzleTree:
    """Return the tree of a puzzle, every entry of it proved."""
    game = open_puzzle(puzzle, limits)
    plies, opening = game.plies, None
    taken: tuple[str, ...] = ()
    if game.board.turn != game.winner:
        defence = game.defence()
        if defence is None:
            raise _unknown(puzzle, "the limits ran out")
        opening, taken = str(defence), _takes(game.board, defence)
        game.defend(defence)
    numbers: dict[Position, int] = {game.board.position: 0}
    waiting = [(game.board.position, game.plies)] if game.plies else []
    nodes: list[TreeNode] = []
    while len(nodes) < len(waiting):
        position, left = waiting[len(nodes)]
        game.board, game.plies = Board(game.board.variant, position), left
        nodes.append(_node(puzzle, game, numbers, waiting))
        if len(waiting) > most:
            raise _unknown(puzzle, f"its tree has more than {most:,} positions")
        tell()
    return PuzzleTree(
        id=puzzle.id,
        variant=game.board.variant.name,
        position=str(puzzle.position),
        winner=game.winner,
        plies=plies,
        opening=opening,
        opening_takes=taken,
        nodes=nodes,
    )


def _node(
    puzzle: Puzzle, game: PuzzleGame, numbers: dict[Position, int], waiting: list[tuple[Position, int]]
) -> TreeNode:
    """Return the node of the position that the game stands at; new positions are put in the queue."""
    board = game.board
    right: dict[str, TreeMove] = {}
    wrong: dict[str, TreeMove] = {}
    for move in list(board.legal_moves):
        answer = game.judge(move)
        if answer.right is None or (answer.reply is None and not answer.over):
            raise _unknown(puzzle, "the limits ran out")
        takes, to = _takes(board, move), None
        reply_takes: tuple[str, ...] = ()
        if answer.reply is not None:
            board.push(move)
            reply_takes = _takes(board, answer.reply)
            board.push(answer.reply)
            if answer.right and game.plies > 2:
                to = numbers.setdefault(board.position, len(numbers))
                if to == len(waiting):
                    waiting.append((board.position, game.plies - 2))
            board.pop()
            board.pop()
        reply = None if answer.reply is None else str(answer.reply)
        (right if answer.right else wrong)[str(move)] = TreeMove(
            takes=takes, reply=reply, reply_takes=reply_takes, to=to
        )
    return TreeNode(position=str(board.position), plies=game.plies, right=right, wrong=wrong)


def _takes(board: Board, move: Move) -> tuple[str, ...]:
    """Return the squares on which a move captures; the board is left as it was."""
    board.push(move)
    taken = tuple(square_name(square, board.size) for square in board.captured())
    board.pop()
    return taken


def _unknown(puzzle: Puzzle, why: str) -> UnknownError:
    return UnknownError(f"puzzle {excerpt(puzzle.id)}: {why}; give it more with --nodes or --most")
