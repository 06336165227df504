"""The square: its eight symmetries as a group, and counting up to symmetry.

The package knows boards only as N x N cells with ``index = rank * N + file``; it
knows nothing of pieces or rules. What labels the cells (a terrain, a position)
comes from the caller.
"""

from symmetry.square import Symmetry, count_orbits, dihedral, orbits, permutation_group, stabiliser

__all__ = ["Symmetry", "count_orbits", "dihedral", "orbits", "permutation_group", "stabiliser"]
