"""Whole games of the competition over real sockets: our client, our referee, and everybody else's worst clients."""

import json
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut.board import Board
from tablut.errors import InputError, MachineError
from tablut.formats import bologna, read_record
from tablut.formats.replay import replay
from tablut.play.competition import (
    ClientSettings,
    Referee,
    RefereeSettings,
    ServerGame,
    play_on_server,
    write_player_script,
)
from tablut.play.competition.frames import MOST_BYTES, FrameError, FrameReader, encode_frame
from tablut.play.competition.match import Match
from tablut.play.competition.referee import NoPlayersError, PlayedGame
from tablut.play.competition.thinking import Thinker, move_margin
from tablut.play.players import Choice, PlayerOptions, make_player
from tablut.play.search import SearchLimits
from tablut.position import Move, Position
from tablut.variants import load_variant

BOLOGNA = load_variant("bologna")
Side = Literal["w", "b"]

# -- a client that obeys no rule ------------------------------------------------------------

OPEN: list[socket.socket] = []


@pytest.fixture(autouse=True)
def _everything_closed():
    yield
    while OPEN:
        OPEN.pop().close()


class Raw:
    """A client by hand: sends any bytes, reads any states."""

    def __init__(self, address: tuple[str, int], name: str | None = "Raw") -> None:
        self.socket = socket.create_connection(address, timeout=5)
        OPEN.append(self.socket)
        self.frames = FrameReader(1 << 20)
        if name is not None:
            self.say(json.dumps(name))

    def say(self, text: str) -> None:
        self.socket.sendall(encode_frame(text))

    def move(self, move: str, side: Side = "w") -> None:
        self.say(bologna.write_move(Move.parse(move, 9), side))

    def state(self) -> bologna.BolognaState | None:
        """Return the next state; None at the end of the connection."""
        while (text := self.frames.take()) is None:
            data = self.socket.recv(1 << 16)
            if not data:
                return None
            self.frames.feed(data)
        return bologna.read_state(text)

    def until_turn(self, side: Side) -> bologna.BolognaState:
        while True:
            state = self.state()
            assert state is not None
            assert state.result is None
            if state.side == side:
                return state

    def end(self) -> str | None:
        """Return the result, read to the end of the connection."""
        result = None
        while (state := self.state()) is not None:
            result = state.turn if state.result else None
        self.socket.close()
        return result


class Served:
    """A referee in a thread of its own, as a user's is in a process of its own."""

    def __init__(self, games: int = 1, **settings: Any) -> None:
        chosen = {"timeout": 5.0, "wait": 5.0, "port_white": 0, "port_black": 0} | settings
        self.told: list[str] = []
        self.referee = Referee(BOLOGNA, RefereeSettings(**chosen), self.told.append)
        self.games: list[PlayedGame] = []
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._serve, args=(games,), daemon=True)

    def _serve(self, games: int) -> None:
        try:
            for number in range(games):
                self.games.append(self.referee.play(last=number == games - 1))
        except Exception as error:
            self.error = error

    def join(self) -> PlayedGame:
        self._thread.join(10)
        assert not self._thread.is_alive(), "the referee hangs"
        if self.error is not None:
            raise self.error
        return self.games[-1]

    def start(self) -> None:
        self._thread.start()


@contextmanager
def served(games: int = 1, **settings: Any) -> Iterator[Served]:
    running = Served(games, **settings)
    with running.referee:
        running.start()
        try:
            yield running
        finally:
            if not running.games:
                running._thread.join(10)


def client(running: Served, role: Side, player: Any = "random", *, seed: int = 1, **settings: Any) -> ServerGame:
    host, port = running.referee.address(role)
    chosen = {"timeout": 5.0, "name": f"{player}"[:8]} | settings
    if isinstance(player, str):
        player = make_player(player, BOLOGNA, PlayerOptions(seed=seed, hash_mib=1))
    return play_on_server(player, BOLOGNA, ClientSettings(host, role, port=port, **chosen))


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, found


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
        thread.join(10)
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


