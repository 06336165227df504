"""A player's connection as the referee holds it: nothing blocks, and nothing grows beyond a bound."""

from __future__ import annotations

import selectors
import socket
import time
from typing import TYPE_CHECKING, Final

from tablut.play.competition.frames import FrameReader, encode_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tablut.position import Side

__all__ = ["Connection", "say_goodbye"]

_PIECE: Final = 1 << 14
_MOST_UNSENT: Final = 1 << 16
"""Bytes that a player has not taken before it is given up; some forty states."""


class Connection:
    """A player that is connected.

    Parameters
    ----------
    sock : socket.socket
        As a listening socket accepted it.
    side : {'w', 'b'}
        The seat.

    Attributes
    ----------
    name : str or None
        What it calls itself; None before it said so.
    since : float
        When it came, by `time.monotonic`.
    gone : bool
        Nothing more comes from it, or it does not take what is sent.
    """

    def __init__(self, sock: socket.socket, side: Side) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = sock
        self.side = side
        self.name: str | None = None
        self.since = time.monotonic()
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
        """Yield the messages that are whole.

        Yields
        ------
        str
            Their text.

        Raises
        ------
        FrameError
            If what comes next is none.
        """
        while (text := self._frames.take()) is not None:
            yield text

    def send(self, text: str) -> None:
        """Send a message; what the player does not take yet waits.

        Parameters
        ----------
        text : str
            Any.
        """
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

    Parameters
    ----------
    connections : list of Connection
        All are closed on return.
    seconds : float
        How long this takes at most.
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
