"""Search for the best move: a compiled alpha-beta engine, and what its answers mean.

Importing this package imports no numba; `Searcher` does when it is first asked for.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports
from tablut.play.search.limits import MATE, PROVEN, SearchLimits, mate_in

if TYPE_CHECKING:
    from tablut.play.search.searcher import Searcher
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["MATE", "PROVEN", "SearchLimits", "Searcher", "mate_in"]
