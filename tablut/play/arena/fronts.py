"""Our engine behind another protocol: what a front end of that protocol says, told to an `EngineSession`, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Protocol

from tablut.cli.streams import one_line
from tablut.errors import TablutError
from tablut.play.arena.uci import go
from tablut.play.search.limits import SearchLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.board import Board

UNTIMED: Final = 2.0
"""Seconds for a move where nobody says more."""
_MOVES_LEFT: Final = 20
"""Moves that what is left of a clock is divided by."""
_LEAST: Final = 0.01
_OF_PERIOD: Final = 0.9
"""Share that is used of a time that is for one move."""


class Session(Protocol):
    """The engine that searches: `tablut.play.protocol.EngineSession`."""

    @property
    def board(self) -> Board:
        """The game on its board."""

    def place(self, board: Board) -> None:
        """Go on with the game of a board."""

    def handle(self, line: str) -> bool:
        """Obey a line."""

    def finish(self) -> None:
        """Wait for a search with limits."""

    def leave(self, seconds: float = ...) -> None:
        """End a search that runs."""


class Front(ABC):
    """A protocol that the engine speaks."""

    def __init__(
        self,
        write: Callable[[str], None],
        session: Callable[[Callable[[str], None]], Session],
        limits: SearchLimits | None,
    ) -> None:
        self._write, self._limits = write, limits
        self._session = session(self._said)
        self._board = self._session.board
        self._greet()

    def _greet(self) -> None:  # noqa: B027 (only some have one)
        """Say the first word, if the protocol gives it to the engine."""

    def handle(self, line: str) -> bool:
        """Obey a line; return whether more lines may follow."""
        word, _, rest = line.strip().partition(" ")
        try:
            return self._obey(word, rest.strip())
        except TablutError as error:
            self._refuse(one_line(str(error)))
        return True

    @abstractmethod
    def _obey(self, word: str, rest: str) -> bool:
        """Obey a command."""

    @abstractmethod
    def _said(self, line: str) -> None:
        """Hear a line of the engine; from the thread that searches."""

    @abstractmethod
    def _refuse(self, why: str) -> None:
        """Say why a line was not obeyed."""

    def _search(self, millis: float | None, more: float = 0.0, *, one_move: bool = False) -> None:
        """Have the engine search the board: by its own limits, or by what is left on the clock."""
        if self._limits is not None:
            limits = self._limits
        elif millis is None:
            limits = SearchLimits(UNTIMED)
        else:
            share = _OF_PERIOD * millis if one_move else millis / _MOVES_LEFT + 1000 * more / 2
            limits = SearchLimits(max(min(share, _OF_PERIOD * millis) / 1000, _LEAST))
        self._session.place(self._board)
        self._session.handle(go(limits))

    def finish(self) -> None:
        """End as at the end of the input."""
        self._session.finish()

    def leave(self) -> None:
        """End as after the word that ends it."""
        self._session.leave()
