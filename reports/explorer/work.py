"""Execution of long-running work in low-priority worker processes, with limits on running and waiting jobs.

In threads of the serving process, searches would occupy the interpreter's lock and delay every probe. A worker is
therefore a separate process that is started on demand and reused. It runs one job at a time, sends messages about the
job, and ends when the process that started it ends. If a job exceeds its time limit, or does not end within a few
seconds after its visitor disconnects, it is killed together with its worker. If a job exhausts memory, the system
kills it. Other jobs are not affected.

The pools in ``concurrent.futures`` and pebble choose the process for a job themselves. A job could then neither send
messages nor receive a request to stop. They also start the time limit when a process accepts the job, and a suspended
process would block them forever. Only the names of this package's functions and plain values are sent to a worker,
through pipes that no other process can access.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from starlette.requests import ClientDisconnect, Request

from reports.explorer.guard import BusyError, Settings, content_of
from tablut.errors import MachineError
from tablut.results import Result
from tablut.work import clocks

Answer = TypeVar("Answer")

VISITOR: Final = "visitor"
"""Cookie that identifies a browser. A program that stores no cookies is identified by its address."""
SEARCH: Final = "search"
"""Header that names a search. A page uses the name later to request the search's status."""
_NICE: Final = 10
"""Niceness of a worker. A worker that competes for a processor gets about a tenth of its time."""
_GRACE: Final = 3.0
"""Time in seconds within which a job must end after a request to stop, once its worker is ready."""
_START: Final = 180.0
"""Time in seconds within which a new process must load its data and, on a new machine, compile the kernels."""
_LOOK: Final = 0.1
"""Interval in seconds between checks for time-outs and for disconnected visitors."""
_MOST_MESSAGES: Final = 1000
"""Maximum number of messages queued for a slow reader. Further messages are dropped, except the last one."""
_MOST_THREADS: Final = 256
"""Maximum number of threads that wait for workers. A running job uses one, and a job being stopped uses two."""


# -- in a worker -----------------------------------------------------------------------------------


class Channel:
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


