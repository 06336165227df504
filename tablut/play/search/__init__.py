"""Compiled alpha-beta search for the best move, together with the types of its limits and results.

Importing this package does not import numba. Numba is loaded when `Searcher` is first accessed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
