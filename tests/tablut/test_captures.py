"""The ways in which a king falls, cell by cell, and the anvils against attackers."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tablut.rules import NaiveGame, NaivePosition
from tablut.testing import small_variants
from tablut.variants import Variant
from tablut.variants.model import anvils_against_attackers, king_patterns
from tests.support.effort import examples


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
