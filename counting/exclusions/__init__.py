"""Exact counts of the placements that contain a locked set and are therefore unreachable.

`count_exclusions` finds the minimal locked sets of a rule set (`sets`) and counts the placements without any of them
(`counts`), by inclusion and exclusion over the cells. `tablut bounds` uses the stored counts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
