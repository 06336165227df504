"""What stored positions are, read from their bits in numpy: for `counting.census.verification`.

Shares no kernel with `counting.census.toolbox` and `counting.census.expansion`, whose results it checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.buckets import LEAF_BITS, leaf_sums
from counting.census.expansion import BLACK_WON, DECIDED
from counting.census.rows import read_rows, spans
from counting.census.toolbox import COUNTERS
from tablut.engine import engine_for
from tablut.engine.packing import count_children
from tablut.rules.outcome import KING_CAPTURED, NO_MOVES_WHITE, UNDECIDED
from tablut.variants.model import king_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from counting.census.rows import RowFile
    from symmetry import Symmetry
    from tablut.engine import Engine
    from tablut.variants import Variant

_STEP = 1 << 15
"""Rows that are unpacked at once."""


class Inspector:
    """Adds up what canonical positions are, and counts the impossible ones."""

    def __init__(self, variant: Variant, group: Sequence[Symmetry]) -> None:
        self.variant, self.group, self.engine = variant, tuple(group), engine_for(variant)
        regions, cells = variant.regions, variant.size**2
        self.cells, self.king_bits = cells, (cells - 1).bit_length()
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.material = np.zeros((2, variant.attackers + 1, variant.defenders + 1), dtype=np.int64)
        self.class_moves = 0

        def mask(some: frozenset[int]) -> NDArray[np.bool_]:
            return np.isin(np.arange(cells), sorted(some))

        self._kings, self._escapes = mask(regions.king_cells), mask(regions.escapes)
        self._black, self._white = mask(regions.free_cells | regions.camp_cells), mask(regions.free_cells)
        self._patterns = {
            king: [sorted(pattern.attackers) for pattern in king_patterns(variant, king)]
            for king in sorted(regions.king_cells)
        }

    def inspect(self, rows: NDArray[np.uint64]) -> tuple[int, int]:
        """Add positions."""
        not_canonical = impossible = 0
        for start in range(0, len(rows), _STEP):
            wrong, out = self._inspect(rows[start : start + _STEP])
            not_canonical += wrong
            impossible += out
        return not_canonical, impossible

    def _inspect(self, rows: NDArray[np.uint64]) -> tuple[int, int]:
        words = rows.copy()
        words[:, -1] &= np.uint64((1 << BLACK_WON) - 1)
        flags = rows[:, -1] >> np.uint64(BLACK_WON)
        decided, black_won = (flags >> np.uint64(DECIDED - BLACK_WON)) == 1, flags == 3
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
        used = 2 * self.cells + self.king_bits + 1
        black, white = bits[:, : self.cells], bits[:, self.cells : 2 * self.cells]
        king = bits[:, 2 * self.cells : used - 1] @ (1 << np.arange(self.king_bits))
        sound = ~bits[:, used:].any(axis=1) & (king < self.cells) & (flags != 1)
        sound &= ~(black & white).any(axis=1)
        king = np.where(king < self.cells, king, 0)
        sound &= ~(black | white)[np.arange(len(rows)), king]
        if not sound.all():
            return 0, int((~sound).sum())  # the kernels below ask for well-formed positions
        weights = self.engine.orbit_sizes(words, self.group)
        canonical = (self.engine.canonical(words, self.group)[0] == words).all(axis=1)
        attackers, defenders = black.sum(axis=1), white.sum(axis=1)
        moves = np.zeros(len(rows), dtype=np.int64)
        open_rows = np.flatnonzero(~decided)
        counts = np.empty(len(open_rows), dtype=np.int64)
        count_children(self.engine.tables, np.ascontiguousarray(words[open_rows]), counts)
        moves[open_rows] = counts
        stray = (black & ~self._black).any(axis=1) | (white & ~self._white).any(axis=1)
        outside = stray | ~self._kings[king] | (attackers < 1)
        outside |= (attackers > self.variant.attackers) | (defenders > self.variant.defenders)
        self._add("new", ~decided, weights)
        self._add("decided", decided, weights)
        self._add("black_wins", black_won, weights)
        self._add("immobile", ~decided & (moves == 0), weights)
        self._add("outside", ~decided & outside, weights)
        self.counters["moves"] += int((weights * moves).sum())
        self.class_moves += int(moves.sum())
        inside = ~decided & ~outside
        np.add.at(self.material[0], (attackers[inside], defenders[inside]), weights[inside])
        np.add.at(self.material[1], (attackers[inside], defenders[inside]), 1)
        possible = np.where(decided, self._won(words, black, king, attackers, black_won), ~outside)
        return int((~canonical).sum()), int((~possible).sum())

    def _add(self, name: str, which: NDArray[np.bool_], weights: NDArray[np.int64]) -> None:
        self.counters[name] += int(weights[which].sum())
        if f"{name}_classes" in self.counters:
            self.counters[f"{name}_classes"] += int(which.sum())

    def _won(
        self,
        words: NDArray[np.uint64],
        black: NDArray[np.bool_],
        king: NDArray[np.int64],
        attackers: NDArray[np.int64],
        black_won: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Return whether a placement can have decided the game for the side that is marked."""
        held = np.zeros(len(words), dtype=np.bool_)
        for cell, patterns in self._patterns.items():
            here = king == cell
            for pattern in patterns:
                held |= here & black[:, pattern].all(axis=1)
        escaped = self._escapes[king] | (attackers == 0)
        if self.variant.rules.no_moves == "either_after_ply":
            held |= self._immobile(words, 0)
            escaped |= self._immobile(words, 1)
        return np.where(black_won, held, escaped)

    def _immobile(self, words: NDArray[np.uint64], side: int) -> NDArray[np.bool_]:
        """Return whether a side (0 white, 1 black) has no move."""
        place = 2 * self.cells + self.king_bits
        turned = words.copy()
        bit = np.uint64(1 << (place & 63))
        turned[:, place >> 6] &= ~bit
        if side:
            turned[:, place >> 6] |= bit
        counts = np.empty(len(turned), dtype=np.int64)
        count_children(self.engine.tables, turned, counts)
        return np.asarray(counts == 0)


# -- rows of some leaves found among others, and children made again: for `counting.census.verification`


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
