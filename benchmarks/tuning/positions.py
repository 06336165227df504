"""Positions of self-play and what they are worth: what patterns are learnt from.

The games are those of `benchmarks.tuning.games`, with a random move now and then. What a position
is worth is half the result of its game and half what the search said of it; after a random move,
only the latter. How much a score means is read off the results of the same games.
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
"""The share of the result in what a position is worth."""
_STRAY: Final = 0.03
"""How often a move is random."""
_STEEPEST: Final = 3.0
_CERTAIN: Final = 15.0
"""Logits beyond which a score says no more."""


class Positions(NamedTuple):
    """Quiet positions and what they are worth.

    Attributes
    ----------
    boards : ndarray of uint32, shape (n, 2N + 4)
        Undecided.
    worth : ndarray of float64, shape (n,)
        How likely white wins, 0 to 1.
    """

    boards: NDArray[np.uint32]
    worth: NDArray[np.float64]


def slope_of(scores: NDArray[np.float64], results: NDArray[np.float64]) -> float:
    """Return how many logits of a result a logit of a search's score stands for, as results show."""
    shown = np.clip(scores, -_CERTAIN, _CERTAIN)

    def _cost(slope: float) -> float:
        return float((np.logaddexp(0, slope * shown) - results * slope * shown).mean())

    return float(minimize_scalar(_cost, bounds=(0, _STEEPEST), method="bounded").x)


def gather_positions(
    variant: Variant, *, games: int, nodes: int, seed: int, patterns: Patterns | None = None
) -> Positions:
    """Play games with the weights that ship; return their quiet positions."""
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
