"""Row files: positions sorted by leaf, with an index, digests and a format version.

A file is written under a temporary name and renamed, so a file under its final name is
complete. Layout (little-endian):

1. a head of fixed length: magic, format version, length of the header, processor seconds of the task, the digest of
   the file, and a CRC-32 of all these;
2. the header: JSON (`RowHeader`), padded with spaces so that the rows begin at a page;
3. three index arrays with one entry for each leaf: rows (int64), hash sums (uint64), moves (int64);
4. in parts of a ply, the SHA-256 of each leaf that has rows;
5. the rows.

In files of children and of sorted rows, a row has W words (uint64). In parts, which are permanent, a row is stored as
its code (`counting.census.codes`), which takes at most half the space, provided that W is above 1 and the codes fit
into the 128 bits of the kernels. The index of a file of sorted rows is by bin (`counting.census.buckets`) instead of by
leaf. A tally has the index that the rows would have, but no rows.

The digest of a file covers its header, index and leaf digests, and so indirectly the rows. It is checked against the
record of the ply whenever a file is opened. Hash sums are computed from the rows as words, and are checked whenever
rows are read. The SHA-256 of the rows is checked by `counting.census.verification`.

A file of children is written once, read once and removed. Passing it through the system's cache costs
more than processing it, because each new page must be allocated, cleared and mapped (2.4 seconds per
gigabyte on a virtual machine). Whole pages of large arrays are therefore transferred directly between memory
and disk if the system supports this (``O_DIRECT``, 0.05 seconds per gigabyte). All other data goes through
the cache. The contents of the files are the same.

Parts are flushed to the disk before they are renamed. Non-guarantee: files of children may not be flushed. A power
failure may damage one of them; in this case its digest or hash sums reveal the damage, and an error names the file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import struct
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Annotated, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from counting.census.buckets import BINS, LEAF_BITS, LEAVES, by_leaf
from counting.census.codes import CodeTables, decode_rows, encode_rows, position_codes
from counting.census.toolbox import COUNTERS
from tablut.errors import InputError, OutputError, input_failure, output_failure
from tablut.work.records import Count, Digest, digest_of, read_model

FORMAT_VERSION: Final = 5
MAGIC: Final = b"TABLROWS"
HEAD: Final = struct.Struct("<8sIId32sI")
PAGE: Final = 4096
"""Bytes of a page, the unit of direct access. Disks require multiples of their block size, which is at most a page."""
DIRECT_BYTES: Final = 1 << 18
"""Minimum number of bytes for direct access. Shorter spans are read and written through the cache."""
READ_BYTES: Final = 8 << 20
"""Number of bytes that a merge reads from a file in one call."""
_MOST_HEADER: Final = 1 << 20
_PIECE_ROWS: Final = 1 << 18
"""Number of rows that are encoded or decoded together."""


# -- headers -------------------------------------------------------------------------------


def _all_counters(found: dict[str, int]) -> dict[str, int]:
    if set(found) != set(COUNTERS):
        raise ValueError("these are not the counters of a census")
    return found


Bins = tuple[Annotated[int, Field(ge=0, lt=BINS)], Annotated[int, Field(gt=0, le=BINS)]]
_Soldiers = Annotated[int, Field(ge=0, le=120)]
RowCodes = tuple[Annotated[int, Field(ge=1, le=121)], _Soldiers, _Soldiers, Annotated[int, Field(ge=0, le=1)]]
"""The arguments of `position_codes`, followed by the side to move."""
Plan = Annotated[str, Field(pattern=r"^[0-9a-z]{1,32}$")]
PlyNumber = Annotated[int, Field(ge=0, le=9999)]
Counters = Annotated[dict[str, Count], AfterValidator(_all_counters)]
Expanded = tuple[Count, Count, Count, Count]
"""The counters of `counting.census.expansion`."""
Few = Annotated[tuple[Count, ...], Field(max_length=128)]
MaterialCounts = Annotated[
    tuple[Annotated[tuple[Few, ...], Field(max_length=128)], ...], Field(min_length=2, max_length=2)
]


class Owner(NamedTuple):
    """The task of a plan to which a row file belongs. Equal plans have the same name in every run."""

    game: str
    full: bool
    ply: int
    number: int
    plan: str


def plan_name(*content: Any) -> str:
    """Return a name for a plan. Equal plans have the same name in every run; different plans have different names."""
    return digest_of(content)[:32]


class Model(BaseModel):
    """Base class of data read from a store; missing, mistyped and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class ExpansionStats(Model):
    """The statistics in the header of a file of children or of sorted rows."""

    children: Count
    counters: Expanded


