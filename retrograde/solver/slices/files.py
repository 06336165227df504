"""Files that a pass over a slice writes for the next pass: compressed blocks, and a sealed record describing them.

The file of a slice has sections: its items with white and with black to move, and the messages to other slices. A
section is divided into blocks. Each block is compressed with LZ4, and its digest is in the record. The next pass and
the checkpoint in turn contain the digest of the record. A file that is damaged, truncated, swapped or left over from
another plan is therefore detected. No file name is ever read from a file.

A block is written as soon as it is full, because the messages of a slice can take more memory than its items.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field

from tablut.indexing.values import ALIAS, ALIAS_CODE, code_of
from tablut.work import ledger
from tablut.work.files import write_text
from tablut.work.records import (
    Count,
    DamagedError,
    DataFile,
    Digest,
    Part,
    Record,
    StoreError,
    digest_of,
    read_record,
    record_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

BLOCK: Final = 1 << 16
"""Number of items in a block, which is unpacked as a whole."""
WAY_OUT: Final = "it will be made again"

Number = Annotated[int, Field(ge=0, lt=1 << 20)]
Counts = dict[Annotated[int, Field(ge=0, lt=1 << 16)], Count]
"""The number of items that were given each code."""


class DamagedSliceError(DamagedError):
    """Damage to a file of a slice: its content is not what was written."""


class SliceSource(NamedTuple):
    """Path of a slice's file, and the digest that its record must have. An empty digest matches any record."""

    path: str
    digest: str


class SliceOwner(Part):
    """Identity of a slice's file: the game, tier, plan, step and number of the slice."""

    game: Digest
    tier: Annotated[str, Field(pattern=r"^\d{1,3}v\d{1,3}$")]
    plan: Digest
    step: Number
    number: Number


class SliceStats(Part):
    """Counts of a slice after a pass: its codes by side to move, and its messages by receiving slice."""

    white: Counts
    black: Counts
    wins: Counts
    losses: Counts


class _Block(DataFile):
    at: Count


class _Section(Part):
    dtype: Literal["uint8", "uint16", "uint32"]
    items: Count
    blocks: tuple[_Block, ...]


class SliceRecord(Record):
    """Record of a slice's file: its identity, counts and sections."""

    FORMAT = "tablut-slice"

    owner: SliceOwner
    stats: SliceStats
    sections: dict[str, _Section]
    bytes: Count


class SliceFile(NamedTuple):
    """An open file of a slice. Its record has been verified; its blocks are verified when they are read."""

    path: Path
    digest: str
    record: SliceRecord


def record_path(path: Path) -> Path:
    """Return the path of the record that belongs to a slice's file."""
    return path.with_suffix(".json")


# -- writing -----------------------------------------------------------------------------------


@dataclass
class _Growing:
    """A section of a file that is being written."""

    dtype: np.dtype[Any]
    items: int = 0
    blocks: list[_Block] = field(default_factory=list)
    rest: list[NDArray[Any]] = field(default_factory=list)
    held: int = 0


