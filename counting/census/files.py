"""Row files: positions in the order of their leaves, with an index, checksums and a format version.

A file is written under a temporary name and renamed, so that one which has its name is
complete. Layout, little-endian: 8 bytes of magic, the format version, the length and
the CRC-32 of the header (uint32 each); the header (JSON, with spaces behind it so that the
rows begin at a page); three index arrays of one entry a leaf (rows int64, hash sums
uint64, moves int64), whose CRC-32 the header holds; the rows. Files of children hold W
times uint64 each; so do parts of a ply, which are kept, if W is 1, else these hold the
code of each (`tablut.indexing.codes`), half as long or less, wherever codes fit kernels.
Checksums are of the rows in either case: a damaged code is another position.

Parts are on the disk before they get their names. Non-guarantee: files of children need not
be. After a power failure one may be damaged, which is detected when it is read, as any
other damage is.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from counting.census.buckets import check_rows
from counting.census.memory import PAGE, aligned, read_span, room, write_span
from tablut.errors import InputError, OutputError
from tablut.indexing.code_kernels import decode_rows, encode_rows
from tablut.indexing.codes import position_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tablut.indexing.codes import CodeTables

__all__ = ["FORMAT_VERSION", "RowFile", "open_rows", "read_rows", "write_rows"]

FORMAT_VERSION: Final = 3
_MAGIC: Final = b"TABLROWS"
_HEAD: Final = struct.Struct("<8sIII")
_STEP: Final = 1 << 18
"""Rows that are coded at once."""


class RowFile(NamedTuple):
    """A row file whose index has been read and found sound.

    Attributes
    ----------
    path : Path
        Where it is.
    header : dict
        ``plan``, ``words``, ``leaf_bits``, ``rows``, ``stats``, ``codes`` if rows are coded (cells, most
        attackers and defenders, the side to move) and what else the writer added.
    counts : ndarray of int64, shape (leaves,)
        Rows of each leaf.
    sums : ndarray of uint64, shape (leaves,)
        Their hash sums.
    moves : ndarray of int64, shape (leaves,)
        Legal moves of the undecided ones; zero in files of children.
    begin : int
        Where the rows begin, in bytes.
    """

    path: Path
    header: dict[str, Any]
    counts: NDArray[np.int64]
    sums: NDArray[np.uint64]
    moves: NDArray[np.int64]
    begin: int


@contextmanager
def _reported(path: Path, what: str) -> Iterator[None]:
    """Turn an error of the system into one line that names the file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"census file {str(path)!r}: cannot {what}: {error.strerror or error}") from error


def write_rows(
    path: Path,
    rows: NDArray[np.uint64],
    index: tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]],
    header: dict[str, Any],
    codes: tuple[int, int, int, int] | None = None,
    *,
    lasting: bool = False,
) -> None:
    """Write a row file.

    Parameters
    ----------
    path : Path
        Where it goes; its folder exists.
    rows : ndarray of uint64, shape (n, W)
        In the order of leaves.
    index : tuple of ndarray
        Rows, hash sums and moves by leaf.
    header : dict
        To be stored; ``words``, ``leaf_bits``, ``rows`` and the checksum are added.
    codes : tuple of int, optional
        Cells, most attackers, most defenders and the side to move (0 white, 1 black) of all
        rows, which are then stored as codes.
    lasting : bool
        Have it on the disk before it gets its name: it survives a loss of power.

    Raises
    ------
    OutputError
        Naming the file, if it cannot be written: for one, if the disk is full.
    """
    arrays = b"".join(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes() for array in index)
    leaf_bits = len(index[0]).bit_length() - 1
    full = {
        **header,
        "words": rows.shape[1],
        "leaf_bits": leaf_bits,
        "rows": len(rows),
        "index_crc": zlib.crc32(arrays),
        **({} if codes is None else {"codes": list(codes)}),
    }
    text = json.dumps(full).encode()
    text += b" " * (-(_HEAD.size + len(text) + len(arrays)) % PAGE)
    head = _HEAD.pack(_MAGIC, FORMAT_VERSION, len(text), zlib.crc32(text)) + text + arrays
    rows = np.ascontiguousarray(rows)
    with _reported(path, "write it"):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                write_span(file, np.frombuffer(head, dtype=np.uint8))
                if codes is None:
                    write_span(file, rows.astype("<u8", copy=False).reshape(-1).view(np.uint8))
                else:
                    for start in range(0, len(rows), _STEP):
                        write_span(file, _encoded(rows[start : start + _STEP], _tables(codes)))
                if lasting:
                    os.fsync(file)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _encoded(rows: NDArray[np.uint64], tables: CodeTables) -> NDArray[np.uint8]:
    """Return the codes of rows, flat, in memory that the next call uses again."""
    flat = room("codes", len(rows) * tables.code_bytes)
    encode_rows(tables, rows, flat.reshape(len(rows), tables.code_bytes))
    return flat


