"""``python -m benchmarks.overrun``: measure how closely a search keeps to its time limit on an idle or busy machine.

A busy machine is simulated by several processes that keep the CPU fully busy, and by a thread of this process that
competes for the interpreter lock. A negative figure is the time left when the search ended. A positive figure means
that the search was late.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING

import click
import numpy as np

from tablut.board import Board
from tablut.play.search.limits import SearchLimits
from tablut.play.search.searcher import Searcher

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def crowd(processes: int) -> Iterator[None]:
    """Keep the processors and the interpreter lock busy within the context, or do nothing if ``processes`` is 0."""
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
    """Search from random positions, and return by how many seconds each search exceeded its time limit."""
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


@click.command(context_settings={"show_default": True})
@click.option("--searches", type=int, default=60, help="Number of searches for each time limit.")
@click.option("--processes", type=int, default=3, help="Number of processes that keep the machine busy, or 0.")
@click.option("--seed", type=int, default=1, help="Seed of the positions.")
def overruns_command(searches: int, processes: int, seed: int) -> None:
    """Print quantiles of the overrun, one line for each time limit."""
    searcher = Searcher("ashton", hash_mib=16)
    with crowd(processes):
        for movetime in (0.1, 0.2, 0.4, 1.0):
            late = np.array(overruns(searcher, movetime, searches, seed))
            shown = " ".join(f"{1000 * value:8.1f}" for value in np.quantile(late, [0, 0.5, 0.9, 0.99, 1]))
            click.echo(f"{movetime} s: min, median, 90 %, 99 %, max in ms: {shown}; over: {int((late > 0).sum())}")


if __name__ == "__main__":
    overruns_command()
