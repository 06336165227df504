"""What tiers that nobody has built would take: hours, memory, bytes stored and moved. A model, with intervals.

Counted exactly are the classes of each tier, and how many rows a slice sees. Measured on smaller tiers are the rates
(`retrograde.scale.rates`) and what the schedule's model was off by (`retrograde.scale.replay`). The rest follows from
how the program builds: a generation of tiers after the other, those that fit into memory side by side, the others one
after the other, in as few slices as the memory allows, step by step.

Not in the model: other processors than the measured one, a folder too slow for what is moved, failures.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.scale.rates import factor_of, fit_rates
from retrograde.scale.replay import Replay, fit_costs, replay
from retrograde.scale.schedule import equal_tasks
from retrograde.scale.tiers import CountedTiers, SlicedPlan
from retrograde.solver.tiers import tier_graph
from tablut.errors import InputError
from tablut.results import Result
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from retrograde.scale.records import ScaleCheck

DRAWS: Final = 2000
SEED: Final = 1
_QUANTILES: Final = (0.05, 0.5, 0.95)
_STUDENT: Final = 1.645
"""Standard deviations on either side of the middle nine tenths of a normal distribution."""
_LEAST_ERROR: Final = 0.05
"""Of the schedule's model, however well it did in a few builds."""
_ALONE: Final = 3.0
"""Tiers without defenders: nine in ten rates lie within so many times of the last measured one; assumed."""
_FOR_EACH: Final = 4
"""Slices for each worker, where tiers are cut for the workers."""
_MOST_MEMORY: Final = 38
"""The logarithm of the most memory of a worker that is tried: 256 GiB."""
_LEAST_MEMORY: Final = 24

Material = tuple[int, int]


class Interval(Result):
    """A quantity of the model: its median, and where nine tenths of the draws are."""

    low: float
    middle: float
    high: float