def _tables(codes: Sequence[int]) -> CodeTables:
    tables: CodeTables = position_codes(*codes[:3])[1]
    return tables


def _row_bytes(header: dict[str, Any]) -> int:
    """Return how many bytes a row takes in a file."""
    if "codes" in header:
        return _tables(header["codes"]).code_bytes
    return 8 * int(header["words"])


def _damaged(path: Path, what: str) -> InputError:
    ply = path.parent.name
    also = "" if path.name.startswith("children") else f", {ply}.json and the records of later plies"
    return InputError(f"census file {str(path)!r} is damaged: {what}; delete it{also}, and go on with --resume")


def open_rows(path: Path) -> RowFile:
    """Return a row file with its index.

    Raises
    ------
    InputError
        Naming the file, if it is of another version, damaged, or not a row file.
    OutputError
        If it cannot be read.
    """
    with _reported(path, "read it"), path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(_MAGIC):
            raise _damaged(path, "it does not begin as a row file")
        _, version, length, checksum = _HEAD.unpack(head)
        if version != FORMAT_VERSION:
            raise InputError(
                f"census file {str(path)!r}: format version {version}, this program reads {FORMAT_VERSION}; "
                "count again in another store"
            )
        text = file.read(length)
        if zlib.crc32(text) != checksum:
            raise _damaged(path, "the header has another checksum")
        header = json.loads(text)
        leaves = 1 << header["leaf_bits"]
        arrays = file.read(24 * leaves)
        if zlib.crc32(arrays) != header["index_crc"]:
            raise _damaged(path, "the index has another checksum")
        begin = _HEAD.size + length + 24 * leaves
        size = os.fstat(file.fileno()).st_size
    wanted = begin + _row_bytes(header) * header["rows"]
    if size != wanted:
        raise _damaged(path, f"it has {size} bytes instead of {wanted}")
    parts = [arrays[8 * leaves * number : 8 * leaves * (number + 1)] for number in range(3)]
    return RowFile(
        path,
        header,
        np.frombuffer(parts[0], dtype="<i8").astype(np.int64),
        np.frombuffer(parts[1], dtype="<u8").astype(np.uint64),
        np.frombuffer(parts[2], dtype="<i8").astype(np.int64),
        begin,
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

    Raises
    ------
    InputError
        Naming the file, if a checksum does not fit.
    """
    width, before = file.header["words"], int(file.counts[:first].sum())
    count, each = int(file.counts[first:last].sum()), _row_bytes(file.header)
    place = file.begin + each * before
    with _reported(file.path, "read it"), file.path.open("rb", buffering=0) as stream:
        try:
            if "codes" not in file.header:
                rows = read_span(stream, place, each * count, name).view("<u8").astype(np.uint64, copy=False)
                rows = rows.reshape(count, width)
            else:
                tables, side = _tables(file.header["codes"]), file.header["codes"][3]
                size = 8 * width * count
                flat = aligned(size) if name is None else room(name, size)
                rows = flat.view(np.uint64).reshape(count, width)
                for start in range(0, count, _STEP):
                    some = rows[start : start + _STEP]
                    codes = read_span(stream, place + each * start, each * len(some), "codes")
                    decode_rows(tables, codes.reshape(len(some), each), side, some)
        except EOFError as error:
            raise _damaged(file.path, "it ends early") from error
    if check:
        verify(file, rows, first, last)
    return rows


def verify(file: RowFile, rows: NDArray[np.uint64], first: int, last: int) -> None:
    """Compare rows with the checksums of their leaves; raise `InputError` if they do not fit."""
    leaf_bits = file.header["leaf_bits"]
    wrong = check_rows(rows, leaf_bits, first, file.counts[first:last], file.sums[first:last])
    if wrong >= 0:
        raise _damaged(file.path, f"the rows of leaf {wrong} have another checksum")
