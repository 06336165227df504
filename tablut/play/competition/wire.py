"""Messages as the competition sends them: four bytes of length, the highest first, then so many bytes of UTF-8.

Bytes come in as the network cuts them; a message is handed out once it is whole. What
the length claims is never believed beyond a bound, so nobody makes a reader hold more.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from tablut.errors import InputError

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


# -- a player's connection as the referee holds it: nothing grows beyond a bound -----------


_PIECE: Final = 1 << 14
_MOST_UNSENT: Final = 1 << 16
"""Bytes that a player has not taken before it is given up; some forty states."""


class Connection:
    """A player that is connected, since a time by its referee's clock."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, since: float) -> None:
        self.name: str | None = None
        self.since = since
        self._reader, self._writer = reader, writer  # the connection ends with its writer
        self._frames = FrameReader()

    async def receive(self) -> str | None:
        """Return the next message; None if the player has gone."""
        while (text := self._frames.take()) is None:
            if not await self._read():
                return None
        return text

    async def overhear(self) -> bool:
        """Take in what comes before the game; return True when it is too much, False when the player has gone."""
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
        """Send a message; what the player does not take yet waits."""
        if not self._writer.is_closing():
            self._writer.write(encode_frame(text))
            if self._writer.transport.get_write_buffer_size() > _MOST_UNSENT:
                self.close()

    def close(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()

    async def leave(self, seconds: float) -> None:
        """Have the last messages arrive, then close.

        A connection that is closed while something that came in is unread is reset, and the
        other end may lose what it has not read yet: the result of the game. So our side is
        closed first, and what still comes is thrown away until the other side closes, too.
        """
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(seconds):
                    self._writer.write_eof()
                    while await self._reader.read(_PIECE):
                        pass
        finally:
            self.close()
