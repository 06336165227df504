"""Execution of long-running work in low-priority worker processes, with limits on running and waiting jobs.

In threads of the serving process, searches would hold the interpreter's lock and delay every probe. A worker is
therefore a separate process, started on demand and reused. It does one job at a time, sends messages about it, and ends
with the process that started it. A job that exceeds its time, or does not end within a few seconds after its visitor
has disconnected, is killed together with its worker; a job that exhausts memory is killed by the system. Other jobs are
not affected.

Only the names of this package's functions and plain values are sent to a worker, through pipes that no other process
can access.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final, TypeVar

from starlette.requests import Request

from reports.explorer.guard import BusyError, Settings, content_of
from tablut.errors import MachineError
from tablut.results import Result
from tablut.work import clocks

Answer = TypeVar("Answer")

VISITOR: Final = "visitor"
"""Cookie that identifies a browser; a program that stores no cookies is identified by its address."""
SEARCH: Final = "search"
"""Header in which a page names a search, so that it can later ask for its status."""
_NICE: Final = 10
"""Niceness of a worker. A worker that competes for a processor gets about a tenth of the time."""
_GRACE: Final = 3.0
"""Time in seconds that a job has to end after it was told to stop."""
_START: Final = 180.0
"""Time in seconds that a new process has to load its data. On a new machine it also compiles the kernels."""
_LOOK: Final = 0.1
"""Time in seconds between two checks for messages, for time-outs and for disconnected visitors."""
_MOST_MESSAGES: Final = 1000
"""Maximum number of messages queued for a slow reader. Further messages are dropped, except the last."""


# -- in a worker -----------------------------------------------------------------------------------


class Link:
    """A job's connection to the serving process: it sends messages there and receives the request to stop."""

    def __init__(self, send: Callable[[str, Any], None]) -> None:
        self.send = send
        self.stopped = False
        self._stop: Callable[[], object] = lambda: None

    def when_stopped(self, stop: Callable[[], object]) -> None:
        """Register a function to call when the job has to stop.

        If the job has already been stopped, call it immediately.
        """
        self._stop = stop
        if self.stopped:
            stop()

    def stop(self) -> None:
        """Record that the job has to stop, and call the registered function."""
        self.stopped = True
        self._stop()


class _Channel:
    """A worker's end of the pipe. Jobs are numbered, since a stop request may arrive before its job or after it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._sending, self._changing = pipe, threading.Lock(), threading.Lock()
        self._stopped, self._number, self._link = 0, 0, Link(lambda *_: None)

    def open(self, number: int) -> Link:
        """Return the link of the job that is starting."""

        def send(name: str, content: Any) -> None:
            with self._sending, suppress(OSError):
                self._pipe.send((number, name, content))

        clocks.tell_by(lambda compiles: send("compiles", compiles))
        with self._changing:
            self._number, self._link = number, Link(send)
            if number <= self._stopped:
                self._link.stop()
        return self._link

    def listen(self) -> None:
        """Receive the numbers of jobs to stop; exit when the serving process has ended."""
        while True:
            try:
                number = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            with self._changing:
                self._stopped = number
                if self._number == number:
                    self._link.stop()


_channel: _Channel


def _begin(pipe: Connection, prepare: Callable[[], object]) -> None:
    """Initialise this process as a worker."""
    global _channel
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the serving process, and its end stops this one
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICE)
    _channel = _Channel(pipe)
    _channel.open(0)  # report compilation from here on
    threading.Thread(target=_channel.listen, daemon=True, name="stops").start()
    with suppress(Exception):  # the job that needs the preparation reports the failure
        prepare()


def _do(number: int, function: Callable[..., Answer], arguments: tuple[Any, ...]) -> Answer:
    link = _channel.open(number)
    link.send("begun", None)
    return function(link, *arguments)


def nothing(*_: object) -> None:
    """Do nothing. This is the default preparation of a worker, and its first job when it is started in advance."""


# -- in the serving process ------------------------------------------------------------------------


class _Worker:
    """A process that runs jobs, one after another."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        # Spawned, not forked: a forked copy would inherit locks held by threads that do not exist in it.
        context = multiprocessing.get_context("spawn")
        self._pipe, self._theirs = context.Pipe()
        self._pool = ProcessPoolExecutor(1, context, _begin, (self._theirs, prepare))
        self._processes: list[BaseProcess] = []
        self._number = 0
        self.ready = False

    @property
    def alive(self) -> bool:
        """Whether the process is still running or has not been started yet. It starts with the first job."""
        return all(process.is_alive() for process in self._processes)

    def start(self, function: Callable[..., Answer], arguments: tuple[Any, ...] = ()) -> Future[Answer]:
        self._number += 1
        try:
            future = self._pool.submit(_do, self._number, function, arguments)
            self._processes = list(self._pool._processes.values())
            return future
        except BrokenProcessPool as error:
            raise MachineError("the process that searched has ended", remedy="try again") from error
        except OSError as error:
            raise MachineError(f"no process for the search can be started: {error.strerror or error}") from error
        finally:
            self._theirs.close()  # the worker process has its own copy by now

    def stop(self) -> None:
        """Ask the current job to stop."""
        with suppress(OSError):  # the process has ended already
            self._pipe.send(self._number)

    def messages(self) -> Iterator[tuple[str, Any]]:
        """Yield the messages of the current job."""
        with suppress(EOFError, OSError):
            while self._pipe.poll():
                number, name, content = self._pipe.recv()
                self.ready = self.ready or number > 0
                if number in (0, self._number):
                    yield name, content

    def kill(self, *, wait: bool = False) -> None:
        for process in self._processes:  # Python 3.14 has kill_workers for this
            process.kill()
        self._pool.shutdown(wait, cancel_futures=True)
        self._pipe.close()


