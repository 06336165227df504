"""Client that plays one game on a competition server.

The server decides all questions about the rules, and the client plays in any position that it receives. Because
repetition counts, the client keeps the game history as long as each state follows from the previous state by a legal
move; otherwise a new history starts. The clock starts with the first byte of the state, and a move is sent in time
whatever the player does. If the server closes the connection without a result, the result is unknown.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from tablut.board import Board
from tablut.cli.streams import one_line
from tablut.errors import PORT, TIME, InputError, MachineError, numbers_of, real_number
from tablut.formats import bologna
from tablut.formats.bologna import PORTS, BolognaState, FrameReader, encode_frame
from tablut.play.players import Choice, Player
from tablut.play.search.limits import RunningClock, SearchLimits, TimeControl, format_score
from tablut.position import OTHER_SIDE, Move, Position, Side
from tablut.rules.outcome import GameResult
from tablut.variants import Variant
from tablut.work.files import excerpt
from tablut.work.machine import check_host

_FIRST_STATE: Final = 900.0
"""Time in seconds to wait for the first state. The competition's server waits 300 s for each player."""
_SILENCE: Final = 60.0
"""Time in seconds, in addition to the opponent's time, after which a silent server is considered to have failed."""
_RETRY: Final = 0.2


class ClientSettings(NamedTuple):
    """Settings for a game on a server. Times are in seconds.

    - ``host``, ``port``: Address of the server, and its port, by default the one that the competition uses for the
      role.
    - ``role``, ``name``: Side to play, ``w`` or ``b``, and name of the player on the server.
    - ``timeout``: Server's time limit for a move.
    - ``wait``: Time during which refused connections are retried.
    - ``limits``: Further limits on each move of the player.
    - ``control``: Server's time control, which replaces the time limit for a move. The client measures its own time.
    """

    host: str
    role: Side
    timeout: float
    port: int | None = None
    name: str = "tablut"
    wait: float = 0.0
    limits: SearchLimits = SearchLimits()
    control: TimeControl | None = None

    def checked(self) -> ClientSettings:
        """Return the same settings, after checking them.

        Raises
        ------
        InputError
            If a setting is invalid.
        """
        check_host(self.host, "server")
        if not self.name or len(self.name) > 100:
            raise InputError("expected 1 to 100 characters", parameter="name", value=excerpt(self.name))
        return numbers_of(self, timeout=TIME, port=partial(PORT, least=1), wait=real_number)


class ServerGame(NamedTuple):
    """Game on a server, as seen by the client.

    - ``board``: Board with the moves of both sides, since the last state that no legal move could reach.
    - ``result``: Result sent by the server, or None if it closed the connection without one.
    - ``problem``: Description of the network or server failure that ended the game, or None.
    - ``interrupted``: Whether the user interrupted the game.
    """

    board: Board
    result: GameResult | None
    problem: str | None
    interrupted: bool = False


class _ServerFailure(Exception):  # noqa: N818
    """Error raised for a network failure or an invalid state sent by the server."""


