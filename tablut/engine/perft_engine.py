"""`PerftEngine`: how many move sequences there are from a board, counted or applied, by one thread or several."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.board_engine import BoardEngine
from tablut.engine.perft import LEAF_COUNTERS, perft_applied, perft_counted
from tablut.engine.perft_cache import PerftCache, perft_cached
from tablut.errors import InputError
from tablut.rules.outcome import OUTCOMES, Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LeafStatistics", "PerftEngine"]

_ROW = 64
"""Items from one board to the next where threads write to them: 256 bytes, more than twice a board."""


class LeafStatistics(NamedTuple):
    """What the last plies of an applied perft did.

    Attributes
    ----------
    nodes : int
        Number of move sequences.
    captured : int
        Soldiers captured by the last plies.
    key_sum : int
        Sum modulo 2**64 of the Zobrist keys after the last plies.
    outcomes : dict
        Number of sequences by the outcome of the last ply; only what occurred.
    """

    nodes: int
    captured: int
    key_sum: int
    outcomes: dict[Outcome | None, int]


class PerftEngine(BoardEngine):
    """What `tablut.engine.Engine` counts.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> engine = PerftEngine(load_variant("ashton-5-4v0"))
    >>> sum(engine.divide(engine.start(), 3).values()) == engine.perft(engine.start(), 3)
    True
    """

    def perft(self, board: NDArray[np.uint32], depth: int, *, threads: int = 1, cache_bytes: int = 0) -> int:
        """Return the number of sequences of exactly ``depth`` plies from an undecided position; the last is counted.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            Not changed.
        depth : int
            Number of plies, at least 0.
        threads : int
            Number of threads, among which the first moves are divided.
        cache_bytes : int
            Memory in which positions that recur are remembered; none by default. The
            number is the same; only one thread uses it.

        Returns
        -------
        int
            Exact; 1 for depth 0.

        Raises
        ------
        InputError
            If a cache is asked for together with several threads, or is too small.
        """
        if cache_bytes and depth:
            if threads > 1:
                raise InputError("perft cache: is used by one thread; leave out the cache or the threads")
            cache = PerftCache(cache_bytes, self.tables.words)
            return int(perft_cached(self.tables, board.copy(), depth, cache.positions, cache.depths, cache.counts))
        if depth < 2 or threads < 2:
            return int(perft_counted(self.tables, board.copy(), depth)) if depth else 1
        return sum(self.divide(board, depth, threads=threads).values())

    def perft_applied(self, board: NDArray[np.uint32], depth: int, *, threads: int = 1) -> LeafStatistics:
        """Return what `perft` counts, with every last move made, and what these moves did.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            Undecided; not changed.
        depth : int
            Number of plies, at least 1.
        threads : int
            Number of threads, among which the first moves are divided.

        Returns
        -------
        LeafStatistics
            The number of sequences with the captures, keys and outcomes of their last plies.

        Raises
        ------
        InputError
            If the depth is below 1.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> engine = PerftEngine(load_variant("ashton-5-4v0"))
        >>> engine.perft_applied(engine.start(), 4).outcomes
        {None: 2624, Outcome(termination='king_captured', winner='black'): 24}
        """
        if depth < 1:
            raise InputError(f"depth {depth}: an applied perft has at least one ply")
        roots = [board.copy()]
        if threads > 1 and depth > 1:
            roots, depth = [child for child, outcome in self._children(board) if not outcome], depth - 1

        def _task(root: NDArray[np.uint32]) -> tuple[int, NDArray[np.uint64]]:
            counters = np.zeros(_ROW, dtype=np.uint64)[:LEAF_COUNTERS]
            return int(perft_applied(self.tables, root, depth, counters)), counters

        with ThreadPoolExecutor(max_workers=threads) as pool:
            results = list(pool.map(_task, roots))
        counters = np.zeros(LEAF_COUNTERS, dtype=np.uint64)
        for _, share in results:
            counters += share
        outcomes = {outcome: int(leaves) for outcome, leaves in zip(OUTCOMES, counters[2:], strict=True) if leaves}
        return LeafStatistics(sum(nodes for nodes, _ in results), int(counters[0]), int(counters[1]), outcomes)

    def divide(self, board: NDArray[np.uint32], depth: int, *, threads: int = 1) -> dict[int, int]:
        """Return the share of each first move in `perft`.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            Undecided; not changed.
        depth : int
            Number of plies, at least 1.
        threads : int
            Number of threads, among which the first moves are divided.

        Returns
        -------
        dict of int to int
            The number of sequences by first move, ``start | target << 7``.
        """
        moves = self.legal_moves(board)
        children = self._children(board)

        def _task(child: tuple[NDArray[np.uint32], int]) -> int:
            if depth == 1:
                return 1
            return 0 if child[1] else int(perft_counted(self.tables, child[0], depth - 1))

        with ThreadPoolExecutor(max_workers=threads) as pool:
            return {int(move): nodes for move, nodes in zip(moves, pool.map(_task, children), strict=True)}

    def _children(self, board: NDArray[np.uint32]) -> list[tuple[NDArray[np.uint32], int]]:
        moves = self.legal_moves(board)
        # Rows far apart: threads that write to neighbouring boards must not share a cache line.
        rows = np.zeros((len(moves), _ROW), dtype=np.uint32)
        found = []
        for row, move in zip(rows, moves, strict=True):
            child = row[: len(board)]
            child[:] = board
            _, outcome = self.make(child, int(move))
            found.append((child, outcome))
        return found
