"""Rows of some leaves found among others, and children made again: for `counting.census.verification`.

Rows are told apart by sorting, in numpy alone: the census finds duplicates with tables of its own kernels.
`Engine.expand` and `Engine.canonical` make the children; the census itself uses neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.buckets import leaf_sums
from counting.census.expansion import BLACK_WON, DECIDED
from counting.census.files import read_rows, spans
from counting.census.row_head import LEAF_BITS
from tablut.rules.outcome import KING_CAPTURED, NO_MOVES_WHITE, UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from counting.census.row_head import RowFile
    from symmetry import Symmetry
    from tablut.engine import Engine

_LEAVES: Final = 1 << LEAF_BITS
_EXPANDED: Final = 1 << 20
"""Children that are made at once, about."""


def _keys(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number for each row; different rows may have the same, equal ones have."""
    keys = rows[:, 0].copy()
    for column in rows.T[1:]:
        keys *= np.uint64(0xD6E8FEB86659FD93)
        keys ^= keys >> np.uint64(32)
        keys += column
    return keys


class RowTable:
    """Rows of some leaves of several files, in the order of their keys."""

    bytes_beside: Final = 33
    """Bytes of a row at most while the table is made, beside the row twice."""

    def __init__(self, files: Sequence[RowFile], first: int, last: int, words: int) -> None:
        pieces = [read_rows(file, begin, end) for file in files for begin, end in spans(file, first, last)]
        rows = np.concatenate([np.empty((0, words), dtype=np.uint64), *pieces])
        del pieces
        keys = _keys(rows)
        order = np.argsort(keys)
        self.rows, self._sorted = rows[order], keys[order]
        self.marked = np.zeros(len(rows), dtype=np.bool_)

    @property
    def distinct(self) -> int:
        """How many different rows there are: rows of one key are compared whole."""
        same = self._sorted[1:] == self._sorted[:-1]
        suspect = np.zeros(len(self.rows), dtype=np.bool_)
        suspect[1:] |= same
        suspect[:-1] |= same
        return len(self.rows) - int(suspect.sum()) + len(np.unique(self.rows[suspect], axis=0))

    def mark(self, wanted: NDArray[np.uint64]) -> int:
        """Mark the rows that are among others, and return how many of these were found."""
        keys = _keys(wanted)
        order = np.argsort(keys)
        wanted, keys = wanted[order], keys[order]
        at, count = np.searchsorted(self._sorted, keys), 0
        while len(at):
            here = np.flatnonzero(at < len(self.rows))
            here = here[self._sorted[at[here]] == keys[here]]
            same = (self.rows[at[here]] == wanted[here]).all(axis=1)
            self.marked[at[here[same]]] = True
            count += int(same.sum())
            # Another row of this key may come next.
            left = here[~same]
            wanted, keys, at = wanted[left], keys[left], at[left] + 1
        return count


def canonical_children(
    engine: Engine, group: Sequence[Symmetry], files: Sequence[RowFile], first: int, last: int
) -> Iterator[NDArray[np.uint64]]:
    """Yield the canonical children of a ply in some leaves."""
    for file in files:
        step = max(1, _EXPANDED // (4 * engine.tables.cells))
        for begin, end in spans(file, 0, _LEAVES):
            rows = read_rows(file, begin, end)
            rows = rows[(rows[:, -1] >> np.uint64(DECIDED)) == 0]
            for start in range(0, len(rows), step):
                found = engine.expand(rows[start : start + step])
                words = engine.canonical(found.words, group)[0]
                words[:, -1] |= (found.outcomes != UNDECIDED).astype(np.uint64) << np.uint64(DECIDED)
                black = np.isin(found.outcomes, (KING_CAPTURED, NO_MOVES_WHITE)).astype(np.uint64)
                words[:, -1] |= black << np.uint64(BLACK_WON)
                if last - first < _LEAVES:
                    leaves = np.empty(len(words), dtype=np.uint16)
                    leaf_sums(
                        words,
                        LEAF_BITS,
                        leaves,
                        np.zeros(_LEAVES, dtype=np.int64),
                        np.zeros(_LEAVES, dtype=np.uint64),
                    )
                    words = words[(leaves >= first) & (leaves < last)]
                yield words
