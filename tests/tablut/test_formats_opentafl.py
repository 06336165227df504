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
from tablut.records.opentafl import rules_source, rules_start
from tablut.variants import load_variant, variant_names

# Nothing maps this position to itself: a flipped or turned reader cannot pass.
ASYMMETRIC = "/1t7/2T6/K8/9/9/9/9/8t/6T1t/"


def test_rows_go_up_from_rank_1() -> None:
    position = opentafl.read_position(ASYMMETRIC, "w")
    pieces = {square_name(square, 9): piece for square, piece in enumerate(position.cells) if piece != "."}
    assert pieces == {"b1": "b", "c2": "w", "a3": "K", "i8": "b", "g9": "w", "i9": "b"}
    assert str(position) == "6w1b/8b/9/9/9/9/K8/2w6/1b7 w"
    assert opentafl.write_position(position) == ASYMMETRIC


@pytest.mark.parametrize("name", variant_names())
def test_the_starts_of_all_variants_round_trip(name: str) -> None:
    variant = load_variant(name)
    start = Position.parse(variant.start_position, variant.size)
    text = opentafl.write_position(start)
    assert text.startswith("/")
    assert opentafl.read_position(text, start.side, variant.size) == start


@pytest.mark.parametrize("size", [3, 5, 7, 9, 11])
def test_a_piece_on_every_square_round_trips(size: int) -> None:
    texts = set()
    for square in range(size * size):
        for piece in "bwK":
            cells = "." * square + piece + "." * (size * size - square - 1)
            text = opentafl.write_position(Position(cells, "b"))
            assert opentafl.read_position(text, "b") == Position(cells, "b")
            texts.add(text)
    assert len(texts) == 3 * size * size


@given(st.data(), st.sampled_from([3, 5, 7, 9, 11]), st.sampled_from(["w", "b"]))
def test_any_placement_round_trips(data: st.DataObject, size: int, side: str) -> None:
    cells = data.draw(st.text("....bwK", min_size=size * size, max_size=size * size))
    position = Position(cells, side)  # type: ignore[arg-type]
    assert opentafl.read_position(opentafl.write_position(position), position.side) == position


def test_runs_of_two_digits() -> None:
    text = "/11/10t/t10/11/11/5K5/11/11/11/11/T10/"
    position = opentafl.read_position(text, "b")
    assert opentafl.write_position(position) == text
    assert position.rows()[-2] == "." * 10 + "b"


def test_a_position_for_another_board() -> None:
    with pytest.raises(InputError, match="has 3 rows; the board has 9"):
        opentafl.read_position("/3/3/3/", "w", 9)


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


def test_name_title_and_source() -> None:
    text = rules("name:Brandub_Weak_King ks:w cenh: cenhe:")
    variant = read_rules(f"rules {text}")
    assert (variant.name, variant.title) == ("Brandub_Weak_King", "Brandub Weak King")
    assert read_rules(text).source == rules_source(text)
    assert (variant.rules.king.on_castle, variant.rules.king.beside_castle) == ("two", "as_elsewhere")
    assert variant.rules.castle.hostile_to_black == "never"


@pytest.mark.parametrize(
    ("fields", "corner", "edge"),
    [
        ("", "X", "."),
        ("esc:e", "X", "*"),
        ("esc:e cor:", "*", "*"),
        ("cor:a1,g7,", "X", "."),
        ("esc:e cor:a1", "X", "*"),
    ],
)
def test_terrain(fields: str, corner: str, edge: str) -> None:
    terrain = read_rules(rules(fields)).terrain
    assert terrain[-1][0] == corner
    assert terrain[3][0] == terrain[0][1] == edge
    assert terrain[3][3] == "T"


def test_corners_that_are_named_and_those_that_are_not() -> None:
    terrain = read_rules(rules("cor:a1")).terrain
    assert (terrain[-1], terrain[0]) == ("X.....+", "+.....+")
    terrain = read_rules(rules("esc:e cor:g1")).terrain
    assert (terrain[-1], terrain[0]) == ("******X", "*******")


def test_a_throne_elsewhere() -> None:
    start = "start:/3t3/3t3/7/tt2Ktt/7/3t3/3t3/"
    terrain = read_rules(rules("cen:b2", start)).terrain
    assert terrain[-2] == ".T....."
    assert sum(row.count("T") for row in terrain) == 1


