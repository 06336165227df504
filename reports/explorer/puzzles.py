"""Puzzles: what there is, and solving them move by move, with proofs for what is right and what refutes the rest."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from reports.explorer.failures import BusyError, NotFoundError
from retrograde.proofs import ProofLimits
from retrograde.puzzles.collection import read_puzzles
from retrograde.puzzles.game import PuzzleGame
from tablut.board import Board
from tablut.errors import InputError
from tablut.files import excerpt
from tablut.results import Result
from tablut.variants import shipped_variant

if TYPE_CHECKING:
    from reports.explorer.desk import Desk
    from reports.explorer.settings import Settings
    from retrograde.puzzles import Puzzle

__all__ = ["ListedPuzzle", "list_puzzles", "puzzles_router"]


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


class TryAsked(BaseModel):
    """A puzzle as far as it was played: the solver's moves and the answers to them."""

    model_config = ConfigDict(extra="forbid")
    moves: Annotated[list[Annotated[str, Field(max_length=80)]], Field(max_length=100)] = []


class Tried(Result):
    """What a try came to.

    Attributes
    ----------
    right : bool or None
        Whether the move attains the distance; None where the proof did not end in time.
    over : bool
        Whether the puzzle is solved.
    reply : str or None
        The longest defence after a right move, a refutation of a wrong one.
    plies : int
        Plies that are left after it.
    said : str
        The same in words.
    """

    move: str
    right: bool | None
    over: bool
    reply: str | None
    plies: int
    said: str


class Hint(Result):
    """Where the piece stands that is to be moved."""

    square: str


class Revealed(Result):
    """The solution from here: a right move for the winner, the longest defence, and so on; all right first moves."""

    line: list[str]
    right: list[str]


class Opened(Result):
    """A puzzle opened: itself, and the first move where the side that loses begins."""

    puzzle: ListedPuzzle
    reply: str | None


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


def _named(name: str) -> ListedPuzzle:
    found = list_puzzles().get(name)
    if found is None:
        raise NotFoundError(f"puzzle {excerpt(name)}: there is none of that id; /api/puzzles lists them")
    return found


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


def puzzles_router(settings: Settings, desk: Desk) -> APIRouter:
    """Return the addresses of the puzzles.

    Parameters
    ----------
    settings : Settings
        The limits.
    desk : Desk
        Where proofs wait for their turn.

    Returns
    -------
    APIRouter
        ``/api/puzzles`` and what is below it.
    """
    router = APIRouter(prefix="/api/puzzles", tags=["puzzles"])

    @router.get("", summary="The puzzles that ship, without solutions")
    def _list() -> dict[str, list[ListedPuzzle]]:
        return {"puzzles": list(list_puzzles().values())}

    @router.get("/{name}", summary="One puzzle, and the first move where the side that loses begins")
    async def _open(request: Request, name: str) -> Opened:
        listed = _named(name)
        if listed.side == listed.winner:
            return Opened(puzzle=listed, reply=None)
        reply = await desk.work(request, lambda: _game(listed, [], settings).defence())
        if reply is None:
            raise BusyError("the defence was not found in time; try again in a moment")
        return Opened(puzzle=listed, reply=str(reply))

    @router.post("/{name}/try", summary="The last of the moves judged, by proof")
    async def _try(request: Request, name: str, asked: TryAsked) -> Tried:
        listed = _named(name)
        if not asked.moves:
            raise InputError("field 'moves': give the moves so far, the one to be judged last")
        return await desk.work(request, lambda: _judged(listed, asked.moves, settings))

    @router.post("/{name}/hint", summary="Which piece to move")
    async def _hint(request: Request, name: str, asked: TryAsked) -> Hint:
        listed = _named(name)
        line = await desk.work(request, lambda: _solution(listed, asked.moves, settings, most=1))
        return Hint(square=line[0].split("-")[0])

    @router.post("/{name}/reveal", summary="The solution from here")
    async def _reveal(request: Request, name: str, asked: TryAsked) -> Revealed:
        listed = _named(name)

        def reveal() -> Revealed:
            """Look for all right moves, and for a line."""
            right = [str(move) for move in _game(listed, asked.moves, settings).right_moves()]
            return Revealed(line=_solution(listed, asked.moves, settings), right=right)

        return await desk.work(request, reveal)

    return router


def _judged(listed: ListedPuzzle, moves: list[str], settings: Settings) -> Tried:
    """Return what the last of some moves is worth."""
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
    refuted = f" {reply} refutes it:" if reply else ""
    return f"Not the shortest.{refuted} no win within {_plies(plies)} is left. That is proved."


def _plies(number: int) -> str:
    return f"{number} ply" if number == 1 else f"{number} plies"


def _solution(listed: ListedPuzzle, moves: list[str], settings: Settings, most: int = 100) -> list[str]:
    """Return best play by both sides, at most so many moves of it."""
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