def _serve_jobs(pipe: Connection, prepare: Callable[[], object] | None) -> None:
    """Run the jobs that arrive through a pipe, one after another. This is a worker's main function."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the serving process, and this process ends with it
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICE)
    sending = threading.Lock()  # the thread that compiles sends messages too

    def send(number: int, name: str, content: Any) -> None:
        with sending, suppress(OSError):
            pipe.send((number, name, content))

    jobs: SimpleQueue[tuple[int, Callable[[], object]]] = SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, send, jobs), daemon=True, name="requests").start()
    clocks.tell_by(lambda compiles: send(0, "compiles", compiles))
    with suppress(Exception):  # a job that needs the preparation will report the failure
        if prepare is not None:
            prepare()
    send(0, "ready", None)
    while True:
        number, job = jobs.get()
        try:
            send(number, "done", job())
        except Exception as error:
            trace = traceback.format_exc()
            try:
                send(number, "failed", (error, trace))
            except Exception:  # the error cannot be pickled
                send(number, "failed", (RuntimeError(str(error)), trace))


def _receive(
    pipe: Connection, send: Callable[[int, str, Any], None], jobs: SimpleQueue[tuple[int, Callable[[], object]]]
) -> None:
    """Queue the jobs that arrive, stop the current job on request, and exit when the serving process has ended."""
    # Jobs are numbered, because a request to stop may overtake its job or arrive after the job has ended.
    current = stopped = 0
    while True:
        try:
            number, *work = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)
        if work:
            current, channel = number, Channel(partial(send, number))
            function, arguments = work
            jobs.put((number, partial(function, channel, *arguments)))
        else:
            stopped = number
        if current == stopped:
            channel.stop()


# -- in the serving process ------------------------------------------------------------------------


class _Worker:
    """A process that runs jobs, one after another."""

    def __init__(self, prepare: Callable[[], object] | None) -> None:
        # The process is spawned, not forked: a forked copy would inherit locks held by threads that it does not have.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve_jobs, args=(theirs, prepare), daemon=True)
        try:
            self._process.start()
        except OSError as error:
            raise MachineError(f"no process for the search can be started: {error.strerror or error}") from error
        finally:
            theirs.close()  # the pipe then closes when the process ends
        self._sending = threading.Lock()
        self.number = 0
        self.ready = False
        self.idle = True

    @property
    def alive(self) -> bool:
        """Whether the process is still running."""
        return self._process.is_alive()

    def begin(self) -> int:
        """Reserve the worker for its next job, and return the job number."""
        self.number += 1
        self.idle = False
        return self.number

    def run(self, number: int, *work: Any, deliver: Callable[[str, Any], object]) -> tuple[str, Any]:
        """Run a job, deliver its messages, and return the last one, which is ``done`` or ``failed``.

        This method must be called in a thread. It may block, since a suspended process neither reads nor writes.
        """
        try:
            self._send(number, *work)
            while True:
                sender, name, content = self._pipe.recv()
                self.ready |= name == "ready"
                if sender == number and name in ("done", "failed"):
                    self.idle = True
                    return name, content
                if sender in (0, number):
                    deliver(name, content)
        except (EOFError, OSError) as error:
            raise MachineError("the process that searched has ended", remedy="try again") from error

    def stop(self, number: int) -> None:
        """Ask a job to stop. This may block, like `run`."""
        with suppress(OSError):  # the process has ended already
            self._send(number)

    def _send(self, *message: Any) -> None:
        with self._sending:
            self._pipe.send(message)

    def kill(self, *, wait: bool = False) -> None:
        """Kill the process. This also ends the threads that wait for it."""
        self._process.kill()
        if wait:
            self._process.join()


class Workers:
    """The pool of worker processes, busy and idle."""

    def __init__(self, prepare: Callable[[], object] | None = None) -> None:
        self._prepare = prepare
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._closed = False
        self.threads = ThreadPoolExecutor(_MOST_THREADS, "workers")

    def take(self) -> _Worker:
        """Return an idle worker, or a new one if none is idle. Workers that the system has killed are discarded."""
        if self._closed:
            raise MachineError("the explorer is stopping")
        while self._idle:
            if (worker := self._idle.pop()).alive:
                return worker
            self.give_back(worker)
        worker = _Worker(self._prepare)
        self._all.add(worker)
        return worker

    def give_back(self, worker: _Worker) -> None:
        """Keep a worker for the next job, or kill it if it is no longer usable."""
        if worker.idle and worker.alive and not self._closed:
            self._idle.append(worker)
        else:
            worker.kill()
            self._all.discard(worker)

    def stop(self, worker: _Worker) -> None:
        """Ask a worker's current job to stop."""
        if not self._closed:
            self.threads.submit(worker.stop, worker.number)

    def warm(self) -> None:
        """Start a worker in advance to spare the first visitor the wait."""
        self.give_back(self.take())

    def close(self) -> None:
        """Kill all workers. All running jobs fail."""
        self._closed = True
        self._idle.clear()
        for worker in self._all:
            worker.kill(wait=True)
        self._all.clear()
        self.threads.shutdown()


class Job:
    """A job in a worker, and its messages as they arrive. The last message is ``done`` or ``failed``."""

    def __init__(self, workers: Workers, seconds: float, function: Callable[..., Any], *arguments: Any) -> None:
        self._workers, self._seconds = workers, seconds
        self._until, self._stopping = 0.0, False
        self._worker: _Worker | None = None
        self.compiles, self.said = False, ""
        self.messages: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self.task = asyncio.create_task(self._run(function, arguments))
        self.task.add_done_callback(lambda task: self.messages.put_nowait(_ending(task)))

    def stop(self) -> None:
        """Ask the job to stop. If it does not end within a few seconds, its worker is killed."""
        if not self._stopping:
            self._stopping = True
            if self._worker is not None:
                self._stop(self._worker)

    def _stop(self, worker: _Worker) -> None:
        if worker.ready:  # killing a new process would make the next search wait for another one to start
            self._until = min(self._until, time.monotonic() + _GRACE)
        self._workers.stop(worker)

    async def _run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        worker = self._worker = self._workers.take()
        number = worker.begin()
        limit = self._seconds if worker.ready else _START
        self._until = time.monotonic() + limit
        if self._stopping:  # before the job began
            self._stop(worker)
        loop = asyncio.get_running_loop()

        def deliver(name: str, content: Any) -> None:
            with suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(self._receive, name, content)

        run = partial(worker.run, number, function, arguments, deliver=deliver)
        running = loop.run_in_executor(self._workers.threads, run)
        try:
            while not running.done():
                await asyncio.wait({running}, timeout=_LOOK)
                if not running.done() and time.monotonic() > self._until:
                    limit = self._seconds if worker.ready else limit
                    raise MachineError(f"this took longer than {limit:g} seconds and was stopped")
            name, content = running.result()
            if name == "done":
                return content
            error, trace = content
            error.add_note(trace)
            raise error
        finally:
            self._worker = None
            self._workers.give_back(worker)
            # The thread of a killed worker raises an error, which asyncio would log if it were never retrieved.
            await asyncio.wait({running})
            running.exception()

    def _receive(self, name: str, content: Any) -> None:
        """Handle a message from the worker. With a new worker, the job's time limit starts when the worker is ready."""
        if name == "compiles":
            self.compiles = content
        elif name == "said":
            self.said = content
        elif name == "ready":
            self._until = time.monotonic() + (_GRACE if self._stopping else self._seconds)
        elif self.messages.qsize() < _MOST_MESSAGES:
            self.messages.put_nowait((name, content))


