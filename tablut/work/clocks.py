"""Counters of the time spent on compiling kernels, clocks that exclude this time, and a message about compiling.

Kernels are compiled when they are first called, often in the middle of a measurement. Every duration in a result is
therefore measured with a clock from this module. It does not import numba: the engine calls `begin` and `end`.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

_PATIENCE: Final = 1.0
"""Seconds of compilation after which the user is informed."""


class _Counters:
    """Counters of the process. Only the thread that holds numba's lock changes them."""

    def __init__(self) -> None:
        self.depth = 0
        self.spent: tuple[float, float | None] = (0.0, None)
        self.cpu_began = 0.0
        self.timer: threading.Timer | None = None
        self.collects = self.compiles = False
        self.cpu = 0.0
        self.compiled: list[str] = []
        self.loaded: list[str] = []
        self.told = False
        self.silent = False
        self.forgets = ""
        self.tell: Callable[[bool], object] | None = None


_counters = _Counters()
_of_thread = threading.local()


def compile_seconds() -> float:
    """Return the wall-clock time in seconds that this process has spent on compiling and loading kernels."""
    return _counters.spent[0]


def announced() -> bool:
    """Return whether the user has been informed that this process compiles kernels."""
    return _counters.told


def forget_kernels(reason: str) -> None:
    """Record why this process cannot keep the kernels that it compiles, so that no message promises to keep them."""
    _counters.forgets = reason


def why_forgotten() -> str:
    """Return why this process cannot keep the kernels that it compiles, or an empty text if it can."""
    return _counters.forgets


def compiling() -> bool:
    """Return whether this process is compiling a kernel right now."""
    return _counters.compiles


def compiled_kernels() -> int:
    """Return the number of kernels that this process has compiled, each counted once for each set of argument types."""
    return len(_counters.compiled)


def prepared_kernels() -> frozenset[str]:
    """Return the names and argument types of the kernels that this process has compiled or loaded."""
    return frozenset([*_counters.compiled, *_counters.loaded])


def wall_clock() -> float:
    """Return the time, in seconds, of a clock that stops while this process compiles.

    Only the difference between two times is meaningful.
    """
    wall, began = _counters.spent
    return (time.perf_counter() if began is None else began) - wall


def cpu_clock() -> float:
    """Return the processor time in seconds that this process has used, excluding the time spent on compiling."""
    return time.process_time() - _counters.cpu


def thread_clock() -> float:
    """Return the processor time in seconds that this thread has used, excluding the time spent on compiling."""
    return time.thread_time() - getattr(_of_thread, "cpu", 0.0)


@contextmanager
def alarm(seconds: float, call: Callable[[], object]) -> Iterator[None]:
    """Call a function from another thread after some seconds, unless the context has ended by then."""
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the message about compiling within the context, for callers that show a message themselves."""
    before, _counters.silent = _counters.silent, True
    try:
        yield
    finally:
        _counters.silent = before


def tell_by(tell: Callable[[bool], object]) -> None:
    """Register a function that replaces the message about compiling.

    The function is called with True once compiling has lasted a second, and with False after each kernel.
    """
    _counters.tell = tell


def described(function: Callable[..., object], arguments: Iterable[object]) -> str:
    """Return a unique description of a kernel: its module, its name and its argument types."""
    return f"{function.__module__}.{function.__qualname__}({', '.join(map(repr, arguments))})"


def begin(*, loads: bool = False) -> None:
    """Record the start of compiling or loading a kernel. The caller must hold numba's lock."""
    _counters.depth += 1
    if _counters.depth > 1:
        return
    # This is a single assignment, because other threads may read the clock at any time.
    _counters.spent, _counters.cpu_began = (_counters.spent[0], time.perf_counter()), time.thread_time()
    if not loads:
        _counters.timer = _start_timer()
        # The compiler creates millions of objects that live until it ends. Searching them for garbage would take a
        # fifth of the compilation time, so garbage collection is switched off.
        _counters.collects = gc.isenabled()
        gc.disable()
        _counters.compiles = True


def end(kernel: str, *, done: bool, loads: bool = False) -> None:
    """Add the time since `begin` to the time spent, and restart the clocks."""
    _counters.depth -= 1
    if _counters.depth:
        return
    if not loads:
        _counters.compiles = False
        if _counters.collects:
            gc.enable()
        if _counters.timer is not None:
            _counters.timer.cancel()
        if _counters.tell is not None:
            _counters.tell(False)
    if done:
        (_counters.loaded if loads else _counters.compiled).append(kernel)
    spent = time.thread_time() - _counters.cpu_began
    _of_thread.cpu = getattr(_of_thread, "cpu", 0.0) + spent
    _counters.cpu += spent
    wall, began = _counters.spent
    if began is not None:
        _counters.spent = (wall + time.perf_counter() - began, None)


def _start_timer() -> threading.Timer | None:
    if _counters.tell is None and (_counters.told or _counters.silent):
        return None
    seconds = max(_PATIENCE - _counters.spent[0], 0.0)
    timer = threading.Timer(seconds, _counters.tell, (True,)) if _counters.tell else threading.Timer(seconds, _tell)
    timer.daemon = True
    timer.start()
    return timer


def _tell() -> None:
    """Print once, on standard error, that kernels are being compiled."""
    if _counters.told or _counters.silent:
        return
    _counters.told = True
    once = "compiling, once for this machine; this can take a minute or two (`tablut warmup` compiles everything)"
    always = f"compiling, at every start, because {_counters.forgets}; this can take a minute or two"
    print(f"tablut: {always if _counters.forgets else once}", file=sys.stderr, flush=True)  # noqa: T201
