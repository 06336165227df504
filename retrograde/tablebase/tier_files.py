"""The files of one tier: each is as its record says before anything is read from it.

A file is looked for with its length, must be no link, and is compared with its SHA-256 before it is first read.
"""

from __future__ import annotations

import hashlib
import stat
from typing import TYPE_CHECKING, Final

from retrograde.tablebase.errors import DamagedTableError, TablebaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from retrograde.tablebase.schema import FileRecord

_AGAIN: Final = "build the tier again"


class TierFiles:
    """The files of a tier; names are those of its record, which were checked against its length."""

    def __init__(self, folder: Path, records: Mapping[str, FileRecord]) -> None:
        self._folder, self._records = folder, records
        self._compared: set[str] = set()

    def find(self, name: str) -> None:
        """Refuse a file that can be seen to be another without reading it."""
        path, expected = self._folder, self._records[name].bytes
        try:
            for step in name.split("/"):
                path /= step
                found = path.lstat()
                if stat.S_ISLNK(found.st_mode):
                    raise TablebaseError(f"tablebase file {str(path)!r}: is a link; a tablebase holds its files itself")
        except FileNotFoundError:
            path = self._folder / name
            raise DamagedTableError(f"tablebase file {str(path)!r}: is missing; {_AGAIN}") from None
        except OSError as error:
            raise TablebaseError(f"tablebase file {str(path)!r}: {error.strerror}") from error
        if not stat.S_ISREG(found.st_mode):
            raise DamagedTableError(f"tablebase file {str(path)!r}: is no ordinary file; {_AGAIN}")
        length = found.st_size
        if length != expected:
            raise DamagedTableError(f"tablebase file {str(path)!r}: has {length} bytes, not {expected}; {_AGAIN}")

    def compare(self, name: str) -> None:
        """Refuse a file with other bytes than were written; reads all of it."""
        self._expect(name, sha256_of)

    def _expect(self, name: str, digest: Callable[[Path], str]) -> None:
        path = self._folder / name
        try:
            found = digest(path)
        except OSError as error:
            raise TablebaseError(f"tablebase file {str(path)!r}: {error.strerror}") from error
        if found != self._records[name].sha256:
            raise DamagedTableError(f"tablebase file {str(path)!r}: damaged: not its SHA-256; {_AGAIN}")

    def before_reading(self, name: str) -> None:
        """Make sure that what is read of a file will be what was written."""
        # Also a file that has gone since the tier was opened must not read as zeros.
        self.find(name)
        if name not in self._compared:
            # Checksums of chunks do not tell whether the shard is this one or another.
            self.compare(name)
            self._compared.add(name)


def sha256_of(path: Path) -> str:
    """Return the digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
