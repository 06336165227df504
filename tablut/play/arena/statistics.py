"""Statistics of a match: score, Elo with its interval, likelihood of superiority, and sequential test.

The two games of a pair begin from the same opening, so they are not independent. The statistics are therefore based on
the five possible results of a pair for the first player (0, ½, 1, 1½ and 2 points), as is usual for chess programs.

References
----------
M. Van den Bergh, "Comments on normalized Elo" and "The generalized sequential probability ratio test for chess",
2017–2020, https://www.cantate.be/Fishtest/
E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
Statistical Association 22 (1927).
G. H. Freeman and J. H. Halton, "Note on an exact treatment of contingency, goodness of fit and other problems of
significance", Biometrika 38 (1951).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Final, Literal, NamedTuple

from scipy.optimize import brentq
from scipy.stats import multivariate_hypergeom, norm

from tablut.errors import REAL, InputError, numbers_of, real_number

SPRT_STATES = Literal["running", "accepted", "rejected"]
_POINTS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The five possible results of a pair of games, each as a share of the two points at stake."""
_UNSEEN: Final = 1e-3
"""Count used for a result that did not occur, as in the published test. This count keeps the logarithms finite."""
_PER_ELO: Final = math.log(10) / 400


class Tally(NamedTuple):
    """Numbers of ``wins``, ``draws`` and ``losses`` of the first player in a match.

    ``pairs`` counts the pairs where it scored 0, ½, 1, 1½ and 2 points, without games that have no partner.
    """

    wins: int = 0
    draws: int = 0
    losses: int = 0
    pairs: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)

    @classmethod
    def of(cls, points: Sequence[float], partners: Sequence[tuple[float, float]] = ()) -> Tally:
        """Count the first player's ``points`` in each game, and its points in both games of each pair (``partners``).

        Examples
        --------
        >>> Tally.of([1, 0.5, 0], [(1, 0.5)])
        Tally(wins=1, draws=1, losses=1, pairs=(0, 0, 0, 1, 0))
        """
        found = [0, 0, 0, 0, 0]
        for first, second in partners:
            found[round(2 * (first + second))] += 1
        wins, draws, losses = (sum(point == kind for point in points) for kind in (1, 0.5, 0))
        return cls(wins, draws, losses, (found[0], found[1], found[2], found[3], found[4]))

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """Mean points per game, or ½ if there are no games."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5


def score_of(elo: float) -> float:
    """Return the expected share of points for a difference in Elo."""
    return 1 / (1 + math.exp(-elo * _PER_ELO))


def elo_of(share: float) -> float | None:
    """Return the difference in Elo that corresponds to a share of points, or None if it is infinite."""
    if not 0 < share < 1:
        return None
    return math.log(share / (1 - share)) / _PER_ELO


def wilson(points: float, games: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's confidence interval for a share of points, where a draw counts as half a win."""
    z = float(norm.ppf(0.5 + confidence / 2))
    share = points / games
    centre = (share + z * z / (2 * games)) / (1 + z * z / games)
    half = z / (1 + z * z / games) * math.sqrt(share * (1 - share) / games + z * z / (4 * games * games))
    # Rounding must not exclude an observed share of 0 or 1 from the interval.
    low = 0.0 if points == 0 else centre - half
    return max(0.0, low), 1.0 if points == games else min(1.0, centre + half)


def same_chances(first: Sequence[int], second: Sequence[int]) -> float:
    """Return the p-value of the hypothesis that two sets of counts come from the same distribution.

    This is Fisher's exact test in the form of Freeman and Halton, which enumerates about n^(k − 1) tables for k
    results.
    """
    if sum(first) > sum(second):
        first, second = second, first
    sums = [one + other for one, other in zip(first, second, strict=True)]
    splits = [
        split for split in product(*(range(min(whole, sum(first)) + 1) for whole in sums)) if sum(split) == sum(first)
    ]
    chances = multivariate_hypergeom.pmf(splits, m=sums, n=sum(first))
    observed = float(multivariate_hypergeom.pmf(list(first), m=sums, n=sum(first)))
    # The tolerance includes tables that have the same probability as the observed table except for rounding errors.
    return min(1.0, float(chances[chances <= observed * (1 + 1e-7)].sum()))


