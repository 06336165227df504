"""One side's chances from a position: the compiled proof search with its table, its limits, a tablebase.

`WinSearch.within` answers whether a side wins within a number of plies, `WinSearch.wins`
whether it wins at all, for which it takes its own way: yes, no, or not known when the
limits ran out. What they have proved stays in their table, for every later question about any position.
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
from tablut.running.clocks import wall_clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.proofs.solution import ProofLimits
    from retrograde.proofs.table import ProofWorkspace
    from tablut.engine import Engine
    from tablut.prober import Prober

_SLICE = 500_000
"""Moves between two looks at the clock."""


class ProofBudget:
    """What is left of the limits; shared by all searches that serve one question."""

    def __init__(self, limits: ProofLimits) -> None:
        self.nodes = 0
        self._most = limits.nodes
        self._started = wall_clock()
        self._deadline = None if limits.seconds is None else self._started + limits.seconds

    @property
    def seconds(self) -> float:
        """Wall time since the start, compiling left out."""
        return wall_clock() - self._started

    def stop(self) -> None:
        """Leave nothing; a search that runs in another thread ends within a quarter of a second or so."""
        self._most = 0

    @property
    def left(self) -> int:
        """Moves that may still be made; 0 when the time is up."""
        if self._deadline is not None and wall_clock() >= self._deadline:
            return 0
        return max(0, self._most - self.nodes)


def compile_ahead(engine: Engine) -> None:
    """Have the search compiled by another processor, if it is not kept."""
    answer, board = np.zeros(ANSWER_FIELDS, dtype=np.int64), new_board(engine.variant.size)
    evaluation, workspace = evaluation_tables_for(engine.variant), new_proof_workspace(engine.tables, 0, 1)
    ahead(prove, engine.tables, evaluation, directory(workspace), board, 0, 0, 0, answer)


class WinSearch:
    """Proofs that a side wins within so many plies."""

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
            raise MachineError(f"a table of {size}: the machine does not give as much memory; ask for less") from error
        if prober is not None:
            for attackers in range(1, variant.attackers + 1):
                for defenders in range(variant.defenders + 1):
                    first.covered[attackers, defenders] = prober.covers(attackers, defenders)
            first.counters[TABLES] = first.covered.any()
        self._workspaces = [first, *(beside(first, thread) for thread in range(1, threads))]

    def within(self, board: NDArray[np.uint32], plies: int, most: int | None = None) -> bool | None:
        """Return whether the prover wins within a number of plies."""
        if plies > MOST_PLIES:
            raise InputError(f"{plies} plies: a proof search looks {MOST_PLIES} plies ahead at most")
        return False if plies < 1 else self._search(board, plies, 0, most)

    def wins(self, board: NDArray[np.uint32], most: int | None = None, plies: int = LONGEST - 1) -> bool | None:
        """Return whether the prover wins within a number of plies, by default within any, not looking for a short win.

        Then ``distance`` and ``move`` are of the win that was found. Without an answer ``pn`` and ``dn`` say how
        near one is, as after `within`; where ``pn`` is just below `INFINITE`, what is left to try repeats itself, and
        more of it finds nothing. No, without a number of plies, means never.
        """
        return False if plies < 1 else self._search(board, plies, 1, most)

    def learn(self, words: NDArray[np.uint64], plies: NDArray[np.int64]) -> None:
        """Take it as proved that the prover wins packed positions within so many plies."""
        keep_values(self._workspaces[0].table, words, plies, np.full(len(words), -1))

    def answers(self, words: NDArray[np.uint64], plies: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return winning moves and their plies, shape (n, 2), of packed positions with the prover to move.

        They are what is kept; the plies are -1 where no win within the given number of plies is.
        """
        found = np.empty((len(words), 2), dtype=np.int64)
        board = new_board(self.engine.variant.size)
        read_proofs(self.engine.tables, self._evaluation, directory(self._workspaces[0]), words, plies, board, found)
        return found

    def _search(self, board: NDArray[np.uint32], plies: int, shared: int, most: int | None) -> bool | None:
        """Search with a bound, in all threads, until one of them has the answer."""
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
        """Search slice by slice, in one thread."""
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
                        # What is left to try repeats itself.
                        return None
        finally:
            # Whatever ended this thread, the others have nothing left to do.
            workspace.stop[0] = 1
        return None

    def _ask(self, words: NDArray[np.uint64]) -> None:
        """Write what the tablebase knows of positions into the table."""
        assert self.prober is not None
        values = self.prober.probe_words(words.copy()).astype(np.int64)
        if (values == MISSING).any():
            # It does not know all of what it covers: search on without it.
            self._workspaces[0].covered[:] = 0
            return
        mine = (self.engine.boards(words)[:, 2 * self.engine.variant.size + 1] == self.prover).astype(bool)
        wins = np.where(mine & (values > 0), values, np.where(~mine & (values < 0), -values - 1, LONGEST))
        wins = np.minimum(wins, LONGEST)
        no_wins = np.where(wins < LONGEST, wins - 1, LONGEST)
        keep_values(self._workspaces[0].table, words, wins, no_wins)
