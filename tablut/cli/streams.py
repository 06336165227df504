"""Text from outside, made safe for a terminal, for one line and for any encoding."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from itertools import takewhile
from types import FrameType
from typing import IO, Any, Final, NoReturn

from tablut.errors import InputError, MachineError, input_failure

ENCODING_ERRORS: Final = "tablut.signs"
"""Name of the handler of encoding errors that `plain_signs` registers."""

EXIT_DEFECT: Final = 70
EXIT_INTERRUPTED: Final = 130

_LINE: Final = 1500

_PLAIN = {
    "●": "b", "○": "w", "♔": "K", "╳": "T", "✕": "X", "☆": "*", "▒": "#", "·": ".",
    "…": "...", "–": "-", "—": "-", "−": "-", "±": "+-", "×": "x", "≤": "<=", "≥": ">=", "≠": "!=",
    "─": "-", "━": "-", "│": "|", "┃": "|", "╭": "+", "╮": "+", "╰": "+", "╯": "+",
}  # fmt: skip


def printable(text: str) -> str:
    r"""Return a text with an escape for every character that a terminal might obey; line ends stay."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape", "backslashreplace").decode()
        for sign in text
    )


def one_line(text: str, most: int = _LINE) -> str:
    r"""Return a message as one safe line; a very long one loses its middle."""
    # Only the ends of a text of megabytes matter.
    if len(text) > 4 * most:
        text = text[: 2 * most] + text[-2 * most :]
    line = printable(" ".join(text.split()))
    if len(line) <= most:
        return line
    half = (most - 5) // 2
    return f"{line[: most - 5 - half]} ... {line[len(line) - half :]}"


def plain_signs() -> str:
    r"""Register how to write signs that an encoding lacks, and return the name for ``errors=``.

    Signs of boards and tables become ASCII characters, all others escapes.
    """

    def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        lost = error.object[error.start : error.end]
        written = "".join(_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode("ascii") for sign in lost)
        return written, error.end

    codecs.register_error(ENCODING_ERRORS, _replace)
    return ENCODING_ERRORS


# -- standard input, output and error of the command, made safe whatever they are ----------


# Redirected output is UTF-8; a terminal with another encoding gets ASCII signs for those
# that it lacks. A closed or full standard output is a failure of the machine (exit code
# 74); a reader that went away is not.


AS_JSON: ContextVar[bool] = ContextVar("as_json", default=False)
"""Whether the command that runs was given ``--json``."""


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
    """Return whether a stream shows every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def read_line(most: int) -> str:
    """Return a line of standard input, of one that is too long the beginning; empty at the end."""
    try:
        return sys.stdin.readline(most + 1)
    except UnicodeDecodeError as error:
        raise InputError("standard input: not a UTF-8 text") from error
    except OSError as error:
        raise input_failure(f"standard input: {error.strerror or error}", error) from error


def write_output(text: str) -> None:
    """Write to standard output and flush it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon(sys.stdout)
    except MachineError:
        raise
    except OSError as error:
        _abandon(sys.stdout)
        raise MachineError(f"standard output: {error.strerror}") from error


def complain(message: str) -> None:
    """Write one safe line to standard error, where there is one."""
    try:
        sys.stderr.write(f"tablut: {one_line(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        # There is no place for the message; the exit code still reports it.
        _abandon(sys.stderr)


# A message begins with what it is about: `position '9/9': has 2 rows`.
_NAMED = re.compile(r"""((?:'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+"|[^:]|:(?! ))*+): """)


def failure(message: str, status: int) -> dict[str, Any]:
    """Return what ``--json`` says of a failure: the line, the exit code, and what the line is about."""
    line = one_line(message)
    named = _NAMED.match(line)
    return {"error": line, "status": status, "input": named[1] if named and status != EXIT_DEFECT else None}


def fail(message: str, status: int, args: Sequence[str]) -> int:
    """Say why a command ends, on standard error and, given ``--json``, on standard output; return the exit code."""
    complain(message)
    if "--json" in takewhile(lambda word: word != "--", args):
        with suppress(MachineError):  # where nothing can be written, the line above has said it
            write_output(json_text(failure(message, status)))
    return status


def json_text(body: dict[str, Any]) -> str:
    """Return an object as the JSON text that standard output can take."""
    text = json.dumps(body, ensure_ascii=not is_utf8(sys.stdout), indent=2)

    def escaped(sign: re.Match[str]) -> str:
        return sign[0] if sign[0].isprintable() else json.dumps(sign[0])[1:-1]

    # Outside its strings a JSON text is ASCII, so these characters stand within strings.
    return re.sub(r"[^\n -~]", escaped, text) + "\n"


def _abandon(stream: Any) -> None:
    """Discard what remains in a buffer: the interpreter would try to write it at exit, and complain."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


# -- an interrupt is heard within a second, whatever the program is doing ------------------


# Python handles signals between its own instructions only. A compiler or a sort of a large
# array may delay that for many seconds. Then a thread that waits for interrupts ends the
# process; what was stored is kept. So does an interrupt that arrives where Python can only
# print an exception and go on: in a function that a compiler calls, or in a finaliser.


_PATIENCE: Final = 0.7
"""Seconds for Python to handle an interrupt itself, so that it can clean up."""


def watch_interrupts() -> None:
    """Start to watch; this has no effect where interrupts are ignored, or outside the main thread."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    heard = threading.Event()

    def _hear(_signal: int, _frame: FrameType | None) -> NoReturn:
        heard.set()
        raise KeyboardInterrupt

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGINT, _hear)
    # The system's own handler writes the signal's number here at once.
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))

    def _watch() -> None:
        while received := os.read(reader, 1):
            if received[0] == signal.SIGINT and not heard.wait(_PATIENCE):
                leave("interrupted")
            heard.clear()

    threading.Thread(target=_watch, daemon=True, name="interrupts").start()
    say = sys.unraisablehook

    def _lost(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            leave("interrupted")
        say(unraisable)

    sys.unraisablehook = _lost


def leave(message: str = "") -> NoReturn:
    """End the process at once with exit code 130; Python would wait for a kernel that still runs in a thread."""
    try:
        if message:
            fail(message, EXIT_INTERRUPTED, sys.argv[1:])
        sys.stdout.flush()
    except (OSError, ValueError):
        pass
    finally:
        os._exit(EXIT_INTERRUPTED)
