"""The class `Searcher`, which runs the compiled search with iterative deepening and strict limits.

The kernel runs without the interpreter's lock. It reads the clock every thousand nodes and a stop flag at every node,
and stops before the end of the move time, by a margin that allows for acquiring the lock. On systems without a clock
that the kernel can read, a Python thread sets the flag. Only the first thread watches the time and supplies the result.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from tablut.engine import engine_for
from tablut.engine.jit import CLOCK, ahead, clock_address, monotonic_ns
from tablut.engine.layout import SIDE_AT, head
from tablut.errors import LARGEST, THREADS, InputError, TablutError, UnknownError, whole_number
from tablut.play.search import state as at
from tablut.play.search.evaluation import evaluate_boards, evaluation_tables, evaluation_tables_for
from tablut.play.search.expectation import expectation_for
from tablut.play.search.limits import (
    EVALUATION_LIMIT,
    MAX_PLY,
    MOST_LINES,
    RECURRENCES,
    Choice,
    Pace,
    SearchLimits,
    mate_in,
    moves_asked_about,
)
from tablut.play.search.node import FIRST_LOOK, WAITS
from tablut.play.search.table_probing import ProbedMove, beside, line_from, load_tables, probe_moves
from tablut.play.search.transposition import empty_table, own_lines
from tablut.play.search.tree import UNLIMITED, Conditions, Root, Worker, search_root
from tablut.play.search.workers import Crew, Line, LineRequest, clear, equivalent_moves
from tablut.position import Move, diagram_cells
from tablut.variants import as_variant
from tablut.work.clocks import alarm, wall_clock
from tablut.work.machine import check_memory
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
"""Largest disadvantage, in centi-logits, at which a side avoids repetition where no rule covers it.

