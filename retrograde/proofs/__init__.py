"""Proofs: win, draw or loss of any position, the strategy that shows it, and the checker of strategies.

`solve` is the front door; `Solver` solves many positions. What they answer is a
`Solution`, within `ProofLimits`. `retrograde.proofs.checker` checks saved proofs by the rules
alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
