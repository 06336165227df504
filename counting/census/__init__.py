"""Census: which positions are reachable, ply by ply, exactly.

`census` is the front door.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from counting.census.report import CensusReport, census
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["CensusReport", "census"]
