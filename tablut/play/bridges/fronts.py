"""Our engine behind another protocol: what a front end of that protocol says, told to an `EngineSession`, and back."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final

from tablut.cli.streams import one_line
from tablut.play.bridges.uci import go
from tablut.play.protocol import EngineOptions, EngineSession, LineReader
from tablut.play.search.limits import MATE, SearchLimits

UNTIMED: Final = 2.0
"""Seconds for a move where nobody says more."""
_MOVES_LEFT: Final = 20
"""Moves that what is left of a clock is divided by."""
_LEAST: Final = 0.01
_OF_PERIOD: Final = 0.9
"""Share that is used of a time that is for one move."""


def in_points(line: str) -> str:
    """Return an ``info`` line with a proved end as a score, for a protocol that has no word for one."""
    return re.sub(r"score mate (-?)(\d+)", lambda found: f"score cp {found[1]}{MATE - int(found[2])}", line)


def plain(text: str) -> str:
    """Return a message in one line, in the letters that every protocol has."""
    return one_line(text).encode("ascii", "backslashreplace").decode()


class Front(LineReader):
    """A protocol that the engine speaks."""

    refusal: ClassVar[str]
    """The line that says why another one was not obeyed."""

    def __init__(self, write: Callable[[str], None], options: EngineOptions, limits: SearchLimits | None) -> None:
        super().__init__()
        self._write, self._limits = write, limits
        self._session = EngineSession(self._said, options)
        self.finish, self.leave = self._session.finish, self._session.leave
        self._board = self._session.board
        self._greet()

    def _greet(self) -> None:
        """Say the first word, if the protocol gives it to the engine."""

    def _refuse(self, command: str, why: str) -> None:  # noqa: ARG002 (some protocols say it by command)
        self._write(self.refusal.format(plain(why)))

    @abstractmethod
    def _said(self, line: str) -> None:
        """Hear a line of the engine; from the thread that searches."""

    def _search(self, left: float | None, more: float = 0.0, *, one_move: bool = False) -> None:
        """Have the engine search the board: by its own limits, or by the seconds left on the clock."""
        self._need()
        limits = self._limits
        if limits is None:
            share = 1.0 if left is None or one_move else 1 / _MOVES_LEFT + more / 2 / max(left, _LEAST)
            limits = SearchLimits(max(_LEAST, UNTIMED if left is None else left * min(share, _OF_PERIOD)))
        self._session.place(self._board)
        self._session.handle(go(limits))
