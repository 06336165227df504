"""Proof games, found by a beam search backward (`counting.reachable.beam`), and whole backward trees.

A backward tree is all positions from which a position can be reached, if these are few enough to list. Positions are
compared word by word, never by a hash. Where the start is not among them and none was left out but what a lemma
excludes, the position is out of reach.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from counting.reachable.beam import EXHAUSTED, GAVE_UP, BeamTables, build_homes, find_games, make_room
from counting.reachable.lemmas import lemmas_for, peeling_for
from tablut.engine import engine_for
from tablut.engine.layout import cells_of_moves
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


# -- proof games -------------------------------------------------------------------------


MOST_PLIES: Final = 1000
"""Longest game that is looked for."""


class Effort(NamedTuple):
    """What one search may cost."""

    width: int
    plies: int
    shake: int = 0


EFFORTS: Final = (
    Effort(4, 160),
    Effort(8, 240),
    Effort(24, 300, 10),
    Effort(24, 300, 30),
    Effort(60, 400, 20),
    Effort(60, 400, 60),
    Effort(100, 600),
    Effort(100, 600, 40),
    Effort(200, 600, 15),
    Effort(200, 800, 100),
    Effort(400, MOST_PLIES, 30),
    Effort(2000, MOST_PLIES),
)
"""One search after the other, until one succeeds."""


class ProofGame(NamedTuple):
    """What the search found for one position."""

    status: str
    moves: tuple[tuple[int, int], ...] = ()


class GameFinder:
    """Proof games of one variant."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        lemmas = lemmas_for(variant)
        self.tables = BeamTables(lemmas.tables, lemmas.origins, lemmas.more, build_homes(variant), peeling_for(variant))

    def find(
        self, boards: NDArray[np.uint32], *, seed: int = 1, efforts: tuple[Effort, ...] = EFFORTS
    ) -> list[ProofGame]:
        """Search for a game to each position, with more effort as long as it is not found."""
        found = [ProofGame("unknown")] * len(boards)
        open_rows = np.arange(len(boards))
        for width, plies, shake in efforts:
            if not len(open_rows):
                break
            room = make_room(self.variant.size, width, plies)
            games = np.empty((len(open_rows), plies), dtype=np.int32)
            lengths = np.empty(len(open_rows), dtype=np.int32)
            asked = np.ascontiguousarray(boards[open_rows])
            find_games(self.tables, room, asked, np.uint64(seed), shake, games, lengths)
            starts, targets = (cells.tolist() for cells in cells_of_moves(games))
            for row, start, target, length in zip(open_rows.tolist(), starts, targets, lengths.tolist(), strict=True):
                if length == EXHAUSTED:
                    found[row] = ProofGame("exhausted")
                elif length != GAVE_UP:
                    found[row] = ProofGame("game", tuple(zip(start[:length], target[:length], strict=True)))
            open_rows = open_rows[lengths == GAVE_UP]
        return found


@lru_cache(maxsize=16)
def finder_for(variant: Variant) -> GameFinder:
    """Return the finder of a variant; the same object for equal variants."""
    return GameFinder(variant)
