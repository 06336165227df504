"""`Board` against the plain-Python rules, and what needs the history of a game."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symmetry import dihedral
from tablut.board import Board
from tablut.errors import InputError
from tablut.position import Move, Position
from tablut.records import read_record, write_record
from tablut.replay import replay
from tablut.rules import NaiveGame
from tablut.rules.naive import PlainEngine
from tablut.rules.outcome import Outcome
from tablut.status import UNPLAYABLE, Status, position_status
from tablut.variants import load_variant, variant_names
from tablut.variants.schema import parse_variant
from tests.support.effort import examples
from tests.support.games import UNCOMPILED


@settings(deadline=None, max_examples=examples(20))
@given(st.sampled_from(variant_names()), st.integers(0, 10**6))
@example("alea-evangelii", 1)
@example("copenhagen", 1)
def test_random_games_agree_with_the_plain_rules(name: str, seed: int) -> None:
    chance = random.Random(seed)
    board, game = Board(name), NaiveGame(load_variant(name))
    naive = game.start()
    history = [str(board.position)]
    for _ in range(12):
        assert str(board.position) == game.write(naive)
        names = {game.move_name(move) for move in game.legal_moves(naive)}
        assert {str(move) for move in board.legal_moves} == names
        assert board.legal_moves.count() == len(names)
        assert board.status() is Status.VALID
        if not names:
            break
        text = chance.choice(sorted(names))
        result = game.apply(naive, game.parse_move(text))
        board.push_text(text)
        board.assert_ok()
        history.append(str(board.position))
        assert set(board.captured()) == {rank * board.size + file for file, rank in result.captured}
        naive = result.position
        if result.outcome is not None:
            assert board.outcome() == result.outcome
            assert not board.legal_moves
            break
    while board.ply:
        assert str(board.position) == history.pop()
        board.pop()
        board.assert_ok()
    assert board == Board(name)


def test_a_game_goes_on_where_the_rules_are_not_compiled() -> None:
    """Its moves, captures, ends, symmetrical images and numbers of sequences are those of the compiled rules."""
    chance, plain, compiled = random.Random(5), Board("copenhagen"), Board("copenhagen")
    plain._engine = PlainEngine(plain.variant)
    while plain.outcome() is None and plain.ply < 60:
        moves = sorted(map(str, plain.legal_moves))
        assert moves == sorted(map(str, compiled.legal_moves))
        for board, move in zip((plain, compiled), [chance.choice(moves)] * 2, strict=True):
            board.push_text(move)
        assert (plain, plain.captured(), plain.outcome()) == (compiled, compiled.captured(), compiled.outcome())
    assert plain.ply > 20
    image = plain.transform(dihedral(plain.size)[3])
    image._engine = plain._engine
    assert plain.canonical() == image.canonical()
    plain = Board(parse_variant(UNCOMPILED, name="forts", origin="forts.toml"))
    assert (plain.perft(1), Move.from_code(next(iter(plain.legal_moves)).code, 19) in plain.legal_moves) == (580, True)
    with pytest.raises(InputError):
        plain.zobrist_key()


def test_the_shape_that_users_of_python_chess_know() -> None:
    board = Board()
    move = Move.parse("e4-f4", 9)
    assert board.turn == "white"
    assert move in board.legal_moves
    assert Move.parse("e4-e5", 9) not in board.legal_moves
    assert "e4-f4" in board.legal_moves
    assert "e4-e5" not in board.legal_moves
    assert 7 not in board.legal_moves
    assert len(list(board.legal_moves)) == len(board.legal_moves) == 56
    copy = board.copy()
    board.push(move)
    assert board.peek() == move
    assert board.move_stack == [move]
    assert (board.turn, copy.turn) == ("black", "white")
    assert board != copy
    assert board.pop() == move
    assert board == copy
    assert hash(board) == hash(copy)
    assert len({board, copy}) == 1
    assert board.piece_at(40) == "K"
    assert board.piece_at(0) is None
    assert board.king() == 40
    pieces = board.piece_map()
    assert list(pieces) == sorted(pieces)
    assert [board.piece_at(square) for square in range(81)] == [pieces.get(square) for square in range(81)]
    assert eval(repr(move)) == move
    assert repr(board) == "Board('ashton', '3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 w')"
    assert board._repr_svg_().startswith("<svg ")
    assert "legal" in repr(board.legal_moves).lower()


@pytest.mark.parametrize("wrong", [81, -1, "e10", "", "xyzzy"])
def test_what_is_no_square_or_move_is_an_error_of_ours(wrong: Any) -> None:
    board = Board()
    asks = [board.piece_at, board.push, lambda _: board.pop(), lambda _: board.peek()]
    for ask in [*asks, *([board.is_legal] if isinstance(wrong, str) else [])]:
        with pytest.raises(InputError, match=r"^\w+ [^\n]*\Z"):
            ask(wrong)


def test_a_board_gives_its_record() -> None:
    board = Board("ashton", "3bbb3/4b4/4w3b/b3w4/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 w")
    for text in ("e7-g7", "i7-h7", "g7-g8"):
        board.push(text)
    record = board.record({"White": "Anna"})
    again = replay(read_record(write_record(record)))
    assert (again.board, again.problems, record.result, record.tags) == (board, (), None, {"White": "Anna"})
    assert board.record(result="black").result == "black"


@given(st.integers(-200, 300), st.integers(-200, 300), st.sampled_from([5, 7, 9, 11]))
@example(72 + 128, 0, 9)
def test_a_move_is_legal_by_its_value_alone(start: int, target: int, size: int) -> None:
    """A move is any three numbers; the engine's code of some that are off the board is that of a legal one."""
    board, move = Board("ashton"), Move(start, target, size)
    assert eval(repr(move)) == move
    assert (move in board.legal_moves) == board.is_legal(move) == (move in set(board.legal_moves))


