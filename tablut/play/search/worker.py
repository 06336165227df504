"""The class `Worker`, which contains the search state of one thread and runs its iterations.

The workers of a search share only the transposition table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.play.search import state as at
from tablut.play.search.limits import MATE, MAX_PLY, PROVEN
from tablut.play.search.tree import search_root

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine import Engine
    from tablut.play.search.evaluation import EvaluationTables
    from tablut.play.search.probing import Directory

_INFINITE: Final = MATE + 1
UNLIMITED: Final = 1 << 62
"""Number that is larger than any count of nodes or plies."""
_WINDOW: Final = 40
"""Half of the width of the first aspiration window, in centi-logits."""


class Root(NamedTuple):
    """Root position of a search in the engine's representation. N is the size of the board.

    Attributes
    ----------
    array : ndarray of uint32, shape (2N + 4,)
        Board of an undecided position.
    moves : list of int
        One or more moves to choose from, encoded as ``from | to << 7``.
    past : list of int
        Zobrist keys of the earlier positions of the game that may recur, oldest first.
    plies : int
        Number of plies played in the game so far.
    """

    array: NDArray[np.uint32]
    moves: list[int]
    past: list[int]
    plies: int


class Conditions(NamedTuple):
    """Settings of a search that are the same for every worker."""

    flags: int
    generation: int
    repetition: int
    recurrence: int
    plies_left: int


class Worker:
    """Search state of one thread, with methods that run its iterations."""

    def __init__(
        self,
        engine: Engine,
        size: int,
        table: NDArray[np.uint64],
        evaluation: EvaluationTables,
        tables: Directory | None = None,
    ) -> None:
        self._engine, self._tables = engine, tables
        self.state = at.new_state(size, table, evaluation)

    def prepare(self, root: Root, conditions: Conditions, nodes: int) -> None:
        """Set up a search without a time limit. The stop flag is left unchanged."""
        state = self.state
        if len(state.keys) < len(root.past) + MAX_PLY + 1:
            self.state = state = state._replace(keys=np.zeros(2 * len(root.past) + MAX_PLY + 1, dtype=np.uint64))
        state.board[:] = root.array
        keys = [*root.past, self._engine.key(root.array)]
        state.keys[: len(keys)] = np.array(keys, dtype=np.uint64)
        state.reversible[0] = len(root.past)
        state.seen[:] = 0
        for key in keys:
            state.seen[key & (at.SEEN - 1)] += 1
        state.root_moves[: len(root.moves)] = root.moves
        state.killers[:] = 0
        state.history[:] //= 8
        counters = state.counters
        for name in at.SearchCounters.__annotations__:
            setattr(counters, name, 0)
        counters.node_limit = nodes
        counters.limit_ply = conditions.plies_left
        counters.repetition_rule = conditions.repetition
        counters.recurrence = conditions.recurrence
        counters.flags = conditions.flags
        counters.generation = conditions.generation
        counters.before_root = len(root.past)
        counters.table_mask = len(state.table) - 8
        counters.root_moves = len(root.moves)
        counters.next_reading = UNLIMITED
        if self._tables is not None:
            counters.tablebase = self._tables.items.ctypes.data
            counters.tablebase_soldiers = self._tables.most_soldiers

    @property
    def stopped(self) -> bool:
        """Whether a limit or the stop flag ended the last iteration."""
        return bool(self.state.counters.stopped != 0)

    def aspire(self, depth: int, expected: int | None) -> int:
        """Search to the given depth with an aspiration window around the expected value, and return the value.

        The window is widened until it contains the value.
        """
        width = _WINDOW
        if expected is None or depth < 4 or abs(expected) >= PROVEN:
            return self.iterate(depth)
        alpha, beta = expected - width, expected + width
        while True:
            value = self.iterate(depth, max(alpha, -_INFINITE), min(beta, _INFINITE))
            if self.stopped or alpha < value < beta:
                return value
            width *= 4
            if value <= alpha:
                alpha = value - width if abs(value) < PROVEN else -_INFINITE
            else:
                beta = value + width if abs(value) < PROVEN else _INFINITE

    def iterate(self, depth: int, alpha: int = -_INFINITE, beta: int = _INFINITE) -> int:
        """Search to the given depth within a window, which is the full window by default, and return the value."""
        return int(search_root(self._engine.tables, self.state, depth, alpha, beta))

    def line(self) -> list[int]:
        """Return the principal variation of the last iteration."""
        return self.state.line[: self.state.line_length[0]].tolist()
