"""Messages of the competition's protocol: a length of four bytes, big-endian, followed by that many bytes of UTF-8.

A message is returned when all of its bytes have arrived. Messages that exceed a limit are refused, so that a sender
cannot exhaust the memory of the reader.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from tablut.errors import InputError

MOST_BYTES: Final = 16 << 10
"""Maximum size of a message in bytes. For comparison, the state of an 11×11 board has about 2,000."""

PORTS: Final = {"w": 5800, "b": 5801}
"""Ports of the competition's server for each side."""

_PREFIX = 4


class FrameError(InputError):
    """Received bytes are not a valid message. Nothing after them can be read."""


def encode_frame(text: str) -> bytes:
    r"""Return a message as bytes, preceded by its length."""
    body = text.encode()
    return len(body).to_bytes(_PREFIX, "big") + body


class FrameReader:
    r"""Decoder that takes bytes in pieces of any size and returns complete messages."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._held = bytearray()

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._held += data

    @property
    def held(self) -> int:
        """Number of bytes that have not been returned in a message yet."""
        return len(self._held)

    @property
    def partial(self) -> bool:
        """Whether there are such bytes."""
        return bool(self._held)

    def take(self) -> str | None:
        """Return the next message, or None if it is not complete yet."""
        if len(self._held) < _PREFIX:
            return None
        length = int.from_bytes(self._held[:_PREFIX], "big")
        if length > self._most:
            raise FrameError(f"message of {length:,} bytes: the limit is {self._most:,}")
        end = _PREFIX + length
        if len(self._held) < end:
            return None
        body = bytes(self._held[_PREFIX:end])
        del self._held[:end]
        try:
            return body.decode()
        except UnicodeDecodeError as error:
            raise FrameError(f"message of {length:,} bytes: is not UTF-8") from error


# -- the referee's connection to a player; all buffers are limited -------------------------


_PIECE: Final = 1 << 14
_MOST_UNSENT: Final = 1 << 16
"""Number of unsent bytes (about forty states) at which the connection is closed because the player does not read."""


class Connection:
    """Connection to a player. ``since`` is the time, by the referee's clock, at which the player connected."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, since: float) -> None:
        self.name: str | None = None
        self.since = since
        self._reader, self._writer = reader, writer  # the connection ends with its writer
        self._frames = FrameReader()

    async def receive(self) -> str | None:
        """Return the next message, or None if the player has disconnected."""
        while (text := self._frames.take()) is None:
            if not await self._read():
                return None
        return text

    async def overhear(self) -> bool:
        """Read input that arrives before the game. Return True if it is too much, False when the player disconnects."""
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
            self._writer.write(encode_frame(text))
            if self._writer.transport.get_write_buffer_size() > _MOST_UNSENT:
                self.close()

    def close(self) -> None:
        """Close the connection immediately."""
        self._writer.transport.abort()

    async def leave(self, seconds: float) -> None:
        """Close the connection after the last messages have arrived, at most after the given time in seconds.

        A connection that is closed with unread input is reset, and the other end may then lose the result of the game
        if it has not read it yet. Therefore only the sending direction is closed first, and input is read and dropped
        until the other end closes too.
        """
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(seconds):
                    self._writer.write_eof()
                    while await self._reader.read(_PIECE):
                        pass
        finally:
            self.close()
