"""Packed positions read without compiled code: a few of them, or their numbers of men; see `tablut.engine.packing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cells_of", "soldier_counts"]


def soldier_counts(words: NDArray[np.uint64], cells: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many attackers and defenders packed positions have, without compiled code.

    Parameters
    ----------
    words : ndarray of uint64, shape (n, W)
        The positions.
    cells : int
        C, cells of the board.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Attackers; defenders, the king not counted.

    Examples
    --------
    >>> counts = soldier_counts(np.array([[0b1_0100_00000_000001_0000_000000011]], dtype=np.uint64), 9)
    >>> [int(count[0]) for count in counts]
    [2, 1]
    """
    found = []
    for start in (0, cells):
        mask = ((1 << cells) - 1) << start
        count = np.zeros(len(words), dtype=np.int64)
        for number in range(words.shape[1]):
            part = (mask >> (64 * number)) & 0xFFFF_FFFF_FFFF_FFFF
            if part:
                count += np.bitwise_count(words[:, number] & np.uint64(part))
        found.append(count)
    return found[0], found[1]


def cells_of(word: NDArray[np.uint64], cells: int) -> tuple[str, str] | None:
    """Return the letters of a packed position's cells and its side to move, without compiled code; O(C).

    Parameters
    ----------
    word : ndarray of uint64, shape (W,)
        The position.
    cells : int
        C, cells of the board.

    Returns
    -------
    (str, str) or None
        One letter a cell, and ``w`` or ``b``; None if two men stand on one cell, or the king on none.

    Examples
    --------
    >>> cells_of(np.array([0b1_0100_000001000_100000001], dtype=np.uint64), 9)
    ('b..wK...b', 'b')
    """
    bits = int.from_bytes(word.astype("<u8").tobytes(), "little")
    width = (cells - 1).bit_length()
    king = (bits >> (2 * cells)) & ((1 << width) - 1)
    letters = ["."] * cells
    if king >= cells:
        return None
    letters[king] = "K"
    for letter, start in (("b", 0), ("w", cells)):
        left = (bits >> start) & ((1 << cells) - 1)
        while left:
            cell = (left & -left).bit_length() - 1
            left &= left - 1
            if letters[cell] != ".":
                return None
            letters[cell] = letter
    return "".join(letters), "b" if (bits >> (2 * cells + width)) & 1 else "w"
