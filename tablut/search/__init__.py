"""Search for the best move: a compiled alpha-beta engine, and what its answers mean.

Importing this package imports no numba; `Searcher` does when it is first asked for.
"""

from importlib import import_module
from typing import Any

from tablut.search.limits import Limits, SearchResult
from tablut.search.scores import MATE, PROVEN, mate_in

__all__ = ["MATE", "PROVEN", "Limits", "SearchResult", "Searcher", "mate_in"]


def __getattr__(name: str) -> Any:
    if name == "Searcher":
        return import_module("tablut.search.searcher").Searcher
    raise AttributeError(f"module 'tablut.search' has no attribute {name!r}")