@pytest.mark.parametrize(
    ("fields", "passable", "stop"),
    [
        ("cenp:K", "king", "king"),
        ("cenp:", "nobody", "nobody"),
        ("cens:", "everyone", "nobody"),
        ("cenre:tT", "refused", "a throne that only some soldiers may pass"),
        ("cenre:K", "king", "king"),
    ],
)
def test_who_passes_and_stops_on_the_throne(fields: str, passable: str, stop: str) -> None:
    if passable == "refused":
        with pytest.raises(InputError, match=stop):
            read_rules(rules(fields))
    else:
        castle = read_rules(rules(fields)).rules.castle
        assert (castle.passable, castle.stop) == (passable, stop)


@pytest.mark.parametrize(
    ("fields", "to_white", "to_black"),
    [
        ("cenh:tT", "always", "always"),
        ("cenh: cenhe:t", "never", "empty"),
        ("cenh: cenhe:T", "empty", "never"),
        ("cenh:t cenhe:", "never", "never"),  # the armed king on the throne is an anvil all the same
    ],
)
def test_to_whom_the_throne_is_hostile(fields: str, to_white: str, to_black: str) -> None:
    castle = read_rules(rules(fields)).rules.castle
    assert (castle.hostile_to_white, castle.hostile_to_black) == (to_white, to_black)


@pytest.mark.parametrize(
    ("fields", "king"),
    [
        ("ks:s", ("four", "as_on_castle", "four")),
        ("ks:y cenhe:t", ("four", "as_elsewhere", "four")),
        ("ks:c", ("four", "as_on_castle", "two")),
        ("ks:c cenhe: cenh:", ("four", "as_on_castle", "two")),
        ("ks:w cenhe:t", ("two", "as_elsewhere", "two")),
        ("ks:n cenhe:t", ("two", "as_elsewhere", "two")),
    ],
)
def test_how_strong_the_king_is(fields: str, king: tuple[str, str, str]) -> None:
    found = read_rules(rules(fields)).rules.king
    assert (found.on_castle, found.beside_castle, found.elsewhere) == king


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ("tfr:w", r"a third repetition that wins \(tfr:w\)"),
        ("ka:h", r"a king that captures as the mover only \(ka:h\)"),
        ("ks:w", r"a weak king that falls against the empty throne \(ks:w cenhe:tcnkTCNK\)"),
        ("kj:r", r"a king that jumps \(kj:r\)"),
        ("kj:c", r"a king that jumps \(kj:c\)"),
        ("afor:a4,a5", r"fortresses \(afor:a4,a5\)"),
        ("sw:w", r"shieldwalls \(sw:w\)"),
        ("ber:m", r"berserk moves \(ber:m\)"),
        ("cors:tTK corp:tTK", "corners that are not for the king alone"),
        ("corre:t", "corners that are not for the king alone"),
        ("cen:", r"a board without a throne \(cen:\)"),
        ("esc:e cen:a3", "a throne in a corner or on an escape"),
        ("cens:tcnkTCNK", r"soldiers that stop on the throne \(cens:tcnkTCNK\)"),
    ],
)
def test_what_no_field_can_say(fields: str, rule: str) -> None:
    with pytest.raises(InputError, match=f"^rules 'dim:7 .*': no rule field can say {rule}") as caught:
        read_rules(rules(fields))
    assert "\n" not in str(caught.value)


def test_encirclement_holds_unless_it_is_switched_off() -> None:
    with pytest.raises(InputError, match=r"no rule field can say encirclement \(surf:y\)$"):
        read_rules(f"dim:7 {START}")


def test_all_that_cannot_be_said_is_named_at_once() -> None:
    with pytest.raises(InputError, match=r"encirclement \(surf:y\), shieldwalls \(sw:s\), exit forts \(efe:y\)$"):
        read_rules(f"dim:7 efe:y sw:s {START}")


def test_pieces_that_are_not_on_the_board_may_do_what_they_like() -> None:
    plain = read_rules(rules(""))
    assert read_rules(rules("nj:c cj:n mj:r swf:n aforh:TK dfors: spd:-1,-1,")).same_game(plain)


def test_the_start_from_the_top() -> None:
    upright = rules_start("dim:5 start:/1t3/5/2K2/4T/t4/")
    assert str(upright) == "b4/4w/2K2/5/1b3 b"
    assert rules_start("dim:5 atkf:n starti:/t4/4T/2K2/5/1t3/") == type(upright)(upright.cells, "w")


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
