"""Searching for one side's win: the compiled proof search with its table, limits and tablebase.

`WinSearch.within` decides whether a side wins within a number of plies. `WinSearch.wins` decides whether it wins at
all, by another method. The result is True, False, or None if the limits ran out. Everything that is proved stays in the
table for later searches from any position.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from retrograde.proofs.proof_numbers import ANSWER_FIELDS, DEEPEST, MOST_PLIES, TABLES, prove, read_proofs
from retrograde.proofs.table import INFINITE, LONGEST, beside, keep_values, new_proof_workspace, with_room
from tablut.engine.jit import ahead
from tablut.engine.layout import new_board
from tablut.engine.records import directory
from tablut.errors import InputError, MachineError
from tablut.indexing.values import MISSING
from tablut.play.search.evaluation import evaluation_tables_for
from tablut.work.clocks import wall_clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.proofs.solution import ProofLimits
    from retrograde.proofs.table import ProofWorkspace
    from tablut.engine import Engine
    from tablut.prober import Prober

_SLICE = 500_000
"""Number of moves between two checks of the clock."""


class ProofBudget:
    """Remaining limits, shared by all searches for one question."""

    def __init__(self, limits: ProofLimits) -> None:
        self.nodes = 0
        self._most = limits.nodes
        self._started = wall_clock()
        self._deadline = None if limits.seconds is None else self._started + limits.seconds

    @property
    def seconds(self) -> float:
        """Wall time since the start, in seconds, without time spent compiling."""
        return wall_clock() - self._started

    def stop(self) -> None:
        """Set the remaining limits to zero. A search in another thread then ends within about a quarter of a second."""
        self._most = 0

    @property
    def left(self) -> int:
        """Number of moves that may still be made; 0 when the time is up."""
        if self._deadline is not None and wall_clock() >= self._deadline:
            return 0
        return max(0, self._most - self.nodes)


def compile_ahead(engine: Engine) -> None:
    """Start compiling the search on another processor, unless it is in the kernel cache."""
    answer, board = np.zeros(ANSWER_FIELDS, dtype=np.int64), new_board(engine.variant.size)
    evaluation, workspace = evaluation_tables_for(engine.variant), new_proof_workspace(engine.tables, 0, 1)
    ahead(prove, engine.tables, evaluation, directory(workspace), board, 0, 0, 0, answer)


class WinSearch:
    """Search for proofs that a side, the prover, wins."""

    def __init__(
        self,
        engine: Engine,
        prover: int,
        memory_bytes: int,
        budget: ProofBudget,
        prober: Prober | None = None,
        threads: int = 1,
    ) -> None:
        self.engine = engine
        self.prover = prover
        self.budget = budget
        self.distance = -1
        self.move = 0
        self.pn, self.dn = 1, 1
        self._evaluation = evaluation_tables_for(engine.variant)
        self.prober = prober
        self._lock = Lock()
        variant = engine.variant
        try:
            first = new_proof_workspace(engine.tables, prover, memory_bytes, threads=threads)
        except MemoryError as error:
            size = f"{memory_bytes / 2**20:,.0f} MiB"
            raise MachineError(
                "does not fit into the memory of the machine", subject=f"a table of {size}", remedy="allow less memory"
            ) from error
        if prober is not None:
            for attackers in range(1, variant.attackers + 1):
                for defenders in range(variant.defenders + 1):
                    first.covered[attackers, defenders] = prober.covers(attackers, defenders)
            first.counters[TABLES] = first.covered.any()
        self._workspaces = [first, *(beside(first, thread) for thread in range(1, threads))]

    def within(self, board: NDArray[np.uint32], plies: int, most: int | None = None) -> bool | None:
        """Return whether the prover wins within a number of plies."""
        if plies > MOST_PLIES:
            raise InputError(f"must be at most {MOST_PLIES} for a proof search", subject=f"{plies} plies")
        return False if plies < 1 else self._search(board, plies, 0, most)

    def wins(self, board: NDArray[np.uint32], most: int | None = None, plies: int = LONGEST - 1) -> bool | None:
        """Return whether the prover wins within a number of plies (by default, any number).

        The win need not be the shortest.

        After True, ``distance`` and ``move`` belong to the win that was found. If the result is None, ``pn`` and ``dn``
        show how close the search was to a result, as with `within`. If ``pn`` is just below `INFINITE`, every remaining
        line repeats a position, and searching longer will not help. With the default, False means that the prover never
        wins.
        """
        return False if plies < 1 else self._search(board, plies, 1, most)

    def learn(self, words: NDArray[np.uint64], plies: NDArray[np.int64]) -> None:
        """Store in the table, as proved, that the prover wins packed positions within the given numbers of plies."""
        keep_values(self._workspaces[0].table, words, plies, np.full(len(words), -1))

    def answers(self, words: NDArray[np.uint64], plies: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return winning moves and their plies, shape (n, 2), for packed positions with the prover to move.

        They are read from the table. The plies are -1 if the table contains no win within the given number of plies.
        """
        found = np.empty((len(words), 2), dtype=np.int64)
        board = new_board(self.engine.variant.size)
        read_proofs(self.engine.tables, self._evaluation, directory(self._workspaces[0]), words, plies, board, found)
        return found

    def _search(self, board: NDArray[np.uint32], plies: int, shared: int, most: int | None) -> bool | None:
        """Search under a bound with all threads, until one of them finds the result."""
        self._workspaces = [with_room(one, min(plies, DEEPEST) if shared else plies) for one in self._workspaces]
        self._workspaces[0].stop[0] = 0
        self.pn, self.dn = 1, 1
        end = None if most is None else self.budget.nodes + most
        if len(self._workspaces) == 1:
            return self._slices(self._workspaces[0], board, plies, shared, end)
        with ThreadPoolExecutor(len(self._workspaces)) as pool:
            found = [pool.submit(self._slices, one, board.copy(), plies, shared, end) for one in self._workspaces]
        return next((answer for one in found if (answer := one.result()) is not None), None)

    def _slices(
        self, workspace: ProofWorkspace, board: NDArray[np.uint32], plies: int, shared: int, end: int | None
    ) -> bool | None:
        """Search in one thread, in slices between which the clock is checked."""
        desk, answer = directory(workspace), np.zeros(ANSWER_FIELDS, dtype=np.int64)
        try:
            while not workspace.stop[0]:
                left = self.budget.left if end is None else min(self.budget.left, end - self.budget.nodes)
                if left <= 0:
                    return None
                most = min(-(-left // workspace.threads), _SLICE)
                prove(self.engine.tables, self._evaluation, desk, board, plies, shared, most, answer)
                pn, dn, distance, move, nodes, pending = answer.tolist()
                with self._lock:
                    self.budget.nodes += nodes
                    if workspace.stop[0]:
                        return None
                    self.pn, self.dn = pn, dn
                    if pn == 0:
                        self.distance, self.move = distance, move
                        return True
                    if dn == 0:
                        return False
                    if pending:
                        self._ask(workspace.pending[:pending])
                    elif shared and pn == INFINITE - 1:
                        # All remaining lines repeat positions.
                        return None
        finally:
            # For whatever reason this thread ends, it stops the other threads.
            workspace.stop[0] = 1
        return None

    def _ask(self, words: NDArray[np.uint64]) -> None:
        """Look up positions in the tablebase, and write their values into the table."""
        assert self.prober is not None
        values = self.prober.probe_words(words.copy()).astype(np.int64)
        if (values == MISSING).any():
            # The tablebase lacks positions that it should contain: continue without it.
            self._workspaces[0].covered[:] = 0
            return
        mine = (self.engine.boards(words)[:, 2 * self.engine.variant.size + 1] == self.prover).astype(bool)
        wins = np.where(mine & (values > 0), values, np.where(~mine & (values < 0), -values - 1, LONGEST))
        wins = np.minimum(wins, LONGEST)
        no_wins = np.where(wins < LONGEST, wins - 1, LONGEST)
        keep_values(self._workspaces[0].table, words, wins, no_wins)
