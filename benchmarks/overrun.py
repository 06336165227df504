"""``python -m benchmarks.overrun``: how close to its time a search answers, on an idle and on a crowded machine.

Crowded means some processes that never rest, and a thread of this process that holds the
interpreter's lock. A negative figure is time left over; a positive one is a broken promise.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from tablut.board import Board
from tablut.play.search.limits import SearchLimits
from tablut.play.search.searcher import Searcher

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def crowd(processes: int) -> Iterator[None]:
    """Keep processors and the interpreter's lock busy."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    done = threading.Event()

    def _burn() -> None:
        while not done.is_set():
            sum(range(1000))

    thread = threading.Thread(target=_burn)
    if processes:
        thread.start()
    try:
        yield
    finally:
        done.set()
        if processes:
            thread.join()
        for burner in burners:
            burner.kill()
            burner.wait()


def overruns(searcher: Searcher, movetime: float, searches: int, seed: int) -> list[float]:
    """Return by how many seconds searches of random positions answered after their time."""
    random, late = Random(seed), []
    while len(late) < searches:
        board = Board(searcher.variant)
        for _ in range(random.randrange(12)):
            if board.outcome() is None:
                board.push(random.choice(list(board.legal_moves)))
        if board.outcome() is not None:
            continue
        started = time.perf_counter()
        searcher.search(board, SearchLimits(movetime=movetime))
        late.append(time.perf_counter() - started - movetime)
    return late


def overruns_command(
    searches: Annotated[int, typer.Option(help="For each time.")] = 60,
    processes: Annotated[int, typer.Option(help="That keep the machine busy; 0 for an idle one.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the positions.")] = 1,
) -> None:
    """Print quantiles of seconds after the time, one line for each time."""
    searcher = Searcher("ashton", hash_mib=16)
    with crowd(processes):
        for movetime in (0.1, 0.2, 0.4, 1.0):
            late = np.array(overruns(searcher, movetime, searches, seed))
            shown = " ".join(f"{1000 * value:8.1f}" for value in np.quantile(late, [0, 0.5, 0.9, 0.99, 1]))
            typer.echo(f"{movetime} s: min, median, 90 %, 99 %, max in ms: {shown}; over: {int((late > 0).sum())}")


if __name__ == "__main__":
    typer.run(overruns_command)
