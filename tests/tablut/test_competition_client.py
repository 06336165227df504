"""Our client against servers of every kind, over real sockets."""

import socket
import time
from collections.abc import Callable

import pytest

from tablut.board import Board
from tablut.errors import MachineError
from tablut.formats import bologna
from tablut.play.competition.wire import encode_frame
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search import SearchLimits
from tablut.position import Position
from tests.support.wire import BOLOGNA, START, against, receive, state


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
    "garbage": (lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request"), "no message of the protocol"),
    "half a state": (lambda connection: connection.sendall(state(START)[:-9]), "ended within a message"),
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
