"""The files of one tier, on this machine or elsewhere: each is as its record says before anything is read from it.

On this machine a file is looked for with its length, must be no link, and is compared with its SHA-256 before it is
first read. Elsewhere only the segments that are needed are fetched, each compared with its own digest
(`tablut.segments`); a file of an older format is one segment.
"""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from retrograde.tablebase.errors import DamagedTableError, TablebaseError
from tablut.segments import DamagedSegmentError, SegmentReader, segment_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from retrograde.tablebase.schema import FileRecord
    from tablut.locations import Location
    from tablut.remote import Remote

_AGAIN: Final = "build the tier again"


class TierFiles(Protocol):
    """What a tier asks of its files; names are those of its record, which were checked against its length."""

    def find(self, name: str) -> None:
        """Refuse a file that can be seen to be another without reading it."""

    def compare(self, name: str) -> None:
        """Refuse a file with other bytes than were written; reads all of it."""

    def content(self, name: str) -> bytes:
        """Return all of a file, as it was written."""

    def before_reading(self, name: str) -> None:
        """Make sure that what `source` gives of a file will be what was written."""

    def source(self, array: str) -> Any:
        """Return what Zarr opens an array from."""


def files_of(folder: Location, records: Mapping[str, FileRecord]) -> TierFiles:
    """Return the files of a tier."""
    return _LocalFiles(folder, records) if isinstance(folder, Path) else _RemoteFiles(folder, records)


class _LocalFiles:
    """Files of a folder of this machine."""

    def __init__(self, folder: Path, records: Mapping[str, FileRecord]) -> None:
        self._folder, self._records = folder, records
        self._compared: set[str] = set()

    def find(self, name: str) -> None:
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
        self._expect(name, sha256_of)

    def content(self, name: str) -> bytes:
        self.find(name)
        found = b""

        def _digest(path: Path) -> str:
            nonlocal found
            found = path.read_bytes()
            return hashlib.sha256(found).hexdigest()

        self._expect(name, _digest)
        return found

    def _expect(self, name: str, digest: Callable[[Path], str]) -> None:
        path = self._folder / name
        try:
            found = digest(path)
        except OSError as error:
            raise TablebaseError(f"tablebase file {str(path)!r}: {error.strerror}") from error
        if found != self._records[name].sha256:
            raise DamagedTableError(f"tablebase file {str(path)!r}: damaged: not its SHA-256; {_AGAIN}")

    def before_reading(self, name: str) -> None:
        # Also a file that has gone since the tier was opened must not read as zeros.
        self.find(name)
        if name not in self._compared:
            # Checksums of chunks do not tell whether the shard is this one or another.
            self.compare(name)
            self._compared.add(name)

    def source(self, array: str) -> Any:
        return self._folder / array


class _RemoteFiles:
    """Files of a folder elsewhere."""

    def __init__(self, folder: Remote, records: Mapping[str, FileRecord]) -> None:
        self._records = records
        cache = segment_cache()
        self._readers: dict[str, SegmentReader] = {}
        for name, record in records.items():
            file = folder
            for step in name.split("/"):
                file /= step
            self._readers[name] = SegmentReader(file, record.cut(), cache, "tablebase file")

    def find(self, name: str) -> None:
        """Do nothing: what is missing or too short will not have its digest."""

    def compare(self, name: str) -> None:
        self.content(name)

    def content(self, name: str) -> bytes:
        record, place = self._records[name], str(self._readers[name].remote)
        found = self._read(name, 0, record.bytes, anew=True)
        if hashlib.sha256(found).hexdigest() != record.sha256:
            raise DamagedTableError(f"tablebase file {place!r}: damaged: not its SHA-256; {_AGAIN}")
        return found

    def before_reading(self, name: str) -> None:
        """Do nothing: whatever is read is compared with the digest of its segment."""

    def source(self, array: str) -> Any:
        from retrograde.tablebase.segment_store import array_source

        return array_source(self, array)

    def read(self, name: str, start: int, stop: int) -> bytes:
        """Return bytes of a file, every segment that they touch compared with its digest."""
        return self._read(name, start, stop)

    def _read(self, name: str, start: int, stop: int, *, anew: bool = False) -> bytes:
        try:
            return self._readers[name].read(start, stop, anew=anew)
        except DamagedSegmentError as error:
            raise DamagedTableError(f"{error}; {_AGAIN}") from error

    def size(self, name: str) -> int | None:
        """Return the length of a file of the record; None for any other."""
        return self._records[name].bytes if name in self._records else None


def sha256_of(path: Path) -> str:
    """Return the digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
