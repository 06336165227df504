"""Middleware for all requests: access checks, limits on request size and number, and error responses.

On the loopback interface, pages from other sites must not be able to use the explorer. The ``Host`` header contains the
host name that the browser requested, which must be one of this machine's own names. If ``Origin`` and
``Sec-Fetch-Site`` are present, they must refer to the same site. These checks prevent DNS rebinding, and they prevent
other sites from starting computations by embedding an address of the explorer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tablut.errors import IllegalMoveError, MachineError, TablutError, fault_of
from tablut.play.collection_file import SHIPPED
from tablut.prober import MissingTableError

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
"""Addresses that can be reached only from this machine."""


@dataclass(frozen=True)
class Settings:
    """Address and limits of the explorer."""

    host: str = "127.0.0.1"
    stores: tuple[Path | str, ...] = ()
    games: Path = SHIPPED
    """Collection of games whose moves are shown beside the board."""
    players: tuple[str, ...] = ()
    """Python classes that visitors can play against, each as ``MODULE:CLASS``. No request can name another one."""
    searches: int = field(default_factory=lambda: max(1, (os.cpu_count() or 1) // 2))
    waiting: int = 4
    patience: float = 10.0
    movetime: float = 20.0
    proof_seconds: float = 10.0
    analysis_seconds: float = 120.0
    puzzle_seconds: float = 60.0
    count_seconds: float = 30.0
    bounds_seconds: float = 10.0
    margin: float = 10.0
    """Extra time in seconds that a search or a proof may take beyond its own limit before it is killed."""
    remembered: int = 4096
    """Number of probed positions that are cached. A thousand positions take about 10 MiB."""
    nodes: int = 50_000_000
    sequences: int = 2_000_000_000
    hash_mib: int = 32
    table_mib: int = 8
    proof_mib: int = 64
    body_bytes: int = 192 << 10
    record_bytes: int = 12 << 20
    in_flight: int = 64
    request_seconds: float = 15.0

    @property
    def local(self) -> bool:
        """Whether the explorer can be reached only from this machine."""
        return self.host in LOOPBACK


# -- error responses: each is a JSON object with a one-line message, `{"error": "...", "status": 422}` --


class BusyError(TablutError):
    """Error raised if the server is overloaded. The same request may succeed later."""

    def __init__(self, message: str, status: int = 503) -> None:
        super().__init__(message)
        self.status = status


class NotFoundError(TablutError):
    """Error raised if nothing exists under the requested name."""


_LOG = logging.getLogger("tablut.explorer")
_HTTP_MESSAGES: Final = {
    400: "the request is not a JSON object, or does not have the fields of this address",
    404: "there is nothing at this address; see the list at /api",
    405: "this address does not allow that method",
}


def status_of(error: TablutError) -> int:
    """Return the HTTP status for a toolkit error."""
    if isinstance(error, BusyError):
        return error.status
    if isinstance(error, (MissingTableError, NotFoundError)):
        return 404
    return 503 if isinstance(error, MachineError) else 422


def failure(message: str, status: int, headers: dict[str, str] | None = None, **more: str) -> JSONResponse:
    """Return a JSON response with a one-line error message."""
    return JSONResponse({"error": _line(message), "status": status, **more}, status, headers)


def content_of(error: BaseException, where: str) -> dict[str, Any]:
    """Return an error description for a visitor.

    Unexpected errors are logged with their traceback for the explorer's operator. The visitor sees only a general
    message.
    """
    if isinstance(error, TablutError):
        return {"error": _line(worded(error)), "status": status_of(error)}
    _LOG.error("%s failed", where, exc_info=error)
    return {"error": "the explorer has a bug; its terminal shows the traceback", "status": 500}


def worded(error: TablutError) -> str:
    """Return an error's message, with parameters named as on the pages."""
    error.rename({"variant": "your own rules"}.get)
    return str(error)


def _line(message: str) -> str:
    return " ".join(message.split())


def add_handlers(app: FastAPI) -> None:
    """Register handlers that answer every failure with a JSON object that contains a one-line message."""
    app.add_exception_handler(TablutError, _refused)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(ClientDisconnect, lambda *_: Response(status_code=400))
    app.add_exception_handler(Exception, _defect)


