"""Counts of positions: the published bounds on Tablut's complexity, recomputed, corrected and tightened."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
