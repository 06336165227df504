"""Answers that come while the work goes on: server-sent events of a search and of the analysis of a game.

The stream ends with ``done`` or ``failed``. When the visitor goes, the work is told to stop.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from reports.explorer.asked import MovesAsked
from reports.explorer.desk import visitor_of
from reports.explorer.failures import status_of
from reports.explorer.games import AnalysisAsked
from tablut.compilation import wall_clock
from tablut.errors import InputError, TablutError
from tablut.play.analysis import Analyst, analyse
from tablut.play.players import PlayerOptions
from tablut.play.players.alphabeta import AlphaBetaPlayer
from tablut.play.search.limits import SearchLimits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from reports.explorer.desk import Desk, Place
    from reports.explorer.settings import Settings
    from tablut.board import Board
    from tablut.play.players import Choice

__all__ = ["ThinkAsked", "streaming_router"]

_MOST_WAITING: Final = 1000
_HEARTBEAT: Final = 1.0
"""Seconds without news after which a line is sent, so that a visitor who has gone is noticed."""


class ThinkAsked(MovesAsked):
    """A position to think about."""

    movetime: float = Field(5.0, gt=0, description="Seconds.")


class _LeftError(Exception):
    """The visitor has gone."""


def streaming_router(settings: Settings, desk: Desk) -> APIRouter:
    """Return the addresses that answer as events.

    Parameters
    ----------
    settings : Settings
        The limits.
    desk : Desk
        Where the work waits for its turn.

    Returns
    -------
    APIRouter
        ``/api/think`` and ``/api/analyse``.
    """
    router = APIRouter(prefix="/api", tags=["streams"])

    @router.post("/think", summary="A search, told of while it goes on", response_class=StreamingResponse)
    async def _think(request: Request, asked: ThinkAsked) -> StreamingResponse:
        if asked.movetime > settings.movetime:
            raise InputError(f"movetime {asked.movetime:g}: at most {settings.movetime:g} seconds here")
        board = asked.board()
        if board.outcome() is not None:
            raise InputError(f"position '{board.position}': the game is over; there is nothing to search")
        place = await desk.enter(visitor_of(request))
        return _events(place, _thinking(board, asked.movetime, settings))

    @router.post("/analyse", summary="A game analysed, ply by ply", response_class=StreamingResponse)
    async def _analyse(request: Request, asked: AnalysisAsked) -> StreamingResponse:
        record, variant = asked.record_and_rules()
        most = settings.analysis_seconds
        limits = SearchLimits(movetime=min(asked.movetime, most / (len(record.moves) + 1)))
        place = await desk.enter(visitor_of(request))
        until = wall_clock() + most

        def work(tell: _Tell, left: _Left) -> dict[str, Any]:
            """Analyse, in a thread."""
            analyst = Analyst(
                variant, limits, proof_nodes=20_000, hash_mib=settings.hash_mib, table_mib=settings.table_mib
            )

            def watch(number: int) -> None:
                """Tell how far it is, and stop where nobody listens."""
                if left() or wall_clock() > until:
                    raise _LeftError
                tell("looked", {"ply": number, "plies": len(record.moves)})

            return analyse(record, analyst, watch).model_dump(mode="json")

        return _events(place, work)

    return router


def _thinking(board: Board, movetime: float, settings: Settings) -> _Work:
    def work(tell: _Tell, left: _Left) -> dict[str, Any]:
        """Search, in a thread."""
        player = AlphaBetaPlayer(board.variant, PlayerOptions(hash_mib=settings.hash_mib, table_mib=settings.table_mib))
        started = time.perf_counter()

        def heard(choice: Choice) -> None:
            """Pass on what is known after an iteration."""
            tell("info", _told(choice, board, started))
            if left():
                player.stop()

        player.observe(heard)
        left.stops(player.stop)
        return _told(player.choose(board, SearchLimits(movetime=movetime)), board, started)

    return work


def _told(choice: Choice, board: Board, started: float) -> dict[str, Any]:
    return {
        "move": str(choice.move),
        "score": choice.score,
        "mate": choice.mate,
        "depth": choice.depth,
        "nodes": choice.nodes,
        "tbhits": choice.tbhits,
        "pv": [str(move) for move in choice.pv],
        "turn": board.turn,
        "seconds": round(time.perf_counter() - started, 2),
    }


class _Left:
    """Whether the visitor has gone; then what was named is called."""

    def __init__(self) -> None:
        self._gone = False
        self._stop: Callable[[], None] = lambda: None

    def __call__(self) -> bool:
        return self._gone

    def stops(self, stop: Callable[[], None]) -> None:
        """Have this called when the visitor goes, or now if it has gone."""
        self._stop = stop
        if self._gone:
            stop()

    def leave(self) -> None:
        """Note that the visitor has gone."""
        self._gone = True
        self._stop()


if TYPE_CHECKING:
    _Tell = Callable[[str, dict[str, Any]], None]
    _Work = Callable[[_Tell, _Left], dict[str, Any]]


def _events(place: Place, work: _Work) -> StreamingResponse:
    """Return the stream of what work tells, and of its answer."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(place, work), media_type="text/event-stream", headers=headers)


async def _stream(place: Place, work: _Work) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    news: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue(_MOST_WAITING)
    left = _Left()

    def put(name: str, told: dict[str, Any]) -> None:
        """Queue news, unless nobody takes them."""
        if not news.full():
            news.put_nowait((name, told))

    def tell(name: str, told: dict[str, Any]) -> None:
        """Queue news from the thread that works."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(put, name, told)

    task = place.start(lambda: work(tell, left))
    # Let go by: news that were queued come before the end.
    task.add_done_callback(lambda done: loop.call_soon(put, *_ending(done)))
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
        left.leave()


def _ending(task: asyncio.Task[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    if task.cancelled():
        return "failed", {"error": "the server ends", "status": 503}
    error = task.exception()
    if error is None:
        return "done", task.result()
    if isinstance(error, TablutError):
        return "failed", {"error": " ".join(str(error).split()), "status": status_of(error)}
    if isinstance(error, _LeftError):
        return "failed", {"error": "the time for an analysis is over; a shorter game can be analysed", "status": 503}
    raise error
