"""Speed of the solver, one thread: ``pytest benchmarks/test_solver.py --benchmark-enable --benchmark-only -s``.

Timed in CPU seconds of the process; an entry is a class of placements with one side to
move. Whole tiers of ashton are solved from those below them, which are given.
"""

import time

import pytest

from retrograde.solver.tier_graph import generations, tier_graph
from retrograde.solver.tier_solver import TierSolver
from tablut.variants import load_variant

pytestmark = pytest.mark.benchmark(timer=time.process_time)


@pytest.fixture(scope="module")
def solver():
    variant = load_variant("ashton")
    materials = [material for tiers in generations(tier_graph(variant, 5)) for material in tiers]
    found = TierSolver(variant, materials)
    for material in materials:
        if sum(material) < 4:
            found.solve(material)
    return found


@pytest.mark.parametrize("material", [(1, 2), (2, 1), (3, 0), (2, 2), (3, 1)], ids=lambda m: f"{m[0]}v{m[1]}")
def test_solve(benchmark, solver, material):
    benchmark.pedantic(solver.solve, args=(material,), rounds=1 if sum(material) == 4 else 3)
    entries = 2 * solver.size(material)
    rate = entries / benchmark.stats.stats.min / 1e6
    benchmark.extra_info["million entries a CPU second"] = round(rate, 2)
