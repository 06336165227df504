"""Row files: positions sorted by leaf, with an index by leaf, in the file format of `tablut.work.parts`.

A row file has the section ``rows`` and three arrays with one entry for each leaf: the number of rows (``counts``),
their hash sum (``sums``), and the number of legal moves of the undecided rows (``moves``). These three arrays are the
index. There are four kinds of row files:

- A *part* of a ply is permanent. If a position takes two to four words and its code (`counting.census.codes`) fits into
  128 bits, a part's rows are stored as codes, which take at most half the space. An additional section, ``digests``,
  contains the SHA-256 of each leaf that has rows.
- A file of children is temporary, and stores its rows as words (uint64).
- A file of sorted rows is temporary, too. It has an index by bin (`counting.census.buckets`) instead of by leaf. A file
  of sorted parents has a second set of sections for the children that are reached by a capture.
- A *tally* contains the index of the counted rows, but not the rows themselves.

A part's digest covers the index and the leaves' digests, and thus indirectly the rows. This digest is checked against
the ply's record whenever a file is opened. Hash sums are computed from the rows as words, and are checked whenever rows
are read. The SHA-256 of the rows is checked by `counting.census.verification`.

Parts and tallies are flushed to the disk before they are renamed. Files of children are not guaranteed to be flushed.
If a power failure damages one of these files, its digest or hash sums reveal the damage.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from counting.census.buckets import BINS, LEAVES, by_leaf
from counting.census.codes import CodeTables, decode_rows, encode_rows, position_codes
from counting.census.toolbox import COUNTERS
from tablut.work.direct import Buffer
from tablut.work.ledger import damaged
from tablut.work.parts import PartFile, PartWriter, open_part
from tablut.work.sealed_records import Count, Part

READ_BYTES: Final = 8 << 20
"""Number of bytes that a merge reads from a file in one call."""
CAPTURES: Final = "captures-"
"""Prefix of section names in a file of sorted parents. These sections contain the children reached by a capture."""
_PIECE_ROWS: Final = 1 << 18
"""Number of rows that are encoded or decoded at a time."""


# -- statistics ----------------------------------------------------------------------------


def _all_counters(found: dict[str, int]) -> dict[str, int]:
    if set(found) != set(COUNTERS):
        raise ValueError("these are not the counters of a census")
    return found


Bins = tuple[Annotated[int, Field(ge=0, lt=BINS)], Annotated[int, Field(gt=0, le=BINS)]]
_Soldiers = Annotated[int, Field(ge=0, le=120)]
RowCodes = tuple[Annotated[int, Field(ge=1, le=121)], _Soldiers, _Soldiers, Annotated[int, Field(ge=0, le=1)]]
"""The arguments of `position_codes`, followed by the side to move."""
PlyNumber = Annotated[int, Field(ge=0, le=9999)]
Counters = Annotated[dict[str, Count], AfterValidator(_all_counters)]
Expanded = tuple[Count, Count, Count, Count]
"""The counters of `counting.census.expansion`; see `EXPANSION_COUNTERS`."""
Few = Annotated[tuple[Count, ...], Field(max_length=128)]
MaterialCounts = Annotated[
    tuple[Annotated[tuple[Few, ...], Field(max_length=128)], ...], Field(min_length=2, max_length=2)
]


class RowStats(Part):
    """The statistics that every row file contains.

    These are the number of words in a row, the code arguments (or None), and the number of children.
    """

    words: Annotated[int, Field(ge=1, le=12)]
    codes: RowCodes | None
    children: Count


class ExpansionStats(RowStats):
    """The statistics of a file of children or sorted rows, including the expansion counters."""

    counters: Expanded


class PartStats(RowStats):
    """The statistics of one part of a ply.

    These are the number of children that were merged into the part, the counters and the material from `survey`, and
    the number of children of the part's own positions.
    """

    counters: Counters
    material: MaterialCounts
    next_children: Count


class TallyStats(PartStats):
    """The statistics of a tally: those of a part, plus the tally's bins and expansion counters."""

    bins: Bins
    expanded: Expanded


