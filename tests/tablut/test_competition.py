"""The competition: our client against servers of every kind, its clock, the referee, and both as commands."""

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError, MachineError
from tablut.formats import bologna
from tablut.formats.bologna import MOST_BYTES, FrameError, FrameReader, encode_frame
from tablut.play.competition import ClientSettings, write_player_script
from tablut.play.competition.client import Thinker, plain_move
from tablut.play.competition.referee import Match, NoPlayersError, RefereedGame
from tablut.play.players import Choice, PlayerOptions, make_player
from tablut.play.search import SearchLimits
from tablut.play.search.limits import TimeControl
from tablut.position import Move, Position
from tablut.records import read_record
from tablut.replay import replay
from tests.support.waiting import PATIENCE, eventually
from tests.support.wire import BOLOGNA, START, Raw, Server, against, client, in_thread, receive, served, state


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


def test_a_refused_move_is_not_sent_again() -> None:
    sent: list[str] = []

    def script(connection: socket.socket) -> None:
        for _ in range(4):
            connection.sendall(state("9/9/9/9/4K4/9/9/9/b8 w"))
            sent.append(receive(connection))

    game = against(script, make_player("alphabeta", BOLOGNA, PlayerOptions(hash_mib=1)), limits=SearchLimits(nodes=300))
    assert game.result is None
    assert len(set(sent)) == 4


BROKEN: dict[str, tuple[Callable[[socket.socket], object], str]] = {
    "garbage": (lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request"), "sent an invalid message"),
    "half a state": (lambda connection: connection.sendall(state(START)[:-9]), "ended in the middle of a message"),
    "a small board": (
        lambda connection: connection.sendall(
            encode_frame(bologna.write_state(Position.parse("2b2/5/b1K1b/5/2b2 w", 5)))
        ),
        "board has side 5",
    ),
    "no king": (lambda connection: connection.sendall(state("9/9/9/9/9/9/9/w8/b8 w")), "cannot be played"),
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


# -- the clock of the competition: a legal move is there in time, whatever the player or the machine does


# -- the clock ------------------------------------------------------------------------------


class Sleeper:
    """A player that heeds no limit, and answers when it is woken."""

    def __init__(self) -> None:
        self.woken = threading.Event()
        self.asked = 0

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        self.asked += 1
        assert self.woken.wait(PATIENCE)
        move = list(board.legal_moves)[-1]
        return Choice(move, None, None, 0, 0, (move,))


class Failing:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        raise ZeroDivisionError


class Cheating:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        move = Move.parse("a1-a2", 9)
        return Choice(move, None, None, 0, 0, (move,))


@pytest.mark.parametrize("player", [Sleeper(), Failing(), Cheating()], ids=lambda player: type(player).__name__)
def test_whatever_a_player_does_a_legal_move_is_there(player: Any) -> None:
    """Also while the player sleeps on."""
    thinker, board = Thinker(player), Board(BOLOGNA)
    for _ in range(2):
        answer = thinker.choose(board, SearchLimits(movetime=0.1), 0.2)
        assert answer.move in board.legal_moves
        assert answer.trouble
    if isinstance(player, Sleeper):
        assert player.asked <= 1  # nobody is asked two things at once
        player.woken.set()


def test_a_late_player_loses_no_game_by_time() -> None:
    player = Sleeper()
    with served() as running:
        thread, _ = in_thread(lambda: client(running, "b", player, timeout=0.6))
        white = Raw(running.referee.address("w"))
        white.until_turn("w")
        for move in ("e4-f4", "f4-g4", "g4-h4"):
            white.move(move)
            white.until_turn("w")
        white.socket.close()
        assert running.join().verdict == ("disconnected", "black")
        thread.join(PATIENCE)
        player.woken.set()


def test_a_player_that_was_late_once_is_asked_again() -> None:
    """As soon as it has given its old answer, for which the next move waits."""
    player, board = Sleeper(), Board(BOLOGNA)
    thinker = Thinker(player)
    assert thinker.choose(board, SearchLimits(movetime=0.1), 0.01).choice is None
    threading.Timer(0.1, player.woken.set).start()
    answer = thinker.choose(board, SearchLimits(movetime=PATIENCE), PATIENCE)
    assert answer.choice is not None
    assert answer.move == list(board.legal_moves)[-1]
    assert player.asked == 2


def test_a_search_of_one_game_is_waited_for_in_the_next() -> None:
    player, sent = Sleeper(), list[str]()
    thinker = Thinker(player)
    assert thinker.choose(Board(BOLOGNA), SearchLimits(movetime=0.1), 0.01).choice is None

    def script(connection: socket.socket) -> None:
        threading.Timer(0.1, player.woken.set).start()
        connection.sendall(state(START))
        sent.append(receive(connection))

    against(script, thinker)
    assert player.asked == 2
    assert bologna.read_move(*sent)[0] == list(Board(BOLOGNA).legal_moves)[-1]


@pytest.mark.parametrize("variant", ["brandubh", "copenhagen"])
def test_moves_without_a_search_repeat_no_position_where_they_can_help_it(variant: str) -> None:
    """In one of them a repetition is a draw, and in the other White loses by it at once."""
    board = Board(variant)
    for _ in range(60):
        board.push(plain_move(board))
        assert not board.is_repetition()
        if board.outcome() is not None:
            break
    assert board.ply > 20


def test_a_move_without_a_search_does_not_lose_by_repetition() -> None:
    board = Board("copenhagen")
    for move in [*("d1-b1", "f4-b4", "b1-d1", "b4-f4"), *("d1-b1", "f4-b4", "b1-d1")]:
        board.push_text(move)
    losing, last = Move.parse("b4-f4", 11), list(board.legal_moves)[-1]
    others = set(board.legal_moves) - {losing, last}
    assert plain_move(board, others) == last
    assert plain_move(board, others | {last}) == losing  # there is no other
    board.push(losing)
    assert board.result() == "black"


# -- the script -----------------------------------------------------------------------------


def test_the_script_plays_a_game_as_the_competition_starts_it(tmp_path: Path) -> None:
    script = write_player_script(tmp_path, ("--player", "random", "--port", "1"))
    text = script.read_text(encoding="utf-8")
    with served() as running:
        script.write_text(text.replace("--port 1", f"--port {running.referee.address('b')[1]}"), encoding="utf-8")
        # The folder in which it is started may have files by the names of our packages.
        for name in ("tablut", "reports"):
            (tmp_path / f"{name}.py").write_text("raise SystemExit(99)\n", encoding="utf-8")
        line = [script, "BLACK", f"{PATIENCE}", "127.0.0.1"]
        playing = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        white = client(running, "w", seed=2)
        out, _ = playing.communicate(timeout=PATIENCE)
    assert white.result is not None
    assert playing.returncode == 0
    assert f"result  {white.result}" in out


ENGINE = """
import sys
answers = {"uci": "uciok", "isready": "readyok", "go": "bestmove e4-f4"}
while line := sys.stdin.readline():
    if answer := answers.get(line.split()[0]):
        print(answer, flush=True)
"""


def test_the_script_plays_wherever_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a program by a relative path, run by a command of the caller's own search path."""
    here = tmp_path / "it's $HOME"
    (here / "bin").mkdir(parents=True)
    python = here / "bin" / "own-python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (here / "engine.py").write_text(ENGINE, encoding="utf-8")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", f"{python.parent}{os.pathsep}{os.environ['PATH']}")
    command = ["play", "--write-script", "entry", "--player", "program:own-python engine.py", "--json"]
    assert run(command) == 0
    script = Path(json.loads(capsys.readouterr().out)["script"])
    assert script == here / "entry" / "runmyplayer.sh"
    moves: list[str] = []

    def serve(connection: socket.socket) -> None:
        connection.sendall(state(START))
        moves.append(receive(connection))
        connection.sendall(state(START, "DRAW"))

    with Server(serve) as server:
        line = [script, "WHITE", f"{PATIENCE}", "127.0.0.1", "--port", str(server.port)]
        there = {**os.environ, "PATH": os.defpath, "PYTHONPATH": ""}
        played = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=there, check=False)
    assert (played.returncode, played.stderr) == (0, "")
    assert str(bologna.read_move(*moves)[0]) == "e4-f4"


