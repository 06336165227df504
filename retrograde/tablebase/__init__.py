"""Tablebases of endgames: their files, probing, and a verification that shares nothing with the solver."""

from retrograde.tablebase.errors import DamagedTableError, TablebaseError, TooNewError, TooOldError
from retrograde.tablebase.probing import RatedMove, Tablebase, open_tablebase
from tablut.prober import MissingTableError

__all__ = [
    "DamagedTableError",
    "MissingTableError",
    "RatedMove",
    "Tablebase",
    "TablebaseError",
    "TooNewError",
    "TooOldError",
    "open_tablebase",
]