def test_a_repetition_is_a_draw_where_the_rules_say_so() -> None:
    board = Board("ashton")
    for text in ("e4-f4", "e2-f2", "f4-e4"):
        board.push_text(text)
        assert board.outcome() is None
    # Black cannot go back into the camp; the kings' side can wait with another piece.
    for text in ("f2-f3", "e4-f4", "f3-f2"):
        board.push_text(text)
    assert board.outcome() == Outcome("repetition", None)
    board.pop()
    assert board.outcome() is None


def test_mcgill_has_no_repetition_but_a_limit() -> None:
    board = Board("mcgill")
    for number in range(25):
        for text in ("e2-f2", "e4-f4", "f2-e2", "f4-e4"):
            assert board.outcome() is None, number
            board.push_text(text)
    assert board.ply == 100
    assert board.is_repetition()
    assert board.outcome() == Outcome("move_limit", None)


def test_a_side_without_a_move_has_lost() -> None:
    board = Board("ashton-5-4v0", "5/2b2/1bKb1/2b2/5 w")
    assert not board.legal_moves
    assert board.outcome() == Outcome("no_moves", "black")


@pytest.mark.parametrize(
    ("variant", "text", "outcome"),
    [
        ("ashton-5-4v0", "1K3/5/b3b/5/2b2 b", Outcome("king_escaped", "white")),
        ("ashton-5-4v0", "5/5/2K2/5/5 b", Outcome("no_attackers", "white")),
        ("mcgill", "9/9/9/9/4K4/9/9/9/9 b", Outcome("no_attackers", "white")),
        ("ashton-5-4v0", "2b2/5/b1K1b/5/2b2 w", None),
    ],
)
def test_positions_that_are_set_up_decided(variant: str, text: str, outcome: Outcome | None) -> None:
    board = Board(variant, text)
    assert board.outcome() == outcome
    assert bool(board.legal_moves) == (outcome is None)


def test_a_symmetry_that_breaks_the_rules_is_refused() -> None:
    lopsided = replace(load_variant("ashton-5-4v0"), terrain=("+*A*+", "*...*", "B.T.C", "*...*", "+*D.+"))
    board = Board(lopsided)
    turn = load_variant("ashton-5-4v0").symmetries[1]
    with pytest.raises(InputError):
        board.transform(turn)


STATUSES = [
    ("2b2/5/b3b/5/2b2 w", {"NO_KING"}),
    ("2b2/5/bKK1b/5/2b2 w", {"MANY_KINGS"}),
    ("2b2/1b3/b1K1b/5/2b2 w", {"TOO_MANY_ATTACKERS"}),
    ("2b2/1w3/b1K1b/5/2b2 w", {"TOO_MANY_DEFENDERS"}),
    ("2b2/1K3/b1b2/5/2b2 w", {"SOLDIER_ON_CASTLE"}),
    ("2K2/5/b3b/5/2b2 w", {"KING_IN_CAMP", "KING_OUT_OF_REACH"}),
    ("K4/5/b3b/5/2b2 w", {"KING_OUT_OF_REACH"}),
    ("1K3/1b3/b3b/5/2b2 b", {"ESCAPE_BLOCKED"}),
    ("1K3/5/b3b/5/2b2 w", {"ESCAPED_ON_WHITE_TURN"}),
    ("5/5/2K2/5/5 w", {"NO_ATTACKERS_ON_WHITE_TURN"}),
    ("1K3/5/b3b/5/2b2 b", set()),
    ("2b2/5/b1K1b/5/2b2 w", set()),
]


@pytest.mark.parametrize(("text", "names"), STATUSES)
def test_every_reason_is_named(text: str, names: set[str]) -> None:
    status = position_status(load_variant("ashton-5-4v0"), Position.parse(text, 5))
    assert set(status.names) == names
    assert bool(status) == bool(names)


def test_a_camp_never_holds_more_than_its_garrison() -> None:
    half = load_variant("ashton")
    half = replace(half, start=(*half.start[:-1], "...b.b..."))
    full = Position.parse("9/9/9/9/4K4/9/9/4b4/3bbb3 w", 9)
    assert position_status(half, full).names == ["TOO_MANY_IN_CAMP"]


@given(st.sampled_from(["ashton-5-4v0", "brandubh-5-4v4"]), st.text("....bbwK", min_size=25, max_size=25))
def test_no_impossible_position_has_been_won_by_the_way_it_stands(name: str, cells: str) -> None:
    for side in ("w", "b"):
        board = Board(name, "\n".join([*Position(cells, "w").rows(), side]))
        status = board.status()
        if status & UNPLAYABLE:
            for asked in (board.outcome, lambda board=board: list(board.legal_moves)):
                with pytest.raises(InputError):
                    asked()
            continue
        try:
            outcome = board.outcome()
        except InputError:
            # It stands decided, and no game leads to it.
            assert status, cells
        else:
            # What is impossible goes on, or its side to move is shut in; it has not been won already.
            assert status is Status.VALID or outcome is None or outcome.termination == "no_moves"
