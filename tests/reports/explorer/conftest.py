"""An explorer that runs as it does for people: a server in a thread, asked over the network."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest
import uvicorn

from reports.explorer.app import create_app
from reports.explorer.server import listen
from reports.explorer.settings import Settings

Running = Callable[[Settings], httpx.Client]


@contextmanager
def running(settings: Settings) -> Iterator[str]:
    """Run an explorer in a thread; the context is its address."""
    listener: socket.socket = listen("127.0.0.1", 0)
    app = create_app(settings, warmed=False)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    assert server.started
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
        assert not thread.is_alive()


@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    with running(Settings()) as found:
        yield found


@pytest.fixture(scope="package")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as found:
        yield found


@pytest.fixture
def started() -> Iterator[Running]:
    """Return what starts an explorer with other limits, and gives a client of it."""
    with ExitStack() as stack:

        def start(settings: Settings) -> httpx.Client:
            address = stack.enter_context(running(settings))
            return stack.enter_context(httpx.Client(base_url=address, timeout=60))

        yield start
