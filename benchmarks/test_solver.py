"""Speed of the solver on one thread: ``pytest benchmarks/test_solver.py --benchmark-enable --benchmark-only -s``.

Times are CPU seconds of the process. An entry is a class of placements with one side to move. Each measured tier is
solved completely. The lower tiers that it needs are solved beforehand.
"""

import time

import pytest

from retrograde.solver.tier_graph import generations, tier_graph
from retrograde.solver.tier_solver import TierSolver
from tablut.variants import load_variant

pytestmark = pytest.mark.benchmark(timer=time.process_time)


TIERS = [
    ("ashton", (1, 2)),
    ("ashton", (2, 1)),
    ("ashton", (3, 0)),
    ("ashton", (2, 2)),
    ("ashton", (3, 1)),
    ("ashton", (4, 0)),
    ("mcgill", (1, 2)),
    ("mcgill", (2, 1)),
    ("mcgill", (3, 0)),
]


@pytest.fixture(scope="module")
def solvers():
    return {}


@pytest.fixture
def solver(solvers, name):
    if name not in solvers:
        variant = load_variant(name)
        materials = [material for tiers in generations(tier_graph(variant, 5)) for material in tiers]
        solvers[name] = TierSolver(variant, materials)
        for material in materials:
            if sum(material) < 4:
                solvers[name].solve(material)
    return solvers[name]


@pytest.mark.parametrize(
    ("name", "material"), TIERS, ids=lambda part: part if isinstance(part, str) else f"{part[0]}v{part[1]}"
)
def test_solve(benchmark, solver, material):
    benchmark.pedantic(solver.solve, args=(material,), rounds=1 if sum(material) == 4 else 3)
    entries = 2 * solver.size(material)
    rate = entries / benchmark.stats.stats.min / 1e6
    benchmark.extra_info["million entries a CPU second"] = round(rate, 2)
