"""A game's rules in words and pictures, generated from its rule fields for the documentation and the explorer.

``rulebook.toml`` contains texts about each rule field and about general rules, and scenes that illustrate them. The
engine plays each scene under a game's rules.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from pydantic import Field

from tablut.board import Board
from tablut.position import square_name
from tablut.results import Result
from tablut.variants.model import CAMP_LETTERS, Rules, Variant, rule_fields
from tablut.work.progress import plural

Value = bool | str | tuple[str, ...]


class Scene(Result):
    """A position with either moves to try or the square of a piece whose possible moves are shown."""

    heading: str
    position: str
    tried: str
    board: str
    rules: dict[str, Value] = Field({})
    nothing: str = "nothing is captured"


class Point(Result):
    """A rule field with a text for each of its values or, if it has no values, a rule common to all rule sets."""

    name: str
    chapter: str
    texts: tuple[str, ...]
    values: tuple[Value, ...] = ()
    cells: str = ""
    scenes: tuple[Scene, ...] = ()

    def text_of(self, value: Any) -> str:
        """Return the text for a value of the field, or an empty string if the value is None."""
        if value is None:
            return ""
        if not self.values:
            return self.texts[0].format(value=value)
        # Lists contain squares, which differ between boards, so all non-empty lists have the same text.
        number = bool(value) if isinstance(value, (list, tuple)) else self.values.index(value)
        return self.texts[number].format(value=", ".join(value) if isinstance(value, (list, tuple)) else value)


class _Book(Result):
    rules: Rules
    boards: dict[str, tuple[str, ...]]
    starts: dict[int, tuple[str, ...]]
    points: tuple[Point, ...]


@cache
def _book() -> _Book:
    text = resources.files("reports").joinpath("rulebook.toml").read_text(encoding="utf-8")
    return _Book.model_validate(tomllib.loads(text))


def points() -> tuple[Point, ...]:
    """Return all points in order of presentation."""
    return _book().points


def with_field(rules: Rules, field: str, value: Any) -> Rules:
    """Return the rules with one field set to another value."""
    table, _, name = field.rpartition(".")
    plain = rules.plain()
    (plain[table] if table else plain)[name] = list(value) if isinstance(value, tuple) else value
    return Rules.model_validate(plain)


def game_of(scene: Scene, variant: Variant | None = None, field: str = "", value: Any = None) -> Variant:
    """Return the game for playing a scene.

    The game has the rules of the given variant. Without a variant, it has the rules used in the documentation, but with
    the values that the scene sets and with ``field`` set to ``value``.
    """
    book = _book()
    terrain = book.boards[scene.board]
    if variant is None:
        rules = book.rules
        changes = [*scene.rules.items(), *([(field, value)] if field else [])]
        for name, changed in changes:
            rules = with_field(rules, name, changed)
    else:
        # The scene's board is smaller: its camp cell in the middle of an edge represents the game's inert cells.
        inert = ["d7"] if scene.board == "camps" and variant.rules.camps.inert else []
        rules = with_field(variant.rules, "camps.inert", inert)
        if not variant.regions.castles:
            terrain = tuple(row.replace("T", ".") for row in terrain)
    return Variant("scene", "A scene", "reports/rulebook.toml", terrain, book.starts[len(terrain)], rules)


def _kinds(terrain: tuple[str, ...]) -> set[str]:
    return {"A" if letter in CAMP_LETTERS else letter for row in terrain for letter in row if letter not in ".+T"}


def points_of(variant: Variant) -> Iterator[tuple[Point, Any]]:
    """Yield the rulebook entries that apply to a game, each with the game's value of the rule field.

    Each entry contains only the example scenes that are possible in the game.
    """
    kinds = _kinds(variant.terrain)
    values = {field.name: field.value for field in rule_fields(variant.rules)}
    for point in points():
        # A field that has no effect in this game is not in `values`, and a board may have no castle.
        silent = (point.values and point.name not in values) or values.get(point.name, "") is None
        if set(point.cells) <= kinds and not silent and (variant.regions.castles or "castle" not in point.name):
            scenes = [
                scene
                for scene in point.scenes
                if _kinds(_book().boards[scene.board]) <= kinds
                and all(values.get(name) == value for name, value in scene.rules.items())
            ]
            yield point.model_copy(update={"scenes": tuple(scenes)}), values.get(point.name, "")


def variations(variant: Variant) -> Iterator[tuple[str, Variant]]:
    """Yield the games that differ from a given game in one rule field, as pairs of the field and the changed game."""
    for point, value in points_of(variant):
        for other in point.values:
            if point.name != "camps.inert" and other != value:
                yield point.name, replace(variant, rules=with_field(variant.rules, point.name, other))


# -- results of playing scenes --------------------------------------------------------------------


class Picture(Result):
    """The result of playing a scene: the position, arrows for the moves, the captured squares, and a caption."""

    heading: str
    said: str
    terrain: tuple[str, ...]
    position: str
    arrows: list[str]
    taken: list[str]


class Rule(Result):
    """A point in a game's rules, in words and pictures."""

    name: str
    value: Any
    said: str
    pictures: list[Picture]


class Chapter(Result):
    """A group of related points."""

    title: str
    points: list[Rule]


class Rulebook(Result):
    """A game's rules."""

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
        effect = _effect(board, scene.nothing)
    else:
        before, taken, arrows = board.position, [], _farthest(board, scene.tried)
        number = sum(str(move).startswith(scene.tried) for move in board.legal_moves)
        effect = plural(number, "move")
    return Picture(
        heading=scene.heading,
        said=effect,
        terrain=variant.terrain,
        position=str(before),
        arrows=arrows,
        taken=taken,
    )


def _farthest(board: Board, square: str) -> list[str]:
    """Return the longest legal move in each direction of the piece on a square."""
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


def _effect(board: Board, nothing: str) -> str:
    """Describe the last ply's effect in words."""
    outcome = board.outcome()
    squares = [square_name(square, board.size) for square in board.captured()]
    effect = nothing
    if board.captured_king() is not None:
        return "the king is captured"
    if squares:
        effect = " and ".join([", ".join(squares[:-1]), squares[-1]] if squares[1:] else squares)
        effect += f" {'are' if squares[1:] else 'is'} captured"
    if outcome is None:
        return effect
    won = f"{outcome.winner} has won" if outcome.winner else "a draw"
    if outcome.termination == "no_moves":
        return f"{'black' if outcome.winner == 'white' else 'white'} cannot move: {won}"
    if outcome.termination in ("exit_fort", "encirclement"):
        return f"{outcome.how}: {won}"
    return f"{effect}: {won}" if squares else won


@lru_cache(maxsize=32)
def rulebook(variant: Variant) -> Rulebook:
    """Return a game's rules in words, and scenes played under these rules."""
    chapters: dict[str, list[Rule]] = {}
    for point, value in points_of(variant):
        pictures = [play(scene, game_of(scene, variant)) for scene in point.scenes]
        rule = Rule(name=point.name, value=value, said=point.text_of(value), pictures=pictures)
        chapters.setdefault(point.chapter, []).append(rule)
    return Rulebook(
        variant=variant.name,
        title=variant.title,
        source=variant.source,
        chapters=[Chapter(title=title, points=rules) for title, rules in chapters.items()],
    )
