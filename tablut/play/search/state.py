"""What a search carries along: the board, the path that led to it, and what it has learnt about moves.

One `SearchState` serves one thread at a time; only the transposition table in it may be
shared. Its arrays are allocated in Python, which also reads the results from them; kernels
see them as pointers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.jit import I64, inlined
from tablut.engine.layout import new_board
from tablut.play.search.evaluation import EvaluationTables
from tablut.play.search.limits import MAX_PLY
from tablut.play.search.transposition import own_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Places in `SearchState.counters`.
NODES: Final = 0
NODE_LIMIT: Final = 1
STOPPED: Final = 2
LIMIT_PLY: Final = 3
"""Plies from the root at which the game is drawn."""
REPETITION_RULE: Final = 4
"""As in `tablut.play.search.limits.RECURRENCES`."""
FLAGS: Final = 5
GENERATION: Final = 6
SELECTIVE_DEPTH: Final = 7
BASE: Final = 8
"""Number of positions of the game before the root that may recur."""
ROOT_DEPTH: Final = 9
ROOT_MOVE: Final = 10
ROOT_SCORE: Final = 11
TABLE_MASK: Final = 12
ROOT_MOVES: Final = 13
"""Number of moves to choose from."""
CLOCK_ADDRESS: Final = 14
"""Where the clock is read, 0 for nowhere; see `tablut.engine.jit`."""
CLOCK_NUMBER: Final = 15
DEADLINE: Final = 16
"""Nanoseconds on that clock."""
NEXT_LOOK: Final = 17
"""Nodes at which the clock is read next."""
SECONDS: Final = 18
"""Here, and in the next one, the clock writes."""
LAST_LOOK: Final = 20
"""When the clock was last read."""
LONGEST_GAP: Final = 21
"""The longest time between two looks: how long the system makes a thread wait."""
TABLES: Final = 22
"""The address of what `tablut.play.search.probing.directory_of` makes, 0 without tables."""
TABLE_SOLDIERS: Final = 23
"""The most soldiers of a position that a table may know; 0 without tables."""
TABLE_HITS: Final = 24
"""Positions that a table has valued."""
RECURRENCE: Final = 25
"""What a position that recurs is worth to the side that moves at the root, where repetition is as good as a draw."""
COUNTERS: Final = 26

# Bits of the flags.
TRANSPOSITIONS: Final = 1
SELECTIVE: Final = 2
"""Whatever may look at fewer moves, or further or less far than the depth says."""
QUIESCENCE: Final = 4

SEEN: Final = 1 << 12
"""Entries of the filter of positions on the path."""
HISTORY: Final = 1 << 14
"""Entries of the history of one side, by move."""


class SearchState(NamedTuple):
    """The memory of a search; P is `MAX_PLY`, N the size and C the cells of the board.

    Attributes
    ----------
    board : ndarray of uint32, shape (2N + 4,)
        The position at the current ply.
    root_moves : ndarray of int32, shape (4C,)
        The moves to choose from.
    moves, ranks : ndarray of int32, shape (P * 4C,)
        The moves of each ply, and by what they are ordered.
    threats : ndarray of uint32, shape (P * 4N,)
        By ply, masks of the places on which a move may capture.
    killers : ndarray of int32, shape (2P,)
        Two moves a ply that refuted a sibling.
    history : ndarray of int32, shape (2 * HISTORY,)
        By side and move, how often it refuted.
    keys : ndarray of uint64
        The positions of the game that may recur, then those of the path.
    reversible : ndarray of int64, shape (P + 1,)
        By ply, how many plies back the last capture lies.
    stands : ndarray of int64, shape (P + 2,)
        By ply, two further on, the estimate.
    seen : ndarray of uint16, shape (SEEN,)
        How many of the keys end in certain bits.
    line : ndarray of int32, shape (P * P,)
        By ply, the principal variation from there.
    line_length : ndarray of int64, shape (P + 1,)
        The number of its moves.
    reductions : ndarray of int64, shape (64 * 64,)
        Plies by which a late move is searched less deep, by depth and number.
    table : ndarray of uint64
        See `tablut.play.search.transposition`.
    counters : ndarray of int64, shape (COUNTERS,)
        Limits and results.
    stop : ndarray of int64, shape (1,)
        Set to 1 from outside to end the search.
    evaluation : EvaluationTables
        By what positions are estimated.
    """

    board: NDArray[np.uint32]
    root_moves: NDArray[np.int32]
    moves: NDArray[np.int32]
    ranks: NDArray[np.int32]
    threats: NDArray[np.uint32]
    killers: NDArray[np.int32]
    history: NDArray[np.int32]
    keys: NDArray[np.uint64]
    reversible: NDArray[np.int64]
    stands: NDArray[np.int64]
    seen: NDArray[np.uint16]
    line: NDArray[np.int32]
    line_length: NDArray[np.int64]
    reductions: NDArray[np.int64]
    table: NDArray[np.uint64]
    counters: NDArray[np.int64]
    stop: NDArray[np.int64]
    evaluation: EvaluationTables


def new_state(size: int, table: NDArray[np.uint64], evaluation: EvaluationTables) -> SearchState:
    """Return a state for boards of a size."""
    cells = size * size
    depth, number = np.meshgrid(np.arange(64), np.arange(64), indexing="ij")
    # Grows with both, as in most engines, with customary constants.
    reductions = np.log(np.maximum(depth, 1)) * np.log(np.maximum(number, 1)) / 2.0 + 0.5
    return SearchState(
        board=own_lines(len(new_board(size)), new_board(size).dtype),
        root_moves=own_lines(4 * cells, np.int32),
        moves=own_lines(MAX_PLY * 4 * cells, np.int32),
        ranks=own_lines(MAX_PLY * 4 * cells, np.int32),
        threats=own_lines(MAX_PLY * 4 * size, np.uint32),
        killers=own_lines(2 * MAX_PLY, np.int32),
        history=own_lines(2 * HISTORY, np.int32),
        keys=own_lines(MAX_PLY + 1, np.uint64),
        reversible=own_lines(MAX_PLY + 1, np.int64),
        stands=own_lines(MAX_PLY + 2, np.int64),
        seen=own_lines(SEEN, np.uint16),
        line=own_lines(MAX_PLY * MAX_PLY, np.int32),
        line_length=own_lines(MAX_PLY + 1, np.int64),
        reductions=reductions.astype(np.int64).ravel(),
        table=table,
        counters=own_lines(COUNTERS, np.int64),
        stop=own_lines(1, np.int64),
        evaluation=evaluation,
    )


@inlined
def seen_place(key: np.uint64) -> int:
    """Return the entry of the filter for a key."""
    return I64(key) & (SEEN - 1)


@inlined
def recurs(s: SearchState, key: np.uint64, ply: int) -> bool:
    """Return whether a position, reached at a ply from the root, occurred earlier on the path or in the game."""
    if s.seen[seen_place(key)] == 0:
        return False
    here = I64(s.counters[BASE]) + ply
    # A null move passes the turn, so that equal positions may be an odd number of plies apart.
    found = False
    for back in range(1, I64(s.reversible[ply]) + 1):
        found = found or s.keys[here - back] == key
    return found
