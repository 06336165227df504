"""Limits, results and scores of a search, and the clocks of a game.

The players and the search share these types. This module does not import numba.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tablut.errors import SOME, TIME, InputError, numbers_of, real_number, whole_number
from tablut.work.files import brief, excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tablut.board import Board
    from tablut.position import Move, SideName
    from tablut.variants import Variant

LimitKind = Literal["movetime", "nodes", "depth", "playouts"]

_NAMES: Final[dict[str, str]] = {
    "movetime": "a time",
    "nodes": "a number of nodes",
    "depth": "a depth",
    "playouts": "a number of playouts",
}


class SearchLimits(NamedTuple):
    """Limits of a search. A field that is None imposes no limit.

    Attributes
    ----------
    movetime : float or None
        Wall-clock time in seconds, from the call to the return of the result.
    nodes, playouts : int or None
        Number of moves made in the search, and of games played out. A search with only these limits is repeatable.
    depth : int or None
        Depth of the last iteration, in plies.
    clock : Clock or None
        Clock of the side to move; see `on_clock`.
    """

    movetime: float | None = None
    nodes: int | None = None
    depth: int | None = None
    playouts: int | None = None
    clock: Clock | None = None

    def on_clock(self, clock: Clock) -> SearchLimits:
        """Return these limits for a move on a ``clock``, whose planned time becomes ``movetime``.

        Examples
        --------
        >>> limits = SearchLimits(depth=9).on_clock(Clock(left=60.0))
        >>> limits.movetime, limits.longest, limits.depth
        (3.0, 12.0, 9)
        """
        clock = numbers_of(clock, left=real_number, increment=real_number, moves=SOME)
        return self._replace(movetime=clock.planned, clock=clock)

    @property
    def longest(self) -> float | None:
        """Time in seconds that a search must not exceed. On a clock, it may be longer than ``movetime``."""
        return self.movetime if self.clock is None else self.clock.longest

    def checked(self, *kinds: LimitKind) -> SearchLimits:
        """Return the limits as plain Python numbers, after checking that at least one of the ``kinds`` is set.

        Raises
        ------
        InputError
            If none of these limits is set, or a limit is out of range.

        Examples
        --------
        >>> SearchLimits(nodes=1000).checked().nodes
        1000
        >>> SearchLimits(depth=3).checked("movetime", "playouts")
        Traceback (most recent call last):
            ...
        tablut.errors.InputError: limits: none given that this player observes; give a time or a number of playouts
        """
        if all(getattr(self, kind) is None for kind in kinds or self._fields):
            *first, last = (_NAMES[kind] for kind in kinds or _NAMES)
            observed = " that this player observes" if any(value is not None for value in self) else ""
            raise InputError(
                f"none given{observed}",
                subject="limits",
                remedy=f"give {', '.join(first)}{' or ' if first else ''}{last}",
            )
        depth = None if self.depth is None else whole_number("depth", self.depth, 1, MAX_PLY - 1)
        return numbers_of(self._replace(depth=depth), movetime=TIME, nodes=SOME, playouts=SOME)


@brief
class Choice(NamedTuple):
    """A chosen move, its score, and the search statistics.

    - ``move``: Legal move. ``pv`` is the principal variation, which begins with it.
    - ``score``: Score for the side to move (see `tablut.play.search.limits`), or None if the player reports no score.
    - ``mate``: Number of plies to the proven end of the game, negative if the side to move loses, or None.
    - ``points``: Expected points of the side to move, from 0 to 1 (`tablut.play.search.expectation`), or None.
    - ``depth``, ``selective_depth``: Depth of the last completed iteration, and length of the longest line, in plies.
    - ``nodes``, ``playouts``, ``tbhits``: Numbers of moves made, games played out and positions found in a tablebase.
    - ``seconds``: Wall time of the search.
    - ``source``: Source of the move: ``search``, ``tablebase``, ``proof`` or ``book``.
    - ``rank``, ``others``: Rank of the line among the best lines, from 1, and the next best lines if they were
      requested.
    - ``notes``: Messages about aids that the player could not use, such as a book that has been deleted.
    """

    move: Move
    score: int | None
    mate: int | None
    depth: int
    nodes: int
    pv: tuple[Move, ...]
    tbhits: int = 0
    playouts: int = 0
    selective_depth: int = 0
    seconds: float = 0.0
    source: str = "search"
    rank: int = 1
    others: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()
    points: float | None = None


MOST_LINES: Final = 64
"""Largest number of lines that a search returns."""


def moves_asked_about(board: Board, variant: Variant, wanted: Sequence[Move] | None = None) -> list[Move]:
    """Return the legal moves of a board in the engine's order, or the ``wanted`` moves if they are all legal."""
    if not board.variant.same_game(variant):
        raise InputError(
            f"belongs to {board.variant.name}, not to {variant.name}", subject=f"position '{board.position}'"
        )
    moves = list(board.legal_moves)
    if board.outcome() is not None or not moves:
        raise InputError("has no move to choose, because the game is over", subject=f"position '{board.position}'")
    if wanted is None:
        return moves
    if not wanted:
        raise InputError("contains no move", subject="moves", remedy="give at least one, or leave them out")
    for move in set(wanted) - set(moves):
        board.copy().push(move)  # raises an error that states why the move is not legal
    return [move for move in moves if move in wanted]


