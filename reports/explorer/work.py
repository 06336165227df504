"""Work that takes long: done by processes at a lower priority, few at once, few waiting, one a visitor.

In threads of the answering process, searches would make every probe wait for the interpreter's lock. A worker is a
process of its own, started when it is needed and kept. It does one job at a time, sends messages of it, and ends with
the process that started it. A job that does not end within its time, or within some seconds after its visitor left, is
killed with its worker; what takes all memory is killed by the system. Nothing but that job fails.

Only names of this package's functions and plain values travel to a worker, through pipes that nobody else has.
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
from tablut.running import clocks

Answer = TypeVar("Answer")

VISITOR: Final = "visitor"
"""The cookie by which a browser is known again; a program that keeps none is known by its address."""
SEARCH: Final = "search"
"""The header by which a page names a search, so that it can ask how that one stands."""
_NICE: Final = 10
"""By how much a worker stands behind; where two want one processor, the worker gets a tenth of it."""
_GRACE: Final = 3.0
"""Seconds that a job has to end after it was told to."""
_START: Final = 180.0
"""Seconds that a new process has to load what it needs: on a new machine, kernels are compiled."""
_LOOK: Final = 0.1
"""Seconds between two looks at messages, at the time, and whether a visitor is still there."""
_MOST_MESSAGES: Final = 1000
"""Messages that wait for a visitor who reads slowly; what comes then is left out, save the end."""


# -- in a worker -----------------------------------------------------------------------------------


class Link:
    """What a job has of the process that answers: it sends messages there, and is told from there to stop."""

    def __init__(self, send: Callable[[str, Any], None]) -> None:
        self.send = send
        self.stopped = False
        self._stop: Callable[[], object] = lambda: None

    def when_stopped(self, stop: Callable[[], object]) -> None:
        """Have something called when the job is to stop, at once if it is."""
        self._stop = stop
        if self.stopped:
            stop()

    def stop(self) -> None:
        """Note that the job is to stop."""
        self.stopped = True
        self._stop()


class _Channel:
    """A worker's end of the pipe. Jobs have numbers, since a stop may come before its job or after it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._sending, self._changing = pipe, threading.Lock(), threading.Lock()
        self._stopped, self._number, self._link = 0, 0, Link(lambda *_: None)

    def open(self, number: int) -> Link:
        """Return the link of the job that begins."""

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
        """Take the numbers of jobs that are to stop; without the process that answers there is nothing more to do."""
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
    """Make this process a worker."""
    global _channel
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that answers; its end ends this one
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICE)
    _channel = _Channel(pipe)
    _channel.open(0)  # what is compiled from here on is told of
    threading.Thread(target=_channel.listen, daemon=True, name="stops").start()
    with suppress(Exception):  # the job that needs it tells why it fails
        prepare()


def _do(number: int, function: Callable[..., Answer], arguments: tuple[Any, ...]) -> Answer:
    link = _channel.open(number)
    link.send("begun", None)
    return function(link, *arguments)


def nothing(*_: object) -> None:
    """Do nothing: what a worker prepares, and does first, by default."""


# -- in the process that answers -------------------------------------------------------------------


