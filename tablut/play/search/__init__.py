"""Compiled alpha-beta search for the best move. Importing this package does not import numba; `Searcher` does."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