class PartStats(Model):
    """The statistics in the header of a part.

    They are the number of children from which the part was merged, the counters and the material of `survey`, and the
    number of its own children.
    """

    children: Count
    counters: Counters
    material: MaterialCounts
    next_children: Count


class TallyStats(PartStats):
    """The statistics in the header of a tally: those of a part, its bins, and the counters of its expansion."""

    bins: Bins
    expanded: Expanded


class RowHeader(Model):
    """The header of a row file."""

    kind: Annotated[str, Field(pattern="^(part|children|sorted|tally)$")]
    game: Digest
    full: bool
    ply: PlyNumber
    number: Annotated[int, Field(ge=0, le=99_999)]
    plan: Plan
    words: Annotated[int, Field(ge=1, le=12)]
    leaf_bits: Annotated[int, Field(ge=LEAF_BITS, le=LEAF_BITS)]
    rows: Count
    codes: RowCodes | None
    stats: PartStats | ExpansionStats | TallyStats

    @property
    def owner(self) -> Owner:
        """The task to which the file belongs."""
        return Owner(self.game, self.full, self.ply, self.number, self.plan)


class RowSource(NamedTuple):
    """The path of a row file with its expected digest."""

    path: Path
    digest: str


class RowFile(NamedTuple):
    """A row file whose head, header and index have been read and checked.

    ``counts``, ``sums`` and ``moves`` have one entry for each leaf: the number of rows, their hash sum, and the
    number of legal moves of the undecided ones (zero in files of children). In parts, ``leaves`` contains the
    SHA-256 of each leaf that has rows, 32 bytes each.
    """

    path: Path
    header: RowHeader
    counts: NDArray[np.int64]
    sums: NDArray[np.uint64]
    moves: NDArray[np.int64]
    leaves: bytes
    begin: int
    length: int
    digest: str
    cpu: float


def damaged(path: Path, what: str) -> InputError:
    """Return an error for a damaged row file; the message tells the user how to continue."""
    also = f" and {path.parent.name}.json" if path.name.startswith("part") else ""
    return InputError(
        f"is damaged: {what}",
        subject=f"census file {str(path)!r}",
        remedy=f"delete it{also}, and run the command again",
    )


@contextmanager
def _reported(path: Path, what: str) -> Iterator[None]:
    """Turn an `OSError` into an error that names the file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        failure = output_failure if what == "write it" else input_failure
        raise failure(f"census file {str(path)!r}: cannot {what}", error) from error


# -- memory --------------------------------------------------------------------------------


def aligned(count: int) -> NDArray[np.uint8]:
    """Return uninitialised bytes, aligned to a page."""
    memory = np.empty(count + PAGE, dtype=np.uint8)
    first = -memory.ctypes.data % PAGE
    return memory[first : first + count]


class Buffer:
    """Memory that is reused from task to task, because allocating it costs as much time as processing its contents.

    Each array that is taken overwrites the previous one.
    """

    def __init__(self) -> None:
        self._held = aligned(0)

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return uninitialised bytes."""
        if len(self._held) < count:
            self._held = aligned(0)  # release the old memory before allocating more
            self._held = aligned(count)
        return self._held[:count]

    def rows(self, count: int, width: int) -> NDArray[np.uint64]:
        """Return uninitialised rows."""
        return self.bytes(8 * count * width).view(np.uint64).reshape(count, width)

    def zeros(self, count: int, kind: type[np.generic]) -> NDArray[Any]:
        """Return zeros."""
        array = self.bytes(count * np.dtype(kind).itemsize).view(kind)
        array.fill(0)
        return array


class _Coded(threading.local):
    """A buffer for encoded rows, one for each thread."""

    def __init__(self) -> None:
        self.buffer = Buffer()


_coded = _Coded()


# -- reading -------------------------------------------------------------------------------


