"""Solving a tier slice by slice if it does not fit into memory. Start with `retrograde.solver.slices.building`."""
