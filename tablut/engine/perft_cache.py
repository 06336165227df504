"""perft with a memory: a position reached by several move orders is counted once.

The table is direct-mapped: a hash of the packed position and the remaining depth
chooses the slot, and the slot holds the position itself, so that a hit is exact. A
newer entry replaces an older one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer
from tablut.engine.kernels import count_moves, generate, make, unmake
from tablut.engine.layout import side_of
from tablut.engine.packing import pack
from tablut.engine.records import flat
from tablut.errors import InputError
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["PerftCache", "perft_cached"]


class PerftCache:
    """The table of `perft_cached`, of a fixed size and for one variant.

    Parameters
    ----------
    size_bytes : int
        Memory to use, at most; at least one slot's worth.
    words : int
        Words of a packed position.

    Attributes
    ----------
    positions : ndarray of uint64, shape (slots, words)
        The position in each slot.
    depths : ndarray of uint8, shape (slots,)
        The number of plies that its count is for; 0 marks an empty slot.
    counts : ndarray of int64, shape (slots,)
        The number of sequences.

    Raises
    ------
    InputError
        If the memory does not hold a single slot.

    Examples
    --------
    >>> len(PerftCache(1 << 20, words=3).counts)
    31775
    """

    def __init__(self, size_bytes: int, words: int) -> None:
        slots = size_bytes // (8 * words + 9)
        if slots < 1:
            raise InputError(f"perft cache of {size_bytes} bytes: too small for one position")
        self.positions = np.zeros((slots, words), dtype=np.uint64)
        self.depths = np.zeros(slots, dtype=np.uint8)
        self.counts = np.zeros(slots, dtype=np.int64)


@inlined
def _slot_of(words: NDArray[np.uint64], count: int, remaining: int, slots: int) -> int:
    """Return the slot of a packed position with a remaining depth."""
    # The finaliser of splitmix64, word by word: every bit of every word moves every bit of the hash.
    value = U64(remaining)
    for word in range(count):
        value ^= words[word]
        value = (value ^ (value >> U64(30))) * U64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> U64(27))) * U64(0x94D049BB133111EB)
        value ^= value >> U64(31)
    return I64(value % U64(slots))


@kernel
def perft_cached(
    tables: Tables,
    board_array: NDArray[np.uint32],
    depth: int,
    positions: NDArray[np.uint64],
    depths: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> int:
    """Return what `tablut.engine.perft.perft_counted` does, using and filling a table.

    Parameters
    ----------
    tables : Tables
        The variant.
    board_array : ndarray of uint32, shape (2N + 4,)
        An undecided position; as before on return.
    depth : int
        Number of plies, 1 to 255.
    positions, depths, counts : ndarray
        Of a `PerftCache`.

    Returns
    -------
    int
        Exact.
    """
    t, board = flat(tables), pointer(board_array)
    if depth == 1:
        return count_moves(t, board, side_of(t, board))
    width, slots = 4 * t.cells, len(counts)
    moves_array = np.empty(depth * width, dtype=np.int32)
    words_array = np.zeros(depth * t.words, dtype=np.uint64)
    moves, words = pointer(moves_array), pointer(words_array)
    ends = np.zeros(depth, dtype=np.int64)
    nexts = np.zeros(depth, dtype=np.int64)
    undos = np.zeros(depth, dtype=np.int64)
    places = np.zeros(depth, dtype=np.int64)
    totals = np.zeros(depth, dtype=np.int64)
    ply = 0
    entering = True
    while True:
        done = False
        if entering:
            entering = False
            own = advance(words, ply * t.words)
            pack(t, board, own)
            place = _slot_of(own, t.words, depth - ply, slots)
            known = depths[place] == depth - ply
            for word in range(t.words):
                known = known and positions[place, word] == own[word]
            if known:
                totals[ply] = counts[place]
                done = True
            else:
                places[ply] = place
                totals[ply] = 0
                nexts[ply] = 0
                ends[ply] = generate(t, board, advance(moves, ply * width))
        elif nexts[ply] == ends[ply]:
            place = places[ply]
            for word in range(t.words):
                positions[place, word] = words[ply * t.words + word]
            depths[place] = depth - ply
            counts[place] = totals[ply]
            done = True
        if done:
            if ply == 0:
                keep(moves_array)
                keep(words_array)
                return totals[0]
            ply -= 1
            totals[ply] += totals[ply + 1]
            unmake(t, board, undos[ply])
            continue
        if nexts[ply] == ends[ply]:
            continue
        undo, outcome = make(t, board, I64(moves[ply * width + nexts[ply]]))
        nexts[ply] += 1
        if outcome == UNDECIDED and ply < depth - 2:
            undos[ply] = undo
            ply += 1
            entering = True
            continue
        if outcome == UNDECIDED:
            totals[ply] += count_moves(t, board, side_of(t, board))
        unmake(t, board, undo)
