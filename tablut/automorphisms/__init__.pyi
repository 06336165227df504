from .checks import SymmetryCheck as SymmetryCheck, verify as verify
