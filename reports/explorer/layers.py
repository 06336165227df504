"""At which ply a position is first reached: the census of a game, as far as it is made in a moment.

A small board is listed completely; of a full game the first plies are. Beyond them the answer is that it is not known.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.board import Board
from tablut.engine import engine_for

if TYPE_CHECKING:
    from tablut.variants import Variant

__all__ = ["Layers", "layers_of"]

WIDEST: Final = 4_000
"""Classes of a ply up to which its children are listed too."""


class Layers(NamedTuple):
    """The first plies of a game."""

    variant: Variant
    plies: dict[bytes, int]
    through: int
    complete: bool

    def ply_of(self, board: Board) -> int | None:
        """Return the ply at which an undecided position is first reached; None if it is not among those listed."""
        engine = engine_for(self.variant)
        words, _ = engine.canonical(engine.words(board))
        return self.plies.get(words[0].tobytes())


@lru_cache(maxsize=16)
def layers_of(variant: Variant) -> Layers:
    """Return the first plies of a game; a second at most."""
    if Board(variant).outcome() is not None:
        return Layers(variant, {}, 0, True)
    engine = engine_for(variant)
    frontier, _ = engine.canonical(engine.words(engine.start()))
    known = {row.tobytes(): 0 for row in frontier}
    ply = 0
    while 0 < len(frontier) <= WIDEST:
        children = engine.expand(frontier)
        words, _ = engine.canonical(children.words[children.outcomes == 0])
        ply += 1
        fresh = []
        for row in np.unique(words, axis=0):
            key = row.tobytes()
            if key not in known:
                known[key] = ply
                fresh.append(row)
        frontier = np.array(fresh, dtype=np.uint64).reshape(len(fresh), frontier.shape[1])
    return Layers(variant, known, ply if len(frontier) else ply - 1, len(frontier) == 0)
