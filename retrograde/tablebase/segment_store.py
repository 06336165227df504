"""Zarr's view of a tier elsewhere: only the files of its record are there, and every byte of them is verified.

Apart from the rest because it loads Zarr, which a command that opens no array does without.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.storage import StorePath

from retrograde.tablebase.errors import DamagedTableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype


class VerifiedFiles(Protocol):
    """Files that are verified as they are read; see `retrograde.tablebase.tier_files`."""

    def read(self, name: str, start: int, stop: int) -> bytes:
        """Return bytes of a file, verified."""

    def size(self, name: str) -> int | None:
        """Return the length of a file of the record; None for any other."""


def array_source(files: VerifiedFiles, array: str) -> StorePath:
    """Return what Zarr opens an array of a tier elsewhere from."""
    return StorePath(_SegmentStore(files), array)


class _SegmentStore(Store):
    """The files of a tier as Zarr reads them; only those of its record are there."""

    supports_writes = supports_deletes = supports_listing = False

    def __init__(self, files: VerifiedFiles) -> None:
        super().__init__(read_only=True)
        self._files = files

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SegmentStore) and other._files is self._files

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        size = self._files.size(key)
        if size is None:
            return None
        start, stop = 0, size
        match byte_range:
            case RangeByteRequest():
                start, stop = byte_range.start, byte_range.end
            case OffsetByteRequest():
                start = byte_range.offset
            case SuffixByteRequest():
                start = size - byte_range.suffix
        if not 0 <= start <= stop <= size:
            raise DamagedTableError(f"tablebase file {key!r}: damaged: bytes {start} to {stop} of {size} are asked for")
        return prototype.buffer.from_bytes(await asyncio.to_thread(self._files.read, key, start, stop))

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        return [await self.get(key, prototype, asked) for key, asked in key_ranges]

    async def exists(self, key: str) -> bool:
        return self._files.size(key) is not None

    async def set(self, key: str, value: Buffer) -> None:
        raise NotImplementedError("a tablebase elsewhere is only read here")

    async def delete(self, key: str) -> None:
        raise NotImplementedError("a tablebase elsewhere is only read here")

    def list(self) -> AsyncIterator[str]:
        raise NotImplementedError("the record of a tier says what is there")

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        raise NotImplementedError("the record of a tier says what is there")

    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        raise NotImplementedError("the record of a tier says what is there")