def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TablutError)
    status = status_of(error)
    # Suggest a retry only if the server is busy. A request that made a worker fail would fail again.
    headers = {"Retry-After": "2"} if isinstance(error, BusyError) else None
    more = {"why": error.why} if isinstance(error, IllegalMoveError) else {}
    return failure(worded(error), status, headers, **more)


def _not_valid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # Drop the first item in each location: it only shows whether the field is in the body, the query or the path.
    details = [{**detail, "loc": detail["loc"][1:]} for detail in error.errors()]
    if details[0]["type"] == "json_invalid" or not details[0]["loc"]:
        return failure(_HTTP_MESSAGES[400], 400)
    return failure(fault_of(details), 422)


def http_refused(_: Request, error: Exception) -> Response:
    """Return a JSON response for an HTTP error, such as an unknown address or an unsupported method."""
    assert isinstance(error, HTTPException)
    line = _HTTP_MESSAGES.get(error.status_code, str(error.detail))
    return failure(line, error.status_code, dict(error.headers or {}))


def _defect(request: Request, error: Exception) -> JSONResponse:
    content = content_of(error, f"{request.method} {request.url.path}")
    return JSONResponse(content, content["status"])


# -- before the application ------------------------------------------------------------------------

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every response."""

# Starlette's own middleware for this check responds in plain text, and its older versions refuse IPv6 addresses.
_OWN: Final = re.compile(r"(127\.0\.0\.1|\[::1\]|localhost)(:[0-9]{1,5})?")
_ELSEWHERE: Final = "pages of other sites cannot use this explorer"
_RECORDS: Final = ("/api/record", "/api/analyse")


class Guard:
    """ASGI middleware that checks requests before the application sees them, and completes its responses."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request through the ASGI interface."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        head = scope["method"] == "HEAD"
        if head:
            scope = {**scope, "method": "GET"}

        async def complete(message: Message) -> None:
            """Send a message. Add the headers when a response starts, and drop the body when responding to HEAD."""
            if head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(Headers(scope=scope), scope["path"])
        if refusal is not None:
            message, status, more = refusal
            await failure(message, status, more)(scope, receive, complete)
            return
        self._in_flight += 1
        try:
            await self._app(scope, self._limited(scope, receive), complete)
        finally:
            self._in_flight -= 1

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Return a ``receive`` function that refuses a request body that is too large or arrives too slowly."""
        most, size, ended = self._most(scope["path"]), 0, False
        until = asyncio.get_running_loop().time() + self._settings.request_seconds

        async def limited() -> Message:
            nonlocal size, ended
            if ended:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                seconds = f"{self._settings.request_seconds:g} seconds"
                raise HTTPException(408, f"the request did not arrive within {seconds}") from None
            size += len(message.get("body", b""))
            if size > most:
                raise HTTPException(413, _too_large(most))
            ended = not message.get("more_body", False)
            return message

        return limited

    def _refusal(self, headers: Headers, path: str) -> tuple[str, int, dict[str, str]] | None:
        if self._in_flight >= self._settings.in_flight:
            return "the server is busy; try again in a moment", 503, {"Retry-After": "1"}
        host = headers.get("host", "").lower()
        if self._settings.local and _OWN.fullmatch(host) is None:
            return "this explorer can only be used under a loopback name, such as 127.0.0.1", 421, {}
        if headers.get("origin", f"http://{host}") not in (f"http://{host}", f"https://{host}"):
            return _ELSEWHERE, 403, {}
        # Browsers send Sec-Fetch-Site even where they omit Origin. Links from other sites to pages are allowed.
        leads_here = headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not leads_here:
            return _ELSEWHERE, 403, {}
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal() and len(length) < 20):
            return "the header Content-Length is not a number", 400, {}
        if int(length) > self._most(path):
            return _too_large(self._most(path)), 413, {}
        return None

    def _most(self, path: str) -> int:
        return self._settings.record_bytes if path in _RECORDS else self._settings.body_bytes


def _too_large(most: int) -> str:
    return f"the request is too large; at most {most:,} bytes are allowed"
