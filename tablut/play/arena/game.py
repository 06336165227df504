"""One game of a match: its moves, its clocks, the players' faults, and adjudication."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tablut.board import Board
from tablut.errors import InputError
from tablut.indexing.values import value_of, verdict_of, within_limit
from tablut.play.arena.plan import Adjudication, Contestant
from tablut.play.bridges.objects import PlayerError
from tablut.play.bridges.programs import UnreadableMoveError
from tablut.play.players import Choice, Player
from tablut.play.search.limits import RunningClock, worth_of
from tablut.position import SIDES, Move, Position, SideName
from tablut.prober import find_prober
from tablut.variants import Variant
from tablut.work.files import brief

if TYPE_CHECKING:
    from tablut.prober import Prober

FAULTS: Final = ("crash", "illegal", "time")
"""Terminations caused by a fault of the loser."""
BY_TABLES: Final = "adjudicated_by_tables"
BY_SCORES: Final = "adjudicated_by_scores"
ADJUDICATED: Final = (BY_TABLES, BY_SCORES)
"""Terminations of games that were decided by adjudication, before their end."""

Winner = Literal["white", "black", "draw"]
_OPPONENT: Final[dict[SideName, SideName]] = dict(zip(SIDES, SIDES[::-1], strict=True))


class Seat(NamedTuple):
    """Contestant in a game, and the player created for it."""

    contestant: Contestant
    player: Player


@brief
class EndedGame(NamedTuple):
    """Finished game: its moves, its result and statistics about both players.

    ``fault`` describes the fault that lost the game or, if there was none, the first aid that a player could not use.
    ``over`` and ``excess`` are each player's number of late moves, and their largest excess in seconds. ``scores`` are
    the players' scores after the opening, for White, or empty if no player reports scores.
    """

    moves: tuple[Move, ...]
    winner: Winner
    termination: str
    fault: str | None
    seconds: tuple[float, float]
    nodes: tuple[int, int]
    longest: tuple[float, float]
    over: tuple[int, int] = (0, 0)
    excess: tuple[float, float] = (0.0, 0.0)
    scores: tuple[int | None, ...] = ()


# -- adjudication --------------------------------------------------------------------------


_ROUNDING: Final = 1e-12
"""Largest error of expected points that were converted from one side to the other."""


class Adjudicator:
    """Judge that decides games before their end, according to the rules of an `Adjudication`.

    A tablebase is used only at the start and directly after a capture, when no earlier position can recur.
    """

    def __init__(self, rule: Adjudication, variant: Variant) -> None:
        self._rule = rule
        self._prober: Prober | None = None
        if rule.tables is not None:
            self._prober = find_prober(variant, rule.tables or None)
            if self._prober is None:
                raise InputError(
                    f"cannot decide games, because no tablebase of {variant.name} is built in",
                    subject="adjudication by tables",
                    remedy=f"build one with `tablut tablebase build -v {variant.name} --men 4`, and name its folder",
                )

    def by_tables(self, board: Board) -> Winner | None:
        """Return the winner (or ``draw``) that a tablebase shows for an undecided position, or None."""
        if self._prober is None or not (board.ply == 0 or board.captured()):
            return None
        if not self._prober.covers(*board.position.material):
            return None
        verdict, limit = self._prober.probe(board.position), board.variant.rules.move_limit
        if verdict.wdl in ("win", "loss"):
            value = within_limit(value_of(verdict), None if limit is None else limit - board.ply)
            verdict = verdict_of(value)
        if verdict.wdl == "unresolved":
            return None
        return "draw" if verdict.wdl == "draw" else board.turn if verdict.wdl == "win" else _OPPONENT[board.turn]

    def by_scores(self, points: Sequence[float | None]) -> Winner | None:
        """Return the winner according to White's expected points after each of the last plies, or None."""
        last = points[-self._rule.plies :] if self._rule.plies else ()
        least = self._rule.points - _ROUNDING
        if len(last) == self._rule.plies > 0 and None not in last:
            for winner in SIDES:
                if all((one if winner == "white" else 1 - one) >= least for one in last if one is not None):
                    return winner
        return None


# -- one game between two players ------------------------------------------------------------


_FAULTS: Final = ((TimeoutError, "time"), (UnreadableMoveError, "illegal"))
"""Terminations for exceptions raised by a player. All other exceptions count as crashes."""


