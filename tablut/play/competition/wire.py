"""Messages as the competition sends them: four bytes of length, the highest first, then so many bytes of UTF-8.

Bytes come in as the network cuts them; a message is handed out once it is whole. What
the length claims is never believed beyond a bound, so nobody makes a reader hold more.
"""

from __future__ import annotations

import selectors
import socket
import time
from typing import TYPE_CHECKING, Final

from tablut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tablut.position import Side

MOST_BYTES: Final = 16 << 10
"""Most bytes of a message; the state of a board of side 11 has about 2,000."""

PORTS: Final = {"w": 5800, "b": 5801}
"""Where the server of the competition listens for each side."""

_PREFIX = 4


class FrameError(InputError):
    """Bytes that are no message; nothing after them can be read."""


def encode_frame(text: str) -> bytes:
    r"""Return a message as it goes over the wire."""
    body = text.encode()
    return len(body).to_bytes(_PREFIX, "big") + body


class FrameReader:
    r"""Takes bytes in any pieces and hands out whole messages."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._held = bytearray()

    def feed(self, data: bytes) -> None:
        """Take bytes in."""
        self._held += data

    @property
    def held(self) -> int:
        """How many bytes are held that no message was made of."""
        return len(self._held)

    @property
    def partial(self) -> bool:
        """Whether there are any."""
        return bool(self._held)

    def take(self) -> str | None:
        """Return the next message, or None before it is whole."""
        if len(self._held) < _PREFIX:
            return None
        length = int.from_bytes(self._held[:_PREFIX], "big")
        if length > self._most:
            raise FrameError(f"message of {length:,} bytes: at most {self._most:,} are read")
        end = _PREFIX + length
        if len(self._held) < end:
            return None
        body = bytes(self._held[_PREFIX:end])
        del self._held[:end]
        try:
            return body.decode()
        except UnicodeDecodeError as error:
            raise FrameError(f"message of {length:,} bytes: is not UTF-8") from error


# ------------------------------------------------------------------------------------------
# A player's connection as the referee holds it: nothing blocks, and nothing grows beyond a bound


_PIECE: Final = 1 << 14
_MOST_UNSENT: Final = 1 << 16
"""Bytes that a player has not taken before it is given up; some forty states."""


class Connection:
    """A player that is connected, since a time by its referee's clock."""

    def __init__(self, sock: socket.socket, side: Side, since: float) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = sock
        self.side = side
        self.name: str | None = None
        self.since = since
        self.gone = False
        self._broken = False
        self._frames = FrameReader()
        self._unsent = bytearray()

    @property
    def events(self) -> int:
        """What to wait for, in the terms of `selectors`."""
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)

    def read(self) -> None:
        """Take in what has arrived, a bounded piece of it; ``gone`` tells if that was the end."""
        try:
            data = self.socket.recv(_PIECE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self._frames.feed(data)
        else:
            self.gone = True

    def messages(self) -> Iterator[str]:
        """Yield the messages that are whole."""
        while (text := self._frames.take()) is not None:
            yield text

    def send(self, text: str) -> None:
        """Send a message; what the player does not take yet waits."""
        if not self._broken:
            self._unsent += encode_frame(text)
            self.flush()

    def flush(self) -> None:
        """Send what waits, as far as the player takes it."""
        try:
            while self._unsent:
                del self._unsent[: self.socket.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            if len(self._unsent) <= _MOST_UNSENT:
                return
            self._give_up()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        self.gone = self._broken = True
        self._unsent.clear()

    def talks_early(self) -> bool:
        """Return whether more has come in than a player has to say before the game."""
        return self._frames.held > _PIECE

    def flushed(self) -> bool:
        """Return whether nothing waits to be sent."""
        return not self._unsent

    def close(self) -> None:
        """Close the connection."""
        self.gone = True
        self.socket.close()

    def discard(self) -> bool:
        """Throw away what has arrived; return whether the other end has closed."""
        try:
            return not self.socket.recv(_PIECE)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True


def say_goodbye(connections: list[Connection], seconds: float) -> None:
    """Have the last messages arrive, then close.

    A connection that is closed while something that came in is unread is reset, and the
    other end may lose what it has not read yet: the result of the game. So our side is
    closed first, and what still comes is thrown away until the other side closes, too.
    """
    left = list(connections)
    until = time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        for connection in left:
            waiting.register(connection.socket, connection.events, connection)
        shut: set[Connection] = set()
        ended: set[Connection] = set()
        while left and (rest := until - time.monotonic()) > 0:
            for connection in [one for one in left if one.flushed()]:
                if connection not in shut and not _shut(connection):
                    ended.add(connection)
                shut.add(connection)
                if connection in ended:
                    waiting.unregister(connection.socket)
                    left.remove(connection)
            for key, events in waiting.select(min(rest, 0.2)) if left else ():
                connection = key.data
                if events & selectors.EVENT_WRITE:
                    connection.flush()
                if events & selectors.EVENT_READ and connection.discard():
                    ended.add(connection)
                wanted = connection.events & (selectors.EVENT_WRITE if connection in ended else ~0)
                if wanted:
                    waiting.modify(connection.socket, wanted, connection)
    for connection in connections:
        connection.close()


def _shut(connection: Connection) -> bool:
    """Say that nothing more comes from us; return whether the other end is still there."""
    try:
        connection.socket.shutdown(socket.SHUT_WR)
    except OSError:
        return False
    return True
