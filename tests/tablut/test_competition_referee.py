"""The referee over real sockets: whole games, everybody else's worst clients, and the rules as it applies them."""

import random
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut.formats import bologna
from tablut.play.competition.referee import Match, NoPlayersError, PlayedGame
from tablut.play.competition.wire import MOST_BYTES, FrameError, FrameReader, encode_frame
from tablut.position import Move, Position
from tablut.records import read_record
from tablut.records.native import replay
from tests.support.waiting import PATIENCE, eventually
from tests.support.wire import BOLOGNA, Raw, client, in_thread, served

# -- frames ---------------------------------------------------------------------------------


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=300)), st.randoms())
def test_messages_survive_any_fragmentation(texts: list[str], chance: random.Random) -> None:
    stream = b"".join(encode_frame(text) for text in texts)
    reader, found = FrameReader(), []
    while stream:
        cut = chance.randint(1, 9)
        reader.feed(stream[:cut])
        stream = stream[cut:]
        while (text := reader.take()) is not None:
            found.append(text)
    assert found == texts
    assert not reader.partial


def test_no_length_is_believed_and_no_bytes_are_text() -> None:
    reader = FrameReader()
    reader.feed(struct.pack(">I", MOST_BYTES + 1))
    with pytest.raises(FrameError, match="at most"):
        reader.take()
    reader = FrameReader()
    reader.feed(b"\0\0\0\2\xff\xff")
    with pytest.raises(FrameError, match="UTF-8"):
        reader.take()


# -- whole games ----------------------------------------------------------------------------


def test_two_of_our_clients_play_a_whole_game_and_all_agree(tmp_path: Path) -> None:
    with served(logs=tmp_path) as running:
        thread, found = in_thread(lambda: client(running, "b", seed=7))
        white = client(running, "w", seed=5)
        thread.join(PATIENCE)
        game = running.join()
    (black,) = found
    assert game.verdict is not None
    assert white.result == black.result == game.verdict.result
    assert tuple(white.board.move_stack) == tuple(black.board.move_stack) == game.moves
    assert white.board.position == game.position
    # The log reads back as the same game, and the rules confirm it.
    assert game.log is not None
    record = read_record(game.log.read_bytes())
    again = replay(record)
    assert again.problems == ()
    assert (record.variant, record.result) == ("bologna", game.verdict.result)
    assert dict(record.tags).items() >= {"White": "random", "Black": "random"}.items()
    assert tuple(ply.move.move for ply in again.plies) == game.moves


# -- hostile clients ------------------------------------------------------------------------


def hostile(
    attack: Callable[[Raw], object], time_passes: bool = False, **settings: Any
) -> tuple[PlayedGame, str | None, str | None]:
    """Have white do something in its turn; return the game, and what both clients read at its end."""
    with served(**settings) as running:
        white, black = Raw(running.referee.address("w")), Raw(running.referee.address("b"))
        white.until_turn("w")
        attack(white)
        running.clock.runs = time_passes
        ends = white.end() if white.socket.fileno() >= 0 else None, black.end()
        game = running.join()
    return game, *ends


BAD = {
    "a huge length": lambda raw: raw.socket.sendall(b"\x7f\xff\xff\xff"),
    "no JSON": lambda raw: raw.say("e4-f4"),
    "no UTF-8": lambda raw: raw.socket.sendall(b"\0\0\0\3\xff\xfe\xfd"),
    "a list": lambda raw: raw.say("[1, 2]"),
    "deep JSON": lambda raw: raw.say("[" * 8000),
    "words of the log": lambda raw: raw.say("Stato:\nTurn: W Pawn from a1 to a2"),
}


@pytest.mark.parametrize("attack", BAD.values(), ids=BAD.keys())
def test_what_is_no_message_loses_one_game(attack: Callable[[Raw], object], tmp_path: Path) -> None:
    game, white, black = hostile(attack, logs=tmp_path)
    assert game.verdict == ("malformed", "black")
    assert white == black == "BLACKWIN"
    assert game.log is not None
    record = read_record(game.log.read_bytes())
    assert (record.result, record.moves) == ("black", ())


ILLEGAL = {
    "through a piece": "e4-e9",
    "the other side's piece": "e2-f2",
    "an empty square": "a1-a2",
    "into a camp": "e4-i4",
}