def repeats(board: Board, move: Move) -> bool:
    """Return whether a move repeats a position of the game or reaches the move limit without winning by that.

    A book or a proof ignores the history, so such a move must not be played before a search has looked for a better
    one.
    """
    mover, after = board.turn, board.copy()
    after.push(move)
    outcome = after.outcome()
    if outcome is not None:
        return outcome.termination in ("repetition", "move_limit") and outcome.winner != mover
    return after.is_repetition() and board.variant.rules.repetition.winner(mover) != mover


# -- scores: plain integers, shared by the compiled search and its users -------------------


# A score is given from the point of view of the side to move. Up to `EVALUATION_LIMIT` in absolute value, it is an
# estimate in centi-logits, and an increase of 100 multiplies the odds of winning by e. From `PROVEN` on, it is exact
# and counts plies: ``MATE - n`` is a proven win in n plies, and ``n - MATE`` is a proven loss in n plies. The scores in
# between are unproven results of tablebases and repetitions; see `TABLEBASE` and `REPETITION`.


MATE: Final = 30000
PROVEN: Final = 29000
"""Smallest absolute value of a proven score."""
TABLEBASE: Final = 25000
"""Base score of a tablebase win that an earlier position of the game may still spoil: ``TABLEBASE - n`` in n plies."""
RECURRENCES: Final = {"none": 0, "draw": 1, "mover_loses": 2, "illegal": 2, "white_loses": 3, "black_loses": 4} | {
    "mover_wins": 5,
    "illegal_for_white": 6,
}
"""Code of each result of the repetition rule, applied when a position occurs a second time. An illegal move loses."""
REPETITION: Final = 20000
"""Base score of a repetition that decides the game: ``REPETITION - n`` after n plies. It depends on the path."""
EVALUATION_LIMIT: Final = 15000
"""Largest absolute value of an estimate."""
MAX_PLY: Final = 128
"""Largest distance from the root, in plies."""


def mate_in(score: int) -> int | None:
    """Return the number of plies to a proven end of the game, or None if the ``score`` proves nothing.

    The number is positive if the side to move wins, and negative if it loses.

    Examples
    --------
    >>> mate_in(29997), mate_in(-29998), mate_in(29999), mate_in(150)
    (3, -2, 1, None)
    """
    if abs(score) < PROVEN:
        return None
    return MATE - score if score > 0 else -MATE - score


def format_score(score: int | None, mate: int | None, points: float | None) -> str:
    """Return a score as text, such as ``wins in 3 plies`` or ``62 %``, or an empty string if there is no score."""
    if score is None and mate is None:
        return ""
    verb = "wins" if (mate or score or 0) > 0 else "loses"
    if mate is not None:
        return f"{verb} in {said_plies(abs(mate))}"
    assert score is not None
    for most, below, why in ((TABLEBASE, REPETITION, "tablebase"), (REPETITION, EVALUATION_LIMIT, "repetition")):
        if below < abs(score) <= most:
            return f"{verb} by the {why} in {said_plies(most - abs(score))}"
    return f"{score:+d}" if points is None else f"{100 * points:.0f} %"


def nominal_points(score: int) -> float:
    """Return points from 0 to 1 for a score whose worth was not measured: 100 centi-logits multiply the odds by e."""
    return 1 / (1 + math.exp(-max(-3000, min(3000, score)) / 100))


def worth_of(score: int, points: float | None) -> float:
    """Return expected points, or nominal points for the score if they were not measured."""
    return nominal_points(score) if points is None else points


def score_in_words(score: int | None, mate: int | None, points: float | None, turn: SideName) -> str:
    """Return a score as a phrase for the side to move, or an empty string if there is no score."""
    text = format_score(score, mate, points)
    if text.endswith("%"):
        return f"{turn.capitalize()} is expected to score {text} of the points"
    if text.startswith(("+", "-")):
        return f"{text} (its worth in points was not measured for these rules and this player)"
    return text and f"{turn.capitalize()} {text}"


def said_plies(number: int) -> str:
    """Return a number of plies with its unit, for example ``1 ply``."""
    return f"{number} {'ply' if number == 1 else 'plies'}"


