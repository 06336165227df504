"""Rows of some leaves found among others, and children made again: for `counting.census.verification`.

`Engine.expand` and `Engine.canonical` make the children; the census itself uses neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counting.census.buckets import LeafTables, copy_leaves, leaf_sums, mark_known, mark_unique, table_bits
from counting.census.expansion import BLACK_WON, DECIDED
from counting.census.files import read_rows, spans
from counting.census.records import LEAF_BITS
from tablut.rules.outcome import KING_CAPTURED, NO_MOVES_WHITE, UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from counting.census.row_head import RowFile
    from symmetry import Symmetry
    from tablut.engine import Engine

__all__ = ["RowTable", "canonical_children"]

_LEAVES: Final = 1 << LEAF_BITS
_EXPANDED: Final = 1 << 20
"""Children that are made at once, about."""


class RowTable:
    """Rows of some leaves of several files, and how to find them.

    Parameters
    ----------
    files : sequence of RowFile
        Files of one board.
    first, last : int
        The leaves, ``last`` excluded.
    words : int
        Words of a row.

    Attributes
    ----------
    rows : ndarray of uint64, shape (n, W)
        The rows in the order of leaves.
    distinct : int
        How many of them differ.
    marked : ndarray of uint8, shape (n,)
        1 where `mark` has found a row.
    """

    def __init__(self, files: Sequence[RowFile], first: int, last: int, words: int) -> None:
        counts = np.zeros(last - first, dtype=np.int64)
        for file in files:
            counts += file.counts[first:last]
        starts = np.concatenate(([0], np.cumsum(counts)))
        self.rows = np.empty((int(starts[-1]), words), dtype=np.uint64)
        cursors = starts[:-1].copy()
        for file in files:
            for begin, end in spans(file, first, last):
                some = read_rows(file, begin, end)
                copy_leaves(some, file.counts[begin:end], cursors[begin - first : end - first], self.rows)
        bits = table_bits(counts)
        sizes = np.left_shift(1, bits)
        slots = np.zeros(int(sizes.sum()), dtype=np.uint32)
        self._leaves = LeafTables(self.rows, starts, LEAF_BITS, bits, np.cumsum(sizes) - sizes, slots)
        unique, sums = np.empty_like(counts), np.empty(len(counts), dtype=np.uint64)
        self.distinct = int(mark_unique(self._leaves, unique, sums))
        self.marked = np.zeros(len(self.rows), dtype=np.uint8)

    def mark(self, known: NDArray[np.uint64], counts: NDArray[np.int64]) -> int:
        """Mark the rows that are among others.

        Parameters
        ----------
        known : ndarray of uint64, shape (m, W)
            The others, in the order of the same leaves.
        counts : ndarray of int64, shape (leaves,)
            How many of them each leaf has.

        Returns
        -------
        int
            How many of the others are in this table.
        """
        sums: NDArray[Any] = np.empty(len(counts), dtype=np.uint64)
        return int(mark_known(np.ascontiguousarray(known), counts, self._leaves, self.marked, sums))


def canonical_children(
    engine: Engine, group: Sequence[Symmetry], files: Sequence[RowFile], first: int, last: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Yield the canonical children of a ply in some leaves.

    Parameters
    ----------
    engine : Engine
        Of the game.
    group : sequence of Symmetry
        The symmetries under which classes are taken.
    files : sequence of RowFile
        The parts of the ply.
    first, last : int
        The leaves of the children, ``last`` excluded.

    Yields
    ------
    children : ndarray of uint64, shape (n, W)
        Some of them in the order of leaves, marked where they are decided.
    counts : ndarray of int64, shape (last - first,)
        How many of these each leaf has.
    """
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
                leaves = np.empty(len(words), dtype=np.uint16)
                scratch = np.zeros(_LEAVES, dtype=np.int64), np.zeros(_LEAVES, dtype=np.uint64)
                leaf_sums(words, LEAF_BITS, leaves, *scratch)
                inside = np.flatnonzero((leaves >= first) & (leaves < last))
                order = inside[np.argsort(leaves[inside], kind="stable")]
                yield words[order], np.bincount(leaves[order] - first, minlength=last - first).astype(np.int64)
