"""Proofs that a position is won, drawn or lost, the strategies behind these proofs, and a checker for strategies.

`solve` solves one position, and a `Solver` solves many positions, one after the other. Each solution is a
`tablut.prober.Solution`, and the search for it stays within `ProofLimits`. `retrograde.proofs.strategy_checker`
verifies saved proofs with the rules alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
