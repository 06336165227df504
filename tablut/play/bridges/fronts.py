"""Fronts of the engine for other protocols. They translate lines for an `EngineSession`, and its responses."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final

from tablut.cli.streams import one_line
from tablut.play.bridges.uci import go
from tablut.play.protocol import EngineOptions, EngineSession, LineProtocol
from tablut.play.search.limits import MATE, SearchLimits

UNTIMED: Final = 2.0
"""Time in seconds for a move if no clock is given."""
_MOVES_LEFT: Final = 20
"""Number of moves into which the time left on a clock is divided."""
_LEAST: Final = 0.01
_OF_PERIOD: Final = 0.9
"""Largest share of the remaining time that is used for one move."""


def in_points(line: str) -> str:
    """Return an ``info`` line with ``score mate`` converted to ``score cp``, for protocols without ``mate``."""
    return re.sub(r"score mate (-?)(\d+)", lambda found: f"score cp {found[1]}{MATE - int(found[2])}", line)


def plain(text: str) -> str:
    """Return a message as one line of ASCII, which every protocol can transmit."""
    return one_line(text).encode("ascii", "backslashreplace").decode()


class Front(LineProtocol):
    """Base class of the fronts, each of which is another protocol that the engine speaks."""

    refusal: ClassVar[str]
    """Format of the line with the reason why a line was refused."""

    def __init__(self, write: Callable[[str], None], options: EngineOptions, limits: SearchLimits | None) -> None:
        super().__init__()
        self._write, self._limits = write, limits
        self._session = EngineSession(self._said, options)
        self.finish, self.leave = self._session.finish, self._session.leave
        self._board = self._session.board
        self._greet()

    def _greet(self) -> None:
        """Write the first line, in protocols where the engine starts the exchange."""

    def _refuse(self, command: str, why: str) -> None:  # noqa: ARG002 (used by some protocols)
        self._write(self.refusal.format(plain(why)))

    @abstractmethod
    def _said(self, line: str) -> None:
        """Translate a line of the engine and write it. The search thread may call this."""

    def _search(self, left: float | None, more: float = 0.0, *, one_move: bool = False) -> None:
        """Start a search of the current board.

        The limits are those given to the front. Otherwise they are derived from the seconds left on the clock
        (``left``) and the increment per move (``more``).
        """
        self._need()
        limits = self._limits
        if limits is None:
            share = 1.0 if left is None or one_move else 1 / _MOVES_LEFT + more / 2 / max(left, _LEAST)
            limits = SearchLimits(max(_LEAST, UNTIMED if left is None else left * min(share, _OF_PERIOD)))
        self._session.place(self._board)
        self._session.handle(go(limits))
