"""Pieces of packed positions, as arrays of booleans, without compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablut.variants import Variant


class Pieces(NamedTuple):
    """Pieces of n packed positions on boards of C cells.

    Attributes
    ----------
    black, white : ndarray of bool, shape (n, C)
        Cells of the attackers and of the defenders.
    king : ndarray of int64, shape (n,)
        Cell of the king.
    black_moves : ndarray of bool, shape (n,)
        Whether black is to move.
    possible : ndarray of bool, shape (n,)
        Whether the words stand for a position that can be played on: no two pieces share a cell, and each stands where
        the rules allow it. The king's cell of other words is 0.
    """

    black: NDArray[np.bool_]
    white: NDArray[np.bool_]
    king: NDArray[np.int64]
    black_moves: NDArray[np.bool_]
    possible: NDArray[np.bool_]


def pieces_of(variant: Variant, words: NDArray[np.uint64]) -> Pieces:
    """Return the pieces of packed positions, which may be arbitrary numbers (see `tablut.engine.packing`)."""
    regions, cells, every = variant.regions, variant.size**2, np.arange(len(words))
    width = (cells - 1).bit_length()
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
    black, white, rest = bits[:, :cells], bits[:, cells : 2 * cells], bits[:, 2 * cells :]
    king = rest[:, :width] @ (1 << np.arange(width))
    possible = (king < cells) & ~rest[:, width + 1 :].any(axis=1) & ~(black & white).any(axis=1)
    king = np.where(possible, king, 0)
    barred, camps = np.zeros((2, cells), dtype=np.bool_)
    barred[[*regions.castles, *regions.royal_corners]] = True
    camps[[cell for camp in regions.camps for cell in camp.cells]] = True
    soldiers = black | white
    possible &= ~soldiers[every, king] & ~camps[king] & ~(soldiers & barred | white & camps).any(axis=1)
    return Pieces(black, white, king, rest[:, width], possible)
