"""Time controls, the clock of one side, and the manager that divides the time on a clock among moves.

The time planned for a move is a share of the time left: it is divided among the moves up to the next time control, or
among `_MOVES_LEFT` moves, and most of the increment is added. `Pace` ends a search between two iterations. It ends it
before the planned time if the best move and its score are stable, and later if the best move changes or the score
falls. No search exceeds `Clock.longest`.

This module does not import numba.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tablut.errors import InputError
from tablut.work.files import excerpt

_MOST_SECONDS: Final = 1e6
_MOST_MOVES: Final = 1000
_CONTROL: Final = re.compile(r"(?:(\d{1,4})/)?(\d{1,7}(?:\.\d{1,6})?)(?:\+(\d{1,7}(?:\.\d{1,6})?))?", re.ASCII)

_MOVES_LEFT: Final = 20
"""Largest number of moves among which the time left is divided."""
_OF_INCREMENT: Final = 0.8
"""Share of the increment that is planned for a move."""
_OF_CLOCK: Final = 0.9
"""Largest share of the time left that is used for one move."""
_LEAST: Final = 0.01
"""Least time for a move in seconds."""
_STRETCH: Final = 4.0
"""Longest time for a move, as a multiple of the planned time."""
_OF_REST: Final = 0.3
"""Largest share of the time left that an extended search uses, unless it is the last move of its time control."""


class TimeControl(NamedTuple):
    """Time control of a game, for each side.

    Attributes
    ----------
    base : float
        Time in seconds at the start, and again after every ``moves`` moves.
    increment : float
        Time in seconds that is added after each move.
    moves : int or None
        Number of moves after which ``base`` is added again, or None if it is never added again.
    """

    base: float
    increment: float = 0.0
    moves: int | None = None

    def __str__(self) -> str:
        """Return the text that `read_time_control` reads."""
        increment = f"+{self.increment:.12g}" if self.increment else ""
        return f"{'' if self.moves is None else f'{self.moves}/'}{self.base:.12g}{increment}"


def read_time_control(text: str) -> TimeControl:
    """Parse a time control.

    Parameters
    ----------
    text : str
        ``[MOVES/]SECONDS[+INCREMENT]``, for example ``60+0.5`` or ``40/60``.

    Returns
    -------
    TimeControl
        Time control.

    Raises
    ------
    InputError
        If the text has another form, or a number is out of range.

    Examples
    --------
    >>> read_time_control("40/60+0.5")
    TimeControl(base=60.0, increment=0.5, moves=40)
    """
    found = _CONTROL.fullmatch(text.strip())
    if found is None:
        raise InputError(
            "expected [MOVES/]SECONDS[+INCREMENT], such as 60+0.5 or 40/60", subject=f"time control {excerpt(text)}"
        )
    moves = None if found[1] is None else int(found[1])
    base, increment = float(found[2]), float(found[3] or 0)
    if not (0 < base <= _MOST_SECONDS and increment <= _MOST_SECONDS and (moves is None or 1 <= moves <= _MOST_MOVES)):
        raise InputError(
            f"expected more than 0 and at most {_MOST_SECONDS:,.0f} seconds, and 1 to {_MOST_MOVES:,} moves",
            subject=f"time control {excerpt(text)}",
        )
    return TimeControl(base, increment, moves)


class Clock(NamedTuple):
    """Reading of the clocks when a side is to move.

    Attributes
    ----------
    left : float
        Time in seconds that the side to move has left.
    increment : float
        Time in seconds that it receives after each move.
    moves : int or None
        Number of moves that it has to make until it receives more time, or None for the rest of the game.
    opponent : tuple of float or None
        Time left and increment of the other side, or None if they are not known.
    """

    left: float
    increment: float = 0.0
    moves: int | None = None
    opponent: tuple[float, float] | None = None

    @property
    def planned(self) -> float:
        """Time in seconds to plan for the move."""
        moves = min(self.moves or _MOVES_LEFT, _MOVES_LEFT)
        return max(_LEAST, min(self.left / moves + _OF_INCREMENT * self.increment, _OF_CLOCK * self.left))

    @property
    def longest(self) -> float:
        """Time in seconds that the move must not exceed, even if the search is extended."""
        return max(self.planned, min(_STRETCH * self.planned, _OF_REST * self.left))


class RunningClock:
    """Clock of one side during a game."""

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.left = control.base
        """Time left in seconds. It is negative if the side has used part of its grace."""
        self._moves = control.moves

    def reading(self, other: RunningClock | None = None) -> Clock:
        """Return the reading of the clock, with that of the opponent's clock if there is one."""
        opponent = None if other is None else (max(other.left, 0.0), other.control.increment)
        return Clock(max(self.left, 0.0), self.control.increment, self._moves, opponent)

    def press(self, seconds: float) -> None:
        """Subtract the time used for a move, and add the time that the side receives for it."""
        self.left += self.control.increment - seconds
        if self._moves is not None:
            self._moves -= 1
            if self._moves == 0:
                self._moves = self.control.moves
                self.left += self.control.base


# -- the manager of the time for one move ---------------------------------------------------


_STABLE: Final = 0.5
"""Part of the planned time after which a search with a stable result ends."""
_PER_CHANGE: Final = 0.5
"""Increase of that part for each change of the best move. Each further iteration halves the weight of a change."""
_PER_FALL: Final = 0.8
"""Increase of that part if the score falls by `_FALL` or more."""
_FALL: Final = 100
"""Fall of the score in centi-logits that counts in full. Smaller falls count in proportion."""


class Pace:
    """Manager of the time for one move. It is asked after each iteration whether the search should end.

    Scores are compared with the iteration before the last one, because the scores of odd and even depths differ.
    """

    def __init__(self, clock: Clock) -> None:
        self._planned = clock.planned
        self._changes = 0.0
        self._move: int | None = None
        self._scores: list[int] = []

    def is_enough(self, seconds: float, move: int, score: int) -> bool:
        """Return whether the search should end after an iteration with the given time, best move and score."""
        self._changes = self._changes / 2 + (self._move is not None and move != self._move)
        self._move = move
        before = self._scores[-2] if len(self._scores) > 1 else score
        self._scores.append(score)
        fall = min(max(before - score, 0), _FALL) / _FALL
        return seconds >= self._planned * (_STABLE + _PER_CHANGE * self._changes + _PER_FALL * fall)
