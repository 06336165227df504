"""What stands before every request: who may ask, how much at once, how large; and the headers of every answer.

On the loopback a page from elsewhere must not be able to ask, so the name that the browser believes to have reached
(``Host``) must be one of this machine's own, and ``Origin`` and ``Sec-Fetch-Site``, where there are any, must name the
same. This holds off what is known as DNS rebinding, and pages that embed an address here to have it compute.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers, MutableHeaders

from reports.explorer.failures import failure

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from reports.explorer.settings import Settings

__all__ = ["HEADERS", "Guard"]

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
"""Headers that every answer has."""

_OWN: Final = re.compile(r"(127\.0\.0\.1|\[::1\]|localhost)(:[0-9]{1,5})?")
_ELSEWHERE: Final = "another site's page may not ask this explorer"
_RECORDS: Final = ("/api/record", "/api/analyse")


class Guard:
    """Checks requests before the application sees them, and completes its answers."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the interface is that of ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def complete(message: Message) -> None:
            """Send a message, with the headers if it begins an answer."""
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
            body = await self._body(scope, receive)
            if isinstance(body, tuple):
                await failure(*body)(scope, receive, complete)
                return
            await self._app(scope, _replayed(body, receive), complete)
        finally:
            self._in_flight -= 1

    def _refusal(self, headers: Headers, path: str) -> tuple[str, int, dict[str, str]] | None:
        if self._in_flight >= self._settings.in_flight:
            return "the server is busy; try again in a moment", 503, {"Retry-After": "1"}
        host = headers.get("host", "").lower()
        if self._settings.local and _OWN.fullmatch(host) is None:
            return "this explorer answers to the names of the loopback only, such as 127.0.0.1", 421, {}
        if headers.get("origin", f"http://{host}") not in (f"http://{host}", f"https://{host}"):
            return _ELSEWHERE, 403, {}
        # What a browser says of a request that has no Origin. Links from elsewhere to pages are all right.
        leads_here = headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not leads_here:
            return _ELSEWHERE, 403, {}
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal() and len(length) < 20):
            return "the header Content-Length is no number", 400, {}
        if int(length) > self._most(path):
            return _too_large(self._most(path)), 413, {}
        return None

    def _most(self, path: str) -> int:
        return self._settings.record_bytes if path in _RECORDS else self._settings.body_bytes

    async def _body(self, scope: Scope, receive: Receive) -> bytes | tuple[str, int]:
        """Return the body of a request, or what is wrong with it and the status to say so with."""
        most, parts, size = self._most(scope["path"]), [], 0
        try:
            async with asyncio.timeout(self._settings.request_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return "the visitor has gone", 400
                    size += len(message.get("body", b""))
                    if size > most:
                        return _too_large(most), 413
                    parts.append(message.get("body", b""))
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            return f"the request did not arrive within {self._settings.request_seconds:g} seconds", 408


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a receiver that gives a body that was already read, then what comes after it."""
    given = False

    async def again() -> Message:
        """Return the next message."""
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _too_large(most: int) -> str:
    return f"the request is too large; at most {most:,} bytes are read here"
