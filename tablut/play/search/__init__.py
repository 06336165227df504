"""Search for the best move: a compiled alpha-beta engine, and what its answers mean.

Importing this package imports no numba; `Searcher` does when it is first asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
