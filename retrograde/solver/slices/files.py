"""The files between the passes over slices: a head that says what they belong to, and packed blocks.

A file has sections: the items of a slice with white and with black to move, and the messages to other
slices. A section is cut into blocks, each packed by LZ4 and bound by a digest in the head; the head is bound by
its own digest, which the next pass and the checkpoint name. So a file that is damaged, cut
short, swapped or left by another plan is told apart, and its name is never read from anything.

What is packed waits on disk until its file is written: the messages of a slice take more room than the slice.
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrograde.tablebase.records import TablebaseError
from tablut.errors import output_failure
from tablut.indexing.values import ALIAS, ALIAS_CODE, code_of
from tablut.store.files import write_bytes
from tablut.store.records import Count, Digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


# -- files -------------------------------------------------------------------------------------


FORMAT: Final = 1
_MAGIC: Final = b"TBLSLICE"
_HEAD: Final = struct.Struct("<8sI32s")
_HEAD_BYTES: Final = 64 << 20
WAY_OUT: Final = "it is made again"

Name = Annotated[str, Field(pattern="^[a-z0-9-]{1,40}$")]
Counts = dict[Annotated[int, Field(ge=0, lt=1 << 16)], Count]
"""By code, how many items were given it."""
Dtype = Literal["uint8", "uint16", "uint32"]


class DamagedSliceError(TablebaseError):
    """A file of a slice that is not as it was written."""


class Source(NamedTuple):
    """A file of a slice, and the digest that it must have."""

    path: str
    digest: str


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class SliceOwner(_Record):
    """What a file belongs to."""

    game: Digest
    tier: Annotated[str, Field(pattern=r"^\d{1,3}v\d{1,3}$")]
    plan: Digest
    step: Annotated[int, Field(ge=0, lt=1 << 20)]
    number: Annotated[int, Field(ge=0, lt=1 << 20)]


class SliceStats(_Record):
    """What a pass found out about a slice."""

    white: Counts
    black: Counts
    wins: Counts
    losses: Counts


class _Section(_Record):
    name: Name
    dtype: Dtype
    items: Count
    blocks: tuple[Count, ...]
    digests: tuple[Annotated[str, Field(pattern="^[0-9a-f]{32}$")], ...]


class _Header(_Record):
    format: Literal[1] = FORMAT
    owner: SliceOwner
    stats: SliceStats
    sections: tuple[_Section, ...]


class SliceFile(NamedTuple):
    """An open file of a slice; its head is verified, its blocks when they are read."""

    path: Path
    digest: str
    owner: SliceOwner
    stats: SliceStats
    sections: dict[str, tuple[_Section, NDArray[np.int64]]]
    bytes: int


def write_slice(target: Path, owner: SliceOwner, stats: SliceStats, contents: Mapping[str, PackedSection]) -> SliceFile:
    """Write a file of a slice, whole or not at all."""
    sections: list[_Section] = []
    for name, content in contents.items():
        content.finish()
        sections.append(
            _Section(
                name=name,
                dtype=content.dtype,  # type: ignore[arg-type]
                items=content.items,
                blocks=tuple(content.sizes),
                digests=tuple(content.digests),
            )
        )
    header = _Header(owner=owner, stats=stats, sections=tuple(sections)).model_dump_json().encode()
    digest = hashlib.sha256(header).digest()
    packed = chain.from_iterable(content.blocks() for content in contents.values())
    write_bytes(target, chain([_HEAD.pack(_MAGIC, len(header), digest), header], packed))
    return open_slice(Source(str(target), digest.hex()))


def open_slice(source: Source) -> SliceFile:
    """Open a file of a slice."""
    path = Path(source.path)
    try:
        state = path.lstat()
        if not path.is_file() or path.is_symlink():
            raise damaged(path, "is no ordinary file")
        file = _opened(path, (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
    except OSError as error:
        raise damaged(path, f"{error.strerror}") from error
    if source.digest and file.digest != source.digest:
        raise damaged(path, "is another file than the one that was written there")
    return file


@lru_cache(maxsize=4096)
def _opened(path: Path, _: tuple[int, int, int, int]) -> SliceFile:
    """Read the head of a file; once, as long as the system says that it is the same."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise damaged(path, "ends early")
        magic, length, digest = _HEAD.unpack(head)
        if magic != _MAGIC or length > _HEAD_BYTES:
            raise damaged(path, "does not begin as a file of a slice")
        text = stream.read(length)
        size = os.fstat(stream.fileno()).st_size
    if hashlib.sha256(text).digest() != digest:
        raise damaged(path, "its head has another digest")
    try:
        header = _Header.model_validate_json(text)
    except ValidationError as error:
        raise damaged(path, "its head is not that of a file of a slice") from error
    sections, at = {}, _HEAD.size + length
    for section in header.sections:
        if not len(section.blocks) == len(section.digests) == -(-section.items // BLOCK):
            raise damaged(path, "its head does not add up")
        places = at + np.cumsum((0, *section.blocks), dtype=np.int64)
        sections[section.name] = (section, places)
        at = int(places[-1])
    if size != at:
        raise damaged(path, f"has {size} bytes instead of {at}")
    return SliceFile(path, digest.hex(), header.owner, header.stats, sections, size)


def read_items(
    file: SliceFile, name: str, wanted: NDArray[np.bool_] | None = None
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield blocks of a section, each verified."""
    section, places = file.sections[name]
    codec, dtype = block_codec(), np.dtype(section.dtype)
    try:
        with file.path.open("rb") as stream:
            for number, length in enumerate(section.blocks):
                if wanted is not None and not wanted[number]:
                    continue
                stream.seek(int(places[number]))
                packed = stream.read(length)
                if block_digest(packed) != section.digests[number]:
                    raise damaged(file.path, f"block {number} of its section {name!r} has another digest")
                at = number * BLOCK
                items = np.empty(min(BLOCK, section.items - at), dtype=dtype.newbyteorder("<"))
                codec.decode(packed, items)
                yield at, items.astype(dtype, copy=False)
    except OSError as error:
        raise damaged(file.path, f"{error.strerror}") from error


def read_section(file: SliceFile, name: str, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return all items of a section."""
    section, _ = file.sections[name]
    found = np.empty(section.items, dtype=section.dtype) if out is None else out
    for at, items in read_items(file, name):
        found[at : at + len(items)] = items
    return found


def check_blocks(file: SliceFile) -> None:
    """Raise `DamagedSliceError` unless every block of a file is as it was written."""
    for name in file.sections:
        for _ in read_items(file, name):
            pass


def damaged(path: Path, what: str) -> DamagedSliceError:
    """Return the error for a file that is not as it was written."""
    return DamagedSliceError(f"scratch file {str(path)!r}: {what}; {WAY_OUT}")


# -- the codes of a tier -----------------------------------------------------------------------


_PART = 1 << 16
"""Items that are turned into codes together, so that the cache holds what is in between."""


def to_codes(items: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Turn a solver's items into codes that are to be stored, in their place; see `tablut.indexing.values`."""
    for start in range(0, len(items), _PART):
        part = items[start : start + _PART]
        codes = code_of(part)
        codes[part == ALIAS] = ALIAS_CODE
        part[:] = codes
    return items


class PackedItems:
    """The codes with one side to move; a range of them is unpacked when it is asked for."""

    def __init__(self, files: Sequence[SliceFile], side: str, starts: NDArray[np.int64]) -> None:
        self.files, self.side, self.starts = list(files), side, starts
        self.shape, self.dtype = (int(starts[-1]),), np.dtype(np.uint16)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray[np.uint16]:
        """Return a range of codes, each block verified."""
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
