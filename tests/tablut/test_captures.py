"""The ways in which a king falls, cell by cell, and the anvils against attackers."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablut.notation import parse_square, square_name
from tablut.rules import NaiveGame, NaivePosition
from tablut.testing import small_variants
from tablut.variants import Variant, load_variant, variant_names
from tablut.variants.model import anvils_against_attackers, king_patterns
from tests.support.effort import examples

CASES = [
    ("ashton", "e5", {"d5 e4 e6 f5"}),
    ("ashton", "e4", {"d4 e3 f4"}),
    ("ashton", "d2", {"d3", "c2"}),
    ("ashton", "e3", {"e4", "d3 f3"}),
    ("ashton", "c3", {"b3 d3", "c2 c4"}),
    ("bologna", "d2", {"d3", "c2"}),
    ("mcgill", "a2", {"a3"}),
    ("mcgill", "a5", {"a4 a6"}),
    ("mcgill", "e5", {"d5 e4 e6 f5"}),
    ("leiden", "c3", {"b3 c2 c4 d3"}),
    ("leiden", "e6", {"d6 e7 f6"}),
    ("berkeley", "e6", {"d6 e7 f6"}),
    ("brandubh", "b1", {"c1"}),
    ("ashton-5-4v0", "c2", {"b2 d2"}),
    ("ashton-5-4v0", "b2", {"a2 c2", "b1 b3"}),
]


@pytest.mark.parametrize(("name", "square", "expected"), CASES)
def test_patterns(name: str, square: str, expected: set[str]) -> None:
    variant = load_variant(name)
    found = king_patterns(variant, parse_square(square, variant.size))
    names = {" ".join(sorted(square_name(c, variant.size) for c in pattern.attackers)) for pattern in found}
    assert names == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize("name", variant_names())
def test_patterns_are_symmetric(name: str) -> None:
    variant = load_variant(name)
    for symmetry in variant.symmetries:
        for king in variant.regions.king_cells:
            moved = {
                (frozenset(symmetry.table[cell] for cell in pattern.attackers), pattern.terrain)
                for pattern in king_patterns(variant, king)
            }
            assert moved == {tuple(pattern) for pattern in king_patterns(variant, symmetry.table[king])}


@settings(deadline=None)
@given(small_variants())
def test_patterns_are_minimal_and_stand_where_attackers_may(variant: Variant) -> None:
    regions = variant.regions
    for king in regions.king_cells:
        sets = [pattern.attackers for pattern in king_patterns(variant, king)]
        assert len(set(sets)) == len(sets)
        for attackers in sets:
            assert attackers
            assert attackers <= set(regions.neighbours(king))
            assert attackers <= regions.free_cells | regions.camp_cells
            assert not any(other < attackers for other in sets)


def test_anvils() -> None:
    def names(variant: str) -> set[str]:
        rules = load_variant(variant)
        return {square_name(cell, rules.size) for cell in anvils_against_attackers(rules)}

    assert names("leiden") == set()
    assert names("berkeley") == {"e5"}
    assert names("mcgill") == {"e5", "a1", "i1", "a9", "i9"}
    assert names("ashton") - names("bologna") == {"e1", "a5", "i5", "e9"}


def naive_cell(cell: int, size: int) -> tuple[int, int]:
    return cell % size, cell // size


@settings(deadline=None, max_examples=examples(25))
@given(small_variants(), st.data())
def test_patterns_are_what_the_plain_rules_capture(variant: Variant, data: st.DataObject) -> None:
    """Attackers in any way around a king: it has fallen to one of them exactly when a pattern is complete."""
    game, regions = NaiveGame(variant), variant.regions
    king = data.draw(st.sampled_from(sorted(regions.king_cells)))
    standable = [cell for cell in regions.neighbours(king) if cell in regions.free_cells | regions.camp_cells]
    for count in range(len(standable) + 1):
        for chosen in combinations(standable, count):
            pieces = {naive_cell(king, variant.size): "K"} | {naive_cell(cell, variant.size): "b" for cell in chosen}
            position = NaivePosition(pieces, "w")
            file, rank = naive_cell(king, variant.size)
            fallen = any(
                game._king_falls(position, (file, rank), (2 * file - mover[0], 2 * rank - mover[1]))
                for mover in pieces
                if pieces[mover] == "b"
            )
            complete = any(pattern.attackers <= set(chosen) for pattern in king_patterns(variant, king))
            assert fallen == complete, (variant, king, chosen)


@settings(deadline=None)
@given(small_variants())
def test_anvils_are_what_the_plain_rules_find_hostile(variant: Variant) -> None:
    game = NaiveGame(variant)
    empty = NaivePosition({}, "w")
    hostile = {cell for cell in range(variant.size**2) if game._hostile_to_black(empty, naive_cell(cell, variant.size))}
    assert anvils_against_attackers(variant) == hostile
