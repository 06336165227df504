from .solver import Solver as Solver, solve as solve
from .win_search import ProofLimits as ProofLimits
