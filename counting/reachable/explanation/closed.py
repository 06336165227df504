"""What no lemma excludes and no game reaches: a set of classes whose predecessors are all excluded or in the set.

Such a set is *closed*: no game enters it, since it would have to come from a position outside, and a lemma excludes
every predecessor that is. The set falls into *layers*: the first are the classes all of whose predecessors a lemma
excludes, the next those that come from these alone, and so on. What is in no layer comes from classes of the set
round and round; there are those that come back to themselves (*recurrent*), and those that only come from such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from counting.reachable.backward import position_keys
from counting.reachable.lemmas import lemmas_for
from tablut.engine import engine_for
from tablut.engine.unmoves import predecessors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

_STEP: Final = 1 << 14
"""Classes whose predecessors are listed together."""


class Predecessors(NamedTuple):
    """Which classes of a set come from which.

    Attributes
    ----------
    sources, targets : ndarray of int64, shape (m,)
        A ply leads from the first class to the second, both in the set; each pair once.
    entered : ndarray of int64
        The classes with a predecessor outside that no lemma excludes; none if the set is closed.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    entered: NDArray[np.int64]


def predecessors_within(variant: Variant, words: NDArray[np.uint64]) -> Predecessors:
    """Return which classes of a set come from which."""
    engine, lemmas, keys = engine_for(variant), lemmas_for(variant), position_keys(words)
    pairs, entered = [], []
    for first in range(0, len(words), _STEP):
        found = predecessors(variant, words[first : first + _STEP])
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
    """How a closed set hangs together, by class.

    Attributes
    ----------
    layer : ndarray of int64, shape (n,)
        The layer of each class, from 1; 0 where it is in none.
    recurrent : ndarray of bool, shape (n,)
        Whether plies can lead from a class back to it.
    component : ndarray of int64, shape (n,)
        The number of the part of the set in which it is; no ply leads from one part to another.
    """

    layer: NDArray[np.int64]
    recurrent: NDArray[np.bool_]
    component: NDArray[np.int64]


def close(size: int, found: Predecessors) -> ClosedSet:
    """Return how a set hangs together; O(classes + pairs) for each layer."""
    layer, number = np.zeros(size, dtype=np.int64), 0
    sources, targets = found.sources, found.targets
    while True:
        free = layer == 0
        free[targets] = False
        if not free.any():
            break
        number += 1
        layer[free] = number
        # A class in a layer hinders no other; its own predecessors are in layers before.
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
