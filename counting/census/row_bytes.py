"""The bytes of rows as row files hold them: words or codes, in pieces; and the digests of leaves."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.code_kernels import encode_rows
from counting.census.codes import position_codes
from counting.census.memory import room

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from counting.census.codes import CodeTables

PIECE_ROWS: Final = 1 << 18
"""Rows that are coded at once."""


def code_tables(codes: Sequence[int]) -> CodeTables:
    """Return the tables of the codes that a header names."""
    tables: CodeTables = position_codes(*codes[:3])[1]
    return tables


def row_size(words: int, codes: Sequence[int] | None) -> int:
    """Return how many bytes a row takes in a file."""
    return 8 * words if codes is None else code_tables(codes).code_bytes


def row_pieces(rows: NDArray[np.uint64], codes: Sequence[int] | None) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes of rows as they are stored."""
    if codes is None:
        yield rows.astype("<u8", copy=False).reshape(-1).view(np.uint8)
        return
    tables = code_tables(codes)
    for start in range(0, len(rows), PIECE_ROWS):
        some = rows[start : start + PIECE_ROWS]
        flat = room("codes", len(some) * tables.code_bytes)
        encode_rows(tables, some, flat.reshape(len(some), tables.code_bytes))
        yield flat


def leaf_digests(rows: NDArray[np.uint64], counts: NDArray[np.int64], codes: Sequence[int] | None) -> bytes:
    """Return the SHA-256 of each leaf that has rows."""
    hasher = RowHasher(counts, row_size(rows.shape[1], codes))
    for piece in row_pieces(np.ascontiguousarray(rows), codes):
        hasher.feed(piece.data)
    return b"".join(hasher.digests)


class RowHasher:
    """The SHA-256 of the rows of each leaf, fed in the order of leaves in pieces of any length."""

    def __init__(self, counts: NDArray[np.int64], each: int) -> None:
        self.digests: list[bytes] = []
        self._lengths = [each * count for count in counts.tolist() if count]
        self._left = self._lengths[0] if self._lengths else 0
        self._hash = hashlib.sha256()

    def feed(self, content: memoryview) -> None:
        """Take the next bytes."""
        while len(content):
            here = content[: self._left]
            self._hash.update(here)
            content = content[len(here) :]
            self._left -= len(here)
            if not self._left:
                self.digests.append(self._hash.digest())
                self._hash = hashlib.sha256()
                self._left = self._lengths[len(self.digests)] if len(self.digests) < len(self._lengths) else 0
