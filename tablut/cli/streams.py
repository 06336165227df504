"""Standard streams: text that is safe for terminals and for any encoding, error lines, and interrupts."""

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

from tablut.cli import end_quietly
from tablut.errors import InputError, MachineError, TablutError, input_failure

ENCODING_ERRORS: Final = "tablut.signs"
"""Name of the error handler for encodings that `plain_signs` registers."""

EXIT_DEFECT: Final = 70
EXIT_INTERRUPTED: Final = 130

_LINE: Final = 1500

_GROUPS: Final = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")

_PLAIN = {
    "\N{NO-BREAK SPACE}": " ",
    "●": "b", "○": "w", "♔": "K", "╳": "T", "✕": "X", "☆": "*", "▒": "#", "·": ".",
    "…": "...", "–": "-", "—": "-", "−": "-", "±": "+-", "×": "x", "≤": "<=", "≥": ">=", "≠": "!=",
    "─": "-", "━": "-", "│": "|", "┃": "|", "╭": "+", "╮": "+", "╰": "+", "╯": "+",
}  # fmt: skip


def printable(text: str) -> str:
    r"""Return a text with escapes in place of control characters, but not of line feeds and no-break spaces."""
    if text.isprintable():
        return text
    return "".join(
        sign
        if sign.isprintable() or sign in "\n\N{NO-BREAK SPACE}"
        else sign.encode("unicode_escape", "backslashreplace").decode()
        for sign in text
    )


def spaced(text: str) -> str:
    """Return a text for people, in which no-break spaces and not commas separate the groups of digits of a number."""
    return _GROUPS.sub("\N{NO-BREAK SPACE}", text)


def one_line(text: str, most: int = _LINE) -> str:
    r"""Return a message as one line without control characters. The middle of a very long message is left out."""
    # The text is shortened first, because it may be megabytes long.
    if len(text) > 4 * most:
        text = text[: 2 * most] + text[-2 * most :]
    line = printable(" ".join(text.split()))
    if len(line) <= most:
        return line
    half = (most - 5) // 2
    return f"{line[: most - 5 - half]} ... {line[len(line) - half :]}"


def plain_signs() -> str:
    r"""Register an error handler for characters that an encoding lacks, and return its name for ``errors=``.

    The handler replaces the signs of boards and tables with ASCII characters, and all others with escapes.
    """

    def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        lost = error.object[error.start : error.end]
        written = "".join(_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode("ascii") for sign in lost)
        return written, error.end

    codecs.register_error(ENCODING_ERRORS, _replace)
    return ENCODING_ERRORS


# -- standard input, output and error of the command ---------------------------------------


# Redirected output is UTF-8. On a terminal with another encoding, signs that it lacks become ASCII characters. A
# closed or full standard output is a failure of the machine (exit code 74). It is not a failure if the process that
# reads the output has ended, as in a pipe to `head`.


AS_JSON: ContextVar[bool] = ContextVar("as_json")
"""Whether the running command was given ``--json``. It is not set unless a command is running."""


class _Closed(io.TextIOBase):
    """Replacement for a standard stream that was closed before the program started."""

    name = "closed"
    encoding = "utf-8"

    def read(self, _size: int | None = -1, /) -> str:
        raise InputError("is closed", subject="standard input", remedy="give a file name")

    def readline(self, _size: int | None = -1, /) -> str:  # type: ignore[override]
        return self.read()

    def write(self, text: str, /) -> int:
        if text:
            raise MachineError("is closed", subject="standard output")
        return 0


def prepare_streams() -> None:
    """Make the three standard streams usable. This function must be called once, before any file is opened."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Otherwise the next file to be opened would get this descriptor and receive the command's output.
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
    """Return whether a stream can represent every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def read_line(most: int) -> str:
    """Return a line of standard input, truncated to ``most + 1`` characters, or an empty string at the end of input."""
    try:
        return sys.stdin.readline(most + 1)
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", subject="standard input") from error
    except OSError as error:
        raise input_failure("standard input", error) from error


def write_output(text: str) -> None:
    """Write a text to standard output, and flush the stream."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon(sys.stdout)
    except MachineError:
        raise
    except OSError as error:
        _abandon(sys.stdout)
        raise MachineError(str(error.strerror), subject="standard output") from error


def complain(message: str) -> None:
    """Write a message as one safe line to standard error, if it is open."""
    try:
        sys.stderr.write(f"tablut: {one_line(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        # The message cannot be written; the exit code still reports the failure.
        _abandon(sys.stderr)


def failure(error: TablutError, status: int) -> dict[str, Any]:
    """Return the JSON object that describes a failure: the message, the exit code, and the error's parts.

    The field ``input`` is an older name for ``subject``.
    """
    subject, problem, remedy = (one_line(part) or None for part in (error.subject, error.problem, error.remedy))
    parts = {"input": subject, "subject": subject, "problem": problem, "remedy": remedy}
    return {"error": one_line(str(error)), "status": status, **parts}


def fail(error: TablutError, status: int, args: Sequence[str]) -> int:
    """Report a failure on standard error and, with ``--json``, also on standard output; return the exit code."""
    complain(str(error))
    if "--json" in takewhile(lambda word: word != "--", args):
        with suppress(MachineError):  # the message is already on standard error
            write_output(json_text(failure(error, status)))
    return status


def json_text(body: dict[str, Any]) -> str:
    """Return an object as JSON text that standard output can represent."""
    text = json.dumps(body, ensure_ascii=not is_utf8(sys.stdout), indent=2)

    def escaped(sign: re.Match[str]) -> str:
        return sign[0] if sign[0].isprintable() else json.dumps(sign[0])[1:-1]

    # Outside of strings JSON is ASCII, so these characters occur only within strings.
    return re.sub(r"[^\n -~]", escaped, text) + "\n"


def _abandon(stream: Any) -> None:
    """Discard a stream's buffer. Otherwise, the interpreter would try to write it at exit and fail."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


# -- interrupts take effect within a second, whatever the program is doing -----------------


# Python handles signals only between its own instructions. Compiling, or sorting a large
# array, can delay that for many seconds. In this case a thread that watches for interrupts
# ends the process; stored results are kept. The process also ends if an interrupt arrives
# where Python could only print the exception and continue, as in a compiler's callback or in a
# finaliser.


_PATIENCE: Final = 0.7
"""Time in seconds within which Python itself has to handle an interrupt and clean up."""


def watch_interrupts() -> None:
    """Start watching for interrupts, unless they are ignored or this is not the main thread."""
    if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, end_quietly):
        return
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    heard = threading.Event()

    def _hear(_signal: int, _frame: FrameType | None) -> NoReturn:
        heard.set()
        if AS_JSON.get(None) is None:  # no command has begun, so there is nothing to clean up
            leave("interrupted")
        raise KeyboardInterrupt

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGINT, _hear)
    # Python's low-level handler writes the signal number to this pipe immediately.
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
        if isinstance(unraisable.exc_value, SystemExit):  # `ending_orderly` raises it
            os._exit(int(unraisable.exc_value.code or 0))
        say(unraisable)

    sys.unraisablehook = _lost


def leave(message: str = "") -> NoReturn:
    """End the process immediately with exit code 130, without waiting for kernels that are still running in threads."""
    try:
        if message:
            fail(TablutError(message), EXIT_INTERRUPTED, sys.argv[1:])
        sys.stdout.flush()
    except (OSError, ValueError):
        pass
    finally:
        os._exit(EXIT_INTERRUPTED)
