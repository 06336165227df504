"""The solutions of puzzles as trees, with which a page can play a puzzle without an implementation of the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retrograde.puzzles.puzzle_game import PuzzleGame, PuzzleTree, TreeMove, TreeNode, open_puzzle
from tablut.board import Board
from tablut.errors import UnknownError
from tablut.position import square_name
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from retrograde.proofs import ProofLimits
    from retrograde.puzzles.puzzle_file import Puzzle
    from tablut.position import Move, Position

MOST_NODES: Final = 2_000
"""Default maximum number of positions in a tree."""


def puzzle_tree(puzzle: Puzzle, limits: ProofLimits | None = None, most: int = MOST_NODES) -> PuzzleTree:
    """Return a puzzle's tree. All judgements in the tree are proved."""
    game = open_puzzle(puzzle, limits)
    plies, opening = game.plies, None
    taken: tuple[str, ...] = ()
    if game.board.turn != game.winner:
        defence = game.defence()
        if defence is None:
            raise _unknown(puzzle, "the limits were reached")
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
            raise _unknown(puzzle, f"has a tree of more than {most:,} positions")
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
    """Return the node for the game's current position, and append new positions to the queue ``waiting``."""
    board = game.board
    right: dict[str, TreeMove] = {}
    wrong: dict[str, TreeMove] = {}
    for move in list(board.legal_moves):
        judged = game.judge(move)
        if judged.right is None or (judged.reply is None and not judged.over):
            raise _unknown(puzzle, "the limits were reached")
        takes, to = _takes(board, move), None
        reply_takes: tuple[str, ...] = ()
        if judged.reply is not None:
            board.push(move)
            reply_takes = _takes(board, judged.reply)
            board.push(judged.reply)
            if judged.right and game.plies > 2:
                to = numbers.setdefault(board.position, len(numbers))
                if to == len(waiting):
                    waiting.append((board.position, game.plies - 2))
            board.pop()
            board.pop()
        reply = None if judged.reply is None else str(judged.reply)
        (right if judged.right else wrong)[str(move)] = TreeMove(
            takes=takes, reply=reply, reply_takes=reply_takes, to=to
        )
    return TreeNode(position=str(board.position), plies=game.plies, right=right, wrong=wrong)


def _takes(board: Board, move: Move) -> tuple[str, ...]:
    """Return the squares on which a move captures. The board is left unchanged."""
    board.push(move)
    taken = tuple(square_name(square, board.size) for square in board.captured())
    board.pop()
    return taken


def _unknown(puzzle: Puzzle, why: str) -> UnknownError:
    return UnknownError(why, subject=f"puzzle {excerpt(puzzle.id)}", remedy="allow more `nodes` or `most` positions")
