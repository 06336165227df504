"""One search at a time, in a thread of its own, that can be told to stop.

A player that can be stopped has a method ``stop``; one that tells what it finds while it
searches has a method ``observe`` (see `tablut.play.players.simple`). Others are
given a time instead of no limit, and tell what they found at the end.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from tablut.play.search.limits import MAX_PLY, SearchLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.board import Board
    from tablut.play.players import Choice, Player

__all__ = ["Observable", "Search", "Stoppable", "Wanted"]

_UNSTOPPABLE_SECONDS: Final = 2.0
"""What a player gets for an endless search that it cannot be stopped in."""
_AGAIN: Final = 0.005


@runtime_checkable
class Stoppable(Protocol):
    """A player whose search another thread can end."""

    def stop(self) -> None:
        """End the search; it answers with what it has."""


@runtime_checkable
class Observable(Protocol):
    """A player that tells what it finds while it searches."""

    def observe(self, observer: Callable[[Choice], None] | None) -> None:
        """Have somebody told, or nobody."""


class Wanted(NamedTuple):
    """What a search is for."""

    limits: SearchLimits

    @property
    def endless(self) -> bool:
        """Whether nothing but a stop ends it."""
        return self.limits == SearchLimits()


class Search:
    """A search that runs."""

    def __init__(
        self,
        player: Player,
        board: Board,
        wanted: Wanted,
        tell: Callable[[Choice, float], None],
        answer: Callable[[Choice | None, str], None],
    ) -> None:
        self._player = player
        self._wanted = wanted
        self._tell = tell
        self._answer = answer
        self._stopped = threading.Event()
        self._done = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, args=(board.copy(),), daemon=True, name="search")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the answer is still to come."""
        return not self._closed

    def close(self) -> None:
        """Count as over: for whoever gives the answer, just before, since the next search may follow at once."""
        self._closed = True

    @property
    def endless(self) -> bool:
        """Whether only `stop` ends it."""
        return self._wanted.endless

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Have the search end at once; the answer comes from its own thread."""
        self._stopped.set()
        if isinstance(self._player, Stoppable):
            # A search that is about to begin would forget a word that comes too early.
            while not self._done.is_set():
                self._player.stop()
                self._done.wait(_AGAIN)

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the answer."""
        self._thread.join(seconds)

    def _run(self, board: Board) -> None:
        began = time.perf_counter()
        limits = self._wanted.limits
        if self._wanted.endless:
            stoppable = isinstance(self._player, Stoppable)
            limits = SearchLimits(depth=MAX_PLY - 1) if stoppable else SearchLimits(movetime=_UNSTOPPABLE_SECONDS)
        told = False

        def observe(choice: Choice) -> None:
            nonlocal told
            told = True
            self._tell(choice, time.perf_counter() - began)

        if isinstance(self._player, Observable):
            self._player.observe(observe)
        choice, trouble = None, ""
        try:
            choice = self._player.choose(board, limits)
        except Exception as error:
            # A player that fails ends its search, not the program that speaks for it.
            trouble = str(error) or type(error).__name__
        finally:
            self._done.set()
        if choice is not None and not told:
            self._tell(choice, time.perf_counter() - began)
        if self._wanted.endless and choice is not None:
            self._stopped.wait()
        self._answer(choice, trouble)
