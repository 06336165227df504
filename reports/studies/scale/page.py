"""The page on the resources needed to solve brandubh completely.

It is rendered from the measurements of ``python -m reports.studies.scale measure``. The time for a build is predicted
from one worker's trace and compared with builds by several workers. Larger builds are then forecast, with intervals
that include the model's error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from counting.spaces import classes_by_material, spaces
from reports.rendering import STUDIES, Artefact, figure, page, read_stored
from reports.studies.scale.forecast import Forecast, Interval, ScaleModel, without_largest
from reports.studies.scale.records import ScaleCheck, run_of
from tablut.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAME: Final = "brandubh"
FOLDER: Final = STUDIES / "scale"
DATA: Final = FOLDER / "data"
WORKERS: Final = (16, 64, 256)
_CURVE: Final = (4, 16, 64, 256, 1024)
_MEN: Final = (7, 8, 9)
_QUIET: Final = 0.02
"""Maximum share of its time that a worker may spend waiting for a processor if the machine is to count as idle."""
_MOST_RATE: Final = 1e-3
"""Processor seconds per class above which a measurement is implausible."""
_TIMES: Final = ((120, 1, "s"), (7200, 60, "min"), (100 * 3600, 3600, "h"), (700 * 86400, 86400, "days"))
_YEAR: Final = 365.25 * 86400


class Built(Result):
    """A complete build, by one process, of tiers with more men than the tiers used to fit the model.

    Times are processor seconds.
    """

    men: Annotated[int, Field(ge=2)]
    classes: int
    stored: Annotated[int, Field(gt=0)]
    seconds: dict[Annotated[str, Field(pattern=r"^tablut tablebase build [^`|\n]*$")], Annotated[float, Field(gt=0)]]


def built() -> dict[str, Any]:
    """Return the stored build of tiers with more men than the measured tiers have, as plain data."""

    def _classes_are_counted(stored: Built, _: str) -> None:
        if stored.men not in _MEN or stored.classes != _classes(stored.men):
            raise ValueError(f"classes: do not match {stored.men} men")

    return read_stored(DATA, "built", Built, _classes_are_counted, signed=False)


def _classes(men: int) -> int:
    """Return the number of classes of positions with at most ``men`` men, with either side to move."""
    orbits = classes_by_material(spaces(GAME)["no_end"])
    return 2 * sum(count for tier, count in orbits.items() if sum(tier) < men)


def results() -> dict[str, Any]:
    """Return the measurements as plain data."""
    return read_stored(DATA, "measured", ScaleCheck, _check, signed=False)


def _check(stored: ScaleCheck, _: str) -> None:
    """Check that measurements are internally consistent, and that the model can be fitted to them."""
    trace, first = stored.trace, stored.runs[0] if stored.runs else None
    if (stored.variant, trace.variant) != (GAME, GAME):
        raise ValueError("variant: is the wrong one")
    if first != run_of(trace) or trace.workers != 1:
        raise ValueError("runs: do not begin with the traced run by one worker")
    if [run.workers for run in stored.runs] != sorted({run.workers for run in stored.runs}):
        raise ValueError("runs: do not have increasing numbers of workers")
    if any(run.tasks != first.tasks or not run.seconds for run in stored.runs):
        raise ValueError("runs: do not belong to the same build")
    if missing := {tier.tier for tier in stored.tiers} - stored.whole.keys():
        raise ValueError(f"whole: has no {min(missing)}")
    if not any(tier.endswith("v0") for tier in stored.whole) or max(stored.whole.values()) > _MOST_RATE:
        raise ValueError("whole: are not rates of tiers in memory")
    for windows in stored.windows:
        steps, seen = list(windows.slices), list(windows.seen)
        if len(steps) != len(seen) or not steps or steps != sorted(set(steps)) or steps[0] != 1 or seen[0] != 1.0:
            raise ValueError(f"windows: those of {windows.defenders} defenders are not counted from one slice on")
    model = ScaleModel(stored, draws=2)
    soldiers = {defenders for _, defenders in model.tiers.graph if defenders}
    if {windows.defenders for windows in stored.windows} != soldiers:
        raise ValueError("windows: are not those of each number of defenders")
    for tier in stored.tiers:
        # A few classes have two entries in a tier's index.
        if not 1 <= tier.classes / model.tiers.classes(tier.material) < 1.5:
            raise ValueError(f"tiers: {tier.tier} does not have that number of classes")
    model.forecast(_MEN[0], WORKERS[0])


def artefacts() -> list[Artefact]:
    """Return the files for the page on the resources needed."""
    check = ScaleCheck.model_validate(results())
    model = ScaleModel(check)
    everything = 1 + max(sum(material) for material in model.tiers.graph)
    one = run_of(check.trace)
    foretold = {run.workers: model.foretold(run.workers) for run in check.runs}
    curves = {men: {count: model.forecast(men, count) for count in _CURVE} for men in (*_MEN, everything)}
    forecasts = {men: [some[count] for count in WORKERS] for men, some in curves.items()}
    whole = Built.model_validate(built())
    smaller = ScaleModel(without_largest(check))
    most = max(sum(tier.material) for tier in check.tiers)
    held_out = [
        {
            "tier": tier.tier,
            "model": _scaled(smaller.class_cpu(tier.material), 1e-9),
            "measured": check.whole[tier.tier] / 1e-9,
            "off": smaller.class_cpu(tier.material).middle / check.whole[tier.tier] - 1,
        }
        for tier in check.tiers
        if sum(tier.material) == most
    ]
    return [
        page(
            "page.md",
            "page.md.j2",
            "studies/scale",
            check=check,
            costs=model.costs,
            one=one,
            quiet=one.waited is not None and one.waited < _QUIET * one.seconds,
            runs=[(run, foretold[run.workers], foretold[run.workers].seconds / run.seconds - 1) for run in check.runs],
            error=model.error,
            held_out=held_out,
            most_men=1 + most,
            factor=model.factor.middle((0, 0)),
            rates=model.rates,
            everything=everything,
            forecasts={men: [_row(one) for one in some] for men, some in forecasts.items()},
            classes={men: _classes(men) for men in forecasts},
            built=whole,
            built_seconds=sum(whole.seconds.values()),
            told=curves[whole.men][WORKERS[0]],
            said=_row(curves[whole.men][WORKERS[0]]),
            most_workers=max(_CURVE),
            most_slices=max(one.slices for some in curves.values() for one in some.values()),
            placements=sum(int(tier["positions"]) for _, tier in model.tiers.graph.nodes.items()) // 2,
        ),
        figure(
            "figures/scale-check.svg",
            _draw_check,
            [
                {"workers": run.workers, "measured": run.seconds, "model": foretold[run.workers].seconds}
                for run in check.runs
            ],
            "Wall times measured, and foretold from the trace of one worker",
        ),
        figure(
            "figures/scale-time.svg",
            _draw_time,
            [
                {
                    "name": f"all {men} men" if men == everything else f"{men} men",
                    "workers": list(_CURVE),
                    "now": [_hours(one.seconds) for one in some.values()],
                    "changed": [_hours(one.shared) for one in some.values()],
                }
                for men, some in curves.items()
            ],
            "Hours to solve all tiers of so many men of brandubh: a model",
        ),
    ]


def _hours(seconds: Interval) -> list[float]:
    """Return the low, middle and high hours to three digits, which hides rounding differences between machines."""
    return [float(f"{value / 3600:.3g}") for value in (seconds.low, seconds.middle, seconds.high)]


def _row(one: Forecast) -> dict[str, Any]:
    """Return a forecast's fields as text."""
    return {
        "workers": one.workers,
        "memory": _bytes(one.memory),
        "slices": one.slices,
        "cpu": _timed(one.cpu),
        "seconds": _timed(one.seconds),
        "shared": _timed(one.shared),
        "stored": _sized(one.stored),
        "moved": _sized(one.moved) if one.slices else "none",
        "scratch": _sized(one.scratch) if one.slices else "none",
        "carries": _bytes(one.moved.middle / one.seconds.middle) if one.slices else "0",
    }


