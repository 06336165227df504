"""Server for the competition's protocol. It is based on asyncio streams and referees one game after another.

White connects to one port and black to another. Each player sends its name and then receives the state after every ply.
A player can end its game, but it can never stop the server, and both players receive the result. Players that connect
for a later game wait in the operating system's queue. During the last game, they are turned away.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from tablut.board import Board
from tablut.cli.streams import one_line
from tablut.errors import PORT, TIME, IllegalMoveError, InputError, TablutError, numbers_of, whole_number
from tablut.formats import bologna
from tablut.formats.bologna import PORTS, FrameError, LogWriter, Turn
from tablut.play.search.limits import RunningClock, TimeControl
from tablut.position import OTHER_SIDE, SIDE_NAMES, Move, Position, Side, square_name
from tablut.rules.outcome import GameResult
from tablut.variants import Variant, shipped_name
from tablut.work.files import check_output, child, write_text
from tablut.work.machine import listen
from tablut.work.one_caller import OneCaller

_GOODBYE: Final = 1.0
"""Time in seconds allowed for the players to read the result."""
_NOBODY: Final[dict[Side, str]] = {"w": "WP", "b": "BP"}
_SIDES: Final[tuple[Side, Side]] = ("w", "b")
_LONGEST_WAIT: Final = 0.5
_LAST_LOOK: Final = 0.05
"""Time in seconds allowed for reading a move that arrives just as the time limit expires. Such a move is in time."""

Seats: TypeAlias = "dict[Side, Connection]"


class NoPlayersError(TablutError):
    """Error raised if one or both players do not connect in time."""

    exit_code = 3


class RefereeSettings(NamedTuple):
    """Settings of a referee. Times are in seconds.

    - ``timeout``: Time limit for sending the name, and for a move unless there is a time control.
    - ``host``, ``port_white``, ``port_black``: Address to listen on, and a port for each side, or 0 for any free port.
    - ``wait``: Time to wait for both players of a game.
    - ``repeats``: Number of repetitions of a position before a draw, in addition to those that the variant allows.
    - ``errors``: Number of illegal moves that each player may make in a game without losing it.
    - ``logs``: Folder for the game logs, or None.
    - ``control``: Time control of a game, or None. The protocol cannot transmit it, so the players must know it.
    """

    timeout: float = 60.0
    host: str = "127.0.0.1"
    port_white: int = PORTS["w"]
    port_black: int = PORTS["b"]
    wait: float = 300.0
    repeats: int = 0
    errors: int = 0
    logs: Path | None = None
    control: TimeControl | None = None

    def checked(self) -> RefereeSettings:
        """Return the same settings, after checking them.

        Raises
        ------
        InputError
            If a setting is invalid.
        """
        if self.port_white == self.port_black != 0:
            raise InputError("is already used for white", subject=f"port {self.port_white}", remedy="change one")
        check_output(self.logs and self.logs / "log")
        times, ports = dict.fromkeys(("timeout", "wait"), TIME), dict.fromkeys(("port_white", "port_black"), PORT)
        return numbers_of(self, **times, **ports, repeats=whole_number, errors=whole_number)


class RefereedGame(NamedTuple):
    """Refereed game. The verdict is None if the game was interrupted."""

    white: str
    black: str
    verdict: Ruling | None
    moves: tuple[Move, ...]
    position: Position
    notes: tuple[str, ...]
    log: Path | None


class Referee(OneCaller):
    """Referee that listens on two ports and runs games of a ``variant``. It can be used as a context manager.

    ``settings`` contains addresses and times, and ``tell`` is called with a line of text about each event.

    Raises
    ------
    InputError
        If a setting is invalid, or if the address does not belong to this machine.
    MachineError
        If a port is already in use.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> with Referee(load_variant("bologna"), RefereeSettings(port_white=0, port_black=0)) as referee:
    ...     host, port = referee.address("w")
    >>> host, port > 0
    ('127.0.0.1', True)
    """

    def __init__(
        self,
        variant: Variant,
        settings: RefereeSettings | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._variant = variant
        self._settings = settings = (settings or RefereeSettings()).checked()
        self._tell = tell
        self._runner = asyncio.Runner()
        self._listeners: dict[Side, socket.socket] = {}
        self.match: Match | None = None
        try:
            self._listeners["w"] = listen(settings.host, settings.port_white)
            self._listeners["b"] = listen(settings.host, settings.port_black)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Referee:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._runner.close()
        for listener in self._listeners.values():
            listener.close()

    def address(self, side: Side) -> tuple[str, int]:
        """Return the host and the port that a ``side`` connects to."""
        host, port, *_ = self._listeners[side].getsockname()
        return str(host), int(port)

    def play(self, *, last: bool = True) -> RefereedGame:
        """Wait for two players, referee one game, and return it.

        After the ``last`` game, further players are turned away instead of waiting.

        Raises
        ------
        NoPlayersError
            If the players do not connect in time.
        OutputError
            If the log cannot be written.
        """
        return self._runner.run(self._play(last))

    async def _play(self, last: bool) -> RefereedGame:
        self.match = None
        seats = await self._gather()
        try:
            names = {side: seats[side].name or _NOBODY[side] for side in _SIDES}
            self.match = match = Match(
                self._variant, names, repeats=self._settings.repeats, errors=self._settings.errors
            )
            self._tell(f"{names['w']} (white) against {names['b']} (black)")
            await self._run(match, seats, last)
            return self.game()
        finally:
            await asyncio.gather(*(connection.leave(_GOODBYE) for connection in seats.values()))

    def game(self) -> RefereedGame:
        """Return the current or last game, and write its log if a folder for logs is set."""
        match = self.match
        assert match is not None, "no game was begun"
        board = match.board
        moves = tuple(board.move_stack)
        log = self._write_log(match)
        return RefereedGame(
            match.names["w"], match.names["b"], match.verdict, moves, board.position, tuple(match.notes), log
        )

    # -- connecting --------------------------------------------------------------------

    async def _accept(self, side: Side) -> Connection:
        """Return the next connection from the operating system's queue."""
        sock, _ = await asyncio.get_running_loop().sock_accept(self._listeners[side])
        return Connection(*await asyncio.open_connection(sock=sock), time.monotonic())

    async def _gather(self) -> Seats:
        """Return the connections of both players after they have sent their names."""
        seats: Seats = {}
        until = time.monotonic() + self._settings.wait
        try:
            async with _beside(*(self._seat(seats, side) for side in _SIDES)):
                while any(side not in seats or seats[side].name is None for side in _SIDES):
                    now = time.monotonic()
                    if now >= until:
                        missing = " and ".join(SIDE_NAMES[side] for side in _SIDES if side not in seats)
                        raise NoPlayersError(f"{missing or 'a player'} did not join within {self._settings.wait:g} s")
                    for side, connection in list(seats.items()):
                        if connection.name is None and now > connection.since + self._settings.timeout:
                            self._turn_away(seats, side, "did not send its name in time")
                    await asyncio.sleep(_LAST_LOOK)
        except BaseException:
            for connection in seats.values():
                connection.close()
            raise
        return seats

    async def _seat(self, seats: Seats, side: Side) -> None:
        """Assign a side's seat to one player after another. The next player waits until the current one has left."""
        while True:
            connection = seats[side] = await self._accept(side)
            try:
                if (text := await connection.receive()) is not None:
                    connection.name = bologna.read_name(text) or _NOBODY[side]
                    self._tell(f"{SIDE_NAMES[side]} is {connection.name}")
                early = text is not None and await connection.overhear()
                reason = "sent a move before the game began" if early else "left before the game began"
            except InputError as error:
                reason = str(error)
            if seats.get(side) is connection:
                self._turn_away(seats, side, reason)

    def _turn_away(self, seats: Seats, side: Side, reason: str) -> None:
        """Close a connection before the game begins, and free the seat."""
        self._tell(f"{SIDE_NAMES[side]}: rejected: {reason}")
        seats.pop(side).close()

    async def _refuse(self, side: Side) -> None:
        """Turn away all further players that connect to a side's port."""
        while True:
            connection = await self._accept(side)
            self._tell(f"{SIDE_NAMES[side]}: a second player was rejected, because the seat is taken")
            await connection.leave(_GOODBYE)

    # -- the game ----------------------------------------------------------------------

    async def _run(self, match: Match, seats: Seats, last: bool) -> None:
        # The queue has space for a single message, so that a player that sends more has to wait.
        inbox: asyncio.Queue[tuple[Side, str | FrameError | None]] = asyncio.Queue(1)
        tasks = [_listen_to(connection, side, inbox) for side, connection in seats.items()]
        async with _beside(*tasks, *(self._refuse(side) for side in _SIDES if last)):
            self._send(match, seats)
            control = self._settings.control
            clocks = {} if control is None else {side: RunningClock(control) for side in _SIDES}
            began = time.monotonic()
            while match.verdict is None:
                ply, clock = match.board.ply, clocks.get(match.to_move)
                left = began + (self._settings.timeout if clock is None else clock.left) - time.monotonic()
                try:
                    # Read messages before checking the clock, because a move that has arrived is in time.
                    async with asyncio.timeout(min(max(left, _LAST_LOOK), _LONGEST_WAIT)):
                        side, message = await inbox.get()
                except TimeoutError:
                    pass
                else:
                    self._take(match, seats, side, message)
                if match.board.ply != ply:
                    now = time.monotonic()
                    if clock is not None:
                        clock.press(now - began)
                    began = now
                elif left <= 0:
                    match.lose(match.to_move, "timeout")
            self._send(match, seats)
            self._tell_end(match)

    def _take(self, match: Match, seats: Seats, side: Side, message: str | FrameError | None) -> None:
        """Process a message or a player's disconnection, and send the resulting state."""
        to_move, ply = match.to_move, match.board.ply
        if message is None:
            match.lose(side, "disconnected")
        elif isinstance(message, FrameError):
            match.lose(side, "malformed", str(message))
        else:
            match.receive(side, message)
        if match.board.ply != ply:
            self._tell(f"{match.board.ply}. {SIDE_NAMES[to_move]} {match.board.peek()}")
        if match.verdict is None:  # the last state is sent by `_run`
            if match.board.ply != ply:
                self._send(match, seats)
            elif side == to_move:
                seats[side].send(match.state)  # the move was refused, but the player may try again

    def _send(self, match: Match, seats: Seats) -> None:
        for connection in seats.values():
            connection.send(match.state)

    def _tell_end(self, match: Match) -> None:
        assert match.verdict is not None
        for note in match.notes:
            self._tell(note)
        self._tell(f"{match.turn} ({match.verdict.termination.replace('_', ' ')}) after {match.board.ply} plies")

    def _write_log(self, match: Match) -> Path | None:
        folder = self._settings.logs
        if folder is None:
            return None
        text = match.log.text()
        names = [name if name.isascii() else "player" for name in match.logged]
        number = time.time_ns() // 1_000_000
        while (path := child(folder, f"{number}_{names[0]}_vs_{names[1]}_gameLog.txt", "log")).exists():
            number += 1
        write_text(path, text)
        return path


