"""What a match says: score, Elo with its interval, likelihood of superiority, and the sequential test.

Games of a pair begin from one opening, so they are not independent; pairs are. Everything
here therefore rests on the five results that a pair can have for the first player, 0, ½,
1, 1½ and 2 points, as testing of chess programs does it.

References
----------
M. Van den Bergh, "Comments on normalized Elo" and "The generalized sequential probability
ratio test for chess", 2017–2020, https://www.cantate.be/Fishtest/
E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
Journal of the American Statistical Association 22 (1927).
G. H. Freeman and J. H. Halton, "Note on an exact treatment of contingency, goodness of fit and
other problems of significance", Biometrika 38 (1951).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Final, Literal, NamedTuple

from scipy.optimize import brentq
from scipy.stats import multivariate_hypergeom, norm

from tablut.errors import InputError

SPRT_STATES = Literal["running", "accepted", "rejected"]
_POINTS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The share of a pair's two points that each of the five results is."""
_UNSEEN: Final = 1e-3
"""Pairs counted for a result that never came, as the published test does; it keeps logarithms finite."""
_PER_ELO: Final = math.log(10) / 400


class Tally(NamedTuple):
    """Results from the first player's view.

    Attributes
    ----------
    wins, draws, losses : int
        Games.
    pairs : tuple of five int
        Pairs in which it made 0, ½, 1, 1½ and 2 points; games without a partner are in none.
    """

    wins: int = 0
    draws: int = 0
    losses: int = 0
    pairs: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)

    @classmethod
    def of(cls, points: Sequence[float], partners: Sequence[tuple[float, float]] = ()) -> Tally:
        """Return the tally of games and of pairs.

        Parameters
        ----------
        points : sequence of float
            1, ½ or 0 for each game.
        partners : sequence of (float, float)
            The points of the two games of each complete pair.

        Returns
        -------
        Tally
            Their counts.

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
        """How many games."""
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """Points by game; ½ if there is no game."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5


def score_of(elo: float) -> float:
    """Return the share of points that a difference in Elo leads one to expect."""
    return 1 / (1 + math.exp(-elo * _PER_ELO))


def elo_of(share: float) -> float | None:
    """Return the difference in Elo that a share of points stands for."""
    if not 0 < share < 1:
        return None
    return math.log(share / (1 - share)) / _PER_ELO


