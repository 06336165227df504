"""``tablut bench``: what the engine does, as one signature, and how fast this machine does it."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from tablut.cli.runtime import Reply, command, progress
from tablut.compilation import cpu_clock
from tablut.results import Result
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.cli.people import PeopleConsole

__all__ = ["bench_command"]


class _PerftSpeed(Result):
    applied: float
    counted: float


class _Bench(Result):
    """Speeds per CPU second of one thread; null where the toolkit has no such part yet."""

    signature: str
    perft_nps: _PerftSpeed
    expand_cps: float
    canonical_ns: float
    search_nps: float | None = None
    census_pps: float | None = None
    solve_pps: float | None = None


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
        # The speeds of other packages, which this one may not import: they register them.
        others = {entry.name: round(entry.load()()) for entry in entry_points(group="tablut.bench")}
        display.advance(task)
    result = _Bench(
        signature=signature,
        perft_nps=_PerftSpeed(applied=round(applied), counted=round(counted)),
        expand_cps=round(expand),
        canonical_ns=round(canonical * 1e9, 1),
        **others,
    )
    return Reply(result, lambda console: _show(console, result))


def _show(console: PeopleConsole, result: _Bench) -> None:
    console.print("speeds from the start of ashton; the signature is over a fixed set of positions", style="dim")
    console.print(f"signature          {result.signature}", style="bold")
    console.print(f"perft, applied     {result.perft_nps.applied / 1e6:>10,.1f} million moves a CPU second")
    console.print(f"perft, counted     {result.perft_nps.counted / 1e6:>10,.1f} million moves a CPU second")
    console.print(f"expand             {result.expand_cps / 1e6:>10,.1f} million children a CPU second")
    console.print(f"canonical form     {result.canonical_ns:>10,.1f} ns a position")
    if result.search_nps is not None:
        console.print(f"search             {result.search_nps / 1e6:>10,.1f} million nodes a CPU second")
    if result.census_pps is not None:
        console.print(f"census             {result.census_pps / 1e6:>10,.1f} million children a CPU second")
    if result.solve_pps is not None:
        console.print(f"solver             {result.solve_pps / 1e6:>10,.1f} million positions a CPU second")
