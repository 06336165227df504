"""Training data for patterns: positions from self-play with estimates of their worth.

The games are played by `benchmarks.tuning.games`, with occasional random moves. The *worth* of a position is the
expected result for white. It is estimated as the mean of the game's result and the search's estimate, or as the
search's estimate alone if a random move was played later in the game. The conversion of scores to expected results is
fitted to the same games. Its logit is the score times a *slope*, plus a *level* if the score of a balanced position may
be far from 0, as it is without patterns on a large board.
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
    """

    boards: NDArray[np.uint32]
    worth: NDArray[np.float64]


def slope_of(scores: NDArray[np.float64], results: NDArray[np.float64]) -> tuple[float, float]:
    """Return the slope that best converts search scores, in logits, to logits of results, and the level 0."""

    def _cost(slope: float) -> float:
        return float((np.logaddexp(0, slope * scores) - results * slope * scores).mean())

    return float(minimize_scalar(_cost, bounds=(0, _STEEPEST), method="bounded").x), 0.0


def calibration(base: NDArray[np.float64], worth: NDArray[np.float64]) -> tuple[float, float]:
    """Return the positive slope and the level that make the logits ``slope * base + level`` fit the worth best."""

    def _cost(line: NDArray[np.float64]) -> float:
        logits = np.exp(line[0]) * base + line[1]
        return float((np.logaddexp(0, logits) - worth * logits).mean())

    slope, level = minimize(_cost, np.zeros(2), method="Nelder-Mead").x
    return float(np.exp(slope)), float(level)


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

    In each game, black has up to ``odds`` times as many nodes per move as white. The factor is drawn anew for each
    game, so that both sides win games even if white wins nearly all games between equals. ``result`` is the weight of
    the game's result in the worth, and ``with_level`` tells whether the conversion of scores has a level besides the
    slope.
    """
    searcher = Searcher(variant, hash_mib=2, weights=load_weights(variant), patterns=patterns)
    random = Random(seed)
    boards, scores, results, judged = [], [], [], []
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
    said, ended, follows = np.array(scores), np.array(results), np.array(judged)
    slope, level = (calibration if with_level else slope_of)(
        np.clip(said[follows], -_CERTAIN, _CERTAIN), ended[follows]
    )
    said = expit(slope * said + level)
    return Positions(np.array(boards), np.where(follows, result * ended + (1 - result) * said, said))