def _ending(task: asyncio.Task[Any]) -> tuple[str, Any]:
    if task.cancelled():
        return "failed", {"error": "the server is stopping", "status": 503}
    error = task.exception()
    return ("done", task.result()) if error is None else ("failed", content_of(error, "a job"))


# -- the queue of visitors -------------------------------------------------------------------------


class SearchStatus(Result):
    """Status of a visitor's search.

    ``before`` is its place in the queue (0 if it is running), and ``said`` describes in words how far it has come.
    """

    name: str
    before: int
    compiles: bool
    said: str


@dataclass(eq=False)
class _Search:
    """A visitor's search. It is waiting in the queue while ``job`` is None."""

    visitor: str
    name: str
    job: Job | None = None


class JobQueue:
    """Queue of the visitors who wait for a worker.

    A visitor who leaves gives up a place in the queue at once. A running job keeps its place until it has ended.
    """

    def __init__(self, settings: Settings, workers: Workers) -> None:
        self._workers, self._settings = workers, settings
        self._free = asyncio.Semaphore(settings.searches)
        self._searches: list[_Search] = []

    async def start(
        self, visitor: str, seconds: float, function: Callable[..., Any], *arguments: Any, name: str = ""
    ) -> Job:
        """Start a job as soon as a place is free for it.

        Raise `BusyError` if the visitor already has two searches, or if too many visitors are waiting.
        """
        if sum(search.visitor == visitor for search in self._searches) >= 2:
            raise BusyError("you already have a search running and another one waiting; try again in a moment", 429)
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

    def status(self, visitor: str) -> list[SearchStatus]:
        """Return the status of a visitor's searches."""
        before = {id(search): number for number, search in enumerate(self._waiting(), 1)}
        return [
            SearchStatus(
                name=search.name,
                before=before.get(id(search), 0),
                compiles=search.job is not None and search.job.compiles,
                said="" if search.job is None else search.job.said,
            )
            for search in self._searches
            if search.visitor == visitor
        ]

    async def stream(self, request: Request, seconds: float, function: Callable[..., Any], *arguments: Any) -> Job:
        """Start a job whose messages are read as they arrive."""
        name = request.headers.get(SEARCH, "")[:64]
        starting = asyncio.create_task(self.start(visitor_of(request), seconds, function, *arguments, name=name))
        while not (await asyncio.wait({starting}, timeout=_LOOK))[0]:
            if await request.is_disconnected() and starting.cancel():
                raise ClientDisconnect  # the visitor left the queue
        job = starting.result()
        if await request.is_disconnected():  # the visitor left while the job waited
            job.stop()
        return job

    async def work(self, request: Request, seconds: float, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Run a job in a worker as soon as a place is free, and return its result."""
        job = await self.stream(request, seconds, function, *arguments)
        try:
            while not job.task.done():
                await asyncio.wait({job.task}, timeout=_LOOK)
                if not job.task.done() and await request.is_disconnected():
                    job.stop()
            answer: Answer = job.task.result()
            return answer
        finally:
            job.stop()


def visitor_of(request: Request) -> str:
    """Return the name that identifies a visitor."""
    return request.cookies.get(VISITOR, "")[:64] or (request.client.host if request.client else "somebody")