def play_game(
    variant: Variant,
    white: Seat,
    black: Seat,
    opening: Sequence[Move] = (),
    *,
    start: Position | None = None,
    most_plies: int | None = None,
    grace: float | None = None,
    judge: Adjudicator | None = None,
) -> EndedGame:
    """Play a game between two players and return it.

    The game is drawn after ``most_plies`` plies. A player loses if it exceeds its time by more than ``grace`` seconds,
    makes an illegal move or raises an exception.
    """
    board = Board(variant, start)
    for move in opening:
        board.push(move)
    seats: dict[SideName, Seat] = {"white": white, "black": black}
    controls = {side: seat.contestant.control for side, seat in seats.items()}
    clocks = {side: RunningClock(control) for side, control in controls.items() if control is not None}
    seconds, nodes, longest = {"white": 0.0, "black": 0.0}, {"white": 0, "black": 0}, {"white": 0.0, "black": 0.0}
    over, excess = {"white": 0, "black": 0}, {"white": 0.0, "black": 0.0}
    scores, points = list[int | None](), list[float | None]()
    fault, blamed, note = None, "", None
    while (ended := _ended(board, most_plies, judge, points)) is None:
        side = board.turn
        seat, clock = seats[side], clocks.get(side)
        limits = seat.contestant.limits
        if clock is not None:
            limits = limits.on_clock(clock.reading(clocks.get(_OPPONENT[side])))
        began, choice = time.perf_counter(), None
        try:
            choice = seat.player.choose(board.copy(), limits)
        except Exception as error:
            # An error in a player ends its game, but not the match.
            fault = error.problem if isinstance(error, PlayerError) else f"{type(error).__name__}: {error}"
            blamed = next((name for kind, name in _FAULTS if isinstance(error, kind)), "crash")
        taken = round(time.perf_counter() - began, 6)
        seconds[side] = round(seconds[side] + taken, 6)
        longest[side] = max(longest[side], taken)
        left = limits.movetime if clock is None else clock.left
        if left is not None and taken > left:
            over[side] += 1
            excess[side] = max(excess[side], round(taken - left, 6))
        if choice is not None:
            nodes[side] += choice.nodes
            note = note or next((f"{seat.contestant.text}: {' '.join(text.split())}" for text in choice.notes), None)
            allowed = seat.contestant.grace if grace is None else grace
            blamed, fault = _made(board, choice, left, taken, clock, allowed)
        if fault is not None:
            fault = " ".join(f"{seat.contestant.text}: {fault}".split())
            ended = _OPPONENT[side], blamed
            break
        score = None if choice is None else choice.score
        scores.append(score if score is None or side == "white" else -score)
        worth = None if choice is None or score is None else worth_of(score, choice.points)
        points.append(worth if worth is None or side == "white" else 1 - worth)
        if clock is not None:
            clock.press(taken)
    both = [(of_side["white"], of_side["black"]) for of_side in (seconds, nodes, longest, over, excess)]
    reported = tuple(scores) if any(score is not None for score in scores) else ()
    return EndedGame._make([tuple(board.move_stack), *ended, fault or note, *both, reported])


def _ended(
    board: Board, most_plies: int | None, judge: Adjudicator | None, points: Sequence[float | None]
) -> tuple[Winner, str] | None:
    """Return the result and the termination of a game, or None if it is not over."""
    outcome = board.outcome()
    if outcome is not None:
        return outcome.winner or "draw", outcome.termination
    if judge is not None:
        if (winner := judge.by_tables(board)) is not None:
            return winner, BY_TABLES
        if (winner := judge.by_scores(points)) is not None:
            return winner, BY_SCORES
    if most_plies is not None and board.ply >= most_plies:
        return "draw", "ply_cap"
    return None


def _made(
    board: Board, choice: Choice, left: float | None, taken: float, clock: RunningClock | None, allowed: float
) -> tuple[str, str | None]:
    """Make a player's move. If it is late or illegal, return the termination and the fault."""
    if left is not None and taken > left + allowed:
        if clock is not None:
            return "time", f"{taken:.3f} s with {left:.3f} s left on its clock of {clock.control}"
        return "time", f"{taken:.3f} s for a move of {left:g} s"
    try:
        board.push(choice.move)
    except InputError as error:
        return "illegal", str(error)
    return "", None
