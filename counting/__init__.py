"""Counts of positions: the published bounds on Tablut's complexity, regenerated, corrected and tightened.

`bounds` is the main entry point. `tests.twins.brute` is its naive twin: it enumerates all placements of small boards
one by one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
