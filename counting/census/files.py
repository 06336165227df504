"""Row files: positions in the order of their leaves, with an index, digests and a format version.

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
import json
import os
import stat
import struct
import tempfile
import zlib
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from pydantic import ValidationError

from counting.census.buckets import check_rows
from counting.census.code_kernels import decode_rows
from counting.census.memory import PAGE, aligned, read_span, room, write_span
from counting.census.records import FORMAT_VERSION, Owner, RowHeader
from counting.census.row_bytes import PIECE_ROWS, RowHasher, code_tables, row_pieces, row_size
from tablut.errors import InputError, OutputError, input_failure, output_failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["RowFile", "Source", "check_sums", "damaged", "open_rows", "read_rows", "spans", "write_rows"]

_MAGIC: Final = b"TABLROWS"
_HEAD: Final = struct.Struct("<8sIId32sI")
_MOST_HEADER: Final = 1 << 20


READ_BYTES: Final = 8 << 20
"""What a merge reads of a file at once."""


class Source(NamedTuple):
    """A row file, and the digest that it must have."""

    path: Path
    digest: str


class RowFile(NamedTuple):
    """A row file whose head, header and index have been read and found sound.

    Attributes
    ----------
    path : Path
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


@contextmanager
def _reported(path: Path, what: str) -> Iterator[None]:
    """Turn an error of the system into one line that names the file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        message = f"census file {str(path)!r}: cannot {what}: {error.strerror or error}"
        raise (output_failure if what == "write it" else input_failure)(message, error) from error


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
) -> Source:
    """Write a row file.

    Parameters
    ----------
    path : Path
        Where it goes; its folder exists.
    rows : ndarray of uint64, shape (n, W)
        In the order of leaves.
    index : tuple of ndarray
        Rows, hash sums and moves by leaf.
    owner : Owner
        What it belongs to.
    stats : dict
        What its header says of the rows: the fields of `PartStats` or `ExpansionStats`.
    cpu : float
        Processor seconds that making the rows took; no part of the digest.
    codes : tuple of int, optional
        Cells, most attackers, most defenders and the side to move (0 white, 1 black) of all
        rows, which are then stored as codes.
    kind : str
        As in `counting.census.records.RowHeader`. A part and a tally are on the disk before they get
        their names, so that they survive a loss of power. A part has the digests of its leaves; a
        tally is given no rows.

    Returns
    -------
    Source
        The file and its digest.

    Raises
    ------
    OutputError
        Naming the file, if it cannot be written under that name.
    MachineError
        If the machine fails: for one, if the disk is full.
    """
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
    hasher = RowHasher(index[0], row_size(rows.shape[1], codes)) if kind == "part" else None
    digests = 0 if hasher is None else 32 * int(np.count_nonzero(index[0]))
    text += b" " * (-(_HEAD.size + len(text) + len(arrays) + digests) % PAGE)
    begin = _HEAD.size + len(text) + len(arrays) + digests
    rows = np.ascontiguousarray(rows)
    with _reported(path, "write it"):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                # The digests are known when the rows are.
                write_span(file, np.zeros(begin, dtype=np.uint8))
                for piece in row_pieces(rows, codes):
                    if hasher is not None:
                        hasher.feed(piece.data)
                    write_span(file, piece)
                content = text + arrays + (b"" if hasher is None else b"".join(hasher.digests))
                digest = hashlib.sha256(content).digest()
                head = _HEAD.pack(_MAGIC, FORMAT_VERSION, len(text), cpu, digest, 0)
                head = head[:-4] + struct.pack("<I", zlib.crc32(head[:-4]))
                file.seek(0)
                write_span(file, np.frombuffer(head + content, dtype=np.uint8))
                if kind in ("part", "tally"):
                    os.fsync(file)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    return Source(path, digest.hex())


def damaged(path: Path, what: str) -> InputError:
    """Return the error for a damaged row file; it says how to go on.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        What is wrong with it.

    Returns
    -------
    InputError
        To be raised.
    """
    also = f" and {path.parent.name}.json" if path.name.startswith("part") else ""
    return InputError(f"census file {str(path)!r} is damaged: {what}; delete it{also}, and go on with --resume")


def open_rows(path: Path, digest: str | None = None) -> RowFile:
    """Return a row file with its index.

    Parameters
    ----------
    path : Path
        The file.
    digest : str, optional
        The digest that it must have; without it, it must agree with itself.

    Returns
    -------
    RowFile
        Head, header and index; from a cache as long as the file is unchanged.

    Raises
    ------
    InputError
        Naming the file, if it is missing, of another version, damaged, another than was asked for, or
        not a row file.
    MachineError
        If the system cannot read it.
    """
    with _reported(path, "read it"):
        try:
            state = path.lstat()
        except FileNotFoundError as error:
            raise damaged(path, "it is missing") from error
        if not stat.S_ISREG(state.st_mode):
            raise damaged(path, "it is no ordinary file")
        file = _opened(path, (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
    if digest is not None and file.digest != digest:
        raise damaged(path, "it is another file than the census has written there")
    return file


@lru_cache(maxsize=128)
def _opened(path: Path, _: tuple[int, int, int, int]) -> RowFile:
    """Read all of a file but its rows; once, as long as the system says that it is the same."""
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(_MAGIC):
            raise damaged(path, "it does not begin as a row file")
        _, version, length, cpu, found, crc = _HEAD.unpack(head)
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
        size = os.fstat(file.fileno()).st_size
    content = hashlib.sha256(b"".join((text, arrays, digests))).digest()
    if content != found:
        raise damaged(path, "header or index have another digest")
    begin = _HEAD.size + length + 24 * leaves + 32 * filled
    wanted = begin + (0 if header.kind == "tally" else row_size(header.words, header.codes) * header.rows)
    if int(counts.sum()) != header.rows or (counts < 0).any():
        raise damaged(path, "its index does not add up")
    if size != wanted:
        raise damaged(path, f"it has {size} bytes instead of {wanted}")
    return RowFile(
        path,
        header,
        counts,
        np.frombuffer(parts[1], dtype="<u8").astype(np.uint64),
        np.frombuffer(parts[2], dtype="<i8").astype(np.int64),
        digests,
        begin,
        wanted,
        content.hex(),
        cpu,
    )


def read_rows(
    file: RowFile, first: int, last: int, *, check: bool = True, name: str | None = None
) -> NDArray[np.uint64]:
    """Return the rows of the leaves from ``first`` up to ``last``, excluded.

    Parameters
    ----------
    file : RowFile
        An open file.
    first, last : int
        Leaves.
    check : bool
        Compare with the checksums; False leaves that to the caller.
    name : str, optional
        The `counting.census.memory.room` they go to, valid until it is used again; new memory without it.

    Returns
    -------
    ndarray of uint64, shape (n, W)
        Positions as words.

    Raises
    ------
    InputError
        Naming the file, if a checksum does not fit.
    MachineError
        If the system cannot read it.
    """
    width, before = file.header.words, int(file.counts[:first].sum())
    count, each = int(file.counts[first:last].sum()), row_size(width, file.header.codes)
    place = file.begin + each * before
    with _reported(file.path, "read it"), file.path.open("rb", buffering=0) as stream:
        try:
            if file.header.codes is None:
                rows = read_span(stream, place, each * count, name).view("<u8").astype(np.uint64, copy=False)
                rows = rows.reshape(count, width)
            else:
                tables, side = code_tables(file.header.codes), file.header.codes[3]
                size = 8 * width * count
                flat = aligned(size) if name is None else room(name, size)
                rows = flat.view(np.uint64).reshape(count, width)
                for start in range(0, count, PIECE_ROWS):
                    some = rows[start : start + PIECE_ROWS]
                    codes = read_span(stream, place + each * start, each * len(some), "codes")
                    decode_rows(tables, codes.reshape(len(some), each), side, some)
        except EOFError as error:
            raise damaged(file.path, "it ends early") from error
    if check:
        check_sums(file, rows, first, last)
    return rows


def check_sums(file: RowFile, rows: NDArray[np.uint64], first: int, last: int) -> None:
    """Compare rows with the checksums of their leaves.

    Parameters
    ----------
    file : RowFile
        An open file.
    rows : ndarray of uint64, shape (n, W)
        Its rows of these leaves, as words.
    first, last : int
        The leaves, ``last`` excluded.

    Raises
    ------
    InputError
        Naming the file, if a checksum does not fit.
    """
    leaf_bits = file.header.leaf_bits
    wrong = check_rows(rows, leaf_bits, first, file.counts[first:last], file.sums[first:last])
    if wrong >= 0:
        raise damaged(file.path, f"the rows of leaf {wrong} have another checksum")


def spans(file: RowFile, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut leaves into ranges that are read at once; ranges without rows are left out.

    Parameters
    ----------
    file : RowFile
        The file that is read.
    first, last : int
        The leaves, ``last`` excluded.

    Yields
    ------
    begin, end : int
        A range: a single leaf, or at most `READ_BYTES`.
    """
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