def test_search_wins_against_chance_over_the_wire() -> None:
    with served() as running:
        thread, found = in_thread(lambda: client(running, "b", seed=3))
        white = client(running, "w", "alphabeta", limits=SearchLimits(nodes=2000))
        thread.join(10)
        assert running.join().verdict == ("king_escaped", "white")
    assert white.result == found[0].result == "white"


def test_several_games_one_after_the_other() -> None:
    with served(3) as running:
        for number in range(3):
            white, black = Raw(running.referee.address("w")), Raw(running.referee.address("b"))
            white.until_turn("w")
            (white if number == 1 else black).socket.close()
            assert (black if number == 1 else white).end() == ("BLACKWIN" if number == 1 else "WHITEWIN")
        running.join()
    assert [game.verdict for game in running.games] == [
        ("disconnected", "white"),
        ("disconnected", "black"),
        ("disconnected", "white"),
    ]


# -- hostile clients ------------------------------------------------------------------------


def hostile(attack: Callable[[Raw], object], **settings: Any) -> tuple[PlayedGame, str | None, str | None]:
    """Have white do something in its turn; return the game, and what both clients read at its end."""
    with served(**settings) as running:
        white, black = Raw(running.referee.address("w")), Raw(running.referee.address("b"))
        white.until_turn("w")
        began = time.monotonic()
        attack(white)
        ends = white.end() if white.socket.fileno() >= 0 else None, black.end()
        game = running.join()
    assert time.monotonic() - began < 4
    return game, *ends


BAD = {
    "garbage": lambda raw: raw.socket.sendall(b"GET / HTTP/1.1\r\n\r\n"),
    "a huge length": lambda raw: raw.socket.sendall(b"\x7f\xff\xff\xff"),
    "a negative length": lambda raw: raw.socket.sendall(b"\xff\xff\xff\xff"),
    "no JSON": lambda raw: raw.say("e4-f4"),
    "no UTF-8": lambda raw: raw.socket.sendall(b"\0\0\0\3\xff\xfe\xfd"),
    "an empty message": lambda raw: raw.say(""),
    "a list": lambda raw: raw.say("[1, 2]"),
    "deep JSON": lambda raw: raw.say("[" * 8000),
    "numbers for squares": lambda raw: raw.say('{"from": 4, "to": 5}'),
    "no such square": lambda raw: raw.say('{"from": "e4", "to": "z9"}'),
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
    "nowhere": "e4-e4",
    "into a camp": "e4-i4",
}


@pytest.mark.parametrize("move", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_an_illegal_move_loses(move: str, tmp_path: Path) -> None:
    game, white, black = hostile(lambda raw: raw.move(move), logs=tmp_path)
    assert game.verdict == ("illegal_move", "black")
    assert white == black == "BLACKWIN"
    assert game.log is not None
    assert any("was not played" in note for note in read_record(game.log.read_bytes()).notes)


def test_silence_and_half_a_message_lose_by_time_and_the_result_is_sent(tmp_path: Path) -> None:
    for attack in (lambda raw: None, lambda raw: raw.socket.sendall(b"\0\0\0\x30{")):
        began = time.monotonic()
        game, white, black = hostile(attack, timeout=0.3, logs=tmp_path)
        assert time.monotonic() - began >= 0.3
        assert game.verdict == ("timeout", "black")
        assert white == black == "BLACKWIN"
        assert game.log is not None
        record = read_record(game.log.read_bytes())
        assert record.result == "black"
        assert replay(record).problems == ()


def test_a_move_drip_fed_byte_by_byte_counts_when_it_is_whole() -> None:
    with served() as running:
        white, black = Raw(running.referee.address("w")), Raw(running.referee.address("b"))
        white.until_turn("w")
        for byte in encode_frame('{"from":"E4","to":"f4","turn":null}'):
            white.socket.sendall(bytes([byte]))
            time.sleep(0.002)
        black.until_turn("b")
        white.socket.close()
        assert black.end() == "BLACKWIN"
        assert [str(move) for move in running.join().moves] == ["e4-f4"]


def test_who_closes_in_the_middle_loses_whoever_is_to_move() -> None:
    game, _, black = hostile(lambda raw: raw.socket.close())
    assert (game.verdict, black) == (("disconnected", "black"), "BLACKWIN")
    # Closed for sending only: it still reads its result.
    game, white, black = hostile(lambda raw: raw.socket.shutdown(socket.SHUT_WR))
    assert (game.verdict, white, black) == (("disconnected", "black"), "BLACKWIN", "BLACKWIN")
    # Reset, as a process that is killed may do.
    reset = struct.pack("ii", 1, 0)
    game, _, black = hostile(
        lambda raw: (raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset), raw.socket.close())
    )
    assert (game.verdict, black) == (("disconnected", "black"), "BLACKWIN")


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


