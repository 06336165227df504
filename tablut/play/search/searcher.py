"""`Searcher`: iterative deepening within strict limits, around the compiled search.

The kernel runs without the interpreter's lock, reads the clock itself every thousand
nodes, and looks at a stop flag at every node. It ends a margin before the time is up, so
that what follows, taking the lock and reading the result, ends in time too. Where there
is no clock that it can read, a thread raises the flag. Further threads may search beside the first
one (`tablut.play.search.worker`); it alone keeps the time, and its answer counts.
"""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import numpy as np

from tablut.engine import engine_for
from tablut.engine.jit import CLOCK, ahead, clock_address, monotonic_ns
from tablut.errors import InputError, MachineError, UnknownError
from tablut.notation import diagram_cells
from tablut.play.search import state as at
from tablut.play.search.evaluation import evaluate_boards, evaluation_tables, evaluation_tables_for
from tablut.play.search.limits import (
    EVALUATION_LIMIT,
    MATE,
    MAX_PLY,
    PROVEN,
    RECURRENCES,
    Choice,
    SearchLimits,
    mate_in,
    moves_asked_about,
)
from tablut.play.search.node import FIRST_LOOK, WAITS
from tablut.play.search.probing import beside, line_from, load_tables, probe_moves
from tablut.play.search.transposition import empty_table
from tablut.play.search.tree import search_root
from tablut.play.search.worker import UNLIMITED, Conditions, Root, Worker
from tablut.position import Move
from tablut.running.clocks import alarm, wall_clock
from tablut.running.machine import check_threads
from tablut.running.one_caller import Stoppable, alone
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tablut.board import Board
    from tablut.play.search.weights import Patterns
    from tablut.prober import Prober
    from tablut.variants import VariantLike

ALL: Final = at.TRANSPOSITIONS | at.SELECTIVE | at.QUIESCENCE

_PATIENCE: Final = 50
"""Centi-logits by which a side may stand worse before it repeats positions where no rule calls that a draw.

Where no move limit ends the game either, one more for each ply since the last capture: else it never ends.
"""
_GENERATIONS: Final = 255
_FEARED: Final = 6_000_000
"""Nanoseconds of waiting that the first search expects, of which nothing is known yet."""
_REMEMBERED: Final = 7
"""Eighths of the longest wait of a search that the next one expects from its beginning."""


def time_margin(movetime: float, *, measured: float | None = None) -> float:
    """Return how many seconds before its time is up a search is told to stop.

    Sixty milliseconds and a twentieth of the time, at most a quarter of a second, and
    never more than half of the time: handing over takes well below a millisecond on an
    idle machine, and some periods of the scheduler and of the interpreter's lock, of a
    few milliseconds each, on a crowded one. Who measures how long the machine makes it
    wait, and keeps that ready besides, needs about two thirds of this, and less where
    nothing has made it wait lately, see ``benchmarks/overrun.py``.
    """
    margin = min(0.06 + movetime / 20, 0.25)
    if measured is not None:
        margin = min(0.04 + movetime / 40, 0.15, 0.012 + movetime / 100 + 12 * measured)
    return min(margin, movetime / 2)


