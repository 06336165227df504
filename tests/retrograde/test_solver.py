"""The solver against the plain one, on every placement of small tiers, under many rules."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrograde.solver import tier_solver
from retrograde.solver.passes import SolverError, TierPasses
from retrograde.solver.tier_solver import TierSolver, rules_to_solve_by
from symmetry import dihedral
from tablut.indexing import PlacementIndex
from tablut.indexing.tiers import tier_index
from tablut.indexing.values import code_of
from tablut.variants import Variant, load_variant
from tests.support.effort import MORE, examples, slow_but
from tests.support.strategies import shrunk, small_variants
from tests.twins.proof import plain_proof
from tests.twins.solver import plain_solution


def values(variant: Variant, solver: TierSolver) -> dict[str, int]:
    """Return the values of all positions of the tiers solved, by their texts."""
    placements = PlacementIndex(variant)
    found = {}
    for material in solver.items:
        index = solver.tier_index(material)
        for number, side in enumerate("wb"):
            codes = code_of(solver.items[material][number]).tolist()
            for rank in range(placements.tiers[material].size):
                position = placements.unrank_in_tier(*material, rank, side)  # type: ignore[arg-type]
                code = codes[index.rank(position)]
                found[str(position)] = (-(code >> 1) - 1 if code & 1 else code >> 1) if code else 0
    return found


def solved(variant: Variant, materials: list[tuple[int, int]], **options: object) -> TierSolver:
    solver = TierSolver(variant, materials, **options)  # type: ignore[arg-type]
    for material in materials:
        solver.solve(material)
    return solver


def assert_plain(variant: Variant, materials: list[tuple[int, int]]) -> None:
    found = values(variant, solved(variant, materials))
    plain = plain_solution(variant, list(found))
    # What is reached lies in the same tiers: nothing is missing from either.
    assert set(found) == plain.wins.keys() | plain.losses.keys() | plain.open
    wrong = {text: (value, plain.value(text)) for text, value in found.items() if value != plain.value(text)}
    assert not wrong


def with_rules(name: str, **rules: object) -> Variant:
    variant = load_variant(name)
    return replace(variant, name="changed", rules=variant.rules.model_copy(update=rules))


@pytest.mark.parametrize(
    ("name", "materials"),
    slow_but(
        [("ashton-5-4v2", [(1, 0), (1, 1)])],
        [
            ("ashton-5-4v0", [(1, 0), (2, 0), (3, 0), (4, 0)]),
            ("brandubh-5-4v0", [(1, 0), (2, 0), (3, 0), (4, 0)]),
            ("ashton-5-4v2", [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]),
            ("brandubh-5-4v4", [(1, 0), (1, 1), (2, 0), (2, 1)]),
        ],
    ),
)
def test_small_boards(name: str, materials: list[tuple[int, int]]) -> None:
    assert_plain(load_variant(name), materials)


@pytest.mark.parametrize("name", slow_but([], ["brandubh", "ashton", "mcgill", "leiden"]))
def test_full_boards_of_two_men(name: str) -> None:
    assert_plain(load_variant(name), [(1, 0)])


def test_a_ply_that_leaves_either_side_without_a_move_ends_the_game() -> None:
    variant = with_rules("brandubh-5-4v0", no_moves="either_after_ply")
    assert_plain(variant, [(1, 0)])


@settings(max_examples=examples(1, 4 * MORE), deadline=None)
@given(small_variants(most_attackers=2, most_defenders=1, later=True))
def test_rules_that_nobody_plays(variant: Variant) -> None:
    materials = [(1, 0)] + [(1, 1)] * (variant.defenders > 0)
    assert_plain(variant, materials)


@pytest.mark.slow
@pytest.mark.parametrize("size", [12, 19])
@settings(max_examples=examples(1, MORE), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_wide_boards(solve_codes, size: int, data: st.DataObject, seed: int) -> None:
    # Camps leave the king few cells: all positions of two men are few, and of three the solver has soon done.
    assert_plain(data.draw(small_variants(size, 1, 0, later=True)), [(1, 0)])
    for variant in (data.draw(small_variants(size, 2, 1, later=True)), shrunk("alea-evangelii", size)):
        indices = {
            (attackers, defenders): index
            for attackers, defenders in ((1, 0), (1, 1), (2, 0), (2, 1))
            if attackers <= variant.attackers
            and defenders <= variant.defenders
            and (index := tier_index(variant, attackers, defenders)).size < 10_000_000
        }
        codes = solve_codes(variant, list(indices))
        for index in indices.values():
            entries = Random(seed).sample(range(index.size), min(index.size, 60))
            assert not plain_proof(index, indices, codes, entries).wrong


@pytest.mark.parametrize("name", ["ashton-5-4v2", pytest.param("brandubh-5-4v4", marks=pytest.mark.slow)])
def test_symmetry_changes_no_value(name: str) -> None:
    # Ties on the axes are where a reduction goes wrong: here there are none, with the trivial group.
    variant = load_variant(name)
    materials = [(1, 0), (1, 1)]
    whole = values(variant, solved(variant, materials))
    assert whole == values(variant, solved(variant, materials, group=dihedral(5)[:1]))
    mirror = [symmetry for symmetry in dihedral(5) if symmetry.name in ("identity", "transpose")]
    assert whole == values(variant, solved(variant, materials, group=mirror))


@pytest.mark.parametrize("name", slow_but(["brandubh-5-4v4"], ["ashton-5-4v2"]))
@pytest.mark.parametrize("way", ["threads", "asking", "telling", "positions"])
def test_every_way_comes_to_the_same(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variant = load_variant(name)
    materials = [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)]
    usual = solved(variant, materials)
    forward = TierPasses.forward
    if way == "positions":
        monkeypatch.setattr(
            TierPasses, "forward", lambda tier, mode, side, limit, **_: forward(tier, mode, side, limit, by_rows=False)
        )
    elif way != "threads":
        monkeypatch.setattr("retrograde.solver.passes.is_quicker", lambda _, telling: way == "asking" and telling > 0)
    other = solved(variant, materials, threads=3 if way == "threads" else 1)
    for material in materials:
        for first, second in zip(usual.items[material], other.items[material], strict=True):
            assert np.array_equal(first, second)


def test_a_tier_needs_those_that_captures_lead_to() -> None:
    solver = TierSolver(load_variant("ashton-5-4v2"), [(1, 0), (1, 1), (2, 0), (2, 1)])
    with pytest.raises(SolverError, match=r"2v1"):
        solver.solve((2, 1))


# -- what the solver's short cuts rest on: rules under which values stay the same, and tables of whole lines


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