class Workers:
    """The pool of worker processes, busy and idle."""

    def __init__(self, prepare: Callable[[], object] = nothing) -> None:
        self._prepare = prepare
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._closed = False

    def take(self) -> _Worker:
        """Return an idle worker, or a new one if there is none; workers that the system has killed are discarded."""
        if self._closed:
            raise MachineError("the explorer is stopping")
        while self._idle:
            if (worker := self._idle.pop()).alive:
                return worker
            self.give_back(worker, sound=False)
        worker = _Worker(self._prepare)
        self._all.add(worker)
        return worker

    def give_back(self, worker: _Worker, *, sound: bool) -> None:
        """Keep a worker for the next job, or kill it if it is no longer usable."""
        if sound and not self._closed:
            self._idle.append(worker)
        else:
            worker.kill()
            self._all.discard(worker)

    def warm(self) -> None:
        """Start a worker in advance, so that the first visitor need not wait for it."""
        worker = self.take()
        worker.start(nothing)
        self._idle.append(worker)

    def close(self) -> None:
        """Kill all workers; running jobs fail."""
        self._closed = True
        self._idle.clear()
        for worker in self._all:
            worker.kill(wait=True)
        self._all.clear()
        gc.collect()  # release the pools' semaphores now: a signal may end this process before its normal clean-up


class Job:
    """A job in a worker, with its messages as they arrive; the last message is ``done`` or ``failed``."""

    def __init__(self, workers: Workers, seconds: float, function: Callable[..., Any], *arguments: Any) -> None:
        self._workers, self._seconds = workers, seconds
        self._function, self._arguments = function, arguments
        self._until, self._stopping = 0.0, False
        self._worker: _Worker | None = None
        self.compiles = False
        self.messages: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self.task = asyncio.create_task(self._run())
        self.task.add_done_callback(lambda task: self.messages.put_nowait(_ending(task)))

    def stop(self) -> None:
        """Ask the job to stop; if it does not end within a few seconds, its worker is killed."""
        if not self._stopping:
            self._stopping = True
            self._until = min(self._until, time.monotonic() + _GRACE)
            if self._worker is not None:
                self._worker.stop()

    async def _run(self) -> Any:
        worker = self._worker = self._workers.take()
        self._take_messages(worker)  # messages of an earlier job show that the worker is ready
        sound = False
        try:
            future = asyncio.wrap_future(worker.start(self._function, self._arguments))
            future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # mark its error as seen
            limit = self._seconds if worker.ready else _START
            self._until = time.monotonic() + (_GRACE if self._stopping else limit)
            if self._stopping:
                worker.stop()
            while not future.done():
                await asyncio.wait({future}, timeout=_LOOK)
                if self._take_messages(worker):
                    limit = self._seconds
                if not future.done() and time.monotonic() > self._until:
                    raise MachineError(f"this took longer than {limit:g} seconds and was stopped")
            sound = not isinstance(future.exception(), BrokenProcessPool)
            if not sound:
                raise MachineError("the process that searched has ended", remedy="try again")
            return future.result()
        finally:
            self._worker = None
            self._workers.give_back(worker, sound=sound)

    def _take_messages(self, worker: _Worker) -> bool:
        """Queue the messages of the job, and return whether it has just begun, which starts its time limit."""
        begun = False
        for name, content in worker.messages():
            if name == "compiles":
                self.compiles = content
            elif name == "begun":
                begun = True
                self._until = min(self._until, time.monotonic() + self._seconds)
            elif self.messages.qsize() < _MOST_MESSAGES:
                self.messages.put_nowait((name, content))
        return begun


