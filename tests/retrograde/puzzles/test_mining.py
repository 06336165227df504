"""Mining a tablebase: what is deepest, by looking at every position in plain Python."""

import numpy as np
import pytest

from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.solver import solve
from retrograde.puzzles.making import Wanted, is_symmetrical
from retrograde.puzzles.mining import from_tablebase
from retrograde.puzzles.puzzle_file import judge
from retrograde.solver.build import build_tablebase
from retrograde.tablebase import open_tablebase
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.board import Board
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.variants import load_variant
from tests.support.effort import slow_but

LIMITS = ProofLimits(nodes=2_000_000, memory_bytes=1 << 22, positions=0)
PLIES = (3, 99)


MEN = {"ashton-5-4v0": 4, "brandubh-5-4v4": 3}


@pytest.fixture(scope="module", params=slow_but(["brandubh-5-4v4"], MEN))
def mine(request, tmp_path_factory):
    name, men = request.param, MEN[request.param]
    variant = load_variant(name)
    store = tmp_path_factory.mktemp("mine") / "store"
    build_tablebase(store, variant, men)
    return variant, open_tablebase(store)


def attaining(board, prober, plies):
    """Return the moves after which the side to move has won in so many plies, by the plain rules."""
    found = []
    mover = {"w": "white", "b": "black"}[board.position.side]
    for move in board.legal_moves:
        board.push(move)
        outcome = board.outcome()
        if outcome is not None:
            if outcome.winner == mover and plies == 1:
                found.append(move)
        else:
            verdict = prober.probe(board.position)
            if verdict.wdl == "loss" and verdict.dtm == plies - 1:
                found.append(move)
        board.pop()
    return found


def puzzles_by_hand(variant, prober, least):
    """Return the canonical boards of all puzzles of at least so many plies, with their distance."""
    found = {}
    for one in list_positions(prober.store, TableQuery(wdl="win", shortest=least), 10**6).positions:
        board = Board(variant, one.position)
        if board.status() or is_symmetrical(variant, one.position):
            continue
        if len(attaining(board, prober, one.dtm)) == 1:
            found[board.canonical()] = one.dtm
    return found


def test_every_position_is_looked_at(mine) -> None:
    variant, prober = mine
    probed = from_tablebase(variant, prober, Wanted(number=20, seed=1, plies=PLIES, limits=LIMITS))
    depths = [puzzle.stipulation.plies for puzzle in probed.puzzles]
    assert len(depths) == 20
    assert depths == sorted(depths, reverse=True)
    by_hand = puzzles_by_hand(variant, prober, depths[-1])
    boards = [Board(variant, puzzle.position).canonical() for puzzle in probed.puzzles]
    assert len(set(boards)) == 20
    assert [by_hand[board] for board in boards] == depths
    # None that is deeper was missed.
    assert sorted(by_hand.values(), reverse=True)[:20] == depths
    for puzzle in probed.puzzles[:3]:
        solution = solve(variant, puzzle.position, limits=LIMITS, prober=prober)
        assert judge(puzzle, solution) == "holds"
        assert puzzle.first == solution.winning_moves


def test_a_window_of_plies_a_winner_and_a_seed(mine) -> None:
    variant, prober = mine
    first, again, other = (
        from_tablebase(variant, prober, Wanted(number=2, seed=seed, plies=(3, 3), limits=LIMITS, winner="white"))
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first.puzzles != other.puzzles
    assert {(puzzle.position.side, puzzle.stipulation.plies) for puzzle in first.puzzles} == {("w", 3)}


def test_a_small_pool_grows_until_it_holds_enough(mine, monkeypatch: pytest.MonkeyPatch) -> None:
    variant, prober = mine
    wanted = from_tablebase(variant, prober, Wanted(number=4, seed=1, plies=PLIES, limits=LIMITS))
    monkeypatch.setattr("retrograde.puzzles.mining._POOL", 1)
    found = from_tablebase(variant, prober, Wanted(number=4, seed=1, plies=PLIES, limits=LIMITS))
    assert len(found.puzzles) == 4
    assert [puzzle.stipulation for puzzle in found.puzzles] == [puzzle.stipulation for puzzle in wanted.puzzles]


def test_a_sample(mine) -> None:
    variant, prober = mine
    wanted = Wanted(number=1, seed=5, plies=PLIES, limits=LIMITS)
    seen: list[int] = []
    made, again = (
        from_tablebase(variant, prober, wanted, samples=4000, advanced=lambda found: seen.append(len(found.puzzles)))
        for _ in range(2)
    )
    assert made == again
    assert seen == [1, 1]
    tiers = sum(prober.covers(tier.attackers, tier.defenders) for tier in PlacementIndex(variant).tiers.values())
    assert 1000 < made.examined <= 4000 + 2 * tiers
    assert made.puzzles[0].stipulation.plies >= 3


def test_a_tablebase_that_covers_nothing() -> None:
    class Empty:
        variant = load_variant("brandubh-5-4v0")

        def covers(self, attackers, defenders):
            return False

        def probe(self, position):
            raise NotImplementedError

        def probe_words(self, words):
            return np.zeros(len(words), dtype=np.int16)

    with pytest.raises(InputError, match="covers no material"):
        from_tablebase(Empty.variant, Empty(), Wanted(number=1, seed=1, plies=(1, 9), limits=LIMITS))
