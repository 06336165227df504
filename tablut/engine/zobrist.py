"""Zobrist keys: one random 64-bit number for each piece on each cell, and one for black to move.

The numbers are the outputs of SplitMix64 [1]_ from a stored seed, so that keys
written to a file keep their meaning: attackers on the cells 0, 1, ..., then
defenders, then the king, then the side. A key is a hash, never an identity.

References
----------
.. [1] G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number
   generators, OOPSLA 2014, https://doi.org/10.1145/2660193.2660195; constants of
   S. Vigna's public-domain ``splitmix64.c``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["SEED", "split_mix", "zobrist_keys"]

SEED: Final = 0x7461626C75743031
"""The ASCII of ``tablut01``; changing it changes every key that was ever stored."""

_MASK: Final = (1 << 64) - 1


def split_mix(seed: int) -> Iterator[int]:
    """Yield the outputs of SplitMix64, 64-bit integers without end.

    Parameters
    ----------
    seed : int
        The state before the first output, 64 bits.

    Yields
    ------
    int
        0 to 2**64 - 1.

    Examples
    --------
    >>> next(split_mix(1234567))  # the first test value of the reference implementation
    6457827717110365317
    """
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & _MASK
        mixed = seed
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        yield mixed ^ (mixed >> 31)


def zobrist_keys(cells: int, seed: int = SEED) -> tuple[NDArray[np.uint64], np.uint64]:
    """Return the keys of pieces on cells, and the key of black to move.

    Parameters
    ----------
    cells : int
        Number of cells of the board.
    seed : int
        Seed of the generator.

    Returns
    -------
    keys : ndarray of uint64, shape (3, cells)
        For attackers, defenders and the king.
    side : numpy.uint64
        Present in the key of every position with black to move.

    Examples
    --------
    >>> keys, side = zobrist_keys(81)
    >>> keys.shape, hex(side)
    ((3, 81), '...')
    """
    stream = split_mix(seed)
    keys = np.array([next(stream) for _ in range(3 * cells)], dtype=np.uint64).reshape(3, cells)
    return keys, np.uint64(next(stream))
