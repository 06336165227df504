"""Scenes played by the engine, and the rules of a game with the scenes that illustrate them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from reports.rulebook.points import Scene, game_of, points_of
from tablut.board import Board
from tablut.notation import square_name
from tablut.results import Result
from tablut.variants import Variant
from tablut.work.progress import plural


class Picture(Result):
    """A scene that has been played: the position, arrows for the moves, the captured squares, and a caption."""

    heading: str
    said: str
    terrain: tuple[str, ...]
    position: str
    arrows: list[str]
    taken: list[str]


class Told(Result):
    """A point of a game's rules, in words and pictures."""

    name: str
    value: Any
    said: str
    pictures: list[Picture]


class Chapter(Result):
    """A group of related points."""

    title: str
    points: list[Told]


class Rulebook(Result):
    """The rules of a game."""

    variant: str
    title: str
    source: str
    chapters: list[Chapter]


def play(scene: Scene, variant: Variant) -> Picture:
    """Play a scene with the engine and return the resulting picture."""
    board = Board(variant, scene.position)
    if "-" in scene.tried:
        *earlier, last = scene.tried.split()
        for move in earlier:
            board.push_text(move)
        before, arrows = board.position, [last]
        board.push_text(last)
        king = board.captured_king()
        taken = [square_name(square, board.size) for square in (*board.captured(), *([] if king is None else [king]))]
        said = _said(board, scene.nothing)
    else:
        before, taken, arrows = board.position, [], _farthest(board, scene.tried)
        number = sum(str(move).startswith(scene.tried) for move in board.legal_moves)
        said = plural(number, "move")
    return Picture(
        heading=scene.heading,
        said=said,
        terrain=variant.terrain,
        position=str(before),
        arrows=arrows,
        taken=taken,
    )


def _farthest(board: Board, square: str) -> list[str]:
    """Return the longest legal move of the piece on a square in each direction."""
    found: dict[tuple[int, int], Any] = {}
    for move in board.legal_moves:
        if square_name(move.start, board.size) == square:
            steps = [
                b - a for a, b in zip(divmod(move.start, board.size), divmod(move.target, board.size), strict=True)
            ]
            way = (steps[0] > 0) - (steps[0] < 0), (steps[1] > 0) - (steps[1] < 0)
            longest = found.get(way)
            if longest is None or abs(move.target - move.start) > abs(longest.target - longest.start):
                found[way] = move
    return [str(move) for move in found.values()]


def _said(board: Board, nothing: str) -> str:
    """Describe the effect of the last ply in words."""
    outcome = board.outcome()
    squares = [square_name(square, board.size) for square in board.captured()]
    said = nothing
    if board.captured_king() is not None:
        return "the king is captured"
    if squares:
        said = " and ".join([", ".join(squares[:-1]), squares[-1]] if squares[1:] else squares)
        said += f" {'are' if squares[1:] else 'is'} captured"
    if outcome is None:
        return said
    won = f"{outcome.winner} has won" if outcome.winner else "a draw"
    if outcome.termination == "no_moves":
        return f"{'black' if outcome.winner == 'white' else 'white'} cannot move: {won}"
    if outcome.termination in ("exit_fort", "encirclement"):
        return f"{outcome.how}: {won}"
    return f"{said}: {won}" if squares else won


@lru_cache(maxsize=32)
def rulebook(variant: Variant) -> Rulebook:
    """Return the rules of a game in words, with scenes played under the rules of that game."""
    chapters: dict[str, list[Told]] = {}
    for point, value in points_of(variant):
        pictures = [play(scene, game_of(scene, variant)) for scene in point.scenes]
        told = Told(name=point.name, value=value, said=point.said_of(value), pictures=pictures)
        chapters.setdefault(point.chapter, []).append(told)
    return Rulebook(
        variant=variant.name,
        title=variant.title,
        source=variant.source,
        chapters=[Chapter(title=title, points=told) for title, told in chapters.items()],
    )
