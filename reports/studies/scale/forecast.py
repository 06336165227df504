"""Forecast of the resources for tiers that have not been built: hours, memory, bytes stored and moved, with intervals.

The classes of each tier and the rows that a slice needs are counted exactly. The rates, and the error of the schedule
model (`reports.studies.scale.replay`), are measured on smaller tiers. The rest follows from how the program builds
tiers. It processes one generation of tiers after another. Tiers that fit into memory are built side by side. Every
other tier is built on its own, step by step, in as few slices as the memory allows.

The model does not cover processors other than the measured one, a folder too slow for the data moved, or failures.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from reports.studies.scale.replay import Replay, equal_tasks, fit_costs, replay
from retrograde.solver.kernels.context import row_array_sizes
from retrograde.solver.tier_graph import least_memory, tier_bytes, tier_graph
from tablut.errors import InputError
from tablut.results import Result
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reports.studies.scale.records import Judged, ScaleCheck, TierCost, Windows
    from tablut.variants import Variant

DRAWS: Final = 2000
SEED: Final = 1
_QUANTILES: Final = (0.05, 0.5, 0.95)
_STUDENT: Final = 1.645
"""Half-width, in standard deviations, of the central 90 % of a normal distribution."""
_LEAST_ERROR: Final = 0.05
"""Minimum relative error assumed for the schedule model, even if it was more accurate in a few builds."""
_ALONE: Final = 3.0
"""Assumed uncertainty of tiers without defenders: 90 % of the rates are within this factor of the last measurement."""
_FOR_EACH: Final = 4
"""Number of slices per worker if a tier is divided so that all workers are busy."""
_MOST_MEMORY: Final = 38
"""Base-2 logarithm of the largest memory per worker that is tried: 256 GiB."""
_LEAST_MEMORY: Final = 24

Material = tuple[int, int]


class Interval(Result):
    """A quantity in the model: its median, and the interval that contains 90 % of the random draws."""

    low: float
    middle: float
    high: float


class Forecast(Result):
    """The resources needed to build all tiers with at most ``men`` men."""

    men: int
    workers: int
    classes: int
    memory: int
    slices: int
    cpu: Interval
    seconds: Interval
    shared: Interval
    stored: Interval
    written: Interval
    moved: Interval
    scratch: Interval


class ScaleModel:
    """The resource model for a game."""

    def __init__(self, check: ScaleCheck, draws: int = DRAWS) -> None:
        self.check, self.variant, self.draws = check, load_variant(check.variant), draws
        self.tiers = CountedTiers(self.variant, check.windows)
        self.rates = fit_rates(check, self.tiers.rows, self.tiers.seen)
        self.factor = factor_of(check.judged)
        self.costs = fit_costs(check.trace)
        passes = [task for task in check.trace.tasks if task.kind == "pass"]
        self._usual = len({(task.tier, task.number) for task in passes}) / len({task.tier for task in passes})

    # -- predictions -------------------------------------------------------------------

    def foretold(self, workers: int) -> Replay:
        """Return the measured build's predicted time on the same machine with the given number of workers."""
        return replay(self.check.trace, workers, costs=self.costs, crowding=self.check.crowded.factor)

    @cached_property
    def error(self) -> float:
        """Largest error of the schedule model in the measured builds, as the logarithm of a ratio."""
        off = [
            abs(np.log(self.foretold(run.workers).seconds / run.seconds)) for run in self.check.runs if run.workers > 1
        ]
        return float(max([_LEAST_ERROR, *off]))

    def forecast(self, men: int, workers: int) -> Forecast:
        """Return the resources for all tiers with at most ``men`` men.

        The memory per worker is the amount that makes the build fastest.
        """
        tiers = list(tier_graph(self.variant, men))
        best: tuple[float, int] | None = None
        for power in range(_LEAST_MEMORY, _MOST_MEMORY + 1):
            plans = self.tiers.plans(tiers, 1 << power)
            if plans is not None:
                seconds = float(self._quantities(tiers, plans, workers, 0)["seconds"][0])
                best = min(best or (seconds, power), (seconds, power))
        if best is None:
            raise InputError(
                f"a tier needs more than {1 << _MOST_MEMORY} bytes per worker",
                subject=f"{men} men of {self.variant.name}",
            )
        memory = 1 << best[1]
        plans = self.tiers.plans(tiers, memory) or {}
        found = {name: _interval(drawn) for name, drawn in self._quantities(tiers, plans, workers, self.draws).items()}
        return Forecast(
            men=men,
            workers=workers,
            classes=sum(map(self.tiers.classes, tiers)),
            memory=memory,
            slices=max(plan.slices for plan in plans.values()),
            **found,
        )

    def class_cpu(self, material: Material) -> Interval:
        """Return the processor seconds per class of a tier that is solved in memory."""
        return _interval(self._drawn([material], self.draws)["cpu"][:, 0])

    def _drawn(self, tiers: Sequence[Material], count: int) -> dict[str, NDArray[np.float64]]:
        """Return ``count`` random draws of the tiers' rates, one per row, or one row of medians if ``count`` is 0."""
        rates, generator = self.rates, np.random.default_rng(SEED)
        laws = {name: getattr(rates, name) for name in ("passes", "near", "own", "written", "stored", "store")}
        laws["cpu"] = rates.cpu[0]
        sided = [one if one[1] else (one[0], 1) for one in tiers]
        if not count:
            found = {name: np.array([[law.middle(one) for one in sided]]) for name, law in laws.items()}
            factor, alone, off = np.array([[self.factor.middle((0, 0))]]), 1.0, np.ones(1)
        else:
            found = {name: law.draw(sided, count, generator) for name, law in laws.items()}
            # The draws alternate between the two laws for the processor time.
            found["cpu"][1::2] = rates.cpu[1].draw(sided, count, generator)[1::2]
            factor = self.factor.draw([(0, 0)], count, generator)
            alone = np.exp(generator.standard_normal(count) * np.log(_ALONE) / _STUDENT)
            off = np.exp(generator.standard_normal(count) * self.error / _STUDENT)
        known = max(name for name in self.check.whole if name.endswith("v0"))
        for place, material in enumerate(tiers):
            if not material[1]:
                found["cpu"][:, place] = self.check.whole[known] * alone
            elif not self.tiers.judged(material):
                # The tier takes longer, because it has too many attackers to evaluate its rows as wholes.
                found["cpu"][:, place] *= np.maximum(factor[:, 0], 1.0)
        return {**found, "off": off}

    def _passes(
        self, material: Material, plan: SlicedPlan, drawn: dict[str, NDArray[np.float64]], place: int
    ) -> NDArray[np.float64]:
        """Return the processor seconds for all passes over a tier, for each draw."""
        classes, costs = self.tiers.classes(material), self.rates.costs
        own = classes * drawn["cpu"][:, place]
        if not plan.slices:
            return own
        passes = drawn["passes"][:, place]
        return own + passes * (plan.slices * costs.overhead + costs.window * plan.seen * classes / 2)

    def _quantities(
        self, tiers: Sequence[Material], plans: dict[Material, SlicedPlan], workers: int, count: int
    ) -> dict[str, NDArray[np.float64]]:
        """Return the total amount of each resource for all tiers, for each draw."""
        drawn = self._drawn(tiers, count)
        number = len(drawn["off"])
        names = ("cpu", "seconds", "shared", "stored", "written", "moved", "scratch")
        found = {name: np.zeros(number) for name in names}
        beside: dict[str, dict[int, list[NDArray[np.float64]]]] = {"seconds": {}, "shared": {}}
        for place, material in enumerate(tiers):
            plan, classes = plans[material], self.tiers.classes(material)
            packing = classes * drawn["store"][:, place]
            solving = {"seconds": self._solving(material, plan, workers, drawn, place) + packing}
            solving["shared"] = solving["seconds"]
            # Finer divisions of the tier are tried only if rates are drawn, not if only the medians are used.
            for slices in _finer(plan.slices, workers) if count and material[1] else ():
                finer = self.tiers.finer(material, slices)
                seconds = self._solving(material, finer, workers, drawn, place) + packing / workers
                if np.median(seconds) < np.median(solving["shared"]):
                    solving["shared"] = seconds
            for name, seconds in solving.items():
                if plan.slices or seconds is not solving["seconds"]:
                    found[name] += seconds
                else:
                    beside[name].setdefault(sum(material), []).append(seconds)
            found["cpu"] += self._passes(material, plan, drawn, place) + packing
            found["stored"] += classes * drawn["stored"][:, place]
            if plan.slices:
                passes, near = drawn["passes"][:, place], plan.seen * drawn["near"][:, place]
                found["written"] += classes * passes * drawn["written"][:, place]
                found["moved"] += classes * (passes * (drawn["own"] + drawn["written"])[:, place] + near)
                # The last two steps' files exist at the same time.
                found["scratch"] = np.maximum(found["scratch"], 2 * classes * drawn["written"][:, place])
        for name, tiers_by_men in beside.items():
            for some in tiers_by_men.values():
                # Tiers that fit into memory are built side by side. The time is the larger of two values: the time for
                # the longest tier, and an even share of the total.
                found[name] += np.maximum(np.max(some, axis=0), np.sum(some, axis=0) / workers)
            found[name] *= drawn["off"]
        return found

    def _solving(
        self, material: Material, plan: SlicedPlan, workers: int, drawn: dict[str, NDArray[np.float64]], place: int
    ) -> NDArray[np.float64]:
        """Return the seconds needed to solve a tier, for each draw."""
        if not plan.slices:
            return self._passes(material, plan, drawn, place)
        rounds = equal_tasks(plan.slices, 1.0, workers)
        steps, classes = drawn["passes"][:, place], self.tiers.classes(material)
        passes = self._passes(material, plan, drawn, place) / plan.slices
        moved = classes * (steps * (drawn["written"] + drawn["own"])[:, place] + plan.seen * drawn["near"][:, place])
        waits = steps * (self.costs.overhead + self.costs.between_tasks) + self.costs.per_byte * moved / plan.slices
        leading = self.rates.plan * plan.slices * self.tiers.rows(material[1])
        return (
            rounds * (passes + waits) + leading + steps * self.costs.between_steps * max(1.0, plan.slices / self._usual)
        )


