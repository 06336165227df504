"""``python -m benchmarks.search_threads``: measure how much several threads speed up a search in wall time.

The same positions are searched for the same time with one thread and with several. The ratio of the nodes per second
shows whether the threads hinder each other. It is meaningful only on an idle machine.
"""

from __future__ import annotations

from random import Random
from statistics import median

import click
import numpy as np

from tablut.board import Board
from tablut.play.search.limits import SearchLimits
from tablut.play.search.searcher import Searcher


def rates(searcher: Searcher, positions: int, seconds: float, seed: int) -> list[float]:
    """Return a searcher's nodes per second of wall time for each of several random positions."""
    random, found = Random(seed), []
    while len(found) < positions:
        board = Board(searcher.variant)
        for _ in range(random.randrange(4, 21)):
            if board.outcome() is None:
                board.push(random.choice(list(board.legal_moves)))
        if board.outcome() is not None:
            continue
        searcher.forget()
        result = searcher.search(board, SearchLimits(movetime=seconds))
        if result.mate is None:
            found.append(result.nodes / result.seconds)
    return found


@click.command(context_settings={"show_default": True})
@click.option("--threads", type=int, default=2, help="Number of threads to compare with one.")
@click.option("--positions", type=int, default=20, help="Number of positions.")
@click.option("--seconds", type=float, default=2.0, help="Time for each search in seconds.")
@click.option("--variant", default="ashton", help="Rule set.")
@click.option("--seed", type=int, default=1, help="Seed of the positions.")
def command(threads: int, positions: int, seconds: float, variant: str, seed: int) -> None:
    """Print the nodes per second with one thread and with several, and quantiles of their ratio."""
    one, several = (Searcher(variant, hash_mib=64, threads=number) for number in (1, threads))
    alone, together = (rates(searcher, positions, seconds, seed) for searcher in (one, several))
    ratios = np.quantile(np.array(together) / np.array(alone), [0, 0.25, 0.5, 0.75, 1])
    shown = " ".join(f"{ratio:.2f}" for ratio in ratios)
    click.echo(f"one thread {median(alone):,.0f} nodes a second, {threads} threads {median(together):,.0f}")
    click.echo(f"ratio: min, quarter, median, three quarters, max {shown}")


if __name__ == "__main__":
    command()
