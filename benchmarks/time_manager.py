"""Match of the manager of time against equal shares of the same clock, with nodes in place of seconds.

The first player manages its clock. The second one searches each move for the planned time, times a factor that makes
the totals of both players equal. A fixed number of nodes counts as a second, so that a busy machine does not disturb
the match and anybody can repeat it. The result is in docs/notes/search-strength.md. Run
``python -m benchmarks.time_manager brandubh 5+0.05 400 1.12`` (rules, time control, games, factor).
"""

from __future__ import annotations

import sys
from itertools import pairwise

from tablut.board import Board
from tablut.play.arena import Openings, Tally
from tablut.play.arena.statistics import elo_of, interval_of_share
from tablut.play.search import Searcher, SearchLimits
from tablut.play.search.limits import Choice, Clock, Pace, RunningClock, TimeControl, read_time_control
from tablut.position import Move
from tablut.variants import Variant, load_variant

NODES = 100_000
"""Number of nodes that count as a second."""
MOST_PLIES = 300


def managed(searcher: Searcher, board: Board, clock: Clock) -> Choice:
    """Return the move of the player that manages its clock."""
    pace = Pace(clock)

    def observe(choice: Choice) -> None:
        if pace.is_enough(choice.nodes / NODES, choice.move.code, choice.score or 0):
            searcher.stop()

    searcher.observer = observe
    choice = searcher.search(board, SearchLimits(nodes=max(1, int(clock.longest * NODES))))
    searcher.clear_stop()
    searcher.observer = None
    return choice


def shared(searcher: Searcher, board: Board, clock: Clock, factor: float) -> Choice:
    """Return the move of the player that uses an equal share of its clock for every move."""
    seconds = min(factor * clock.planned, 0.9 * clock.left)
    return searcher.search(board, SearchLimits(nodes=max(1, int(seconds * NODES))))


def played(
    variant: Variant, opening: tuple[Move, ...], control: TimeControl, factor: float, *, first_is_white: bool
) -> tuple[float, list[float]]:
    """Return the points of the player that manages its clock, and the seconds used by both players."""
    board = Board(variant)
    for move in opening:
        board.push(move)
    searchers = [Searcher(variant, hash_mib=16) for _ in range(2)]
    clocks, used = [RunningClock(control) for _ in range(2)], [0.0, 0.0]
    while (outcome := board.outcome()) is None and board.ply < MOST_PLIES:
        turn = int((board.turn == "white") != first_is_white)
        searcher, clock = searchers[turn], clocks[turn].reading()
        choice = shared(searcher, board, clock, factor) if turn else managed(searcher, board, clock)
        clocks[turn].press(choice.nodes / NODES)
        used[turn] += choice.nodes / NODES
        assert clocks[turn].left > 0
        board.push(choice.move)
    if outcome is None or outcome.winner is None:
        return 0.5, used
    return float((outcome.winner == "white") == first_is_white), used


def main(variant: str, control: str, games: int, factor: float) -> None:
    """Play the match, and print its result after every ten pairs."""
    rules, times = load_variant(variant), read_time_control(control)
    points: list[float] = []
    seconds = [0.0, 0.0]
    for number in range(games):
        opening = Openings(4, 4, 1).of_pair(rules, number // 2)
        point, used = played(rules, opening, times, factor, first_is_white=number % 2 == 0)
        points.append(point)
        seconds = [one + other for one, other in zip(seconds, used, strict=True)]
        if number % 20 == 19 or number == games - 1:
            tally = Tally.of(points, list(pairwise(points))[::2])
            low, high = (elo_of(end) for end in interval_of_share(tally))
            each = " and ".join(f"{one / len(points):.2f}" for one in seconds)
            interval = "infinite" if low is None or high is None else f"{low:+.0f} to {high:+.0f}"
            result = f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
            sys.stdout.write(f"{result}; Elo {elo_of(tally.share) or 0:+.0f} ({interval}); {each} s a game\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
