"""What workers do about puzzles: judge moves, find the defence, show solutions. Nothing here answers requests."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from retrograde.proofs import ProofLimits
from retrograde.puzzles.game import PuzzleGame
from retrograde.puzzles.puzzle_file import read_puzzles
from tablut.board import Board
from tablut.errors import InputError
from tablut.results import Result
from tablut.variants import shipped_variant

if TYPE_CHECKING:
    from reports.explorer.settings import Settings
    from reports.explorer.workers import Caller
    from retrograde.puzzles import Puzzle


class ListedPuzzle(Result):
    """A puzzle without its solution."""

    id: str
    variant: str
    size: int
    position: str
    side: Literal["white", "black"]
    winner: Literal["white", "black"]
    plies: int
    claim: str
    grade: int | None
    theme: str
    men: int
    source: str


class Tried(Result):
    """What a try came to."""

    move: str
    right: bool | None
    over: bool
    reply: str | None
    plies: int
    said: str


class Revealed(Result):
    """The solution from here: a right move for the winner, the longest defence, and so on; all right first moves."""

    line: list[str]
    right: list[str]


@cache
def list_puzzles() -> dict[str, ListedPuzzle]:
    """Return the puzzles of the collection that have a winner and a distance, by id."""
    return {puzzle.id: _listed(puzzle) for puzzle in _wins().values()}


@cache
def _wins() -> dict[str, Puzzle]:
    found = read_puzzles("collection")
    return {one.id: one for one in found if one.stipulation and one.stipulation.winner and one.stipulation.plies}


def _listed(puzzle: Puzzle) -> ListedPuzzle:
    claim = puzzle.stipulation
    assert claim is not None
    assert claim.winner is not None
    assert claim.plies is not None
    grade = puzzle.tags.get("grade")
    position = puzzle.position
    return ListedPuzzle(
        id=puzzle.id,
        variant=puzzle.variant,
        size=position.size,
        position=str(position),
        side="white" if position.side == "w" else "black",
        winner=claim.winner,
        plies=claim.plies,
        claim=str(claim),
        grade=int(grade) if grade and grade.isdecimal() else None,
        theme=_theme(puzzle),
        men=1 + sum(position.material),
        source=puzzle.tags.get("source", ""),
    )


def _theme(puzzle: Puzzle) -> str:
    """Return what a puzzle is about: an idea of the literature, an ending, or the middle of a game."""
    if puzzle.tags.get("pattern"):
        return "pattern"
    return "ending" if puzzle.id.startswith("ending") else "middle game"


def _game(listed: ListedPuzzle, moves: list[str], settings: Settings) -> PuzzleGame:
    """Return the puzzle after some moves."""
    variant = shipped_variant(listed.variant)
    board = Board(variant, listed.position)
    if len(moves) >= listed.plies:
        raise InputError(f"puzzle {listed.id}: is over after {listed.plies} plies, and {len(moves)} moves are given")
    for move in moves:
        board.push_text(move)
    limits = ProofLimits(settings.nodes, settings.proof_seconds, settings.proof_mib << 20, 0)
    left = listed.plies - len(moves)
    return PuzzleGame(variant, board.position, listed.winner, left, limits)


def defence(_: Caller, listed: ListedPuzzle, settings: Settings) -> str | None:
    """Find the first move of a puzzle in which the side that loses begins."""
    move = _game(listed, [], settings).defence()
    return None if move is None else str(move)


def judged(_: Caller, listed: ListedPuzzle, moves: list[str], settings: Settings) -> Tried:
    """Judge the last of some moves."""
    game = _game(listed, moves[:-1], settings)
    if game.board.turn != listed.winner:
        raise InputError(f"puzzle {listed.id}: after {len(moves) - 1} moves it is the other side's turn")
    move = game.board.push_text(moves[-1])
    game.board.pop()
    answer = game.judge(move)
    reply = None if answer.reply is None else str(answer.reply)
    left = game.plies - 1 - (answer.reply is not None) if answer.right else game.plies
    return Tried(
        move=str(move),
        right=answer.right,
        over=bool(answer.right and answer.over),
        reply=reply,
        plies=left,
        said=_said(game.plies, answer.right, reply, over=answer.over),
    )


def _said(plies: int, right: bool | None, reply: str | None, *, over: bool) -> str:
    if right is None:
        return "The proof did not end in time; nothing is known of this move."
    if right:
        if over:
            return "Solved: the game is won."
        return f"Right. The longest defence is {reply}; {_plies(plies - 2)} to the end."
    if over:
        return "That ends the game, and not as it should."
    after = f" after {reply}" if reply else ""
    return f"Not this one:{after} the win within {_plies(plies)} is gone. That is proved."


def _plies(number: int) -> str:
    return f"{number} ply" if number == 1 else f"{number} plies"


def revealed(caller: Caller, listed: ListedPuzzle, moves: list[str], settings: Settings) -> Revealed:
    """Find all right moves, and a line."""
    right = [str(move) for move in _game(listed, moves, settings).right_moves()]
    return Revealed(line=solution(caller, listed, moves, settings), right=right)


def solution(_: Caller, listed: ListedPuzzle, moves: list[str], settings: Settings, most: int = 100) -> list[str]:
    """Find best play by both sides."""
    line: list[str] = []
    so_far = list(moves)
    while len(so_far) < listed.plies and len(line) < most:
        game = _game(listed, so_far, settings)
        if game.board.outcome() is not None:
            break
        winner = game.board.turn == listed.winner
        move = next(game.right_moves(), None) if winner else game.defence()
        if move is None:
            raise InputError(f"puzzle {listed.id}: from here the win is not within the plies that it claims")
        line.append(str(move))
        so_far.append(str(move))
    if not line:
        raise InputError(f"puzzle {listed.id}: is over")
    return line
