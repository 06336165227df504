"""Speed of the search on one thread: ``pytest benchmarks/test_search.py --benchmark-enable --benchmark-only -s``.

Times are CPU seconds of the process. A node is a move that is made on the board and evaluated, including the moves of
the quiescence search. `docs/notes/search-speed.md` quotes the figures.
"""

import time
from random import Random

import numpy as np
import pytest

from tablut.board import Board
from tablut.engine import engine_for
from tablut.play.search.evaluation import evaluate_boards, evaluation_tables_for
from tablut.play.search.limits import SearchLimits
from tablut.play.search.searcher import Searcher
from tablut.variants import load_variant

pytestmark = pytest.mark.benchmark(timer=time.process_time)


@pytest.mark.parametrize("name", ["ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh"])
def test_nodes_a_second(benchmark, name):
    board = Board(name)
    searcher = Searcher(board.variant)
    nodes = 4_000_000 if benchmark.enabled else 2000

    def search():
        searcher.forget()
        return searcher.search(board, SearchLimits(nodes=nodes))

    found = benchmark.pedantic(search, rounds=3, warmup_rounds=1 if benchmark.enabled else 0)
    assert found.nodes == nodes
    if benchmark.enabled:
        rate = nodes / benchmark.stats.stats.min
        benchmark.extra_info["nodes a second"] = rate
        print(f"\n{name}: {rate / 1e6:.2f} M nodes/s, depth {found.depth} ({found.selective_depth})")  # noqa: T201


def test_time_to_depth(benchmark):
    """Measure the CPU time that a search from the start of ashton, with an empty table, needs for each depth."""
    board = Board("ashton")
    searcher = Searcher(board.variant)
    depth = 14 if benchmark.enabled else 4

    def search():
        searcher.forget()
        reached = []
        for plies in range(1, depth + 1):
            started = time.process_time()
            found = searcher.search(board, SearchLimits(depth=plies))
            reached.append((plies, time.process_time() - started, found.nodes))
            searcher.forget()
        return reached

    reached = benchmark.pedantic(search, rounds=1)
    assert len(reached) == depth
    if benchmark.enabled:
        for plies, seconds, nodes in reached:
            print(f"\ndepth {plies:>2}: {seconds:8.3f} s, {nodes:>12,} nodes", end="")  # noqa: T201


def test_evaluation(benchmark):
    variant = load_variant("ashton")
    engine, evaluation = engine_for(variant), evaluation_tables_for(variant)
    random, boards = Random(1), []
    while len(boards) < 2000:
        board = Board(variant)
        for _ in range(random.randrange(4, 40)):
            if board.outcome() is None:
                board.push(random.choice(list(board.legal_moves)))
        if board.outcome() is None:
            boards.append(engine.board(board.position.cells, board.position.side))
        if not benchmark.enabled and len(boards) == 20:
            break
    many = np.array(boards * 100)
    scores = np.zeros(len(many), dtype=np.int64)
    benchmark.pedantic(evaluate_boards, (engine.tables, evaluation, many, scores), rounds=5, warmup_rounds=1)
    assert len(set(scores.tolist())) > 10
    if benchmark.enabled:
        print(f"\nevaluation: {benchmark.stats.stats.min / len(many) * 1e9:.1f} ns a position")  # noqa: T201
