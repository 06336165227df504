"""The pictures of the pages are those that the toolkit draws, and what they show holds under the plain rules too."""

from __future__ import annotations

import re
from typing import Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from docs.building.pictures import FIGURES, pictures
from docs.building.scenes import REPETITION_VALUES, SUBJECTS, Scene, game_of
from tablut import Board
from tablut.rules import NaiveGame
from tablut.status import UNPLAYABLE
from tablut.variants import Rules
from tests.support.pages import PAGES, ROOT, read

PLAYED = [
    pytest.param(scene, subject.name if value else "", value, id=f"{subject.name}-{value}-{scene.heading}")
    for subject in SUBJECTS
    for value in subject.values or ("",)
    for scene in subject.scenes
]


def test_pictures_and_their_tables_are_current() -> None:
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in pictures().items()
        if not path.exists() or read(path) != text
    ]
    assert stale == [], "python -m docs.building.pictures"


def test_every_picture_is_used_and_described() -> None:
    shown = {}
    for page in PAGES:
        for said, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", read(page)):
            shown[(page.parent / target).resolve()] = said
    figures = set(FIGURES.iterdir())
    assert figures <= set(shown)
    assert [path.name for path in figures if len(shown[path]) < 12] == []


@pytest.mark.parametrize(("scene", "field", "value"), PLAYED)
def test_a_scene_ends_the_same_under_the_plain_rules(scene: Scene, field: str, value: str) -> None:
    """The pictures show what the compiled engine says; the plain rules say the same."""
    variant = game_of(scene, field, value)
    game, board = NaiveGame(variant), Board(variant, scene.position)
    position = game.read(scene.position)
    assert {str(move) for move in board.legal_moves} == {game.move_name(move) for move in game.legal_moves(position)}
    assert not board.status() & UNPLAYABLE
    if "-" in scene.tried:
        result = game.apply(position, game.parse_move(scene.tried))
        board.push(scene.tried)
        captured = {rank * board.size + file for file, rank in result.captured}
        assert (set(board.captured()), game.write(result.position)) == (captured, str(board.position))
        reached = board.outcome()
        if reached is None or reached.termination != "no_moves" or result.outcome is not None:
            assert result.outcome == reached


def fields(model: type[BaseModel], prefix: str = "") -> dict[str, tuple[str, ...]]:
    """Return the rule fields with the values that can be listed."""
    found: dict[str, tuple[str, ...]] = {}
    for name, info in model.model_fields.items():
        known = f"{prefix}{info.alias or name}"
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            found |= fields(info.annotation, f"{known}.")
        elif get_origin(info.annotation) is Literal:
            found[known] = tuple(f'"{value}"' for value in get_args(info.annotation))
        else:
            found[known] = ("true", "false") if info.annotation is bool else ()
    return found


def test_every_rule_field_is_drawn_with_every_value() -> None:
    drawn = {subject.name: subject.values for subject in SUBJECTS} | {"repetition": REPETITION_VALUES}
    page = read(ROOT / "docs" / "rules.md")
    for name, values in fields(Rules).items():
        assert f"`{name}`" in page, name
        if name in ("first", "move_limit"):
            continue
        assert set(values) <= set(drawn[name]), name
        assert len(drawn[name]) >= 2, name
