"""The index of tiers: complete, without holes but for aliases, the same compiled and plain, blind to symmetry."""

from random import Random

import numpy as np
import pytest

from symmetry import dihedral
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.indexing.tier_kernels import rank_boards, unrank_entries
from tablut.indexing.tier_tables import tier_tables
from tablut.indexing.tiers import TierIndex
from tablut.position import Position
from tablut.variants import Variant, load_variant
from tests.support.effort import slow_but
from tests.support.games import OLDER

SMALL = ["ashton-5-4v2", "brandubh-5-4v4"]
TIERS = [(1, 0), (1, 1), (2, 0), (2, 1), (1, 2), (3, 0)]


@pytest.mark.parametrize("variant", OLDER, ids=lambda variant: variant.name)
def test_the_tiers_without_symmetry_add_up_to_the_bound(variant: Variant) -> None:
    placements = PlacementIndex(variant)
    total = 0
    for (attackers, defenders), tier in placements.tiers.items():
        index = TierIndex(variant, attackers, defenders)
        assert index.positions == tier.size
        total += 2 * index.positions
    assert total == 2 * placements.size


@pytest.mark.parametrize(
    ("name", "material"),
    [
        pytest.param(name, material, marks=[pytest.mark.slow] if sum(material) > 2 else [])
        for name in SMALL
        for material in TIERS
    ],
)
def test_every_entry_is_a_class_or_an_alias_of_one(name: str, material: tuple[int, int]) -> None:
    variant = load_variant(name)
    index, placements = TierIndex(variant, *material), PlacementIndex(variant)
    size = placements.tiers[material].size
    positions = [placements.unrank_in_tier(*material, rank, "w") for rank in range(size)]
    by_entry: dict[int, set[str]] = {}
    for position in positions:
        by_entry.setdefault(index.rank(position), set()).add(position.cells)
    # An entry holds exactly one orbit.
    for cells in by_entry.values():
        images = {Position(next(iter(cells)), "w").transformed(symmetry).cells for symmetry in variant.symmetries}
        assert cells == images
    # What an entry is unranked to is ranked there, unless it is an alias: then elsewhere, within the same orbit.
    for entry in range(index.size):
        position = index.unrank(entry, "w")
        home = index.rank(position)
        assert home == entry if entry in by_entry else home in by_entry
        assert position.cells in by_entry[home]


@pytest.mark.parametrize("name", slow_but(["ashton", "ashton-5-4v4"], ["mcgill", "leiden", "brandubh", "ashton-7-4v1"]))
def test_the_compiled_index_is_the_plain_one(name: str) -> None:
    variant = load_variant(name)
    engine, placements, random = engine_for(variant), PlacementIndex(variant), Random(7)
    materials = [material for material in [*TIERS, (2, 2)] if material[1] <= variant.defenders]
    tables = tier_tables(variant, materials)
    for number, material in enumerate(materials):
        index = TierIndex(variant, *material)
        assert index.size == tables.tier.size[number]
        size = placements.tiers[material].size
        positions = [placements.unrank_in_tier(*material, random.randrange(size), "b") for _ in range(40)]
        boards = np.stack([engine.board(position.cells, "b") for position in positions])
        tiers, entries = np.empty(40, dtype=np.int32), np.empty(40, dtype=np.int64)
        rank_boards(engine.tables, tables, boards, tiers, entries)
        assert set(tiers.tolist()) == {number}
        assert entries.tolist() == [index.rank(position) for position in positions]
        wanted = np.array([random.randrange(index.size) for _ in range(40)])
        unrank_entries(engine.tables, tables, number, wanted, 0, boards)
        assert [engine.cells(board)[0] for board in boards] == [index.unrank(int(e), "w").cells for e in wanted]


def test_a_smaller_group_gives_more_classes_and_the_trivial_one_every_placement() -> None:
    variant = load_variant("ashton-5-4v2")
    half = [symmetry for symmetry in dihedral(5) if symmetry.name in ("identity", "rotate_180")]
    sizes = [TierIndex(variant, 2, 1, group=group).size for group in (None, half, [dihedral(5)[0]])]
    assert sizes[0] < sizes[1] < sizes[2] == PlacementIndex(variant).tiers[2, 1].size


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("9/9/9/9/4K4/9/9/9/b8 w", "not of tier"),
        ("8b/9/9/4w4/4K4/9/9/9/8K w", "undecided placement"),
        ("9/9/9/9/4w4/9/9/9/b3K4 w", "undecided placement"),
    ],
)
def test_what_is_no_placement_of_the_tier_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        TierIndex(load_variant("ashton"), 1, 1).rank(Position.parse(text, 9))
