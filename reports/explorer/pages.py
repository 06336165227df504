"""The explorer's pages: HTML rendered from templates and made interactive by the modules in ``static``."""

from __future__ import annotations

import secrets
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from counting import bounds
from reports.explorer.asked import known_players
from reports.explorer.jobs import list_puzzles
from reports.explorer.tables import NamedTables, list_tables
from reports.explorer.work import VISITOR
from reports.rendering import templates
from reports.site.play import OPENINGS, stored_walk, walk_data
from tablut import __version__, svg
from tablut.variants import shipped_variants

if TYPE_CHECKING:
    from collections.abc import Callable

    from counting import BoundsReport
    from reports.explorer.guard import Settings

STATIC: Final = Path(__file__).resolve().parent / "static"
SITE_STATIC: Final = STATIC.parents[1] / "site" / "static"
"""Scripts of the site's walks, shared with the explorer's page on openings."""
PAGES: Final = (
    ("board", "/board", "Board"),
    ("play", "/play", "Play"),
    ("puzzles", "/puzzles", "Puzzles"),
    ("endings", "/endings", "Endings"),
    ("games", "/games", "Games"),
    ("api", "/docs", "API"),
    ("help", "/help", "Help"),
)
"""Name, address and title of each menu entry."""


def _rendered(name: str, **values: Any) -> str:
    """Render a page from its template."""
    template = templates("explorer/templates", html=True).get_template(f"{name}.html.j2")
    return template.render(page=name, pages=PAGES, version=__version__, **values)


@cache
def headline() -> BoundsReport:
    """Return the bounds shown on the home page and in the help; computed once."""
    return bounds("ashton")


def failed_page(line: str, status: int) -> HTMLResponse:
    """Return a page that reports an error."""
    return HTMLResponse(_rendered("failed", line=line, status=status), status)


def pages_router(app: FastAPI, settings: Settings, tables: NamedTables) -> APIRouter:
    """Return the router with the addresses of the pages."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    def add(path: str, name: str, content: Callable[[Request], dict[str, Any]]) -> None:
        """Register a page; a visitor without a cookie receives one."""

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
            "variants": sorted({puzzle.variant for puzzle in listed}),
            "lengths": sorted({puzzle.plies for puzzle in listed}),
            "themes": sorted({puzzle.theme for puzzle in listed}),
        }

    @cache
    def openings() -> dict[str, Any]:
        stored = stored_walk(OPENINGS)
        return {"stored": stored, "data": Markup(walk_data(stored))}

    add("/", "home", home)
    add("/board", "board", lambda _: {"variants": shipped_variants()})
    add("/play", "play", lambda _: {"variants": shipped_variants(), "players": known_players()})
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
    """Return a description of each API address, taken from the OpenAPI document; GET and POST share an entry."""
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
                    _field(one["name"], one["schema"] | {"description": one.get("description", "")}, one["required"])
                    for one in operation.get("parameters", ())
                ]
    order = ["commands", "boards", "puzzles", "endings", "games", "streams"]
    return sorted(found.values(), key=lambda entry: order.index(entry["tag"]))


def _fields(body: dict[str, Any], document: dict[str, Any]) -> list[dict[str, str]]:
    schema = body["content"]["application/json"]["schema"]
    named = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    needed = named.get("required", ())
    return [_field(name, one, name in needed) for name, one in named["properties"].items()]


def _field(name: str, schema: dict[str, Any], needed: bool) -> dict[str, str]:
    kinds = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    kind = kinds[0] if kinds else {}
    said = " | ".join(map(str, kind["enum"])) if "enum" in kind else kind.get("type", "")
    default = "" if schema.get("default") in (None, "", []) else str(schema["default"])
    return {
        "name": name,
        "type": said,
        "default": "needed" if needed else default,
        "meaning": schema.get("description", ""),
    }