# -- connection to a player, with a limit on the size of every buffer ----------------------


_PIECE: Final = 1 << 14
_MOST_UNSENT: Final = 1 << 16
"""Maximum number of unsent bytes (about forty states). A player with more unread bytes is disconnected."""


class Connection:
    """Connection to a player. ``since`` is the time on the referee's clock when the player connected."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, since: float) -> None:
        self.name: str | None = None
        self.since = since
        self._reader, self._writer = reader, writer  # the connection is closed when its writer is deleted
        self._frames = bologna.FrameReader()

    async def receive(self) -> str | None:
        """Return the next message, or None if the player has disconnected."""
        while (text := self._frames.take()) is None:
            if not await self._read():
                return None
        return text

    async def overhear(self) -> bool:
        """Read the input that arrives before the game begins.

        Return True if there is too much of it, and False if the player disconnects.
        """
        while self._frames.held <= _PIECE:
            if not await self._read():
                return False
        return True

    async def _read(self) -> bool:
        try:
            data = await self._reader.read(_PIECE)
        except OSError:
            return False
        self._frames.feed(data)
        return bool(data)

    def send(self, text: str) -> None:
        """Send a message, which is buffered until the player reads it."""
        if not self._writer.is_closing():
            self._writer.write(bologna.encode_frame(text))
            if self._writer.transport.get_write_buffer_size() > _MOST_UNSENT:
                self.close()

    def close(self) -> None:
        """Close the connection immediately."""
        self._writer.transport.abort()

    async def leave(self, seconds: float) -> None:
        """Close the connection after the last messages have arrived, or after the given time in seconds.

        Closing a connection that has unread input resets it, and the other end may lose the result. Therefore only the
        sending direction is closed first, and input is discarded until the other end closes the connection too.
        """
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(seconds):
                    self._writer.write_eof()
                    while await self._reader.read(_PIECE):
                        pass
        finally:
            self.close()


@asynccontextmanager
async def _beside(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run coroutines concurrently with the body of the context, and cancel them when it ends."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _listen_to(
    connection: Connection, side: Side, inbox: asyncio.Queue[tuple[Side, str | FrameError | None]]
) -> None:
    """Put a player's messages into the inbox, followed by None for a disconnection or by the error that occurred."""
    text: str | None = ""
    while text is not None:
        try:
            text = await connection.receive()
        except FrameError as error:
            await inbox.put((side, error))
            return
        await inbox.put((side, text))


