"""Training data for patterns: positions from self-play with estimates of their worth.

The games are played by `benchmarks.tuning.games`, with occasional random moves. The *worth* of a position is the
expected result for white. It is estimated as the mean of the game's result and the search's estimate, or as the
search's estimate alone if a random move was played later in the game. The conversion of scores to expected results is
fitted to the same games. Its logit is the score times a *slope*. If the score of a balanced position may be far from 0,
as it is without patterns on a large board, a *level* is added, and the logarithm of the game's odds times a weight.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

from benchmarks.tuning.games import play_game
from tablut.play.search.searcher import Searcher
from tablut.play.search.weights import load_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.play.search.weights import Patterns
    from tablut.variants import Variant

RESULT: Final = 0.5
"""Weight of the game's result in a position's worth."""
OPENING: Final = (3, 16)
"""Smallest and largest number of random plies at the start of a game."""
STRAY: Final = 0.03
"""Probability of a random move after the opening."""
_STEEPEST: Final = 3.0
_CERTAIN: Final = 15.0
"""Limit, in logits, that scores are clipped to."""


class Positions(NamedTuple):
    """Quiet positions and their worth.

    Attributes
    ----------
    boards : ndarray of uint32, shape (n, 2N + 4)
        Board arrays of undecided positions.
    worth : ndarray of float64, shape (n,)
        Expected result for white, from 0 to 1.
    odds : ndarray of float64, shape (n,)
        Logarithm of the number of nodes that black had in the game for each node of white.
    """

    boards: NDArray[np.uint32]
    worth: NDArray[np.float64]
    odds: NDArray[np.float64]


def slope_of(scores: NDArray[np.float64], results: NDArray[np.float64]) -> float:
    """Return the slope that best converts search scores, in logits, to logits of results."""

    def _cost(slope: float) -> float:
        return float((np.logaddexp(0, slope * scores) - results * slope * scores).mean())

    return float(minimize_scalar(_cost, bounds=(0, _STEEPEST), method="bounded").x)


class Calibration(NamedTuple):
    """A conversion of scores to logits of results, with a positive slope."""

    slope: float
    level: float
    odds: float

    def logits(self, base: NDArray[np.float64], odds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logits of results for scores and logarithms of odds."""
        return self.slope * base + self.level + self.odds * odds


def calibration(base: NDArray[np.float64], worth: NDArray[np.float64], odds: NDArray[np.float64]) -> Calibration:
    """Return the conversion of scores, given the logarithms of the games' odds, that fits the worth best.

    Odds change both scores and results. Without a weight of their own, they would therefore distort the slope. If the
    odds are always even, their weight is 0.
    """

    def _of(line: NDArray[np.float64]) -> Calibration:
        return Calibration(float(np.exp(line[0])), float(line[1]), float(line[2]) if len(line) > 2 else 0.0)

    def _cost(line: NDArray[np.float64]) -> float:
        logits = _of(line).logits(base, odds)
        return float((np.logaddexp(0, logits) - worth * logits).mean())

    return _of(minimize(_cost, np.zeros(3 if odds.any() else 2), method="Nelder-Mead").x)


def gather_positions(
    variant: Variant,
    *,
    games: int,
    nodes: int,
    seed: int,
    patterns: Patterns | None = None,
    opening: tuple[int, int] = OPENING,
    stray: float = STRAY,
    odds: float = 1.0,
    result: float = RESULT,
    with_level: bool = False,
) -> Positions:
    """Play games with the shipped weights and return their quiet positions.

    In each game, the ratio of black's nodes to white's is drawn between 1 and ``odds``, so that both sides win games
    even if one side wins nearly all games between equals. ``result`` is the weight of the game's result in the worth,
    and ``with_level`` tells whether the conversion of scores has a level and a weight for the odds besides the slope.
    """
    searcher = Searcher(variant, hash_mib=2, weights=load_weights(variant), patterns=patterns)
    random = Random(seed)
    boards, scores, results, judged, factors = [], [], [], [], []
    for _ in range(games):
        searcher.forget()
        factor = odds ** random.random() if odds != 1 else 1.0
        points, quiet = play_game(
            [searcher] * 2, variant, random, nodes=nodes, opening=random.randint(*opening), stray=stray, odds=factor
        )
        for found in quiet:
            boards.append(found.board)
            scores.append(found.score / 100)
            results.append(points)
            judged.append(found.judged)
            factors.append(np.log(factor))
    said, ended, follows, factor_logs = np.array(scores), np.array(results), np.array(judged), np.array(factors)
    shown = np.clip(said[follows], -_CERTAIN, _CERTAIN)
    if with_level:
        line = calibration(shown, ended[follows], factor_logs[follows])
    else:
        line = Calibration(slope_of(shown, ended[follows]), 0.0, 0.0)
    said = expit(line.logits(said, factor_logs))
    worth = np.where(follows, result * ended + (1 - result) * said, said)
    return Positions(np.array(boards), worth, factor_logs)
