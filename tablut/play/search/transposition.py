"""Transposition table, which stores results of the search under the Zobrist key of the position.

A bucket fills one cache line and has four entries of two words: the key XORed with the data, and the data. All 64 bits
of the key are compared. Since a key is only a hash, a stored move is checked for legality before it is made. Threads
read and write a table without locks. If an entry mixes words of two threads, its XOR is neither key, so the entry is
not found (R. Hyatt, T. Mann, A lock-less transposition-table implementation for parallel search, ICGA Journal 25 (2002)
36-39).

The data consist of these fields, from the lowest bit, with their widths: move (14), score + 2**15 (16), depth (8),
bound (2), generation (8), evaluation + 2**15 (16). Scores of won and lost positions count plies from the position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tablut.engine.jit import I64, U64, advance, inlined, read_word, write_word
from tablut.errors import SOME
from tablut.work.machine import check_memory

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

NONE: Final = 0
UPPER: Final = 1
LOWER: Final = 2
EXACT: Final = 3

_WAYS: Final = 4
_OFFSET: Final = 1 << 15
_LINE: Final = 128
"""Size in bytes of two cache lines, which processors fetch together."""


class Entry(NamedTuple):
    """Data stored for a position, without the key. Only kernels create entries."""

    move: int
    score: int
    depth: int
    bound: int
    generation: int
    evaluation: int


def own_lines(items: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros that shares no cache line with other memory, to avoid false sharing between threads."""
    memory = np.zeros(items * np.dtype(dtype).itemsize + 2 * _LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % _LINE
    return memory[begin : begin + items * np.dtype(dtype).itemsize].view(dtype)


def empty_table(mebibytes: int) -> NDArray[np.uint64]:
    """Return an empty table that is aligned to cache lines and has at most the given size in MiB."""
    check_memory("hash_mib", mebibytes := SOME("hash_mib", mebibytes))
    return own_lines(1 << ((mebibytes << 17).bit_length() - 1), np.uint64)


@inlined
def _bucket_of(key: np.uint64, mask: int) -> int:
    """Return the index of the first word in a key's bucket. ``mask`` is the number of words minus 8."""
    return I64(key << U64(3)) & mask


@inlined
def look_up(table: NDArray[np.uint64], mask: int, key: np.uint64) -> np.uint64:
    """Return the data stored for a key, or 0 if the key is not in the table."""
    bucket = advance(table, _bucket_of(key, mask))
    for way in range(_WAYS):
        data = read_word(advance(bucket, I64(2 * way + 1)))
        if read_word(advance(bucket, I64(2 * way))) ^ data == key:
            return data
    return U64(0)


@inlined
def move_of(data: np.uint64) -> int:
    """Return an entry's move."""
    return I64(data) & 0x3FFF


@inlined
def score_of(data: np.uint64) -> int:
    """Return an entry's score."""
    return ((I64(data) >> 14) & 0xFFFF) - _OFFSET


@inlined
def depth_of(data: np.uint64) -> int:
    """Return an entry's depth."""
    return (I64(data) >> 30) & 0xFF


@inlined
def bound_of(data: np.uint64) -> int:
    """Return an entry's bound: `UPPER`, `LOWER` or `EXACT`."""
    return (I64(data) >> 38) & 3


@inlined
def generation_of(data: np.uint64) -> int:
    """Return the number, modulo 256, of the search that stored an entry."""
    return (I64(data) >> 40) & 0xFF


@inlined
def evaluation_of(data: np.uint64) -> int:
    """Return an entry's evaluation, for the side to move."""
    return ((I64(data) >> 48) & 0xFFFF) - _OFFSET


@inlined
def store(table: NDArray[np.uint64], mask: int, key: np.uint64, entry: Entry) -> None:
    """Store an entry.

    It replaces the entry for the same position, if there is one, and otherwise the least valuable entry in the bucket:
    an empty entry, or one with a small depth or an old generation.
    """
    bucket = advance(table, _bucket_of(key, mask))
    move = entry.move
    place, worst = I64(0), I64(1 << 40)
    for way in range(_WAYS):
        here = I64(2 * way)
        data = read_word(advance(bucket, here + 1))
        if read_word(advance(bucket, here)) ^ data == key:
            place = here
            if move == 0:
                move = move_of(data)
            break
        worth = depth_of(data) - 8 * ((entry.generation - generation_of(data)) & 0xFF)
        if data == U64(0):
            worth = I64(-(1 << 40))
        if worth < worst:
            place, worst = here, worth
    packed = move | ((entry.score + _OFFSET) << 14) | (entry.depth << 30) | (entry.bound << 38)
    data = U64(packed | (entry.generation << 40)) | (U64(entry.evaluation + _OFFSET) << U64(48))
    write_word(advance(bucket, place), key ^ data)
    write_word(advance(bucket, place + 1), data)