class _Line:
    """Connection to the server."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._frames = FrameReader()
        # Arrival times of the first byte that is not yet part of a returned message, and of the last byte.
        self._began = self._last = 0.0

    def send(self, text: str) -> None:
        try:
            self._socket.settimeout(_SILENCE)
            self._socket.sendall(encode_frame(text))
        except OSError as error:
            raise _ServerFailure(f"the connection was lost ({error.strerror or error})") from error

    def receive(self, seconds: float) -> tuple[str, float] | None:
        """Return a message and the arrival time of its first byte, or None if the connection has ended."""
        until = time.monotonic() + seconds
        while True:
            began = self._began
            text = self._take()
            if text is not None:
                return text, began
            data = self._read(until, seconds)
            if not data:
                if self._frames.partial:
                    raise _ServerFailure("the connection ended in the middle of a message")
                return None
            self._last = time.monotonic()
            if not self._frames.partial:
                self._began = self._last
            self._frames.feed(data)

    def waiting(self) -> bool:
        """Return whether further bytes have arrived, without waiting for them."""
        self._socket.settimeout(0)
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except OSError:
            # Nothing has arrived, or the connection is broken. In the latter case, the next read reports it.
            return False

    def _take(self) -> str | None:
        try:
            text = self._frames.take()
        except InputError as error:
            raise _ServerFailure(f"sent an invalid message: {error}") from error
        if text is not None:
            self._began = self._last
        return text

    def _read(self, until: float, seconds: float) -> bytes:
        try:
            self._socket.settimeout(max(until - time.monotonic(), 0.001))
            return self._socket.recv(1 << 16)
        except TimeoutError as error:
            raise _ServerFailure(f"sent nothing for {seconds:.0f} s") from error
        except OSError as error:
            raise _ServerFailure(f"the connection was lost ({error.strerror or error})") from error


def play_on_server(
    player: Player | Thinker,
    variant: Variant,
    settings: ClientSettings,
    tell: Callable[[str], None] = lambda _: None,
    complain: Callable[[str], None] | None = None,
) -> ServerGame:
    """Play one game on a server, and return its moves and its result.

    The ``player`` plays the ``variant`` and must be ready, since the clock may start immediately. For several games,
    pass a `Thinker`. ``settings`` contains the server and the side. ``tell`` is called with a line about each move, and
    ``complain`` with a line about each irregularity.

    Raises
    ------
    InputError
        If a setting is invalid.
    MachineError
        If the server cannot be reached, or the connection fails before the first state.
    """
    settings = settings.checked()
    where = f"server {settings.host}:{settings.port or PORTS[settings.role]}"
    thinker = player if isinstance(player, Thinker) else Thinker(player)
    game = _ClientGame(thinker, variant, settings, tell, complain or tell)
    with _connected(settings, where) as connection:
        line = _Line(connection)
        problem, interrupted = None, False
        try:
            line.send(bologna.write_name(settings.name))
            tell(f"connected to {where}; waiting for the game to begin")
            game.play(line)
        except _ServerFailure as failure:
            problem = f"{where}: {failure}"
        except KeyboardInterrupt:
            if game.record is None:
                raise
            interrupted = True
    if game.record is None:
        raise MachineError(problem or f"{where}: closed the connection before the game began; is the seat taken?")
    return ServerGame(game.record, game.result, problem, interrupted)


def _connected(settings: ClientSettings, where: str) -> socket.socket:
    until = time.monotonic() + settings.wait
    while True:
        try:
            address = (settings.host, settings.port or PORTS[settings.role])
            connection = socket.create_connection(address, timeout=max(10.0, settings.wait))
        except socket.gaierror as error:
            if error.errno == socket.EAI_NONAME:
                raise InputError("does not exist", subject=where) from error
            raise MachineError(f"cannot be found ({error.strerror})", subject=where) from error
        except ConnectionRefusedError as error:
            if time.monotonic() < until:
                time.sleep(_RETRY)
                continue
            raise MachineError(
                "refuses the connection", subject=where, remedy="start the server first, or wait longer for it to start"
            ) from error
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise MachineError(f"cannot be reached ({reason})", subject=where) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection


class _ClientGame:
    """A game's state in the client."""

    def __init__(
        self,
        thinker: Thinker,
        variant: Variant,
        settings: ClientSettings,
        tell: Callable[[str], None],
        complain: Callable[[str], None],
    ) -> None:
        # There are two boards: the game as played (`record`), and the board that the player receives (`view`). The
        # latter has a shorter history if the server continued a game that is over under the client's rules.
        self.record: Board | None = None
        self.view: Board | None = None
        self.result: GameResult | None = None
        self._thinker = thinker
        self._variant = variant
        self._settings = settings
        self._tell, self._complain = tell, complain
        # The last move sent, and the moves that the server refused in this position.
        self._answered: Move | None = None
        self._refused: set[Move] = set()
        self._clock = None if settings.control is None else RunningClock(settings.control)
        self._used = 0.0
        """Time in seconds used so far for the current move, including the time for moves that the server refused."""

    def play(self, line: _Line) -> None:
        """Play until the server sends the result or closes the connection."""
        while self.result is None:
            message = line.receive(self._patience())
            if message is None:
                return
            text, began = message
            side = self._take(text)
            # If another state has already arrived, this state needs no move.
            if side == self._settings.role and not line.waiting():
                self._answer(line, began)

    def _patience(self) -> float:
        """Return the time in seconds to wait for the next state."""
        control, record = self._settings.control, self.record
        if record is None:
            return _FIRST_STATE
        most = self._settings.timeout
        if control is not None:  # the opponent may not have used any of its time yet
            times = 1 if control.moves is None else 1 + record.ply // control.moves
            most = control.base * times + control.increment * record.ply
        return 2 * most + _SILENCE

    def _take(self, text: str) -> Side | None:
        """Process a state, and return the side to move, or None when the game has ended."""
        try:
            state = bologna.read_state(text)
            if state.size != self._variant.size:
                size = self._variant.size
                raise InputError(f"its board has side {state.size}, but {self._variant.name} has side {size}")
            self._follow(state)
        except InputError as error:
            raise _ServerFailure(f"sent a state that cannot be played: {one_line(str(error), 300)}") from error
        self.result = state.result
        return state.side

    def _follow(self, state: BolognaState) -> None:
        """Update the boards to match a state. If a legal move leads to it from the previous state, make that move."""
        record, view = self.record, self.view
        if record is None or view is None:
            self._begin_at(state, "w")
            return
        now = record.position
        if now.cells == state.cells and state.side in (None, now.side):
            if state.side is not None and self._answered is not None:
                self._refused.add(self._answered)
                self._complain(f"the server refused {self._answered}")
            self._answered = None
            return
        self._answered = None
        self._refused = set()
        if self._clock is not None and now.side == self._settings.role:
            self._clock.press(self._used)
            self._used = 0.0
        move = _move_to(view, state)
        if move is None:
            self._complain("no legal move leads from the previous state to this one; continuing from here")
            self._begin_at(state, OTHER_SIDE[now.side])
            return
        self._tell(f"{view.turn} {move}")
        record.push(move)
        view.push(move)
        if state.side is not None and view.outcome() is not None:
            self.view = Board(self._variant, state.position())

    def _begin_at(self, state: BolognaState, side: Side) -> None:
        """Start a new history with a state. ``side`` is the side to move if the state ends the game."""
        board = Board(self._variant, state.position(side))
        if state.side is not None:
            board.outcome()  # reject invalid positions, except at the end of a game, where the king may be missing
        self.record, self.view = board, board.copy()

    def _answer(self, line: _Line, began: float) -> None:
        assert self.view is not None
        over = self.view.outcome()
        if over is not None:
            # The competition's server does not notice that a side has no moves. It waits until this side's time runs
            # out.
            self._complain(f"no legal move is left ({over.how}); the server has to end the game")
            return
        clock = self._clock
        timeout = self._settings.timeout if clock is None else max(clock.left - self._used, 0.0)
        spent = time.monotonic() - began
        margin = move_margin(timeout)
        seconds = max(timeout - margin - spent, timeout / 100)
        # Half of the margin is reserved in case the player exceeds its time.
        patience = max(timeout - margin / 2 - spent, seconds)
        limits = self._settings.limits._replace(movetime=seconds)
        if clock is not None:
            limits = limits.on_clock(clock.reading()._replace(left=seconds))
        sent = self._thinker.choose(self.view, limits, patience, self._refused)
        line.send(bologna.write_move(sent.move, self._settings.role))
        self._answered = sent.move
        self._used += time.monotonic() - began
        (self._tell if sent.trouble is None else self._complain)(_summary(sent, time.monotonic() - began))


