"""Solver for tiers that do not fit into memory, slice by slice; see `retrograde.solver.slices.building`."""
