"""Ratings of several players from the results between them: the model of Bradley and Terry.

References
----------
R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952).
R. Coulom, "Whole-history rating", 2008: a prior of virtual draws keeps ratings finite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Rating", "ratings"]

_ELO: Final = 400 / math.log(10)
_VIRTUAL: Final = 1.0
"""Draws against a player of the mean rating that each is given beforehand."""


class Rating(NamedTuple):
    """How strong a player is among those that it met.

    Attributes
    ----------
    elo : float
        The mean of all players is 0.
    interval : tuple of (float, float)
        Of 95 %, from the curvature of the likelihood.
    """

    elo: float
    interval: tuple[float, float]


def ratings(players: int, points: Mapping[tuple[int, int], tuple[float, int]]) -> list[Rating]:
    """Return the most likely ratings.

    Parameters
    ----------
    players : int
        How many.
    points : mapping of (int, int) to (float, int)
        For two players the points of the first, a draw being half a one, and the games between them.

    Returns
    -------
    list of Rating
        One a player. Each has one virtual draw against the mean, so that one who won all is rated too.

    Examples
    --------
    >>> strong, weak = ratings(2, {(0, 1): (75.0, 100)})
    >>> round(strong.elo), round(weak.elo), strong.interval[0] > 0 > weak.interval[1]
    (95, -95, True)
    """
    met = sorted(points)
    first, second = (np.array([pair[place] for pair in met], dtype=int) for place in (0, 1))
    won = np.array([points[pair][0] for pair in met])
    games = np.array([points[pair][1] for pair in met], dtype=float)

    def _cost(strength: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        apart = strength[first] - strength[second]
        value = float((games * np.logaddexp(0, apart) - won * apart).sum())
        # A draw against strength 0 is half a win and half a loss.
        value += _VIRTUAL * float((np.logaddexp(0, strength) - strength / 2).sum())
        slope = _VIRTUAL * (expit(strength) - 0.5)
        each = games * expit(apart) - won
        np.add.at(slope, first, each)
        np.subtract.at(slope, second, each)
        return value, slope

    best = minimize(_cost, np.zeros(players), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    chance = expit(best[first] - best[second])
    weight = games * chance * (1 - chance)
    own = expit(best)
    information = np.diag(_VIRTUAL * own * (1 - own))
    for one, other, value in zip(first, second, weight, strict=True):
        information[one, one] += value
        information[other, other] += value
        information[one, other] -= value
        information[other, one] -= value
    # Elo is told against the mean of the players, whose own doubt is taken out.
    centre = np.eye(players) - 1 / players
    spread = np.sqrt(np.diag(centre @ np.linalg.inv(information) @ centre.T))
    z = float(norm.ppf(0.975))
    return [
        Rating(_ELO * float(at), (_ELO * float(at - z * error), _ELO * float(at + z * error)))
        for at, error in zip(best - best.mean(), spread, strict=True)
    ]
