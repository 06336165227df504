"""Servers that misbehave on request: one of a folder's files, with ranges, and one in front of an S3 server."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from tests.support.waiting import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest


@dataclass
class Asked:
    """A request as it came, and how many bytes of content went back."""

    method: str
    path: str
    range: str | None
    sent: int = 0


@dataclass
class Server:
    """A running server.

    `faults` are taken from the front, one for each request that `chosen` picks: ``stall`` (no answer),
    ``error`` (500), ``short`` (fewer bytes than announced, then the connection ends), ``cut`` (fewer bytes, announced
    as such), ``wrong`` (a byte changed), ``forbidden`` (403); anything else answers as it should.
    """

    url: str
    asked: list[Asked] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    always: str = ""
    chosen: Callable[[Asked], bool] = lambda asked: asked.method == "GET"

    def fault(self, asked: Asked) -> str:
        if not self.chosen(asked):
            return ""
        return self.always or (self.faults.pop(0) if self.faults else "")

    def forget(self) -> None:
        self.asked.clear()

    @property
    def requests(self) -> int:
        return len(self.asked)

    @property
    def sent(self) -> int:
        return sum(asked.sent for asked in self.asked)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Server
    answer: Callable[[_Handler], tuple[int, dict[str, str], bytes]]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        asked = Asked(self.command, unquote(urlsplit(self.path).path), self.headers.get("Range"))
        self.state.asked.append(asked)
        fault = self.state.fault(asked)
        if fault == "stall":
            self.connection.recv(1)  # until whoever asked has gone
            self.close_connection = True
            return
        status, headers, body = type(self).answer(self)
        if fault == "error":
            status, headers, body = 500, {}, b"out of order"
        elif fault == "forbidden":
            status, headers, body = 403, {}, b"not for you"
        elif fault == "wrong" and body:
            middle = len(body) // 2
            body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
        elif fault == "cut":
            body = body[: len(body) // 2]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault == "short":
            body = body[: len(body) // 2]
            self.close_connection = True
        if self.command != "HEAD":
            self.wfile.write(body)
            asked.sent = len(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815


@contextmanager
def _running(answer: Callable[[_Handler], tuple[int, dict[str, str], bytes]]) -> Iterator[Server]:
    state = Server("")
    handler = type("Handler", (_Handler,), {"state": state, "answer": staticmethod(answer)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def folder_server(folder: Path, *, ranges: bool = True) -> Iterator[Server]:
    """Serve the files of a folder, as a plain web server does, with ranges or without."""

    def answer(request: _Handler) -> tuple[int, dict[str, str], bytes]:
        path = folder / unquote(urlsplit(request.path).path).lstrip("/")
        if not path.is_file() or ".." in path.parts:
            return 404, {}, b"no such file"
        content = path.read_bytes()
        state = path.stat()
        headers = {"ETag": f'"{state.st_mtime_ns}-{state.st_size}"', "Last-Modified": request.date_time_string()}
        if request.command == "HEAD":
            return 200, {**headers, "Content-Length": str(len(content))}, b""
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("Range") or "")
        if asked is None or not ranges:
            return 200, headers, content
        first = int(asked[1]) if asked[1] else max(0, len(content) - int(asked[2]))
        last = min(int(asked[2]) if asked[1] and asked[2] else len(content) - 1, len(content) - 1)
        if first > last:
            return 416, {"Content-Range": f"bytes */{len(content)}"}, b""
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        return 206, headers, content[first : last + 1]

    with _running(answer) as server:
        yield server


@contextmanager
def proxy(port: int) -> Iterator[Server]:
    """Pass requests on to a server of this machine, and its answers back."""

    def answer(request: _Handler) -> tuple[int, dict[str, str], bytes]:
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request(request.command, request.path, body, dict(request.headers))
            found = connection.getresponse()
            content = found.read()
            kept = {"etag", "last-modified", "content-range", "content-type"}
            if request.command == "HEAD":
                kept.add("content-length")
            return found.status, {name: value for name, value in found.headers.items() if name.lower() in kept}, content
        finally:
            connection.close()

    with _running(answer) as server:
        yield server


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except OSError:
        return False
    return True


@contextmanager
def s3_server() -> Iterator[int]:
    """Run an S3 server as a process of its own; its port on this machine."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            eventually(lambda: _answers(port) or process.poll() is not None)
            assert process.poll() is None, "the S3 server ended"
            yield port
        finally:
            process.terminate()


@contextmanager
def empty_bucket(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Make a new bucket named ``tables`` behind a server that can misbehave, and let the environment name it."""
    with proxy(port) as server:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-to-be-printed")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        reset = urllib.request.Request(f"http://127.0.0.1:{port}/moto-api/reset", method="POST")
        urllib.request.urlopen(reset, timeout=PATIENCE).close()
        made = urllib.request.Request(f"http://127.0.0.1:{port}/tables", method="PUT")
        urllib.request.urlopen(made, timeout=PATIENCE).close()
        yield server
