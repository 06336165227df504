"""The ASGI application: the pages and the API behind the guard. Shared data are preloaded at start-up.

The pages are HTML rendered from templates and made interactive by the modules in ``static``.
"""

from __future__ import annotations

import gc
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from counting import BoundsReport, bounds
from reports.explorer.api import api_router
from reports.explorer.facts import NamedTables, layers_of, list_tables, position_facts
from reports.explorer.guard import Guard, Settings, add_handlers, http_refused
from reports.explorer.jobs import get_ready, list_puzzles
from reports.explorer.requests import known_players
from reports.explorer.work import VISITOR, JobQueue, Workers
from reports.rendering import templates
from reports.site.site_builder import OPENINGS, stored_walk, walk_data
from tablut import __version__, svg
from tablut.board import Board
from tablut.errors import TablutError
from tablut.variants import shipped_variants

_LOG = logging.getLogger("tablut.explorer")
STATIC: Final = Path(__file__).resolve().parent / "static"
SITE_STATIC: Final = STATIC.parents[1] / "site" / "static"
"""Folder of the site's scripts; the explorer's page on openings uses the script for walks."""
PAGES: Final = (
    ("play", "/play", "Play"),
    ("board", "/board", "Board"),
    ("puzzles", "/puzzles", "Puzzles"),
    ("endings", "/endings", "Endings"),
    ("games", "/games", "Games"),
    ("help", "/help", "Help"),
)
"""Name, address and title of each page in the menu. The page on the API is for programmers: the footer links to it."""


def warm(tables: NamedTables) -> None:
    """Preload what every visitor needs: kernels, headline numbers and the first plies."""
    try:
        board = Board("ashton")
        headline()
        layers_of(board.variant)
        position_facts(board, tables)
    except TablutError as error:
        # The explorer works without preloading; only its first responses are slower.
        _LOG.warning("tablut: some data could not be loaded in advance: %s", error)
    # Everything loaded so far stays in use. Exempt it from garbage collection, which would otherwise block all
    # responses for a tenth of a second.
    gc.collect()
    gc.freeze()


_ABOUT = (
    'The JSON output of the commands of `tablut`, over HTTP. A failure is `{"error": "one line", '
    '"status": 422}`. If you have too many searches (429) or the server is busy (503), the response has the header '
    "`Retry-After`."
)


def create_app(settings: Settings | None = None, *, warmed: bool = True, workers: Workers | None = None) -> ASGIApp:
    """Return the explorer as an ASGI application.

    If `warmed` is set, a worker and the shared data are loaded in the background at start-up. `workers` replaces the
    application's own worker processes; in this case, the caller must close them.
    """
    settings = settings or Settings()
    tables = NamedTables(settings.stores)
    used = Workers(get_ready) if workers is None else workers
    queue = JobQueue(settings, used)

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
    app.include_router(api_router(settings, queue, tables))
    app.include_router(_pages_router(app, settings, tables))

    @app.get("/api", summary="List of addresses", tags=["boards"])
    def _index() -> dict[str, Any]:
        return {"version": __version__, "addresses": sorted(app.openapi()["paths"]), "document": "/api/openapi.json"}

    # Build the OpenAPI document now, in a single thread, because building it suppresses warnings. That is not
    # thread-safe.
    app.openapi()
    for address, folder in (("/static", STATIC), ("/site", SITE_STATIC)):
        app.mount(address, StaticFiles(directory=folder), name=address)
    return Guard(app, settings)


async def _not_found(request: Request, error: Exception) -> Response:
    """Return a response for an HTTP error: an HTML page if a browser requested a page, otherwise JSON."""
    assert isinstance(error, HTTPException)
    refusal = http_refused(request, error)
    for_people = "text/html" in request.headers.get("accept", "")
    if not for_people or request.url.path.startswith(("/api", "/static", "/site")):
        return refusal
    missing = error.status_code == 404
    return _failed_page("there is no page at this address" if missing else str(error.detail), error.status_code)


# -- pages -----------------------------------------------------------------------------------------


def _rendered(name: str, **values: Any) -> str:
    """Render a page from its template."""
    template = templates("explorer/templates", html=True).get_template(f"{name}.html.j2")
    return template.render(page=name, pages=PAGES, version=__version__, **values)


