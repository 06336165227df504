"""Counts of positions: the published bounds on Tablut's complexity, recomputed, corrected and tightened.

`bounds` is the main entry point. The tests compare it with the simple module `tests.twins.brute`, which enumerates all
placements on small boards one by one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
