"""Answers that come while the work goes on: server-sent events of a search and of the analysis of a game.

The stream ends with ``done`` or ``failed``. When the visitor goes, the work is told to stop.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from reports.explorer.asked import AnalysisAsked, ThinkAsked
from reports.explorer.desk import visitor_of
from reports.explorer.failures import content_of
from reports.explorer.searching import analysed, think
from reports.explorer.workers import Job
from tablut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from reports.explorer.desk import Desk, Place
    from reports.explorer.settings import Settings

News: TypeAlias = "tuple[str, dict[str, Any]]"

_MOST_WAITING: Final = 1000
"""News that wait for a visitor who reads slowly; what comes then is left out, save the end."""
_HEARTBEAT: Final = 1.0
"""Seconds without news after which a line is sent, so that a visitor who has gone is noticed."""


def streaming_router(settings: Settings, desk: Desk) -> APIRouter:
    """Return the addresses that answer as events."""
    router = APIRouter(prefix="/api", tags=["streams"])

    @router.post("/think", summary="A search, told of while it goes on", response_class=StreamingResponse)
    async def _think(request: Request, asked: ThinkAsked) -> StreamingResponse:
        if asked.movetime > settings.movetime:
            raise InputError(f"movetime {asked.movetime:g}: at most {settings.movetime:g} seconds here")
        board = asked.board()
        if board.outcome() is not None:
            raise InputError(f"position '{board.position}': the game is over; there is nothing to search")
        return await _answer(request, desk, Job(think, (asked, asked.movetime, settings)))

    @router.post("/analyse", summary="A game analysed, ply by ply", response_class=StreamingResponse)
    async def _analyse(request: Request, asked: AnalysisAsked) -> StreamingResponse:
        asked.record_and_rules()  # what cannot be read is refused before anybody waits
        return await _answer(request, desk, Job(analysed, (asked, settings)))

    return router


async def _answer(request: Request, desk: Desk, job: Job) -> StreamingResponse:
    """Return the stream of a job, when there is a place for it."""
    place = await desk.enter(visitor_of(request))
    events = events_of(place, job)
    if await request.is_disconnected():  # while it waited
        place.stop()
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def events_of(place: Place, job: Job) -> AsyncIterator[bytes]:
    """Start a job, and return the stream of what it tells and of its answer.

    It is started at once and not when the stream is first read: nobody reads the stream of a visitor who has gone, and
    the place would stay taken.
    """
    loop = asyncio.get_running_loop()
    news: asyncio.Queue[News] = asyncio.Queue()

    def put(name: str, told: dict[str, Any]) -> None:
        """Queue news, unless nobody takes them."""
        if news.qsize() < _MOST_WAITING:
            news.put_nowait((name, told))

    def heard(name: str, told: dict[str, Any]) -> None:
        """Queue news from the thread that hears the worker."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(put, name, told)

    task = place.start(job, heard)
    # Let go by: news that were queued come before the end.
    task.add_done_callback(lambda done: loop.call_soon(news.put_nowait, _ending(done)))
    return _stream(place, task, news)


async def _stream(place: Place, task: asyncio.Task[Any], news: asyncio.Queue[News]) -> AsyncIterator[bytes]:
    try:
        while True:
            try:
                async with asyncio.timeout(_HEARTBEAT):
                    name, told = await news.get()
            except TimeoutError:
                yield b": still at it\n\n"
                continue
            yield f"event: {name}\ndata: {json.dumps(told)}\n\n".encode()
            if name in ("done", "failed"):
                return
    finally:
        if not task.done():
            place.stop()


def _ending(task: asyncio.Task[dict[str, Any]]) -> News:
    if task.cancelled():
        return "failed", {"error": "the server ends", "status": 503}
    error = task.exception()
    return ("done", task.result()) if error is None else ("failed", content_of(error, "a stream"))