If there is no move limit either, each ply since the last capture adds one centi-logit, so that games end.
"""
_GENERATIONS: Final = 255
_FIRST_WAIT: Final = 6_000_000
"""Length, in nanoseconds, of the waits that the first search expects, because no wait has been measured yet."""
_WAIT_EIGHTHS: Final = 7
"""Length of the waits that a search initially expects, in eighths of the longest wait in the previous search."""


def time_margin(movetime: float, *, measured: float | None = None) -> float:
    """Return how many seconds before the end of its move time a search stops.

    The margin is 60 ms plus a twentieth of the move time, but at most 250 ms, because a busy machine takes several
    periods of the scheduler to deliver a result. If waits are ``measured`` (in seconds) and reserved separately, about
    two thirds of this margin suffice (``benchmarks/overrun.py``).
    """
    margin = min(0.06 + movetime / 20, 0.25)
    if measured is not None:
        margin = min(0.04 + movetime / 40, 0.15, 0.012 + movetime / 100 + 12 * measured)
    return min(margin, movetime / 2)


class Searcher(Stoppable):
    """Search engine for one rule set. It keeps its transposition table from move to move.

    A searcher serves one caller at a time. While it is searching, any call except `stop` raises `UseError`.

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
        self._engine = engine = engine_for(variant)
        evaluation = (
            evaluation_tables_for(variant) if weights is None else evaluation_tables(variant, weights, patterns)
        )
        table = empty_table(hash_mib)
        # Start compiling this kernel now, because this takes longer than anything else that the first move needs.
        ahead(search_root, self._engine.tables, at.new_state(variant.size, table, evaluation), 0, 0, 0)
        tables = load_tables(prober, whole_number("table_mib", table_mib, most=LARGEST >> 20) << 20)
        self._first = Worker(self._engine, variant.size, table, evaluation, tables)
        self._hash_mib = hash_mib
        self._spare: list[Worker] = []
        # If this function referred to the searcher, the cycle of references would keep the searcher's large arrays in
        # memory until the next garbage collection.
        self._worker_with = lambda table: Worker(engine, variant.size, table, evaluation, beside(tables))
        self._crew = Crew(self._helper, THREADS("threads", threads) - 1)
        self._flags = flags | (at.SHARED if threads > 1 else 0)
        self._generation = 0
        self._ends: int | None = None
        self._wait = _FIRST_WAIT
        self._prober = prober
        self._expectation = expectation_for(variant) if weights is None else None
        self._drawn: Sequence[Move] = ()
        """Moves that certainly draw, according to a tablebase."""
        self._warm_up()

    @property
    def _state(self) -> at.SearchState:
        """The first thread's search state."""
        return self._first.state

    def _helper(self) -> Worker:
        """Return a worker that shares the first worker's transposition table, marks and history scores."""
        worker = self._worker_with(self._state.table)
        worker.state = worker.state._replace(marks=self._state.marks, history=self._state.history)
        return worker

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
        self._crew.wait()
        self._state.table[:] = 0
        self._state.history[:] = 0
        self._generation = 0

    observer: Callable[[Choice], None] | None = None
    """Function called with the current choice after each iteration of each line, in the searching thread."""

    def stop(self) -> None:
        """End the running search, or the next one if none is running, with the best move found so far.

        A stop ends one search only, after its first iteration. If the search may already have ended, call `clear_stop`.
        """
        self._stop_asked = True
        self._state.stop[0] = 1

    # -- one search --------------------------------------------------------------------

    @alone
    def search(
        self, board: Board, limits: SearchLimits, *, moves: Sequence[Move] | None = None, lines: int = 1
    ) -> Choice:
        """Return the best legal move found within the limits, and the next best lines in ``others``.

        Parameters
        ----------
        board : Board
            Board of this variant with a game that is not over. The game history counts for repetition and
            the move limit. The board is not changed.
        limits : SearchLimits
            Limits on time, nodes or depth, at least one of which is set. If ``movetime`` is set, the result is returned
            before this time has passed. On a clock, it is returned before `SearchLimits.longest` has passed.
        moves : sequence of Move, optional
            Moves to choose from. By default, all legal moves.
        lines : int
            Number of best lines to find; see `tablut.play.search.workers`. Fewer lines are returned if there are not
            enough moves that differ by more than a symmetry, or if the search is stopped early. Each line after the
            first needs a separate transposition table and is searched by a single thread.

        Raises
        ------
        InputError
            If the game is over, the board belongs to another variant, no limit is given, a move is not legal, or the
            number of lines is out of range.
        UseError
            If a search is already running.

        Examples
        --------
        >>> from tablut.board import Board
        >>> board = Board("brandubh")
        >>> found = Searcher(board.variant, hash_mib=1).search(board, SearchLimits(depth=3), lines=2)
        >>> [(line.rank, str(line.move), line.score) for line in (found, *found.others)]
        [(1, 'd2-c2', -232), (2, 'd2-b2', -242)]
        """
        started, began = time.perf_counter(), wall_clock()
        limits = limits.checked("movetime", "nodes", "depth")
        moves = moves_asked_about(board, self.variant, moves)
        lines = whole_number("lines", lines, 1, MOST_LINES)
        check_memory("lines", self._hash_mib * min(lines, len(moves)), lines)
        with self._deadline(started, limits.longest):
            probed, notes = None, []
            try:
                probed = None if self._prober is None else probe_moves(board.copy(), self._prober)
            except TablutError as error:
                notes.append(f"{error}; the tablebase was not used")
            tbhits = len(probed or ())
            probed = [found for found in probed or () if found.move in moves]
            if not board.ply or board.captured() or self.variant.rules.repetition.result == "none":
                self._drawn = [found.move for found in probed if found.score == 0]
            if lines == 1 and probed and probed[0].score != 0:
                found = self._tabled(board, probed[0])
            else:
                alike = equivalent_moves(board, moves) if lines > 1 else {}
                request = LineRequest(min(lines, len(moves)), alike, board, probed)
                found = self._think(self.root(board, moves), limits, started, request)
            return self._finished(board, found, tbhits, began)._replace(notes=tuple(notes))

    def _finished(self, board: Board, choice: Choice, tbhits: int, began: float) -> Choice:
        """Return a choice and its other lines with complete lines, the number of table hits and the time."""
        line = self._line_to_the_end(board, choice) if choice.source == "search" else choice.pv
        others = tuple(self._finished(board, other, tbhits, began) for other in choice.others)
        seconds = wall_clock() - began
        return choice._replace(pv=line, tbhits=tbhits + choice.tbhits, seconds=seconds, others=others)

    def _tabled(self, board: Board | None, best: ProbedMove) -> Choice:
        """Return the line for a move that wins or loses according to a tablebase."""
        assert self._prober is not None
        assert board is not None
        line = tuple(line_from(board.copy(), self._prober, best, self._is_over))
        points = float(best.score > 0)
        return Choice(best.move, best.score, mate_in(best.score), 0, 0, line, source="tablebase", points=points)

    @alone
    def value(self, board: Board, depth: int) -> int:
        """Return the score of a position on ``board``, searched to a fixed ``depth`` in plies with the full window.

        Raises
        ------
        UnknownError
            If the search was stopped.
        """
        with self._deadline(0.0, None):
            self._crew.wait()
            root, depth = self.root(board), whole_number("depth", depth, 1, MAX_PLY - 1)
            self._begin(self._prepare(root), self._first, root)
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
        """Return the principal variation, extended until the game ends if its last two plies are missing."""
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
            self._ends, self._stop_asked, self._drawn = None, False, ()

    @alone
    def think(self, root: Root, limits: SearchLimits, started: float | None = None) -> Choice:
        """Return the best move found within the ``limits``, without probing a tablebase at the ``root``.

        ``started`` is the start of the move time as a value of `time.perf_counter`, by default the time of the call.
        """
        with self._deadline(0.0, None):
            return self._think(root, limits, started)

    def _think(
        self,
        root: Root,
        limits: SearchLimits,
        started: float | None,
        request: LineRequest = LineRequest(),  # noqa: B008
    ) -> Choice:
        """Search as described in `think`, after the deadline has been set."""
        started = time.perf_counter() if started is None else started
        own, each = self._crew.share_of(limits.nodes)
        self._crew.wait()
        conditions = self._prepare(root)
        begin = partial(self._begin, conditions)
        lines = [Line(worker, begin) for worker in (self._first, *self._others(request.lines - 1))]
        self._set_moves(lines[0], root, request)
        try:
            if lines[0].root is not None:
                self._crew.start(lines[0].root, conditions, each)
            return self._deepen(root, limits._replace(nodes=own), started, lines, request)
        finally:
            self._crew.dismiss()

    def _others(self, number: int) -> list[Worker]:
        """Return workers for the lines after the first, with empty tables."""
        for worker in self._spare[:number]:
            clear(worker)
        while len(self._spare) < number:
            worker = self._worker_with(own_lines(len(self._state.table), np.uint64))
            worker.state = worker.state._replace(stop=self._state.stop)
            self._spare.append(worker)
        return self._spare[:number]

    def _deepen(
        self, root: Root, limits: SearchLimits, started: float, lines: list[Line], request: LineRequest
    ) -> Choice:
        """Run the iterations of all lines until a limit, a stop or a proof ends them."""
        found: list[Choice] = []
        pace = None if limits.clock is None else Pace(limits.clock)
        for wanted in range(1, (limits.depth or MAX_PLY - 1) + 1):
            deeper, interrupted = self._iterate(root, wanted, limits.nodes, lines, request)
            # If the iteration was interrupted, the missing lines are taken from the previous iteration.
            found = deeper + [
                old for old in found if not any(old.move.code in request.excludes(new.move.code) for new in deeper)
            ]
            if interrupted or self._stop_asked or all(line.settled for line in lines):
                break
            if limits.longest is not None:
                alone = len(root.moves) == 1 and limits.depth is None
                seconds, best = time.perf_counter() - started, found[0]
                enough = pace is not None and pace.is_enough(seconds, best.move.code, best.score or 0)
                if alone or enough or seconds > limits.longest:
                    break
        if request.lines > 1:
            nodes = max(sum(line.nodes for line in lines) + self._crew.count("nodes"), found[0].nodes)
            found = [choice._replace(rank=rank, nodes=nodes) for rank, choice in enumerate(found, 1)]
        return found[0]._replace(others=tuple(found[1 : request.lines]))

    def _iterate(
        self, root: Root, wanted: int, nodes: int | None, lines: list[Line], request: LineRequest
    ) -> tuple[list[Choice], bool]:
        """Search all lines to the given depth. Return the lines, best first, and whether the search was interrupted."""
        found: list[Choice] = []
        left = root
        for line in lines:
            if not left.moves:
                break
            self._set_moves(line, left, request)
            before = line.depth
            if nodes is not None:
                line.limit_nodes(nodes - sum(other.nodes for other in lines))
            interrupted = line.deepen(wanted, self._measure_wait)
            if interrupted and found and (line.depth < wanted - 1 or not line.moves):
                return found, True
            found.append(self._choice_of(line, lines, len(found) + 1))
            if interrupted:
                return found, True
            if self.observer is not None and (line.depth > before or line.known is not None):
                self.observer(found[-1])
            left = left._replace(moves=[code for code in left.moves if code not in request.excludes(line.moves[0])])
        del lines[len(found) :]
        return found, False

    def _set_moves(self, line: Line, root: Root, request: LineRequest) -> None:
        """Set the root moves that a line may begin with: all of them, unless a tablebase contains the position."""
        probed = [found for found in request.probed if found.move.code in root.moves]
        if not probed or probed[0].score == 0:
            moves = [found.move.code for found in probed if found.score == 0]
            line.choose_from(root._replace(moves=moves or root.moves))
        elif line.known is None or line.known.move != probed[0].move:
            line.settle(self._tabled(request.board, probed[0]))

    def _measure_wait(self, worker: Worker) -> None:
        """Record how long the operating system makes the search wait."""
        counters = worker.state.counters
        if self._ends is not None and counters.last_reading != 0:
            # The wait for the interpreter's lock is included, because the next search may have to wait for it too.
            waited = monotonic_ns() - int(counters.last_reading) if worker.stopped else 0
            self._wait = max(waited, int(counters.longest_gap)) * _WAIT_EIGHTHS // 8

    def _choice_of(self, line: Line, lines: list[Line], rank: int) -> Choice:
        if line.known is not None:
            return line.known._replace(rank=rank)
        assert line.root is not None
        score, codes, counters, crew = line.score, line.moves, line.worker.state.counters, self._crew
        if not codes:
            # Not even the first root move has been searched completely.
            score, codes = self._estimate(line.root.array), [line.root.moves[0]]
        selective = max(int(counters.selective_depth), line.depth)
        nodes = sum(other.nodes for other in lines) + crew.count("nodes")
        hits = int(counters.tablebase_hits) + crew.count("tablebase_hits")
        pv = tuple(Move.from_code(code, self.variant.size) for code in codes)
        own = line.nodes + (crew.count("nodes") if line is lines[0] else 0)
        points = 0.5 if pv[0] in self._drawn else self._points(line.root.array, score, own)
        found = Choice(pv[0], score, mate_in(score), line.depth, nodes, pv, hits, selective_depth=selective, rank=rank)
        return found._replace(points=points)

    def _points(self, array: NDArray[np.uint32], score: int, nodes: int) -> float | None:
        """Return the expected points of the side to move, or None if they were not measured."""
        if abs(score) > EVALUATION_LIMIT:
            return float(score > 0)
        if self._expectation is None:
            return None
        _, black, attackers, defenders = head(array).tolist()
        return round(self._expectation.expected(score, attackers + defenders, nodes, black=bool(black)), 4)

    # -- the state ---------------------------------------------------------------------

    def root(self, board: Board, moves: Sequence[Move] | None = None) -> Root:
        """Return the search root for a ``board`` whose game is not over, with the given or all legal ``moves``."""
        # If the search ignores repetition, the positions before the root do not matter.
        past = [] if self._repetition()[0] == 0 else reversible_keys(board)
        return Root(
            array=self._engine.board(board.position.cells, board.position.side),
            moves=[move.code for move in (board.legal_moves if moves is None else moves)],
            past=past,
            plies=board.ply,
        )

    def _prepare(self, root: Root) -> Conditions:
        """Prepare the transposition table for a search. Return the settings that all workers of the search share."""
        state, rules = self._state, self.variant.rules
        # Generations have eight bits, so their numbers repeat after 255 searches. Each search clears a different 255th
        # of the table, so that no entry survives until its number repeats. Clearing the whole table at once would take
        # too much time from a single move.
        self._generation = self._generation % _GENERATIONS + 1
        part = -(-(len(state.table) // 8) // _GENERATIONS) * 8
        state.table[(self._generation - 1) * part : self._generation * part] = 0
        plies_left = UNLIMITED if rules.move_limit is None else rules.move_limit - root.plies
        return Conditions(self._flags, self._generation, *self._repetition(len(root.past)), plies_left)

    def _begin(self, conditions: Conditions, worker: Worker, root: Root) -> None:
        """Set up a search, including the deadline, for a worker that runs in the searching thread."""
        worker.prepare(root, conditions, UNLIMITED)
        worker.state.history[:] //= 8
        if self._ends is not None:
            counters = worker.state.counters
            counters.next_reading = FIRST_LOOK
            counters.deadline = self._ends
            # Keep at least a quarter of the time for the search itself, even if long waits are expected.
            counters.longest_gap = min(self._wait, max(self._ends - monotonic_ns(), 0) * 3 // (4 * WAITS))
            counters.clock_address = clock_address()
            counters.clock_number = CLOCK

    def _repetition(self, reversible: int = 0) -> tuple[int, int]:
        """Return the code of the repetition rule, and the score of a recurrence for the side to move at the root.

        Without a repetition rule, a recurrence counts as slightly bad for this side, so that games do not go on for
        ever. No proof is lost, because the shortest win never repeats a position. ``reversible`` is the number of plies
        without capture.
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
