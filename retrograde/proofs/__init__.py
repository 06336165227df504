"""Proofs: win, draw or loss of any position, the strategy that shows it, and the checker of strategies.

`solve` is the front door; `Solver` solves many positions. What they answer is a
`Solution`, within `ProofLimits`. `retrograde.proofs.checker` checks saved proofs by the rules
alone.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from retrograde.proofs.solution import ProofLimits, Solution
    from retrograde.proofs.solver import Solver, solve
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["ProofLimits", "Solution", "Solver", "solve"]
