"""The codes of a tier, unpacked part by part from the files of its slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.slices.blocks import BLOCK
from retrograde.solver.slices.files import read_items
from tablut.indexing.values import ALIAS, ALIAS_CODE, code_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from retrograde.solver.slices.files import SliceFile

_PART = 1 << 16
"""Items that are turned into codes together, so that the cache holds what is in between."""


def to_codes(items: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Turn a solver's items into codes that are to be stored, in their place; see `tablut.indexing.values`."""
    for start in range(0, len(items), _PART):
        part = items[start : start + _PART]
        codes = code_of(part)
        codes[part == ALIAS] = ALIAS_CODE
        part[:] = codes
    return items


class PackedItems:
    """The codes with one side to move; a range of them is unpacked when it is asked for."""

    def __init__(self, files: Sequence[SliceFile], side: str, starts: NDArray[np.int64]) -> None:
        self.files, self.side, self.starts = list(files), side, starts
        self.shape, self.dtype = (int(starts[-1]),), np.dtype(np.uint16)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray[np.uint16]:
        """Return a range of codes, each block verified."""
        start, stop, _ = part.indices(len(self))
        found = np.empty(max(stop - start, 0), dtype=np.uint16)
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        for number in range(first, len(self.files)):
            begin, end = int(self.starts[number]), int(self.starts[number + 1])
            if begin >= stop:
                break
            blocks = np.arange(-(-(end - begin) // BLOCK))
            wanted = (begin + blocks * BLOCK < stop) & (begin + (blocks + 1) * BLOCK > start)
            for at, items in read_items(self.files[number], self.side, wanted):
                low, high = max(begin + at, start), min(begin + at + len(items), stop)
                found[low - start : high - start] = items[low - begin - at : high - begin - at]
        return to_codes(found)
