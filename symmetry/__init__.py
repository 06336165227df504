"""The square's group of eight symmetries, and functions for counting objects up to symmetry.

A board is a grid of N x N cells with ``index = rank * N + file``. The package does not depend on pieces or rules.
"""

from symmetry.square import Symmetry, count_orbits, dihedral, orbits, permutation_group, stabiliser

__all__ = ["Symmetry", "count_orbits", "dihedral", "orbits", "permutation_group", "stabiliser"]
