"""Speed of the proof search: ``pytest benchmarks/test_puzzles.py --benchmark-enable --benchmark-only``.

A node is a move made on the board. Times are CPU seconds of the process on one thread, unless stated
otherwise. `docs/notes/puzzles.md` describes the optimisations that were tried.
"""

import time

import pytest

from retrograde.proofs.solver import Solver
from retrograde.proofs.win_search import ProofBudget, ProofLimits, WinSearch
from retrograde.puzzles.puzzle_file import collection_names, parse_puzzles, read_puzzle_text
from tablut.board import Board
from tablut.engine import engine_for
from tablut.position import Position
from tablut.variants import load_variant

pytestmark = pytest.mark.benchmark(timer=time.process_time)

# Each case consists of the variant, the position (the start if empty), the prover, the bound in plies if the benchmark
# is enabled, and the bound if it is disabled. No win exists within the bounds, so the whole tree is searched.
EXCLUDED = [
    ("ashton", "", 0, 7, 5),
    ("mcgill", "9/2b6/4w4/b1b1w3b/3wK2wb/b3w3b/2b6/4b4/3b5 b", 1, 7, 5),
    ("brandubh", "", 0, 8, 4),
]


@pytest.mark.parametrize(("name", "text", "prover", "bound", "shallow"), EXCLUDED, ids=[case[0] for case in EXCLUDED])
def test_exclude_a_win(benchmark, name, text, prover, bound, shallow):
    variant = load_variant(name)
    engine = engine_for(variant)
    position = Position.parse(text or variant.start_position, variant.size)
    board = engine.board(position.cells, position.side)
    WinSearch(engine, prover, 1 << 20, ProofBudget(ProofLimits())).within(board, 3)
    nodes = []

    def run():
        search = WinSearch(engine, prover, 256 << 20, ProofBudget(ProofLimits(nodes=1 << 62)))
        assert search.within(board, bound if benchmark.enabled else shallow) is False
        nodes.append(search.budget.nodes)

    benchmark.pedantic(run, rounds=3)
    report(benchmark, f"excluded on {name}", nodes[-1])


def test_solve_a_long_win(benchmark):
    variant = load_variant("brandubh")
    position = Position.parse("7/7/2bb3/b2Kw1w/6w/7/1b1b3 w", 7)
    solver = Solver(variant, ProofLimits(positions=0))
    solver.solve(position)
    found = benchmark.pedantic(solver.solve, (position,), rounds=3)
    assert found.dtm == 7
    report(benchmark, "white wins in 7", found.nodes)


@pytest.mark.parametrize("way", ["any win", "the distance told", "one bound after the other"])
def test_prove_the_puzzles(benchmark, way):
    """Search each puzzle of 9 to 17 plies until it is proved."""
    puzzles = [puzzle for name in collection_names() for puzzle in parse_puzzles(name, read_puzzle_text(name))]
    chosen = [puzzle for puzzle in puzzles if 9 <= puzzle.stipulation.plies <= (17 if benchmark.enabled else 9)]
    searches = []

    def run():
        searches.clear()
        for puzzle in chosen:
            winner, plies = puzzle.stipulation
            engine = engine_for(load_variant(puzzle.variant))
            board = engine.board(puzzle.position.cells, puzzle.position.side)
            search = WinSearch(engine, int(winner == "black"), 256 << 20, ProofBudget(ProofLimits(nodes=1 << 62)))
            searches.append(search)
            bounds = range(plies % 2 or 2, plies + 1, 2) if way == "one bound after the other" else [plies]
            assert search.wins(board) if way == "any win" else [search.within(board, bound) for bound in bounds][-1]

    benchmark.pedantic(run, rounds=1, warmup_rounds=1)
    report(benchmark, f"{len(chosen)} puzzles, {way}", sum(search.budget.nodes for search in searches))


# Moves that lead through four positions of the proof after d2-g2. Proving one of these positions takes 17 to 197
# million nodes on one thread.
LONG_WIN = ["d2-g2", "d3-g3", "b4-b2", "c4-c1", "d1-d3", "e4-e3", "b2-d2", "d4-c4", "d6-b6"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.benchmark(timer=time.perf_counter)
def test_prove_by_threads(benchmark, threads):
    """Prove long wins with threads that share one table.

    Times are wall time, because CPU time would hide the speed-up.
    """
    variant = load_variant("brandubh-federation")
    engine, searches = engine_for(variant), []

    def run():
        searches.clear()
        for plies in range(6, 10):
            board = Board(variant)
            for move in LONG_WIN[:plies]:
                board.push_text(move)
            budget = ProofBudget(ProofLimits(nodes=1 << 62))
            searches.append(WinSearch(engine, 0, 512 << 20, budget, threads=threads))
            most = None if benchmark.enabled else 1_000
            won = searches[-1].wins(engine.board(board.position.cells, board.position.side), most)
            assert won or not benchmark.enabled

    benchmark.pedantic(run, rounds=3, warmup_rounds=0)
    report(benchmark, f"{threads} threads", sum(search.budget.nodes for search in searches))


def report(benchmark, name, nodes):
    if benchmark.enabled:
        seconds = benchmark.stats.stats.min
        benchmark.extra_info[name] = nodes / seconds
        print(f"\n{name}: {nodes:,} nodes, {nodes / seconds / 1e6:.1f} M/s")  # noqa: T201
