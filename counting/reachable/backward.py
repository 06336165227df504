"""Whole backward trees: all positions from which a position can be reached, if these are few enough to list.

Positions are compared word by word, never by a hash. Where the start is not among them and none was left out but
what a lemma excludes, the position is out of reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counting.reachable.lemmas import lemmas_for
from tablut.engine import engine_for
from tablut.engine.unmoves import predecessors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

MOST_TREE: Final = 300_000
"""Positions of the largest tree that a certificate may claim."""


def backward_tree(variant: Variant, words: NDArray[np.uint64], most: int = MOST_TREE) -> NDArray[np.uint64] | None:
    """Return all positions from which some can be reached, those among them."""
    engine, lemmas = engine_for(variant), lemmas_for(variant)
    start = position_keys(engine.words(engine.start()))
    known = np.unique(position_keys(words))
    front = np.ascontiguousarray(words)
    while True:
        if len(known) > most or np.isin(start, known)[0]:
            return None
        found = np.unique(position_keys(predecessors(variant, front).words))
        found = found[~np.isin(found, known)]
        front = found.view(np.uint64).reshape(len(found), words.shape[1])
        front = np.ascontiguousarray(front[lemmas.of_boards(engine.boards(front)) == 0])
        if not len(front):
            return known.view(np.uint64).reshape(len(known), words.shape[1])
        known = np.union1d(known, position_keys(front))


class BackwardTrees:
    """Backward trees of several positions; what is found in one is not listed again."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self._found: list[NDArray[Any]] = []

    def size(self, words: NDArray[np.uint64]) -> int | None:
        """Return how many positions there are at most from which a position can be reached."""
        key = position_keys(words)
        for known in self._found:
            if np.isin(key, known)[0]:
                return len(known)
        tree = backward_tree(self.variant, words)
        if tree is None:
            return None
        self._found.append(position_keys(tree))
        return len(tree)


def position_keys(words: NDArray[np.uint64]) -> NDArray[Any]:
    """Return positions as one item each, to be sorted and compared."""
    words = np.ascontiguousarray(words)
    if words.shape[1] == 1:
        return words.ravel()
    return words.view([(f"word{place}", np.uint64) for place in range(words.shape[1])]).ravel()
