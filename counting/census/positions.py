"""What stored positions are, read from their bits in numpy: for `counting.census.verification`.

Shares no kernel with `counting.census.survey` and `counting.census.expansion`, whose results it checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counting.census.expansion import BLACK_WON, DECIDED
from counting.census.survey import COUNTERS
from tablut.engine import engine_for
from tablut.engine.packing import count_children
from tablut.variants.model import king_patterns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symmetry import Symmetry
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
