"""The server process: the socket, the address that is printed, and an orderly end."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn

from reports.explorer.app import create_app
from tablut.errors import InputError, MachineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from reports.explorer.settings import Settings


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    shown = f"port {port} on {host}"
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host {host!r}: this machine has no such address") from error
    # With the protocol said, asyncio sends every answer at once; otherwise its end waits 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise InputError(f"--host {host!r}: this machine has no such address") from error
        if isinstance(error, PermissionError):
            raise MachineError(f"{shown}: is not allowed to you; choose one from 1024 on") from error
        raise MachineError(
            f"{shown}: cannot be listened on ({error.strerror}); choose another one with --port, or any with --port 0"
        ) from error
    return listener


def address_of(listener: socket.socket, host: str) -> str:
    """Return the address of a listening socket as a browser takes it."""
    port = listener.getsockname()[1]
    name = "127.0.0.1" if host in ("0.0.0.0", "") else "::1" if host == "::" else host
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def has_desktop() -> bool:
    """Return whether there is a screen that a browser could open on."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def configured(app: ASGIApp) -> uvicorn.Config:
    """Return how uvicorn serves an application: quietly, nothing said about itself, and with a short end."""
    return uvicorn.Config(
        app,
        log_level="critical",  # defects are told by our own handler, and the end cancels what still runs
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
        ws="none",
    )


def serve(settings: Settings, listener: socket.socket, ready: Callable[[], None], seconds: float | None = None) -> bool:
    """Serve the explorer until it is interrupted, or for some time."""

    async def _run(server: uvicorn.Server) -> None:
        """Serve, and say when it is ready."""
        task = asyncio.create_task(server.serve([listener]))
        while not server.started and not task.done():
            await asyncio.sleep(0.02)
        if server.started:
            ready()
        if seconds is not None:
            await asyncio.wait({task}, timeout=seconds)
            server.should_exit = True
        await task

    told = logging.StreamHandler()
    logging.getLogger("tablut.explorer").addHandler(told)
    switching = sys.getswitchinterval()
    # Answers come in time although other threads compute in Python.
    sys.setswitchinterval(0.002)
    try:
        asyncio.run(_run(uvicorn.Server(configured(create_app(settings)))))
    except KeyboardInterrupt:
        return True
    finally:
        sys.setswitchinterval(switching)
        logging.getLogger("tablut.explorer").removeHandler(told)
        listener.close()
    return False