def open_rows(path: Path, digest: str | None = None) -> RowFile:
    """Open a row file and check its index and, if a digest is given, its digest."""
    with _reported(path, "read it"):
        try:
            state = path.lstat()
        except FileNotFoundError as error:
            raise damaged(path, "it is missing") from error
        if not stat.S_ISREG(state.st_mode):
            raise damaged(path, "it is not a regular file")
        file = _opened(path, (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
    if digest is not None and file.digest != digest:
        raise damaged(path, "its digest is not the one in the record")
    return file


@lru_cache(maxsize=128)
def _opened(path: Path, _: tuple[int, int, int, int]) -> RowFile:
    """Read and check everything in a file except its rows.

    The result is cached as long as the inode, size and timestamps of the file do not change.
    """
    with path.open("rb") as file:
        head = file.read(HEAD.size)
        if len(head) < HEAD.size or not head.startswith(MAGIC):
            raise damaged(path, "it does not begin like a row file")
        _magic, version, length, cpu, found, crc = HEAD.unpack(head)
        if version < FORMAT_VERSION or (version != FORMAT_VERSION and crc == zlib.crc32(head[:-4])):
            raise InputError(
                f"has format version {version}, but this program reads version {FORMAT_VERSION}",
                subject=f"census file {str(path)!r}",
                remedy="count again into another folder",
            )
        if crc != zlib.crc32(head[:-4]) or length > _MOST_HEADER:
            raise damaged(path, "the checksum of its head is wrong")
        text = file.read(length)
        try:
            header = read_model(RowHeader, text)
        except ValidationError as error:
            raise damaged(path, "its header is invalid") from error
        each = 8 << header.leaf_bits
        arrays = file.read(3 * each)
        if len(arrays) < 3 * each:
            raise damaged(path, "it ends early")
        counts, sums, moves = (
            np.frombuffer(arrays[each * number : each * (number + 1)], dtype=kind).astype(kind[1:])
            for number, kind in enumerate(("<i8", "<u8", "<i8"))
        )
        digests = file.read(32 * int(np.count_nonzero(counts)) if header.kind == "part" else 0)
        size = os.fstat(file.fileno()).st_size
    content = hashlib.sha256(b"".join((text, arrays, digests)))
    if content.digest() != found:
        raise damaged(path, "the digest of its header and index is wrong")
    begin = HEAD.size + length + len(arrays) + len(digests)
    wanted = begin + (0 if header.kind == "tally" else _row_size(header.words, header.codes) * header.rows)
    # Each entry is checked separately, since the 64-bit sum can wrap around.
    if int(counts.sum()) != header.rows or ((counts < 0) | (counts > header.rows) | (moves < 0)).any():
        raise damaged(path, "its index is inconsistent")
    if size != wanted:
        raise damaged(path, f"it has {size} bytes instead of {wanted}")
    return RowFile(path, header, counts, sums, moves, digests, begin, wanted, content.hexdigest(), cpu)


def read_rows(
    file: RowFile, first: int, last: int, *, check: bool = True, into: Buffer | None = None
) -> NDArray[np.uint64]:
    """Return the rows of the leaves from ``first`` up to, but not including, ``last``."""
    width, codes, before = file.header.words, file.header.codes, int(file.counts[:first].sum())
    count, each = int(file.counts[first:last].sum()), _row_size(width, codes)
    place = file.begin + each * before
    buffer = Buffer() if into is None else into
    with _reported(file.path, "read it"), file.path.open("rb", buffering=0) as stream:
        try:
            if codes is None:
                rows = read_span(stream, place, each * count, buffer).view("<u8").astype(np.uint64, copy=False)
                rows = rows.reshape(count, width)
            else:
                rows = buffer.rows(count, width)
                for start in range(0, count, _PIECE_ROWS):
                    some = rows[start : start + _PIECE_ROWS]
                    coded = read_span(stream, place + each * start, each * len(some), _coded.buffer)
                    decode_rows(_code_tables(codes), coded.reshape(len(some), each), codes[3], some)
        except EOFError as error:
            raise damaged(file.path, "it ends early") from error
    if check:
        _check_rows(file, rows, first, last)
    return rows


def _check_rows(file: RowFile, rows: NDArray[np.uint64], first: int, last: int) -> None:
    """Check that rows are sorted by leaf and have the hash sums of the index; raise an error otherwise."""
    (leaves, _, sums), due = by_leaf(rows), np.arange(first, last, dtype=np.uint16)
    there = np.repeat(due, file.counts[first:last])
    wrong = np.concatenate([there[leaves != there], due[sums[first:last] != file.sums[first:last]]])
    if len(wrong):
        raise damaged(file.path, f"the checksum of the rows of leaf {wrong[0]} is wrong")


def spans(file: RowFile, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of leaves that are small enough to be read in one call. Ranges without rows are left out."""
    most = READ_BYTES // (8 * file.header.words)
    begin, rows = first, 0
    for leaf in range(first, last):
        count = int(file.counts[leaf])
        if rows and rows + count > most:
            yield begin, leaf
            begin, rows = leaf, 0
        rows += count
    if rows:
        yield begin, last


def cut(loads: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Return consecutive ranges of leaves with at most ``most`` rows each, unless a single leaf has more."""
    ranges = []
    first, load = 0, 0
    for leaf, count in enumerate(loads.tolist()):
        if load and load + count > most:
            ranges.append((first, leaf))
            first, load = leaf, 0
        load += count
    ranges.append((first, len(loads)))
    return ranges


# -- writing -------------------------------------------------------------------------------


def write_rows(
    path: Path,
    rows: NDArray[np.uint64],
    index: tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]],
    owner: Owner,
    stats: dict[str, Any],
    *,
    cpu: float,
    codes: tuple[int, int, int, int] | None = None,
    kind: str = "children",
) -> RowSource:
    """Write a row file. The index consists of counts, hash sums and moves by leaf."""
    arrays = b"".join(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes() for array in index)
    header = {
        "kind": kind,
        **owner._asdict(),
        "words": rows.shape[1],
        "leaf_bits": len(index[0]).bit_length() - 1,
        "rows": int(index[0].sum()),
        "codes": codes,
        "stats": stats,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    hasher = _LeafHasher(index[0], _row_size(rows.shape[1], codes)) if kind == "part" else None
    digests = 0 if hasher is None else 32 * int(np.count_nonzero(index[0]))
    text += b" " * (-(HEAD.size + len(text) + len(arrays) + digests) % PAGE)
    with _reported(path, "write it"):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                # Reserve space: the digests are known only after the rows are written.
                write_span(file, np.zeros(HEAD.size + len(text) + len(arrays) + digests, dtype=np.uint8))
                for piece in _row_pieces(np.ascontiguousarray(rows), codes):
                    if hasher is not None:
                        hasher.feed(piece.data)
                    write_span(file, piece)
                content = text + arrays + (b"" if hasher is None else b"".join(hasher.digests))
                digest = hashlib.sha256(content)
                head = HEAD.pack(MAGIC, FORMAT_VERSION, len(text), cpu, digest.digest(), 0)[:-4]
                head += struct.pack("<I", zlib.crc32(head))
                file.seek(0)
                write_span(file, np.frombuffer(head + content, dtype=np.uint8))
                if kind in ("part", "tally"):
                    os.fsync(file)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    return RowSource(path, digest.hexdigest())


def _code_tables(codes: Sequence[int]) -> CodeTables:
    tables: CodeTables = position_codes(*codes[:3])[1]
    return tables


def _row_size(words: int, codes: Sequence[int] | None) -> int:
    return 8 * words if codes is None else _code_tables(codes).code_bytes


def _row_pieces(rows: NDArray[np.uint64], codes: Sequence[int] | None) -> Iterator[NDArray[np.uint8]]:
    """Yield the stored bytes of rows, in pieces."""
    if codes is None:
        yield rows.astype("<u8", copy=False).reshape(-1).view(np.uint8)
        return
    tables = _code_tables(codes)
    for start in range(0, len(rows), _PIECE_ROWS):
        some = rows[start : start + _PIECE_ROWS]
        flat = _coded.buffer.bytes(len(some) * tables.code_bytes)
        encode_rows(tables, some, flat.reshape(len(some), tables.code_bytes))
        yield flat


class _LeafHasher:
    """A hasher that computes the SHA-256 of each leaf. It is fed the leaves in order, in pieces of any length."""

    def __init__(self, counts: NDArray[np.int64], each: int) -> None:
        self.digests: list[bytes] = []
        self._lengths = [each * count for count in counts.tolist() if count]
        self._left = self._lengths[0] if self._lengths else 0
        self._hash = hashlib.sha256()

    def feed(self, content: memoryview) -> None:
        """Hash the next bytes."""
        while len(content):
            here = content[: self._left]
            self._hash.update(here)
            content = content[len(here) :]
            self._left -= len(here)
            if not self._left:
                self.digests.append(self._hash.digest())
                self._hash = hashlib.sha256()
                self._left = self._lengths[len(self.digests)] if len(self.digests) < len(self._lengths) else 0


# -- direct access -------------------------------------------------------------------------


def _set_direct(stream: IO[bytes], direct: bool) -> bool:
    """Switch direct access, which bypasses the cache, on or off; return whether the system supports it."""
    flag = getattr(os, "O_DIRECT", 0)
    if not flag:
        return False
    import fcntl

    flags = fcntl.fcntl(stream, fcntl.F_GETFL)
    try:
        fcntl.fcntl(stream, fcntl.F_SETFL, flags | flag if direct else flags & ~flag)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False  # this file system has no direct access
    return True


def write_span(stream: IO[bytes], content: NDArray[np.uint8]) -> None:
    """Write bytes at the current position of an unbuffered file; whole pages of long spans bypass the cache."""
    pending, rest = content.data, memoryview(b"")
    at_pages = content.ctypes.data % PAGE == 0 and stream.tell() % PAGE == 0
    if len(pending) >= DIRECT_BYTES and at_pages and _set_direct(stream, True):
        whole = len(pending) - len(pending) % PAGE
        pending, rest = pending[:whole], pending[whole:]
        try:
            while pending:
                try:
                    count = stream.write(pending[: 1 << 30])
                except OSError as error:
                    if error.errno != errno.EINVAL:
                        raise
                    break  # blocks are larger than a page, or a short write ended inside a block
                pending = pending[count:]
        finally:
            _set_direct(stream, False)
    for left in (pending, rest):
        while left:  # a call writes at most 2 GiB
            left = left[stream.write(left[: 1 << 30]) :]


def read_span(stream: Any, offset: int, length: int, into: Buffer) -> NDArray[np.uint8]:
    """Return bytes of an unbuffered file; long spans bypass the cache."""
    lead = offset % PAGE
    memory = into.bytes(lead + length + -(lead + length) % PAGE)
    found = lead
    if length >= DIRECT_BYTES and _set_direct(stream, True):
        # Whole pages are read, from the start of the first one to the end of the last one or of the file.
        found = _read_direct(stream, offset - lead, memory)
        _set_direct(stream, False)
    while found < lead + length:
        stream.seek(offset - lead + found)
        count = stream.readinto(memory[found : lead + length].data)
        if not count:
            raise EOFError(f"{length} bytes from {offset} on")
        found += count
    return memory[lead : lead + length]


def _read_direct(stream: Any, offset: int, memory: NDArray[np.uint8]) -> int:
    """Read as many bytes as the system returns, bypassing its cache (direct I/O), and return their number."""
    found = 0
    while found < len(memory):
        stream.seek(offset + found)
        try:
            count = stream.readinto(memory[found:].data)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            break  # blocks are larger than a page, or the file ends inside a block
        if not count:
            break
        found += count
    return found


# -- sums and digests over files -----------------------------------------------------------


def leaf_counts(files: Iterable[RowFile], first: int = 0, last: int = LEAVES) -> NDArray[np.int64]:
    """Return the number of rows of each leaf (or bin), summed over the files."""
    total = np.zeros(last - first, dtype=np.int64)
    for file in files:
        total += file.counts[first:last]
    return total


def rows_digest(files: Iterable[RowFile]) -> str:
    """Return the digest of the rows of a ply. It does not depend on how the rows are divided into parts."""
    found = list(files)
    content = hashlib.sha256(leaf_counts(found).astype("<i8").tobytes())
    for file in found:
        content.update(file.leaves)
    return content.hexdigest()


def leaves_digest(files: Iterable[RowFile]) -> str:
    """Return a digest of the number of rows and the hash sum of each leaf, summed over the files."""
    found = list(files)
    sums = np.sum([file.sums for file in found], axis=0, dtype=np.uint64)
    return hashlib.sha256(leaf_counts(found).astype("<i8").tobytes() + sums.astype("<u8").tobytes()).hexdigest()


def leaf_digests(rows: NDArray[np.uint64], counts: NDArray[np.int64], codes: Sequence[int] | None) -> bytes:
    """Return the SHA-256 of each leaf with rows, computed from the rows as a part stores them."""
    hasher = _LeafHasher(counts, _row_size(rows.shape[1], codes))
    for piece in _row_pieces(np.ascontiguousarray(rows), codes):
        hasher.feed(piece.data)
    return b"".join(hasher.digests)