class _Worker:
    """A process that does jobs, one after another."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        # Started anew, not forked: threads of this process hold locks that nobody would release there.
        context = multiprocessing.get_context("spawn")
        self._pipe, self._theirs = context.Pipe()
        self._pool = ProcessPoolExecutor(1, context, _begin, (self._theirs, prepare))
        self._processes: list[BaseProcess] = []
        self._number = 0
        self.ready = False

    @property
    def alive(self) -> bool:
        """Whether nothing has ended its process, which starts with the first job."""
        return all(process.is_alive() for process in self._processes)

    def start(self, function: Callable[..., Answer], arguments: tuple[Any, ...] = ()) -> Future[Answer]:
        self._number += 1
        try:
            future = self._pool.submit(_do, self._number, function, arguments)
            self._processes = list(self._pool._processes.values())
            return future
        except BrokenProcessPool as error:
            raise MachineError("the process that searched has ended; try again") from error
        except OSError as error:
            raise MachineError(f"no process to search in can be started: {error.strerror or error}") from error
        finally:
            self._theirs.close()  # the process has it by now

    def stop(self) -> None:
        """Have the job end that was started last."""
        with suppress(OSError):  # then it has ended
            self._pipe.send(self._number)

    def messages(self) -> Iterator[tuple[str, Any]]:
        """Yield what the job has sent that was started last."""
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
    """The processes, each busy or idle."""

    def __init__(self, prepare: Callable[[], object] = nothing) -> None:
        self._prepare = prepare
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._closed = False

    def take(self) -> _Worker:
        """Return a worker that has nothing to do, a new one if there is none or the system has ended it."""
        if self._closed:
            raise MachineError("the explorer ends")
        while self._idle:
            if (worker := self._idle.pop()).alive:
                return worker
            self.give_back(worker, sound=False)
        worker = _Worker(self._prepare)
        self._all.add(worker)
        return worker

    def give_back(self, worker: _Worker, *, sound: bool) -> None:
        """Keep a worker for the next job, or kill it."""
        if sound and not self._closed:
            self._idle.append(worker)
        else:
            worker.kill()
            self._all.discard(worker)

    def warm(self) -> None:
        """Start a worker, so that the first visitor need not wait for it."""
        worker = self.take()
        worker.start(nothing)
        self._idle.append(worker)

    def close(self) -> None:
        """Kill all of them; jobs that run fail."""
        self._closed = True
        self._idle.clear()
        for worker in self._all:
            worker.kill(wait=True)
        self._all.clear()
        gc.collect()  # the pools' semaphores go now: a signal may end this process before it tidies up


class Job:
    """A job in a worker: its messages as they come, the last of them ``done`` or ``failed``, and its end."""

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
        """Have it end soon; if it does not within some seconds, its worker is killed."""
        if not self._stopping:
            self._stopping = True
            self._until = min(self._until, time.monotonic() + _GRACE)
            if self._worker is not None:
                self._worker.stop()

    async def _run(self) -> Any:
        worker = self._worker = self._workers.take()
        self._take_messages(worker)  # of an earlier job: then it is ready
        sound = False
        try:
            future = asyncio.wrap_future(worker.start(self._function, self._arguments))
            future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # of a job that was left
            limit = self._seconds if worker.ready else _START
            self._until = time.monotonic() + (_GRACE if self._stopping else limit)
            if self._stopping:
                worker.stop()
            while not future.done():
                await asyncio.wait({future}, timeout=_LOOK)
                if self._take_messages(worker):
                    limit = self._seconds
                if not future.done() and time.monotonic() > self._until:
                    raise MachineError(f"this took longer than {limit:g} seconds, and was ended")
            sound = not isinstance(future.exception(), BrokenProcessPool)
            if not sound:
                raise MachineError("the process that searched has ended; try again")
            return future.result()
        finally:
            self._worker = None
            self._workers.give_back(worker, sound=sound)

    def _take_messages(self, worker: _Worker) -> bool:
        """Queue what the job has sent; return whether it has begun just now, so that its own time counts."""
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
        return "failed", {"error": "the server ends", "status": 503}
    error = task.exception()
    return ("done", task.result()) if error is None else ("failed", content_of(error, "a job"))


class SearchTold(Result):
    """How a search of a visitor stands: how many others have to end before it begins, and whether it compiles."""

    name: str
    before: int
    compiles: bool


@dataclass(eq=False)
class _Search:
    """A search of a visitor; without a job it waits."""

    visitor: str
    name: str
    job: Job | None = None


class Places:
    """Where visitors wait for a worker; a job holds its place until it has ended, also if its visitor left."""

    def __init__(self, settings: Settings, workers: Workers) -> None:
        self._workers, self._settings = workers, settings
        self._free = asyncio.Semaphore(settings.searches)
        self._searches: list[_Search] = []

    async def start(
        self, visitor: str, seconds: float, function: Callable[..., Any], *arguments: Any, name: str = ""
    ) -> Job:
        """Start a job when there is a place for it."""
        if sum(search.visitor == visitor for search in self._searches) >= 2:
            raise BusyError("one search at a time, please: yours is still running and another one waits", 429)
        if self._free.locked() and len(self._waiting()) >= self._settings.waiting:
            raise BusyError("the server is searching for others, and enough are waiting; try again in a moment", 503)
        search = _Search(visitor, name)
        self._searches.append(search)
        try:
            async with asyncio.timeout(self._settings.patience):
                await self._free.acquire()
        except BaseException as error:
            self._searches.remove(search)
            if isinstance(error, TimeoutError):
                raise BusyError("the server is searching for others; try again in a moment", 503) from None
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
        """Return how the searches of a visitor stand."""
        before = {id(search): number for number, search in enumerate(self._waiting(), 1)}
        return [
            SearchTold(name=one.name, before=before.get(id(one), 0), compiles=one.job is not None and one.job.compiles)
            for one in self._searches
            if one.visitor == visitor
        ]

    async def stream(self, request: Request, seconds: float, function: Callable[..., Any], *arguments: Any) -> Job:
        """Start a job whose messages are read as they come."""
        job = await self.start(visitor_of(request), seconds, function, *arguments, name=_name_of(request))
        if await request.is_disconnected():  # while it waited
            job.stop()
        return job

    async def work(self, request: Request, seconds: float, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Return what a worker answers within some seconds, when there is a place."""
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
    """Return the name that a visitor gave to a search, to find it among his own."""
    return request.headers.get(SEARCH, "")[:64]


def visitor_of(request: Request) -> str:
    """Return the name by which a visitor is known."""
    return request.cookies.get(VISITOR, "")[:64] or (request.client.host if request.client else "somebody")
