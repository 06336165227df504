"""The application: pages, the API and its document, behind the guard."""

from __future__ import annotations

import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from reports.explorer.api import api_router
from reports.explorer.boards import boards_router
from reports.explorer.desk import Desk
from reports.explorer.endings import endings_router
from reports.explorer.failures import add_handlers
from reports.explorer.games import games_router
from reports.explorer.guard import Guard
from reports.explorer.pages import STATIC, pages_router
from reports.explorer.puzzles import puzzles_router
from reports.explorer.settings import Settings
from reports.explorer.streaming import streaming_router
from reports.explorer.tables import Tables
from reports.explorer.warming import warm
from reports.explorer.workers import Workers
from tablut import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp

_ABOUT = (
    'What the commands of `tablut` answer under `--json`, over HTTP. A failure is `{"error": "one line", '
    '"status": 422}`; 429 and 503 come with `Retry-After`.'
)


def create_app(settings: Settings | None = None, *, warmed: bool = True, workers: Workers | None = None) -> ASGIApp:
    """Return the explorer as an ASGI application."""
    settings = settings or Settings()
    tables = Tables(settings.stores)
    hired = Workers() if workers is None else workers
    desk = Desk(settings, hired)

    @asynccontextmanager
    async def _lifespan(_: FastAPI) -> AsyncIterator[None]:
        """Load what every visitor needs, and remove what was made for them."""
        if warmed:
            threading.Thread(target=warm, args=(tables, hired), daemon=True, name="warming").start()
        yield
        if workers is None:
            hired.close()
        tables.close()

    app = FastAPI(
        title="Tablut explorer",
        version=__version__,
        description=_ABOUT,
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere; /docs is ours
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=_lifespan,
    )
    add_handlers(app)
    app.include_router(api_router(settings, desk, tables))
    app.include_router(boards_router(tables))
    app.include_router(puzzles_router(settings, desk))
    app.include_router(endings_router(settings, desk, tables))
    app.include_router(games_router(settings))
    app.include_router(streaming_router(settings, desk))
    app.include_router(pages_router(app, settings, tables))

    @app.get("/api", summary="What there is", tags=["boards"])
    def _index() -> dict[str, Any]:
        return {"version": __version__, "addresses": sorted(app.openapi()["paths"]), "document": "/api/openapi.json"}

    # Made now, in one thread: to make it hides warnings, which threads cannot do at the same time.
    app.openapi()
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return Guard(app, settings)
