"""Exact counts of the placements that contain a locked set and are therefore unreachable.

A locked set is a set of pieces that no game can put together. `count_exclusions` finds a rule set's minimal locked sets
(module `sets`). It then counts the placements that contain none of them by inclusion–exclusion (module `counts`).
`tablut bounds` uses the stored counts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
