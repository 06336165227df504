"""OpenTafl's positions and moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut.errors import InputError
from tablut.formats import opentafl
from tablut.notation import square_name
from tablut.position import Position
from tablut.records import read_rules
from tablut.variants import load_variant, rule_fields

# Nothing maps this position to itself: a flipped or turned reader cannot pass.
ASYMMETRIC = "/1t7/2T6/K8/9/9/9/9/8t/6T1t/"


def test_rows_go_up_from_rank_1() -> None:
    position = opentafl.read_position(ASYMMETRIC, "w")
    pieces = {square_name(square, 9): piece for square, piece in enumerate(position.cells) if piece != "."}
    assert pieces == {"b1": "b", "c2": "w", "a3": "K", "i8": "b", "g9": "w", "i9": "b"}
    assert str(position) == "6w1b/8b/9/9/9/9/K8/2w6/1b7 w"
    assert opentafl.write_position(position) == ASYMMETRIC


@given(st.data(), st.sampled_from([3, 5, 7, 9, 11]), st.sampled_from(["w", "b"]))
def test_any_placement_round_trips(data: st.DataObject, size: int, side: str) -> None:
    cells = data.draw(st.text("....bwK", min_size=size * size, max_size=size * size))
    position = Position(cells, side)  # type: ignore[arg-type]
    assert opentafl.read_position(opentafl.write_position(position), position.side) == position


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("e4-e7", "e4-e7"),
        ("Ke5-e1--", "e5-e1"),
        ("Ke5-e1-", "e5-e1"),
        ("a3-e3+", "a3-e3"),
        ("e3-e4++", "e3-e4"),
        ("te8-e4xe3", "e8-e4xe3"),
        ("g2-g3xf3/h3", "g2-g3xf3xh3"),
        ("Te2-e6xe7/td6/f6++", "e2-e6xd6xe7xf6"),
        ("c2-c3xKc4", "c2-c3xc4"),
    ],
)
def test_moves(text: str, read: str) -> None:
    move = opentafl.read_move(text, 9)
    assert str(move) == read
    assert (move.captures is None) == ("x" not in text)


# -- openTafl's rules strings: what they become, and what no rule field can say ----------


START = "start:/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"
NINE = "start:/3ttt3/4t4/4T4/t3T3t/ttTTKTTtt/t3T3t/4T4/4t4/3ttt3/"


def rules(fields: str, start: str = START, dim: int = 7) -> str:
    return f"dim:{dim} surf:n {fields} {start}"


def test_the_defaults() -> None:
    variant = read_rules(rules(""))
    assert variant.name == "opentafl"
    assert variant.terrain == load_variant("brandubh").terrain
    assert variant.start_position == load_variant("brandubh").start_position
    fields = variant.rules
    assert (fields.first, fields.no_moves, fields.repetition) == ("black", "side_to_move_loses", "none")
    assert (fields.castle.passable, fields.castle.stop) == ("everyone", "king")
    assert (fields.castle.hostile_to_white, fields.castle.hostile_to_black) == ("empty", "always")
    assert fields.corners.hostile
    assert fields.king.armed
    assert (fields.king.on_castle, fields.king.beside_castle, fields.king.elsewhere) == ("four", "as_on_castle", "four")


def test_brandubh_as_we_ship_it() -> None:
    # All but the repetition, which OpenTafl's strings cannot say as ours does.
    ours = load_variant("brandubh")
    theirs = read_rules(rules("ks:c cenh: tfr:i"))
    assert (theirs.terrain, theirs.start) == (ours.terrain, ours.start)
    assert theirs.rules == ours.rules.model_copy(update={"repetition": "none"})


def test_leiden_as_we_ship_it() -> None:
    ours = load_variant("leiden")
    theirs = read_rules(rules("esc:e atkf:n ka:n ks:s cor: cens: cenh: cenhe:", NINE, 9))
    assert theirs.terrain == ours.terrain
    # A strong king beside a throne that is hostile to nobody cannot be captured; at Leiden three sides suffice.
    king = ours.rules.king.model_copy(update={"beside_castle": "as_elsewhere"})
    assert theirs.rules == ours.rules.model_copy(update={"king": king})


# Fields of a string, and what they say: corner and edge of the terrain, who passes the throne and stops on it, to whom
# it is hostile, and how strong the king is.
TERRAIN = {"": "X.", "esc:e": "X*", "esc:e cor:": "**", "cor:a1,g7,": "X."}
SAYS = {
    "cenp:K": "castle.pass=king castle.stop=king",
    "cenp:": "castle.pass=nobody castle.stop=nobody",
    "cens:": "castle.pass=everyone castle.stop=nobody",
    "cenh:tT": "castle.hostile_to_white=always castle.hostile_to_black=always",
    "cenh: cenhe:t": "castle.hostile_to_white=never castle.hostile_to_black=empty",
    "cenh:t cenhe:": "castle.hostile_to_white=never castle.hostile_to_black=never",
    "ks:s": "king.on_castle=four king.beside_castle=as_on_castle king.elsewhere=four",
    "ks:y cenhe:t": "king.on_castle=four king.beside_castle=as_elsewhere king.elsewhere=four",
    "ks:c cenhe: cenh:": "king.on_castle=four king.beside_castle=as_on_castle king.elsewhere=two",
    "ks:w cenhe:t": "king.on_castle=two king.beside_castle=as_elsewhere king.elsewhere=two",
}


def test_what_fields_say() -> None:
    for fields, letters in TERRAIN.items():
        terrain = read_rules(rules(fields)).terrain
        assert terrain[-1][0] + terrain[3][0] == letters, fields
        assert terrain[3][3] == "T"
    for fields, words in SAYS.items():
        found = {field.name: field.value for field in rule_fields(read_rules(rules(fields)).rules)}
        assert dict(word.split("=") for word in words.split()).items() <= found.items(), fields


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ("tfr:w", r"a third repetition that wins \(tfr:w\)"),
        ("ks:w", r"a weak king that falls against the empty throne \(ks:w cenhe:tcnkTCNK\)"),
        ("kj:c", r"a king that jumps \(kj:c\)"),
        ("afor:a4,a5", r"fortresses \(afor:a4,a5\)"),
        ("sw:w", r"shieldwalls \(sw:w\)"),
        ("cors:tTK corp:tTK", "corners that are not for the king alone"),
        ("cen:", r"a board without a throne \(cen:\)"),
        ("esc:e cen:a3", "a throne in a corner or on an escape"),
        ("cens:tcnkTCNK", r"soldiers that stop on the throne \(cens:tcnkTCNK\)"),
    ],
)
def test_what_no_field_can_say(fields: str, rule: str) -> None:
    with pytest.raises(InputError, match=f"^rules 'dim:7 .*': no rule field can say {rule}") as caught:
        read_rules(rules(fields))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected dim:SIZE first and start:POSITION last"),
        (f"dim:8 {START}", "'dim:8': boards have an odd side from 3 to 11"),
        (f"dim:9 {START}", "start: position '.*': has 7 rows; the board has 9"),
        (f"dim:7 hello {START}", "expected key:value, not 'hello'"),
        (f"dim:7 xyz:1 {START}", "unknown rule 'xyz:1'"),
        (f"dim:7 ks:c ks:w {START}", "has ks twice"),
        (f"dim:7 surf:n cor:a1,z9 {START}", "cor: square 'z9': expected a1 to g7"),
        ("dim:3 surf:n start:/t1t/1K1/n2/", "start: position .* has knights, 'n'"),
        ("dim:5 surf:n start:/5/5/2K2/5/5/", "field 'start': has no attacker"),
    ],
)
def test_what_is_no_rules_string(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_rules(text)
    assert str(caught.value).startswith("rules '")
    assert "\n" not in str(caught.value)
