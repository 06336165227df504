"""Exact counts of the placements that a locked set excludes.

`count_exclusions` finds the minimal locked sets of a rule set (`sets`) and counts the placements without any of them
(`surviving`), by inclusion and exclusion over the cells. `record` keeps the counts; `tablut bounds` uses them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
