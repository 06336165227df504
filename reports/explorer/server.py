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

from tablut.cli.command import command, option, real, whole
from tablut.cli.options import file_option, warn
from tablut.cli.people import Live, PeopleConsole
from tablut.cli.runtime import Reply
from tablut.errors import InputError
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


@command()
@option("--host", default="127.0.0.1", metavar="HOST", help="Address to listen on; the default is local.")
@whole("--port", default=8137, least=0, most=65535, help="Port; 0 for any free port.")
@option("--browser/--no-browser", default=True, help="Whether to open the address in a browser on a desktop.")
@option("--tablebase", multiple=True, metavar="STORE", help="Tablebase to show; may be repeated.")
@file_option("--games", help="Collection of games. The moves played in the position are shown beside the board.")
@option("--player", multiple=True, metavar="MODULE:CLASS", help="Python class to play against; may be repeated.")
@whole("--searches", least=1, most=64, help="Number of parallel searches. [default: half of the cores]")
@real("--seconds", metavar="SECONDS", help="Stop serving after this time.")
def serve_command(
    host: str,
    port: int,
    browser: bool,
    tablebase: tuple[str, ...],
    games: Path | None,
    player: tuple[str, ...],
    searches: int | None,
    seconds: float | None,
) -> Reply:
    """Serve the explorer: boards, endings, puzzles and games in the browser, and a JSON API under /api.

    By default only this machine can reach it. Visitors cannot read your files. Stop it with Ctrl-C.
    """
    from reports.explorer.guard import Settings
    from tablut.play.bridges.objects import chooser_of, named_object
    from tablut.play.collection import open_collection

    if seconds is not None and seconds <= 0:
        raise InputError("must be more than 0", subject=f"--seconds {seconds:g}")
    chosen = {} if searches is None else {"searches": searches}
    settings = Settings(host=host, stores=tablebase, games=games, players=player, **chosen)
    for name in player:
        chooser_of(named_object(name))  # report a wrong class now
    if games is not None:
        with open_collection(games):
            pass  # report a wrong file now
    listener = listen(host, port)
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
        if browser and live.watched and has_desktop():
            webbrowser.open(address)

    stopped = serve(settings, listener, ready, seconds)
    names = [str(store) for store in settings.stores]
    result = _Served(address=address, local=settings.local, tablebases=names, interrupted=stopped)
    return Reply(result, _show)


def _show(console: PeopleConsole) -> None:
    console.print("The explorer has stopped.", style="dim")
