"""Exact counts of the placements that a locked set excludes.

`count_exclusions` finds the minimal locked sets of a rule set (`sets`) and counts the placements without any of them
(`surviving`), by inclusion and exclusion over the cells. `record` keeps the counts; `tablut bounds` uses them.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from counting.exclusions.record import count_exclusions
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["count_exclusions"]
