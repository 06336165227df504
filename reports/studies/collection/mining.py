"""The deepest puzzles in a tablebase, found by examining all its positions or a random sample of them.

The index of each tier lists the positions, and a `Prober` returns their values. For positions with long enough wins, it
also returns their children's values. No search is needed to find candidates, because the tables show whether exactly
one first move attains the distance. In the end, a `Solver` proves the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reports.studies.collection.making import Made, Making, Wanted, fit
from tablut.engine import Engine, engine_for
from tablut.engine.layout import new_board
from tablut.errors import InputError
from tablut.indexing.placements import PlacementIndex
from tablut.indexing.tier_kernels import unrank_entries
from tablut.indexing.tier_tables import TierTables, tier_tables
from tablut.indexing.values import MISSING
from tablut.position import Position
from tablut.prober import Prober
from tablut.rules.outcome import OUTCOMES
from tablut.variants import VariantLike, as_variant

_SLICE: Final = 1 << 17
"""Number of entries examined in one batch."""
_PARENTS: Final = 1 << 13
"""Number of positions whose children are probed in one batch."""
_POOL: Final = 64
"""Initial number of candidates kept per requested puzzle."""


class _Found(NamedTuple):
    """Positions with exactly one first move that attains the distance, in descending order of the distance.

    Attributes
    ----------
    values : ndarray of int64, shape (n,)
        Plies to the win, in descending order.
    ties : ndarray of uint64, shape (n,)
        Random numbers that order positions with the same value.
    words : ndarray of uint64, shape (n, W)
        The positions.
    """

    values: NDArray[np.int64]
    ties: NDArray[np.uint64]
    words: NDArray[np.uint64]


@dataclass(frozen=True)
class _Mine:
    """The entries to examine: tiers, sides to move, and the size of the random sample if there is one."""

    engine: Engine
    prober: Prober
    tiers: TierTables
    sides: tuple[int, ...]
    plies: tuple[int, int]
    seed: int
    samples: int | None

    def size(self) -> int:
        """Return the number of entries that will be examined."""
        return sum(self._share(number) for number in range(len(self.tiers.tier.size))) * len(self.sides)

    def _share(self, number: int) -> int:
        entries = int(self.tiers.tier.size[number])
        if self.samples is None:
            return entries
        return min(entries, -(-self.samples // (len(self.tiers.tier.size) * len(self.sides))))

    def _entries(self, rng: np.random.Generator) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """Yield tiers, sides to move and entries, in batches: all entries, or a random sample from each tier."""
        for number, entries in enumerate(self.tiers.tier.size.tolist()):
            for side in self.sides:
                share = self._share(number)
                for start in range(0, share, _SLICE):
                    if self.samples is None:
                        yield number, side, np.arange(start, min(start + _SLICE, share), dtype=np.int64)
                    else:
                        yield number, side, rng.integers(entries, size=min(_SLICE, share - start), dtype=np.int64)

    def dig(self, pool: int) -> _Found:
        """Return the deepest candidates, at most ``pool`` of them. Ties are broken at random."""
        rng = np.random.default_rng(self.seed)
        width = self.engine.tables.words
        found = _Found(np.empty(0, np.int64), np.empty(0, np.uint64), np.empty((0, width), np.uint64))
        for number, side, entries in self._entries(rng):
            boards = new_board(self.engine.variant.size, len(entries))
            unrank_entries(self.engine.tables, self.tiers, number, entries, side, boards)
            words = self.engine.words(boards)
            values = self.prober.probe_words(words).astype(np.int64)
            ties = rng.integers(1 << 63, size=len(entries), dtype=np.uint64)
            least = self.plies[0] if len(found.values) < pool else max(self.plies[0], int(found.values[-1]))
            chosen = np.flatnonzero((values != MISSING) & (values >= least) & (values <= self.plies[1]))
            chosen = chosen[self._single(side, words[chosen], values[chosen])]
            if len(chosen):
                found = _best(found, _Found(values[chosen], ties[chosen], words[chosen]), pool)
        return found

    def _single(self, side: int, words: NDArray[np.uint64], values: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the indices of the won positions where exactly one move attains the distance."""
        mover = ("white", "black")[side]
        won = np.array([outcome is not None and outcome.winner == mover for outcome in OUTCOMES])
        attaining = np.zeros(len(words), dtype=np.int64)
        for start in range(0, len(words), _PARENTS):
            part = slice(start, start + _PARENTS)
            children = self.engine.expand(words[part])
            wanted, undecided = values[part][children.parents], children.outcomes == 0
            replies = np.full(len(wanted), MISSING, dtype=np.int64)
            replies[undecided] = self.prober.probe_words(children.words[undecided])
            # A child that is lost in n - 1 plies has the value -n.
            attains = np.where(undecided, replies == -wanted, won[children.outcomes] & (wanted == 1))
            attaining[part] = np.bincount(children.parents[attains], minlength=len(attaining[part]))
        return np.flatnonzero(attaining == 1)


def _best(one: _Found, other: _Found, most: int) -> _Found:
    """Merge two sets of candidates, and return at most ``most`` of the best ones."""
    values, ties, words = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    order = np.lexsort((ties, -values))[:most]
    return _Found(values[order], ties[order], words[order])


def from_tablebase(
    variant: VariantLike,
    prober: Prober,
    wanted: Wanted,
    *,
    samples: int | None = None,
    advanced: Callable[[Made], None] = lambda _: None,
) -> Made:
    """Return the deepest puzzles among the positions that a tablebase covers."""
    variant = as_variant(variant)
    engine = engine_for(variant)
    materials = [
        (tier.attackers, tier.defenders)
        for tier in PlacementIndex(variant).tiers.values()
        if prober.covers(tier.attackers, tier.defenders)
    ]
    if not materials:
        raise InputError("covers no tier", subject=f"tablebase of {variant.name}", remedy="build it with more men")
    sides = (0, 1) if wanted.winner is None else (int(wanted.winner == "black"),)
    mine = _Mine(engine, prober, tier_tables(variant, materials), sides, wanted.plies, wanted.seed, samples)
    pool = _POOL * wanted.number
    while True:
        found, making = mine.dig(pool), Making(variant, wanted, prober)
        making.examined = mine.size()
        for words in found.words:
            cells, side = engine.cells(engine.boards(words[None])[0])
            position = Position(cells, "b" if side == "b" else "w")
            solution = making.solve(position) if fit(variant, position) and not making.done else None
            if solution is not None:
                making.add(solution, f"t{len(making.puzzles)}", f"tablebase, seed {wanted.seed}")
                advanced(making.made)
        # Too few candidates were suitable. If the pool was full, it may have excluded others. Try again with a larger
        # pool.
        if making.done or len(found.values) < pool:
            return making.made
        pool *= 8
