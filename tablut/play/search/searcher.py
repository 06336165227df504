"""The class `Searcher`, which runs the compiled search with iterative deepening and strict limits.

The kernel runs without the interpreter's lock. It reads the clock itself every thousand nodes and checks a stop flag at
every node. It stops before the end of the move time, by a margin that leaves enough time to acquire the lock and read
the result. On systems without a clock that the kernel can read, a Python thread sets the flag. Other threads may also
search (`tablut.play.search.tree`), but only the first thread watches the time and supplies the result.
"""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import numpy as np

from tablut.engine import engine_for
from tablut.engine.jit import CLOCK, ahead, clock_address, monotonic_ns
from tablut.engine.layout import SIDE_AT, head
from tablut.errors import InputError, MachineError, UnknownError
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
from tablut.play.search.tree import UNLIMITED, Conditions, Root, Worker, search_root
from tablut.position import Move, diagram_cells
from tablut.variants import as_variant
from tablut.work.clocks import alarm, wall_clock
from tablut.work.machine import check_threads
from tablut.work.one_caller import Stoppable, alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tablut.board import Board
    from tablut.play.search.weights import Patterns
    from tablut.prober import Prober
    from tablut.variants import VariantLike

ALL: Final = at.TRANSPOSITIONS | at.SELECTIVE | at.QUIESCENCE

_RECURRENCE_MARGIN: Final = 50
"""Largest disadvantage, in centi-logits, at which a side still avoids repetition in variants without a repetition rule.

If there is no move limit either, each ply since the last capture adds one centi-logit to this value, so that games do
not go on for ever.
"""
_GENERATIONS: Final = 255
_FIRST_WAIT: Final = 6_000_000
"""Length, in nanoseconds, of the waits that the first search expects, because no wait has been measured yet."""
_WAIT_EIGHTHS: Final = 7
"""Length of the waits that a search initially expects, in eighths of the longest wait in the previous search."""


def time_margin(movetime: float, *, measured: float | None = None) -> float:
    """Return the margin: how many seconds before the end of its move time a search stops.

    The margin is 60 ms plus a twentieth of the move time, but at most 250 ms and at most half of the move time. On an
    idle machine, delivering the result takes much less than a millisecond. On a busy machine, it takes several periods
    of the scheduler and of the interpreter's lock, which last a few milliseconds each. If waits are measured
    (``measured``, in seconds) and reserved separately, about two thirds of this margin suffice, or even less if there
    have been no waits recently. See ``benchmarks/overrun.py``.
    """
    margin = min(0.06 + movetime / 20, 0.25)
    if measured is not None:
        margin = min(0.04 + movetime / 40, 0.15, 0.012 + movetime / 100 + 12 * measured)
    return min(margin, movetime / 2)


