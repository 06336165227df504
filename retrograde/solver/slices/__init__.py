"""Solver for tiers that do not fit into memory. It works slice by slice; see `retrograde.solver.slices.building`."""
