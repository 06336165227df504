"""Both ends of a competition's wire: a client that obeys no rule, a referee in a thread, a server by script."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest

from tablut.formats import bologna
from tablut.formats.bologna import FrameReader, encode_frame
from tablut.play.competition import ClientSettings, Referee, RefereeSettings, ServerGame, play_on_server
from tablut.play.competition.referee import RefereedGame
from tablut.play.players import PlayerOptions, make_player
from tablut.position import Move, Position
from tablut.variants import load_variant
from tests.support.waiting import PATIENCE, Clock

BOLOGNA = load_variant("bologna")
START = BOLOGNA.start_position
Side = Literal["w", "b"]
OPEN: list[socket.socket] = []
"""Of clients by hand; closed with the referee that they play on."""


class Raw:
    """A client by hand: sends any bytes, reads any states."""

    def __init__(self, address: tuple[str, int], name: str | None = "Raw") -> None:
        self.socket = socket.create_connection(address, timeout=PATIENCE)
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
    """A referee in a thread of its own, as a user's is in a process of its own; its clock stands still."""

    def __init__(self, games: int = 1, **settings: Any) -> None:
        chosen = {"timeout": 5.0, "wait": 5.0, "port_white": 0, "port_black": 0} | settings
        self.told: list[str] = []
        self.clock = Clock()
        self.referee = Referee(BOLOGNA, RefereeSettings(**chosen), self.told.append)
        self.games: list[RefereedGame] = []
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._serve, args=(games,), daemon=True)

    def _serve(self, games: int) -> None:
        try:
            for number in range(games):
                self.games.append(self.referee.play(last=number == games - 1))
        except Exception as error:
            self.error = error

    def join(self) -> RefereedGame:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the referee hangs"
        if self.error is not None:
            raise self.error
        return self.games[-1]

    def start(self) -> None:
        self._thread.start()


@contextmanager
def served(games: int = 1, **settings: Any) -> Iterator[Served]:
    running = Served(games, **settings)
    with pytest.MonkeyPatch.context() as patch, running.referee:
        patch.setattr("tablut.play.competition.referee.time", running.clock)
        running.start()
        try:
            yield running
        finally:
            if not running.games:
                running._thread.join(PATIENCE)
            while OPEN:
                OPEN.pop().close()


def client(running: Served, role: Side, player: Any = "random", *, seed: int = 1, **settings: Any) -> ServerGame:
    host, port = running.referee.address(role)
    chosen = {"timeout": PATIENCE, "name": f"{player}"[:8]} | settings
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
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def receive(connection: socket.socket) -> str:
    reader = FrameReader()
    connection.settimeout(PATIENCE)
    while (text := reader.take()) is None:
        data = connection.recv(1)
        assert data
        reader.feed(data)
    return text


def state(position: str, turn: Any = None) -> bytes:
    return encode_frame(bologna.write_state(Position.parse(position, 9), turn))


def against(script: Callable[[socket.socket], object], player: Any = None, **settings: Any) -> ServerGame:
    with Server(script) as server:
        chosen = {"timeout": PATIENCE} | settings
        return play_on_server(
            player or make_player("random", BOLOGNA),
            BOLOGNA,
            ClientSettings("127.0.0.1", "w", port=server.port, **chosen),
        )
