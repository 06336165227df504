"""``python -m benchmarks.search_threads``: what a second thread adds to a search, by the clock on the wall.

Each position is searched for the same time with one thread and with several, in turn. The ratio of the
nodes in a second says whether the threads hinder each other. It means something on an idle machine only.
"""

from __future__ import annotations

from random import Random
from statistics import median
from typing import Annotated

import numpy as np
import typer

from tablut.board import Board
from tablut.play.search.limits import SearchLimits
from tablut.play.search.searcher import Searcher


def rates(searcher: Searcher, positions: int, seconds: float, seed: int) -> list[float]:
    """Return the nodes that a searcher makes in a second on the wall, by position."""
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


def command(
    threads: Annotated[int, typer.Option(help="Compared with one.")] = 2,
    positions: Annotated[int, typer.Option(help="How many.")] = 20,
    seconds: Annotated[float, typer.Option(help="For each search.")] = 2.0,
    variant: Annotated[str, typer.Option(help="A rule set.")] = "ashton",
    seed: Annotated[int, typer.Option(help="Of the positions.")] = 1,
) -> None:
    """Print nodes a second with one thread and with several, and quantiles of their ratio."""
    one, several = (Searcher(variant, hash_mib=64, threads=number) for number in (1, threads))
    alone, together = (rates(searcher, positions, seconds, seed) for searcher in (one, several))
    ratios = np.quantile(np.array(together) / np.array(alone), [0, 0.25, 0.5, 0.75, 1])
    shown = " ".join(f"{ratio:.2f}" for ratio in ratios)
    typer.echo(f"one thread {median(alone):,.0f} nodes a second, {threads} threads {median(together):,.0f}")
    typer.echo(f"ratio: min, quarter, median, three quarters, max {shown}")


if __name__ == "__main__":
    typer.run(command)
