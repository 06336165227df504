"""Proof games: from the start to a position, found by a beam search backward (`counting.reachable.beam`)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from counting.reachable.beam import EXHAUSTED, GAVE_UP, BeamTables, find_games, make_room
from counting.reachable.homes import build_homes
from counting.reachable.lemmas import lemmas_for
from counting.reachable.peeling import peeling_for
from tablut.engine.layout import cells_of_moves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

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