def _move_to(board: Board, state: BolognaState) -> Move | None:
    """Return the legal move that leads to a state, or None if no legal move does."""
    lenient, cells = None, board.position.cells
    for move in list(board.legal_moves):
        if state.cells[move.start] != "." or state.cells[move.target] not in (cells[move.start], "."):
            continue
        board.push(move)
        reached = board.position
        board.pop()
        if state.side not in (None, reached.side):
            continue
        if reached.cells == state.cells:
            return move
        # The protocol does not specify whether a captured king stays on the board.
        if state.result == "black" and reached.cells.replace("K", ".") == state.cells:
            lenient = move
    return lenient


def _summary(sent: SentMove, seconds: float) -> str:
    if sent.choice is None:
        return f"sent {sent.move} after {seconds:.2f} s: {sent.trouble}"
    choice = sent.choice
    parts = [format_score(choice.score, choice.mate, choice.points), f"depth {choice.depth}" if choice.depth else ""]
    return ", ".join([f"sent {sent.move} after {seconds:.2f} s", *filter(None, parts)])


# -- moves within the server's time, whatever the player does ------------------------------


# The player runs in a separate thread, and its time limit leaves a margin. If the player exceeds the limit, fails, or
# returns an illegal move, a fallback move is sent instead, and this is reported. If possible, the fallback move wins
# immediately by an escape or a capture of the king. Otherwise, it is the first legal move that neither ends the game
# nor repeats a position. If the player is still working on an earlier position when the next move is due, it is called
# again as soon as it has finished, because a player serves one call at a time. It then has the rest of the time.


def move_margin(timeout: float) -> float:
    """Return the margin in seconds: the part of the server's time for a move that the client leaves unused.

    The margin is 0.1 s plus a tenth of the time, but at most 2 s and at most half of the time.
    """
    return min(0.1 + timeout / 10, 2, timeout / 2)


