"""How fast the solver is on this machine, for `tablut bench`."""

from __future__ import annotations

from retrograde.solver.tier_graph import generations, tier_graph
from retrograde.solver.tier_solver import TierSolver
from tablut.compilation import cpu_clock
from tablut.variants import load_variant

__all__ = ["solve_pps"]


def solve_pps() -> float:
    """Return how many entries a CPU second one thread solves: ashton, all tiers of four men.

    An entry is a class of placements with one side to move. Compilation is not counted.

    Returns
    -------
    float
        The best of three runs.
    """
    variant = load_variant("ashton")
    materials = [material for tiers in generations(tier_graph(variant, 4)) for material in tiers]
    best = 0.0
    for _ in range(3):
        solver = TierSolver(variant, materials)
        started = cpu_clock()
        for material in materials:
            solver.solve(material)
        seconds = cpu_clock() - started
        best = max(best, 2 * sum(solver.size(material) for material in materials) / seconds)
    return best
