"""What a class of a tier costs, as a law fitted to tiers that were built; and how far such a law is off.

The logarithm of a rate is taken to be linear in some terms of the tier's men. What a tier deviates from
that is taken to be normal. So a rate of a tier that nobody has built is a guess with an interval,
wider the further away the tier is. `Law.draw` draws laws that the measurements allow; sums over tiers are
made for each draw, so that errors add up as they should.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from retrograde.scale.records import Judged, ScaleCheck, TierCost

Material = tuple[int, int]
Terms = Callable[[Material], "tuple[float, ...]"]

_MOST: Final = 230.0
"""Of a logarithm: with few degrees of freedom some draws are beyond anything, and their sums must stay numbers."""
_LARGE: Final = 10**6
"""Classes of tiers that are large enough for what their files hold besides to be nothing."""


def constant(_: Material) -> tuple[float, ...]:
    """Return the terms of a rate that is the same for all tiers."""
    return (1.0,)


def by_men(material: Material) -> tuple[float, ...]:
    """Return the terms of a power of the number of men, the king counted."""
    return (1.0, log(1 + sum(material)))


def power(material: Material) -> tuple[float, ...]:
    """Return the terms of a product of powers of the attackers and of the defenders."""
    return (1.0, log(material[0]), log(material[1]))


def exponential(material: Material) -> tuple[float, ...]:
    """Return the terms of what is so many times more for each attacker, and for each defender."""
    return (1.0, float(material[0]), float(material[1]))


class Law(NamedTuple):
    """A rate as a function of the men.

    Attributes
    ----------
    terms : callable
        From a tier to the terms that its rate's logarithm is linear in.
    coefficients : ndarray of float64, shape (t,)
        Of the terms.
    root : ndarray of float64, shape (t, t)
        A square root of the coefficients' covariance, but for the scale.
    scale : float
        Standard deviation of a tier from the law.
    freedom : int
        Degrees of freedom of that.
    """

    terms: Terms
    coefficients: NDArray[np.float64]
    root: NDArray[np.float64]
    scale: float
    freedom: int

    def middle(self, material: Material) -> float:
        """Return the rate that the law gives a tier."""
        return float(np.exp(np.array(self.terms(material)) @ self.coefficients))

    def draw(self, materials: Sequence[Material], count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Draw rates as the measurements allow them."""
        # Student's distribution: the scale is not known but by so many degrees of freedom.
        spread = self.scale * np.sqrt(self.freedom / generator.chisquare(self.freedom, count))[:, None]
        laws = self.coefficients + spread * (generator.standard_normal((count, len(self.root))) @ self.root.T)
        own = spread * generator.standard_normal((count, len(materials)))
        logarithms = laws @ np.array([self.terms(one) for one in materials]).T + own
        found: NDArray[np.float64] = np.exp(np.clip(logarithms, -_MOST, _MOST))
        return found


def fit_law(terms: Terms, materials: Sequence[Material], rates: Sequence[float]) -> Law:
    """Fit a law by least squares."""
    matrix = np.array([terms(material) for material in materials])
    values = np.log(np.array(rates, dtype=np.float64))
    freedom = len(values) - len(terms((1, 1)))
    if freedom < 1 or np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise InputError(f"{len(values)} tiers are too few, or too much alike, to fit a law of their men; build more")
    coefficients = np.linalg.lstsq(matrix, values, rcond=None)[0]
    errors = values - matrix @ coefficients
    root = np.linalg.cholesky(np.linalg.inv(matrix.T @ matrix))
    return Law(terms, coefficients, root, float(np.sqrt(errors @ errors / freedom)), freedom)


class PassCosts(NamedTuple):
    """Processor seconds that slices cost, beside those that their classes take in memory."""

    overhead: float
    window: float


def fit_pass_costs(tiers: Sequence[TierCost], whole: Mapping[str, float]) -> PassCosts:
    """Return what slices cost."""
    from scipy.optimize import nnls

    cpu = np.array([tier.cpu for tier in tiers])
    matrix = np.array([[tier.passes, tier.window] for tier in tiers]) / cpu[:, None]
    extra = 1.0 - np.array([whole[tier.tier] * tier.classes for tier in tiers]) / cpu
    units = matrix.max(axis=0)
    overhead, window = nnls(matrix / units, np.maximum(extra, 0.0))[0] / units
    return PassCosts(float(overhead), float(window))


class Rates(NamedTuple):
    """The laws of a game: of a class, if nothing else is said."""

    costs: PassCosts
    cpu: tuple[Law, Law]
    passes: Law
    near: Law
    own: Law
    written: Law
    stored: Law
    store: Law
    plan: float


def fit_rates(check: ScaleCheck, rows: Callable[[int], int], seen: Callable[[int, float], float]) -> Rates:
    """Fit the laws of a game to tiers that were built."""
    # Of tiers that were built more than once, that in the fewest slices: as a user would have it.
    tiers = list({tier.material: tier for tier in sorted(check.tiers, key=lambda tier: -tier.slices)}.values())
    large = [tier for tier in tiers if tier.classes >= _LARGE] or tiers

    def _law(terms: Terms, rate: Callable[[TierCost], float], some: Sequence[TierCost]) -> Law:
        return fit_law(terms, [tier.material for tier in some], [rate(tier) for tier in some])

    plans = [tier.plan_cpu / (tier.slices * rows(tier.material[1])) for tier in check.tiers]
    return Rates(
        costs=fit_pass_costs(check.tiers, check.whole),
        cpu=(
            _law(power, lambda tier: check.whole[tier.tier], tiers),
            _law(exponential, lambda tier: check.whole[tier.tier], tiers),
        ),
        passes=_law(by_men, lambda tier: tier.passes / tier.slices, tiers),
        near=_law(constant, lambda tier: tier.near / tier.classes / seen(tier.material[1], tier.slices), large),
        own=_law(constant, lambda tier: tier.own * tier.slices / tier.passes / tier.classes, large),
        written=_law(constant, lambda tier: tier.written * tier.slices / tier.passes / tier.classes, large),
        stored=_law(constant, lambda tier: tier.stored / tier.classes, large),
        store=_law(constant, lambda tier: tier.store_cpu / tier.classes, large),
        plan=float(np.median(plans)),
    )


def factor_of(judged: Sequence[Judged]) -> Law:
    """Return how many times longer a class takes where rows are not judged as a whole, as a constant law."""
    if len(judged) < 2:
        raise InputError("two tiers must have been solved with and without judging whole rows")
    materials = [(0, 0)] * len(judged)
    return fit_law(constant, materials, [one.unjudged / one.judged for one in judged])
