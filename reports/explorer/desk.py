"""Where work that takes long waits for its turn: few at once, few waiting, one a visitor; the rest is refused politely.

Each job is done by a worker, a process of its own (`reports.explorer.workers`), and holds its place until it has ended,
also if its visitor left: then it is told to stop.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from reports.explorer.errors import BusyError
from reports.explorer.workers import Errand, Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from reports.explorer.settings import Settings
    from reports.explorer.workers import Heard, Workers

Answer = TypeVar("Answer")

VISITOR: Final = "visitor"
"""The cookie by which a browser is known again; a program that keeps none is known by its address."""

_LOOK: Final = 0.25
"""Seconds between two looks whether a visitor is still there."""


def visitor_of(request: Request) -> str:
    """Return the name by which a visitor is known."""
    return request.cookies.get(VISITOR, "")[:64] or (request.client.host if request.client else "somebody")


class Place:
    """A place at the desk; a job is done there, and it is left when that has ended."""

    def __init__(self, desk: Desk, visitor: str) -> None:
        self._desk = desk
        self._visitor = visitor
        self._errand: Errand | None = None

    def start(self, job: Job, heard: Heard = lambda *_: None) -> asyncio.Task[Any]:
        """Start a job; the place is free again when it has ended."""
        self._errand = errand = Errand(self._desk.workers, job, heard)
        task = asyncio.create_task(_in_thread(errand.run))
        task.add_done_callback(self._ended)
        return task

    def stop(self) -> None:
        """Have the job end soon."""
        if self._errand is not None:
            self._errand.stop()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled():
            task.exception()  # looked at, so that nobody complains where the visitor has left
        self._desk.leave(self._visitor)


async def _in_thread(wait: Callable[[], Any]) -> Any:
    """Return what is waited for in a thread, for which nobody waits when the process ends."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(answer: Any, error: BaseException | None) -> None:
        """Hand over what came of it, in the thread of the loop."""
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer)

    def run() -> None:
        """Wait."""
        answer: Any = None
        failure: BaseException | None = None
        try:
            answer = wait()
        except BaseException as error:
            failure = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, answer, failure)

    threading.Thread(target=run, daemon=True, name="errand").start()
    # Whoever awaits may go; the thread does not end for that, and neither does the task.
    return await asyncio.shield(future)


class Desk:
    """The places for work that takes long."""

    def __init__(self, settings: Settings, workers: Workers) -> None:
        self.workers = workers
        self._free = settings.searches
        self._most_waiting = settings.waiting
        self._patience = settings.patience
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._held: Counter[str] = Counter()

    async def enter(self, visitor: str) -> Place:
        """Return a place, after waiting for it if need be."""
        if self._held[visitor] >= 2:
            raise BusyError("one search at a time, please: yours is still running and another one waits", 429)
        self._held[visitor] += 1
        try:
            await self._wait()
        except BaseException:
            self._forget(visitor)
            raise
        return Place(self, visitor)

    async def _wait(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        if len(self._waiting) >= self._most_waiting:
            raise BusyError("the server is searching for others, and enough are waiting; try again in a moment", 503)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(self._patience):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._pass_on()  # the turn came at the same moment
            with suppress(ValueError):
                self._waiting.remove(turn)
            if isinstance(error, TimeoutError):
                raise BusyError("the server is searching for others; try again in a moment", 503) from None
            raise

    def leave(self, visitor: str) -> None:
        """Free the place of a visitor for whoever waits longest."""
        self._forget(visitor)
        self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _forget(self, visitor: str) -> None:
        self._held[visitor] -= 1
        if self._held[visitor] <= 0:
            del self._held[visitor]

    async def work(self, request: Request, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Return what a worker answers, when there is a place at the desk."""
        place = await self.enter(visitor_of(request))
        task = place.start(Job(function, arguments))
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_LOOK)
                if not task.done() and await request.is_disconnected():
                    place.stop()
            answer: Answer = task.result()
            return answer
        finally:
            if not task.done():
                place.stop()
