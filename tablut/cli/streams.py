"""Standard input, output and error of the command, made safe whatever they are.

Redirected output is UTF-8; a terminal with another encoding gets ASCII signs for those
that it lacks. A closed or full standard output is a failure of the machine (exit code
74); a reader that went away is not.
"""

from __future__ import annotations

import io
import os
import sys
from typing import IO, Any

from tablut.cli.printable import one_line, plain_signs
from tablut.errors import InputError, MachineError

__all__ = ["complain", "finish_output", "is_utf8", "prepare_streams", "write_output"]


class _Closed(io.TextIOBase):
    """Stands for a standard stream that was closed before the program started."""

    name = "closed"
    encoding = "utf-8"

    def read(self, _size: int | None = -1, /) -> str:
        raise InputError("standard input: is closed; name a file")

    def readline(self, _size: int | None = -1, /) -> str:  # type: ignore[override]
        return self.read()

    def write(self, text: str, /) -> int:
        if text:
            raise MachineError("standard output: is closed")
        return 0


def prepare_streams() -> None:
    """Make the three standard streams usable; called once, before any file is opened."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Else the next opened file would take its place, and get the text for the terminal.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = _Closed()
    if sys.stdout is None:
        sys.stdout = _Closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            asked_for = stream.isatty() or os.environ.get("PYTHONIOENCODING")
            stream.reconfigure(encoding=None if asked_for else "utf-8", errors=plain_signs())


def is_utf8(stream: IO[str] | None) -> bool:
    """Return whether a stream shows every character.

    Parameters
    ----------
    stream : text stream or None
        None counts as UTF-8.

    Returns
    -------
    bool
        Whether its encoding is UTF-8 or another UTF.

    Examples
    --------
    >>> is_utf8(io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    False
    """
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def write_output(text: str) -> None:
    """Write to standard output and flush it.

    Parameters
    ----------
    text : str
        Written as it is.

    Raises
    ------
    MachineError
        If it is full or closed. A reader that went away is not an error.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_output()
    except MachineError:
        raise
    except OSError as error:
        _abandon_output()
        raise MachineError(f"standard output: {error.strerror}") from error


def finish_output() -> None:
    """Write out what is still in the buffers of standard output; see `write_output`."""
    write_output("")


def complain(message: str) -> None:
    """Write one safe line to standard error, where there is one.

    Parameters
    ----------
    message : str
        Any text; see `tablut.cli.printable.one_line`.
    """
    try:
        sys.stderr.write(f"tablut: {one_line(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        # There is no place for the message; the exit code still reports it.
        _abandon(sys.stderr)


def _abandon_output() -> None:
    _abandon(sys.stdout)


def _abandon(stream: Any) -> None:
    """Discard what remains in a buffer: the interpreter would try to write it at exit, and complain."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