def test_errors_are_counted_and_the_clock_goes_on() -> None:
    with served(errors=2, timeout=0.5) as running:
        white, black = Raw(running.referee.address("w")), Raw(running.referee.address("b"))
        for _ in range(2):
            white.until_turn("w")
            white.move("e4-e9")
            time.sleep(0.2)
        assert white.until_turn("w").position() == Position.parse(BOLOGNA.start_position, 9)
        assert white.end() == black.end() == "BLACKWIN"
        assert running.join().verdict == ("timeout", "black")


def test_a_flood_ends_the_game_and_hurts_nobody_else() -> None:
    def flood(raw: Raw) -> None:
        try:
            for _ in range(200):
                raw.socket.sendall(encode_frame('{"from":"e4","to":"e9"}') * 100)
        except OSError:
            pass  # closed in our face
        raw.socket.close()

    game, _, black = hostile(flood, errors=1_000_000)
    assert game.verdict is not None
    assert game.verdict.result == "black"
    assert black == "BLACKWIN"


def test_two_clients_on_one_port() -> None:
    with served() as running:
        address = running.referee.address("w")
        first, second = Raw(address), Raw(address)
        black = Raw(running.referee.address("b"))
        first.until_turn("w")
        assert second.end() is None  # turned away at once: no game is left for it
        assert "white: a second player was turned away; the seat is taken" in running.told
        first.move("e4-f4")
        black.until_turn("b")
        first.socket.close()
        assert black.end() == "BLACKWIN"
        assert running.join().verdict == ("disconnected", "black")


def test_a_second_client_waits_for_the_next_game() -> None:
    with served(2) as running:
        address = running.referee.address("w")
        first, second = Raw(address), Raw(address, "Second")
        black = Raw(running.referee.address("b"))
        first.until_turn("w")
        first.say("")
        assert first.end() == black.end() == "BLACKWIN"
        black = Raw(running.referee.address("b"))
        second.until_turn("w")
        second.say("")
        assert second.end() == black.end() == "BLACKWIN"
        assert [game.white for game in (running.join(), running.games[0])] == ["Second", "Raw"]


NAMES: dict[str, Callable[[Raw], object]] = {
    "no JSON": lambda raw: raw.say("Raw"),
    "a number": lambda raw: raw.say("7"),
    "garbage": lambda raw: raw.socket.sendall(b"\xff" * 50),
    "silence": lambda raw: None,
    "half a name": lambda raw: raw.socket.sendall(b"\0\0\0\x06"),
    "leaves": lambda raw: raw.socket.close(),
    "a book instead of a name": lambda raw: (raw.say('"A"'), raw.socket.sendall(encode_frame("x" * 4000) * 20)),
}


