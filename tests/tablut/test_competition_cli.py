"""``tablut play --server`` and ``tablut referee`` as they are typed."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablut.cli.shell import run
from tablut.formats import bologna
from tablut.play.competition.wire import encode_frame
from tablut.position import Position
from tablut.records import read_record
from tests.support.waiting import PATIENCE
from tests.support.wire import START, receive, state

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


@pytest.fixture
def server():
    """Return a function that starts a server which does what a script says, and gives its port."""
    started: list[tuple[socket.socket, threading.Thread]] = []

    def serve(script: Callable[[socket.socket], object]) -> int:
        listener = socket.create_server(("127.0.0.1", 0))

        def work() -> None:
            connection, _ = listener.accept()
            with connection:
                receive(connection)
                script(connection)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        started.append((listener, thread))
        port: int = listener.getsockname()[1]
        return port

    yield serve
    for listener, thread in started:
        thread.join(PATIENCE)
        listener.close()


def play(port: int, *more: str) -> int:
    common = ["--server", "127.0.0.1", "--role", "White", "--timeout", f"{PATIENCE}", "--player", "random"]
    return run(["play", *common, "--port", str(port), *more])


def test_a_game_on_a_server(server: Any, capsys: Captured, tmp_path: Path) -> None:
    def script(connection: socket.socket) -> None:
        connection.sendall(state(START))
        move, _ = bologna.read_move(receive(connection))
        cells = list(Position.parse(START, 9).cells)
        cells[move.target], cells[move.start] = cells[move.start], "."
        connection.sendall(state(str(Position("".join(cells), "b")), "WHITEWIN"))

    assert play(server(script), "--json", "--save", str(tmp_path / "game.txt")) == 0
    captured = capsys.readouterr()
    body = json.loads(captured.out)
    assert captured.err == ""
    assert body.items() >= {"variant": "bologna", "result": "white", "side": "white", "termination": None}.items()
    assert len(body["moves"]) == 1
    record = read_record((tmp_path / "game.txt").read_text(encoding="utf-8"))
    assert (record.result, dict(record.tags)) == ("white", {"White": "tablut", "Black": "the opponent"})


def test_no_result_is_unknown_and_a_broken_line_the_machines_failure(server: Any, capsys: Captured) -> None:
    assert play(server(lambda connection: (connection.sendall(state(START)), receive(connection)))) == 3
    captured = capsys.readouterr()
    assert "result  unknown: the connection ended without one" in captured.out
    assert captured.err == ""
    assert play(server(lambda connection: (connection.sendall(state(START) + b"\0\0"), receive(connection)))) == 74
    captured = capsys.readouterr()
    assert "result  unknown" in captured.out
    assert captured.err.endswith("the connection ended within a message\n")
    assert captured.err.count("\n") == 1
    assert play(server(lambda connection: None)) == 74
    assert "before the game began" in capsys.readouterr().err


def test_an_interrupt_keeps_the_game_so_far(tmp_path: Path) -> None:
    ports = free_ports()
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{listening}; from tablut.cli import main; main()"
    options = ["--port-white", str(ports[0]), "--port-black", str(ports[1]), "--logs", str(tmp_path), "--json"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, "referee", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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
