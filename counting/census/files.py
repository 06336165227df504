"""Row files as they are read; their layout is told in `counting.census.row_head`."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.buckets import check_rows
from counting.census.code_kernels import decode_rows
from counting.census.memory import aligned, read_span, room
from counting.census.row_bytes import PIECE_ROWS, code_tables, row_size
from counting.census.row_head import damaged, parse_beginning, reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from counting.census.row_head import RowFile

READ_BYTES: Final = 8 << 20
"""What a merge reads of a file at once."""


def open_rows(path: Path, digest: str | None = None) -> RowFile:
    """Return a row file with its index."""
    with reported(path, "read it"):
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
        return parse_beginning(path, file, os.fstat(file.fileno()).st_size)


def read_rows(
    file: RowFile, first: int, last: int, *, check: bool = True, name: str | None = None
) -> NDArray[np.uint64]:
    """Return the rows of the leaves from ``first`` up to ``last``, excluded."""
    width, codes, before = file.header.words, file.header.codes, int(file.counts[:first].sum())
    count, each = int(file.counts[first:last].sum()), row_size(width, codes)
    place = file.begin + each * before
    with _reading(file) as read:
        try:
            if codes is None:
                rows = read(place, each * count, name).view("<u8").astype(np.uint64, copy=False)
                rows = rows.reshape(count, width)
            else:
                tables, side = code_tables(codes), codes[3]
                size = 8 * width * count
                flat = aligned(size) if name is None else room(name, size)
                rows = flat.view(np.uint64).reshape(count, width)
                for start in range(0, count, PIECE_ROWS):
                    some = rows[start : start + PIECE_ROWS]
                    coded = read(place + each * start, each * len(some), "codes")
                    decode_rows(tables, coded.reshape(len(some), each), side, some)
        except EOFError as error:
            raise damaged(file.path, "it ends early") from error
    if check:
        check_sums(file, rows, first, last)
    return rows


@contextmanager
def _reading(file: RowFile) -> Iterator[Callable[[int, int, str | None], NDArray[np.uint8]]]:
    """Yield what returns bytes of a row file: where they begin, how many, and the name of the memory for them."""
    with reported(file.path, "read it"), file.path.open("rb", buffering=0) as stream:
        yield lambda at, size, name: read_span(stream, at, size, name)


def check_sums(file: RowFile, rows: NDArray[np.uint64], first: int, last: int) -> None:
    """Compare rows with the checksums of their leaves."""
    leaf_bits = file.header.leaf_bits
    wrong = check_rows(rows, leaf_bits, first, file.counts[first:last], file.sums[first:last])
    if wrong >= 0:
        raise damaged(file.path, f"the rows of leaf {wrong} have another checksum")


def spans(file: RowFile, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut leaves into ranges that are read at once; ranges without rows are left out."""
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