@pytest.mark.parametrize("attack", NAMES.values(), ids=NAMES.keys())
def test_who_does_not_say_its_name_gives_up_the_seat(attack: Callable[[Raw], object]) -> None:
    with served(timeout=0.3) as running:
        raw = Raw(running.referee.address("w"), None)
        attack(raw)
        white = Raw(running.referee.address("w"), "The White One")
        time.sleep(0.05)
        black = Raw(running.referee.address("b"), "!!!!")
        white.until_turn("w")
        white.say("")
        assert white.end() == black.end() == "BLACKWIN"
        game = running.join()
        raw.socket.close()
    assert (game.white, game.black) == ("TheWhite", "BP")


def test_nobody_comes() -> None:
    with served(wait=0.2) as running:
        Raw(running.referee.address("b"))
        with pytest.raises(NoPlayersError, match=r"white did not come within 0\.2 s"):
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


def test_a_wrong_turn_in_the_message_is_overruled_and_noted() -> None:
    match = Match(BOLOGNA, {"w": "A", "b": "B"})
    match.receive("w", '{"from":"e4","to":"f4","turn":"BLACK"}')
    assert (match.verdict, match.board.ply) == (None, 1)
    assert match.notes == ["white says that its move is black's"]


# -- our client -----------------------------------------------------------------------------


