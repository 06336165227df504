"""Processes that compute for visitors, at a lower priority than the process that answers them.

In threads of the answering process, searches would make every probe wait: the interpreter's lock goes to and fro
between them, and whoever holds it may just have lost the processor. A worker is a process of its own, started when it
is needed and kept for what comes next. It takes one job at a time, tells news of it, and ends with the process that
started it. What does not end in time, or goes on although its visitor has gone, is killed; what takes all memory is
killed by the system, and nothing but that job fails.

Only names of this package's functions and plain values travel to a worker, through a pipe that nobody else has.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tablut.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    Heard = Callable[[str, dict[str, Any]], None]

_NICE: Final = 10
"""By how much a worker stands behind; where two want one processor, the worker gets a tenth of it."""
_GRACE: Final = 3.0
"""Seconds that a job has to end after it was told to."""
_LOOK: Final = 0.5
"""Seconds between two looks at the time while a worker is silent."""


class Job(NamedTuple):
    """What a worker is to do."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


class Caller:
    """Whoever asked for a job, as the worker sees him: he can be told news, and may go."""

    def __init__(self, tell: Heard) -> None:
        self.tell = tell
        self.gone = False
        self._stop: Callable[[], None] = lambda: None

    def when_gone(self, stop: Callable[[], None]) -> None:
        """Have something called when he goes, at once if he has gone."""
        self._stop = stop
        if self.gone:
            stop()

    def leave(self) -> None:
        """Note that he has gone."""
        self.gone = True
        self._stop()


# -- in the worker ---------------------------------------------------------------------------------


def _work(connection: Connection) -> None:
    """Do one job after the other until the other end of the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that answers; its end ends this one
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICE)
    orders: queue.SimpleQueue[tuple[Job, Caller]] = queue.SimpleQueue()
    sending = threading.Lock()

    def send(kind: str, content: Any) -> None:
        """Say something to the process that answers; without it there is nothing more to do."""
        with sending:
            try:
                connection.send((kind, content))
            except (BrokenPipeError, ConnectionResetError):
                os._exit(0)

    threading.Thread(target=_listen, args=(connection, orders, send), daemon=True, name="orders").start()
    while True:
        job, caller = orders.get()
        try:
            send("answer", job.function(caller, *job.arguments))
        except BaseException as error:
            send("failed", _portable(error))


def _listen(connection: Connection, orders: queue.SimpleQueue[tuple[Job, Caller]], send: Callable[..., None]) -> None:
    """Take orders: a job, or None to stop the one that runs."""
    caller = Caller(lambda *_: None)
    while True:
        try:
            order = connection.recv()
        except (EOFError, OSError):
            os._exit(0)
        if order is None:
            caller.leave()
        else:
            caller = Caller(lambda name, told: send("told", (name, told)))
            orders.put((order, caller))


def _portable(error: BaseException) -> BaseException:
    """Return an error that arrives at the other end, and says there where it was raised."""
    error.add_note("in a worker:\n" + "".join(traceback.format_tb(error.__traceback__)).rstrip())
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        plain = RuntimeError(f"{type(error).__name__}: {error}")
        plain.add_note(error.__notes__[-1])
        return plain
    return error


# -- in the process that answers -------------------------------------------------------------------


class _Worker:
    """A process that waits for jobs."""

    def __init__(self) -> None:
        # Started anew, not forked: threads of this process hold locks that nobody would release there.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True, name="explorer worker")
        self._process.start()
        theirs.close()
        self.sound = True

    def order(self, job: Job | None) -> None:
        """Give it a job, or have it stop the one that runs."""
        with suppress(OSError):  # then it has ended, as who waits for its answer will find
            self._connection.send(job)

    def answer(self, heard: Heard, until: Callable[[], float]) -> Any:
        """Return what comes of its job; kill it when the time is over."""
        while True:
            kind, content = self._said(until)
            if kind == "told":
                heard(*content)
            elif kind == "answer":
                return content
            else:
                raise content

    def _said(self, until: Callable[[], float]) -> tuple[str, Any]:
        try:
            while not self._connection.poll(_LOOK):
                if time.monotonic() > until():
                    self.end()
                    return "failed", MachineError("the search took too long, and was ended")
            said: tuple[str, Any] = self._connection.recv()
        except (EOFError, OSError):
            self.end()
            return "failed", MachineError("the process that searched has ended; try again")
        return said

    def end(self) -> None:
        """Kill it."""
        self.sound = False
        self._process.kill()
        self._process.join(5)
        self._connection.close()


class Workers:
    """The processes that compute for visitors."""

    def __init__(self, longest: float = 300.0) -> None:
        self.longest = longest
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()
        self._all: set[_Worker] = set()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the explorer ends."""
        return self._closed

    def take(self) -> _Worker:
        """Return a worker that has nothing to do, a new one if need be."""
        with self._lock:
            if self._closed:
                raise MachineError("the explorer ends")
            if self._idle:
                return self._idle.pop()
            try:
                worker = _Worker()
            except OSError as error:
                raise MachineError(f"no process to search in can be started: {error.strerror or error}") from error
            self._all.add(worker)
            return worker

    def give_back(self, worker: _Worker) -> None:
        """Keep a worker for the next job, unless it was ended."""
        with self._lock:
            if worker.sound and not self._closed:
                self._idle.append(worker)
            else:
                self._all.discard(worker)

    def close(self) -> None:
        """End all of them; jobs that run fail."""
        with self._lock:
            self._closed = True
            for worker in self._all:
                worker.end()
            self._idle.clear()


class Errand:
    """A job for some worker, which may be told to stop."""

    def __init__(self, workers: Workers, job: Job, heard: Heard = lambda *_: None) -> None:
        self._workers, self._job, self._heard = workers, job, heard
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._stopped = False
        self._until = 0.0

    def run(self) -> Any:
        """Return what comes of the job, after waiting for it."""
        worker = self._workers.take()
        try:
            with self._lock:
                self._worker = worker
                self._until = time.monotonic() + (_GRACE if self._stopped else self._workers.longest)
                worker.order(self._job)
                if self._stopped:
                    worker.order(None)
            return worker.answer(self._heard, lambda: self._until)
        finally:
            with self._lock:
                self._worker = None
            self._workers.give_back(worker)

    def stop(self) -> None:
        """Have the job end soon; if it does not within some seconds, its worker is killed."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            self._until = min(self._until, time.monotonic() + _GRACE)
            if self._worker is not None:
                self._worker.order(None)


def _echo(_: Caller, said: str) -> str:
    return said
