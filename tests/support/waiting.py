"""Waiting for what must come: so long that only what never comes fails, however busy the machine is."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["PATIENCE", "Clock", "at_most", "eventually", "stopping"]

PATIENCE = 300
"""Seconds after which something is held never to come. Nothing that works takes a tenth of them."""


def eventually(happened: Callable[[], object]) -> None:
    """Wait until something has happened; fail if it never does."""
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.01)


@contextmanager
def at_most(seconds: int, *, processor: bool = False) -> Iterator[None]:
    """End what runs with `TimeoutError` after a while, or after as much processor time, where the system can."""

    def late(*_: object) -> None:
        raise TimeoutError(f"no end within {seconds} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    timer, number = (signal.ITIMER_VIRTUAL, signal.SIGVTALRM) if processor else (signal.ITIMER_REAL, signal.SIGALRM)
    before = signal.signal(number, late)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


@contextmanager
def stopping(searcher: Any) -> Iterator[None]:
    """Let another thread stop the search that runs in the context, once it has begun to deepen."""
    timer = threading.Timer(0.05, searcher.stop)

    def start(_: object) -> None:
        if timer.ident is None:
            timer.start()

    searcher.observer = start
    yield
    searcher.observer = None
    timer.join()
    searcher.clear_stop()  # the search may have ended by itself


class Clock:
    """In place of the module `time`: only that time passes which a test adds, or a second at each look."""

    time_ns = staticmethod(time.time_ns)

    def __init__(self) -> None:
        self.now = 0.0
        self.runs = False

    def monotonic(self) -> float:
        if self.runs:
            self.now += 1
        return self.now

    perf_counter = process_time = thread_time = monotonic
