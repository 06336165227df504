"""Workers that find several best lines, and helper threads that speed up the search for the first line.

The second line excludes the first move of the first line, and so on. Each line has its own transposition table, and is
restarted when an earlier line changes its first move, so the lines are those of separate searches. Moves that a
symmetry of the position maps to each other count as one line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from symmetry import stabiliser
from tablut.errors import MachineError
from tablut.play.search.limits import MATE, MAX_PLY, PROVEN, Choice
from tablut.play.search.tree import UNLIMITED, Conditions, Root, Worker

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.play.search.table_probing import ProbedMove
    from tablut.position import Move


def equivalent_moves(board: Board, moves: list[Move]) -> dict[int, set[int]]:
    """Return the codes of each move's equivalent moves, including the move itself, keyed by the move's code.

    Two moves are equivalent if a symmetry that preserves the position and all that can recur maps one to the other.
    """
    kept, copied = board.variant.symmetries, board.copy()
    while True:
        kept = stabiliser(kept, copied.position.cells)
        if len(kept) == 1 or not copied.ply or copied.captured():
            break
        copied.pop()
    return {move.code: {move.transformed(symmetry).code for symmetry in kept} for move in moves}


def clear(worker: Worker) -> None:
    """Clear a worker's transposition table and history scores."""
    worker.state.table[:] = 0
    worker.state.history[:] = 0


class LineRequest(NamedTuple):
    """Request for the best lines of a position.

    - ``lines``: Number of lines.
    - ``alike``: Codes of each move's equivalent moves, keyed by the move's code. Empty if only one line is requested.
    - ``board``, ``probed``: Board, needed if a tablebase was probed, and the moves with their values, best first.
    """

    lines: int = 1
    alike: Mapping[int, set[int]] = MappingProxyType({})
    board: Board | None = None
    probed: Sequence[ProbedMove] = ()

    def excludes(self, code: int) -> set[int]:
        """Return the moves excluded from later lines if an earlier line begins with the given move."""
        return self.alike.get(code, {code})


class Line:
    """One of the best lines of a position, and the worker that searches it.

    - ``root``: Root with the moves to choose from, or None if the search has not begun.
    - ``depth``, ``score``: Depth of the last completed iteration, and the best score so far.
    - ``moves``: Codes of the moves of the best line so far.
    - ``known``: Line from a tablebase, which needs no search.
    - ``settled``: Whether the result is final.
    """

    def __init__(self, worker: Worker, begin: Callable[[Worker, Root], None]) -> None:
        self.worker, self._begin = worker, begin
        self.root: Root | None = None
        self.known: Choice | None = None
        self._spent = 0
        self._reset()

    def _reset(self) -> None:
        self.depth, self.score, self.settled = 0, 0, False
        self.moves: list[int] = []

    @property
    def nodes(self) -> int:
        """Number of moves made, including the moves made before the search was restarted."""
        return self._spent + (0 if self.root is None else int(self.worker.state.counters.nodes))

    def limit_nodes(self, more: int) -> None:
        """Let the search make at most ``more`` further moves."""
        counters = self.worker.state.counters
        counters.node_limit = counters.nodes + more

    def choose_from(self, root: Root) -> None:
        """Set the moves to choose from. If they have changed, restart the search with an empty table."""
        if self.root is not None:
            if self.known is None and root.moves == self.root.moves:
                return
            self._spent = self.nodes
            clear(self.worker)
        self._reset()
        self.root, self.known = root, None
        self._begin(self.worker, root)

    def settle(self, known: Choice) -> None:
        """Set a line that needs no search."""
        self._reset()
        self.known, self.settled, self.moves = known, True, [known.move.code]

    def deepen(self, wanted: int, watch: Callable[[Worker], None]) -> bool:
        """Run the iterations up to the given depth. Call ``watch`` after each. Return whether one was interrupted."""
        counters = self.worker.state.counters
        while self.depth < wanted and not self.settled:
            value = self.worker.aspire(self.depth + 1, self.score if self.depth else None)
            interrupted = self.worker.stopped
            watch(self.worker)
            if counters.root_move != 0 and not (interrupted and counters.root_score <= -PROVEN):
                # The best move of an interrupted iteration is also used, because it has been searched more deeply than
                # in the previous iteration. If this move loses, the previous best move is kept, because a move that has
                # not been searched yet may not lose.
                self.score, self.moves = int(counters.root_score), self.worker.line()
            if interrupted:
                return True
            self.depth, self.score = self.depth + 1, value
            self.settled = abs(value) >= PROVEN and MATE - abs(value) <= self.depth  # no shorter end can be found
        return False


# -- `Crew`: the helper threads of a search, which share its transposition table -----------


# Each helper runs a separate search of the same root. The first thread benefits from the helpers' results through the
# transposition table. The threads divide the work by the marks: a thread postpones a move that another thread is
# searching (T. Kerrigan's simplified form of ABDADA; J.-C. Weill, The ABDADA distributed minimax-search algorithm, ICCA
# Journal 19 (1996) 3-16). They also share one history, so that all threads try moves in the same order and find each
# other's positions. The helpers start at different depths and with different root moves. There is no other
# synchronisation ("lazy SMP").


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

    def count(self, name: str) -> int:
        """Return the sum of a counter over all helpers in the last search."""
        return sum(int(getattr(worker.state.counters, name)) for worker in self._busy)


def _help(worker: Worker, number: int) -> None:
    """Run a helper's iterations until it is stopped or proves a result. Every second helper starts one ply deeper."""
    expected = None
    for depth in range(1 + number % 2, MAX_PLY):
        value = worker.aspire(depth, expected)
        if worker.stopped or (abs(value) >= PROVEN and MATE - abs(value) <= depth):
            return
        expected = value
