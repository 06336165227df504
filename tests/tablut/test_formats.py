"""Positions, moves, rules and logs as other programs write them, over all moves and any placement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut.errors import InputError
from tablut.formats import bologna, opentafl
from tablut.formats.bologna import read_logs, read_system_logs
from tablut.formats.reading import (
    looks_like_position,
    read_berkeley,
    read_mcgill,
    read_move,
    read_position,
    write_berkeley,
    write_fen,
    write_mcgill,
)
from tablut.position import Move, MoveText, Position, parse_square, square_name
from tablut.records import GameRecord, read_record, read_rules
from tablut.variants import load_variant, rule_fields
from tests.support.effort import slow_but
from tests.support.games import recurrence


def slides(size: int) -> list[Move]:
    """Return every pair of squares in one rank or one file."""
    return [
        Move(start, target, size)
        for start in range(size * size)
        for target in range(size * size)
        if start != target and (start // size == target // size or start % size == target % size)
    ]


@pytest.mark.parametrize("size", slow_but([9], [5, 7, 11, 19]))
def test_all_moves_round_trip_in_every_notation(size: int) -> None:
    moves = slides(size)
    assert len(moves) == size * size * 2 * (size - 1)
    short, numbers, client = set(), set(), set()
    for move in moves:
        text = write_berkeley(move)
        assert read_berkeley(text, size) == read_berkeley(text.upper(), size) == move
        short.add(text)
        # The one reader takes each of them for what it is.
        plain = {str(move), str(move).replace("-", ""), f"K{move}", f"T{move}", f"t{move}", f"{move}+", f"{move}--"}
        for written in plain | {str(move).upper(), text, text.upper()}:
            assert read_move(written, size) == MoveText(move), written
        for side in ("w", "b"):
            text = write_mcgill(move, side)
            assert read_mcgill(text, size) == (move, side)
            assert read_move(text, size) == MoveText(move, side=side)
            numbers.add(text)
            text = bologna.write_move(move, side)
            assert bologna.read_move(text, size) == (move, side)
            assert read_move(text, size) == MoveText(move, side=side)
            client.add(text)
        assert opentafl.read_move(str(move), size).move == move
    assert len(short) == len(moves)
    assert len(numbers) == len(client) == 2 * len(moves)


def test_captures_of_both_notations() -> None:
    for text in ("e4-e7xe8xd7", "E4-E7XE8XD7", "e4e7xe8/d7", "Ke4-e7xe8/d7", "e4-e7xte8/Td7", "e4-e7xe8/d7++"):
        assert str(read_move(text, 9)) == "e4-e7xd7xe8", text


# The start is symmetric, so each notation is pinned on moves that no symmetry maps to themselves.
@pytest.mark.parametrize(
    ("move", "short", "numbers"),
    [
        ("a1-a2", "a1-2", "8 0 7 0 1"),
        ("a9-c9", "a9-c", "0 0 0 2 1"),
        ("i9-i1", "i9-1", "0 8 8 8 1"),
        ("b7-g7", "b7-g", "2 1 2 6 1"),
        ("g2-g6", "g2-6", "7 6 3 6 1"),
    ],
)
def test_what_the_notations_look_like(move: str, short: str, numbers: str) -> None:
    assert write_berkeley(Move.parse(move, 9)) == short
    assert write_mcgill(Move.parse(move, 9), "w") == numbers


# -- the Bologna server's states, moves and game logs ------------------------------------


RECORDS = Path(__file__).parents[1] / "data" / "records"
ENGLISH = (RECORDS / "bologna-english_gameLog.txt").read_text(encoding="utf-8")
ITALIAN = (RECORDS / "bologna-italian_gameLog.txt").read_text(encoding="utf-8")


def board(size: int = 9, **pieces: str) -> list[list[str]]:
    rows = [["EMPTY"] * size for _ in range(size)]
    for name, piece in pieces.items():
        rank, file = divmod(parse_square(name, size), size)
        rows[rank][file] = piece
    return rows


def test_row_0_is_rank_1_and_column_0_file_a() -> None:
    # Nothing maps this position to itself: a flipped or turned reader cannot pass.
    rows = board(b1="BLACK", c1="BLACK", a3="WHITE", h6="KING", i9="BLACK", e5="THRONE")
    assert rows[0][1] == "BLACK"
    assert rows[5][7] == "KING"
    state = bologna.read_state(json.dumps({"board": rows, "turn": "BLACK"}))
    assert str(state.position()) == "8b/9/9/7K1/9/9/w8/9/1bb6 b"
    assert json.loads(bologna.write_state(state.position())) == {"board": rows, "turn": "BLACK"}


@given(st.data(), st.sampled_from([3, 7, 9, 11, 19]), st.sampled_from(["w", "b"]))
def test_any_placement_round_trips(data: st.DataObject, size: int, side: str) -> None:
    cells = data.draw(st.text("....bwK", min_size=size * size, max_size=size * size))
    position = Position(cells, side)  # type: ignore[arg-type]
    state = bologna.read_state(bologna.write_state(position))
    assert state.position() == position
    assert (state.side, state.result, state.size) == (side, None, size)
    for text in (write_fen(position), write_fen(position).upper(), str(position)):
        assert looks_like_position(text)
        assert read_position(text, size) == position


def test_the_empty_castle_is_the_throne_and_nothing_else_is() -> None:
    rows = json.loads(bologna.write_state(Position("." * 81, "w")))["board"]
    assert [(rank, file) for rank in range(9) for file in range(9) if rows[rank][file] == "THRONE"] == [(4, 4)]
    rows = json.loads(bologna.write_state(Position("." * 40 + "K" + "." * 40, "w")))["board"]
    assert rows[4][4] == "KING"
    # A server that took a piece off the castle writes EMPTY there.
    assert bologna.read_state(json.dumps({"board": board(), "turn": "WHITE"})).cells == "." * 81


@pytest.mark.parametrize(("turn", "result"), [("WHITEWIN", "white"), ("BLACKWIN", "black"), ("DRAW", "draw")])
def test_a_game_that_is_over(turn: bologna.Turn, result: str) -> None:
    text = bologna.write_state(Position("K" + "." * 80, "b"), turn)
    state = bologna.read_state(text)
    assert (state.turn, state.side, state.result) == (turn, None, result)
    assert state.position("b").side == "b"
    with pytest.raises(InputError, match=f"{turn}"):
        state.position()


def test_a_clients_move() -> None:
    move, side = bologna.read_move('{"to": "F4", "from": "E4", "turn": "BLACK", "more": 1}')
    assert (str(move), side) == ("e4-f4", "b")
    assert bologna.read_move('{"from":"a1","to":"a2"}')[1] is None
    assert bologna.read_move('{"from":"a1","to":"a2","turn":null}')[1] is None


def test_a_log_in_english() -> None:
    record = read_record(ENGLISH)
    assert record.tags == {"Date": "Mar 3, 2021 4:00:07 PM", "White": "Anna", "Black": "Bert"}
    assert (record.variant, record.start, record.result) == ("bologna", None, "white")
    assert " ".join(map(str, record.moves)) == (
        "e4-f4 a4-e4xe3 f4-f3 i6-i7 f3-e3xe4 d1-d4 e5-e4 d9-d7 e4-g4 b5-b6 g4-g1"
    )
    assert record.moves[0].captures == frozenset()
    assert record.notes == ("game log line 65: F4-I4 was not played: Mossa sopra una casella occupata",)
    assert record.positions is not None
    assert str(record.positions[1]) == "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/4bw2b/9/4b4/3bbb3 w"
    assert str(record.positions[-1]) == "4bb3/4b4/3bw3b/bb2w4/b1ww1wwbb/3b4b/4w4/4b4/4bbK2 b"


def test_a_log_that_breaks_off() -> None:
    cut = ENGLISH[: ENGLISH.rindex("FINE: Stato:")]
    assert read_record(cut).result == "white"
    within = ENGLISH[: ENGLISH.index("Turn: W Pawn from F4 to F3")]
    within += "Turn: W Pawn from F4 to F3\nx GameAshtonTablut checkMove\nFINE: Stato:\nOOOBBBOOO\nOOO"
    record = read_record(within)
    assert len(record.moves) == 2
    assert "the log ends in the middle of a state" in record.notes[-2]
    assert record.notes[-1].endswith("F4-F3 was not played: no state follows it")


def test_several_games_in_one_log() -> None:
    both = ENGLISH + ENGLISH.replace("Anna", "Cleo")
    first, second = read_logs(both)
    assert isinstance(first, GameRecord)
    assert isinstance(second, GameRecord)
    assert (first.tags["White"], second.tags["White"]) == ("Anna", "Cleo")
    assert first == read_record(ENGLISH)
    assert second.moves == first.moves
    assert read_record(both).notes[-1] == "the file contains 1 more game; only the first was read"
    assert len([*read_logs(ITALIAN + ENGLISH + ITALIAN)]) == 3
    # A fault makes only its own game unreadable.
    faulty = ENGLISH.replace("Turn: W Pawn from F4 to F3", "Turn: W Pawn from Z4 to F3")
    spoilt, sound = read_logs(faulty + ENGLISH)
    assert isinstance(spoilt, InputError)
    assert isinstance(sound, GameRecord)
    assert sound.moves == first.moves
    moved = ".server.Server x\nWhite player name: a\nMove received. Turn: W Pawn from e4 to "
    spoilt, sound = read_system_logs(f"{moved}z9\n{moved}f4\nWhite player name: left")
    assert isinstance(spoilt, InputError)
    assert "line 3" in str(spoilt)
    assert isinstance(sound, GameRecord)
    assert len(sound.moves) == 1


# -- openTafl's positions and moves ------------------------------------------------------


# Nothing maps this position to itself: a flipped or turned reader cannot pass.
ASYMMETRIC = "/1t7/2T6/K8/9/9/9/9/8t/6T1t/"


def test_rows_go_up_from_rank_1() -> None:
    position = opentafl.read_position(ASYMMETRIC, "w")
    pieces = {square_name(square, 9): piece for square, piece in enumerate(position.cells) if piece != "."}
    assert pieces == {"b1": "b", "c2": "w", "a3": "K", "i8": "b", "g9": "w", "i9": "b"}
    assert str(position) == "6w1b/8b/9/9/9/9/K8/2w6/1b7 w"
    assert opentafl.write_position(position) == ASYMMETRIC


@given(st.data(), st.sampled_from([3, 7, 9, 11, 19]), st.sampled_from(["w", "b"]))
def test_any_placement_round_trips_in_opentafl(data: st.DataObject, size: int, side: str) -> None:
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


RULES_START = "start:/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"
NINE = "start:/3ttt3/4t4/4T4/t3T3t/ttTTKTTtt/t3T3t/4T4/4t4/3ttt3/"


def rules(fields: str, start: str = RULES_START, dim: int = 7) -> str:
    return f"dim:{dim} surf:n {fields} {start}"


def test_brandubh_as_we_ship_it() -> None:
    # All but the repetition, which OpenTafl's strings cannot say as ours does.
    ours = load_variant("brandubh")
    theirs = read_rules(rules("ks:c cenh: tfr:i"))
    assert (theirs.terrain, theirs.start) == (ours.terrain, ours.start)
    assert theirs.rules == ours.rules.model_copy(update={"repetition": recurrence("none")})


def test_leiden_as_we_ship_it() -> None:
    ours = load_variant("leiden")
    theirs = read_rules(rules("esc:e atkf:n ka:n ks:s cor: cens: cenh: cenhe: tfr:i", NINE, 9))
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
    "ks:w": "king.on_castle=two king.beside_castle=as_on_castle king.elsewhere=two",
    "sw:s": "shieldwall.corner=True shieldwall.mover=bracket",
    "sw:w swf:n": "shieldwall.corner=False shieldwall.mover=any",
    "sw:s cor: esc:e": "shieldwall.corner=False",
    "efe:y": "fort=on_edge",
    "surf:y": "encirclement=no_way_to_edge",
    "tfr:l": "repetition.times=3 repetition.result=mover_loses",
    "tfr:w": "repetition.times=3 repetition.result=mover_wins",
    "tfr:i linc:n gj:n": "repetition=none",
    "ks:w cenhe:t": "king.on_castle=two king.beside_castle=as_elsewhere king.elsewhere=two",
}


def test_what_fields_say() -> None:
    for fields, letters in TERRAIN.items():
        terrain = read_rules(rules(fields)).terrain
        assert terrain[-1][0] + terrain[3][0] == letters, fields
        assert terrain[3][3] == "T"
    bare = read_rules(rules("cen: ks:w esc:e cor: efe:y"))
    assert (bare.regions.castle, bare.rules.king.elsewhere, bare.rules.fort) == (None, "two", "none")
    assert read_rules(rules("cor:a1,a2,b1,b2")).terrain[-2:] == ("XX.....", "XX....+")
    for fields, words in SAYS.items():
        text = rules(fields).replace("surf:n surf:y", "surf:y")
        found = {field.name: str(field.value) for field in rule_fields(read_rules(text).rules)}
        assert dict(word.split("=") for word in words.split()).items() <= found.items(), fields


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ("linc:y", r"Linnaean captures \(linc:y\)"),
        ("kj:c", r"a king that jumps \(kj:c\)"),
        ("afor:a4,a5", r"fortresses \(afor:a4,a5\)"),
        ("ks:m ber:c", r"a king that falls when confined \(ks:m\), berserk moves \(ber:c\)"),
        ("cors:tTK corp:tTK", "corners that are not for the king alone"),
        ("cor:a2", r"corner cells that are not in a corner \(cor:a2\)"),
        ("esc:e cen:a3", "a throne in a corner or on an escape"),
        ("cens:tcnkTCNK", r"soldiers that stop on the throne \(cens:tcnkTCNK\)"),
    ],
)
def test_what_no_field_can_say(fields: str, rule: str) -> None:
    with pytest.raises(InputError, match=f"^rules 'dim:7 .*{rule}") as caught:
        read_rules(rules(fields))
    assert "\n" not in str(caught.value)