class SliceWriter:
    """Writer of a slice's file, under a temporary name until it is finished. An unfinished file is removed."""

    def __init__(self, target: Path) -> None:
        self.target, self._codec = target, block_codec()
        self._what, self._sections = f"scratch file {str(target)!r}", dict[str, _Growing]()
        self._bytes = 0
        with ledger.writing(self._what):
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, self._temporary = tempfile.mkstemp(".tmp", f".{target.name}.", target.parent)
            self._file = os.fdopen(descriptor, "wb")

    def add(self, name: str, items: NDArray[Any]) -> None:
        """Append items to a section."""
        section = self._sections.setdefault(name, _Growing(items.dtype))
        section.items += len(items)
        section.held += len(items)
        section.rest.append(items)
        if section.held >= BLOCK:
            self._pack(section, section.held - section.held % BLOCK)

    def _pack(self, section: _Growing, count: int) -> None:
        """Write the first ``count`` buffered items of a section, block by block."""
        held = section.rest[0] if len(section.rest) == 1 else np.concatenate(section.rest)
        for at in range(0, count, BLOCK):
            items = held[at : min(at + BLOCK, count)]
            packed = bytes(self._codec.encode(np.ascontiguousarray(items, dtype=items.dtype.newbyteorder("<"))))
            with ledger.writing(self._what):
                self._file.write(packed)
            section.blocks.append(_Block(at=self._bytes, bytes=len(packed), sha256=hashlib.sha256(packed).hexdigest()))
            self._bytes += len(packed)
        # Copy the remainder: a view would keep the whole buffer in memory.
        section.rest, section.held = [held[count:].copy()], section.held - count

    def finish(self, owner: SliceOwner, stats: SliceStats) -> SliceFile:
        """Write the remaining items and the record. The last block of a section may have fewer than `BLOCK` items."""
        for section in self._sections.values():
            if section.held:
                self._pack(section, section.held)
        sections = {
            name: _Section(dtype=some.dtype.name, items=some.items, blocks=tuple(some.blocks))  # type: ignore[arg-type]
            for name, some in self._sections.items()
        }
        record = SliceRecord(owner=owner, stats=stats, sections=sections, bytes=self._bytes)
        with ledger.writing(self._what):
            self._file.close()
            record_path(self.target).unlink(missing_ok=True)  # it describes an earlier file of this name
            Path(self._temporary).replace(self.target)
        write_text(record_path(self.target), record_text(record))
        return open_slice(SliceSource(str(self.target), digest_of(record)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with ledger.writing(self._what):
            Path(self._temporary).unlink(missing_ok=True)
            self._file.close()


def block_codec() -> Any:
    """Return the codec that packs and unpacks blocks."""
    from numcodecs.lz4 import LZ4

    return LZ4(1)


# -- reading -----------------------------------------------------------------------------------


def open_slice(source: SliceSource) -> SliceFile:
    """Open the file of a slice, and raise `DamagedSliceError` if its content is not what was written."""
    path = Path(source.path)
    try:
        stamps = [(one.st_ino, one.st_size, one.st_mtime_ns) for one in (path.lstat(), record_path(path).lstat())]
        if not stat.S_ISREG(path.lstat().st_mode):
            raise damaged(path, "is not a regular file")
    except OSError as error:
        raise damaged(path, f"{error.strerror}") from error
    file = _opened(path, *stamps)
    if source.digest and file.digest != source.digest:
        raise damaged(path, "is not the file that was written there")
    return file


@lru_cache(maxsize=4096)
def _opened(path: Path, data: tuple[int, ...], _: tuple[int, ...]) -> SliceFile:
    """Read the record of a file.

    The result is cached for as long as the inode, size and time of the file and of its record stay the same.
    """
    try:
        record = read_record(record_path(path), SliceRecord, "scratch file", WAY_OUT)
    except StoreError as error:
        raise DamagedSliceError(str(error)) from error
    if record is None or data[1] != record.bytes:
        raise damaged(path, f"has {data[1]} bytes, which does not match its record")
    return SliceFile(path, digest_of(record), record)


def read_items(
    file: SliceFile, name: str, wanted: NDArray[np.bool_] | None = None
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the blocks of a section, or only the ``wanted`` ones.

    Each is verified and comes with the index of its first item.
    """
    section = file.record.sections[name]
    codec, dtype = block_codec(), np.dtype(section.dtype)
    try:
        with file.path.open("rb") as stream:
            for number, block in enumerate(section.blocks):
                if wanted is not None and not wanted[number]:
                    continue
                stream.seek(block.at)
                packed = stream.read(block.bytes)
                if hashlib.sha256(packed).hexdigest() != block.sha256:
                    raise damaged(file.path, f"block {number} of its section {name!r} has a wrong digest")
                at = number * BLOCK
                items = np.empty(min(BLOCK, section.items - at), dtype=dtype.newbyteorder("<"))
                codec.decode(packed, items)
                yield at, items.astype(dtype, copy=False)
    except OSError as error:
        raise damaged(file.path, f"{error.strerror}") from error


def check_blocks(file: SliceFile) -> None:
    """Raise `DamagedSliceError` unless every block of a file is as it was written."""
    for name in file.record.sections:
        for _ in read_items(file, name):
            pass


def damaged(path: Path, what: str) -> DamagedSliceError:
    """Return the error for a file whose content is not what was written."""
    return DamagedSliceError(what, subject=f"scratch file {str(path)!r}", remedy=WAY_OUT)


# -- the codes of a tier -----------------------------------------------------------------------


_PART = 1 << 16
"""Number of items that are turned into codes together.

It is small enough for temporary arrays to fit into the cache.
"""


def to_codes(items: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Convert a solver's items to codes for storage, in place, and return them; see `tablut.indexing.values`."""
    for start in range(0, len(items), _PART):
        part = items[start : start + _PART]
        codes = code_of(part)
        codes[part == ALIAS] = ALIAS_CODE
        part[:] = codes
    return items


class PackedItems:
    """The codes of a sliced tier with one side to move. A range of codes is unpacked when it is indexed."""

    def __init__(self, files: Sequence[SliceFile], side: str, starts: NDArray[np.int64]) -> None:
        self.files, self.side, self.starts = list(files), side, starts
        self.dtype = np.dtype(np.uint16)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, part: slice) -> NDArray[np.uint16]:
        """Return a range of codes after verifying each block."""
        start, stop, _ = part.indices(len(self))
        found = np.empty(max(stop - start, 0), dtype=np.uint16)
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        for number in range(first, len(self.files)):
            begin, end = int(self.starts[number]), int(self.starts[number + 1])
            if begin >= stop:
                break
            blocks = np.arange(-(-(end - begin) // BLOCK))
            wanted = (begin + blocks * BLOCK < stop) & (begin + (blocks + 1) * BLOCK > start)
            for at, items in read_items(self.files[number], self.side, wanted):
                low, high = max(begin + at, start), min(begin + at + len(items), stop)
                found[low - start : high - start] = items[low - begin - at : high - begin - at]
        return to_codes(found)