_STATS: Final = PartStats | ExpansionStats | TallyStats


class RowFile:
    """A row file whose header and index have been read and checked.

    Its section names begin with the prefix ``which``. The arrays ``counts``, ``sums`` and ``moves`` have one entry for
    each leaf (or bin).
    """

    def __init__(self, part: PartFile[PartStats | ExpansionStats | TallyStats], which: str = "") -> None:
        self.part, self.path, self.stats = part, part.path, part.header.stats
        self._rows = f"{which}rows"
        self.counts, self.sums, self.moves = (part.array(f"{which}{name}") for name in ("counts", "sums", "moves"))
        stored = part.header.sections.get(self._rows)
        self.rows = int(self.counts.sum())
        kinds = [(len(array), array.dtype.name) for array in (self.counts, self.sums, self.moves)]
        # Each entry is checked separately, since the 64-bit sum can wrap around.
        wrong = (self.counts < 0) | (self.counts > self.rows) | (self.moves < 0)
        if kinds != [(LEAVES, name) for name in ("int64", "uint64", "int64")] or wrong.any():
            raise damaged(self.path, "its index is inconsistent")
        if stored is not None and stored.blocks[0].bytes != self.rows * _row_size(self.stats.words, self.stats.codes):
            raise damaged(self.path, "its index does not match its rows")

    def span(self, first: int, count: int, into: Buffer) -> NDArray[np.uint8]:
        """Return ``count`` bytes of the rows, beginning at byte ``first``."""
        return self.part.span(self._rows, first, count, into)

    @property
    def leaves(self) -> bytes:
        """The SHA-256 digests (32 bytes each) of the leaves that have rows. Only parts have this section."""
        return self.part.array("digests").tobytes()

    @property
    def entry(self) -> dict[str, Any]:
        """The file's length and digest, as fields of its entry in a record."""
        return {"bytes": self.part.length, "digest": self.part.digest}


class _Coded(threading.local):
    """A buffer for encoded rows. Every thread has a separate buffer."""

    def __init__(self) -> None:
        self.buffer = Buffer()


_coded = _Coded()


# -- reading -------------------------------------------------------------------------------


def open_rows(path: Path, digest: str = "", *, which: str = "") -> RowFile:
    """Open a row file and check its index and, if a digest is given, its digest."""
    return _indexed(open_part(path, _STATS, digest), which)


@lru_cache(maxsize=256)
def _indexed(part: PartFile[Any], which: str) -> RowFile:
    """Read a row file's index. Indexes of the most recently opened files are cached."""
    return RowFile(part, which)


def read_rows(
    file: RowFile, first: int, last: int, *, check: bool = True, into: Buffer | None = None
) -> NDArray[np.uint64]:
    """Return the rows in the leaves from ``first`` up to, but not including, ``last``."""
    width, codes, before = file.stats.words, file.stats.codes, int(file.counts[:first].sum())
    count, each = int(file.counts[first:last].sum()), _row_size(width, codes)
    place, buffer = each * before, Buffer() if into is None else into
    if codes is None:
        rows = file.span(place, each * count, buffer).view("<u8").astype(np.uint64, copy=False).reshape(count, width)
    else:
        rows = buffer.rows(count, width)
        for start in range(0, count, _PIECE_ROWS):
            some = rows[start : start + _PIECE_ROWS]
            coded = file.span(place + each * start, each * len(some), _coded.buffer)
            decode_rows(_code_tables(codes), coded.reshape(len(some), each), codes[3], some)
    if check:
        _check_rows(file, rows, first, last)
    return rows


def _check_rows(file: RowFile, rows: NDArray[np.uint64], first: int, last: int) -> None:
    """Check that rows are sorted by leaf and match the hash sums in the index. Raise an error otherwise."""
    (leaves, _, sums), due = by_leaf(rows), np.arange(first, last, dtype=np.uint16)
    there = np.repeat(due, file.counts[first:last])
    wrong = np.concatenate([there[leaves != there], due[sums[first:last] != file.sums[first:last]]])
    if len(wrong):
        raise damaged(file.path, f"the checksum of the rows of leaf {wrong[0]} is wrong")


