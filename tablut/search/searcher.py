"""`Searcher`: iterative deepening within strict limits, around the compiled search.

The kernel runs without the interpreter's lock and looks at a stop flag at every node. A
watchdog thread raises the flag a margin before the time is up, so that what follows,
waking up and reading the result, ends in time too.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np

from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.position import Move
from tablut.search import state as at
from tablut.search.evaluation import evaluate_boards
from tablut.search.limits import Limits, SearchResult
from tablut.search.root_probe import probe_moves
from tablut.search.scores import EVALUATION_LIMIT, MATE, MAX_PLY, PROVEN
from tablut.search.terms import evaluation_tables, evaluation_tables_for
from tablut.search.transposition import empty_table
from tablut.search.tree import search_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tablut.board import Board
    from tablut.prober import Prober
    from tablut.variants import Variant

__all__ = ["ALL", "PLAIN", "Searcher", "time_margin"]

PLAIN: Final = 0
"""Alpha-beta alone, to a fixed depth: its value is that of minimax."""
ALL: Final = at.TRANSPOSITIONS | at.SELECTIVE | at.QUIESCENCE

_INFINITE: Final = MATE + 1
_UNLIMITED: Final = 1 << 62
_RULES: Final = {"none": 0, "draw": 1, "mover_loses": 2}
_WINDOW: Final = 40
"""Half the width of the first aspiration window, in centi-logits."""
_WORTHWHILE: Final = 0.6
"""The share of the time after which no iteration is begun: it would hardly be completed."""


def time_margin(movetime: float) -> float:
    """Return how many seconds before its time is up a search is told to stop.

    Ten milliseconds and a twentieth of the time, yet never more than half of it: waking
    up and handing over takes well below a millisecond on an idle machine and some
    periods of the scheduler, of a few milliseconds each, on a crowded one.

    Examples
    --------
    >>> round(time_margin(2), 3), round(time_margin(0.01), 3)
    (0.11, 0.005)
    """
    return min(0.01 + movetime / 20, movetime / 2)


class Searcher:
    """Search of one variant, with a memory that lasts from move to move.

    Parameters
    ----------
    variant : Variant
        The rule set.
    hash_mib : int
        Memory of the transposition table, at most.
    weights : mapping of str to float, optional
        Of the evaluation; the tuned ones by default.
    flags : int
        `ALL`, or fewer of its parts, for tests.

    Examples
    --------
    >>> from tablut.board import Board
    >>> board = Board("ashton-5-4v0")
    >>> result = Searcher(board.variant, hash_mib=1).search(board, Limits(nodes=2000))
    >>> result.mate, len(result.pv)
    (3, 3)
    """

    def __init__(
        self, variant: Variant, *, hash_mib: int = 64, weights: Mapping[str, float] | None = None, flags: int = ALL
    ) -> None:
        self.variant = variant
        self._engine = engine_for(variant)
        self._evaluation = evaluation_tables_for(variant) if weights is None else evaluation_tables(variant, weights)
        self._state = at.new_state(variant.size, empty_table(hash_mib))
        self._flags = flags
        self._generation = 0
        self._warm_up()

    def _warm_up(self) -> None:
        """Load or compile the kernels, so that no search pays for it."""
        start = self._engine.start()
        self._prepare(start, self._engine.legal_moves(start).tolist(), [], plies=0)
        self._state.counters[at.NODE_LIMIT] = 1
        self._iterate(1, -_INFINITE, _INFINITE)
        self.forget()

    def forget(self) -> None:
        """Empty the transposition table and the history of moves."""
        self._state.table[:] = 0
        self._state.history[:] = 0
        self._generation = 0

    def stop(self) -> None:
        """End a search that runs in another thread; it answers with what it has."""
        self._state.stop[0] = 1

    # -- one search --------------------------------------------------------------------

    def search(self, board: Board, limits: Limits, *, prober: Prober | None = None) -> SearchResult:
        """Return the best move found within limits.

        Parameters
        ----------
        board : Board
            Of this variant, its game not over; its history counts for repetition and
            the move limit. Not changed.
        limits : Limits
            At least one. With ``movetime``, the answer comes before that time is up.
        prober : Prober, optional
            Asked about the position and all that a move leads to.

        Raises
        ------
        InputError
            If the game is over, the board is of another variant, or the limits are none.
        """
        started = time.perf_counter()
        limits = limits.checked()
        if board.variant != self.variant:
            raise InputError(f"position '{board.position}': is of {board.variant.name}, not of {self.variant.name}")
        moves = list(board.legal_moves)
        if board.outcome() is not None or not moves:
            raise InputError(f"position '{board.position}': the game is over; there is no move to choose")
        with self._watchdog(started, limits.movetime):
            probed = None if prober is None else probe_moves(board.copy(), prober)
            if probed is not None:
                best = probed[0]
                if best.score != 0:
                    spent = time.perf_counter() - started
                    return SearchResult(best.move, best.score, 0, 0, 0, (best.move,), spent, "tablebase")
                moves = [found.move for found in probed if found.score == 0]
            return self._deepen(board, moves, limits, started)

    def value(self, board: Board, depth: int) -> int:
        """Return the value of a position at a fixed depth with the full window, for comparison with the twin."""
        self._set_up(board, list(board.legal_moves))
        self._state.counters[at.NODE_LIMIT] = _UNLIMITED
        self._state.stop[0] = 0
        return self._iterate(depth, -_INFINITE, _INFINITE)

    def evaluation(self, board: Board) -> int:
        """Return the evaluation of a position for the side to move, nothing searched."""
        array = self._engine.board(board.position.cells, board.position.side)
        scores = np.zeros(1, dtype=np.int64)
        evaluate_boards(self._engine.tables, self._evaluation, array[None], scores)
        score = max(-EVALUATION_LIMIT, min(EVALUATION_LIMIT, int(scores[0])))
        return score if board.turn == "white" else -score

    @contextmanager
    def _watchdog(self, started: float, movetime: float | None) -> Iterator[None]:
        """Raise the stop flag when the time, less a margin, is up."""
        self._state.stop[0] = 0
        if movetime is None:
            yield
            return
        left = started + movetime - time_margin(movetime) - time.perf_counter()
        timer = threading.Timer(max(left, 0.0), self.stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _deepen(self, board: Board, moves: list[Move], limits: Limits, started: float) -> SearchResult:
        self._set_up(board, moves)
        counters = self._state.counters
        counters[at.NODE_LIMIT] = limits.nodes or _UNLIMITED
        best, score, depth = 0, 0, 0
        line: list[int] = []
        alone = len(moves) == 1
        for wanted in range(1, (limits.depth or MAX_PLY - 1) + 1):
            value = self._aspire(wanted, score if depth else None)
            if counters[at.ROOT_MOVE] != 0:
                # Of an interrupted iteration, too: its best move so far replaced the last one on merit.
                best, score, line = int(counters[at.ROOT_MOVE]), int(counters[at.ROOT_SCORE]), self._line()
            if counters[at.STOPPED] != 0:
                break
            depth, score = wanted, value
            if abs(value) >= PROVEN and MATE - abs(value) <= wanted:
                break  # every line that is shorter has been searched
            if limits.movetime is not None:
                spent = time.perf_counter() - started
                if spent > _WORTHWHILE * limits.movetime or (alone and limits.depth is None):
                    break
        if best == 0:
            # Not even the first move was searched to its end.
            best, score, line = self._code(moves[0]), self.evaluation(board), []
        pv = [self._move(code) for code in line] if line[:1] == [best] else [self._move(best)]
        return SearchResult(
            move=self._move(best),
            score=score,
            depth=depth,
            selective_depth=max(int(counters[at.SELECTIVE_DEPTH]), depth),
            nodes=int(counters[at.NODES]),
            pv=tuple(pv),
            seconds=time.perf_counter() - started,
            source="search",
        )

    def _aspire(self, depth: int, expected: int | None) -> int:
        """Search to a depth within a window around the expected value, widened until the value lies in it."""
        width = _WINDOW
        if expected is None or depth < 4 or abs(expected) >= PROVEN:
            return self._iterate(depth, -_INFINITE, _INFINITE)
        alpha, beta = expected - width, expected + width
        while True:
            value = self._iterate(depth, max(alpha, -_INFINITE), min(beta, _INFINITE))
            if self._state.counters[at.STOPPED] != 0 or alpha < value < beta:
                return value
            width *= 4
            if value <= alpha:
                alpha = value - width if abs(value) < PROVEN else -_INFINITE
            else:
                beta = value + width if abs(value) < PROVEN else _INFINITE

    def _iterate(self, depth: int, alpha: int, beta: int) -> int:
        return int(search_root(self._engine.tables, self._evaluation, self._state, depth, alpha, beta))

    # -- the state ---------------------------------------------------------------------

    def _set_up(self, board: Board, moves: list[Move]) -> None:
        rule = self.variant.rules.repetition
        # Before the last capture there were more pieces: nothing from there recurs.
        past = _reversible_keys(board) if rule != "none" else []
        array = self._engine.board(board.position.cells, board.position.side)
        self._prepare(array, [self._code(move) for move in moves], past, plies=board.ply)

    def _prepare(self, array: NDArray[np.uint32], moves: list[int], past: list[int], plies: int) -> None:
        state, rules = self._state, self.variant.rules
        state.board[:] = array
        if len(state.keys) < len(past) + MAX_PLY + 1:
            self._state = state = state._replace(keys=np.zeros(2 * len(past) + MAX_PLY + 1, dtype=np.uint64))
        keys = [*past, self._engine.key(array)]
        state.keys[: len(keys)] = np.array(keys, dtype=np.uint64)
        state.reversible[0] = len(past)
        state.seen[:] = 0
        for key in keys:
            state.seen[key & (at.SEEN - 1)] += 1
        state.killers[:] = 0
        state.history[:] //= 8
        if self._generation == 255:
            self.forget()  # generations are told apart by eight bits
        self._generation += 1
        state.counters[:] = 0
        state.counters[at.LIMIT_PLY] = _UNLIMITED if rules.move_limit is None else rules.move_limit - plies
        state.counters[at.REPETITION_RULE] = _RULES[rules.repetition]
        state.counters[at.FLAGS] = self._flags
        state.counters[at.GENERATION] = self._generation
        state.counters[at.BASE] = len(past)
        state.counters[at.TABLE_MASK] = len(state.table) - 8
        state.counters[at.ROOT_MOVES] = len(moves)
        state.root_moves[: len(moves)] = moves

    def _line(self) -> list[int]:
        return self._state.line[: self._state.line_length[0]].tolist()

    def _move(self, code: int) -> Move:
        return Move(code & 127, code >> 7, self.variant.size)

    def _code(self, move: Move) -> int:
        return move.start | move.target << 7


def _reversible_keys(board: Board) -> list[int]:
    """Return the Zobrist keys of the positions before the last one, from the last capture on, the first one first."""
    walk = board.copy()
    keys = []
    while walk.ply > 0 and not walk.captured():
        walk.pop()
        keys.append(walk.zobrist_key())
    return keys[::-1]
