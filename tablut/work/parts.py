"""Parts, which are the files written by the tasks of a long computation.

A part has named sections, each of which is an array of one type. A section is either divided into blocks that are
compressed with LZ4, or *raw*: a single block with the bytes as they are in memory. A header in JSON (`Header`) and a
tail of fixed length follow. The digest of a part is the SHA-256 of its header, which contains the SHA-256 of each block
except those of raw sections written with ``checked=False``.

The header also names the part's owner: the plan's digest, and the task's step and number. A part that was damaged,
truncated, swapped or left over from other work is therefore detected when it is opened, or when its blocks are read.

A part is written under a temporary name and then renamed. A block is written as soon as it is full, because a section
can take more memory than a task has. Long raw sections bypass the system's cache (`tablut.work.direct`).
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from tablut.errors import OutputError, input_failure
from tablut.work.direct import PAGE, Buffer, read_span, write_span
from tablut.work.files import temporary_beside, writing
from tablut.work.ledger import damaged
from tablut.work.sealed_records import Count, Digest, Part, check_version, read_model

BLOCK: Final = 1 << 16
"""Number of items in a compressed block, which is unpacked as a whole."""
VERSION: Final = 1
MAGIC: Final = b"TABLPART"
TAIL: Final = struct.Struct("<8sIQd32sI")
"""Magic bytes, format version, header length, processor seconds, digest of the header, and a CRC-32 of all these."""
_MOST_HEADER: Final = 256 << 20

Number = Annotated[int, Field(ge=0, lt=1 << 24)]
Stats = TypeVar("Stats")


class Owner(Part):
    """The task that a part belongs to. The digest of a plan is the same in every run."""

    plan: Digest
    step: Number
    number: Number


class Block(Part):
    """A block of a section: its place in the file, and the digest of its bytes unless another package checks them."""

    at: Count
    bytes: Count
    sha256: Digest | None


class Section(Part):
    """A section of a part. ``packed`` is true if the section's blocks are compressed."""

    dtype: Literal["uint8", "uint16", "uint32", "uint64", "int64"]
    items: Count
    packed: bool
    blocks: tuple[Block, ...]


class Header(Part, Generic[Stats]):
    """The header of a part. ``stats`` depends on the kind of part, and ``bytes`` is the total length."""

    owner: Owner
    stats: Stats
    sections: dict[str, Section]
    bytes: Count


class PartSource(NamedTuple):
    """Path of a part, and the digest that the part must have."""

    path: Path
    digest: str


# -- reading -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PartFile(Generic[Stats]):
    """An open part. The header has already been checked; blocks are checked when they are read."""

    path: Path
    digest: str
    header: Header[Stats]
    cpu: float
    length: int

    @property
    def source(self) -> PartSource:
        """Path and digest of the part."""
        return PartSource(self.path, self.digest)

    def section(self, name: str, *, raw: bool = False) -> Section:
        """Return a section's description; raise `DamagedError` if there is no section with this name and form."""
        found = self.header.sections.get(name)
        if found is None or (raw and (found.packed or len(found.blocks) != 1)):
            raise damaged(self.path, f"it has no section {name!r}")
        return found

    def blocks(self, name: str, wanted: NDArray[Any] | None = None) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield a section's blocks, or only the ``wanted`` ones, each with the index of its first item."""
        section = self.section(name)
        codec, dtype = block_codec() if section.packed else None, np.dtype(section.dtype)
        with _reading(self.path), self.path.open("rb") as stream:
            for number, block in enumerate(section.blocks):
                if wanted is not None and not wanted[number]:
                    continue
                stream.seek(block.at)
                content = stream.read(block.bytes)
                if hashlib.sha256(content).hexdigest() != block.sha256:
                    raise damaged(self.path, f"block {number} of its section {name!r} has a wrong digest")
                at = number * BLOCK
                if codec is None:
                    items = np.frombuffer(content, dtype=dtype.newbyteorder("<"))
                else:
                    items = np.empty(min(BLOCK, section.items - at), dtype=dtype.newbyteorder("<"))
                    codec.decode(content, items)
                yield at, items.astype(dtype, copy=False)

    def array(self, name: str) -> NDArray[Any]:
        """Return a raw section's content, after checking its digest."""
        self.section(name, raw=True)
        ((_, items),) = self.blocks(name)
        return items

    def span(self, name: str, first: int, count: int, into: Buffer) -> NDArray[Any]:
        """Read some bytes of a raw section into a buffer, without checking them, and return them."""
        block = self.section(name, raw=True).blocks[0]
        if first + count > block.bytes:
            raise damaged(self.path, "it ends early")
        with _reading(self.path), self.path.open("rb", buffering=0) as stream:
            return read_span(stream, block.at + first, count, into)

    def check(self) -> None:
        """Raise `DamagedError` if a block differs from what was written. Sections without digests are skipped."""
        for name, section in self.header.sections.items():
            if all(block.sha256 is not None for block in section.blocks):
                for _ in self.blocks(name):
                    pass


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Convert read errors within the context to errors that name the file as damaged or unreadable."""
    try:
        yield
    except EOFError as error:
        raise damaged(path, "it ends early") from error
    except FileNotFoundError as error:
        raise damaged(path, "it is missing") from error
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise input_failure(f"file {str(path)!r}: cannot be read", error) from error


def open_part(path: Path, kind: Any = dict[str, Any], digest: str = "") -> PartFile[Any]:
    """Open a part and check its header. If ``digest`` is given, compare it with the part's digest.

    ``kind`` is the type of the part's statistics.
    """
    with _reading(path):
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode):
            raise damaged(path, "it is not a regular file")
        part = _opened(path, kind, (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
    if digest and part.digest != digest:
        raise damaged(path, "it is not the file that was written there")
    return part


@lru_cache(maxsize=4096)
def _opened(path: Path, kind: Any, _: tuple[int, ...]) -> PartFile[Any]:
    """Read and check the header. The result is cached until the inode, size or times of the file change."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL.size))
        tail = file.read(TAIL.size)
        if len(tail) < TAIL.size or not tail.startswith(MAGIC):
            raise damaged(path, "it does not end like a part")
        _magic, version, length, cpu, digest, crc = TAIL.unpack(tail)
        if crc != zlib.crc32(tail[:-4]) or length > min(_MOST_HEADER, size - TAIL.size):
            raise damaged(path, "the checksum of its tail is wrong")
        check_version(f"file {str(path)!r}", version, VERSION)
        file.seek(size - TAIL.size - length)
        text = file.read(length)
    if hashlib.sha256(text).digest() != digest:
        raise damaged(path, "the digest of its header is wrong")
    try:
        header = read_model(Header[kind], text)
    except ValidationError as error:
        raise damaged(path, "its header is invalid") from error
    places = [(block.at, block.bytes) for section in header.sections.values() for block in section.blocks]
    if header.bytes + length + TAIL.size != size or any(at + count > header.bytes for at, count in places):
        raise damaged(path, f"it has {size} bytes, which does not match its header")
    return PartFile(path, digest.hex(), header, cpu, size)


