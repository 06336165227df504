"""An interrupt is heard within a second, whatever the program is doing.

Python handles signals between its own instructions only. A compiler or a sort of a large
array may delay that for many seconds. Then a thread that waits for interrupts ends the
process; what was stored is kept. So does an interrupt that arrives where Python can only
print an exception and go on: in a function that a compiler calls, or in a finaliser.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Final, NoReturn

from tablut.cli.streams import complain

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["EXIT_INTERRUPTED", "leave", "watch_interrupts"]

EXIT_INTERRUPTED: Final = 130
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
    """End the process at once with exit code 130; Python would wait for a kernel that still runs in a thread.

    Parameters
    ----------
    message : str
        Written to standard error before; nothing if empty.
    """
    if message:
        complain(message)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        pass
    finally:
        os._exit(EXIT_INTERRUPTED)
