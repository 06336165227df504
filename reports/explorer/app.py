"""The application: pages and API behind the guard, and preloading of shared data at start-up."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from reports.explorer.api import api_router
from reports.explorer.facts import layers_of, position_facts
from reports.explorer.guard import Guard, Settings, add_handlers, http_refused
from reports.explorer.jobs import get_ready
from reports.explorer.pages import SITE_STATIC, STATIC, failed_page, headline, pages_router
from reports.explorer.tables import NamedTables
from reports.explorer.work import Places, Workers
from tablut import __version__
from tablut.board import Board
from tablut.errors import TablutError

_LOG = logging.getLogger("tablut.explorer")


def warm(tables: NamedTables) -> None:
    """Preload what every visitor needs: kernels, headline numbers and the first plies."""
    try:
        board = Board("ashton")
        headline()
        layers_of(board.variant)
        position_facts(board, tables)
    except TablutError as error:
        # The explorer works without preloading; only its first responses are slower.
        _LOG.warning("tablut: not all could be loaded beforehand: %s", error)
    # All data loaded so far stays in use. Freeze it, because a garbage collection that traverses it would block all
    # responses for a tenth of a second.
    gc.collect()
    gc.freeze()


_ABOUT = (
    'What the commands of `tablut` answer under `--json`, over HTTP. A failure is `{"error": "one line", '
    '"status": 422}`; 429, and 503 of a busy server, come with `Retry-After`.'
)


def create_app(settings: Settings | None = None, *, warmed: bool = True, workers: Workers | None = None) -> ASGIApp:
    """Return the explorer as an ASGI application.

    With `warmed`, a worker and the shared data are loaded in the background at start-up. `workers` replaces the
    application's own worker processes; the caller then closes them.
    """
    settings = settings or Settings()
    tables = NamedTables(settings.stores)
    used = Workers(get_ready) if workers is None else workers
    places = Places(settings, used)

    @asynccontextmanager
    async def _lifespan(_: FastAPI) -> AsyncIterator[None]:
        if warmed:
            used.warm()
            threading.Thread(target=warm, args=(tables,), daemon=True, name="warming").start()
        yield
        if workers is None:
            used.close()

    app = FastAPI(
        title="Tablut explorer",
        version=__version__,
        description=_ABOUT,
        docs_url=None,  # FastAPI's own pages load external scripts; /docs is a page of the explorer
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=_lifespan,
    )
    add_handlers(app)
    app.add_exception_handler(HTTPException, _not_found)
    app.include_router(api_router(settings, places, tables))
    app.include_router(pages_router(app, settings, tables))

    @app.get("/api", summary="What there is", tags=["boards"])
    def _index() -> dict[str, Any]:
        return {"version": __version__, "addresses": sorted(app.openapi()["paths"]), "document": "/api/openapi.json"}

    # Build the OpenAPI document now, in a single thread: it suppresses warnings, which is not thread-safe.
    app.openapi()
    for address, folder in (("/static", STATIC), ("/site", SITE_STATIC)):
        app.mount(address, StaticFiles(directory=folder), name=address)
    return Guard(app, settings)


async def _not_found(request: Request, error: Exception) -> Response:
    """Answer an HTTP error with an HTML page if a browser requested a page, otherwise with JSON."""
    assert isinstance(error, HTTPException)
    refusal = http_refused(request, error)
    for_people = "text/html" in request.headers.get("accept", "")
    if not for_people or request.url.path.startswith(("/api", "/static", "/site")):
        return refusal
    missing = error.status_code == 404
    return failed_page("no page has this address" if missing else str(error.detail), error.status_code)
