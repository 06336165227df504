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

__all__ = ["EFFORTS", "MOST_PLIES", "Effort", "GameFinder", "ProofGame", "finder_for"]

MOST_PLIES: Final = 1000
"""Longest game that is looked for."""


class Effort(NamedTuple):
    """What one search may cost.

    Attributes
    ----------
    width : int
        How many positions of each ply are kept.
    plies : int
        Longest game.
    shake : int
        So many of the first plies are taken back by luck alone, which loosens what is wedged.
    """

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
    """What the search found for one position.

    Attributes
    ----------
    status : {'game', 'exhausted', 'unknown'}
        A game; or a proof that there is none, by the whole backward tree; or neither.
    moves : tuple of (int, int)
        The game's moves, from and to, from the start on.
    """

    status: str
    moves: tuple[tuple[int, int], ...] = ()


class GameFinder:
    """Proof games of one variant.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Examples
    --------
    >>> from tablut.engine import engine_for
    >>> from tablut.variants import load_variant
    >>> variant = load_variant("brandubh-5-4v0")
    >>> engine = engine_for(variant)
    >>> finder = GameFinder(variant)
    >>> finder.find(engine.boards(engine.expand(engine.words(engine.start())).words)[:1])[0].status
    'game'
    """

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        lemmas = lemmas_for(variant)
        self.tables = BeamTables(lemmas.tables, lemmas.origins, lemmas.more, build_homes(variant), peeling_for(variant))

    def find(
        self, boards: NDArray[np.uint32], *, seed: int = 1, efforts: tuple[Effort, ...] = EFFORTS
    ) -> list[ProofGame]:
        """Search for a game to each position, with more effort as long as it is not found.

        Parameters
        ----------
        boards : ndarray of uint32, shape (n, 2N + 4)
            Counted positions, as boards of the engine.
        seed : int
            Of the luck that breaks ties.
        efforts : tuple of Effort
            See `EFFORTS`.

        Returns
        -------
        list of ProofGame
            One for each position.
        """
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
    """Return the finder of a variant; the same object for equal variants.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    GameFinder
        The same object for equal variants.
    """
    return GameFinder(variant)
