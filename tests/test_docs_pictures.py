"""The pictures of the pages are those that the toolkit draws, and what they show holds under the plain rules too."""

from __future__ import annotations

import re

import pytest

from docs.building.pictures import FIGURES, pictures
from reports.rulebook import Scene, Value, game_of, points
from tablut import Board
from tablut.rules import NaiveGame
from tablut.status import UNPLAYABLE
from tests.support.pages import PAGES, ROOT, read

PLAYED = [
    pytest.param(scene, point.name if point.values else "", value, id=f"{point.name}-{value}-{scene.heading}")
    for point in points()
    for value in point.values or ("",)
    for scene in point.scenes
    if " " not in scene.tried
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
def test_a_scene_ends_the_same_under_the_plain_rules(scene: Scene, field: str, value: Value) -> None:
    """The pictures show what the compiled engine says; the plain rules say the same."""
    variant = game_of(scene, None, field, value)
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
