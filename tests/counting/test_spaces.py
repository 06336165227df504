"""Every space, union and Burnside count against the enumeration that shares nothing with them."""

from itertools import combinations

import pytest
from hypothesis import given, settings

from counting.brute import BruteForce
from counting.paper import PaperEquations
from counting.spaces import FINAL, classes, soldiers, spaces
from tablut.testing import small_variants
from tablut.variants import Variant, load_variant, variant_names
from tablut.variants.model import king_patterns
from tests.support.effort import examples


def assert_equals_brute_force(variant: Variant) -> None:
    counts, orbits = BruteForce(variant).count()
    found = spaces(variant)
    assert counts.keys() <= found.keys()
    for id_, space in found.items():
        counted = {(attackers, defenders): count for attackers, defenders, count in space.material().pairs() if count}
        assert counted == dict(counts.get(id_, {})), (variant.name, id_)
        assert classes(space) == orbits.get(id_, 0), (variant.name, id_)


@pytest.mark.parametrize("name", [pytest.param("ashton-5-4v0", marks=pytest.mark.slow), "brandubh-5-4v0"])
def test_small_boards_placement_by_placement(name: str) -> None:
    assert_equals_brute_force(load_variant(name))


@pytest.mark.slow
def test_fourteen_million_placements_one_by_one() -> None:
    assert_equals_brute_force(load_variant("ashton-5-4v2"))


@settings(max_examples=examples(6), deadline=None)
@given(small_variants(size=5, most_attackers=2, most_defenders=1))
def test_any_rules_on_any_terrain(variant: Variant) -> None:
    assert_equals_brute_force(variant)


@settings(max_examples=examples(15), deadline=None)
@given(small_variants(size=3, most_attackers=4, most_defenders=3))
def test_any_rules_on_the_smallest_board(variant: Variant) -> None:
    assert_equals_brute_force(variant)


@pytest.mark.parametrize("name", variant_names())
def test_captured_kings_by_inclusion_and_exclusion(name: str) -> None:
    """The union over a king's patterns, reached by signs instead of by contents."""
    variant = load_variant(name)
    regions = variant.regions
    most = variant.attackers, variant.defenders
    union = 0
    for king in regions.king_cells:
        patterns = [pattern.attackers for pattern in king_patterns(variant, king)]
        for count in range(1, len(patterns) + 1):
            for chosen in combinations(patterns, count):
                held = frozenset().union(*chosen)
                camp = len(regions.camp_cells - held)
                free = len(regions.free_cells - held - {king})
                ways = soldiers(((1, camp),), ((1, free),), *most).shifted(len(held), 0)
                union += (-1) ** (count + 1) * ways.total()
    assert spaces(variant)["king_captured"].value() == union


@pytest.mark.parametrize("name", variant_names())
def test_spaces_contain_what_the_paper_counts(name: str) -> None:
    variant = load_variant(name)
    paper, found = PaperEquations(variant), spaces(variant)
    for equation, space in {"eq6": "no_end", "eq7": "all_captured", "eq8": "escaped"}.items():
        assert found[space].value() == paper[equation].body.value()
    patterns = sum((paper.captured_sum(some).value() for some in paper.patterns.values()), 0)
    assert found["king_captured"].value() <= patterns
    for space in ("no_end", *FINAL[:3]):
        assert 0 <= found[f"excluded_{space}"].value() <= found[space].value()