def spans(file: RowFile, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of leaves that are small enough to be read in one call. Ranges without rows are skipped."""
    most = READ_BYTES // (8 * file.stats.words)
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
    """Return consecutive ranges of leaves with loads of at most ``most``. A single leaf may exceed this limit."""
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


Index = tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]
"""The index of a row file: counts, hash sums and moves by leaf."""


def put_rows(writer: PartWriter, rows: NDArray[np.uint64], index: Index, which: str = "") -> None:
    """Write rows and their index as sections of a file."""
    writer.put_pieces(f"{which}rows", "uint8", _row_pieces(np.ascontiguousarray(rows), None), checked=False)
    put_index(writer, index, which)


def put_part_rows(writer: PartWriter, rows: NDArray[np.uint64], index: Index, codes: RowCodes | None) -> None:
    """Write the sections of a part: the rows, the SHA-256 of each leaf, and the index."""
    hasher = _LeafHasher(index[0], _row_size(rows.shape[1], codes))
    pieces = map(hasher.fed, _row_pieces(np.ascontiguousarray(rows), codes))
    writer.put_pieces("rows", "uint8", pieces, checked=False)
    writer.put("digests", np.frombuffer(b"".join(hasher.digests), dtype=np.uint8))
    put_index(writer, index)


def put_index(writer: PartWriter, index: Index, which: str = "") -> None:
    """Write an index as sections of a file."""
    for name, array in zip(("counts", "sums", "moves"), index, strict=True):
        writer.put(f"{which}{name}", array)


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
    """A hasher that computes the SHA-256 of each leaf. Leaves are hashed in order, in pieces of any length."""

    def __init__(self, counts: NDArray[np.int64], each: int) -> None:
        self.digests: list[bytes] = []
        self._lengths = [each * count for count in counts.tolist() if count]
        self._left = self._lengths[0] if self._lengths else 0
        self._hash = hashlib.sha256()

    def fed(self, piece: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Hash the next piece, and return it."""
        content = piece.data
        while len(content):
            here = content[: self._left]
            self._hash.update(here)
            content = content[len(here) :]
            self._left -= len(here)
            if not self._left:
                self.digests.append(self._hash.digest())
                self._hash = hashlib.sha256()
                self._left = self._lengths[len(self.digests)] if len(self.digests) < len(self._lengths) else 0
        return piece


# -- sums and digests over files -----------------------------------------------------------


def leaf_counts(files: Iterable[RowFile], first: int = 0, last: int = LEAVES) -> NDArray[np.int64]:
    """Return the number of rows in each leaf (or bin), summed over the files."""
    total = np.zeros(last - first, dtype=np.int64)
    for file in files:
        total += file.counts[first:last]
    return total


def rows_digest(files: Iterable[RowFile]) -> str:
    """Return the digest of a ply's rows. The digest does not depend on how the rows are divided into parts."""
    found = list(files)
    content = hashlib.sha256(leaf_counts(found).astype("<i8").tobytes())
    for file in found:
        content.update(file.leaves)
    return content.hexdigest()


def leaves_digest(files: Iterable[RowFile]) -> str:
    """Return one digest of the row count and hash sum of every leaf, summed over all files."""
    found = list(files)
    sums = np.sum([file.sums for file in found], axis=0, dtype=np.uint64)
    return hashlib.sha256(leaf_counts(found).astype("<i8").tobytes() + sums.astype("<u8").tobytes()).hexdigest()


def leaf_digests(rows: NDArray[np.uint64], counts: NDArray[np.int64], codes: Sequence[int] | None) -> bytes:
    """Return the SHA-256 of each leaf that has rows. Each digest covers the rows in the form that a part stores."""
    hasher = _LeafHasher(counts, _row_size(rows.shape[1], codes))
    for piece in _row_pieces(np.ascontiguousarray(rows), codes):
        hasher.fed(piece)
    return b"".join(hasher.digests)
