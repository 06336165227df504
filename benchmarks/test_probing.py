"""Speed of tablebases on one thread: ``pytest benchmarks/test_probing.py --benchmark-enable --benchmark-only``.

Times are CPU seconds of the process. By default, a tablebase of ashton with at most four men is built
beforehand. Set ``TABLUT_TABLEBASE`` to use an existing tablebase.
"""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from retrograde.solver.build import build_tablebase
from retrograde.tablebase import open_tablebase
from retrograde.verification.verifying import verify
from tablut.board import Board
from tablut.engine import engine_for
from tablut.indexing.tiers import tier_index
from tablut.variants import load_variant

pytestmark = pytest.mark.benchmark(timer=time.process_time)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The tablebase folder."""
    named = os.environ.get("TABLUT_TABLEBASE")
    if named:
        return Path(named)
    root = tmp_path_factory.mktemp("tablebase") / "ashton-4"
    build_tablebase(root, load_variant("ashton"), men=4)
    return root


@pytest.fixture(scope="module")
def positions(folder):
    """About three thousand positions from all tiers, in random order, each replaced with a random symmetric image."""
    table = open_tablebase(folder)
    rng = np.random.default_rng(1)
    found = []
    for material in table.store.tiers():
        index = table.store.tier(*material).index
        for entry in rng.integers(index.size, size=1 + 3000 // len(table.store.tiers())):
            symmetry = table.variant.symmetries[rng.integers(len(table.variant.symmetries))]
            found.append(index.unrank(int(entry), "wb"[rng.integers(2)]).transformed(symmetry))
    return [found[number] for number in rng.permutation(len(found))]


def report(benchmark, name, amount, scale=1.0):
    if benchmark.enabled:
        benchmark.extra_info[name] = value = scale * benchmark.stats.stats.min / amount
        print(f"\n{name}: {value:,.3f}")  # noqa: T201


def test_wdl_of_one_position(benchmark, folder, positions):
    table = open_tablebase(folder)

    def probe():
        for position in positions:
            table.probe(position)

    probe()
    benchmark(probe)
    report(benchmark, "microseconds a warm WDL probe", len(positions), 1e6)


def test_opening(benchmark, folder):
    benchmark(open_tablebase, folder)
    report(benchmark, "milliseconds to open", 1, 1e3)


def test_first_probe_of_a_tier(benchmark, folder, positions):
    position = max(positions, key=lambda position: tier_index(load_variant("ashton"), *position.material).positions)

    def probe():
        open_tablebase(folder).probe(position)

    benchmark(probe)
    report(benchmark, "milliseconds to open and probe once", 1, 1e3)


def test_best_moves(benchmark, folder, positions):
    table = open_tablebase(folder)
    board = Board(table.variant, next(position for position in positions if table.probe(position).wdl == "win"))
    benchmark(table.best_moves, board)
    report(benchmark, "milliseconds for the moves of a board", 1, 1e3)


def test_many_positions(benchmark, folder, positions):
    table = open_tablebase(folder)
    engine = engine_for(table.variant)
    words = engine.words(np.array([engine.board(position.cells, position.side) for position in positions]))
    words = words[np.random.default_rng(2).integers(len(words), size=1_000_000)]
    table.probe_words(words)
    benchmark(table.probe_words, words)
    report(benchmark, "nanoseconds a position of a batch", len(words), 1e9)


def test_verification(benchmark, folder):
    checked = verify(folder).positions_checked
    found = benchmark.pedantic(verify, args=(folder,), rounds=1)
    assert found.failures == 0
    report(benchmark, "nanoseconds to prove a value", checked, 1e9)
