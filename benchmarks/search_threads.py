"""``python -m benchmarks.search_threads``: measure how much several threads speed up a search.

The same positions are searched for the same time with each number of threads. The ratio of the nodes per second to
those of one thread shows whether the threads hinder each other. Then the positions are searched to a fixed depth. The
ratio of the nodes that the first thread searches to the nodes of a search with one thread shows how much of the work
the other threads take over. The ratios of the elapsed times combine both effects. The speeds and times are meaningful
only on a machine that has a free core for each thread.

Example for a machine with eight cores: ``python -m benchmarks.search_threads --threads 2 --threads 4 --threads 8``.

With ``--match``, each number of threads plays a match against one thread instead. Both have the same time per move.
With ``--odds``, whoever plays black has more or less time than white, so that each side wins some of the games.
"""

from __future__ import annotations

import time
from random import Random
from typing import NamedTuple

import click
import numpy as np

from benchmarks.tuning.games import play_pairs
from benchmarks.tuning.judging import Judgement, judge_pairs
from tablut.board import Board
from tablut.play.arena.statistics import Sprt
from tablut.play.search.limits import SearchLimits
from tablut.play.search.searcher import Searcher

_NO_END = Sprt(0, 0.01)
"""Sequential test that never ends a match early, because its two Elo differences are too close to each other."""


class Measurement(NamedTuple):
    """Two measurements of a position: nodes per second, and the first thread's nodes and seconds to a fixed depth."""

    rate: float
    nodes: float
    seconds: float


def open_positions(variant: str, count: int, seed: int, depth: int) -> list[Board]:
    """Return random positions after 4 to 20 plies in which one thread finds no forced win at the given depth."""
    random, searcher = Random(seed), Searcher(variant, hash_mib=64)
    found: list[Board] = []
    while len(found) < count:
        board = Board(searcher.variant)
        for _ in range(random.randrange(4, 21)):
            if board.outcome() is None:
                board.push(random.choice(list(board.legal_moves)))
        searcher.forget()
        if board.outcome() is None and searcher.search(board, SearchLimits(depth=depth)).mate is None:
            found.append(board)
    return found


def measure(searcher: Searcher, board: Board, seconds: float, depth: int) -> Measurement:
    """Search a position with an empty table, first for the given time and then to the given depth."""
    searcher.forget()
    timed = searcher.search(board, SearchLimits(movetime=seconds))
    searcher.forget()
    started = time.perf_counter()
    searcher.search(board, SearchLimits(depth=depth))
    elapsed = time.perf_counter() - started
    return Measurement(timed.nodes / timed.seconds, float(searcher._state.counters.nodes), elapsed)


def match(
    variant: str, threads: int, *, pairs: int, movetime: float, odds: float, hash_mib: int, seed: int
) -> Judgement:
    """Play a match of several threads against one thread. Both players have the same time per move."""
    searchers = [Searcher(variant, hash_mib=hash_mib, threads=number) for number in (threads, 1)]
    played = play_pairs(
        searchers, searchers[0].variant, pairs=pairs, nodes=None, seed=seed, movetime=movetime, odds=odds
    )
    return judge_pairs(played, _NO_END, lambda stands: click.echo(stands, err=True))


@click.command(context_settings={"show_default": True})
@click.option("--threads", multiple=True, default=[2], help="Number of threads to compare with one. May be repeated.")
@click.option("--positions", default=20, help="Number of positions.")
@click.option("--seconds", default=2.0, help="Time for each timed search in seconds.")
@click.option("--depth", default=9, help="Depth of the other searches in plies.")
@click.option("--variant", default="ashton", help="Rule set.")
@click.option("--hash", "hash_mib", default=64, help="Size of the transposition table in MiB.")
@click.option("--seed", default=1, help="Seed of the positions or openings.")
@click.option(
    "--match", "pairs", type=click.IntRange(0, None), default=0, help="Number of pairs of games to play instead."
)
@click.option(
    "--movetime",
    type=click.FloatRange(0, None, min_open=True),
    default=0.1,
    help="Time per move in seconds in a match.",
)
@click.option(
    "--odds",
    type=click.FloatRange(0, None, min_open=True),
    default=1.0,
    help="Time of black in seconds for each second of white in a match. Their geometric mean is --movetime.",
)
def command(
    threads: tuple[int, ...],
    positions: int,
    seconds: float,
    depth: int,
    variant: str,
    hash_mib: int,
    seed: int,
    pairs: int,
    movetime: float,
    odds: float,
) -> None:
    """Print a line for each number of threads: its speed, and its work and time to a depth relative to one thread."""
    if pairs:
        for number in threads:
            found = match(variant, number, pairs=pairs, movetime=movetime, odds=odds, hash_mib=hash_mib, seed=seed)
            click.echo(f"{variant}, {number} threads, {movetime:g} s, odds {odds:g}, seed {seed}: {found}")
        return
    boards = open_positions(variant, positions, seed, depth)
    click.echo(f"{variant}, {positions} positions. Ratios to one thread, as medians (quartiles) or geometric means:")
    click.echo(
        f"{'threads':>7}  {'nodes a second':>14}  {'ratio':>17}  {f'nodes to depth {depth}':>16}  time to depth {depth}"
    )
    alone = np.array([])
    for number in (1, *(number for number in threads if number != 1)):
        searcher = Searcher(variant, hash_mib=hash_mib, threads=number)
        results = np.array([measure(searcher, board, seconds, depth) for board in boards])
        alone = results if number == 1 else alone
        low, ratio, high = np.quantile(results[:, 0] / alone[:, 0], [0.25, 0.5, 0.75])
        nodes, taken = np.exp(np.log(results[:, 1:] / alone[:, 1:]).mean(axis=0))
        shown = f"{ratio:.2f} ({low:.2f}-{high:.2f})"
        click.echo(f"{number:7}  {np.median(results[:, 0]):14,.0f}  {shown:>17}  {nodes:16.2f}  {taken:.2f}")


if __name__ == "__main__":
    command()