def _ending(task: asyncio.Task[Any]) -> tuple[str, Any]:
    if task.cancelled():
        return "failed", {"error": "the server is stopping", "status": 503}
    error = task.exception()
    return ("done", task.result()) if error is None else ("failed", content_of(error, "a job"))


class SearchTold(Result):
    """Status of a visitor's search: how many searches must end before it begins, and whether it is compiling."""

    name: str
    before: int
    compiles: bool


@dataclass(eq=False)
class _Search:
    """A visitor's search; it is waiting as long as it has no job."""

    visitor: str
    name: str
    job: Job | None = None


class Places:
    """Queue of visitors for the workers. A job keeps its place until it has ended, even if its visitor has left."""

    def __init__(self, settings: Settings, workers: Workers) -> None:
        self._workers, self._settings = workers, settings
        self._free = asyncio.Semaphore(settings.searches)
        self._searches: list[_Search] = []

    async def start(
        self, visitor: str, seconds: float, function: Callable[..., Any], *arguments: Any, name: str = ""
    ) -> Job:
        """Start a job as soon as a place is free for it.

        It is refused if the visitor already has two searches, or if too many visitors are waiting.
        """
        if sum(search.visitor == visitor for search in self._searches) >= 2:
            raise BusyError("one search at a time, please: yours is still running, and another one is waiting", 429)
        if self._free.locked() and len(self._waiting()) >= self._settings.waiting:
            raise BusyError("the server is busy and its queue is full; try again in a moment", 503)
        search = _Search(visitor, name)
        self._searches.append(search)
        try:
            async with asyncio.timeout(self._settings.patience):
                await self._free.acquire()
        except BaseException as error:
            self._searches.remove(search)
            if isinstance(error, TimeoutError):
                raise BusyError("the server is busy with other searches; try again in a moment", 503) from None
            raise
        search.job = Job(self._workers, seconds, function, *arguments)
        search.job.task.add_done_callback(lambda _: self._leave(search))
        return search.job

    def _waiting(self) -> list[_Search]:
        return [search for search in self._searches if search.job is None]

    def _leave(self, search: _Search) -> None:
        self._searches.remove(search)
        self._free.release()

    def told(self, visitor: str) -> list[SearchTold]:
        """Return the status of a visitor's searches."""
        before = {id(search): number for number, search in enumerate(self._waiting(), 1)}
        return [
            SearchTold(name=one.name, before=before.get(id(one), 0), compiles=one.job is not None and one.job.compiles)
            for one in self._searches
            if one.visitor == visitor
        ]

    async def stream(self, request: Request, seconds: float, function: Callable[..., Any], *arguments: Any) -> Job:
        """Start a job whose messages are read as they arrive."""
        job = await self.start(visitor_of(request), seconds, function, *arguments, name=_name_of(request))
        if await request.is_disconnected():  # the visitor left while the job waited
            job.stop()
        return job

    async def work(self, request: Request, seconds: float, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Run a job in a worker as soon as a place is free, and return its result."""
        job = await self.start(visitor_of(request), seconds, function, *arguments, name=_name_of(request))
        try:
            while not job.task.done():
                await asyncio.wait({job.task}, timeout=_LOOK)
                if not job.task.done() and await request.is_disconnected():
                    job.stop()
            answer: Answer = job.task.result()
            return answer
        finally:
            job.stop()


def _name_of(request: Request) -> str:
    """Return the name that a visitor gave to a search, so that its status can be looked up later."""
    return request.headers.get(SEARCH, "")[:64]


def visitor_of(request: Request) -> str:
    """Return the name that identifies a visitor."""
    return request.cookies.get(VISITOR, "")[:64] or (request.client.host if request.client else "somebody")