def _finer(slices: int, workers: int) -> list[int]:
    """Return the numbers of slices to try for a tier: the given number, and larger ones up to a few per worker."""
    more = [_FOR_EACH << power for power in range(workers.bit_length())]
    return [max(slices, 1), *(count for count in more if count > slices)]


def _interval(drawn: NDArray[np.float64]) -> Interval:
    low, middle, high = map(float, np.quantile(drawn, _QUANTILES))
    return Interval(low=low, middle=middle, high=high)


def without_largest(check: ScaleCheck) -> ScaleCheck:
    """Return the measurements without the largest tiers. The model can be tested by predicting these tiers."""
    most = max(sum(tier.material) for tier in check.tiers)
    tiers = tuple(tier for tier in check.tiers if sum(tier.material) < most)
    named = {tier.tier for tier in tiers} | {name for name in check.whole if name.endswith("v0")}
    whole = {name: rate for name, rate in check.whole.items() if name in named}
    return check.model_copy(update={"tiers": tiers, "whole": whole})


# -- counted quantities: the classes and rows of tiers, the rows that a slice needs, and the memory


_ITEM: Final = 2
_MOST_SLICES: Final = 1 << 20
_FINER: Final = 1.1


class SlicedPlan(NamedTuple):
    """How a tier is built: the number of slices (0 if it is built in memory), and the rows that a slice needs.

    ``seen`` is the number of needed rows as a multiple of the slice's own rows.
    """

    slices: int
    seen: float


