"""Single moves that tell the rule sets apart, and what the terrain captures, by the naive twin and by the engine."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablut.engine import engine_for
from tablut.rules import OUTCOMES, NaiveGame, NaivePosition, Outcome
from tablut.variants import Variant, load_variant
from tests.support.effort import examples
from tests.support.placements import letters
from tests.support.strategies import small_variants

KING_CAPTURED = Outcome("king_captured", "black")
KING_ESCAPED = Outcome("king_escaped", "white")


def play(name, text, move):
    """Return captured squares and outcome of a legal move, on which both implementations must agree."""
    variant = load_variant(name)
    game, engine, size = NaiveGame(variant), engine_for(variant), variant.size
    position, cells = game.read(text), game.parse_move(move)
    assert cells in game.legal_moves(position), f"{name}: {text} {move} is not legal"
    result = game.apply(position, cells)
    captured = sorted(game.move_name((cell, cell)).partition("-")[0] for cell in result.captured)

    board = engine.board(letters(size, position), position.side)
    (from_file, from_rank), (to_file, to_rank) = cells
    undo, outcome = engine.make(board, from_rank * size + from_file | (to_rank * size + to_file) << 7)
    assert (
        sorted(game.move_name(((c % size, c // size),) * 2).partition("-")[0] for c in engine.captured(undo))
        == captured
    )
    assert OUTCOMES[outcome] == result.outcome
    return " ".join(captured), result.outcome


# id, variant, position, move, captured, outcome
CASES = [
    # The soldier on e2 stands in its camp: a shelter under ashton, none under bologna.
    ("e2 between d2 and f2", "ashton", "9/9/9/9/4K4/9/3w5/4bw3/3b5 w", "d3-d2", "", None),
    ("e2 between d2 and f2", "bologna", "9/9/9/9/4K4/9/3w5/4bw3/3b5 w", "d3-d2", "e2", None),
    ("a4 from a3, a5 behind", "ashton", "9/9/9/b8/b3K4/b8/1w7/9/9 w", "b3-a3", "", None),
    ("a4 from a3, a5 behind, inert", "bologna", "9/9/9/b8/b3K4/b8/1w7/9/9 w", "b3-a3", "", None),
    ("a soldier on a7 from a8, camp behind", "bologna", "9/1w7/b8/b8/4K4/9/9/9/9 w", "b8-a8", "a7", None),
    # The castle is an anvil against its own king's soldiers under ashton and mcgill.
    ("beside its own king", "ashton", "9/9/9/9/4Kw3/8b/9/6b2/9 b", "g2-g5", "f5", None),
    ("beside its own king", "mcgill", "9/9/9/9/4Kw3/8b/9/6b2/9 b", "g2-g5", "f5", None),
    ("beside its own king", "leiden", "9/9/9/9/4Kw3/8b/9/6b2/9 b", "g2-g5", "", None),
    ("beside its own king", "berkeley", "9/9/9/9/4Kw3/8b/9/6b2/9 b", "g2-g5", "", None),
    ("beside its own king, besieged", "berkeley", "9/9/9/4b4/3bKw3/4b4/9/6b2/9 b", "g2-g5", "f5", None),
    ("beside its own king, two of three", "berkeley", "9/9/9/4b4/4Kw3/4b4/9/6b2/9 b", "g2-g5", "", None),
    ("beside the empty castle", "berkeley", "9/9/9/9/5w3/8b/9/K5b2/9 b", "g2-g5", "f5", None),
    ("beside the empty castle", "leiden", "9/9/9/9/5w3/8b/9/1K4b2/9 b", "g2-g5", "", None),
    ("black beside the empty castle", "berkeley", "9/9/9/9/5b3/8b/9/1K4w2/9 w", "g2-g5", "f5", None),
    ("black beside the king's castle, armed", "berkeley", "9/9/9/9/4Kb3/8b/9/6w2/9 w", "g2-g5", "f5", None),
    ("black beside the king's castle, unarmed", "leiden", "9/9/9/9/4Kb3/8b/9/6w2/9 w", "g2-g5", "", None),
    # The king: beside a corner, in line, on and beside the castle.
    ("king beside a corner", "mcgill", "9/9/9/9/9/9/8b/2b6/1K7 b", "c2-c1", "", KING_CAPTURED),
    ("king beside a corner, from its flank", "mcgill", "9/9/9/9/9/9/8b/2b6/1K7 b", "c2-b2", "", None),
    ("king in line", "ashton", "9/9/9/9/9/2b6/1bK6/3b5/9 b", "d2-d3", "", KING_CAPTURED),
    ("king in line", "leiden", "9/9/9/9/9/2b6/1bK6/3b5/9 b", "d2-d3", "", None),
    ("king between four", "leiden", "9/9/9/9/9/2b6/1bK6/2bb5/9 b", "d2-d3", "", KING_CAPTURED),
    ("king beside the konakis, three", "leiden", "9/9/9/9/9/3bKb3/5b3/9/9 b", "f3-e3", "", KING_CAPTURED),
    ("king beside the konakis, two", "leiden", "9/9/9/9/9/3bK4/5b3/9/9 b", "f3-f4", "", None),
    ("king on the castle, four", "ashton", "9/9/9/4b4/3bKb3/9/4b4/9/9 b", "e3-e4", "", KING_CAPTURED),
    ("king on the castle, three", "ashton", "9/9/9/9/3bKb3/9/4b4/9/9 b", "e3-e4", "", None),
    ("king against a camp", "ashton", "9/9/9/9/9/3b5/4K4/4b4/9 b", "d4-e4", "", KING_CAPTURED),
]


@pytest.mark.parametrize(("label", "name", "text", "move", "captured", "outcome"), CASES)
def test_case(label, name, text, move, captured, outcome):
    assert play(name, text, move) == (captured, outcome)


@pytest.mark.parametrize(("name", "captured"), [("ashton", "c4"), ("mcgill", "c4"), ("berkeley", "c4"), ("leiden", "")])
def test_the_king_captures_and_is_an_anvil_where_it_is_armed(name, captured):
    assert play(name, "9/9/9/9/2w6/2b6/3K5/9/8b w", "d3-c3") == (captured, None)
    assert play(name, "9/9/9/9/3w5/2b6/2K6/9/8b w", "d5-c5") == (captured, None)


def test_one_move_takes_three():
    assert play("leiden", "9/9/4w4/4b4/2wb1bw2/9/8w/1K7/9 w", "i3-i4")[0] == ""
    assert play("leiden", "9/9/3w5/3b5/1wb1bw3/9/9/3w5/1K6b w", "d2-d5")[0] == "c5 d6 e5"
    assert play("mcgill", "9/9/3b5/3w5/1bw1wb3/9/9/3b5/1K6w b", "d2-d5")[0] == "c5 d6 e5"


@pytest.mark.parametrize(
    ("name", "text", "move"),
    [("ashton", "9/9/9/9/9/9/1K7/9/8b w", "b3-a3"), ("leiden", "9/9/9/9/9/9/1K7/9/8b w", "b3-b1"),
     ("mcgill", "9/9/9/9/9/9/9/9/1K6b w", "b1-a1"), ("brandubh", "7/7/7/7/7/7/1K4b w", "b1-a1")],
)  # fmt: skip
def test_the_king_escapes(name, text, move):
    assert play(name, text, move) == ("", KING_ESCAPED)


def test_a_stuck_side_is_an_outcome_of_the_ply_only_where_the_rules_say_so():
    # White shuts black's last soldier in, in the corner a9.
    shut = "b1w6/w8/9/4K4/9/9/9/9/9 w"
    assert play("leiden", shut, "c9-b9") == ("", None)
    # Against the edge and not the castle's or a corner's anvils, the same soldier is stuck but not captured.
    stuck = "9/9/9/4K4/9/w8/b1w6/w8/9 w"
    assert play("mcgill", stuck, "c3-b3") == ("", Outcome("no_moves", "white"))
    assert play("leiden", stuck, "c3-b3") == ("", None)


def test_a_soldier_never_returns_to_its_camp():
    game = NaiveGame(load_variant("ashton"))
    left = game.read("9/9/9/9/4K4/9/b8/9/9 b")
    assert all(game.move_name(move) != "a3-a4" for move in game.legal_moves(left))
    within = game.read("9/9/9/9/b3K4/9/9/9/9 b")
    names = {game.move_name(move) for move in game.legal_moves(within)}
    assert {"a5-a4", "a5-b5", "a5-a6", "a5-a7", "a5-d5"} <= names
    across = game.read("9/9/9/9/4K4/b8/9/9/9 b")
    assert "a4-i4" not in {game.move_name(move) for move in game.legal_moves(across)}


# -- the figures of the source documents, as moves: what they show must happen -----------


# -- the ways in which a king falls, cell by cell, and the anvils against attackers ------


@settings(deadline=None)
@given(small_variants())
def test_patterns_are_minimal_and_stand_where_attackers_may(variant: Variant) -> None:
    regions = variant.regions
    for king in regions.king_cells:
        sets = [pattern.attackers for pattern in regions.king_patterns[king]]
        assert len(set(sets)) == len(sets)
        for attackers in sets:
            assert attackers
            assert attackers <= set(regions.neighbours(king))
            assert attackers <= regions.free_cells | regions.camp_cells
            assert not any(other < attackers for other in sets)


def naive_cell(cell: int, size: int) -> tuple[int, int]:
    return cell % size, cell // size


@settings(deadline=None, max_examples=examples(25))
@given(small_variants(), st.data())
def test_patterns_are_what_the_plain_rules_capture(variant: Variant, data: st.DataObject) -> None:
    """Attackers in any way around a king: it has fallen to one of them exactly when a pattern is complete."""
    game, regions = NaiveGame(variant), variant.regions
    king = data.draw(st.sampled_from(sorted(regions.king_cells)))
    standable = [cell for cell in regions.neighbours(king) if cell in regions.free_cells | regions.camp_cells]
    for count in range(len(standable) + 1):
        for chosen in combinations(standable, count):
            pieces = {naive_cell(king, variant.size): "K"} | {naive_cell(cell, variant.size): "b" for cell in chosen}
            position = NaivePosition(pieces, "w")
            file, rank = naive_cell(king, variant.size)
            fallen = any(
                game._king_falls(position, (file, rank), (2 * file - mover[0], 2 * rank - mover[1]))
                for mover in pieces
                if pieces[mover] == "b"
            )
            complete = any(pattern.attackers <= set(chosen) for pattern in regions.king_patterns[king])
            assert fallen == complete, (variant, king, chosen)


@settings(deadline=None)
@given(small_variants())
def test_anvils_are_what_the_plain_rules_find_hostile(variant: Variant) -> None:
    game = NaiveGame(variant)
    empty = NaivePosition({}, "w")
    hostile = {cell for cell in range(variant.size**2) if game._hostile_to_black(empty, naive_cell(cell, variant.size))}
    assert variant.regions.anvils["black"] == hostile
