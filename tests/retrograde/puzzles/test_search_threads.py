"""The search in several threads against what is proved of the shipped puzzles."""

import pytest

from retrograde.puzzles.puzzle_file import read_puzzles
from tablut.board import Board
from tablut.play.search import Searcher, SearchLimits
from tablut.variants import load_variant


@pytest.mark.parametrize("threads", [2, 7])
def test_threads_find_the_forced_wins_of_shipped_puzzles(threads):
    """What they call proved is: never shorter than the true distance, and the win is found."""
    found, searchers = 0, {}
    for puzzle in read_puzzles("collection"):
        if puzzle.stipulation is None or puzzle.stipulation.plies is None or puzzle.stipulation.plies > 7:
            continue
        variant = load_variant(puzzle.variant)
        searcher = searchers.setdefault(variant.name, Searcher(variant, hash_mib=2, threads=threads))
        result = searcher.search(Board(variant, puzzle.position), SearchLimits(nodes=40_000 * threads))
        if result.mate is not None:
            winner = "white" if (result.mate > 0) == (puzzle.position.side == "w") else "black"
            assert winner == puzzle.stipulation.winner, puzzle.id
            assert abs(result.mate) >= puzzle.stipulation.plies, puzzle.id
            found += 1
    assert found >= 40