def interval_of_share(tally: Tally, confidence: float = 0.95) -> tuple[float, float]:
    """Return the confidence interval for the share of points.

    It is based on the spread of the pairs if possible, and otherwise it is Wilson's interval.
    """
    error = _error(tally)
    if error is None:
        return wilson(tally.wins + tally.draws / 2, tally.games, confidence)
    z = float(norm.ppf(0.5 + confidence / 2))
    return max(0.0, tally.share - z * error), min(1.0, tally.share + z * error)


def _error(tally: Tally) -> float | None:
    """Return the share's standard error, based on the spread of the pairs, or None if it cannot be computed."""
    pairs = sum(tally.pairs)
    if 2 * pairs != tally.games or pairs < 2:
        return None
    mean = sum(count * points for count, points in zip(tally.pairs, _POINTS, strict=True)) / pairs
    spread = sum(count * (points - mean) ** 2 for count, points in zip(tally.pairs, _POINTS, strict=True))
    return math.sqrt(spread / (pairs - 1) / pairs) or None


def superiority(tally: Tally) -> float:
    """Return the likelihood that the first player is the stronger player."""
    error = _error(tally)
    if error is not None:
        return float(norm.cdf((tally.share - 0.5) / error))
    from scipy.stats import beta

    return float(beta.sf(0.5, tally.wins + 1, tally.losses + 1))


class Sprt(NamedTuple):
    """Wald's sequential probability ratio test (SPRT) between two differences in Elo, based on the results of pairs.

    - ``elo0``, ``elo1``: Differences in Elo under the null hypothesis and under the alternative hypothesis.
    - ``alpha``, ``beta``: Maximum probabilities of wrongly accepting and of wrongly rejecting the alternative
      hypothesis.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def checked(self) -> Sprt:
        """Return the same test, after checking its parameters.

        Raises
        ------
        InputError
            If ``elo0`` is not less than ``elo1``, or an error probability is not between 0 and ½.
        """
        self = numbers_of(self, elo0=REAL, elo1=REAL, alpha=real_number, beta=real_number)
        if not self.elo0 < self.elo1:
            shown = f"{self.elo0:g} {self.elo1:g}"
            raise InputError("expected the lower difference first", parameter="sprt", value=shown)
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            shown = f"{self.alpha:g} {self.beta:g}"
            raise InputError("expected error probabilities between 0 and 0.5", parameter="errors", value=shown)
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound: the log-likelihood ratios that end the test."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def ratio(self, pairs: Sequence[int]) -> float:
        """Return the log-likelihood ratio for ``pairs`` (see `Tally.pairs`), which is positive if they favour ``elo1``.

        Examples
        --------
        >>> round(Sprt(0, 10).ratio((10, 40, 100, 60, 20)), 3)
        2.017
        """
        if not sum(pairs):
            return 0.0
        counts = [max(float(count), _UNSEEN) for count in pairs]
        total = sum(counts)
        seen = [count / total for count in counts]
        near, far = _likeliest(seen, score_of(self.elo0)), _likeliest(seen, score_of(self.elo1))
        return sum(count * math.log(b / a) for count, a, b in zip(counts, near, far, strict=True))

    def state(self, pairs: Sequence[int]) -> SPRT_STATES:
        """Return the state of the test after the given ``pairs`` (see `Tally.pairs`).

        Examples
        --------
        >>> Sprt(0, 10).state((10, 40, 100, 60, 20)), Sprt(0, 10).state((10, 40, 100, 200, 90))
        ('running', 'accepted')
        """
        low, high = self.bounds
        ratio = self.ratio(pairs)
        return "accepted" if ratio >= high else "rejected" if ratio <= low else "running"


def _likeliest(seen: Sequence[float], mean: float) -> list[float]:
    """Return the maximum-likelihood probabilities of the five results for a given mean, using a Lagrange multiplier."""
    # Each probability is seen / (1 + x (points - mean)), which is positive between the poles.
    low, high = -1 / (_POINTS[-1] - mean), -1 / (_POINTS[0] - mean)

    def excess(x: float) -> float:
        return sum(p * (a - mean) / (1 + x * (a - mean)) for p, a in zip(seen, _POINTS, strict=True))

    inner = 1e-9 * (high - low)
    x = float(brentq(excess, low + inner, high - inner, xtol=1e-12))
    return [p / (1 + x * (a - mean)) for p, a in zip(seen, _POINTS, strict=True)]
