"""How many: the published bounds of Tablut's complexity regenerated, corrected and tightened.

`bounds` is the front door; `tests.twins.brute` is the naive twin that enumerates
small boards placement by placement.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from counting.complexity import BoundsReport, bounds
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["BoundsReport", "bounds"]
