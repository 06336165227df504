"""A tier that does not fit into memory, solved slice by slice; `retrograde.solver.slices.building` is the door."""
