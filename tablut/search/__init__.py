"""Search for the best move: a compiled alpha-beta engine, and what its answers mean.

Importing this package imports no numba; `Searcher` does when it is first asked for.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports
from tablut.search.limits import Limits, SearchResult
from tablut.search.scores import MATE, PROVEN, mate_in

if TYPE_CHECKING:
    from tablut.search.searcher import Searcher
else:
    __getattr__, __dir__ = lazy_exports(__name__, {"Searcher": "tablut.search.searcher"})

__all__ = ["MATE", "PROVEN", "Limits", "SearchResult", "Searcher", "mate_in"]
