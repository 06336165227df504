"""An explorer that runs as it does for people: a server in a thread, asked over the network."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import uvicorn

from reports.explorer.app import create_app
from reports.explorer.guard import Settings
from reports.explorer.server import configured
from reports.explorer.work import Workers
from tablut.work.machine import listen
from tests.support.waiting import PATIENCE, eventually

Running = Callable[[Settings], httpx.Client]
"""Starts an explorer with some limits, and gives a client of it."""


@contextmanager
def running(settings: Settings, workers: Workers, *, warmed: bool = False, port: int = 0) -> Iterator[str]:
    """Run an explorer in a thread, with workers that may be shared; the context is its address."""
    listener = listen("127.0.0.1", port)
    server = uvicorn.Server(configured(create_app(settings, warmed=warmed, workers=workers)))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    eventually(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()
        assert not thread.is_alive()
