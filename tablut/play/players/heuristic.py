"""The heuristic player of the McGill paper, section III: the best moves by its scoring scheme, any of them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np

from tablut.engine import engine_for
from tablut.play.players.asked import moves_asked_about
from tablut.play.players.kernels.scoring import FIRST, new_scheme, score_moves
from tablut.play.players.options import Setting, read_settings
from tablut.play.players.protocol import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tablut.board import Board
    from tablut.play.players.options import PlayerOptions
    from tablut.play.search.limits import SearchLimits
    from tablut.position import Move
    from tablut.variants import Variant

__all__ = ["WIN_FIRST", "HeuristicPlayer", "MoveScores"]

WIN_FIRST: Final[Mapping[str, Setting]] = {"win": Setting("first", ("first", "table"))}
"""Whether a victory is taken before the table is asked (section III-A), or the table alone decides (III-B)."""


class MoveScores:
    """The scoring scheme of section III-B for one variant.

    Parameters
    ----------
    variant : Variant
        The rule set.
    win_first : bool
        Whether a victory counts for more than all else.

    Examples
    --------
    >>> from tablut import Board
    >>> board = Board("mcgill", "9/9/9/9/9/9/9/1b7/2K6 w")
    >>> scores = MoveScores(board.variant, win_first=False)
    >>> move = next(move for move in board.legal_moves if str(move) == "c1-i1")
    >>> scores.of(board, [move])
    [5]
    """

    def __init__(self, variant: Variant, *, win_first: bool) -> None:
        self._engine = engine_for(variant)
        self._scheme = new_scheme(variant, FIRST if win_first else 0)
        array = self._engine.start()
        moves = self._engine.legal_moves(array)[:1]
        # Loaded or compiled here, so that no move pays for it.
        score_moves(self._engine.tables, self._scheme, array, moves, np.zeros(len(moves), dtype=np.int64))

    def of(self, board: Board, moves: Sequence[Move]) -> list[int]:
        """Return the score of each of some legal moves.

        Parameters
        ----------
        board : Board
            Undecided.
        moves : sequence of Move
            Legal there.

        Returns
        -------
        list of int
            In the order of the moves.
        """
        array = self._engine.board(board.position.cells, board.position.side)
        codes = np.array([move.code for move in moves], dtype=np.int32)
        scores = np.zeros(len(moves), dtype=np.int64)
        score_moves(self._engine.tables, self._scheme, array, codes, scores)
        return [int(score) for score in scores]

    def best(self, board: Board, moves: Sequence[Move], margin: int = 0) -> list[Move]:
        """Return the moves that score at most a margin less than the best one.

        Parameters
        ----------
        board : Board
            Undecided.
        moves : sequence of Move
            Legal there; at least one.
        margin : int
            In the points of the scheme.

        Returns
        -------
        list of Move
            At least one, in the order given.
        """
        scores = self.of(board, moves)
        least = max(scores) - margin
        return [move for move, score in zip(moves, scores, strict=True) if score >= least]


class HeuristicPlayer:
    """The heuristic player of S. Pilarski, *Designing an Effective Tablut Artificial Intelligence*, section III.

    Every legal move is scored by the table of section III-B (`tablut.play.players.kernels.scoring`
    says how it is read), and one of the best is drawn at random (section VI-A).

    The table gives a white move nothing for winning, but section III-A says that a victory
    path "should be taken": with ``win=first``, the default, it is; ``win=table`` is the table alone.

    Parameters
    ----------
    variant : Variant
        The rule set.
    options : PlayerOptions
        The seed; ``win``.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.players import PlayerOptions
    >>> from tablut.play.search.limits import SearchLimits
    >>> board = Board("mcgill", "9/b8/9/8K/8b/9/9/9/4b4 w")
    >>> str(HeuristicPlayer(board.variant, PlayerOptions()).choose(board, SearchLimits(nodes=1)).move)
    'i6-i9'
    """

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        settings = read_settings("heuristic", options, WIN_FIRST)
        self.variant = variant
        self._scores = MoveScores(variant, win_first=settings["win"] == "first")
        self._random = Random(options.seed)

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return one of the moves of the best score; the limits are kept by looking two plies ahead.

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
        move = self._random.choice(self._scores.best(board, moves_asked_about(board, self.variant)))
        return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))