@pytest.mark.parametrize("fault", ["the interpreter is gone", "the player makes no move"])
def test_a_script_that_makes_no_move_when_it_is_tried_is_not_written(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if fault == "the interpreter is gone":
        monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    else:
        monkeypatch.setattr("tablut.play.players.simple.RandomPlayer.choose", Cheating.choose)
    assert run(["play", "--write-script", str(tmp_path / "entry"), "--player", "random"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "entry" / "runmyplayer.sh").exists()


# -- ``tablut play --server`` and ``tablut referee`` as they are typed -------------------


@pytest.mark.parametrize(
    "host",
    ["localhost:99999", "localhost:0", "localhost:-1", "localhost:5800", ":5800", "", " ", "[::1]:5800", "a b", "a/b"],
)
def test_a_host_is_no_address_with_a_port(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError):
        ClientSettings(host, "w", 5.0).checked()
    for command in (
        ["play", "--role", "white", "--timeout", "5", "--wait", "0", "--player", "random", "--server", host],
        ["referee", "--port-white", "0", "--port-black", "0", "--wait", "0.1", "--host", host],
        ["serve", "--port", "0", "--no-browser", "--seconds", "0.1", "--host", host],
    ):
        assert run(command) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert repr(host) in line
        assert repr(host.rpartition(":")[2]) in line


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "::1", "fe80::1%eth0", "example.org.", "my_host", "münchen.de"]
)
def test_names_and_addresses_are_hosts(host: str) -> None:
    assert ClientSettings(host, "w", 5.0).checked().host == host


Captured = pytest.CaptureFixture[str]


def free_ports() -> list[int]:
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [listener.getsockname()[1] for listener in found]
    for listener in found:
        listener.close()
    return ports


