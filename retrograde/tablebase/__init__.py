"""Endgame tablebases: their files, probing and queries. `retrograde.verification` proves the stored values."""

from retrograde.tablebase.probing import Tablebase, open_tablebase
from retrograde.tablebase.store import DamagedTableError, TablebaseError
from tablut.prober import MissingTableError, RatedMove
from tablut.work.sealed_records import TooNewError, TooOldError

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
