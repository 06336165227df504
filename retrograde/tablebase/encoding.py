"""From the solver's codes to what is stored, chunk by chunk, and from stored codes to values.

A code (`tablut.indexing.values`) is stored as it is, in one byte
where all codes of an array fit, in the order of the index: other orders, differences to
neighbours, and predicting one side to move from the other all pack worse
(``docs/tablebases.md`` has the figures).

Aliases, to which no position is ranked, repeat the code before them, which costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.indexing.values import ALIAS_CODE, value_of_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from retrograde.tablebase.writer import Codes

__all__ = [
    "code_histogram",
    "fill_aliases",
    "pack_bits",
    "slices",
    "unpack_bits",
    "value_table",
]

_STEP = 1 << 18


def slices(length: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive parts.

    Parameters
    ----------
    length : int
        Of the whole.
    step : int
        Of a part, at most.

    Examples
    --------
    >>> list(slices(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, length, step):
        yield start, min(start + step, length)


def code_histogram(codes: Codes) -> dict[int, int]:
    """Return how often each code occurs; aliases are not counted.

    Parameters
    ----------
    codes : ndarray of uint16, shape (n,), or Codes
        Read part by part, so they may come from a file.

    Returns
    -------
    dict of int to int
        By code.

    Examples
    --------
    >>> code_histogram(np.array([3, 0, ALIAS_CODE, 3], dtype=np.uint16))
    {0: 1, 3: 2}
    """
    counts = np.zeros(ALIAS_CODE + 1, dtype=np.int64)
    for start, stop in slices(len(codes), _STEP):
        part = np.bincount(codes[start:stop])
        counts[: len(part)] += part
    return {int(code): int(counts[code]) for code in np.flatnonzero(counts[:ALIAS_CODE])}


def fill_aliases(codes: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return codes in which each alias repeats the code before it, those at the front the first code.

    Parameters
    ----------
    codes : ndarray of uint16, shape (n,)
        The codes.

    Returns
    -------
    ndarray of uint16, shape (n,)
        The same array if there is no alias.

    Examples
    --------
    >>> fill_aliases(np.array([ALIAS_CODE, 3, ALIAS_CODE, 5], dtype=np.uint16)).tolist()
    [3, 3, 3, 5]
    """
    own = codes != ALIAS_CODE
    if own.all():
        return codes
    kept = np.flatnonzero(own)
    if not len(kept):
        return np.zeros_like(codes)
    source = np.zeros(len(codes), dtype=np.int64)
    source[kept] = kept
    np.maximum.accumulate(source, out=source)
    source[: kept[0]] = kept[0]
    return codes[source]


def pack_bits(flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return flags, shape (K, L), as bits, the lowest first, each row filled up to a multiple of 64; shape (K, B).

    Parameters
    ----------
    flags : ndarray of bool, shape (K, L)
        The flags.

    Returns
    -------
    ndarray of uint8, shape (K, B)
        The bits.
    """
    kings, length = flags.shape
    padded = np.zeros((kings, -(-length // 64) * 64), dtype=np.bool_)
    padded[:, :length] = flags
    return np.packbits(padded, axis=1, bitorder="little")


def unpack_bits(packed: NDArray[np.uint8], length: int) -> NDArray[np.bool_]:
    """Return the flags of bits, the inverse of `pack_bits`.

    Parameters
    ----------
    packed : ndarray of uint8, shape (K, B)
        The bits.
    length : int
        L, how many flags a row has.

    Returns
    -------
    ndarray of bool, shape (K, L)
        The flags.

    Examples
    --------
    >>> flags = np.array([[True, False, True]])
    >>> unpack_bits(pack_bits(flags), 3).tolist()
    [[True, False, True]]
    """
    return np.unpackbits(packed, axis=1, bitorder="little", count=length).astype(np.bool_)


def value_table(codes: int, move_limit: int | None = None) -> NDArray[np.int16]:
    """Return the value of each code below ``codes``, see `tablut.indexing.values`.

    Parameters
    ----------
    codes : int
        How many.
    move_limit : int, optional
        Plies of a game; what takes longer is not forced.

    Returns
    -------
    ndarray of int16, shape (codes,)
        The values.

    Examples
    --------
    >>> value_table(6).tolist(), value_table(6, 1).tolist()
    ([0, -1, 1, -2, 2, -3], [0, -1, 1, -2, 0, 0])
    """
    code = np.arange(codes)
    values: NDArray[np.int16] = value_of_code(code).astype(np.int16)
    if move_limit is not None:
        values[(code >> 1) > move_limit] = 0
    return values
