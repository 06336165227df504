"""What goes wrong, as one JSON object with one clear line: `{"error": "...", "status": 422}`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from reports.explorer.errors import BusyError, NotFoundError
from tablut.errors import MachineError, TablutError
from tablut.prober import MissingTableError
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

_LOG = logging.getLogger("tablut.explorer")
_SAID: Final = {
    400: "the request is no JSON object, or not what this address takes",
    404: "there is nothing at this address; /api lists what there is",
    405: "this address does not take that method",
}


def status_of(error: TablutError) -> int:
    """Return the HTTP status of an error of the toolkit."""
    if isinstance(error, BusyError):
        return error.status
    if isinstance(error, (MissingTableError, NotFoundError)):
        return 404
    return 503 if isinstance(error, MachineError) else 422


def failure(message: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return a response that says in one line what is wrong."""
    return JSONResponse({"error": _line(message), "status": status}, status, headers)


def content_of(error: BaseException, where: str) -> dict[str, Any]:
    """Return what a visitor is told of an error; one that nobody foresaw is shown to whoever runs the explorer."""
    if isinstance(error, TablutError):
        return {"error": _line(str(error)), "status": status_of(error)}
    _LOG.error("%s failed", where, exc_info=error)
    return {"error": "a defect of the explorer; its terminal shows the trace", "status": 500}


def _line(message: str) -> str:
    return " ".join(message.split())


def add_handlers(app: FastAPI) -> None:
    """Have an application answer every failure in this form."""
    app.add_exception_handler(TablutError, _refused)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _defect)


def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TablutError)
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, BusyError) else None
    return failure(str(error), status_of(error), headers)


def _not_valid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = error.errors()[0]
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
    if first["type"] == "json_invalid" or (first["type"] == "missing" and not place):
        return failure(_SAID[400], 400)
    more = f" (and {len(error.errors()) - 1} more)" if len(error.errors()) > 1 else ""
    message = first["msg"][:1].lower() + first["msg"][1:]
    named = f"field {excerpt('.'.join(place))}: " if place else ""
    return failure(f"{named}{message}{more}", 422 if place else 400)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    line = _SAID.get(error.status_code, str(error.detail))
    if _for_people(request):
        from reports.explorer.pages import failed_page

        return failed_page("no page has this address" if error.status_code == 404 else line, error.status_code)
    return failure(line, error.status_code, dict(error.headers or {}))


def _for_people(request: Request) -> bool:
    """Return whether a browser asked for a page."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(("/api", "/static"))


def _defect(request: Request, error: Exception) -> JSONResponse:
    content = content_of(error, f"{request.method} {request.url.path}")
    return JSONResponse(content, content["status"])
