"""The player that plays any legal move: an opponent that everyone should beat."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np

from tablut.engine import engine_for
from tablut.play.players.kernels.scoring import FIRST, mark_captures, new_scheme, score_moves
from tablut.play.players.registry import SHIPPED_TABLE_MIB, Setting, read_settings
from tablut.play.search.limits import Choice, moves_asked_about
from tablut.play.search.searcher import Searcher
from tablut.prober import find_prober

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tablut.board import Board
    from tablut.play.players.registry import PlayerOptions
    from tablut.play.search.limits import SearchLimits
    from tablut.position import Move
    from tablut.variants import Variant


class RandomPlayer:
    """Uniformly random moves, the same ones for the same seed."""

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        read_settings("random", options, {})
        self.variant = variant
        self._random = Random(options.seed)

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return any legal move; the limits are kept by doing nothing else."""
        limits.checked()
        move = self._random.choice(moves_asked_about(board, self.variant))
        return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))


# ------------------------------------------------------------------------------------------
# The baseline of the McGill player paper, section II: capture, else run to the corner, else anything


class GreedyPlayer:
    """The greedy player of S. Pilarski, *Designing an Effective Tablut Artificial Intelligence*, section II.

    "If a piece can be captured, capture it. If no piece can be captured, and playing as the
    Swedes move the king towards the nearest corner. Else, perform a random move."

    Chosen where the paper leaves it open: among several captures, or several moves nearest to
    the corner, any is as likely as the others; the king counts as a piece, and taking it is no
    better than taking a soldier, a weakness that section II names; the distance is that along
    rank and file; a king that cannot come nearer leaves the choice to chance. Where
    escapes are not corners, the nearest escape stands for the nearest corner.
    """

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        read_settings("greedy", options, {})
        self.variant = variant
        self._engine = engine_for(variant)
        self._random = Random(options.seed)

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return a move; the limits are kept by looking one ply ahead."""
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
        return min((abs(rank - to_rank) + abs(file - to_file) for to_rank, to_file in escapes), default=0)


# ------------------------------------------------------------------------------------------
# The heuristic player of the McGill paper, section III: the best moves by its scoring scheme, any of them


WIN_FIRST: Final[Mapping[str, Setting]] = {"win": Setting("first", ("first", "table"))}
"""Whether a victory is taken before the table is asked (section III-A), or the table alone decides (III-B)."""


class MoveScores:
    """The scoring scheme of section III-B for one variant."""

    def __init__(self, variant: Variant, *, win_first: bool) -> None:
        self._engine = engine_for(variant)
        self._scheme = new_scheme(variant, FIRST if win_first else 0)
        array = self._engine.start()
        moves = self._engine.legal_moves(array)[:1]
        # Loaded or compiled here, so that no move pays for it.
        score_moves(self._engine.tables, self._scheme, array, moves, np.zeros(len(moves), dtype=np.int64))

    def of(self, board: Board, moves: Sequence[Move]) -> list[int]:
        """Return the score of each of some legal moves."""
        array = self._engine.board(board.position.cells, board.position.side)
        codes = np.array([move.code for move in moves], dtype=np.int32)
        scores = np.zeros(len(moves), dtype=np.int64)
        score_moves(self._engine.tables, self._scheme, array, codes, scores)
        return [int(score) for score in scores]

    def best(self, board: Board, moves: Sequence[Move], margin: int = 0) -> list[Move]:
        """Return the moves that score at most a margin less than the best one."""
        scores = self.of(board, moves)
        least = max(scores) - margin
        return [move for move, score in zip(moves, scores, strict=True) if score >= least]


class HeuristicPlayer:
    """The heuristic player of S. Pilarski, *Designing an Effective Tablut Artificial Intelligence*, section III.

    Every legal move is scored by the table of section III-B (`tablut.play.players.kernels.scoring`
    says how it is read), and one of the best is drawn at random (section VI-A).

    The table gives a white move nothing for winning, but section III-A says that a victory
    path "should be taken": with ``win=first``, the default, it is; ``win=table`` is the table alone.
    """

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        settings = read_settings("heuristic", options, WIN_FIRST)
        self.variant = variant
        self._scores = MoveScores(variant, win_first=settings["win"] == "first")
        self._random = Random(options.seed)

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return one of the moves of the best score; the limits are kept by looking two plies ahead."""
        limits.checked()
        move = self._random.choice(self._scores.best(board, moves_asked_about(board, self.variant)))
        return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))


# -- the player that searches: `tablut.play.search` behind the protocol of players ---------


class AlphaBetaPlayer:
    """Alpha-beta with a transposition table that lasts from move to move."""

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        read_settings("alphabeta", options, {})
        prober = find_prober(variant, options.tablebase)
        # What ships is unpacked at every start, so only what takes no time. A named store gets all it may have.
        most = options.table_mib if options.tablebase is not None else min(options.table_mib, SHIPPED_TABLE_MIB)
        self._searcher = Searcher(
            variant, hash_mib=options.hash_mib, prober=prober, table_mib=most, threads=options.threads
        )

    def stop(self) -> None:
        """End a search that runs in another thread; it answers with what it has."""
        self._searcher.stop()

    def observe(self, observer: Callable[[Choice], None] | None) -> None:
        """Have somebody told what is known after each iteration."""
        self._searcher.observer = observer

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the best move found within limits."""
        return self._searcher.search(board, limits)
