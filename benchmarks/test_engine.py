"""Speed of the engine on one thread: ``pytest benchmarks/test_engine.py --benchmark-enable --benchmark-only``.

Times are CPU seconds of the process. The rate (per second) is stored in ``extra_info`` and printed.
`docs/notes/engine-speed.md` describes the optimisations that were tried.
"""

import time

import numpy as np
import pytest

from symmetry import dihedral
from tablut.engine import engine_for
from tablut.engine.canonical import canonicalise, image_tables
from tablut.engine.packing import count_children, expand
from tablut.variants import load_variant

pytestmark = pytest.mark.benchmark(timer=time.process_time)


@pytest.fixture(scope="module")
def engine():
    return engine_for(load_variant("ashton"))


@pytest.fixture(scope="module")
def third_ply(engine):
    """The 128,008 distinct positions after three plies."""
    words = engine.words(engine.start())
    for _ in range(3):
        words = engine.expand(words).words
    return np.unique(words, axis=0)


@pytest.fixture(scope="module")
def middle_game(engine):
    """Positions after sixteen plies, in random order.

    They are the children of positions that random play reaches after fifteen plies.
    """
    rng = np.random.default_rng(1)
    words = np.repeat(engine.words(engine.start()), 3000, axis=0)
    for _ in range(15):
        children = engine.expand(words)
        undecided = children.words[children.outcomes == 0]
        words = undecided[rng.choice(len(undecided), 3000)]
    return rng.permutation(engine.expand(words).words)


def report(benchmark, name, amount):
    if benchmark.enabled:
        seconds = benchmark.stats.stats.min
        benchmark.extra_info[name] = amount / seconds
        print(f"\n{name}: {amount / seconds / 1e6:.1f} M/s, {seconds / amount * 1e9:.2f} ns each")  # noqa: T201


def test_perft_counted(benchmark, engine):
    board = engine.start()
    nodes = benchmark.pedantic(engine.perft, (board, 5 if benchmark.enabled else 3), rounds=5, warmup_rounds=1)
    report(benchmark, "perft counted", nodes)


def test_perft_applied(benchmark, engine):
    board = engine.start()
    leaves = benchmark.pedantic(engine.perft_applied, (board, 4 if benchmark.enabled else 3), rounds=5, warmup_rounds=1)
    report(benchmark, "perft applied", leaves.nodes)


@pytest.mark.parametrize("name", ["mcgill", "leiden", "berkeley", "brandubh"])
def test_perft_applied_elsewhere(benchmark, name):
    engine = engine_for(load_variant(name))
    board = engine.start()
    leaves = benchmark.pedantic(engine.perft_applied, (board, 4 if benchmark.enabled else 2), rounds=3, warmup_rounds=1)
    report(benchmark, f"perft applied {name}", leaves.nodes)


def test_expand(benchmark, engine, third_ply):
    """Measure an expansion into existing arrays; allocating memory would take longer than the expansion itself."""
    words = third_ply[::3].copy()
    counts = np.empty(len(words), dtype=np.int64)
    children = engine.expand(words)

    def run():
        count_children(engine.tables, words, counts)
        return expand(engine.tables, words, *children)

    report(benchmark, "expand", benchmark.pedantic(run, rounds=5, warmup_rounds=1))


@pytest.mark.parametrize("where", ["third_ply", "middle_game"])
def test_canonical(benchmark, engine, where, request):
    words = request.getfixturevalue(where)
    images = image_tables(dihedral(9), 9)
    result, elements = np.empty_like(words), np.empty(len(words), dtype=np.uint8)
    benchmark.pedantic(canonicalise, (engine.tables, images, words, result, elements), rounds=7, warmup_rounds=1)
    report(benchmark, f"canonical {where}", len(words))
