"""The baseline of the McGill player paper, section II: capture, else run to the corner, else anything."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np

from tablut.engine import engine_for
from tablut.play.players.asked import moves_asked_about
from tablut.play.players.kernels.scoring import mark_captures
from tablut.play.players.options import read_settings
from tablut.play.players.protocol import Choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tablut.board import Board
    from tablut.play.players.options import PlayerOptions
    from tablut.play.search.limits import SearchLimits
    from tablut.position import Move
    from tablut.variants import Variant

__all__ = ["GreedyPlayer"]


class GreedyPlayer:
    """The greedy player of S. Pilarski, *Designing an Effective Tablut Artificial Intelligence*, section II.

    "If a piece can be captured, capture it. If no piece can be captured, and playing as the
    Swedes move the king towards the nearest corner. Else, perform a random move."

    Chosen where the paper leaves it open: among several captures, or several moves nearest to
    the corner, any is as likely as the others; the king counts as a piece, and taking it is no
    better than taking a soldier, a weakness that section II names; the distance is that along
    rank and file; a king that cannot come nearer leaves the choice to chance. Where
    escapes are not corners, the nearest escape stands for the nearest corner.

    Parameters
    ----------
    variant : Variant
        The rule set.
    options : PlayerOptions
        The seed.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.players import PlayerOptions
    >>> from tablut.play.search.limits import SearchLimits
    >>> board = Board("mcgill", "9/9/b8/9/9/K8/9/9/9 w")
    >>> str(GreedyPlayer(board.variant, PlayerOptions()).choose(board, SearchLimits(nodes=1)).move)
    'a4-a1'
    """

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        read_settings("greedy", options, {})
        self.variant = variant
        self._engine = engine_for(variant)
        self._random = Random(options.seed)

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return a move; the limits are kept by looking one ply ahead.

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
        moves = moves_asked_about(board, self.variant)
        wanted = self._captures(board, moves) or self._towards_escape(board, moves) or moves
        move = self._random.choice(wanted)
        return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))

    def _captures(self, board: Board, moves: Sequence[Move]) -> list[Move]:
        array = self._engine.board(board.position.cells, board.position.side)
        codes = np.array([move.code for move in moves], dtype=np.int32)
        takes = np.zeros(len(moves), dtype=np.bool_)
        mark_captures(self._engine.tables, array, codes, takes)
        return [move for move, taking in zip(moves, takes, strict=True) if taking]

    def _towards_escape(self, board: Board, moves: Sequence[Move]) -> list[Move]:
        """Return white's moves of the king that come nearest to an escape, if they come nearer at all."""
        king = board.king()
        nearer = {move: self._distance(move.target) for move in moves if move.start == king}
        least = min(nearer.values(), default=0)
        if king is None or least >= self._distance(king):
            return []
        return [move for move, distance in nearer.items() if distance == least]

    def _distance(self, cell: int) -> int:
        rank, file = divmod(cell, self.variant.size)
        escapes = (divmod(escape, self.variant.size) for escape in self.variant.regions.escapes)
        return min(abs(rank - to_rank) + abs(file - to_file) for to_rank, to_file in escapes)
