"""The Bologna server's states, moves and game logs."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut.errors import InputError
from tablut.formats import bologna
from tablut.notation import parse_square
from tablut.position import Position
from tablut.records.bologna import read_log, read_logs

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


@given(st.data(), st.sampled_from([3, 5, 7, 9, 11]), st.sampled_from(["w", "b"]))
def test_any_placement_round_trips(data: st.DataObject, size: int, side: str) -> None:
    cells = data.draw(st.text("....bwK", min_size=size * size, max_size=size * size))
    position = Position(cells, side)  # type: ignore[arg-type]
    state = bologna.read_state(bologna.write_state(position))
    assert state.position() == position
    assert (state.side, state.result, state.size) == (side, None, size)


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
    with pytest.raises(InputError, match=f"state with turn '{turn}': the game is over"):
        state.position()


def test_what_is_wrong_with_a_board_is_named() -> None:
    def refused(rows: object, message: str) -> None:
        with pytest.raises(InputError, match=message):
            bologna.read_state(json.dumps({"board": rows, "turn": "WHITE"}))

    refused([*board()[:8], ["EMPTY"] * 8], r"^state: board row 8 \(rank 9\): expected 9 cells, not 8 cells")
    refused([*board()[:8], "EMPTY"], r"board row 8 \(rank 9\): expected 9 cells, not 'EMPTY'")
    refused(board(c2="white"), r"board row 1 column 2 \(c2\): 'white': expected one of EMPTY WHITE BLACK KING THRONE")
    refused([[None] * 9, *board()[1:]], r"board row 0 column 0 \(a1\): None: expected one of")
    refused(board(d5="THRONE"), "THRONE on d5: the castle is e5")


def test_a_clients_move() -> None:
    move, side = bologna.read_move('{"to": "F4", "from": "E4", "turn": "BLACK", "more": 1}')
    assert (str(move), side) == ("e4-f4", "b")
    assert bologna.read_move('{"from":"a1","to":"a2"}')[1] is None
    assert bologna.read_move('{"from":"a1","to":"a2","turn":null}')[1] is None


def test_a_log_in_english() -> None:
    record = read_log(ENGLISH)
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
    assert read_log(cut).result == "white"
    within = ENGLISH[: ENGLISH.index("Turn: W Pawn from F4 to F3")]
    within += "Turn: W Pawn from F4 to F3\nx GameAshtonTablut checkMove\nFINE: Stato:\nOOOBBBOOO\nOOO"
    record = read_log(within)
    assert len(record.moves) == 2
    assert "the log breaks off within a state" in record.notes[-2]
    assert record.notes[-1].endswith("F4-F3 was not played: no state follows it")


def test_several_games_in_one_log() -> None:
    both = ENGLISH + ENGLISH.replace("Anna", "Cleo")
    games = read_logs(both)
    assert [game.tags["White"] for game in games] == ["Anna", "Cleo"]
    assert games[0] == read_log(ENGLISH)
    assert games[1].moves == games[0].moves
    assert read_log(both).notes[-1] == "the log holds 1 more game; only the first was read"
    assert len(read_logs(ITALIAN + ENGLISH + ITALIAN)) == 3


HEADER = "x Domain.GameAshtonTablut checkMove\nFINE: "


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{HEADER}Stato:\nOOX\n-\nW\n{HEADER}Inizio partita\n", "^game log line 2: state: expected rows of O W B K T"),
        (f"{HEADER}Stato:\nOOO\nOOO\nOOO\n-\nW\n", "state: has 9 cells; expected 81"),
        (
            f"{HEADER}Stato:\n{'O' * 81}-\nW\n{HEADER}Stato:\n{'O' * 49}-\nW\n",
            "line 6: state: has 49 cells; the one before",
        ),
        (
            f"{HEADER}Stato:\n{'O' * 81}-\nW\n{HEADER}Stato:\n{'O' * 80}B-\nW\n",
            "line 6: state: differs from the one before",
        ),
        (
            f"{HEADER}Turn: W Pawn from j1 to a1\n{HEADER}Stato:\n{'O' * 81}-\nB\n",
            "line 2: square 'j1': expected a1 to i9",
        ),
        (f"{HEADER}hello\n", "^game log 'x Domain.*': holds no game"),
    ],
)
def test_what_is_no_log(body: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_log(body)
    assert "\n" not in str(caught.value)
