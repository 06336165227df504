"""Messages as the competition sends them: four bytes of length, the highest first, then so many bytes of UTF-8.

Bytes come in as the network cuts them; a message is handed out once it is whole. What
the length claims is never believed beyond a bound, so nobody makes a reader hold more.
"""

from __future__ import annotations

from typing import Final

from tablut.errors import InputError

__all__ = ["MOST_BYTES", "PORTS", "FrameError", "FrameReader", "encode_frame"]

MOST_BYTES: Final = 16 << 10
"""Most bytes of a message; the state of a board of side 11 has about 2,000."""

PORTS: Final = {"w": 5800, "b": 5801}
"""Where the server of the competition listens for each side."""

_PREFIX = 4


class FrameError(InputError):
    """Bytes that are no message; nothing after them can be read."""


def encode_frame(text: str) -> bytes:
    r"""Return a message as it goes over the wire.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    bytes
        Its length and its UTF-8.

    Examples
    --------
    >>> encode_frame('"Bj\xf6rn"')
    b'\x00\x00\x00\x08"Bj\xc3\xb6rn"'
    """
    body = text.encode()
    return len(body).to_bytes(_PREFIX, "big") + body


class FrameReader:
    r"""Takes bytes in any pieces and hands out whole messages.

    Parameters
    ----------
    most : int
        Most bytes of a message.

    Examples
    --------
    >>> reader = FrameReader()
    >>> reader.feed(b"\x00\x00\x00\x02h")
    >>> reader.take(), reader.partial
    (None, True)
    >>> reader.feed(b"i\x00\x00")
    >>> reader.take(), reader.partial
    ('hi', True)
    >>> reader.feed(b"\xff\xff")
    >>> reader.take()
    Traceback (most recent call last):
        ...
    tablut.play.competition.frames.FrameError: message of 65,535 bytes: at most 16,384 are read
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._held = bytearray()

    def feed(self, data: bytes) -> None:
        """Take bytes in.

        Parameters
        ----------
        data : bytes
            The next ones, of any number.
        """
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
        """Return the next message, or None before it is whole.

        Returns
        -------
        str or None
            Its text.

        Raises
        ------
        FrameError
            If its length is out of bounds, or it is not UTF-8.
        """
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
