"""The rules in words and pictures: every value of every field is told of, and what decides a puzzle is proved."""

from dataclasses import replace
from itertools import product
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from reports.explorer.jobs import deciding_rules
from reports.rulebook import game_of, points, rulebook, with_field
from retrograde.proofs import ProofLimits
from retrograde.puzzles.puzzle_file import read_puzzles
from tablut import Board
from tablut.rules import NaiveGame
from tablut.status import UNPLAYABLE
from tablut.variants import load_variant, rule_fields, shipped_variants
from tablut.variants.model import Rules
from tests.support.effort import slow_but
from tests.support.waiting import PATIENCE


def values_of(model: type[BaseModel], prefix: str = "") -> dict[str, tuple[Any, ...]]:
    """Return the values that each rule field can have, where they are listed or two."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, info in model.model_fields.items():
        kinds, full = (info.annotation, *get_args(info.annotation)), prefix + (info.alias or name)
        kind = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), kinds[0])
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= values_of(kind, full + ".")
        else:
            found[full] = (True, False) if kind is bool else get_args(kind) if info.default != () else ()
    return found


def test_every_value_of_every_field_is_told_of() -> None:
    told = {point.name: point for point in points()}
    for name, values in values_of(Rules).items():
        if name not in ("camps.inert", "move_limit", "repetition.times"):
            assert sorted(map(str, told[name].values)) == sorted(map(str, values)), name
        assert len(told[name].texts) == max(len(told[name].values), 1)
        assert len(set(told[name].texts)) == len(told[name].texts)


def test_a_rulebook_has_the_points_of_its_game_with_its_values() -> None:
    for variant in shipped_variants():
        told = [point for chapter in rulebook(variant).chapters for point in chapter.points]
        fields = {field.name: field.value for field in rule_fields(variant.rules)}
        assert all(point.value == fields.get(point.name, "") for point in told)
        drawn = {letter for point in told for scene in point.pictures for row in scene.terrain for letter in row}
        assert drawn & {"A", "*", "X"} == {letter for row in variant.terrain for letter in row} & {"A", "*", "X"}
    mine = load_variant("ashton")
    for field, value, word in (("move_limit", 77, "77"), ("camps.inert", ["e9"], "e9")):
        told = [
            point
            for chapter in rulebook(replace(mine, rules=with_field(mine.rules, field, value))).chapters
            for point in chapter.points
        ]
        assert word in next(point.said for point in told if point.name == field)


@pytest.mark.parametrize(
    ("decided", "rules", "undecided"),
    slow_but(
        [("brandubh-federation-02", ["king.on_castle", "encirclement"], "brandubh-04")],
        [("clear-edge-beside-corner", ["corners.hostile", "king.elsewhere"], "clear-edge")],
    ),
)
def test_what_decides_a_puzzle_is_proved(decided: str, rules: list[str], undecided: str) -> None:
    puzzles = {puzzle.id: puzzle for puzzle in read_puzzles("collection")}
    limits = ProofLimits(positions=0)
    found = deciding_rules(puzzles[decided], limits, PATIENCE)
    assert (found.rules, found.unknown) == (rules, [])
    assert deciding_rules(puzzles[undecided], limits, PATIENCE).rules == []
    assert "corners.hostile" in deciding_rules(puzzles[undecided], ProofLimits(nodes=1, positions=0), PATIENCE).unknown


def test_scenes_end_the_same_under_the_plain_rules() -> None:
    """The pictures show what the compiled engine says; the plain rules say the same."""
    tried = 0
    for point in points():
        for value, scene in product(point.values or ("",), point.scenes):
            if " " in scene.tried:
                continue
            variant = game_of(scene, None, point.name if point.values else "", value)
            game, board = NaiveGame(variant), Board(variant, scene.position)
            position = game.read(scene.position)
            moves = {game.move_name(move) for move in game.legal_moves(position)}
            assert {str(move) for move in board.legal_moves} == moves
            assert not board.status() & UNPLAYABLE
            if "-" in scene.tried:
                result = game.apply(position, game.parse_move(scene.tried))
                board.push(scene.tried)
                captured = {rank * board.size + file for file, rank in result.captured}
                assert (set(board.captured()), game.write(result.position)) == (captured, str(board.position))
                reached = board.outcome()
                if reached is None or reached.termination != "no_moves" or result.outcome is not None:
                    assert result.outcome == reached
            tried += 1
    assert tried > 50
