"""The player that plays any legal move: an opponent that everyone should beat."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tablut.play.players.asked import moves_asked_about
from tablut.play.players.options import read_settings
from tablut.play.players.protocol import Choice

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.play.players.options import PlayerOptions
    from tablut.play.search.limits import SearchLimits
    from tablut.variants import Variant

__all__ = ["RandomPlayer"]


class RandomPlayer:
    """Uniformly random moves, the same ones for the same seed.

    Parameters
    ----------
    variant : Variant
        The rule set.
    options : PlayerOptions
        The seed.
    """

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        read_settings("random", options, {})
        self.variant = variant
        self._random = Random(options.seed)

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return any legal move; the limits are kept by doing nothing else.

        Parameters
        ----------
        board : Board
            The game; not changed.
        limits : SearchLimits
            At least one.

        Returns
        -------
        Choice
            The move, and what there is to say for it.
        """
        limits.checked()
        move = self._random.choice(moves_asked_about(board, self.variant))
        return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))