def _timed(seconds: Interval) -> str:
    """Return a time and its interval in a suitable unit."""
    unit, name = next(((unit, name) for most, unit, name in _TIMES if seconds.middle < most), (_YEAR, "years"))
    return f"{_scaled(seconds, unit)} {name}"


def _sized(size: Interval) -> str:
    unit, name = _unit(size.middle)
    return f"{_scaled(size, unit)} {name}"


def _bytes(size: float) -> str:
    unit, name = _unit(size)
    return f"{_short(size / unit)} {name}"


def _unit(size: float) -> tuple[float, str]:
    power = next((power for power in range(5) if size < 1000.0 ** (power + 1)), 5)
    return 1000.0**power, ("bytes", "kB", "MB", "GB", "TB", "PB")[power]


def _scaled(value: Interval, unit: float) -> str:
    return f"{_short(value.middle / unit)} ({_short(value.low / unit)}–{_short(value.high / unit)})"


def _short(value: float) -> str:
    """Return a number with two significant digits, because the model is not more precise."""
    return f"{float(f'{value:.2g}'):,.10g}"


def _draw_check(runs: list[dict[str, Any]]) -> Figure:
    """Draw measured and predicted wall times by the number of workers."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.2))
    axes = figure.subplots()
    places = range(len(runs))
    for name, shift, colour in (("measured", -0.2, "#2f6f8f"), ("model", 0.2, "#d39a16")):
        axes.bar([place + shift for place in places], [run[name] for run in runs], 0.38, color=colour, label=name)
    for place, run in zip(places, runs, strict=True):
        for shift, value in ((-0.2, run["measured"]), (0.2, run["model"])):
            axes.text(place + shift, value, f"{value:,.0f} s", ha="center", va="bottom", fontsize=8)
    axes.set_xticks(places, [f"{run['workers']} worker{'s' * (run['workers'] > 1)}" for run in runs])
    axes.set_ylabel("seconds by the clock on the wall")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _draw_time(curves: list[dict[str, Any]]) -> Figure:
    """Draw the hours by the number of workers, and a band that contains 90 % of the draws.

    Dashed lines show the effect of the two proposed program changes.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 4.6))
    axes = figure.subplots()
    colours = ["#54803c", "#2f6f8f", "#8e5aa8", "#8c4a1f"]
    for colour, curve in zip(colours, curves, strict=False):
        low, middle, high = zip(*curve["now"], strict=True)
        axes.fill_between(curve["workers"], low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(curve["workers"], middle, "o-", color=colour, markersize=3.5, label=curve["name"])
        axes.plot(curve["workers"], [each[1] for each in curve["changed"]], "--", color=colour, linewidth=1)
    axes.set_xscale("log", base=4)
    axes.set_yscale("log")
    axes.set_xticks(curves[0]["workers"], [f"{count:,}" for count in curves[0]["workers"]])
    for hours, name in ((1, "an hour"), (24, "a day"), (8766, "a year")):
        axes.axhline(hours, color="#bbbbbb", linewidth=0.6, zorder=0)
        axes.text(1.01, hours, name, fontsize=7, color="#777777", va="center", transform=axes.get_yaxis_transform())
    axes.set_xlabel("workers, each with a processor of its own")
    axes.set_ylabel("hours (model)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.12, 1))
    return figure
