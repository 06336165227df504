"""``tablut serve``: the explorer in the browser and the JSON API."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tablut.cli.options import warn
from tablut.cli.people import Live
from tablut.cli.runtime import Reply, command
from tablut.errors import InputError
from tablut.results import Result

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole


class _Served(Result):
    address: str
    local: bool
    tablebases: list[str]
    interrupted: bool


@command
def serve_command(
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Address to listen at; by default only this machine asks.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 for any that is free.")] = 8137,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the address on a desktop.")
    ] = True,
    tablebase: Annotated[
        list[str] | None,
        typer.Option("--tablebase", metavar="STORE", help="A tablebase to show; may be repeated."),
    ] = None,
    searches: Annotated[
        int | None, typer.Option("--searches", min=1, max=64, help="Searches at once. [default: half of the cores]")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="SECONDS", help="End by itself after so long.")
    ] = None,
) -> Reply:
    """Serve the explorer: boards, endings, puzzles and games in the browser, and a JSON API under /api.

    It listens on the loopback and ends with Ctrl-C. Visitors read no file of yours.
    """
    from reports.explorer.server import address_of, has_desktop, listen, serve
    from reports.explorer.settings import Settings

    if seconds is not None and seconds <= 0:
        raise InputError(f"--seconds {seconds:g}: expected more than 0")
    chosen = {} if searches is None else {"searches": searches}
    settings = Settings(host=host, stores=tuple(tablebase or ()), **chosen)
    listener = listen(host, port)
    address = address_of(listener, host)
    live = Live()
    if not settings.local:
        warn(
            f"--host {host}: whoever reaches this machine can ask it to compute, within the limits of docs/explorer.md"
        )

    def ready() -> None:
        """Say where, once requests are answered."""
        live.print(Text.assemble("explorer  ", (address, "bold")), soft_wrap=True)
        live.print("Ctrl-C ends it.", style="dim")
        if browser and live.watched and has_desktop():
            webbrowser.open(address)

    stopped = serve(settings, listener, ready, seconds)
    names = [str(store) for store in settings.stores]
    result = _Served(address=address, local=settings.local, tablebases=names, interrupted=stopped)
    return Reply(result, _show)


def _show(console: PeopleConsole) -> None:
    console.print("The explorer has ended.", style="dim")