def plain_move(board: Board, unwanted: Collection[Move] = ()) -> Move:
    """Return a legal move without searching.

    It is an immediate win if one is found, and otherwise the first move after which the game continues with a new
    position, a repetition, a draw or a loss, in this order.
    """
    moves = list(board.legal_moves)
    moves = [move for move in moves if move not in unwanted] or moves
    side, king = board.turn, board.king()

    def _worth(move: Move) -> int:
        board.push(move)
        outcome, repeats = board.outcome(), board.is_repetition()
        board.pop()
        return 3 - repeats if outcome is None else {side: 4, None: 1}.get(outcome.winner, 0)

    # Nearly every winning move is made by the king or ends next to the king. Trying all moves would take too long.
    for move in moves:
        near = move.start == king if side == "white" else king is not None and _adjacent(move.target, king, board.size)
        if near and _worth(move) == 4:
            return move
    return next((move for move in moves if _worth(move) >= 3), None) or max(moves, key=_worth)


def _adjacent(one: int, other: int, size: int) -> bool:
    return abs(one // size - other // size) + abs(one % size - other % size) == 1


class SentMove(NamedTuple):
    """Move to send. It comes with the player's choice or, if it is a fallback move, with the reason."""

    move: Move
    choice: Choice | None
    trouble: str | None


class Thinker:
    """Wrapper around a player that guarantees a legal move within a given time."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._thread: threading.Thread | None = None
        # Another move can be sent while the player, such as an external program, is still searching.
        getattr(player, "be_patient", lambda: None)()

    def choose(self, board: Board, limits: SearchLimits, patience: float, unwanted: Collection[Move] = ()) -> SentMove:
        """Return the player's move, or a fallback move if there is no usable move within ``patience`` seconds.

        A player that is still searching an earlier position gets the time that is left when it has finished, and no
        clock.
        """
        until = time.monotonic() + patience
        spare = plain_move(board.copy(), unwanted)
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(max(until - time.monotonic(), 0.0))
            if self._thread.is_alive():
                return SentMove(spare, None, "the player was still searching an earlier position")
            left = (limits.movetime or patience) - (patience - (until - time.monotonic()))
            limits = limits._replace(movetime=max(left, 0.01), clock=None)
        found: list[Choice] = []
        failed: list[Exception] = []

        def _think(position: Board) -> None:
            try:
                found.append(self._player.choose(position, limits))
            except Exception as error:
                # The error is reported below. A single failure of the player must not lose the game.
                failed.append(error)

        self._thread = threading.Thread(target=_think, args=(board.copy(),), daemon=True, name="player")
        self._thread.start()
        self._thread.join(max(until - time.monotonic(), 0.0))
        if failed:
            return SentMove(spare, None, f"the player failed ({type(failed[0]).__name__}: {failed[0]})")
        if not found:
            return SentMove(spare, None, "the player did not choose a move in time")
        if found[0].move not in board.legal_moves:
            return SentMove(spare, None, f"the player chose {found[0].move}, which is not legal")
        if found[0].move in unwanted:
            return SentMove(spare, None, f"the server has already refused {found[0].move}")
        return SentMove(found[0].move, found[0], None)


# -- trial of a start script -----------------------------------------------------------------


def try_script(script: str, variant: Variant) -> None:
    """Run a player's start script on a server in this process until it makes a move. Raise `InputError` if it fails."""
    board = Board(variant)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_receive_move, args=(listener, board.position), daemon=True).start()
        more = [board.turn, "2", "127.0.0.1", "--port", str(listener.getsockname()[1])]
        environment = {**os.environ, "PATH": os.defpath, "PYTHONPATH": ""}
        line = ["/bin/sh", "-c", script, "script", *more]
        done = subprocess.run(line, cwd="/", env=environment, input="", capture_output=True, text=True, check=False)
    if done.returncode:
        reason = one_line(" ".join(done.stderr.splitlines()[-1:]))
        raise InputError(f"failed in a trial: {reason}", subject="start script for this player")


def _receive_move(listener: socket.socket, position: Position) -> None:
    """Serve one client until it has sent its name and a move. Then end the game as a draw."""
    with suppress(OSError, _ServerFailure), listener.accept()[0] as connection:
        line = _Line(connection)
        line.send(bologna.write_state(position))
        for _ in range(2):
            line.receive(_FIRST_STATE)
        line.send(bologna.write_state(position, "DRAW"))
