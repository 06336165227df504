"""What a command says while it still runs: moves of a game, players that come and go.

People read it on standard output. Under ``--json`` that is kept for the answer: what is
said goes to standard error if that is a terminal, and nowhere otherwise.
"""

from __future__ import annotations

import io
import sys
from typing import Any

from tablut.cli.people import PeopleConsole
from tablut.cli.runtime import json_wanted
from tablut.cli.streams import write_output

__all__ = ["Live"]


class _Page(io.StringIO):
    """Takes what is printed, and is a terminal in the console's eyes if the stream that it goes to is one."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        return bool(self._stream.isatty())


class Live:
    """Prints at once, for whoever watches.

    Examples
    --------
    >>> Live().print("white [x] e4-f4")
    white [x] e4-f4
    """

    def __init__(self) -> None:
        self._json = json_wanted()

    @property
    def watched(self) -> bool:
        """Whether a terminal shows what is printed."""
        return bool((sys.stderr if self._json else sys.stdout).isatty())

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print as `tablut.cli.people.PeopleConsole` does.

        Parameters
        ----------
        *objects
            What it prints.
        **settings
            As it takes them.
        """
        if self._json and not self.watched:
            return
        stream = sys.stderr if self._json else sys.stdout
        page = _Page(stream)
        PeopleConsole(file=page).print(*objects, **settings)
        if self._json:
            stream.write(page.getvalue())
            stream.flush()
        else:
            write_output(page.getvalue())
