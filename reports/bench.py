"""``tablut bench``: a signature of the engine's behaviour, and the engine's speed on this machine.

The signature covers positions from one game under each older rule set, in which each position's Zobrist key determines
the next move. It depends on moves, captures, outcomes, keys, packing and canonical forms, but not on speed.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tablut.board import Board
from tablut.cli.command import command
from tablut.cli.runtime import Reply, progress
from tablut.results import Result
from tablut.variants import load_variant
from tablut.variants.library import older_variants
from tablut.work.clocks import cpu_clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tablut.cli.people import PeopleConsole
    from tablut.engine.engine import Engine

_NODES = 4_000_000
_RUNS = 3
_PLIES = 24
_EVERY = 6


def fingerprint() -> str:
    """Return the signature as 16 hexadecimal digits."""
    from tablut.engine.engine import engine_for

    digest = hashlib.sha256()
    for variant in older_variants():
        engine = engine_for(variant)
        for board in _game(engine):
            statistics = engine.perft_applied(board, 2)
            outcomes = sorted((str(outcome), count) for outcome, count in statistics.outcomes.items())
            children = engine.expand(engine.words(board))
            canonical, _ = engine.canonical(children.words)
            line = (variant.name, statistics.nodes, statistics.captured, statistics.key_sum, outcomes)
            digest.update(repr(line).encode())
            digest.update(np.ascontiguousarray(children.words, dtype="<u8").tobytes())
            digest.update(np.ascontiguousarray(canonical, dtype="<u8").tobytes())
    return digest.hexdigest()[:16]


def _game(engine: Engine) -> list[NDArray[np.uint32]]:
    """Return positions from a game where each position's Zobrist key determines the next move."""
    board, kept = engine.start(), []
    for ply in range(_PLIES):
        if ply % _EVERY == 0:
            kept.append(board.copy())
        moves = engine.legal_moves(board)
        if not len(moves):
            break
        _, outcome = engine.make(board, int(moves[engine.key(board) % len(moves)]))
        if outcome:
            break
    return kept


class _PerftSpeed(Result):
    applied: float
    counted: float


class _Bench(Result):
    """Speeds per CPU second of one thread, measured from the start of ashton unless a field states otherwise."""

    signature: str
    perft_nps: _PerftSpeed
    expand_cps: float
    canonical_ns: float
    search_nps: float
    census_pps: float
    solve_pps: float


@command()
def bench_command() -> Reply:
    """Print a fingerprint of the engine's behaviour, and measure the speed of this machine.

    The fingerprint covers a fixed set of positions. It changes only if the engine's rules, Zobrist
    keys or canonical forms change. Speeds are per CPU second of one thread, from the start of
    ashton, in the best of three runs.
    """
    from tablut.engine import engine_for

    engine = engine_for(load_variant("ashton"))
    start = engine.start()
    with progress("bench") as observer:
        observer.begin("", 8)

        def measured(value: Any) -> Any:
            observer.advance()
            return value

        children = third = engine.words(start)
        for _ in range(3):
            third, children = children, engine.expand(children).words
        result = _Bench(
            signature=measured(fingerprint()),
            perft_nps=_PerftSpeed(
                applied=measured(round(engine.perft(start, 4) / _least(lambda: engine.perft_applied(start, 4)))),
                counted=measured(round(engine.perft(start, 5) / _least(lambda: engine.perft(start, 5)))),
            ),
            expand_cps=measured(round(len(children) / _least(lambda: engine.expand(third)))),
            canonical_ns=measured(round(_least(lambda: engine.canonical(children)) / len(children) * 1e9, 1)),
            search_nps=measured(round(search_nps())),
            census_pps=measured(round(census_pps())),
            solve_pps=measured(round(solve_pps())),
        )
    return Reply(result, lambda console: _show(console, result))


def _least(work: Callable[[], Any]) -> float:
    """Return the least CPU time of several runs, in seconds. An earlier run compiles the kernels and is not timed."""
    work()
    times = []
    for _ in range(_RUNS):
        started = cpu_clock()
        work()
        times.append(cpu_clock() - started)
    return min(times)


def search_nps() -> float:
    """Return the nodes searched per CPU second of one thread, in the best of three runs."""
    from tablut.play.search import Searcher, SearchLimits

    board = Board("ashton")
    searcher = Searcher(board.variant)
    best = 0.0
    for _ in range(_RUNS):
        searcher.forget()
        started = cpu_clock()
        result = searcher.search(board, SearchLimits(nodes=_NODES))
        best = max(best, result.nodes / (cpu_clock() - started))
    return best


def census_pps() -> float:
    """Return how many children a census processes per CPU second of one thread.

    The speed is measured on the complete census of ``ashton-5-4v2``, which has 64 million children.
    """
    from counting.census import census

    return census("ashton-5-4v2").children_per_cpu_second or 0.0


def solve_pps() -> float:
    """Return how many entries the solver solves per CPU second of one thread, in the best of three runs."""
    from retrograde.solver.tier_graph import generations, tier_graph
    from retrograde.solver.tier_solver import TierSolver

    variant = load_variant("ashton")
    materials = [material for tiers in generations(tier_graph(variant, 4)) for material in tiers]
    best = 0.0
    for _ in range(_RUNS):
        solver = TierSolver(variant, materials)
        started = cpu_clock()
        for material in materials:
            solver.solve(material)
        seconds = cpu_clock() - started
        best = max(best, 2 * sum(solver.size(material) for material in materials) / seconds)
    return best


def _show(console: PeopleConsole, result: _Bench) -> None:
    console.print("speeds from the start of ashton; the signature is over a fixed set of positions", style="dim")
    console.print(f"signature          {result.signature}", style="bold")
    console.print(f"perft, applied     {result.perft_nps.applied / 1e6:>10,.1f} million moves a CPU second")
    console.print(f"perft, counted     {result.perft_nps.counted / 1e6:>10,.1f} million moves a CPU second")
    console.print(f"expand             {result.expand_cps / 1e6:>10,.1f} million children a CPU second")
    console.print(f"canonical form     {result.canonical_ns:>10,.1f} ns a position")
    console.print(f"search             {result.search_nps / 1e6:>10,.1f} million nodes a CPU second")
    console.print(f"census             {result.census_pps / 1e6:>10,.1f} million children a CPU second")
    console.print(f"solver             {result.solve_pps / 1e6:>10,.1f} million positions a CPU second")
