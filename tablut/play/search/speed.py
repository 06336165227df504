"""How fast search goes on this machine, for ``tablut bench``."""

from __future__ import annotations

from tablut.board import Board
from tablut.compilation import cpu_clock
from tablut.play.search.limits import SearchLimits
from tablut.play.search.searcher import Searcher

__all__ = ["search_nps"]

_NODES = 4_000_000


def search_nps() -> float:
    """Return nodes searched per CPU second of one thread, the best of three, from ashton's start.

    A node is a move made on the board and judged, in quiescence as anywhere else. Each
    run starts with an empty transposition table of 64 MiB.

    Returns
    -------
    float
        Nodes a CPU second.
    """
    board = Board("ashton")
    searcher = Searcher(board.variant)
    best = 0.0
    for _ in range(3):
        searcher.forget()
        started = cpu_clock()
        result = searcher.search(board, SearchLimits(nodes=_NODES))
        best = max(best, result.nodes / (cpu_clock() - started))
    return best