@cache
def headline() -> BoundsReport:
    """Return the bounds shown on the home page and on the help page. These bounds are computed only once."""
    return bounds("ashton")


def _failed_page(line: str, status: int) -> HTMLResponse:
    """Return a page that reports an error."""
    return HTMLResponse(_rendered("failed", line=line, status=status), status)


def _pages_router(app: FastAPI, settings: Settings, tables: NamedTables) -> APIRouter:
    """Return the router for the pages' addresses."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    def add(path: str, name: str, content: Callable[[Request], dict[str, Any]]) -> None:
        """Register a page, which also sets a new visitor's cookie."""

        def answer(request: Request) -> HTMLResponse:
            response = HTMLResponse(_rendered(name, **content(request)), headers={"Cache-Control": "no-cache"})
            if VISITOR not in request.cookies:
                response.set_cookie(VISITOR, secrets.token_urlsafe(12), httponly=True, samesite="strict")
            return response

        answer.__annotations__["request"] = Request
        router.add_api_route(path, answer)

    def board(pixels: int) -> Markup:
        return Markup(svg.board("ashton", coordinates=False, pixels=pixels))

    def home(_: Request) -> dict[str, Any]:
        numbers = {"puzzles": len(list_puzzles()), "tables": len(list_tables(tables))}
        return numbers | {"headline": headline(), "drawing": board(420), "variants": len(shipped_variants())}

    def puzzles(_: Request) -> dict[str, Any]:
        listed = list_puzzles().values()
        return {
            "variants": [one for one in shipped_variants() if one.name in {puzzle.variant for puzzle in listed}],
            "lengths": sorted({puzzle.plies for puzzle in listed}),
            "themes": sorted({puzzle.theme for puzzle in listed}),
        }

    @cache
    def openings() -> dict[str, Any]:
        stored = stored_walk(OPENINGS)
        return {"stored": stored, "data": Markup(walk_data(stored))}

    add("/", "home", home)
    add("/board", "board", lambda _: {"variants": shipped_variants()})
    add("/play", "play", lambda _: {"variants": shipped_variants(), "players": known_players(settings.players)})
    add("/puzzles", "puzzles", puzzles)
    add("/endings", "endings", lambda _: {"tables": list_tables(tables)})
    add("/openings", "openings", lambda _: openings())
    add("/games", "games", lambda _: {"variants": shipped_variants()})
    add("/help", "help", lambda request: home(request) | {"drawing": board(320)})
    add(
        "/docs",
        "api",
        lambda request: {"operations": _operations(app), "settings": settings, "address": request.base_url},
    )
    return router


def _operations(app: FastAPI) -> list[dict[str, Any]]:
    """Return a description of each API address from the OpenAPI document. GET and POST share one entry."""
    document = app.openapi()
    found: dict[str, dict[str, Any]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            entry = found.setdefault(
                path, {"path": path, "methods": [], "summary": operation["summary"], "fields": [], "tag": ""}
            )
            entry["tag"] = operation.get("tags", [""])[0]
            entry["methods"].append(method.upper())
            if method == "post" and "requestBody" in operation:
                entry["fields"] = _fields(operation["requestBody"], document)
            elif not entry["fields"]:
                entry["fields"] = [
                    _field(
                        field["name"],
                        {**field["schema"], "description": field.get("description", "")},
                        field["required"],
                    )
                    for field in operation.get("parameters", ())
                ]
    order = ["commands", "boards", "puzzles", "endings", "games", "streams"]
    return sorted(found.values(), key=lambda entry: order.index(entry["tag"]))


def _fields(body: dict[str, Any], document: dict[str, Any]) -> list[dict[str, str]]:
    schema = body["content"]["application/json"]["schema"]
    named = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    needed = named.get("required", ())
    return [_field(name, field, name in needed) for name, field in named["properties"].items()]


def _field(name: str, schema: dict[str, Any], needed: bool) -> dict[str, str]:
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    kind = kinds[0] if kinds else {}
    values = " | ".join(map(str, kind["enum"])) if "enum" in kind else kind.get("type", "")
    default = "" if schema.get("default") in (None, "", []) else str(schema["default"])
    return {
        "name": name,
        "type": values,
        "default": "needed" if needed else default,
        "meaning": schema.get("description", ""),
    }
