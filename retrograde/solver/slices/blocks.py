"""A section of a slice's file: items in blocks, each packed by LZ4 and bound by a digest, packed as they come.

What is packed waits on disk: the news of a slice takes more room than the slice.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tablut.errors import output_failure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from tablut.errors import TablutError

BLOCK: Final = 1 << 16
"""Items of a block: what is unpacked to read one of them."""
_DIGEST: Final = 16
"""Bytes of a block's digest."""


class Spool:
    """Packed blocks on disk until their file is written; nothing of it is left if the process is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        except OSError as error:
            raise self._failure(error) from error

    def add(self, block: bytes) -> int:
        """Write a block down."""
        try:
            at = self._file.seek(0, os.SEEK_END)
            self._file.write(block)
        except OSError as error:
            raise self._failure(error) from error
        return at

    def read(self, at: int, length: int) -> bytes:
        """Read a block again."""
        try:
            self._file.seek(at)
            return self._file.read(length)
        except OSError as error:
            raise self._failure(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _failure(self, error: OSError) -> TablutError:
        return output_failure(f"scratch folder {str(self.folder)!r}: {error.strerror}", error)


class PackedSection:
    """Items that are packed block by block, so that few of them are in memory."""

    def __init__(self, dtype: str, spool: Spool) -> None:
        self.dtype, self.items = dtype, 0
        self.sizes: list[int] = []
        self.digests: list[str] = []
        self._codec, self._spool = block_codec(), spool
        self._places: list[int] = []
        self._rest: list[NDArray[Any]] = []
        self._held = 0

    def add(self, items: NDArray[Any]) -> None:
        """Append items."""
        self.items += len(items)
        self._held += len(items)
        self._rest.append(items)
        if self._held >= BLOCK:
            held = self._rest[0] if len(self._rest) == 1 else np.concatenate(self._rest)
            whole = self._held - self._held % BLOCK
            for at in range(0, whole, BLOCK):
                self._pack(held[at : at + BLOCK])
            # A copy, or the rest would keep all of it.
            self._rest, self._held = [held[whole:].copy()], self._held - whole

    def finish(self) -> None:
        """Pack what is left: the last block may have fewer than `BLOCK` items. Nothing is added afterwards."""
        if self._held:
            self._pack(np.concatenate(self._rest))
            self._rest, self._held = [], 0

    def blocks(self) -> Iterator[bytes]:
        """Yield the packed blocks."""
        for at, size in zip(self._places, self.sizes, strict=True):
            yield self._spool.read(at, size)

    def _pack(self, items: NDArray[Any]) -> None:
        packed = bytes(self._codec.encode(np.ascontiguousarray(items, dtype=items.dtype.newbyteorder("<"))))
        self._places.append(self._spool.add(packed))
        self.sizes.append(len(packed))
        self.digests.append(block_digest(packed))


def block_codec() -> Any:
    """Return what packs and unpacks a block."""
    from numcodecs.lz4 import LZ4

    return LZ4(1)


def block_digest(packed: bytes) -> str:
    """Return the digest that a head has of a packed block."""
    return hashlib.sha256(packed).hexdigest()[: 2 * _DIGEST]