# ------------------------------------------------------------------------------------------
# The referee's state of a game, without sockets: the effect of each message, and how the game ends


# An illegal move is an error, and so is a message from the player that is not to move. A player that makes more errors
# than allowed loses. A player that sends an invalid message, exceeds its time or disconnects loses immediately. The
# rules of the variant decide everything else, such as the result if a side has no legal move or a position recurs too
# often.


ENDS: Final = {
    "timeout": "did not move in time",
    "illegal_move": "made an illegal move",
    "malformed": "sent an invalid message",
    "disconnected": "left the game",
}
"""Terminations that are caused by a player and not defined by the rules, described for users."""


class Ruling(NamedTuple):
    """Verdict at the end of a game: the termination and the result."""

    termination: str
    result: GameResult


class Match:
    """Game that is being refereed. `receive` processes a player's message, and `state` is the state to send."""

    def __init__(
        self,
        variant: Variant,
        names: dict[Side, str],
        *,
        repeats: int = 0,
        errors: int = 0,
        start: Position | None = None,
    ) -> None:
        rules = variant.rules
        if rules.repetition.result == "draw":
            later = rules.repetition.model_copy(update={"times": rules.repetition.times + repeats})
            rules = rules.model_copy(update={"repetition": later})
        self.variant = variant
        self.board = Board(replace(variant, rules=rules), start)
        self.names = names
        self.verdict: Ruling | None = None
        self.notes: list[str] = []
        self._allowed = errors
        self._errors: Counter[Side] = Counter()
        game = "AshtonTablut" if shipped_name(variant) == "bologna" else re.sub(r"\W", "", variant.name).capitalize()
        self.log = LogWriter(game or "Own")
        white, black = self.logged = [bologna.short_name(names[side]) or _NOBODY[side] for side in _SIDES]
        self.log.begin(white, black, self.board.position, repeats)
        self._judge()

    @property
    def to_move(self) -> Side:
        """Side to move."""
        return self.board.position.side

    @property
    def turn(self) -> Turn:
        """Turn field of the state: the side to move or the game result."""
        if self.verdict is not None:
            return bologna.final_turn(self.verdict.result)
        return "WHITE" if self.to_move == "w" else "BLACK"

    @property
    def state(self) -> str:
        """State of the game in the form sent to the players."""
        return bologna.write_state(self.board.position, self.turn)

    def receive(self, side: Side, text: str) -> None:
        """Process a message from a player."""
        if self.verdict is not None:
            return
        try:
            move, claimed = bologna.read_move(text, self.board.size)
        except InputError as error:
            self.lose(side, "malformed", str(error))
            return
        if side != self.to_move:
            self._error(side, "moved although it was not its turn")
            return
        if claimed not in (None, side):
            # A wrong label is only noted, because the competition's server also ignores this field.
            self._note(f"{SIDE_NAMES[side]} labelled its move as a move of {SIDE_NAMES[OTHER_SIDE[side]]}")
        try:
            self.board.push(move)
        except IllegalMoveError as error:
            reason = one_line(str(error).rpartition(": ")[2], 200)
            size = self.board.size
            self.log.refused(side, square_name(move.start, size), square_name(move.target, size), reason)
            self._error(side, f"{move}: {reason}")
            return
        self._judge()
        self.log.played(side, move, self.board.captured(), self.board.position, self.turn)

    def _judge(self) -> None:
        """Set the verdict if the rules end the game in the current position."""
        outcome = self.board.outcome()
        if outcome is not None:
            self.verdict = Ruling(outcome.termination, outcome.winner or "draw")

    def _error(self, side: Side, reason: str) -> None:
        self._errors[side] += 1
        if self._errors[side] > self._allowed:
            self.lose(side, "illegal_move", reason)
        else:
            self._note(f"{SIDE_NAMES[side]} {reason} (error {self._errors[side]} of {self._allowed} allowed)")

    def lose(self, side: Side, termination: str, reason: str = "") -> None:
        """End the game as a loss for a side. The termination is one of `ENDS`."""
        if self.verdict is not None:
            return
        self.verdict = Ruling(termination, SIDE_NAMES[OTHER_SIDE[side]])
        fault = f"{SIDE_NAMES[side]} {ENDS[termination]}"
        # Do not copy a player's text into the log, where a reader could mistake it for the server's own lines.
        self._note(fault + (f": {reason}" if reason else ""), fault)
        self.log.state(self.board.position, self.turn)

    def _note(self, text: str, logged: str | None = None) -> None:
        line = one_line(text, 300)
        self.notes.append(line)
        self.log.say("checkMove", logged or line, "WARNING")