def connected(port: int) -> socket.socket:
    """Return a connection to a program that is still starting."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.02)


def play(script: Callable[[socket.socket], object], *more: str) -> int:
    common = ["--server", "127.0.0.1", "--role", "White", "--timeout", f"{PATIENCE}", "--player", "random"]
    with Server(script) as server:
        return run(["play", *common, "--port", str(server.port), *more])


def test_a_game_on_a_server(capsys: Captured, tmp_path: Path) -> None:
    def script(connection: socket.socket) -> None:
        connection.sendall(state(START))
        move, _ = bologna.read_move(receive(connection))
        cells = list(Position.parse(START, 9).cells)
        cells[move.target], cells[move.start] = cells[move.start], "."
        connection.sendall(state(str(Position("".join(cells), "b")), "WHITEWIN"))

    assert play(script, "--json", "--save", str(tmp_path / "game.txt")) == 0
    captured = capsys.readouterr()
    body = json.loads(captured.out)
    assert captured.err == ""
    assert body.items() >= {"variant": "bologna", "result": "white", "side": "white", "termination": None}.items()
    assert len(body["moves"]) == 1
    record = read_record((tmp_path / "game.txt").read_text(encoding="utf-8"))
    assert (record.result, dict(record.tags)) == ("white", {"White": "tablut", "Black": "the opponent"})


def test_an_interrupt_keeps_the_game_so_far(tmp_path: Path) -> None:
    ports = free_ports()
    options = ["--port-white", str(ports[0]), "--port-black", str(ports[1]), "--logs", str(tmp_path), "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tablut", "referee", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        players = []
        for port in ports:
            players.append(connected(port))
            players[-1].sendall(encode_frame('"P"'))
        receive(players[0])
        players[0].sendall(encode_frame('{"from":"e4","to":"f4"}'))
        receive(players[0])
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        for player in players:
            player.close()
    assert process.returncode == 130, err
    (game,) = json.loads(out)["games"]
    assert (game["result"], game["termination"], game["moves"]) == (None, "interrupted", ["e4-f4"])
    record = read_record(Path(game["log"]).read_bytes())
    assert (record.result, len(record.moves)) == (None, 1)


# -- the referee over real sockets: whole games, everybody else's worst clients, and the rules as it applies them


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
    with pytest.raises(FrameError):
        reader.take()
    reader = FrameReader()
    reader.feed(b"\0\0\0\2\xff\xff")
    with pytest.raises(FrameError):
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
) -> tuple[RefereedGame, str | None, str | None]:
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


def test_a_side_that_has_used_its_clock_loses() -> None:
    """White has five seconds, receives one more after each move, and takes two seconds for each move."""
    with served(control=TimeControl(5.0, 1.0)) as running:
        white, black = Raw(running.referee.address("w")), Raw(running.referee.address("b"))
        for move, reply in (("e4-f4", "d1-c1"), ("f4-g4", "c1-b1"), ("g4-h4", "b1-a1")):
            white.until_turn("w")
            time.sleep(0.05)  # the referee reads its clock after it has sent the state
            running.clock.now += 2
            white.move(move)
            black.until_turn("b")
            black.move(reply)
        white.until_turn("w")
        time.sleep(0.05)
        running.clock.now += 2.1
        assert running.join().verdict == ("timeout", "black")


class Watching:
    """Random player that records the clocks it is given. Its first move takes 50 ms."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self._player = make_player("random", BOLOGNA, PlayerOptions(seed=3))

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        self.seen.append(limits.clock)
        assert limits.movetime is not None
        assert limits.clock is not None
        assert 0 < limits.movetime <= limits.clock.left
        time.sleep(0.05 if len(self.seen) < 7 else 0)
        return self._player.choose(board, limits)


def test_our_client_counts_its_own_clock() -> None:
    control, player = TimeControl(PATIENCE, 0.01, 5), Watching()
    with served(control=control) as running:
        thread, found = in_thread(lambda: client(running, "b", seed=7, control=control))
        white = client(running, "w", player, control=control)
        thread.join(PATIENCE)
        game = running.join()
    assert game.verdict is not None
    assert white.result == found[0].result == game.verdict.result
    assert [clock.moves for clock in player.seen[:6]] == [5, 4, 3, 2, 1, 5]
    lefts = [clock.left for clock in player.seen]
    assert all(one - other > 0.03 for one, other in pairwise(lefts[:5]))
    assert lefts[5] > lefts[4] + PATIENCE / 2


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
        black = Raw(running.referee.address("b"), " ")
        eventually(lambda: any("black is" in line for line in running.told))  # and who came before has been let in
        running.clock.now += 6
        white = Raw(running.referee.address("w"), "The\nWhite One")
        white.until_turn("w")
        white.say("")
        assert white.end() == black.end() == "BLACKWIN"
        game = running.join()
        raw.socket.close()
    assert (game.white, game.black) == ("The White One", "BP")


def test_nobody_comes() -> None:
    with served() as running:
        Raw(running.referee.address("b"))
        eventually(lambda: running.told)
        running.clock.now += 6
        with pytest.raises(NoPlayersError, match=r"white"):
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
