"""The classes of a small board's counted positions, and marks on the classes that games reach.

The tier index (`tablut.indexing.tiers`) numbers every class of counted positions under the symmetries that preserve the
start. Some classes have further numbers, called *aliases*. A complete census marks the entries of reached classes. The
unmarked entries, without the aliases, are the classes that no game reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from counting.reachable.lemmas import lemmas_for
from tablut.engine import engine_for
from tablut.engine.engine import position_keys
from tablut.engine.layout import SIDE_AT, head
from tablut.engine.unmoves import predecessors
from tablut.indexing import PlacementIndex
from tablut.indexing.tier_kernels import rank_boards, unrank_entries
from tablut.indexing.tier_tables import tier_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tablut.variants import Variant

_STEP: Final = 1 << 18
"""Number of entries examined in one batch."""


class Unmarked(NamedTuple):
    """A batch of unmarked classes with the same material.

    Attributes
    ----------
    attackers, defenders : int
        The material.
    boards : ndarray of uint32, shape (n, 2N + 4)
        One position of each class.
    orbits : ndarray of int64, shape (n,)
        Number of positions in each class.
    """

    attackers: int
    defenders: int
    boards: NDArray[np.uint32]
    orbits: NDArray[np.int64]


class ClassMarks:
    """A mark for each class of a variant's counted positions, such as whether the class is already explained."""

    def __init__(self, variant: Variant) -> None:
        self.variant, self.engine = variant, engine_for(variant)
        self._materials = [(tier.attackers, tier.defenders) for tier in PlacementIndex(variant).tiers.values()]
        self._tables = tier_tables(variant, self._materials, self.engine.group)
        sizes = self._tables.tier.size
        self._first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._marked = np.zeros((2, int(self._first[-1])), dtype=np.bool_)
        self.entries = self._marked.size

    def mark(self, boards: NDArray[np.uint32]) -> int:
        """Mark the given positions' classes, and return the number of new marks."""
        tiers, entries = self._rank(boards)
        if (entries < 0).any():
            raise ArithmeticError(f"{self.variant.name}: a position is not in the counted space")
        sides = head(boards)[:, SIDE_AT]
        places = self._first[tiers] + entries
        new = len(places) - int(self._marked[sides, places].sum())
        self._marked[sides, places] = True
        return new

    def unmarked(self) -> Iterator[Unmarked]:
        """Yield the unmarked classes in batches. Each class occurs once."""
        for tier, (attackers, defenders) in enumerate(self._materials):
            for side in range(2):
                marked = self._marked[side, self._first[tier] : self._first[tier + 1]]
                for first in range(0, len(marked), _STEP):
                    entries = first + np.flatnonzero(~marked[first : first + _STEP])
                    boards = np.empty((len(entries), len(self.engine.start())), dtype=np.uint32)
                    unrank_entries(self.engine.tables, self._tables, tier, entries, side, boards)
                    boards = np.ascontiguousarray(boards[self._rank(boards)[1] == entries])
                    if len(boards):
                        orbits = self.engine.orbit_sizes(self.engine.words(boards))
                        yield Unmarked(attackers, defenders, boards, orbits)

    def _rank(self, boards: NDArray[np.uint32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        tiers, entries = np.empty(len(boards), dtype=np.int32), np.empty(len(boards), dtype=np.int64)
        rank_boards(self.engine.tables, self._tables, np.ascontiguousarray(boards), tiers, entries)
        return tiers, entries


# -- the closed set: no lemma excludes its classes, but all their predecessors are excluded or in the set


_STEP_closed: Final = 1 << 14
"""Number of classes whose predecessors are listed in one batch."""


class Predecessors(NamedTuple):
    """The predecessor relation within a set of classes.

    Attributes
    ----------
    sources, targets : ndarray of int64, shape (m,)
        Each pair represents a ply from a class in the set to another class or itself; no pair occurs twice.
    entered : ndarray of int64
        Classes with a predecessor that is not in the set and not excluded by a lemma; empty if the set is closed.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    entered: NDArray[np.int64]


def predecessors_within(variant: Variant, words: NDArray[np.uint64]) -> Predecessors:
    """Return the predecessor relation within a set of classes, and the classes that plies from other classes enter."""
    engine, lemmas, keys = engine_for(variant), lemmas_for(variant), position_keys(words)
    pairs, entered = [], []
    for first in range(0, len(words), _STEP_closed):
        found = predecessors(variant, words[first : first + _STEP_closed])
        before = engine.canonical(found.words)[0]
        places = np.minimum(np.searchsorted(keys, position_keys(before)), len(keys) - 1)
        inside = keys[places] == position_keys(before)
        pairs.append(np.unique(np.stack([places[inside], first + found.sources[inside]]), axis=1))
        outside = np.flatnonzero(~inside)
        free = lemmas.of_boards(engine.boards(before[outside])) == 0
        entered.append(np.unique(first + found.sources[outside[free]]))
    sources, targets = np.concatenate(pairs, axis=1) if pairs else np.empty((2, 0), dtype=np.int64)
    return Predecessors(sources, targets, np.concatenate(entered) if entered else np.empty(0, dtype=np.int64))


class ClosedSet(NamedTuple):
    """The structure of a closed set. Each array has one item per class.

    Attributes
    ----------
    layer : ndarray of int64, shape (n,)
        Each class's layer, counted from 1; 0 if the class belongs to no layer.
    recurrent : ndarray of bool, shape (n,)
        Whether plies can lead from the class back to itself.
    component : ndarray of int64, shape (n,)
        Number of the part of the set that contains the class; no ply leads from one part to another.
    """

    layer: NDArray[np.int64]
    recurrent: NDArray[np.bool_]
    component: NDArray[np.int64]


def close(size: int, found: Predecessors) -> ClosedSet:
    """Return the structure of a closed set. The cost is O(classes + pairs) for each layer."""
    layer, number = np.zeros(size, dtype=np.int64), 0
    sources, targets = found.sources, found.targets
    while True:
        free = layer == 0
        free[targets] = False
        if not free.any():
            break
        number += 1
        layer[free] = number
        # Pairs whose source already has a layer no longer count as predecessors for the next layer.
        open_pairs = layer[sources] == 0
        sources, targets = sources[open_pairs], targets[open_pairs]
    graph = coo_array((np.ones(len(found.sources), dtype=np.int8), (found.sources, found.targets)), shape=(size, size))
    strong = _components(graph, "strong")
    recurrent = np.bincount(strong, minlength=1)[strong] > 1
    recurrent[found.sources[found.sources == found.targets]] = True
    return ClosedSet(layer, recurrent, _components(graph, "weak"))


def _components(graph: Any, connection: str) -> NDArray[np.int64]:
    if graph.shape[0] == 0:
        return np.empty(0, dtype=np.int64)
    return np.asarray(connected_components(graph, connection=connection)[1], dtype=np.int64)
