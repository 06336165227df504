"""rank and unrank: a bijection, of exactly the size that the bound counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting.spaces import spaces
from tablut.cli.shell import run
from tablut.indexing import PlacementIndex
from tablut.status import position_status
from tablut.testing import small_variants
from tablut.variants import Variant, load_variant, variant_names
from tests.support.commands import answer
from tests.support.effort import examples


@pytest.mark.parametrize("name", variant_names())
def test_tiers_are_the_terms_of_the_bound(name: str) -> None:
    variant = load_variant(name)
    index, material = PlacementIndex(variant), spaces(variant)["no_end"].material()
    counted = {(attackers, defenders): count for attackers, defenders, count in material.pairs() if attackers}
    assert {key: tier.size for key, tier in index.tiers.items()} == counted
    assert index.size == material.total()
    offset = 0
    for tier in index.tiers.values():
        assert tier.offset == offset
        offset += tier.size


@pytest.mark.parametrize(
    ("name", "step"), [("brandubh-5-4v0", 11), pytest.param("ashton-5-4v0", 1, marks=pytest.mark.slow)]
)
def test_ranks_of_a_small_board(name: str, step: int) -> None:
    variant = load_variant(name)
    index = PlacementIndex(variant)
    for rank in range(0, index.size, step):
        position = index.unrank(rank, "b")
        assert index.rank(position) == rank


@settings(deadline=None, max_examples=examples(20))
@given(small_variants(size=3, most_attackers=3, most_defenders=2))
def test_all_ranks_of_any_rules(variant: Variant) -> None:
    index = PlacementIndex(variant)
    assert index.size == spaces(variant)["no_end"].value()
    for rank in range(min(index.size, 3000)):
        assert index.rank(index.unrank(rank, "w")) == rank


@settings(deadline=None)
@given(st.sampled_from(variant_names()), st.data())
def test_random_ranks_of_every_variant(name: str, data: st.DataObject) -> None:
    variant = load_variant(name)
    index = PlacementIndex(variant)
    rank = data.draw(st.integers(0, index.size - 1))
    side = data.draw(st.sampled_from("wb"))
    position = index.unrank(rank, side)
    assert index.rank(position) == rank
    assert position.side == side
    assert not position_status(variant, position)
    tier, within = index.rank_in_tier(position)
    assert (tier.attackers, tier.defenders) == position.material
    assert index.unrank_in_tier(tier.attackers, tier.defenders, within, side) == position


def test_from_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    start = answer(capsys, "rank")
    assert start["size"] == "947889249256532407079664255"
    assert start["tier"]["attackers"] == 16
    back = answer(capsys, "unrank", start["rank"])
    assert back["position"] == start["position"]
    assert answer(capsys, "unrank", "0", "--side", "b")["position"].endswith(" b")
    assert run(["unrank", "12345"]) == 0
    assert "rank 12345 of 947889249256532407079664255" in capsys.readouterr().out
