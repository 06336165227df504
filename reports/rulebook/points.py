"""Reader of ``rulebook.toml``: texts about each rule field and about general rules, and scenes that illustrate them.

A scene contains only a position and the moves to try. Their effect is determined by the engine when it plays the scene
(`reports.rulebook.playing`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from pydantic import Field

from tablut.results import Result
from tablut.variants.model import CAMP_LETTERS, Rules, Variant, rule_fields

Value = bool | str | tuple[str, ...]


class Scene(Result):
    """A position and what to try in it: moves, or the square of a piece whose possible moves are shown."""

    heading: str
    position: str
    tried: str
    board: str
    rules: dict[str, Value] = Field({})
    nothing: str = "nothing is captured"


class Point(Result):
    """A rule field with a text for each of its values; without values, a rule that holds in every rule set."""

    name: str
    chapter: str
    said: tuple[str, ...]
    values: tuple[Value, ...] = ()
    cells: str = ""
    scenes: tuple[Scene, ...] = ()

    def said_of(self, value: Any) -> str:
        """Return the text for a value of the field; empty if the value is None."""
        if value is None:
            return ""
        if not self.values:
            return self.said[0].format(value=value)
        # Lists contain squares, which differ from board to board, so there is one text for any non-empty list.
        number = bool(value) if isinstance(value, (list, tuple)) else self.values.index(value)
        return self.said[number].format(value=", ".join(value) if isinstance(value, (list, tuple)) else value)


class _Book(Result):
    rules: Rules
    boards: dict[str, tuple[str, ...]]
    starts: dict[int, tuple[str, ...]]
    points: tuple[Point, ...]


@cache
def _book() -> _Book:
    text = resources.files(__package__).joinpath("rulebook.toml").read_text(encoding="utf-8")
    return _Book.model_validate(tomllib.loads(text))


def points() -> tuple[Point, ...]:
    """Return all points, in the order of presentation."""
    return _book().points


def with_field(rules: Rules, field: str, value: Any) -> Rules:
    """Return the rules with one field set to another value."""
    table, _, name = field.rpartition(".")
    plain = rules.plain()
    (plain[table] if table else plain)[name] = list(value) if isinstance(value, tuple) else value
    return Rules.model_validate(plain)


def game_of(scene: Scene, variant: Variant | None = None, field: str = "", value: Any = None) -> Variant:
    """Return the game in which a scene is played.

    It has the rules of the given variant. Without a variant it has the rules of the documentation, with the scene's own
    values and with `field` set to `value`.
    """
    book = _book()
    terrain = book.boards[scene.board]
    if variant is None:
        rules = book.rules
        for name, said in [*scene.rules.items(), *([(field, value)] if field else [])]:
            rules = with_field(rules, name, said)
    else:
        # The scene's board is smaller: its camp cell in the middle of an edge stands for the inert cells of the game.
        inert = ["d7"] if scene.board == "camps" and variant.rules.camps.inert else []
        rules = with_field(variant.rules, "camps.inert", inert)
        if not variant.regions.castles:
            terrain = tuple(row.replace("T", ".") for row in terrain)
    return Variant("scene", "A scene", "reports/rulebook", terrain, book.starts[len(terrain)], rules)


def _kinds(terrain: tuple[str, ...]) -> set[str]:
    return {"A" if letter in CAMP_LETTERS else letter for row in terrain for letter in row if letter not in ".+T"}


def points_of(variant: Variant) -> Iterator[tuple[Point, Any]]:
    """Yield the points that apply to a game, each with the game's value and the scenes possible in that game."""
    kinds = _kinds(variant.terrain)
    values = {field.name: field.value for field in rule_fields(variant.rules)}
    for point in points():
        # A field without effect in this game is not among its values, and a board may have no castle.
        silent = (point.values and point.name not in values) or values.get(point.name, "") is None
        if set(point.cells) <= kinds and not silent and (variant.regions.castles or "castle" not in point.name):
            scenes = [
                scene
                for scene in point.scenes
                if _kinds(_book().boards[scene.board]) <= kinds
                and all(values.get(name) == value for name, value in scene.rules.items())
            ]
            yield point.model_copy(update={"scenes": tuple(scenes)}), values.get(point.name, "")


def others(variant: Variant) -> Iterator[tuple[str, Variant]]:
    """Yield each variation of a game in a single rule field, as pairs of the field and the changed game."""
    for point, value in points_of(variant):
        for other in point.values:
            if point.name != "camps.inert" and other != value:
                yield point.name, replace(variant, rules=with_field(variant.rules, point.name, other))
