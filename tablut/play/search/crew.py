"""`Crew`: the other threads of a search, which fill the transposition table that all share.

Each helper searches the same root by iterations of its own; what it finds out, the first
thread meets in the table. They differ in the depths that they search, and in the order in
which they begin with the moves of the root, and soon in everything else. Nothing is agreed
on and nothing waited for ("lazy SMP").
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tablut.errors import MachineError
from tablut.play.search.scores import MATE, MAX_PLY, PROVEN
from tablut.play.search.worker import UNLIMITED, Root, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tablut.play.search.worker import Conditions

__all__ = ["Crew"]


class Crew:
    """Helpers of one searcher, none or more.

    Parameters
    ----------
    make : callable
        Makes a `Worker` with the table that is shared.
    helpers : int
        How many.
    """

    def __init__(self, make: Callable[[], Worker], helpers: int) -> None:
        self._workers = [make() for _ in range(helpers)]
        self._threads: list[threading.Thread] = []
        self._busy: Sequence[Worker] = ()

    def share_of(self, nodes: int | None) -> tuple[int | None, int]:
        """Return how many of the nodes of a search are the first thread's, and each helper's.

        Parameters
        ----------
        nodes : int or None
            The limit of all together.

        Returns
        -------
        tuple of (int or None, int)
            Together at most the limit; helpers that get none have nothing to do.
        """
        if nodes is None:
            return None, UNLIMITED
        each = nodes // (len(self._workers) + 1)
        return nodes - each * len(self._workers), each

    def start(self, root: Root, conditions: Conditions, nodes: int) -> None:
        """Have all helpers search.

        Parameters
        ----------
        root : Root
            Where.
        conditions : Conditions
            As for the first thread.
        nodes : int
            Moves that each may make; 0 for a search without helpers.

        Raises
        ------
        MachineError
            If the machine has no room for so many threads.
        """
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
        """Return the sum of a counter over the helpers of the last search.

        Parameters
        ----------
        counter : int
            Of `tablut.play.search.state`.

        Returns
        -------
        int
            While they search, what it was a moment ago.
        """
        return sum(int(worker.state.counters[counter]) for worker in self._busy)


def _help(worker: Worker, number: int) -> None:
    """Deepen until the stop flag, the nodes or a proof ends it; every other helper begins a ply deeper."""
    expected = None
    for depth in range(1 + number % 2, MAX_PLY):
        value = worker.aspire(depth, expected)
        if worker.stopped or (abs(value) >= PROVEN and MATE - abs(value) <= depth):
            return
        expected = value
