"""What a proof search works with: the table, what waits for a tablebase, and a stack of plies.

One `ProofWorkspace` serves one prover and one search at a time. Python allocates it;
kernels see its arrays as pointers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from retrograde.proofs.search.table import WAYS, new_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables


class ProofWorkspace(NamedTuple):
    """The memory of a proof search: C cells, room for P plies, W words a position.

    Attributes
    ----------
    prover : int
        The side that is to win, 0 white or 1 black.
    width : int
        4C, the most moves of a position.
    stride : int
        The columns of `covered`.
    buckets : int
        Of the table.
    table : ndarray of uint64, shape (4 * buckets, W + 2)
        See `retrograde.proofs.search.table`.
    covered : ndarray of uint8, shape (C + 1, C + 1)
        1 where a tablebase knows positions of so many attackers and defenders.
    pending : ndarray of uint64, shape (4C, W)
        Positions whose values the search waits for.
    moves, pns, dns : ndarray of int32, shape (P, 4C)
        By ply: the moves, and the proof and disproof numbers of the positions that they lead to.
    distances : ndarray of int16, shape (P, 4C)
        By ply and move: plies to the win that is proved there, else -1.
    words : ndarray of uint64, shape (P + 1, W)
        By ply: the position.
    counts, chosen, undos : ndarray of int64, shape (P + 1,)
        By ply: how many moves are assessed, which one is searched, the record of it.
    pn_limits, dn_limits : ndarray of int64, shape (P + 1,)
        By ply: the thresholds that end the search of its position.
    began : ndarray of int64, shape (P + 1,)
        By ply: the nodes made before its position was entered.
    killers : ndarray of int64, shape (P + 3,)
        By plies left: the opponent's move that held last.
    scratch : ndarray of int32, shape (12C,)
        Moves of the plies that are searched without a stack.
    counters : ndarray of int64, shape (2,)
        Nodes, which are moves made on the board, and pending positions.
    """

    prover: int
    width: int
    stride: int
    buckets: int
    table: NDArray[np.uint64]
    covered: NDArray[np.uint8]
    pending: NDArray[np.uint64]
    moves: NDArray[np.int32]
    pns: NDArray[np.int32]
    dns: NDArray[np.int32]
    distances: NDArray[np.int16]
    words: NDArray[np.uint64]
    counts: NDArray[np.int64]
    chosen: NDArray[np.int64]
    undos: NDArray[np.int64]
    pn_limits: NDArray[np.int64]
    dn_limits: NDArray[np.int64]
    began: NDArray[np.int64]
    killers: NDArray[np.int64]
    scratch: NDArray[np.int32]
    counters: NDArray[np.int64]


def new_proof_workspace(tables: Tables, prover: int, memory_bytes: int, plies: int = 16) -> ProofWorkspace:
    """Return an empty workspace."""
    cells, words = tables.cells, tables.words
    table = new_table(memory_bytes, words)
    return ProofWorkspace(
        prover=prover,
        width=4 * cells,
        stride=cells + 1,
        buckets=len(table) // WAYS,
        table=table,
        # A position may be given with more soldiers than the start has.
        covered=np.zeros((cells + 1, cells + 1), dtype=np.uint8),
        pending=np.zeros((4 * cells, words), dtype=np.uint64),
        scratch=np.empty(12 * cells, dtype=np.int32),
        counters=np.zeros(2, dtype=np.int64),
        **_stack(cells, words, plies),
    )


def with_room(workspace: ProofWorkspace, plies: int) -> ProofWorkspace:
    """Return a workspace with a stack for a bound: the same one if it is large enough."""
    rows, width = workspace.moves.shape
    if plies < rows:
        return workspace
    return workspace._replace(**_stack(width // 4, workspace.words.shape[1], max(plies, 2 * rows)))


def _stack(cells: int, words: int, plies: int) -> dict[str, Any]:
    """Return the arrays by ply for a bound, by their names in the workspace."""
    by_move: dict[str, Any] = {
        name: np.empty((plies + 1, 4 * cells), dtype=np.int32) for name in ("moves", "pns", "dns")
    }
    names = ("counts", "chosen", "undos", "pn_limits", "dn_limits", "began")
    by_ply = {name: np.zeros(plies + 2, dtype=np.int64) for name in names}
    return {
        **by_move,
        **by_ply,
        "distances": np.empty((plies + 1, 4 * cells), dtype=np.int16),
        "words": np.zeros((plies + 2, words), dtype=np.uint64),
        "killers": np.zeros(plies + 4, dtype=np.int64),
    }
