"""Working memory of a search: the board, the path that led to it, and statistics about moves.

A `SearchState` belongs to one thread; only its transposition table, marks and history scores may be shared. Python
allocates the arrays and reads the results, and kernels access them through pointers.
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


class SearchCounters:
    """Limits, settings and results of a search, in a record that Python and kernels change in place."""

    flags: int
    """Enabled parts of the search, as a combination of `TRANSPOSITIONS`, `SELECTIVE` and `QUIESCENCE`."""
    generation: int
    """Number of the search, which is stored in entries of the transposition table."""
    table_mask: int
    """Number of words in the transposition table, minus 8."""
    root_moves: int
    """Number of root moves to choose from."""
    before_root: int
    """Number of positions before the root that may recur."""
    limit_ply: int
    """Number of plies, counted from the root, after which the game is drawn."""
    repetition_rule: int
    """Code of the repetition rule, from `tablut.play.search.limits.RECURRENCES`."""
    recurrence: int
    """Score of a recurrence for the side to move at the root, if recurrences count as draws."""
    tablebase: int
    """Address of the directory of tablebase values (`tablut.play.search.table_probing`), or 0 if there are none."""
    tablebase_soldiers: int
    """Largest number of soldiers in a position of the tablebase, or 0 if there is no tablebase."""
    tablebase_hits: int
    """Number of positions whose value came from the tablebase."""
    nodes: int
    """Number of moves made."""
    node_limit: int
    stopped: int
    """1 if a limit or the stop flag has ended the search, 0 otherwise."""
    root_depth: int
    """Depth of the current iteration, in plies."""
    root_move: int
    """Best root move of the iteration, or 0 if no root move has been searched completely."""
    root_score: int
    selective_depth: int
    """Length in plies of the longest line searched."""
    clock_address: int
    """Address of the function that reads the clock (see `tablut.engine.jit`), or 0 if there is none."""
    clock_number: int
    deadline: int
    """Deadline of the search, in nanoseconds of the clock."""
    next_reading: int
    """Number of nodes at which the clock is read next."""
    last_reading: int
    """Time of the last clock reading."""
    longest_gap: int
    """Longest time between two readings of the clock. It shows how long the operating system suspends the thread."""


_COUNTERS: Final = np.dtype([(name, np.int64) for name in SearchCounters.__annotations__], align=True)


# Bits of the flags.
TRANSPOSITIONS: Final = 1
SELECTIVE: Final = 2
"""Flag that enables all pruning, reductions and extensions."""
QUIESCENCE: Final = 4
SHARED: Final = 8
"""Flag of a search by several threads, in which a thread postpones the moves that another thread is searching."""

SEEN: Final = 1 << 12
"""Number of entries in the filter of positions on the path."""
MARKS: Final = 1 << 12
"""Number of entries in the table of the moves that are being searched."""
HISTORY: Final = 1 << 14
"""Number of history scores that each side has, one for each move code."""


class SearchState(NamedTuple):
    """Working memory of a search. P is `MAX_PLY`, N is the size of the board, and C is its number of cells.

    - ``board``, ``root_moves``: Position at the current ply, and the moves to choose from at the root.
    - ``moves``, ``ranks``: Moves at each ply, and the ranks that determine their order.
    - ``threats``: Masks of the places where a move may capture, by ply.
    - ``killers``: Killer moves: for each ply, two moves that refuted a sibling node.
    - ``history``: History scores by side and move, followed by those by side, target cell of the opponent's last move
      and target cell of the reply. A change can get lost if several threads change a score at the same time.
    - ``keys``: Zobrist keys of the positions before the root that may recur, followed by the keys of the path.
    - ``arrivals``: Target cell of the move that led to each ply, or 0 after a null move and at the root.
    - ``reversible``: Number of plies since the last capture, by ply.
    - ``stands``: Static evaluations. The evaluation of ply p is at index p + 2.
    - ``seen``: Number of keys on the path, for each value of their low bits.
    - ``line``, ``line_length``: Principal variation that begins at each ply, and its number of moves.
    - ``reductions``: Reduction in plies of a late move, by depth and by the number of moves searched before it.
    - ``table``: Transposition table (`tablut.play.search.transposition`).
    - ``marks``: Keys of the moves that are being searched, if several threads share the table (`ordering.set_mark`).
    - ``counters``, ``evaluation``: Limits, settings and results; tables of the evaluation.
    - ``time``: Last reading of the clock, as seconds and nanoseconds.
    - ``stop``: Stop flag. Another thread sets it to 1 to end the search.
    """

    board: NDArray[np.uint32]
    root_moves: NDArray[np.int32]
    moves: NDArray[np.int32]
    ranks: NDArray[np.int32]
    threats: NDArray[np.uint32]
    killers: NDArray[np.int32]
    history: NDArray[np.int32]
    keys: NDArray[np.uint64]
    arrivals: NDArray[np.int32]
    reversible: NDArray[np.int64]
    stands: NDArray[np.int64]
    seen: NDArray[np.uint16]
    line: NDArray[np.int32]
    line_length: NDArray[np.int64]
    reductions: NDArray[np.int64]
    table: NDArray[np.uint64]
    marks: NDArray[np.uint64]
    counters: SearchCounters
    time: NDArray[np.int64]
    stop: NDArray[np.int64]
    evaluation: EvaluationTables


def new_state(size: int, table: NDArray[np.uint64], evaluation: EvaluationTables) -> SearchState:
    """Return a new search state for boards of the given size."""
    cells = size * size
    depth, number = np.meshgrid(np.arange(64), np.arange(64), indexing="ij")
    # The reduction grows with the depth and the move number. The constants are common in chess engines.
    reductions = np.log(np.maximum(depth, 1)) * np.log(np.maximum(number, 1)) / 2.0 + 0.5
    return SearchState(
        board=own_lines(len(new_board(size)), new_board(size).dtype),
        root_moves=own_lines(4 * cells, np.int32),
        moves=own_lines(MAX_PLY * 4 * cells, np.int32),
        ranks=own_lines(MAX_PLY * 4 * cells, np.int32),
        threats=own_lines(MAX_PLY * 4 * size, np.uint32),
        killers=own_lines(2 * MAX_PLY, np.int32),
        history=own_lines(2 * HISTORY + 2 * cells * cells, np.int32),
        keys=own_lines(MAX_PLY + 1, np.uint64),
        arrivals=own_lines(MAX_PLY + 1, np.int32),
        reversible=own_lines(MAX_PLY + 1, np.int64),
        stands=own_lines(MAX_PLY + 2, np.int64),
        seen=own_lines(SEEN, np.uint16),
        line=own_lines(MAX_PLY * MAX_PLY, np.int32),
        line_length=own_lines(MAX_PLY + 1, np.int64),
        reductions=reductions.astype(np.int64).ravel(),
        table=table,
        marks=own_lines(MARKS, np.uint64),
        counters=own_lines(1, _COUNTERS).view(np.recarray)[0],
        time=own_lines(2, np.int64),
        stop=own_lines(1, np.int64),
        evaluation=evaluation,
    )


@inlined
def seen_place(key: np.uint64) -> int:
    """Return the index of a key in the filter of positions on the path."""
    return I64(key) & (SEEN - 1)


@inlined
def recurs(state: SearchState, key: np.uint64, ply: int) -> bool:
    """Return whether the position at the given ply has occurred earlier on the path or in the game."""
    if state.seen[seen_place(key)] == 0:
        return False
    here = state.counters.before_root + ply
    # Compare positions at every distance, because a null move can put equal positions an odd number of plies apart.
    found = False
    for back in range(1, I64(state.reversible[ply]) + 1):
        found = found or state.keys[here - back] == key
    return found