@pytest.mark.parametrize("move", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_an_illegal_move_loses(move: str, tmp_path: Path) -> None:
    game, white, black = hostile(lambda raw: raw.move(move), logs=tmp_path)
    assert game.verdict == ("illegal_move", "black")
    assert white == black == "BLACKWIN"
    assert game.log is not None
    assert any("was not played" in note for note in read_record(game.log.read_bytes()).notes)


def test_half_a_message_loses_by_time_and_the_result_is_sent(tmp_path: Path) -> None:
    game, white, black = hostile(lambda raw: raw.socket.sendall(b"\0\0\0\x30{"), time_passes=True, logs=tmp_path)
    assert game.verdict == ("timeout", "black")
    assert white == black == "BLACKWIN"
    assert game.log is not None
    record = read_record(game.log.read_bytes())
    assert record.result == "black"
    assert replay(record).problems == ()


def test_a_move_out_of_turn_is_an_error() -> None:
    with served(errors=1) as running:
        white, black = Raw(running.referee.address("w")), Raw(running.referee.address("b"))
        white.until_turn("w")
        black.move("e2-f2", "b")
        white.move("e4-f4")
        black.until_turn("b")
        white.move("f4-f3")  # its second move in a row
        white.move("f3-f4")
        assert white.end() == black.end() == "BLACKWIN"
        game = running.join()
    assert game.verdict == ("illegal_move", "black")
    assert [str(move) for move in game.moves] == ["e4-f4"]


def sends_a_book(raw: Raw) -> None:
    """Say a name and far more, and wait to be given up: until it has been read, the name alone counts."""
    with suppress(ConnectionError):
        raw.say('"A"')
        raw.socket.sendall(encode_frame("x" * 4000) * 20)
        assert raw.socket.recv(1) == b""


NAMES: dict[str, Callable[[Raw], object]] = {
    "no JSON": lambda raw: raw.say("Raw"),
    "silence": lambda raw: None,
    "half a name": lambda raw: raw.socket.sendall(b"\0\0\0\x06"),
    "a book instead of a name": sends_a_book,
}


@pytest.mark.parametrize("attack", NAMES.values(), ids=NAMES.keys())
def test_who_does_not_say_its_name_gives_up_the_seat(attack: Callable[[Raw], object]) -> None:
    with served(wait=PATIENCE) as running:
        raw = Raw(running.referee.address("w"), None)
        attack(raw)
        black = Raw(running.referee.address("b"), "!!!!")
        eventually(lambda: any("black is" in line for line in running.told))  # and who came before has been let in
        running.clock.now += 6
        white = Raw(running.referee.address("w"), "The White One")
        white.until_turn("w")
        white.say("")
        assert white.end() == black.end() == "BLACKWIN"
        game = running.join()
        raw.socket.close()
    assert (game.white, game.black) == ("TheWhite", "BP")


def test_nobody_comes() -> None:
    with served() as running:
        Raw(running.referee.address("b"))
        eventually(lambda: running.told)
        running.clock.now += 6
        with pytest.raises(NoPlayersError, match=r"white did not come within 5 s"):
            running.join()


# -- the rules, as the referee applies them --------------------------------------------------


def play_through(match: Match, moves: str) -> None:
    for move in moves.split():
        assert match.verdict is None, move
        match.receive(match.to_move, bologna.write_move(Move.parse(move, 9), match.to_move))


@pytest.mark.parametrize("repeats", [0, 1, 3])
def test_the_repetition_option_works(repeats: int) -> None:
    match = Match(BOLOGNA, {"w": "A", "b": "B"}, repeats=repeats)
    # Black's soldier has left its camp, to which it cannot come back; white's moves bring the position back.
    play_through(match, "e4-g4 e2-f2 g4-e4")
    cycle = "f2-g2 e4-f4 g2-f2 f4-e4"
    for _ in range(repeats):
        play_through(match, cycle)
        assert match.verdict is None
    play_through(match, cycle)
    assert match.verdict == ("repetition", "draw")
    assert match.turn == "DRAW"
    record = read_record(match.log.text())
    assert (len(record.moves), record.result) == (3 + 4 * (repeats + 1), "draw")


def test_a_side_without_moves_has_lost() -> None:
    start = Position.parse("9/9/9/9/4K4/9/9/ww7/b8 w", 9)
    match = Match(BOLOGNA, {"w": "A", "b": "B"}, start=start)
    play_through(match, "b2-b1")  # the soldier on a1 is shut in
    assert (match.verdict, match.turn) == (("no_moves", "white"), "WHITEWIN")
    # The last soldier is taken, against the camp on d1.
    match = Match(BOLOGNA, {"w": "A", "b": "B"}, start=Position.parse("9/9/9/9/4K4/9/9/1w7/2b6 w", 9))
    play_through(match, "b2-b1")
    assert (match.verdict, match.turn) == (("no_attackers", "white"), "WHITEWIN")
    # White has the king alone, and it cannot move where the game begins.
    match = Match(BOLOGNA, {"w": "A", "b": "B"}, start=Position.parse("9/9/9/9/9/9/1b7/bKb6/1b7 w", 9))
    assert (match.verdict, match.turn) == (("no_moves", "black"), "BLACKWIN")