# -- writing -------------------------------------------------------------------------------


@dataclass
class _OpenSection:
    """A section that is being written in blocks."""

    dtype: Any
    items: int = 0
    blocks: list[Block] = field(default_factory=list)
    rest: list[NDArray[Any]] = field(default_factory=list)
    held: int = 0


class PartWriter:
    """Writer of a part, used as a context manager. On exit, an unfinished file is removed."""

    def __init__(self, target: Path) -> None:
        self.target, self._what = target, f"file {str(target)!r}"
        self._growing, self._sections = dict[str, _OpenSection](), dict[str, Section]()
        self._bytes = 0
        with writing(self._what):
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, self._temporary = temporary_beside(target)
            self._file = os.fdopen(descriptor, "wb", buffering=0)

    def put(self, name: str, items: NDArray[Any], *, checked: bool = True) -> None:
        """Write a raw section."""
        content = np.ascontiguousarray(items, dtype=items.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
        self.put_pieces(name, items.dtype.name, [content], checked=checked)

    def put_pieces(self, name: str, dtype: str, pieces: Iterable[NDArray[Any]], *, checked: bool = True) -> None:
        """Write a raw section whose bytes are given in pieces."""
        if not checked:
            # Direct access needs whole pages, so let the section begin at a page boundary.
            self._write(np.zeros(-self._bytes % PAGE, dtype=np.uint8))
        at, digest = self._bytes, hashlib.sha256()
        for piece in pieces:
            if checked:
                digest.update(piece.data)
            self._write(piece)
        block = Block(at=at, bytes=self._bytes - at, sha256=digest.hexdigest() if checked else None)
        items = block.bytes // np.dtype(dtype).itemsize
        self._sections[name] = Section(dtype=dtype, items=items, packed=False, blocks=(block,))  # type: ignore[arg-type]

    def add(self, name: str, items: NDArray[Any]) -> None:
        """Append items to a compressed section."""
        section = self._growing.setdefault(name, _OpenSection(items.dtype))
        section.items += len(items)
        section.held += len(items)
        section.rest.append(items)
        if section.held >= BLOCK:
            self._pack(section, section.held - section.held % BLOCK)

    def _pack(self, section: _OpenSection, count: int) -> None:
        """Write the first ``count`` buffered items in a section, block by block."""
        codec, held = block_codec(), section.rest[0] if len(section.rest) == 1 else np.concatenate(section.rest)
        for at in range(0, count, BLOCK):
            items = held[at : min(at + BLOCK, count)]
            packed = bytes(codec.encode(np.ascontiguousarray(items, dtype=items.dtype.newbyteorder("<"))))
            digest = hashlib.sha256(packed).hexdigest()
            section.blocks.append(Block(at=self._bytes, bytes=len(packed), sha256=digest))
            self._write(np.frombuffer(packed, dtype=np.uint8))
        # Copy the remainder: a view would keep the whole buffer in memory.
        section.rest, section.held = [held[count:].copy()], section.held - count

    def _write(self, content: NDArray[Any]) -> None:
        with writing(self._what):
            write_span(self._file, content)
        self._bytes += len(content)

    def finish(self, owner: Owner, stats: Part, *, cpu: float = 0.0, lasting: bool = False) -> PartFile[Any]:
        """Write the remaining blocks, the header and the tail, and give the file its final name."""
        for name, some in self._growing.items():
            if some.held:
                self._pack(some, some.held)
            dtype = some.dtype.name
            self._sections[name] = Section(dtype=dtype, items=some.items, packed=True, blocks=tuple(some.blocks))
        length = self._bytes
        header = Header(owner=owner, stats=stats, sections=self._sections, bytes=length)
        text = json.dumps(header.model_dump(), separators=(",", ":")).encode()
        digest = hashlib.sha256(text)
        tail = TAIL.pack(MAGIC, VERSION, len(text), cpu, digest.digest(), 0)[:-4]
        self._write(np.frombuffer(text + tail + struct.pack("<I", zlib.crc32(tail)), dtype=np.uint8))
        with writing(self._what):
            if lasting:
                os.fsync(self._file)
            self._file.close()
            Path(self._temporary).replace(self.target)
        return PartFile(self.target, digest.hexdigest(), header, cpu, self._bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        with writing(self._what):
            Path(self._temporary).unlink(missing_ok=True)


def block_codec() -> Any:
    """Return the codec that packs and unpacks blocks."""
    from numcodecs.lz4 import LZ4

    return LZ4(1)
