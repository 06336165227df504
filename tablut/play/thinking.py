"""Searches that run in a separate thread, where they can be stopped or ponder, and the search for a forced win.

A player that can be stopped has a method ``stop``, which also cancels a search that is about to begin. Without it, a
search that has no limits gets a time limit. A player that reports intermediate results has a method ``observe``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Final

from tablut.board import Board
from tablut.errors import InputError, UnknownError
from tablut.play.players import Choice, Player
from tablut.play.search.limits import MATE, MAX_PLY, SearchLimits, said_plies
from tablut.prober import find_prover
from tablut.work.clocks import alarm

_UNSTOPPABLE_SECONDS: Final = 2.0
"""Time limit in seconds that a search without other limits gets if the player cannot be stopped."""
_STOP_SECONDS: Final = 0.3
"""Longest time in seconds that a proof search needs to stop."""
_MOST_NODES: Final = 10**15
_DEEPEST: Final = SearchLimits(depth=MAX_PLY - 1)


class RunningSearch:
    """Search in a separate thread. A search without limits runs until `stop` is called.

    A pondering search writes no move before `stop` or `ponderhit` is called, and its time limit does not apply until
    then.
    """

    def __init__(
        self,
        player: Player,
        board: Board,
        limits: SearchLimits,
        tell: Callable[[Choice, float], None],
        answer: Callable[[Choice | None, str], None],
        *,
        ponders: bool = False,
        **options: object,
    ) -> None:
        self._player, self._tell, self._answer, self._options = player, tell, answer, options
        self._stop: Callable[[], None] | None = getattr(player, "stop", None)
        self._stopped, self._ending, self._done = threading.Event(), threading.Lock(), False
        self._released, self._timer = threading.Event(), threading.Timer(0, self.stop)
        self._began, self._movetime = time.perf_counter(), limits.movetime
        self.running = True
        """Whether the move still has to be written. `EngineSession` clears this flag just before it writes the move."""
        self.endless = limits == SearchLimits() and not isinstance(player, WinSearcher)
        self.ponders = ponders
        """Whether the search is pondering."""
        if not ponders and not self.endless:
            self._released.set()
        if ponders and self._stop is not None:
            limits = limits._replace(movetime=None, clock=None)
        if limits == SearchLimits() and not isinstance(player, WinSearcher):
            limits = SearchLimits(movetime=_UNSTOPPABLE_SECONDS) if self._stop is None else _DEEPEST
        self._thread = threading.Thread(target=self._run, args=(board.copy(), limits), daemon=True, name="search")
        self._reported = False

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def stopped(self) -> bool:
        """Whether the search was stopped."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End the search immediately. The search thread then writes the move."""
        self.ponders = False
        self._stopped.set()
        self._released.set()
        with self._ending:
            if self._stop is not None and not self._done:
                self._stop()

    def ponderhit(self) -> None:
        """Turn a pondering search into a normal one, because the opponent has made the expected move.

        The time limit counts from the start of the search.
        """
        from tablut.play.search.searcher import time_margin

        self.ponders = False
        spent = time.perf_counter() - self._began
        left = 0.0 if self._movetime is None else self._movetime - time_margin(self._movetime) - spent
        if self.endless or (self._movetime is not None and left <= 0):
            self.stop()
        elif self._movetime is not None:
            self._timer = threading.Timer(left, self.stop)
            self._timer.daemon = True
            self._timer.start()
        self._released.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the search has ended and its move has been written, or the given time in seconds has passed."""
        self._thread.join(seconds)

    def _run(self, board: Board, limits: SearchLimits) -> None:
        began = time.perf_counter()

        def observe(choice: Choice) -> None:
            self._reported = True
            self._tell(choice, time.perf_counter() - began)

        if (watch := getattr(self._player, "observe", None)) is not None:
            watch(observe)
        choose: Callable[..., Choice] = self._player.choose
        choice, trouble = None, ""
        try:
            choice = choose(board, limits, **self._options)
        except Exception as error:
            # An error in a player ends the search but not the engine.
            trouble = str(error) or type(error).__name__
        finally:
            with self._ending:
                self._done = True
                # A stop that arrives after the player has chosen a move must not end the player's next search.
                getattr(self._player, "clear_stop", lambda: None)()
        if choice is not None and not self._reported:
            for line in (choice, *choice.others):
                observe(line)
        if choice is not None or self.ponders:
            self._released.wait()
        self._timer.cancel()
        self._answer(choice, trouble)


class WinSearcher:
    """Player that proves whether the side to move can force a win within a number of plies.

    It ignores all earlier positions, but refuses a win whose line would end the game by a repetition or the move limit.
    """

    def __init__(self, board: Board, plies: int, nodes: int | None) -> None:
        limit = board.variant.rules.move_limit
        self._plies = plies if limit is None else min(plies, limit - board.ply)
        prover = find_prover(board.variant, _MOST_NODES if nodes is None else nodes)
        if prover is None:
            raise InputError("are not supported by any installed package", subject=f"proofs for {board.variant.name}")
        self._prover, self.stop = prover, prover.stop

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the first move of a forced win and the winning line. Raise `UnknownError` if no win is found."""
        seconds = limits.movetime
        with nullcontext() if seconds is None else alarm(max(seconds - _STOP_SECONDS, seconds / 2), self.stop):
            found = self._prover.solve(board.position, plies_left=self._plies)
        within, bounds = f"within {said_plies(self._plies)}", found.bounds[board.turn]
        # If the limits were reached right after the win was proved, no move of it is known.
        if found.wdl != "win" or not found.line:
            if not bounds.never and bounds.no_win_within < self._plies:
                raise UnknownError(f"the limits were reached before it was known whether there is a win {within}")
            recurs = board.variant.rules.repetition.result != "none" and board.ply > 0 and not board.captured()
            raise UnknownError(
                f"there is no forced win {within}{', if the earlier positions are ignored' if recurs else ''}"
            )
        plies, played = bounds.win_within or self._plies, board.copy()
        for move in found.line:
            if (end := played.outcome()) is not None:
                raise UnknownError(f"the win that was found {within} is spoiled by the earlier positions ({end.how})")
            played.push(move)
        return Choice(found.line[0], MATE - plies, plies, plies, found.nodes, found.line, source="proof")
