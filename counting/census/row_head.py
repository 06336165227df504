"""Row files: positions in the order of their leaves, with an index, digests and a format version; how they begin.

A file is written under a temporary name and renamed, so a file under its final name is
complete. Layout, little-endian: a head of fixed length (magic, format version, length of
the header, processor seconds of the task, the digest of the file, CRC-32 of all this);
the header (JSON, `counting.census.records.RowHeader`, with spaces behind it so that the
rows begin at a page); three index arrays of one entry a leaf (rows int64, hash sums
uint64, moves int64); in parts of a ply the SHA-256 of each leaf that has rows; the rows.
Files of children and sorted rows hold W times uint64 each; so do parts, which are kept, if W is 1, else
these hold the code of each (`counting.census.codes`), half as long or less, wherever
codes fit kernels. The index of sorted rows is by bin (`counting.census.families`) instead of
leaf. A tally has the index of rows that are nowhere stored.

The digest of a file is that of header, index and leaf digests, so it stands for the rows
too. It is checked whenever a file is opened, and by the record of the ply. Hash sums are of the
rows as words: they are checked whenever rows are read. The SHA-256 of rows is
checked by `counting.census.verification`.

Parts are on the disk before they get their names. Non-guarantee: files of children need not
be. After a power failure one may be damaged, which is detected when it is read, as any
other damage is.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from pydantic import ValidationError

from counting.census.records import FORMAT_VERSION, RowHeader
from counting.census.row_bytes import row_size
from tablut.errors import InputError, OutputError, input_failure, output_failure
from tablut.segments import Segment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tablut.locations import Location

__all__ = ["HEAD", "MAGIC", "RowFile", "Source", "damaged", "parse_beginning", "reported"]

MAGIC: Final = b"TABLROWS"
HEAD: Final = struct.Struct("<8sIId32sI")
_MOST_HEADER: Final = 1 << 20


class Source(NamedTuple):
    """A row file, and the digest that it must have."""

    path: Location
    digest: str


class RowFile(NamedTuple):
    """A row file whose head, header and index have been read and found sound.

    Attributes
    ----------
    path : Path or Remote
        Where it is.
    header : RowHeader
        What it says of itself.
    counts : ndarray of int64, shape (leaves,)
        Rows of each leaf.
    sums : ndarray of uint64, shape (leaves,)
        Their hash sums.
    moves : ndarray of int64, shape (leaves,)
        Legal moves of the undecided ones; zero in files of children.
    leaves : bytes
        In parts the SHA-256 of each leaf that has rows, 32 bytes each.
    begin, length : int
        Where the rows begin, and how long the file is, in bytes.
    digest : str
        Of header, index and leaf digests.
    cpu : float
        Processor seconds that it took.
    """

    path: Location
    header: RowHeader
    counts: NDArray[np.int64]
    sums: NDArray[np.uint64]
    moves: NDArray[np.int64]
    leaves: bytes
    begin: int
    length: int
    digest: str
    cpu: float

    def segments(self) -> list[Segment]:
        """Return the rows of each leaf as a segment of the file; of parts alone."""
        found, at = [], self.begin
        each = row_size(self.header.words, self.header.codes)
        for number, count in enumerate(self.counts[self.counts > 0].tolist()):
            found.append(Segment(at, each * count, self.leaves[32 * number : 32 * number + 32].hex()))
            at += each * count
        return found


@contextmanager
def reported(path: Location, what: str) -> Iterator[None]:
    """Turn an error of the system into one line that names the file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        message = f"census file {str(path)!r}: cannot {what}: {error.strerror or error}"
        raise (output_failure if what == "write it" else input_failure)(message, error) from error


def damaged(path: Location, what: str) -> InputError:
    """Return the error for a damaged row file; it says how to go on."""
    # The text of a URL has steps as that of a path has.
    place = PurePath(str(path))
    also = f" and {place.parent.name}.json" if place.name.startswith("part") else ""
    return InputError(f"census file {str(path)!r} is damaged: {what}; delete it{also}, and go on with --resume")


class Readable(Protocol):
    """What bytes can be read from, one after another."""

    def read(self, count: int, /) -> bytes:
        """Return the next bytes."""


def parse_beginning(path: Location, file: Readable, size: int) -> RowFile:
    """Return what a row file says before its rows, found to agree with itself."""
    head = file.read(HEAD.size)
    if len(head) < HEAD.size or not head.startswith(MAGIC):
        raise damaged(path, "it does not begin as a row file")
    _, version, length, cpu, found, crc = HEAD.unpack(head)
    if version < FORMAT_VERSION or (version != FORMAT_VERSION and crc == zlib.crc32(head[:-4])):
        raise InputError(
            f"census file {str(path)!r}: format version {version}, this program reads {FORMAT_VERSION}; "
            "count again into another folder"
        )
    if crc != zlib.crc32(head[:-4]) or length > _MOST_HEADER:
        raise damaged(path, "the head has another checksum")
    text = file.read(length)
    try:
        header = RowHeader.model_validate_json(text)
    except ValidationError as error:
        raise damaged(path, "the header is not that of a row file") from error
    leaves = 1 << header.leaf_bits
    arrays = file.read(24 * leaves)
    if len(arrays) < 24 * leaves:
        raise damaged(path, "it ends early")
    parts = [arrays[8 * leaves * number : 8 * leaves * (number + 1)] for number in range(3)]
    counts = np.frombuffer(parts[0], dtype="<i8").astype(np.int64)
    filled = int(np.count_nonzero(counts)) if header.kind == "part" else 0
    digests = file.read(32 * filled)
    content = hashlib.sha256(b"".join((text, arrays, digests))).digest()
    if content != found:
        raise damaged(path, "header or index have another digest")
    begin = HEAD.size + length + 24 * leaves + 32 * filled
    wanted = begin + (0 if header.kind == "tally" else row_size(header.words, header.codes) * header.rows)
    # Each by itself: a sum of 64 bits can wrap around.
    moves = np.frombuffer(parts[2], dtype="<i8").astype(np.int64)
    if int(counts.sum()) != header.rows or ((counts < 0) | (counts > header.rows) | (moves < 0)).any():
        raise damaged(path, "its index does not add up")
    if size != wanted:
        raise damaged(path, f"it has {size} bytes instead of {wanted}")
    return RowFile(
        path,
        header,
        counts,
        np.frombuffer(parts[1], dtype="<u8").astype(np.uint64),
        moves,
        digests,
        begin,
        wanted,
        content.hex(),
        cpu,
    )
