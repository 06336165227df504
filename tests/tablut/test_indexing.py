"""rank and unrank: a bijection, of exactly the size that the bound counts; values of positions in four notations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting.spaces import spaces
from tablut.cli.shell import run
from tablut.indexing import PlacementIndex, values
from tablut.indexing.values import ALIAS, CAPTURES, CODES, COUNTER, DECIDED, SAFE, value_of_code, verdict_of
from tablut.status import position_status
from tablut.variants import Variant, load_variant, variant_names
from tests.support.commands import answer
from tests.support.effort import ALL_CASES, examples
from tests.support.strategies import small_variants


@pytest.mark.parametrize("name", ALL_CASES)
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
    ("name", "step"), [("brandubh-5-4v0", 47), pytest.param("ashton-5-4v0", 1, marks=pytest.mark.slow)]
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


# -- what a position is worth, in four notations: each conversion against its meaning, for numbers, arrays and kernels


CODES_OF_ITEMS = np.arange(CODES - 1)


def meaning(code: int) -> tuple[str, int | None]:
    """Say what a code is, by words alone."""
    if code == 0:
        return "draw", None
    return ("loss" if code % 2 else "win"), code // 2


def test_every_code_and_value_are_of_one_verdict() -> None:
    for code in range(4000):
        value = value_of_code(code)
        assert verdict_of(value) == meaning(code)
        assert values.value_of(verdict_of(value)) == value
        assert values.code_of_value(value) == code
    assert value_of_code(CODES_OF_ITEMS).tolist() == [value_of_code(code) for code in range(CODES - 1)]


def test_every_item_is_decided_open_or_an_alias() -> None:
    items = np.arange(1 << 16).astype(np.uint16)
    for item in range(1 << 16):
        decided = item >= DECIDED
        assert values.is_decided(item) == decided
        assert values.code_of(item) == (item - DECIDED if decided else 0)
    assert values.code_of(items).dtype == np.uint16
    assert values.code_of(items).tolist() == [values.code_of(item) for item in range(1 << 16)]
    assert values.is_decided(items).tolist() == [item >= DECIDED for item in range(1 << 16)]
    assert values.code_of(ALIAS) == 0
    # The flags and the counter fill an open item, and an alias is none that a tier can have: its counter is full.
    assert (CAPTURES | SAFE | COUNTER, CAPTURES & SAFE, COUNTER & (CAPTURES | SAFE)) == (DECIDED - 1, 0, 0)
    for plies in range(1000):
        for made, wdl in ((values.won_in(plies), "win"), (values.lost_in(plies), "loss")):
            if made != DECIDED:
                assert meaning(values.code_of(made)) == (wdl, plies)
                assert (values.is_loss(made), values.plies_of(made)) == (wdl == "loss", plies)


def test_a_ply_earlier_is_what_the_mover_has() -> None:
    for value in range(-500, 500):
        wdl, plies = verdict_of(value)
        if value:
            assert verdict_of(values.a_ply_earlier(value)) == ("loss" if wdl == "win" else "win", plies + 1)
    assert values.a_ply_earlier(0) == 0


def test_a_limit_turns_what_takes_more_plies_into_a_draw() -> None:
    for value in range(-9, 10):
        _, plies = verdict_of(value)
        assert values.within_limit(value, None) == value
        for left in range(10):
            assert values.within_limit(value, left) == (value if value == 0 or plies <= left else 0)
