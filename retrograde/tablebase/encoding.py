"""The arrays of a tier: codes as they are stored, and their values.

A code (`tablut.indexing.values`) is stored unchanged, in the order of the index, and in one byte if all codes of the
array fit. Other orders, differences between neighbours, and predicting one side to move from the other all compress
worse (see ``docs/notes/tablebases.md``).

An alias, to which no position is ranked, repeats the previous code, which takes almost no space.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tablut.indexing.values import ALIAS_CODE, value_of_code

_STEP = 1 << 18


class Codes(Protocol):
    """Codes by entry: an array, or an object that returns one for each range of entries."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the codes: ``uint16``."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> NDArray[np.uint16]: ...


def slices(length: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive parts of at most ``step`` items."""
    for start in range(0, length, step):
        yield start, min(start + step, length)


def code_histogram(codes: Codes) -> dict[int, int]:
    """Return the number of occurrences of each code, without aliases."""
    counts = np.zeros(ALIAS_CODE + 1, dtype=np.int64)
    for start, stop in slices(len(codes), _STEP):
        part = np.bincount(codes[start:stop])
        counts[: len(part)] += part
    return {int(code): int(counts[code]) for code in np.flatnonzero(counts[:ALIAS_CODE])}


def fill_aliases(codes: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return the codes with each alias replaced by the previous code. Leading aliases get the first code."""
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


def value_table(codes: int, move_limit: int | None = None) -> NDArray[np.int16]:
    """Return the value of each code below ``codes`` (`tablut.indexing.values`), under a move limit if there is one."""
    code = np.arange(codes)
    values: NDArray[np.int16] = value_of_code(code).astype(np.int16)
    if move_limit is not None:
        values[(code >> 1) > move_limit] = 0
    return values