class CountedTiers:
    """Quantities that are counted exactly for a game's tiers."""

    def __init__(self, variant: Variant, windows: Sequence[Windows]) -> None:
        self.variant, self.graph = variant, tier_graph(variant)
        self._windows = {one.defenders: one for one in windows}
        self._plans: dict[tuple[Material, int], SlicedPlan | None] = {}

    def classes(self, material: Material) -> int:
        """Return the approximate number of classes in a tier, with either side to move."""
        return -(-int(self.graph.nodes[material]["positions"]) // len(self.variant.symmetries))

    def rows(self, defenders: int) -> int:
        """Return the number of rows in a tier with the given number of defenders."""
        return self._windows[defenders].rows

    def seen(self, defenders: int, slices: float) -> float:
        """Return the number of rows that a slice needs, as a multiple of its own rows."""
        windows = self._windows[defenders]
        return float(np.exp(np.interp(np.log(slices), np.log(windows.slices), np.log(windows.seen))))

    def plan(self, material: Material, memory: int) -> SlicedPlan | None:
        """Return how a tier is built with the given memory per worker, or None if the memory is too small."""
        if (material, memory) not in self._plans:
            self._plans[material, memory] = self._find_plan(material, memory)
        return self._plans[material, memory]

    def _find_plan(self, material: Material, memory: int) -> SlicedPlan | None:
        if tier_bytes(self.variant, material) <= memory:
            return SlicedPlan(0, 1.0)
        left = memory - least_memory(self.variant, material)
        if not material[1] or left <= 0:
            return None
        own = self.classes(material) / 2
        lower = sum(self.classes(tier) / 2 for tier in self.graph.successors(material) if tier[1])
        slices = 1.0
        while slices <= min(self.rows(material[1]), _MOST_SLICES):
            seen = self.seen(material[1], slices)
            # Assume that a slice needs the same fraction of the lower tiers as of the tier itself.
            entries = own * (1 + seen) / slices + lower * min(1.0, seen / slices)
            if _ITEM * entries <= left:
                return SlicedPlan(round(slices), seen)
            slices *= _FINER
        return None

    def plans(self, tiers: Sequence[Material], memory: int) -> dict[Material, SlicedPlan] | None:
        """Return how tiers are built with the given memory per worker, or None if it is too small for one of them."""
        found = {}
        for material in tiers:
            plan = self.plan(material, memory)
            if plan is None:
                return None
            found[material] = plan
        return found

    def finer(self, material: Material, slices: int) -> SlicedPlan:
        """Return the plan for a tier in the given number of slices, or in one slice per row if it has fewer rows."""
        count = min(slices, self.rows(material[1]))
        return SlicedPlan(count, self.seen(material[1], count))

    def judged(self, material: Material) -> bool:
        """Return whether a tier's rows are evaluated as wholes."""
        return row_array_sizes(self.variant, material).men > 0


# -- laws for the cost of a class, fitted to tiers that were built, and each law's error


Terms = Callable[[Material], "tuple[float, ...]"]

_MOST: Final = 230.0
"""Limit for logarithms. With few degrees of freedom, some draws are extreme, and their sums must not overflow."""
_LARGE: Final = 10**6
"""Minimum number of classes that makes the fixed overhead of a tier's files negligible."""


def constant(_: Material) -> tuple[float, ...]:
    """Return the terms for a rate that is the same for all tiers."""
    return (1.0,)


def by_men(material: Material) -> tuple[float, ...]:
    """Return the terms for a power law in the number of men, including the king."""
    return (1.0, log(1 + sum(material)))


def power(material: Material) -> tuple[float, ...]:
    """Return the terms for a product of powers of the numbers of attackers and defenders."""
    return (1.0, log(material[0]), log(material[1]))


def exponential(material: Material) -> tuple[float, ...]:
    """Return the terms for a rate that grows by a constant factor with each attacker and each defender."""
    return (1.0, float(material[0]), float(material[1]))


class Law(NamedTuple):
    """A rate as a function of the numbers of men.

    Attributes
    ----------
    terms : callable
        Function that returns a tier's terms. The logarithm of the rate is linear in these terms.
    coefficients : ndarray of float64, shape (t,)
        Coefficients of the terms.
    root : ndarray of float64, shape (t, t)
        A square root of the covariance matrix of the coefficients, up to the scale.
    scale : float
        Standard deviation of the logarithms of the tiers' rates from the law.
    freedom : int
        Degrees of freedom of the standard deviation.
    """

    terms: Terms
    coefficients: NDArray[np.float64]
    root: NDArray[np.float64]
    scale: float
    freedom: int

    def middle(self, material: Material) -> float:
        """Return the rate that the law predicts for a tier."""
        return float(np.exp(np.array(self.terms(material)) @ self.coefficients))

    def draw(self, materials: Sequence[Material], count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return random rates from the distribution that the measurements imply."""
        # This is Student's distribution, since the scale itself is estimated with few degrees of freedom.
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
        raise InputError(
            f"{len(values)} tiers are too few or too similar to fit a law of their men", remedy="build more"
        )
    coefficients = np.linalg.lstsq(matrix, values, rcond=None)[0]
    errors = values - matrix @ coefficients
    root = np.linalg.cholesky(np.linalg.inv(matrix.T @ matrix))
    return Law(terms, coefficients, root, float(np.sqrt(errors @ errors / freedom)), freedom)


class PassCosts(NamedTuple):
    """The extra processor seconds of a build in slices, compared with a build in memory.

    ``overhead`` is the cost of each pass over a slice. ``window`` is the cost of each item in a slice's window in each
    pass.
    """

    overhead: float
    window: float


def fit_pass_costs(tiers: Sequence[TierCost], whole: Mapping[str, float]) -> PassCosts:
    """Fit the extra costs of slices to tiers that have been built."""
    from scipy.optimize import nnls

    cpu = np.array([tier.cpu for tier in tiers])
    matrix = np.array([[tier.passes, tier.window] for tier in tiers]) / cpu[:, None]
    extra = 1.0 - np.array([whole[tier.tier] * tier.classes for tier in tiers]) / cpu
    units = matrix.max(axis=0)
    overhead, window = nnls(matrix / units, np.maximum(extra, 0.0))[0] / units
    return PassCosts(float(overhead), float(window))


class Rates(NamedTuple):
    """A game's fitted laws. ``passes`` is per slice, ``plan`` per slice and row, and all others are per class."""

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
    """Fit a game's laws to tiers that have been built."""
    # If a tier was built more than once, use the build with the fewest slices, as in normal use.
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
    """Return a constant law for the slowdown per class if rows are not evaluated as wholes."""
    if len(judged) < 2:
        raise InputError("two tiers must have been solved with and without judging whole rows")
    materials = [(0, 0)] * len(judged)
    return fit_law(constant, materials, [one.unjudged / one.judged for one in judged])
