"""What can be wrong with a tablebase, each kind with a name of its own."""

from __future__ import annotations

from tablut.errors import InputError


class TablebaseError(InputError):
    """A tablebase that cannot be used as it is; the message names the file or folder."""


class DamagedTableError(TablebaseError):
    """A file that is missing, cut short, or holds other bytes than were written."""


class NoRecordError(TablebaseError):
    """A folder without the record that a tablebase, or a tier, begins with."""


class TooOldError(TablebaseError):
    """A format version that this program no longer reads."""


class TooNewError(TablebaseError):
    """A format version that only a later program reads."""
