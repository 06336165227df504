"""Speed of the compiled engine and the plain Python rules: ``pytest benchmarks/test_twins.py --benchmark-enable -s``.

The McGill paper claims that its light board is up to thirty times as fast as the board provided by the course (section
VII). For comparison, this toolkit's two implementations of the rules count the same move sequences from the start of
mcgill. Both make every move, including the last one. Times are CPU seconds of one thread.
`reports/studies/players/players.md` quotes the figures.
"""

import time

import pytest

from tablut.engine import engine_for
from tablut.play.players import make_player
from tablut.play.search import SearchLimits
from tablut.rules.naive import NaiveGame
from tablut.variants import load_variant

pytestmark = pytest.mark.benchmark(timer=time.process_time)

SEQUENCES = {2: 3_944, 3: 285_728}
"""Published numbers of move sequences from the start of mcgill, by depth."""


def sequences(game, position, depth):
    """Return the number of move sequences of ``depth`` plies, making every move as `perft_applied` does."""
    results = [game.apply(position, move) for move in game.legal_moves(position)]
    if depth == 1:
        return len(results)
    return sum(sequences(game, result.position, depth - 1) for result in results if result.outcome is None)


def rate(benchmark, name, amount):
    if benchmark.enabled:
        seconds = benchmark.stats.stats.min
        benchmark.extra_info[name] = amount / seconds
        print(f"\n{name}: {amount / seconds:,.0f} a second")  # noqa: T201


def test_sequences_made_by_the_naive_twin(benchmark):
    game = NaiveGame(load_variant("mcgill"))
    depth = 2
    found = benchmark.pedantic(sequences, (game, game.start(), depth), rounds=3)
    assert found == SEQUENCES[depth]
    rate(benchmark, "naive twin, sequences", found)


def test_sequences_made_by_the_engine(benchmark):
    engine = engine_for(load_variant("mcgill"))
    depth = 3
    found = benchmark.pedantic(engine.perft_applied, (engine.start(), depth), rounds=5, warmup_rounds=1)
    assert found.nodes == SEQUENCES[depth]
    rate(benchmark, "engine, sequences", found.nodes)


def test_moves_of_the_heuristic_player(benchmark):
    """Time the heuristic player's moves in a game against itself (paper: "between sub-millisecond times to 6ms").

    The quotation is from section VI-A of the McGill paper.
    """
    from tablut.board import Board

    player, positions = make_player("heuristic", "mcgill"), []
    board = Board("mcgill")
    while board.outcome() is None and board.ply < 60:
        positions.append(board.copy())
        board.push(player.choose(board, SearchLimits(nodes=1)).move)

    def choose_all():
        return [player.choose(position, SearchLimits(nodes=1)).move for position in positions]

    assert len(benchmark.pedantic(choose_all, rounds=5, warmup_rounds=1)) == len(positions)
    rate(benchmark, "heuristic, moves", len(positions))