class Searcher(Stoppable):
    """Search of one variant, with a memory that lasts from move to move.

    It serves one caller at a time. While it searches, a second call, from another thread or from the observer, raises
    `UseError`; only `stop` may be called then. It cannot be copied or pickled.

    Parameters
    ----------
    variant : Variant, str or path-like
        The rule set.
    hash_mib : int
        Memory of the transposition table, at most.
    weights : mapping of str to float, optional
        Of the evaluation; the tuned ones, and the patterns that belong to them, by default.
    patterns : Patterns, optional
        To be added to the weights given.
    flags : int
        `ALL`, or fewer of its parts, for tests.
    prober : Prober, optional
        A tablebase: asked about the root and all that a move leads to, and, if it is a
        `tablut.prober.TierProber`, after every capture in the tree.
    table_mib : int
        Memory, at most, for what the tree needs; it is loaded here, before any clock starts.
    threads : int
        That search at once, 1 to 256. Only one alone is repeatable under a limit of nodes.

    Raises
    ------
    InputError
        If the tablebase is of another game, the memory too small, or the number of threads out of range.

    Examples
    --------
    >>> from tablut.board import Board
    >>> board = Board("ashton-5-4v0")
    >>> result = Searcher(board.variant, hash_mib=1).search(board, SearchLimits(nodes=2000))
    >>> result.mate, len(result.pv)
    (3, 3)
    """

    def __init__(
        self,
        variant: VariantLike,
        *,
        hash_mib: int = 64,
        weights: Mapping[str, float] | None = None,
        patterns: Patterns | None = None,
        flags: int = ALL,
        prober: Prober | None = None,
        table_mib: int = 512,
        threads: int = 1,
    ) -> None:
        self.variant = variant = as_variant(variant)
        if prober is not None and not prober.variant.same_game(variant):
            raise InputError(f"tablebase: is of {prober.variant.name}, another game than {variant.name}")
        self._engine = engine_for(variant)
        evaluation = (
            evaluation_tables_for(variant) if weights is None else evaluation_tables(variant, weights, patterns)
        )
        table = empty_table(hash_mib)
        # It takes longer to compile than all else that a first move needs.
        ahead(search_root, self._engine.tables, at.new_state(variant.size, table, evaluation), 0, 0, 0)
        tables = load_tables(prober, table_mib << 20)
        self._first = Worker(self._engine, variant.size, table, evaluation, tables)
        self._crew = Crew(
            lambda: Worker(self._engine, variant.size, table, evaluation, beside(tables)), check_threads(threads) - 1
        )
        self._flags = flags
        self._generation = 0
        self._ends: int | None = None
        self._wait = _FEARED
        self._prober = prober
        self._warm_up()

    @property
    def _state(self) -> at.SearchState:
        """The memory of the first thread."""
        return self._first.state

    def _warm_up(self) -> None:
        """Load or compile the kernels, so that no search pays for it."""
        cells = diagram_cells(self.variant.start)
        for side in ("w", "b"):
            board = self._engine.board(cells, side)
            # A side may have no move at the start of a user's rules; then the other one serves.
            if moves := self._engine.legal_moves(board).tolist():
                self.think(Root(board, moves, [], plies=0), SearchLimits(nodes=1))
                break
        self.forget()

    @alone
    def forget(self) -> None:
        """Empty the transposition table and the history of moves."""
        self._crew.forget()
        self._state.table[:] = 0
        self._state.history[:] = 0
        self._generation = 0

    observer: Callable[[Choice], None] | None = None
    """Told what is known after each iteration of a search, by the thread that searches."""

    def stop(self) -> None:
        """End the search that runs in another thread, or the next one if none runs; it answers with what it has.

        A stop ends one search. A search that was stopped before it began still completes its first iteration. If a
        search may have ended before it was stopped, call `clear_stop` before the next one.
        """
        self._stop_asked = True
        self._state.stop[0] = 1

    # -- one search --------------------------------------------------------------------

    @alone
    def search(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the best move found within limits.

        Parameters
        ----------
        board : Board
            Of this variant, its game not over; its history counts for repetition and
            the move limit. Not changed.
        limits : SearchLimits
            At least one. With ``movetime``, the answer comes before that time is up.

        Returns
        -------
        Choice
            With a legal move.

        Raises
        ------
        InputError
            If the game is over, the board is of another variant, or the limits are none.
        UseError
            If a search is already running.
        """
        started, began = time.perf_counter(), wall_clock()
        limits = limits.checked("movetime", "nodes", "depth")
        moves = moves_asked_about(board, self.variant)
        with self._deadline(started, limits.movetime):
            probed = None if self._prober is None else probe_moves(board.copy(), self._prober)
            tbhits = 0 if probed is None else len(probed)
            if probed is not None and self._prober is not None:
                best = probed[0]
                if best.score != 0:
                    line = tuple(line_from(board.copy(), self._prober, best, self._is_over))
                    score, seconds = best.score, wall_clock() - began
                    return Choice(
                        best.move, score, mate_in(score), 0, 0, line, tbhits, seconds=seconds, source="tablebase"
                    )
                moves = [found.move for found in probed if found.score == 0]
            thought = self._think(self.root(board, moves), limits, started)
            line = self._line_to_the_end(board, thought)
        return thought._replace(pv=line, tbhits=tbhits + thought.tbhits, seconds=wall_clock() - began)

    @alone
    def value(self, board: Board, depth: int) -> int:
        """Return the value of a position at a fixed depth with the full window, for comparison with the twin.

        Parameters
        ----------
        board : Board
            Its game not over.
        depth : int
            Plies, at least 1.

        Returns
        -------
        int
            A score; see `tablut.play.search.limits`.

        Raises
        ------
        UnknownError
            If it is stopped.
        """
        with self._deadline(0.0, None):
            self._crew.wait()
            self._prepare(self.root(board))
            value = self._first.iterate(depth)
            if self._stop_asked:
                raise UnknownError(f"value at depth {depth}: is not known, because the search was stopped")
            return value

    def _is_due(self) -> bool:
        """Return whether the answer of the search is due."""
        return self._ends is not None and monotonic_ns() >= self._ends

    def _is_over(self) -> bool:
        """Return whether a search has to end, because its answer is due or somebody said so."""
        return self._is_due() or self._stop_asked

    def _line_to_the_end(self, board: Board, thought: Choice) -> tuple[Move, ...]:
        """Return the line of a search, with the last two plies that search takes for granted where all moves lose."""
        line = thought.pv
        if thought.mate is None or len(line) + 2 != abs(thought.mate):
            return line
        walk = board.copy()
        for move in line:
            walk.push(move)
        if (walk.turn == board.turn) == (thought.mate > 0):
            return line  # a tablebase ended it, where the winner is to move
        for reply in list(walk.legal_moves):
            if self._is_due():
                break  # the answer is due, the line's last two plies are not
            walk.push(reply)
            winner = walk.turn
            for move in list(walk.legal_moves):
                walk.push(move)
                outcome = walk.outcome()
                walk.pop()
                if outcome is not None and outcome.winner == winner:
                    return (*line, reply, move)
            walk.pop()
        return line

    @contextmanager
    def _deadline(self, started: float, movetime: float | None) -> Iterator[None]:
        """Have the search end when the time, less a margin, is up; however it ends, the next one has its own."""
        # The kernel's flag alone is lowered: `_deepen` looks at a stop that came before.
        self._state.stop[0] = 0
        watch: AbstractContextManager[None] = nullcontext()
        if movetime is not None:
            known = bool(clock_address())
            margin = time_margin(movetime, measured=self._wait / 1e9 if known else None)
            left = max(started + movetime - margin - time.perf_counter(), 0.0)
            if known:
                self._ends = monotonic_ns() + int(left * 1e9)
            else:
                watch = alarm(left, self.stop)
        try:
            with watch:
                yield
        finally:
            self._ends, self._stop_asked = None, False

    @alone
    def think(self, root: Root, limits: SearchLimits, started: float | None = None) -> Choice:
        """Return the best move found within limits, no tablebase asked about the root; `search` is this for a `Board`.

        Parameters
        ----------
        root : Root
            Undecided, with a move to choose.
        limits : SearchLimits
            At least one; ``movetime`` is looked at between iterations only.
        started : float, optional
            When the time began, by `time.perf_counter`.

        Returns
        -------
        Choice
            With a move of the root.
        """
        with self._deadline(0.0, None):
            return self._think(root, limits, started)

    def _think(self, root: Root, limits: SearchLimits, started: float | None) -> Choice:
        """Search as `think` says, with the deadline that is set."""
        started = time.perf_counter() if started is None else started
        own, each = self._crew.share_of(limits.nodes)
        self._crew.wait()
        conditions = self._prepare(root, UNLIMITED if own is None else own)
        try:
            self._crew.start(root, conditions, each)
            return self._deepen(root, limits, started)
        finally:
            self._crew.dismiss()

    def _deepen(self, root: Root, limits: SearchLimits, started: float) -> Choice:
        """Search by iterations of the first thread, as `think` says."""
        first, counters = self._first, self._state.counters
        best, score, depth = 0, 0, 0
        line: list[int] = []
        for wanted in range(1, (limits.depth or MAX_PLY - 1) + 1):
            value = first.aspire(wanted, score if depth else None)
            interrupted = first.stopped
            if self._ends is not None and counters[at.LAST_LOOK] != 0:
                # The wait for the interpreter's lock is one of the waits that the next search has to expect.
                waited = monotonic_ns() - int(counters[at.LAST_LOOK]) if interrupted else 0
                self._wait = max(waited, int(counters[at.LONGEST_GAP])) * _REMEMBERED // 8
            if counters[at.ROOT_MOVE] != 0 and not (interrupted and counters[at.ROOT_SCORE] <= -PROVEN):
                # Of an interrupted iteration, too: its best move so far replaced the last one on merit,
                # unless it only loses; then the moves not yet searched may not.
                best, score, line = int(counters[at.ROOT_MOVE]), int(counters[at.ROOT_SCORE]), first.line()
            if interrupted:
                break
            depth, score = wanted, value
            if self.observer is not None:
                self.observer(self._thought(score, depth, line))
            if self._stop_asked:
                break
            if abs(value) >= PROVEN and MATE - abs(value) <= wanted:
                break  # nothing shorter is left to find
            if limits.movetime is not None:
                alone = len(root.moves) == 1 and limits.depth is None
                if alone or time.perf_counter() - started > limits.movetime:
                    break
        if best == 0:
            # Not even the first move was searched to its end.
            score, line = self._estimate(root.array), [root.moves[0]]
        return self._thought(score, depth, line)

    def _thought(self, score: int, depth: int, line: list[int]) -> Choice:
        counters, crew = self._state.counters, self._crew
        selective = max(int(counters[at.SELECTIVE_DEPTH]), depth)
        nodes, hits = (int(counters[which]) + crew.count(which) for which in (at.NODES, at.TABLE_HITS))
        pv = tuple(Move.from_code(code, self.variant.size) for code in line)
        return Choice(pv[0], score, mate_in(score), depth, nodes, pv, hits, selective_depth=selective)

    # -- the state ---------------------------------------------------------------------

    def root(self, board: Board, moves: Sequence[Move] | None = None) -> Root:
        """Return a board as the root of a search, with the moves to choose from, by default all legal ones.

        Parameters
        ----------
        board : Board
            Its game not over.
        moves : sequence of Move, optional
            All legal ones by default.

        Returns
        -------
        Root
            For `think`.
        """
        # Where repetition means nothing to the search, nothing before the root matters.
        past = [] if self._repetition()[0] == 0 else reversible_keys(board)
        return Root(
            array=self._engine.board(board.position.cells, board.position.side),
            moves=[move.code for move in (board.legal_moves if moves is None else moves)],
            past=past,
            plies=board.ply,
        )

    def _prepare(self, root: Root, nodes: int = UNLIMITED) -> Conditions:
        """Set up a search of the first thread, the time it has included; return what holds for the others as well."""
        state, rules = self._state, self.variant.rules
        # Generations are told apart by eight bits: each search empties one of 255 parts of the table, so that nothing
        # is left of a generation when its number comes again. To empty it all at once would take time from a move.
        self._generation = self._generation % _GENERATIONS + 1
        part = -(-(len(state.table) // 8) // _GENERATIONS) * 8
        state.table[(self._generation - 1) * part : self._generation * part] = 0
        plies_left = UNLIMITED if rules.move_limit is None else rules.move_limit - root.plies
        conditions = Conditions(self._flags, self._generation, *self._repetition(len(root.past)), plies_left)
        self._first.prepare(root, conditions, nodes)
        if self._ends is not None:
            counters = self._state.counters
            counters[at.NEXT_LOOK] = FIRST_LOOK
            counters[at.DEADLINE] = self._ends
            # At least a quarter of the time is for thinking, whatever is feared.
            counters[at.LONGEST_GAP] = min(self._wait, max(self._ends - monotonic_ns(), 0) * 3 // (4 * WAITS))
            counters[at.CLOCK_ADDRESS] = clock_address()
            counters[at.CLOCK_NUMBER] = CLOCK
        return conditions

    def _repetition(self, reversible: int = 0) -> tuple[int, int]:
        """Return what a recurrence counts as in the search, and what it is worth where that is a draw.

        ``reversible`` are the plies since the last capture. Where the rules say nothing, games could go on for
        ever: a side that stands better, or not much worse, looks for something else. No proof is lost by that,
        since the shortest win never recurs.
        """
        rule = RECURRENCES[self.variant.rules.repetition.result]
        if rule != 0 or not self._flags & at.SELECTIVE:
            return rule, 0
        return RECURRENCES["draw"], -_PATIENCE - (reversible if self.variant.rules.move_limit is None else 0)

    def _estimate(self, array: NDArray[np.uint32]) -> int:
        """Return the evaluation of a board array for the side to move, nothing searched."""
        scores = np.zeros(1, dtype=np.int64)
        evaluate_boards(self._engine.tables, self._state.evaluation, array[None], scores)
        score = max(-EVALUATION_LIMIT, min(EVALUATION_LIMIT, int(scores[0])))
        return -score if array[2 * self.variant.size + 1] else score


def reversible_keys(board: Board) -> list[int]:
    """Return the Zobrist keys of the positions before the last one, from the last capture on, the first one first."""
    walk = board.copy()
    keys = []
    while walk.ply > 0 and not walk.captured():
        walk.pop()
        keys.append(walk.zobrist_key())
    return keys[::-1]


# -- `Crew`: the other threads of a search, which fill the transposition table that all share ---


# Each helper searches the same root by iterations of its own; what it finds out, the first
# thread meets in the table. They differ in the depths that they search, and in the order in
# which they begin with the moves of the root, and soon in everything else. Nothing is agreed
# on and nothing waited for ("lazy SMP").


class Crew:
    """Helpers of one searcher, none or more."""

    def __init__(self, make: Callable[[], Worker], helpers: int) -> None:
        self._workers = [make() for _ in range(helpers)]
        self._threads: list[threading.Thread] = []
        self._busy: Sequence[Worker] = ()

    def share_of(self, nodes: int | None) -> tuple[int | None, int]:
        """Return how many of the nodes of a search are the first thread's, and each helper's."""
        if nodes is None:
            return None, UNLIMITED
        each = nodes // (len(self._workers) + 1)
        return nodes - each * len(self._workers), each

    def start(self, root: Root, conditions: Conditions, nodes: int) -> None:
        """Have all helpers search."""
        self.wait()
        self._busy = self._workers if nodes else ()
        for number, worker in enumerate(self._busy, 1):
            turn = number % len(root.moves)
            worker.prepare(root._replace(moves=root.moves[turn:] + root.moves[:turn]), conditions, nodes)
            worker.state.stop[0] = 0
            # Who interrupts the program leaves a search behind: it must not keep the process alive.
            thread = threading.Thread(target=_help, args=(worker, number), daemon=True, name=f"search helper {number}")
            try:
                thread.start()
            except RuntimeError as error:
                raise MachineError(f"threads: the machine starts no more than {number}: {error}") from error
            self._threads.append(thread)

    def dismiss(self) -> None:
        """Have the helpers end. They do within microseconds of their own time, which is not waited for."""
        for worker in self._busy:
            worker.state.stop[0] = 1

    def wait(self) -> None:
        """Have the helpers end, and wait for it: from now on nobody but the caller uses the table."""
        self.dismiss()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def forget(self) -> None:
        """Empty what the helpers have learnt about moves."""
        self.wait()
        for worker in self._workers:
            worker.state.history[:] = 0

    def count(self, counter: int) -> int:
        """Return the sum of a counter over the helpers of the last search."""
        return sum(int(worker.state.counters[counter]) for worker in self._busy)


def _help(worker: Worker, number: int) -> None:
    """Deepen until the stop flag, the nodes or a proof ends it; every other helper begins a ply deeper."""
    expected = None
    for depth in range(1 + number % 2, MAX_PLY):
        value = worker.aspire(depth, expected)
        if worker.stopped or (abs(value) >= PROVEN and MATE - abs(value) <= depth):
            return
        expected = value
