"""The command ``tablut serve``, which opens a socket, prints its address, and shuts down in an orderly way."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.text import Text

from tablut.cli.command import command
from tablut.cli.options import warn
from tablut.cli.people import Live, PeopleConsole
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import Reply
from tablut.errors import InputError
from tablut.play.collection_file import SHIPPED
from tablut.results import Result
from tablut.work.machine import listen

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn
    from starlette.types import ASGIApp

    from reports.explorer.guard import Settings


def address_of(listener: socket.socket, host: str) -> str:
    """Return a listening socket's address in a form that a browser accepts."""
    port = listener.getsockname()[1]
    name = "127.0.0.1" if host in ("0.0.0.0", "") else "::1" if host == "::" else host
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def has_desktop() -> bool:
    """Return whether there is a desktop on which a browser can be opened."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def configured(app: ASGIApp) -> uvicorn.Config:
    """Return uvicorn's configuration for an application: few log messages, no server header, and a quick shutdown."""
    import uvicorn

    return uvicorn.Config(
        app,
        log_level="critical",  # our own handler reports defects, and the shutdown cancels the remaining tasks
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
        ws="none",
    )


def _exit(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def serve(settings: Settings, listener: socket.socket, ready: Callable[[], None], seconds: float | None = None) -> bool:
    """Serve the explorer until it is interrupted, or for a limited time. Return whether an interrupt stopped it."""
    import uvicorn

    from reports.explorer.app import create_app

    async def _run(server: uvicorn.Server) -> None:
        """Run the server, and call ``ready`` when it accepts requests."""
        task = asyncio.create_task(server.serve([listener]))
        while not server.started and not task.done():
            await asyncio.sleep(0.02)
        if server.started:
            ready()
        if seconds is not None:
            await asyncio.wait({task}, timeout=seconds)
            server.should_exit = True
        await task

    # uvicorn shuts down on SIGTERM and then raises the signal again. Turn this into an exception to make the clean-up
    # below run.
    before = signal.signal(signal.SIGTERM, _exit) if threading.current_thread() is threading.main_thread() else None
    log = logging.StreamHandler()
    logging.getLogger("tablut.explorer").addHandler(log)
    # A wakeup descriptor that the caller has set to notice interrupts would end the process on Ctrl-C, before the
    # server has stopped.
    wakeup = signal.set_wakeup_fd(-1)
    switching = sys.getswitchinterval()
    # This keeps response times short, even if other threads run Python code.
    sys.setswitchinterval(0.002)
    try:
        asyncio.run(_run(uvicorn.Server(configured(create_app(settings)))))
    except KeyboardInterrupt:
        return True
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        sys.setswitchinterval(switching)
        logging.getLogger("tablut.explorer").removeHandler(log)
        listener.close()
    return False


# -- the command ----------------------------------------------------------------------------------


class _Served(Result):
    address: str
    local: bool
    tablebases: list[str]
    interrupted: bool


class ServeRequest(Request):
    """The request of ``tablut serve``."""

    host: str = Option("127.0.0.1", "Address to listen on; the default is local.", metavar="HOST")
    port: int = Option(8137, "Port; 0 for any free port.", least=0, most=65535)
    browser: bool = Option(True, "Whether to open the address in a browser on a desktop.", "--browser/--no-browser")
    tablebase: tuple[str, ...] = Option((), "Tablebase to show; may be repeated.", metavar="STORE")
    games: Path = Option(
        SHIPPED,
        "Collection whose moves are shown beside the board, or shipped for the built-in games.",
    )
    player: tuple[str, ...] = Option((), "Python class to play against; may be repeated.", metavar="MODULE:CLASS")
    searches: int | None = Option(None, "Number of parallel searches. [default: half of the cores]", least=1, most=64)
    seconds: float | None = Option(None, "Stop serving after this time.", metavar="SECONDS")


@command()
def serve_command(request: ServeRequest) -> Reply:
    """Serve the explorer: boards, endings, puzzles and games in the browser, and a JSON API under /api.

    By default only this machine can reach it. Visitors cannot read your files. Stop it with Ctrl-C.
    """
    from reports.explorer.guard import Settings
    from tablut.play.bridges.objects import chooser_of, named_object
    from tablut.play.collection import open_collection

    host, seconds = request.host, request.seconds
    if seconds is not None and seconds <= 0:
        raise InputError("must be more than 0", subject=f"--seconds {seconds:g}")
    chosen = {} if request.searches is None else {"searches": request.searches}
    settings = Settings(host=host, stores=request.tablebase, games=request.games, players=request.player, **chosen)
    for name in request.player:
        chooser_of(named_object(name))  # report a wrong class now
    with open_collection(request.games):
        pass  # report a wrong file now
    listener = listen(host, request.port)
    address = address_of(listener, host)
    live = Live()
    if not settings.local:
        warn(
            f"--host {host}: anyone who reaches this machine can start searches, within the limits of docs/explorer.md"
        )

    def ready() -> None:
        """Print the address once the server accepts requests, and open a browser if requested and possible."""
        live.print(Text.assemble("explorer  ", (address, "bold")), soft_wrap=True)
        live.print("Press Ctrl-C to stop.", style="dim")
        if request.browser and live.watched and has_desktop():
            webbrowser.open(address)

    stopped = serve(settings, listener, ready, seconds)
    names = [str(store) for store in settings.stores]
    result = _Served(address=address, local=settings.local, tablebases=names, interrupted=stopped)
    return Reply(result, _show)


def _show(console: PeopleConsole) -> None:
    console.print("The explorer has stopped.", style="dim")
