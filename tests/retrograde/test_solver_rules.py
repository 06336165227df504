"""What the solver's short cuts rest on: rules under which values stay the same, and tables of whole lines."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from retrograde.solver import tier_solver
from retrograde.solver.kernels.workspace import line_sources
from retrograde.solver.tier_solver import TierSolver, rules_to_solve_by, slides_can_be_taken_back
from tablut.board import Board
from tablut.engine import build_tables
from tablut.engine.unmoves import build_origins
from tablut.testing import small_variants
from tablut.variants import Variant, load_variant
from tests.support.effort import examples


def either(variant: Variant) -> Variant:
    rules = variant.rules.model_copy(update={"no_moves": "either_after_ply"})
    return replace(variant, name="either", rules=rules)


def test_which_games_are_solved_by_simpler_rules() -> None:
    mcgill = load_variant("mcgill")
    simpler = rules_to_solve_by(mcgill)
    assert simpler.rules == mcgill.rules.model_copy(update={"no_moves": "side_to_move_loses"})
    for name in ("ashton", "bologna", "brandubh"):
        assert rules_to_solve_by(load_variant(name)) == load_variant(name)
    # A soldier that has left its camp cannot go back.
    assert rules_to_solve_by(either(load_variant("ashton"))) == either(load_variant("ashton"))


@pytest.mark.parametrize("name", ["mcgill", "brandubh", "berkeley"])
def test_moves_are_taken_back_where_that_is_said(name: str) -> None:
    variant = load_variant(name)
    assert slides_can_be_taken_back(variant)
    board = Board(variant)
    for move in board.legal_moves:
        after = Board(variant, board.position)
        after.push(move)
        back = f"{move}".split("-")
        # The mover's side to move again, on the same cells.
        flipped = str(after.position).split(" ")[0] + (" b" if board.turn == "black" else " w")
        assert "-".join(reversed(back)) in {str(other) for other in Board(variant, flipped).legal_moves}


@pytest.mark.parametrize("name", ["brandubh-5-4v4", "brandubh-5-4v0"])
def test_simpler_rules_give_the_same_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variant = either(load_variant(name))
    assert rules_to_solve_by(variant) != variant
    materials = [(1, 0), (2, 0), (3, 0)] + ([(1, 1), (2, 1)] if name.endswith("4v4") else [])
    simple = TierSolver(variant, materials)
    monkeypatch.setattr(tier_solver, "rules_to_solve_by", lambda same: same)
    plain = TierSolver(variant, materials)
    for material in materials:
        for first, second in zip(simple.solve(material), plain.solve(material), strict=True):
            assert np.array_equal(first, second)


@settings(max_examples=examples(10), deadline=None)
@given(small_variants())
def test_sources_of_a_line_are_those_of_its_places(variant: Variant) -> None:
    sources, tables, size = line_sources(variant), build_tables(variant), variant.size
    standing = build_origins(variant).attacker_cells
    random = np.random.default_rng(1)
    for line in range(2 * size):
        for _ in range(20):
            content = random.integers(0, 3, size)
            taken = sum(1 << place for place in range(size) if content[place] == 1)
            wanted = sum(1 << place for place in range(size) if content[place] == 2)
            expected = 0
            for place in range(size):
                at = int(tables.attacker_slides[line]) + (place << size) + taken
                stands = int(standing[line]) >> place & 1 and not taken >> place & 1
                if stands and int(tables.slides[at]) & wanted:
                    expected |= 1 << place
            number = sum(int(digit) * 3**place for place, digit in enumerate(content))
            assert int(sources.places[int(sources.at[line]) + number]) == expected
