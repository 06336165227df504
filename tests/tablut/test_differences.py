"""`tablut variants diff`: what it answers is what the plain rules answer, and the plies before are all alike."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tablut.cli.shell import run
from tablut.differences import Difference, Differences, differences
from tablut.position import Position
from tablut.rules import NaiveGame
from tablut.variants import Variant, load_variant
from tablut.work.progress import Observer
from tests.support.effort import slow_but

if TYPE_CHECKING:
    from pathlib import Path

    from tablut.rules.naive import NaivePosition

COPENHAGEN = load_variant("copenhagen")


def changed(**rules: Any) -> Variant:
    """Return Copenhagen on seven by seven with other values of some fields."""
    small = load_variant("brandubh-federation")
    own = COPENHAGEN.rules.model_copy(update=rules)
    return replace(small, name="small", rules=own)


def found(a: Variant, b: Variant, *, plies: int = 0, most: int = 10_000, samples: int = 4000) -> Differences:
    return differences(a, b, Observer(), plies=plies, most=most, samples=samples)


def told(variant: Variant, position: NaivePosition) -> dict[str, Any]:
    """Return what the plain rules answer to every ply: captures, outcome."""
    game, answers = NaiveGame(variant), {}
    for move in game.legal_moves(position):
        result = game.apply(position, move)
        cells = sorted(rank * variant.size + file for file, rank in result.captured)
        answers[game.move_name(move)] = (tuple(cells), result.outcome)
    return answers


def check(one: Difference, a: Variant, b: Variant) -> None:
    answers = [told(variant, NaiveGame(variant).read(str(one.position))) for variant in (a, b)]
    unlike = {name for name in answers[0] | answers[1] if answers[0].get(name) != answers[1].get(name)}
    assert {str(move) for move in one.moves} == unlike != set()
    for mine, of in zip(one.effects, answers, strict=True):
        for move, answer in zip(one.moves, mine, strict=True):
            assert (None if answer is None else tuple(answer)) == of.get(str(move))


WALL = COPENHAGEN.rules.shieldwall
assert WALL is not None
READINGS = {
    "no corner": ({"shieldwall": WALL.model_copy(update={"corner": False})}, "", 5),
    "any mover": ({"shieldwall": WALL.model_copy(update={"mover": "any"})}, "", 5),
    "no ring": ({"encirclement": "none"}, "encirclement", 7),
    "no fort": ({"fort": "none"}, "exit_fort", 5),
}


@pytest.mark.parametrize("reading", slow_but(["no corner", "no fort"], READINGS))
def test_few_men_show_a_reading(reading: str) -> None:
    rules, ending, men = READINGS[reading]
    a, b = changed(), changed(**rules)
    result = found(a, b)
    assert (result.plies, result.compared, result.drawn, result.stopped) == (0, 1, 4000, "")
    for one in result.found:
        check(one, a, b)
        assert one.line is None
    first = result.found[0]
    assert sum(first.position.material) + 1 <= men
    assert ending in {
        answers[0].outcome.termination for answers in first.effects if answers[0] and answers[0].outcome
    } | {""}
    assert found(a, b).found == result.found


def test_the_fewest_plies_from_the_start() -> None:
    a, b = load_variant("ashton"), load_variant("bologna")
    (one,) = found(a, b, plies=3, samples=0).found
    check(one, a, b)
    assert one.line is not None
    assert len(one.line) == 2
    game = NaiveGame(a)
    start = game.start()
    for position in (start, *(game.apply(start, move).position for move in game.legal_moves(start))):
        assert told(a, position) == told(b, position)
    for move in one.line:
        start = game.apply(start, game.parse_move(str(move))).position
    assert game.write(start) == str(one.position)


def test_where_a_search_ends(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    same = load_variant("brandubh")
    result = found(same, same, plies=4, most=200, samples=100)
    assert (result.found, result.plies, result.stopped) == ([], 2, "ply 3 has more than 200 positions")
    assert found(same, load_variant("brandubh-7-4v1"), samples=0).stopped.startswith(
        "the start of brandubh is not a position"
    )
    asked = ["variants", "diff", "brandubh", "brandubh"]
    assert run([*asked, "--samples", "0", "--plies", "4", "--positions", "200", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["positions"] == []
    assert run([*asked, "--plies", "1", "--samples", "10"]) == 0
    assert run(["variants", "diff", "brandubh", "ashton"]) == 2
    capsys.readouterr()
    assert run(["variants", "diff", "mcgill", "berkeley", "--samples", "50", "--svg", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(list(tmp_path.iterdir())) == len(answer["positions"])
    assert answer["positions"][0]["line"] == []
    assert answer["positions"][0]["a"][0] is None
    assert Position.parse(answer["positions"][0]["position"], 9).material == (16, 8)
