"""Two ways to find the value of a position: a search for one side's win, and a list of all reachable positions.

`WinSearch.within` decides whether a side wins within a number of plies. `WinSearch.wins` uses another method to decide
whether the side wins in any number of plies. Both methods return None if the limits were reached first. All proved
results stay in the table for later searches from any position.

If only a few positions are reachable from a given one, `reachable_values` lists all of them and finds their values.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from retrograde.proofs.proof_numbers import DEEPEST, MOST_PLIES, RESULT_FIELDS, TABLES, prove, read_proofs
from retrograde.proofs.table import INFINITE, LONGEST, for_thread, keep_values, new_proof_workspace, with_plies
from tablut.engine import engine_for
from tablut.engine.engine import position_keys
from tablut.engine.jit import ahead
from tablut.engine.kernel_records import directory
from tablut.engine.layout import SIDE_AT, head, new_board
from tablut.errors import InputError, MachineError
from tablut.indexing import PlacementIndex
from tablut.indexing.values import MISSING
from tablut.play.search.evaluation import evaluation_tables_for
from tablut.prober import MissingTableError, PositionValues
from tablut.rules.outcome import OUTCOMES
from tablut.work.clocks import wall_clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.proofs.table import ProofWorkspace
    from tablut.engine import Engine
    from tablut.position import Position
    from tablut.prober import Prober
    from tablut.variants import Variant

_SLICE = 500_000
"""Number of moves between two checks of the clock."""


@dataclass(frozen=True)
class ProofLimits:
    """Limits on a solver's work.

    Attributes
    ----------
    nodes : int
        Maximum number of moves made on the board.
    seconds : float or None
        Maximum wall time in seconds; None for no limit. The time is checked about every quarter of a second.
    memory_bytes : int
        Memory for the transposition tables, in bytes.
    positions : int
        Maximum number of positions in an exhaustive listing; 0 for no listing.
    """

    nodes: int = 50_000_000
    seconds: float | None = None
    memory_bytes: int = 256 << 20
    positions: int = 250_000


class ProofBudget:
    """The moves and time that remain for one request. All searches for the request share them."""

    def __init__(self, limits: ProofLimits) -> None:
        self.nodes = 0
        self._most = limits.nodes
        self._started = wall_clock()
        self._deadline = None if limits.seconds is None else self._started + limits.seconds

    @property
    def seconds(self) -> float:
        """Wall time since the start, in seconds, excluding the time spent on compiling."""
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
    """Start to compile the search on another processor, unless the kernel cache already contains it."""
    result, board = np.zeros(RESULT_FIELDS, dtype=np.int64), new_board(engine.variant.size)
    evaluation, workspace = evaluation_tables_for(engine.variant), new_proof_workspace(engine.tables, 0, 1)
    ahead(prove, engine.tables, evaluation, directory(workspace), board, 0, 0, 0, result)


class WinSearch:
    """A search for proofs that one side, the prover, wins."""

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
        self._workspaces = [first, *(for_thread(first, thread) for thread in range(1, threads))]

    def within(self, board: NDArray[np.uint32], plies: int, most: int | None = None) -> bool | None:
        """Return whether the prover wins within a given number of plies, or None if the limits were reached."""
        if plies > MOST_PLIES:
            raise InputError(f"must be at most {MOST_PLIES} for a proof search", subject=f"{plies} plies")
        return False if plies < 1 else self._search(board, plies, 0, most)

    def wins(self, board: NDArray[np.uint32], most: int | None = None, plies: int = LONGEST - 1) -> bool | None:
        """Return whether the prover wins within a number of plies (by default, any number).

        The win need not be the shortest.

        If the result is True, ``distance`` and ``move`` describe the win that was found. If the result is None, ``pn``
        and ``dn`` show how close the search was to a result, as with `within`. If ``pn`` is just below `INFINITE`,
        every remaining line repeats a position, and a longer search will not help. If the number of plies is the
        default, False means that the prover never wins.
        """
        return False if plies < 1 else self._search(board, plies, 1, most)

    def attains(self, board: NDArray[np.uint32], winner: int | None, left: int) -> bool | None:
        """Return whether the move that led to a board belongs to a shortest win, or None if this is unknown.

        The move may be the winner's or the loser's. ``winner`` is the side that has won with the move, or None if the
        game goes on. ``left`` is the distance before the move.
        """
        if winner is not None:
            return left == 1 and winner == self.prover
        if int(head(board)[SIDE_AT]) != self.prover:
            return self.within(board, left - 1)
        sooner = self.within(board, left - 2)
        return None if sooner is None else not sooner

    def learn(self, words: NDArray[np.uint64], plies: NDArray[np.int64]) -> None:
        """Record in the table that the prover wins from packed positions within the given numbers of plies."""
        keep_values(self._workspaces[0].table, words, plies, np.full(len(words), -1))

    def winning_moves(self, words: NDArray[np.uint64], plies: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return winning moves and the length of each win, in shape (n, 2), for positions with the prover to move.

        The moves are read from the table. The length is -1 if the table contains no win within the given number of
        plies.
        """
        results = np.empty((len(words), 2), dtype=np.int64)
        board = new_board(self.engine.variant.size)
        read_proofs(self.engine.tables, self._evaluation, directory(self._workspaces[0]), words, plies, board, results)
        return results

    def _search(self, board: NDArray[np.uint32], plies: int, shared: int, most: int | None) -> bool | None:
        """Search under a bound with all threads, until one of them finds the result."""
        deepest = min(plies, DEEPEST) if shared else plies
        self._workspaces = [with_plies(workspace, deepest) for workspace in self._workspaces]
        self._workspaces[0].stop[0] = 0
        self.pn, self.dn = 1, 1
        end = None if most is None else self.budget.nodes + most
        if len(self._workspaces) == 1:
            return self._slices(self._workspaces[0], board, plies, shared, end)
        with ThreadPoolExecutor(len(self._workspaces)) as pool:
            futures = [
                pool.submit(self._slices, workspace, board.copy(), plies, shared, end) for workspace in self._workspaces
            ]
        return next((answer for future in futures if (answer := future.result()) is not None), None)

    def _slices(
        self, workspace: ProofWorkspace, board: NDArray[np.uint32], plies: int, shared: int, end: int | None
    ) -> bool | None:
        """Search in one thread, in slices of a limited number of moves. The clock is checked between slices."""
        addresses, result = directory(workspace), np.zeros(RESULT_FIELDS, dtype=np.int64)
        try:
            while not workspace.stop[0]:
                left = self.budget.left if end is None else min(self.budget.left, end - self.budget.nodes)
                if left <= 0:
                    return None
                most = min(-(-left // workspace.threads), _SLICE)
                prove(self.engine.tables, self._evaluation, addresses, board, plies, shared, most, result)
                pn, dn, distance, move, nodes, pending = result.tolist()
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
                        self._look_up(workspace.pending[:pending])
                    elif shared and pn == INFINITE - 1:
                        # All remaining lines repeat positions.
                        return None
        finally:
            # When this thread ends, for whatever reason, it also stops the other threads.
            workspace.stop[0] = 1
        return None

    def _look_up(self, words: NDArray[np.uint64]) -> None:
        """Look up positions in the tablebase, and write their values into the table."""
        assert self.prober is not None
        values = self.prober.probe_words(words.copy()).astype(np.int64)
        if (values == MISSING).any():
            # The tablebase lacks positions that it should contain. Continue without it.
            self._workspaces[0].covered[:] = 0
            return
        mine = (head(self.engine.boards(words))[:, SIDE_AT] == self.prover).astype(bool)
        wins = np.where(mine & (values > 0), values, np.where(~mine & (values < 0), -values - 1, LONGEST))
        wins = np.minimum(wins, LONGEST)
        no_wins = np.where(wins < LONGEST, wins - 1, LONGEST)
        keep_values(self._workspaces[0].table, words, wins, no_wins)


# -- the values of all positions reachable from a given one ------------------------------
# The closure of a position under legal moves is listed, and values are propagated backwards through it, one distance at
# a time. The values are exact for every position in the closure, so they also prove draws. The method is practical only
# for small boards and few pieces. A limit ends any listing that grows too long.


_BATCH = 1 << 15


class ReachableValues(PositionValues):
    """Values of all positions reachable from a given one."""

    def __init__(self, variant: Variant, words: NDArray[np.uint64], values: NDArray[np.int16]) -> None:
        self.variant = variant
        self.words = words
        self.values = values
        self._keys = position_keys(words)

    def _stored(self, position: Position) -> int:
        """Return the value of a position in the closure."""
        engine = engine_for(self.variant)
        (value,) = self.probe_words(engine.words(engine.board(position.cells, position.side)))
        if value == MISSING:
            raise MissingTableError(
                f"is not one of the {len(self.words):,} listed positions", subject=f"position '{position}'"
            )
        return int(value)

    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of packed positions; the value is `MISSING` for a position outside the closure."""
        keys = position_keys(words)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self.values[places], MISSING).astype(np.int16)


def reachable_values(variant: Variant, words: NDArray[np.uint64], most: int) -> ReachableValues | None:
    """Return the values of all positions reachable from a given one, or None if there are more than ``most``."""
    positions = _closure(variant, words, most)
    if positions is None:
        return None
    black = head(engine_for(variant).boards(positions))[:, SIDE_AT] != 0
    return ReachableValues(variant, positions, _values(black, *_moves(variant, positions)))


def may_be_listed(variant: Variant, position: Position, most: int) -> bool:
    """Return whether it is worthwhile to try to list the positions reachable from a given one.

    The listing fails if it exceeds ``most`` positions. The attempt is worthwhile if at most eight times ``most``
    undecided positions have the same material or less, with either side to move.
    """
    attackers, defenders = position.material
    tiers = PlacementIndex(variant).tiers.values()
    sizes = [tier.size for tier in tiers if tier.attackers <= attackers and tier.defenders <= defenders]
    return 2 * sum(sizes) <= 8 * most


def _closure(variant: Variant, words: NDArray[np.uint64], most: int) -> NDArray[np.uint64] | None:
    """Return the positions reachable from a given one, in ascending order, or None if there are more than ``most``."""
    engine = engine_for(variant)
    known = fresh = words[:1]
    while len(fresh):
        parts = [known]
        for batch in _batches(fresh):
            children = engine.expand(batch)
            parts.append(_unique(children.words[children.outcomes == 0]))
        union = _unique(np.concatenate(parts))
        if len(union) > most:
            return None
        fresh = union[~np.isin(position_keys(union), position_keys(known), assume_unique=True)]
        known = union
    return known


def _moves(
    variant: Variant, positions: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Return the outcome of each move in a closed set, and the indices of its parent and child (-1 if decided)."""
    engine = engine_for(variant)
    keys = position_keys(positions)
    parents, children, outcomes = [], [], []
    for number, batch in enumerate(_batches(positions)):
        moves = engine.expand(batch)
        parents.append((moves.parents + number * _BATCH).astype(np.int32))
        places = np.searchsorted(keys, position_keys(moves.words)).astype(np.int32)
        children.append(np.where(moves.outcomes == 0, places, np.int32(-1)))
        outcomes.append(moves.outcomes)
    return np.concatenate(parents), np.concatenate(children), np.concatenate(outcomes)


def _batches(words: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    return [words[start : start + _BATCH] for start in range(0, len(words), _BATCH)]


def _unique(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys = position_keys(words)
    _, first = np.unique(keys, return_index=True)
    return words[first]


def _values(
    black: NDArray[np.bool_], parents: NDArray[np.int32], children: NDArray[np.int32], outcomes: NDArray[np.uint8]
) -> NDArray[np.int16]:
    """Return each position's value. The values are propagated backwards, one distance at a time."""
    values = np.zeros(len(black), dtype=np.int16)
    moves = np.bincount(parents, minlength=len(black))
    values[moves == 0] = -1
    black_wins = np.array([outcome is not None and outcome.winner == "black" for outcome in OUTCOMES])
    # Each move's value for the side that makes it: 1, -1, or 0 if it is not known yet.
    worth = np.where(outcomes == 0, 0, np.where(black_wins[outcomes] == black[parents], 1, -1)).astype(np.int8)
    quiet = children >= 0
    distance, settled = 0, moves >= 0
    while settled.any():
        distance += 1
        worth[quiet] = -np.sign(values[children[quiet]])
        won = np.bincount(parents[worth > 0], minlength=len(black)) > 0
        lost = np.bincount(parents[worth < 0], minlength=len(black)) == moves
        settled = (values == 0) & (won | lost)
        values[settled & won], values[settled & lost] = distance, -distance - 1
    return values
