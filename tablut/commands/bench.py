"""``tablut bench``: what the engine does, as one signature, and how fast this machine does it."""

from __future__ import annotations

import math
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from tablut.cli.runtime import Reply, command, progress
from tablut.cli.streams import complain
from tablut.compilation import cpu_clock
from tablut.results import Result
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.metadata import EntryPoint

    from tablut.cli.people import PeopleConsole

__all__ = ["bench_command"]

_GROUP: Final = "tablut.bench"
_OWN: Final = {
    "search_nps": ("search", "nodes"),
    "census_pps": ("census", "children"),
    "solve_pps": ("solver", "positions"),
}
"""The rates of our own packages, which this one may not import: what is measured, and in what."""


class _PerftSpeed(Result):
    applied: float
    counted: float


class _Bench(Result):
    """Speeds per CPU second of one thread; null where the toolkit has no such part yet.

    Attributes
    ----------
    registered : dict of str to (float or None)
        The rates of other people's packages, by entry point; None where one failed.
    """

    signature: str
    perft_nps: _PerftSpeed
    expand_cps: float
    canonical_ns: float
    search_nps: float | None = None
    census_pps: float | None = None
    solve_pps: float | None = None
    registered: dict[str, float | None]


@command
def bench_command() -> Reply:
    """Print the behaviour fingerprint over a fixed set of positions, and the speeds of this machine.

    The signature changes when the rules as played, the Zobrist keys or the canonical
    form change, and with nothing else. Speeds are per CPU second of one thread, the
    best of three, from the start of ashton.
    """
    from tablut.engine import engine_for
    from tablut.engine.fingerprint import fingerprint

    engine = engine_for(load_variant("ashton"))
    start = engine.start()
    with progress("bench") as display:
        task = display.add_task("", total=6)

        def measure(work: Callable[[], Any]) -> float:
            """Return the fewest CPU seconds of three runs, after one that compiles and warms up."""
            work()
            times = []
            for _ in range(3):
                started = cpu_clock()
                work()
                times.append(cpu_clock() - started)
            display.advance(task)
            return min(times)

        signature = fingerprint()
        display.advance(task)
        applied = engine.perft(start, 4) / measure(lambda: engine.perft_applied(start, 4))
        counted = engine.perft(start, 5) / measure(lambda: engine.perft(start, 5))
        third = engine.words(start)
        for _ in range(2):
            third = engine.expand(third).words
        children = engine.expand(third).words
        expand = len(children) / measure(lambda: engine.expand(third))
        canonical = measure(lambda: engine.canonical(children)) / len(children)
        own, registered = _registered_rates(entry_points(group=_GROUP))
        display.advance(task)
    result = _Bench(
        signature=signature,
        perft_nps=_PerftSpeed(applied=round(applied), counted=round(counted)),
        expand_cps=round(expand),
        canonical_ns=round(canonical * 1e9, 1),
        **own,
        registered=registered,
    )
    return Reply(result, lambda console: _show(console, result))


def _registered_rates(entries: Iterable[EntryPoint]) -> tuple[dict[str, float], dict[str, float | None]]:
    """Return the rates of our own packages, and those that anybody else registers.

    A function of someone else's that fails costs nothing but its own rate.
    """
    own: dict[str, float] = {}
    others: dict[str, float | None] = {}
    for entry in sorted(entries, key=lambda entry: (entry.name, entry.value)):
        if entry.name in _OWN and entry.dist is not None and entry.dist.name == "tablut":
            own[entry.name] = round(entry.load()())
            continue
        name = entry.name if entry.name not in others else f"{entry.name} ({entry.value})"
        others[name] = None
        try:
            rate = float(entry.load()())
            if not math.isfinite(rate):
                raise ValueError(f"{rate} is no rate")
        except Exception as error:  # whatever other people's code raises
            complain(f"warning: the rate {entry.name} of {entry.value} failed: {type(error).__name__}: {error}")
        else:
            others[name] = rate
    return own, others


def _show(console: PeopleConsole, result: _Bench) -> None:
    console.print("speeds from the start of ashton; the signature is over a fixed set of positions", style="dim")
    console.print(f"signature          {result.signature}", style="bold")
    console.print(f"perft, applied     {result.perft_nps.applied / 1e6:>10,.1f} million moves a CPU second")
    console.print(f"perft, counted     {result.perft_nps.counted / 1e6:>10,.1f} million moves a CPU second")
    console.print(f"expand             {result.expand_cps / 1e6:>10,.1f} million children a CPU second")
    console.print(f"canonical form     {result.canonical_ns:>10,.1f} ns a position")
    for name, (what, unit) in _OWN.items():
        rate = getattr(result, name)
        if rate is not None:
            console.print(f"{what:<18} {rate / 1e6:>10,.1f} million {unit} a CPU second")
    for name, rate in result.registered.items():
        shown = f"{'failed':>10}" if rate is None else f"{rate:>10,.6g} a CPU second"
        console.print(f"{name:<18} {shown}", soft_wrap=True)