class Server:
    """A server by hand, for one client: does what a script says."""

    def __init__(self, script: Callable[[socket.socket], object]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._script = script
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            self.name = receive(connection)
            self._script(connection)

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._thread.join(5)
        assert not self._thread.is_alive()


def receive(connection: socket.socket) -> str:
    reader = FrameReader()
    connection.settimeout(5)
    while (text := reader.take()) is None:
        data = connection.recv(1)
        assert data
        reader.feed(data)
    return text


def state(position: str, turn: Any = None) -> bytes:
    return encode_frame(bologna.write_state(Position.parse(position, 9), turn))


START = BOLOGNA.start_position


def against(script: Callable[[socket.socket], object], player: Any = None, **settings: Any) -> ServerGame:
    with Server(script) as server:
        chosen = {"timeout": 2.0} | settings
        return play_on_server(
            player or make_player("random", BOLOGNA),
            BOLOGNA,
            ClientSettings("127.0.0.1", "w", port=server.port, **chosen),
        )


def test_the_client_reads_states_in_any_pieces() -> None:
    asked: list[str] = []

    def script(connection: socket.socket) -> None:
        for byte in state(START):
            connection.sendall(bytes([byte]))
        asked.append(receive(connection))
        move, _ = bologna.read_move(asked[0])
        board = Board(BOLOGNA)
        board.push(move)
        # Two states in one piece, and a third one cut in the middle.
        reply = next(iter(board.legal_moves))
        first = state(str(board.position))
        board.push(reply)
        both = first + state(str(board.position)) + state(str(board.position), "DRAW")
        connection.sendall(both[:-40])
        time.sleep(0.05)
        connection.sendall(both[-40:])

    game = against(script)
    assert game.result == "draw"
    assert game.board.ply == 2
    assert game.problem is None


def test_the_client_plays_from_the_state_it_is_sent() -> None:
    def script(connection: socket.socket) -> None:
        connection.sendall(state(START))
        receive(connection)
        connection.sendall(state("9/9/9/9/3wK4/9/9/9/b8 w"))  # from nowhere
        move, _ = bologna.read_move(receive(connection))
        board = Board(BOLOGNA, "9/9/9/9/3wK4/9/9/9/b8 w")
        board.push(move)
        connection.sendall(state(str(board.position), "WHITEWIN"))

    game = against(script)
    assert (game.result, game.board.ply) == ("white", 1)


def test_a_refused_move_is_not_sent_again() -> None:
    sent: list[str] = []

    def script(connection: socket.socket) -> None:
        for _ in range(4):
            connection.sendall(state("9/9/9/9/4K4/9/9/9/b8 w"))
            sent.append(receive(connection))

    game = against(script, make_player("alphabeta", BOLOGNA, PlayerOptions(hash_mib=1)), limits=SearchLimits(nodes=300))
    assert game.result is None
    assert len(set(sent)) == 4


def test_the_client_lives_with_rules_of_its_server() -> None:
    """A position that recurs is a draw to us; a server that allows it goes on, and so does the client."""
    cycle = ("e4-g4", "e2-f2", "g4-e4", "f2-g2", "e4-f4", "g2-f2", "f4-e4", "f2-g2")

    def script(connection: socket.socket) -> None:
        board = Board(BOLOGNA)
        connection.sendall(state(str(board.position)))
        receive(connection)
        for move in cycle:
            board.push(move)
            connection.sendall(state(str(board.position)))
            time.sleep(0.05)
            if board.position.side == "w":
                receive(connection)
        connection.sendall(state(str(board.position), "DRAW"))

    game = against(script)
    assert game.result == "draw"
    assert [str(move) for move in game.board.move_stack] == list(cycle)


def test_a_side_without_moves_waits_for_the_server() -> None:
    blocked = "9/9/9/9/9/9/1b7/bKb6/1b7 w"

    def end(connection: socket.socket) -> None:
        connection.sendall(state(blocked))
        time.sleep(0.2)

    told: list[str] = []
    with Server(end) as server:
        settings = ClientSettings("127.0.0.1", "w", port=server.port, timeout=1)
        game = play_on_server(make_player("random", BOLOGNA), BOLOGNA, settings, told.append)
    assert game.result is None
    assert game.problem is None
    assert any("no legal move is left" in line for line in told)


BROKEN: dict[str, tuple[Callable[[socket.socket], object], str]] = {
    "garbage": (lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request"), "no message of the protocol"),
    "a huge length": (lambda connection: connection.sendall(b"\xff" * 4), "no message of the protocol"),
    "half a state": (lambda connection: connection.sendall(state(START)[:-9]), "ended within a message"),
    "no state": (lambda connection: connection.sendall(encode_frame('{"turn": "WHITE"}')), "cannot be played"),
    "a small board": (
        lambda connection: connection.sendall(
            encode_frame(bologna.write_state(Position.parse("2b2/5/b1K1b/5/2b2 w", 5)))
        ),
        "board has side 5",
    ),
    "no king": (lambda connection: connection.sendall(state("9/9/9/9/9/9/9/w8/b8 w")), "cannot be played"),
    "two kings": (lambda connection: connection.sendall(state("9/9/9/9/4K4/9/9/K8/b8 w")), "cannot be played"),
    "nothing": (lambda connection: None, "closed the connection before the game began"),
}


@pytest.mark.parametrize(("script", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_server_that_is_none_is_one_line(script: Callable[[socket.socket], object], message: str) -> None:
    try:
        problem = against(script).problem
    except MachineError as error:
        problem = str(error)
    assert problem is not None
    assert message in problem
    assert "\n" not in problem


def test_a_server_that_ends_early_leaves_the_result_unknown() -> None:
    def script(connection: socket.socket) -> None:
        connection.sendall(state(START))
        receive(connection)

    game = against(script)
    assert (game.result, game.problem) == (None, None)


def test_nobody_listens_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    settings = ClientSettings("127.0.0.1", "w", timeout=1, port=port)
    with pytest.raises(MachineError, match="nobody listens there"):
        play_on_server(make_player("random", BOLOGNA), BOLOGNA, settings)
    with pytest.raises(InputError, match="no such host"):
        play_on_server(make_player("random", BOLOGNA), BOLOGNA, settings._replace(host="nosuchhost.invalid"))
    for wrong in ({"host": ""}, {"timeout": 0.0}, {"port": 0}, {"name": ""}, {"wait": -1.0}):
        with pytest.raises(InputError):
            settings._replace(**wrong).checked()


def test_a_server_that_starts_late_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    def late() -> None:
        time.sleep(0.4)
        with socket.create_server(("127.0.0.1", port)) as listener:
            connection, _ = listener.accept()
            receive(connection)
            connection.sendall(state(START, "DRAW"))
            connection.close()

    thread, _ = in_thread(late)
    settings = ClientSettings("127.0.0.1", "w", timeout=1, port=port, wait=5)
    assert play_on_server(make_player("random", BOLOGNA), BOLOGNA, settings).result == "draw"
    thread.join(5)


# -- the clock ------------------------------------------------------------------------------


class Sleeper:
    """A player that heeds no limit."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.asked = 0

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        self.asked += 1
        time.sleep(self.seconds)
        move = list(board.legal_moves)[-1]
        return Choice(move, None, None, 0, 0, (move,))


class Failing:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        raise ZeroDivisionError


class Cheating:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        move = Move.parse("a1-a2", 9)
        return Choice(move, None, None, 0, 0, (move,))


@pytest.mark.parametrize("player", [Sleeper(0.6), Failing(), Cheating()], ids=lambda player: type(player).__name__)
def test_whatever_a_player_does_a_legal_move_is_there_in_time(player: Any) -> None:
    thinker, board = Thinker(player), Board(BOLOGNA)
    for _ in range(2):
        began = time.monotonic()
        answer = thinker.choose(board, SearchLimits(movetime=0.1), 0.2)
        assert time.monotonic() - began < 0.4
        assert answer.move in board.legal_moves
        assert answer.trouble
    assert getattr(player, "asked", 1) == 1  # nobody is asked two things at once


def test_a_late_player_loses_no_game_by_time() -> None:
    with served(timeout=0.6) as running:
        thread, _ = in_thread(lambda: client(running, "b", Sleeper(5), timeout=0.6))
        white = Raw(running.referee.address("w"))
        white.until_turn("w")
        for move in ("e4-f4", "f4-g4", "g4-h4"):
            white.move(move)
            white.until_turn("w")
        white.socket.close()
        assert running.join().verdict == ("disconnected", "black")
        thread.join(5)


def test_the_search_is_in_time_on_a_busy_machine() -> None:
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(6)]
    player = make_player("alphabeta", BOLOGNA, PlayerOptions(hash_mib=1))
    try:
        with served(timeout=1.0) as running:
            thread, _ = in_thread(lambda: client(running, "b", player, timeout=1.0))
            white = Raw(running.referee.address("w"))
            for move in ("e4-f4", "f4-g4"):
                white.until_turn("w")  # and not a result by time
                white.move(move)
            white.until_turn("w")
            white.socket.close()
            running.join()
            thread.join(5)
    finally:
        for process in burning:
            process.kill()
            process.wait()


def test_the_margin_grows_with_the_time_and_never_takes_it_all() -> None:
    times = [0.01, 0.1, 1, 2, 10, 60, 600]
    assert all(0 < move_margin(time) <= time / 2 for time in times)
    assert move_margin(600) == 2


# -- the script -----------------------------------------------------------------------------


def test_the_script_plays_a_game_as_the_competition_starts_it(tmp_path: Path) -> None:
    script = write_player_script(tmp_path, ("--player", "random", "--port", "1"))
    assert subprocess.run([script], capture_output=True, check=False).returncode == 2
    text = script.read_text(encoding="utf-8")
    with served(wait=30, timeout=20) as running:
        script.write_text(text.replace("--port 1", f"--port {running.referee.address('b')[1]}"), encoding="utf-8")
        playing = subprocess.Popen([script, "BLACK", "20", "127.0.0.1"], stdout=subprocess.PIPE, text=True)
        white = client(running, "w", seed=2, timeout=20)
        out, _ = playing.communicate(timeout=30)
    assert white.result is not None
    assert playing.returncode == 0
    assert f"result  {white.result}" in out
