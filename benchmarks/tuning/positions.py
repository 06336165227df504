"""Training data for patterns: positions from self-play with estimates of their worth.

The games are played by `benchmarks.tuning.games`, with occasional random moves. The *worth* of a position is the
expected result for white. It is estimated as the mean of the game's result and the search's estimate, or as the
search's estimate alone if a random move was played later in the game. The conversion of scores to expected results is
fitted to the same games.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from benchmarks.tuning.games import play_game
from tablut.play.search.searcher import Searcher
from tablut.play.search.weights import load_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.play.search.weights import Patterns
    from tablut.variants import Variant

_RESULT: Final = 0.5
"""Weight of the game's result in a position's worth."""
_STRAY: Final = 0.03
"""Probability of a random move."""
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


def slope_of(scores: NDArray[np.float64], results: NDArray[np.float64]) -> float:
    """Return the slope that best converts search scores, in logits, to logits of results."""
    shown = np.clip(scores, -_CERTAIN, _CERTAIN)

    def _cost(slope: float) -> float:
        return float((np.logaddexp(0, slope * shown) - results * slope * shown).mean())

    return float(minimize_scalar(_cost, bounds=(0, _STEEPEST), method="bounded").x)


def gather_positions(
    variant: Variant, *, games: int, nodes: int, seed: int, patterns: Patterns | None = None
) -> Positions:
    """Play games with the shipped weights and return their quiet positions."""
    searcher = Searcher(variant, hash_mib=2, weights=load_weights(variant), patterns=patterns)
    random = Random(seed)
    boards, scores, results, judged = [], [], [], []
    for _ in range(games):
        searcher.forget()
        result, quiet = play_game(
            [searcher] * 2, variant, random, nodes=nodes, opening=random.randint(3, 16), stray=_STRAY
        )
        for found in quiet:
            boards.append(found.board)
            scores.append(found.score / 100)
            results.append(result)
            judged.append(found.judged)
    said, ended, follows = np.array(scores), np.array(results), np.array(judged)
    said = expit(slope_of(said[follows], ended[follows]) * said)
    return Positions(np.array(boards), np.where(follows, _RESULT * ended + (1 - _RESULT) * said, said))
