"""Exact binomial intervals (Clopper and Pearson), and how two stages are combined.

References
----------
C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial,
Biometrika 26 (4), 1934, https://doi.org/10.1093/biomet/26.4.404.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple


class Tally(NamedTuple):
    """What was found of some samples."""

    n: int
    reachable: int
    unreachable: int
    unknown: int
    lemma_samples: int
    lemma_passed: int
    passed: int
    outside: int = 0
    lemma_outside: int = 0
    inside: Fraction = Fraction(1)


class SpaceSizes(NamedTuple):
    """How large a space is."""

    counted: int
    classes: int
    symmetries: int


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return the exact interval of a share at the level ``1 - alpha``."""
    from scipy.stats import beta

    if trials == 0:
        return 0.0, 1.0
    low = float(beta.ppf(alpha / 2, successes, trials - successes + 1)) if successes else 0.0
    high = float(beta.ppf(1 - alpha / 2, successes + 1, trials - successes)) if successes < trials else 1.0
    return low, high


def share_interval(tally: Tally, alpha: float) -> tuple[float, float]:
    """Return the interval of the reachable share at the level ``1 - alpha``, or better.

    What is unknown counts as unreachable for the lower end and as reachable for the upper. Where the lemmas were
    tried on more samples, the share is a product: of those that pass, and of the reachable among
    them. Each factor then has an interval at ``1 - alpha / 2``, and both hold at once at ``1 - alpha`` at least,
    whether they depend on each other or not. Samples of a part that is counted exactly tell nothing; the
    shares are of the others, and the exact share of these is a further factor.
    """
    inside = float(tally.inside)
    if tally.lemma_samples == tally.n:
        n = tally.n - tally.outside
        low, _ = clopper_pearson(tally.reachable, n, alpha)
        _, high = clopper_pearson(tally.reachable + tally.unknown, n, alpha)
        return inside * low, inside * high
    few, many = clopper_pearson(tally.lemma_passed, tally.lemma_samples - tally.lemma_outside, alpha / 2)
    low, _ = clopper_pearson(tally.reachable, tally.passed, alpha / 2)
    _, high = clopper_pearson(tally.reachable + tally.unknown, tally.passed, alpha / 2)
    return inside * few * low, inside * many * high


def numbers_within(interval: tuple[float, float], size: int) -> tuple[int, int]:
    """Return the numbers of positions to which an interval of shares belongs, rounded outwards."""
    return floor(Fraction(interval[0]) * size), ceil(Fraction(interval[1]) * size)


def share_of_classes(interval: tuple[float, float], sizes: SpaceSizes) -> tuple[float, float]:
    """Return the interval of the share of classes, where that of their members is known.

    A class counts as the sum of one over its size over its members. So the reached classes are at least the reached
    members by the order of the group, and exceed that by at most what all classes do.
    """
    each = Fraction(sizes.counted, sizes.symmetries * sizes.classes)
    low, high = Fraction(interval[0]) * each, Fraction(interval[1]) * each + 1 - each
    return float(low), min(1.0, float(high))