class Forecast(Result):
    """What all tiers of at most so many men would take."""

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
    """The model of a game."""

    def __init__(self, check: ScaleCheck, draws: int = DRAWS) -> None:
        self.check, self.variant, self.draws = check, load_variant(check.variant), draws
        self.tiers = CountedTiers(self.variant, check.windows)
        self.rates = fit_rates(check, self.tiers.rows, self.tiers.seen)
        self.factor = factor_of(check.judged)
        self.costs = fit_costs(check.trace)
        passes = [task for task in check.trace.tasks if task.kind == "pass"]
        self._usual = len({(task.tier, task.number) for task in passes}) / len({task.tier for task in passes})

    # -- what is foretold --------------------------------------------------------------

    def foretold(self, workers: int) -> Replay:
        """Return what the build of the check takes by so many workers on the same machine."""
        return replay(self.check.trace, workers, costs=self.costs, crowding=self.check.crowded.factor)

    @cached_property
    def error(self) -> float:
        """What the schedule's model was off by at most, as the logarithm of a ratio."""
        off = [
            abs(np.log(self.foretold(run.workers).seconds / run.seconds)) for run in self.check.runs if run.workers > 1
        ]
        return float(max([_LEAST_ERROR, *off]))

    def forecast(self, men: int, workers: int) -> Forecast:
        """Return what all tiers of at most so many men would take, with the memory that is best for it."""
        tiers = list(tier_graph(self.variant, men))
        best: tuple[float, int] | None = None
        for power in range(_LEAST_MEMORY, _MOST_MEMORY + 1):
            plans = self.tiers.plans(tiers, 1 << power)
            if plans is not None:
                seconds = float(self._quantities(tiers, plans, workers, 0)["seconds"][0])
                best = min(best or (seconds, power), (seconds, power))
        if best is None:
            raise InputError(f"{men} men of {self.variant.name}: no tier may take more than {1 << _MOST_MEMORY} bytes")
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
        """Return the processor seconds of a class of a tier in memory."""
        return _interval(self._drawn([material], self.draws)["cpu"][:, 0])

    def _drawn(self, tiers: Sequence[Material], count: int) -> dict[str, NDArray[np.float64]]:
        """Return rates of tiers, a row for each draw; the middle ones if none are asked for."""
        rates, generator = self.rates, np.random.default_rng(SEED)
        laws = {name: getattr(rates, name) for name in ("passes", "near", "own", "written", "stored", "store")}
        laws["cpu"] = rates.cpu[0]
        sided = [one if one[1] else (one[0], 1) for one in tiers]
        if not count:
            found = {name: np.array([[law.middle(one) for one in sided]]) for name, law in laws.items()}
            factor, alone, off = np.array([[self.factor.middle((0, 0))]]), 1.0, np.ones(1)
        else:
            found = {name: law.draw(sided, count, generator) for name, law in laws.items()}
            # Every second draw goes by the other law.
            found["cpu"][1::2] = rates.cpu[1].draw(sided, count, generator)[1::2]
            factor = self.factor.draw([(0, 0)], count, generator)
            alone = np.exp(generator.standard_normal(count) * np.log(_ALONE) / _STUDENT)
            off = np.exp(generator.standard_normal(count) * self.error / _STUDENT)
        known = max(name for name in self.check.whole if name.endswith("v0"))
        for place, material in enumerate(tiers):
            if not material[1]:
                found["cpu"][:, place] = self.check.whole[known] * alone
            elif not self.tiers.judged(material):
                # Too many attackers for rows to be judged as a whole, which takes longer.
                found["cpu"][:, place] *= np.maximum(factor[:, 0], 1.0)
        return {**found, "off": off}

    def _passes(
        self, material: Material, plan: SlicedPlan, drawn: dict[str, NDArray[np.float64]], place: int
    ) -> NDArray[np.float64]:
        """Return the processor seconds of all passes of a tier, for each draw."""
        classes, costs = self.tiers.classes(material), self.rates.costs
        own = classes * drawn["cpu"][:, place]
        if not plan.slices:
            return own
        passes = drawn["passes"][:, place]
        return own + passes * (plan.slices * costs.overhead + costs.window * plan.seen * classes / 2)

    def _quantities(
        self, tiers: Sequence[Material], plans: dict[Material, SlicedPlan], workers: int, count: int
    ) -> dict[str, NDArray[np.float64]]:
        """Return the sums over all tiers, for each draw."""
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
            # Whether a tier would be cut finer matters to the draws alone.
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
                # The files of the last two steps.
                found["scratch"] = np.maximum(found["scratch"], 2 * classes * drawn["written"][:, place])
        for name, tiers_by_men in beside.items():
            for some in tiers_by_men.values():
                # Tiers that fit go side by side: the longest of them, or all shared evenly.
                found[name] += np.maximum(np.max(some, axis=0), np.sum(some, axis=0) / workers)
            found[name] *= drawn["off"]
        return found

    def _solving(
        self, material: Material, plan: SlicedPlan, workers: int, drawn: dict[str, NDArray[np.float64]], place: int
    ) -> NDArray[np.float64]:
        """Return the seconds that a tier takes until it is solved, for each draw."""
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
    """Return into how many slices a tier may be cut for so many workers."""
    more = [_FOR_EACH << power for power in range(workers.bit_length())]
    return [max(slices, 1), *(count for count in more if count > slices)]


def _interval(drawn: NDArray[np.float64]) -> Interval:
    low, middle, high = map(float, np.quantile(drawn, _QUANTILES))
    return Interval(low=low, middle=middle, high=high)


def without_largest(check: ScaleCheck) -> ScaleCheck:
    """Return what was measured on tiers of fewer men, to foretell those of the most men from it."""
    most = max(sum(tier.material) for tier in check.tiers)
    tiers = tuple(tier for tier in check.tiers if sum(tier.material) < most)
    named = {tier.tier for tier in tiers} | {name for name in check.whole if name.endswith("v0")}
    whole = {name: rate for name, rate in check.whole.items() if name in named}
    return check.model_copy(update={"tiers": tiers, "whole": whole})
