"""Two ways to the same truth: what the tablebase says of an ending, proof search finds without it."""

from random import Random

import pytest

from retrograde.proofs import ProofLimits, Solver
from retrograde.tablebase.probing import prober_for
from tablut.board import Board
from tablut.indexing import PlacementIndex
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search import SearchLimits
from tablut.variants import load_variant

MATERIALS = [(1, 0), (1, 1), (2, 0)]


@pytest.mark.parametrize("number", [60, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["ashton", "mcgill"])
def test_proof_search_agrees_with_the_shipped_tablebase(name: str, number: int) -> None:
    variant, random = load_variant(name), Random(11)
    tablebase, placements = prober_for(variant), PlacementIndex(variant)
    assert tablebase is not None
    solver = Solver(variant, ProofLimits(nodes=2_000_000, positions=0, memory_bytes=32 << 20))
    proved = 0
    for _ in range(number):
        material = random.choice(MATERIALS)
        rank = random.randrange(placements.tiers[material].size)
        position = placements.unrank_in_tier(*material, rank, random.choice("wb"))  # type: ignore[arg-type]
        verdict = tablebase.probe(position)
        if verdict.dtm is None:
            # Without the tablebase or a listing there is no proof of a draw, and none is claimed.
            found = Solver(variant, ProofLimits(nodes=20_000, positions=0, memory_bytes=4 << 20)).solve(position)
            assert found.status == "unknown"
            continue
        found = solver.solve(position)
        assert (found.status, found.wdl, found.dtm) == ("proved", *verdict), str(position)
        if verdict.wdl == "win":
            rated = tablebase.best_moves(Board(variant, position))
            best = {str(one.move) for one in rated if (one.wdl, one.dtm) == ("win", verdict.dtm)}
            assert {str(move) for move in found.winning_moves} == best
        proved += 1
    assert proved > number // 2


def test_the_player_plays_a_won_ending_to_its_end_in_time() -> None:
    variant = load_variant("ashton")
    tablebase, placements, random = prober_for(variant), PlacementIndex(variant), Random(2)
    assert tablebase is not None
    player = make_player("alphabeta", variant, PlayerOptions(seed=1, hash_mib=4))
    played = 0
    while played < 6:
        position = placements.unrank_in_tier(2, 0, random.randrange(placements.tiers[2, 0].size), "b")
        verdict = tablebase.probe(position)
        if verdict.dtm is None or verdict.dtm < 3:
            continue
        board = Board(variant, position)
        plies = 0
        while board.outcome() is None:
            board.push(player.choose(board, SearchLimits(nodes=20_000)).move)
            plies += 1
            assert plies <= verdict.dtm
        played += 1
