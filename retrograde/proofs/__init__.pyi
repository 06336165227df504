from .solver import Solution as Solution, Solver as Solver, solve as solve
from .win_search import ProofLimits as ProofLimits
