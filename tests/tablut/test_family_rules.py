"""The rules of the tafl family, by both rules: shieldwalls, forts, rings, wide corners, no castle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from symmetry import dihedral
from tablut.engine import engine_for
from tablut.position import Move, Position, square_name
from tablut.rules import OUTCOMES, NaiveGame, Outcome
from tablut.variants import Rules, Variant, load_variant

FORT, RING = Outcome("exit_fort", "white"), Outcome("encirclement", "black")
BRACKET, ANY = {"corner": True, "mover": "bracket"}, {"corner": True, "mover": "any"}
NARROW, WIDE = ("X.....X", *["......."] * 2, "...T...", *["......."] * 2, "X.....X"), (
    *["XX...XX"] * 2, ".......", "...T...", ".......", *["XX...XX"] * 2,
)  # fmt: skip


def small(terrain: tuple[str, ...] = NARROW, **changes: Any) -> Variant:
    """Copenhagen on seven by seven, with other values of some fields; those of tables are named with a ``__``."""
    rules = load_variant("copenhagen").rules.model_dump(mode="json", by_alias=True)
    for name, value in changes.items():
        table, _, field = name.rpartition("__")
        (rules[table] if table else rules)[field] = value
    return replace(load_variant("brandubh"), name="small", terrain=terrain, rules=Rules.model_validate(rules))


def play(variant: Variant, text: str, move: str) -> tuple[str, Outcome | None]:
    """Return the captured squares and the outcome of a legal move; its eight images say the same."""
    game, size, found = NaiveGame(variant), variant.size, set()
    engine = engine_for(variant)
    for g in dihedral(size):
        image, turned = Position.parse(text, size).transformed(g), Move.parse(move, size).transformed(g)
        position, cells = game.read(str(image)), game.parse_move(str(turned))
        assert cells in game.legal_moves(position), f"{text} {move} is not legal"
        result = game.apply(position, cells)
        undo, outcome = engine.make(engine.board(image.cells, image.side), turned.code)
        assert OUTCOMES[outcome] == result.outcome, text
        assert set(engine.captured(undo)) == {rank * size + file for file, rank in result.captured}, text
        taken = {square_name(g.table.index(rank * size + file), size) for file, rank in result.captured}
        found.add((" ".join(sorted(taken)), result.outcome))
    assert len(found) == 1, text
    return found.pop()


WALLS = {
    "two between two": ("7/7/7/4b2/K6/2bb3/1bww3 b", "e4-e1", {}, "c1 d1"),
    "a row of one": ("7/7/7/2b4/K6/1b5/1w5 b", "c4-c1", {"corners__hostile": False}, ""),
    "nobody in front of one": ("7/7/7/4b2/K6/2b4/1bww3 b", "e4-e1", {}, ""),
    "no rule": ("7/7/7/4b2/K6/2bb3/1bww3 b", "e4-e1", {"shieldwall": None}, ""),
    "the mover in front": ("7/7/7/3b3/K6/2b4/1bwwb2 b", "d4-d2", {}, ""),
    "any mover in front": ("7/7/7/3b3/K6/2b4/1bwwb2 b", "d4-d2", {"shieldwall": ANY}, "c1 d1"),
    "a corner at one end": ("7/7/7/3b3/K6/1bb4/1ww4 b", "d4-d1", {}, "b1 c1"),
    "a corner that does not help": (
        "7/7/7/3b3/K6/1bb4/1ww4 b", "d4-d1", {"shieldwall": {"corner": False, "mover": "any"}}, "",
    ),
    "corners at both ends": ("7/7/7/3b3/K6/1bb1bb1/1wwwww1 b", "d4-d2", {"shieldwall": ANY}, ""),
    "both ways at once": ("7/7/3b3/K6/7/1bb1bb1/1ww1ww1 b", "d5-d1", {}, "b1 c1 e1 f1"),
    "and in line": ("7/6b/4bw1/5bw/5bw/6b/2K4 b", "g6-g5", {}, "f5 g3 g4"),
    "from the side": ("7/7/5b1/5bw/5bw/6b/2K4 b", "f5-g5", {}, "g3 g4"),
    "the king in the row": ("7/7/7/5b1/7/2bbb2/1bwKw2 b", "f4-f1", {}, "c1 e1"),
    "the king and nobody else": ("7/7/7/4b2/7/2bb3/1bK1w2 b", "e4-e2", {}, ""),
    "white's row, the king a bracket": ("3b3/7/7/4K2/7/2ww3/1wbb3 w", "e4-e1", {}, "c1 d1"),
    "an unarmed king": ("3b3/7/7/4K2/7/2ww3/1wbb3 w", "e4-e1", {"king__armed": False}, ""),
    "the king in front": ("3b3/7/7/4w2/7/2wK3/1wbb3 w", "e4-e1", {}, "c1 d1"),
    "the king a corner's partner": ("3b3/7/7/3K3/7/1ww4/1bb4 w", "d4-d1", {}, "b1 c1"),
    "a wide corner": ("7/7/4b2/K6/7/2bb3/2ww3 b", "e5-e1", {"corners__wide": True}, "c1 d1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WALLS)
def test_shieldwalls(case: str) -> None:
    text, move, changes, captured = WALLS[case]
    terrain = WIDE if "corners__wide" in changes else NARROW
    assert play(small(terrain, **changes), text, move) == (captured, None)


COUNTED: dict[str, Any] = {"fort": "on_edge_counted"}
ENDS = {
    "a fort": ("7/7/1b5/7/2www2/1w4w/1w1K1w1 w", "g2-f2", {}, FORT),
    "a fort of two cells": ("7/7/1b5/7/3w3/2w4/1w1Kw2 w", "d3-d2", {}, FORT),
    "no rule on forts": ("7/7/1b5/7/3w3/2w4/1w1Kw2 w", "d3-d2", {"fort": "none"}, None),
    "a hole": ("7/7/1b5/7/3w3/1w5/1w1Kw2 w", "d3-d2", {}, None),
    "the king has no room": ("7/7/1b5/7/3w3/7/2wKw2 w", "d3-d2", {}, None),
    "the king steps into it": ("7/7/1b5/7/7/2wwK2/1w2w2 w", "e2-e3", {}, None),
    "the king comes to the edge": ("7/7/1b5/7/3ww2/2wK1w1/2w2w1 w", "d2-d1", {}, FORT),
    "the king plugs it": ("3b3/7/7/7/7/3www1/3K3 w", "f2-f1", {}, None),
    "two men take the top": ("7/7/1b2b2/7/2w4/1wKw3/1w1w3 w", "c2-c1", COUNTED, None),
    "one man cannot": ("7/7/1b5/7/2w4/1wKw3/1w1w3 w", "c2-c1", COUNTED, FORT),
    "one man is not counted": ("7/7/1b5/7/2w4/1wKw3/1w1w3 w", "c2-c1", {}, None),
    "one that stands out": ("b6/2b4/7/3w3/2w1w2/2w1w2/2wKw2 w", "d4-d3", {}, FORT),
    "beside the corner": ("7/7/1b5/1w5/7/1w5/K1w4 w", "b4-b3", {}, None),
    "not after black's ply": ("7/7/1b5/7/7/2ww3/1w1Kw2 b", "b5-b6", {}, None),
    "a ring": ("7/3b3/2b1b2/1b1K1b1/2b1b2/6b/7 b", "g2-d2", {}, RING),
    "no rule on rings": ("7/3b3/2b1b2/1b1K1b1/2b1b2/6b/7 b", "g2-d2", {"encirclement": "none"}, None),
    "one defender outside": ("7/3b3/2b1b2/1b1K1b1/2b1b2/w5b/7 b", "g2-d2", {}, None),
    "the edge in the ring": ("7/7/7/7/2b4/2bKb2/2b1b2 b", "c3-d3", {}, None),
    "the castle in the flood": ("7/7/7/7/2bwb2/2bKb2/2b4 b", "c1-d1", {"castle__pass": "nobody"}, None),
    "a ring around the castle": ("7/7/3b3/2b1b2/2bwb2/2bKb2/2b4 b", "c1-d1", {}, RING),
    "the king on the edge, four": ("7/7/7/3b3/7/7/2bKb2 b", "d4-d2", {}, None),
    "the king's last ply": ("7/7/7/7/7/1b5/1K1b3 w", "b1-a1", {}, Outcome("king_escaped", "white")),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS)
def test_forts_and_rings(case: str) -> None:
    text, move, changes, outcome = ENDS[case]
    assert play(small(**changes), text, move) == ("", outcome)


def test_wide_corners_and_boards_without_a_castle() -> None:
    assert play(small(WIDE, corners__wide=True), "7/7/7/1K5/7/7/2b4 w", "b4-b2") == (
        "",
        Outcome("king_escaped", "white"),
    )
    game = NaiveGame(small(WIDE, corners__wide=True))
    moves = [game.move_name(move) for move in game.legal_moves(game.read("7/7/7/K6/7/7/2b4 b"))]
    assert [move for move in moves if move < "c1-c2"] == []
    # A corner with the king in it is one end of a row, not two.
    wall = small(shieldwall=BRACKET, corners__hostile=False)
    assert play(wall, "3K3/bw5/bw5/7/7/7/7 w", "d7-a7") == ("", Outcome("king_escaped", "white"))
    # One of the four cells is an anvil like another.
    assert play(small(WIDE, corners__wide=True), "7/7/7/K2b3/7/2w4/7 b", "d4-d2") == ("c2", None)
    empty = (*NARROW[:3], "." * 7, *NARROW[4:])
    game = NaiveGame(small(empty))
    assert "c4-d4" in {game.move_name(move) for move in game.legal_moves(game.read("7/7/7/2b4/7/7/3K3 b"))}
    # Beside the middle the king is as weak as anywhere.
    captured = Outcome("king_captured", "black")
    for terrain, outcome in ((empty, captured), (NARROW, None)):
        variant = small(terrain, king__elsewhere="two")
        assert play(variant, "7/7/7/7/2bK3/4b2/7 b", "e2-e3") == ("", outcome)
