"""Tablebases of endgames: their files, and probing; `retrograde.verification` proves their values."""

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
