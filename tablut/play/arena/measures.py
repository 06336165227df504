"""How large a game is as it is played: branching factor, length, balance, and the size of its tree.

The size of a game tree is told as ``b ** d``: with the mean branching factor ``b`` and the mean
length ``d`` of games, as the literature does, and more carefully as the mean over games of the
logarithm of the product of the branching factors met, which no single long position distorts.

References
----------
L. V. Allis, "Searching for Solutions in Games and Artificial Intelligence", 1994, section 6.2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.arena.statistics import elo_of, wilson
from tablut.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tablut.play.arena.match import MatchReport
    from tablut.variants import Variant

__all__ = ["Estimated", "GameMeasures", "branching_factors", "measure"]


class Estimated(Result):
    """A mean and its interval of 95 %."""

    mean: float
    low: float
    high: float


class GameMeasures(Result):
    """What games of one player against itself say of their game.

    Attributes
    ----------
    variant, player : str
        The game, and who played it.
    games, capped : int
        How many, and how many of them were cut off as drawn.
    branching : Estimated
        Legal moves of a position, the mean of each game's mean.
    plies : Estimated
        Length of a game.
    log10_tree : Estimated
        Logarithm of the product of the branching factors of a game, its mean.
    log10_power : float
        The same as the literature has it: mean length times the logarithm of the mean branching factor.
    repeated : Estimated
        Plies of a game after which a position stood again, with the same side to move.
    white, black, draws : int
        How games ended.
    white_score, white_score_interval : float, list of float
        White's points by game with Wilson's interval of 95 %.
    white_elo : float or None
        The same as a difference in Elo; None where it is infinite.
    """

    variant: str
    player: str
    games: int
    capped: int
    branching: Estimated
    plies: Estimated
    log10_tree: Estimated
    log10_power: float
    repeated: Estimated
    white: int
    black: int
    draws: int
    white_score: float
    white_score_interval: list[float]
    white_elo: float | None


def branching_factors(variant: Variant, report: MatchReport) -> list[list[int]]:
    """Return how many legal moves each position of each game had.

    Parameters
    ----------
    variant : Variant
        The rule set.
    report : MatchReport
        Games from the start of the variant.

    Returns
    -------
    list of list of int
        A list a game, a number for each move that was made.
    """
    factors = []
    for one in report.played:
        board, met = Board(variant), []
        for move in one.game.moves:
            met.append(board.legal_moves.count())
            board.push(move)
        factors.append(met)
    return factors


def _repeated(variant: Variant, report: MatchReport) -> list[int]:
    """Return how many plies of each game led to a position that it had before."""
    counts = []
    for one in report.played:
        board = Board(variant)
        seen = {str(board.position)}
        for move in one.game.moves:
            board.push(move)
            seen.add(str(board.position))
        counts.append(len(one.game.moves) + 1 - len(seen))
    return counts


def measure(variant: Variant, report: MatchReport) -> GameMeasures:
    """Return the measures of a game as a player plays it against itself.

    Parameters
    ----------
    variant : Variant
        The rule set.
    report : MatchReport
        At least two games from the start of the variant.

    Returns
    -------
    GameMeasures
        With intervals over the games, which are taken as independent.

    Raises
    ------
    InputError
        If there are fewer than two games.

    Examples
    --------
    >>> from tablut.play.arena import MatchPlan, Openings, contestant, play_match
    >>> from tablut.play.search.limits import SearchLimits
    >>> from tablut.variants import load_variant
    >>> rules, random = load_variant("brandubh-5-4v0"), contestant("random", SearchLimits(nodes=1))
    >>> report = play_match(MatchPlan(rules, random, random, games=50, openings=Openings(0)))
    >>> found = measure(rules, report)
    >>> found.games, found.white + found.black + found.draws, found.branching.low < found.branching.mean
    (50, 50, True)
    """
    if len(report.played) < 2:
        raise InputError("measure: expected at least two games")
    factors = branching_factors(variant, report)
    logs = np.array([sum(math.log10(factor) for factor in met) for met in factors])
    lengths = np.array([len(met) for met in factors], dtype=float)
    means = np.array([sum(met) / len(met) for met in factors if met])
    winners = [one.game.winner for one in report.played]
    white, black, games = winners.count("white"), winners.count("black"), len(winners)
    points = white + (games - white - black) / 2
    elo = elo_of(points / games)
    branching = _estimated(means)
    return GameMeasures(
        variant=variant.name,
        player=report.summary.a,
        games=games,
        capped=sum(one.game.termination == "ply_cap" for one in report.played),
        branching=branching,
        plies=_estimated(lengths),
        log10_tree=_estimated(logs),
        log10_power=round(float(lengths.mean()) * math.log10(branching.mean), 4),
        repeated=_estimated(np.array(_repeated(variant, report), dtype=float)),
        white=white,
        black=black,
        draws=games - white - black,
        white_score=round(points / games, 6),
        white_score_interval=[round(end, 6) for end in wilson(points, games)],
        white_elo=None if elo is None else round(elo, 1),
    )


def _estimated(values: Sequence[float] | NDArray[np.float64]) -> Estimated:
    found = np.asarray(values, dtype=float)
    mean = float(found.mean())
    error = float(norm.ppf(0.975)) * float(found.std(ddof=1)) / math.sqrt(len(found))
    # Nothing that is estimated here can be below zero; rare things have intervals that would.
    return Estimated(mean=round(mean, 4), low=round(max(0.0, mean - error), 4), high=round(mean + error, 4))