def wilson(points: float, games: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of a share of points.

    A draw is half a point in two games' worth of doubt: it makes the interval wider than
    need be, never narrower, since the points of a game vary most when none is drawn.
    """
    z = float(norm.ppf(0.5 + confidence / 2))
    share = points / games
    centre = (share + z * z / (2 * games)) / (1 + z * z / games)
    half = z / (1 + z * z / games) * math.sqrt(share * (1 - share) / games + z * z / (4 * games * games))
    # Rounding must not make a possible share of 0 or 1 impossible.
    low = 0.0 if points == 0 else centre - half
    return max(0.0, low), 1.0 if points == games else min(1.0, centre + half)


def same_chances(first: Sequence[int], second: Sequence[int]) -> float:
    """Return how likely counts so different, or more so, are if both come from the same chances.

    Fisher's exact test in the form of Freeman and Halton, for any number of kinds of results. It lists
    the ways to split the sums of the kinds, as many as the smaller set of games to the power of the kinds less one.
    """
    if sum(first) > sum(second):
        first, second = second, first
    sums = [one + other for one, other in zip(first, second, strict=True)]
    splits = [
        split for split in product(*(range(min(whole, sum(first)) + 1) for whole in sums)) if sum(split) == sum(first)
    ]
    chances = multivariate_hypergeom.pmf(splits, m=sums, n=sum(first))
    observed = float(multivariate_hypergeom.pmf(list(first), m=sums, n=sum(first)))
    # Tables as likely as the one observed count with it; rounding must not part them.
    return min(1.0, float(chances[chances <= observed * (1 + 1e-7)].sum()))


def interval_of_share(tally: Tally, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of the share of points.

    From the spread of the pairs, where every game has its partner and pairs differ; else Wilson's.
    """
    error = _error(tally)
    if error is None:
        return wilson(tally.wins + tally.draws / 2, tally.games, confidence)
    z = float(norm.ppf(0.5 + confidence / 2))
    return max(0.0, tally.share - z * error), min(1.0, tally.share + z * error)


def _error(tally: Tally) -> float | None:
    """Return the standard error of the share as pairs show it, or None if they cannot."""
    pairs = sum(tally.pairs)
    if 2 * pairs != tally.games or pairs < 2:
        return None
    mean = sum(count * points for count, points in zip(tally.pairs, _POINTS, strict=True)) / pairs
    spread = sum(count * (points - mean) ** 2 for count, points in zip(tally.pairs, _POINTS, strict=True))
    return math.sqrt(spread / (pairs - 1) / pairs) or None


def superiority(tally: Tally) -> float:
    """Return the likelihood that the first player is the better one."""
    error = _error(tally)
    if error is not None:
        return float(norm.cdf((tally.share - 0.5) / error))
    from scipy.stats import beta

    return float(beta.sf(0.5, tally.wins + 1, tally.losses + 1))


class Sprt(NamedTuple):
    """Wald's sequential test of two differences in Elo, on the five results of pairs.

    Attributes
    ----------
    elo0, elo1 : float
        The difference under the hypothesis to be rejected, and under the one to be accepted.
    alpha, beta : float
        Most chances of accepting, or rejecting, wrongly.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def checked(self) -> Sprt:
        """Return the test, having checked it.

        Returns
        -------
        Sprt
            Itself.

        Raises
        ------
        InputError
            If the hypotheses are in the wrong order, or a chance is not between 0 and ½.
        """
        if not self.elo0 < self.elo1:
            shown = f"{self.elo0:g} {self.elo1:g}"
            raise InputError("expected the lower difference first", parameter="sprt", value=shown)
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            shown = f"{self.alpha:g} {self.beta:g}"
            raise InputError("expected chances of error between 0 and 0.5", parameter="errors", value=shown)
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which it ends."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def ratio(self, pairs: Sequence[int]) -> float:
        """Return the log-likelihood ratio of the two hypotheses.

        Parameters
        ----------
        pairs : sequence of five int
            See `Tally.pairs`.

        Returns
        -------
        float
            Positive if the pairs speak for ``elo1``; 0 if there are none.

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
        """Return whether the test has ended.

        Parameters
        ----------
        pairs : sequence of five int
            See `Tally.pairs`.

        Returns
        -------
        {'running', 'accepted', 'rejected'}
            ``accepted`` if the difference is ``elo1`` rather than ``elo0``.

        Examples
        --------
        >>> Sprt(0, 10).state((10, 40, 100, 60, 20)), Sprt(0, 10).state((10, 40, 100, 200, 90))
        ('running', 'accepted')
        """
        low, high = self.bounds
        ratio = self.ratio(pairs)
        return "accepted" if ratio >= high else "rejected" if ratio <= low else "running"


def _likeliest(seen: Sequence[float], mean: float) -> list[float]:
    """Return the most likely chances of the five results among those of a given mean, by Lagrange's multiplier."""
    # Chances are seen / (1 + x (points - mean)): positive between the poles.
    low, high = -1 / (_POINTS[-1] - mean), -1 / (_POINTS[0] - mean)

    def excess(x: float) -> float:
        return sum(p * (a - mean) / (1 + x * (a - mean)) for p, a in zip(seen, _POINTS, strict=True))

    inner = 1e-9 * (high - low)
    x = float(brentq(excess, low + inner, high - inner, xtol=1e-12))
    return [p / (1 + x * (a - mean)) for p, a in zip(seen, _POINTS, strict=True)]
