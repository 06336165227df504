from .solution import ProofLimits as ProofLimits, Solution as Solution
from .solver import Solver as Solver, solve as solve