class Searcher(Stoppable):
    """Search engine for one variant. It keeps its transposition table from move to move.

    A searcher serves one caller at a time. While it is searching, only `stop` may be called. Any other call from
    another thread or from the observer raises `UseError`. A searcher cannot be copied or pickled.

    Parameters
    ----------
    variant : Variant, str or path-like
        Rule set.
    hash_mib : int
        Maximum size of the transposition table in MiB.
    weights : mapping of str to float, optional
        Weights of the evaluation. By default, the tuned weights and their patterns are used.
    patterns : Patterns, optional
        Patterns of the evaluation, used only with ``weights``.
    flags : int
        Enabled parts of the search: `ALL`, or only some of them for tests.
    prober : Prober, optional
        Tablebase. It is probed for the position after each root move. If it is a `tablut.prober.TierProber`, it is also
        probed after every capture in the tree.
    table_mib : int
        Maximum memory in MiB for tablebase values used in the tree. The constructor loads these values.
    threads : int
        Number of threads, from 1 to 256. With a node limit, only a search with one thread is repeatable.

    Raises
    ------
    InputError
        If the tablebase belongs to another game, the memory is too small, or the number of threads is out of range.

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
            raise InputError(
                f"belongs to {prober.variant.name}, which is a different game from {variant.name}", subject="tablebase"
            )
        self._engine = engine_for(variant)
        evaluation = (
            evaluation_tables_for(variant) if weights is None else evaluation_tables(variant, weights, patterns)
        )
        table = empty_table(hash_mib)
        # Start compiling this kernel now, because this takes longer than anything else that the first move needs.
        ahead(search_root, self._engine.tables, at.new_state(variant.size, table, evaluation), 0, 0, 0)
        tables = load_tables(prober, table_mib << 20)
        self._first = Worker(self._engine, variant.size, table, evaluation, tables)
        self._crew = Crew(
            lambda: Worker(self._engine, variant.size, table, evaluation, beside(tables)), check_threads(threads) - 1
        )
        self._flags = flags
        self._generation = 0
        self._ends: int | None = None
        self._wait = _FIRST_WAIT
        self._prober = prober
        self._warm_up()

    @property
    def _state(self) -> at.SearchState:
        """The first thread's search state."""
        return self._first.state

    def _warm_up(self) -> None:
        """Load or compile the kernels now, so that the first search loses no time."""
        cells = diagram_cells(self.variant.start)
        for side in ("w", "b"):
            board = self._engine.board(cells, side)
            # In a custom variant, one side may have no legal move in the start position.
            if moves := self._engine.legal_moves(board).tolist():
                self.think(Root(board, moves, [], plies=0), SearchLimits(nodes=1))
                break
        self.forget()

    @alone
    def forget(self) -> None:
        """Clear the transposition table and the history scores of moves."""
        self._crew.forget()
        self._state.table[:] = 0
        self._state.history[:] = 0
        self._generation = 0

    observer: Callable[[Choice], None] | None = None
    """Function called with the current choice after each iteration, in the searching thread."""

    def stop(self) -> None:
        """End the search that is running in another thread, or the next search if no search is running.

        The search returns the best move found so far. A stop ends only one search. If a search was stopped before it
        began, it still completes its first iteration. If the search may already have ended when `stop` was called, call
        `clear_stop` before the next search.
        """
        self._stop_asked = True
        self._state.stop[0] = 1

    # -- one search --------------------------------------------------------------------

    @alone
    def search(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the best move found within the limits.

        Parameters
        ----------
        board : Board
            Board of this variant with a game that is not over. The game history counts for repetition and
            the move limit. The board is not changed.
        limits : SearchLimits
            Limits on time, nodes or depth, at least one of which is set. If ``movetime`` is set, the result is returned
            before this time has passed.

        Returns
        -------
        Choice
            A legal move together with the search results.

        Raises
        ------
        InputError
            If the game is over, the board belongs to another variant, or no limit is given.
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
            choice = self._think(self.root(board, moves), limits, started)
            line = self._line_to_the_end(board, choice)
        return choice._replace(pv=line, tbhits=tbhits + choice.tbhits, seconds=wall_clock() - began)

    @alone
    def value(self, board: Board, depth: int) -> int:
        """Search a position to a fixed depth with the full window, and return its value.

        Tests compare this value with the result of a simple search written in Python.

        Parameters
        ----------
        board : Board
            Board with a game that is not over.
        depth : int
            Depth in plies, at least 1.

        Returns
        -------
        int
            Score for the side to move; see `tablut.play.search.limits`.

        Raises
        ------
        UnknownError
            If the search was stopped.
        """
        with self._deadline(0.0, None):
            self._crew.wait()
            self._prepare(self.root(board))
            value = self._first.iterate(depth)
            if self._stop_asked:
                raise UnknownError("is not known, because the search was stopped", subject=f"value at depth {depth}")
            return value

    def _is_due(self) -> bool:
        """Return whether the search has reached its deadline."""
        return self._ends is not None and monotonic_ns() >= self._ends

    def _is_over(self) -> bool:
        """Return whether the search has to end, because it has reached its deadline or was stopped."""
        return self._is_due() or self._stop_asked

    def _line_to_the_end(self, board: Board, choice: Choice) -> tuple[Move, ...]:
        """Return the principal variation, extended until the game ends if its last two plies are missing.

        These plies are missing if every move loses in two plies, because the search does not try such moves.
        """
        line = choice.pv
        if choice.mate is None or len(line) + 2 != abs(choice.mate):
            return line
        copied = board.copy()
        for move in line:
            copied.push(move)
        if (copied.turn == board.turn) == (choice.mate > 0):
            return line  # the line ends in a tablebase position with the winner to move
        for reply in list(copied.legal_moves):
            if self._is_due():
                break  # returning in time matters more than a complete line
            copied.push(reply)
            winner = copied.turn
            for move in list(copied.legal_moves):
                copied.push(move)
                outcome = copied.outcome()
                copied.pop()
                if outcome is not None and outcome.winner == winner:
                    return (*line, reply, move)
            copied.pop()
        return line

    @contextmanager
    def _deadline(self, started: float, movetime: float | None) -> Iterator[None]:
        """Set a search's deadline (move time minus margin). On exit, clear the deadline and the stop flag."""
        # Only the kernel's flag is cleared here, because `_deepen` still has to detect a stop that was requested before
        # the search.
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
        """Return the best move found within the limits, without probing a tablebase at the root.

        This method is like `search`, but takes a root in the engine's representation.

        Parameters
        ----------
        root : Root
            Undecided position with at least one move.
        limits : SearchLimits
            Limits on time, nodes or depth, at least one of which is set. ``movetime`` is checked only between
            iterations.
        started : float, optional
            Start of the move time, as a value of `time.perf_counter`. By default, the call time.

        Returns
        -------
        Choice
            One of the root moves together with the search results.
        """
        with self._deadline(0.0, None):
            return self._think(root, limits, started)

    def _think(self, root: Root, limits: SearchLimits, started: float | None) -> Choice:
        """Search as described in `think`, after the deadline has been set."""
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
        """Run the first thread's iterations until a limit, a stop or a proof ends them."""
        first, counters = self._first, self._state.counters
        best, score, depth = 0, 0, 0
        line: list[int] = []
        for wanted in range(1, (limits.depth or MAX_PLY - 1) + 1):
            value = first.aspire(wanted, score if depth else None)
            interrupted = first.stopped
            if self._ends is not None and counters.last_reading != 0:
                # The wait for the interpreter's lock is included, because the next search may have to wait for it too.
                waited = monotonic_ns() - int(counters.last_reading) if interrupted else 0
                self._wait = max(waited, int(counters.longest_gap)) * _WAIT_EIGHTHS // 8
            if counters.root_move != 0 and not (interrupted and counters.root_score <= -PROVEN):
                # The best move of an interrupted iteration is also used, because it has been searched more deeply than
                # in the previous iteration. If this move loses, the previous best move is kept, because a move that has
                # not been searched yet may not lose.
                best, score, line = int(counters.root_move), int(counters.root_score), first.line()
            if interrupted:
                break
            depth, score = wanted, value
            if self.observer is not None:
                self.observer(self._choice_of(score, depth, line))
            if self._stop_asked:
                break
            if abs(value) >= PROVEN and MATE - abs(value) <= wanted:
                break  # no shorter win or loss can be found
            if limits.movetime is not None:
                alone = len(root.moves) == 1 and limits.depth is None
                if alone or time.perf_counter() - started > limits.movetime:
                    break
        if best == 0:
            # Not even the first root move has been searched completely.
            score, line = self._estimate(root.array), [root.moves[0]]
        return self._choice_of(score, depth, line)

    def _choice_of(self, score: int, depth: int, line: list[int]) -> Choice:
        counters, crew = self._state.counters, self._crew
        selective = max(int(counters.selective_depth), depth)
        nodes, hits = (int(getattr(counters, name)) + crew.count(name) for name in ("nodes", "tablebase_hits"))
        pv = tuple(Move.from_code(code, self.variant.size) for code in line)
        return Choice(pv[0], score, mate_in(score), depth, nodes, pv, hits, selective_depth=selective)

    # -- the state ---------------------------------------------------------------------

    def root(self, board: Board, moves: Sequence[Move] | None = None) -> Root:
        """Return the search root for a board.

        Parameters
        ----------
        board : Board
            Board with a game that is not over.
        moves : sequence of Move, optional
            Moves to choose from. By default, all legal moves.

        Returns
        -------
        Root
            Root to pass to `think`.
        """
        # If the search ignores repetition, the positions before the root do not matter.
        past = [] if self._repetition()[0] == 0 else reversible_keys(board)
        return Root(
            array=self._engine.board(board.position.cells, board.position.side),
            moves=[move.code for move in (board.legal_moves if moves is None else moves)],
            past=past,
            plies=board.ply,
        )

    def _prepare(self, root: Root, nodes: int = UNLIMITED) -> Conditions:
        """Set up the first thread's search, including the deadline, and return the settings for the other threads."""
        state, rules = self._state, self.variant.rules
        # Generations have eight bits, so their numbers repeat after 255 searches. Each search clears a different 255th
        # of the table, so that no entry survives until its number repeats. Clearing the whole table at once would take
        # too much time from a single move.
        self._generation = self._generation % _GENERATIONS + 1
        part = -(-(len(state.table) // 8) // _GENERATIONS) * 8
        state.table[(self._generation - 1) * part : self._generation * part] = 0
        plies_left = UNLIMITED if rules.move_limit is None else rules.move_limit - root.plies
        conditions = Conditions(self._flags, self._generation, *self._repetition(len(root.past)), plies_left)
        self._first.prepare(root, conditions, nodes)
        if self._ends is not None:
            counters = self._state.counters
            counters.next_reading = FIRST_LOOK
            counters.deadline = self._ends
            # Keep at least a quarter of the time for the search itself, even if long waits are expected.
            counters.longest_gap = min(self._wait, max(self._ends - monotonic_ns(), 0) * 3 // (4 * WAITS))
            counters.clock_address = clock_address()
            counters.clock_number = CLOCK
        return conditions

    def _repetition(self, reversible: int = 0) -> tuple[int, int]:
        """Return the code of the repetition rule, and the score of a recurrence for the side to move at the root.

        If there is no repetition rule, games could go on for ever. The search then treats a recurrence as slightly bad
        for the side to move at the root, so that this side repeats a position only if it is at a clear disadvantage. No
        proof is lost, because the shortest win never repeats a position. ``reversible`` is the number of plies since
        the last capture.
        """
        rule = RECURRENCES[self.variant.rules.repetition.result]
        if rule != 0 or not self._flags & at.SELECTIVE:
            return rule, 0
        return RECURRENCES["draw"], -_RECURRENCE_MARGIN - (reversible if self.variant.rules.move_limit is None else 0)

    def _estimate(self, array: NDArray[np.uint32]) -> int:
        """Return the evaluation of a board array for the side to move, without any search."""
        scores = np.zeros(1, dtype=np.int64)
        evaluate_boards(self._engine.tables, self._state.evaluation, array[None], scores)
        score = max(-EVALUATION_LIMIT, min(EVALUATION_LIMIT, int(scores[0])))
        return -score if head(array)[SIDE_AT] else score


def reversible_keys(board: Board) -> list[int]:
    """Return the Zobrist keys of the positions since the last capture, oldest first, except the current position."""
    copied = board.copy()
    keys = []
    while copied.ply > 0 and not copied.captured():
        copied.pop()
        keys.append(copied.zobrist_key())
    return keys[::-1]


# -- `Crew`: the helper threads of a search, which share its transposition table -----------


# Each helper runs a separate search of the same root. The first thread benefits from the helpers' results through the
# transposition table. The helpers start at different depths and with different root moves, so that they soon search
# different parts of the tree. There is no other coordination or synchronisation ("lazy SMP").


class Crew:
    """Helper threads of one searcher. The number of helpers may be 0."""

    def __init__(self, make: Callable[[], Worker], helpers: int) -> None:
        self._workers = [make() for _ in range(helpers)]
        self._threads: list[threading.Thread] = []
        self._busy: Sequence[Worker] = ()

    def share_of(self, nodes: int | None) -> tuple[int | None, int]:
        """Divide a search's node limit, and return the first thread's share and each helper's share."""
        if nodes is None:
            return None, UNLIMITED
        each = nodes // (len(self._workers) + 1)
        return nodes - each * len(self._workers), each

    def start(self, root: Root, conditions: Conditions, nodes: int) -> None:
        """Start the searches of all helpers."""
        self.wait()
        self._busy = self._workers if nodes else ()
        for number, worker in enumerate(self._busy, 1):
            turn = number % len(root.moves)
            worker.prepare(root._replace(moves=root.moves[turn:] + root.moves[:turn]), conditions, nodes)
            worker.state.stop[0] = 0
            # A helper that is still searching when the user interrupts the program must not keep the process alive.
            thread = threading.Thread(target=_help, args=(worker, number), daemon=True, name=f"search helper {number}")
            try:
                thread.start()
            except RuntimeError as error:
                raise MachineError(f"helper thread {number} cannot be started: {error}", subject="threads") from error
            self._threads.append(thread)

    def dismiss(self) -> None:
        """Signal the helpers to stop, without waiting for them. They stop within microseconds."""
        for worker in self._busy:
            worker.state.stop[0] = 1

    def wait(self) -> None:
        """Stop the helpers and wait until they have ended, so that only the caller uses the table."""
        self.dismiss()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def forget(self) -> None:
        """Clear the history scores of the helpers."""
        self.wait()
        for worker in self._workers:
            worker.state.history[:] = 0

    def count(self, name: str) -> int:
        """Return the sum of a counter over all helpers in the last search."""
        return sum(int(getattr(worker.state.counters, name)) for worker in self._busy)


def _help(worker: Worker, number: int) -> None:
    """Run a helper's iterations until the stop flag, its node limit or a proof ends them.

    Every second helper starts one ply deeper than the others.
    """
    expected = None
    for depth in range(1 + number % 2, MAX_PLY):
        value = worker.aspire(depth, expected)
        if worker.stopped or (abs(value) >= PROVEN and MATE - abs(value) <= depth):
            return
        expected = value