# -- time controls, clocks, and the time planned for each move ------------------------------


# The time left is divided evenly among the moves up to the next time control, but among at most `_MOVES_LEFT` moves.
# One such share plus most of the increment is planned for a move. `Pace` decides after each iteration whether to end
# the search. It ends before the planned time if the best move and its score are stable, and continues beyond it if the
# best move changes or the score falls. No search exceeds `Clock.longest`.


_MOST_SECONDS: Final = 1e6
_MOST_MOVES: Final = 1000
_CONTROL: Final = re.compile(r"(?:(\d{1,4})/)?(\d{1,7}(?:\.\d{1,3})?)(?:\+(\d{1,7}(?:\.\d{1,3})?))?", re.ASCII)

_MOVES_LEFT: Final = 20
"""Maximum number of moves that the time left is divided among."""
_OF_INCREMENT: Final = 0.8
"""Share of the increment that is added to the time planned for a move."""
_OF_CLOCK: Final = 0.9
"""Maximum share of the time left that is planned for one move."""
_LEAST: Final = 0.002
"""Minimum time in seconds that is planned for a move."""
_STRETCH: Final = 4.0
"""Maximum time for a move, as a multiple of the planned time."""
_OF_REST: Final = 0.3
"""Maximum share of the time left that an extended search may use, unless the planned time is already longer."""


class TimeControl(NamedTuple):
    """Time control of a game, for each side.

    - ``base``: Time in seconds at the start, and again after every ``moves`` moves.
    - ``increment``: Time in seconds that is added after each move.
    - ``moves``: Number of moves after which ``base`` is added again, or None if it is never added again.
    """

    base: float
    increment: float = 0.0
    moves: int | None = None

    def __str__(self) -> str:
        """Return the text that `read_time_control` reads."""
        increment = f"+{self.increment:.12g}" if self.increment else ""
        return f"{'' if self.moves is None else f'{self.moves}/'}{self.base:.12g}{increment}"


def read_time_control(text: str) -> TimeControl:
    """Parse a time control ``[MOVES/]SECONDS[+INCREMENT]``, such as ``40/60+0.5``.

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
            "expected [MOVES/]SECONDS[+INCREMENT] with at most three decimals, such as 60+0.5 or 40/60",
            subject=f"time control {excerpt(text)}",
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
    """Clock times in seconds when a side is to move.

    - ``left``, ``increment``: Time that this side has left, and time that it receives after each move.
    - ``moves``: Number of moves that this side has to make before it receives more time, or None.
    - ``opponent``: Time left and increment of the other side, or None if they are not known.
    """

    left: float
    increment: float = 0.0
    moves: int | None = None
    opponent: tuple[float, float] | None = None

    @property
    def planned(self) -> float:
        """Planned time for the move in seconds."""
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
        """Time left in seconds. It is negative if the side has exceeded its time but not the time allowed beyond it."""
        self._moves = control.moves

    def reading(self, other: RunningClock | None = None) -> Clock:
        """Return the current clock times, including the opponent's if the opponent has a clock."""
        opponent = None if other is None else (max(other.left, 0.0), other.control.increment)
        return Clock(max(self.left, 0.0), self.control.increment, self._moves, opponent)

    def press(self, seconds: float) -> None:
        """Subtract the time used for a move, and add the time that the side receives after it."""
        self.left += self.control.increment - seconds
        if self._moves is not None:
            self._moves -= 1
            if self._moves == 0:
                self._moves = self.control.moves
                self.left += self.control.base


# -- time management for one move -----------------------------------------------------------


_STABLE: Final = 0.5
"""Fraction of the planned time after which a search with a stable result ends."""
_PER_CHANGE: Final = 0.5
"""Increase of that fraction for each change of the best move. Each further iteration halves the weight of a change."""
_PER_FALL: Final = 0.8
"""Increase of that fraction if the score falls by `_FALL` or more. Smaller falls count in proportion."""
_FALL: Final = 100
"""Fall of the score, in centi-logits, that causes the full increase."""


class Pace:
    """Time manager for one move, which decides after each iteration whether the search should end."""

    def __init__(self, clock: Clock) -> None:
        self._planned = clock.planned
        self._changes = 0.0
        self._move: int | None = None
        self._scores: list[int] = []

    def is_enough(self, seconds: float, move: int, score: int) -> bool:
        """Return whether the search should end, given the time used so far and the iteration's best move and score."""
        self._changes = self._changes / 2 + (self._move is not None and move != self._move)
        self._move = move
        before = self._scores[-2] if len(self._scores) > 1 else score
        self._scores.append(score)
        fall = min(max(before - score, 0), _FALL) / _FALL
        return seconds >= self._planned * (_STABLE + _PER_CHANGE * self._changes + _PER_FALL * fall)
