"""The player that searches: `tablut.play.search` behind the protocol of players."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.play.players.options import SHIPPED_TABLE_MIB, read_settings
from tablut.play.players.protocol import Choice
from tablut.play.search.scores import mate_in
from tablut.play.search.searcher import Searcher
from tablut.position import Move
from tablut.prober import find_prober

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.board import Board
    from tablut.play.players.options import PlayerOptions
    from tablut.play.search.limits import SearchLimits
    from tablut.play.search.searcher import Thought
    from tablut.variants import Variant

__all__ = ["AlphaBetaPlayer"]


class AlphaBetaPlayer:
    """Alpha-beta with a transposition table that lasts from move to move.

    Parameters
    ----------
    variant : Variant
        The rule set.
    options : PlayerOptions
        Memory, tablebase and threads; nothing in it is random, but several threads never do quite the same again.

    Raises
    ------
    InputError
        If the tablebase cannot be probed, the memory is too small, or the number of threads out of range.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.players import PlayerOptions
    >>> from tablut.play.search.limits import SearchLimits
    >>> board = Board("ashton-5-4v0")
    >>> player = AlphaBetaPlayer(board.variant, PlayerOptions(hash_mib=1))
    >>> player.choose(board, SearchLimits(nodes=2000)).mate
    3
    """

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
        """Have somebody told what is known after each iteration.

        Parameters
        ----------
        observer : callable or None
            Called by the thread that searches; None for nobody.
        """
        size = self._searcher.variant.size

        def _told(thought: Thought) -> None:
            assert observer is not None
            line = tuple(Move.from_code(code, size) for code in thought.line)
            mate = mate_in(thought.score)
            observer(Choice(line[0], thought.score, mate, thought.depth, thought.nodes, line, thought.tbhits))

        self._searcher.observer = None if observer is None else _told

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the best move found within limits.

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
        found = self._searcher.search(board, limits)
        return Choice(found.move, found.score, found.mate, found.depth, found.nodes, found.pv, found.tbhits)
