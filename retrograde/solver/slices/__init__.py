"""Solving a tier that does not fit into memory slice by slice; start with `retrograde.solver.slices.building`."""
