"""Rows are proved as a whole; entry by entry comes to the same, on what is right and on what is wrong."""

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrograde.tablebase.memory import UnpackedTiers
from retrograde.verification.kernels.proof import CHECKED, FAILURES
from retrograde.verification.proving import TierProof
from tablut.indexing.tiers import TierIndex, tier_index
from tablut.indexing.values import ALIAS_CODE
from tablut.testing import small_variants
from tablut.variants import Variant, load_variant
from tests.support.effort import examples

CODES = 64


def damaged(codes: dict, share: float, seed: int) -> dict:
    """Give a share of all entries other values."""
    random = np.random.default_rng(seed)
    found = {}
    for material, sides in codes.items():
        sides = [side.copy() for side in sides]
        for side in sides:
            hit = (random.random(len(side)) < share) & (side != ALIAS_CODE)
            side[hit] = random.integers(0, 12, np.count_nonzero(hit))
        found[material] = tuple(sides)
    return found


def both_ways(index: TierIndex, unpacked: UnpackedTiers) -> int:
    """Prove a tier as rows and as entries, which must agree on everything, and return how many values are wrong."""
    proof, wrong = TierProof(index, unpacked, CODES), 0
    for part in proof.parts():
        rows, entries = proof.prove(part), proof.prove(part, plainly=True)
        for ours, twin in zip(rows, entries, strict=True):
            assert np.array_equal(ours, twin)
        assert rows.counters[CHECKED] > 0
        wrong += int(rows.counters[FAILURES])
    return wrong


def all_tiers_both_ways(root, write_store, variant: Variant, codes: dict) -> int:
    store = write_store(root, variant, codes)
    unpacked = UnpackedTiers(store, list(codes))
    for material in codes:
        unpacked.load(material)
    return sum(both_ways(tier_index(variant, *material), unpacked) for material in codes)


@settings(max_examples=examples(4), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    variant=small_variants(most_attackers=3, most_defenders=2),
    share=st.sampled_from([0.0, 0.001, 0.05]),
    seed=st.integers(0, 99),
)
def test_rows_and_entries_agree(tmp_path_factory, solve_codes, write_store, variant: Variant, share, seed) -> None:
    materials = [
        (attackers, men - attackers)
        for men in (1, 2, 3)
        for attackers in range(1, men + 1)
        if attackers <= variant.attackers and men - attackers <= variant.defenders
    ]
    root = tmp_path_factory.mktemp("rows")
    codes = damaged(solve_codes(variant, materials), share, seed)
    wrong = all_tiers_both_ways(root / "s", write_store, variant, codes)
    assert wrong == 0 or share > 0
    shutil.rmtree(root)


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_rows_and_entries_agree_on_four_men(tmp_path, write_store, small_variant, small_codes, share: float) -> None:
    wrong = all_tiers_both_ways(tmp_path / "s", write_store, small_variant, damaged(small_codes, share, 3))
    assert (wrong > 0) == (share > 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh"])
def test_rows_and_entries_agree_on_the_full_games(tmp_path, solve_codes, write_store, name: str) -> None:
    variant = load_variant(name)
    materials = [(attackers, men - attackers) for men in (1, 2, 3) for attackers in range(1, men + 1)]
    codes = damaged(solve_codes(variant, materials), 0.0001, 5)
    assert all_tiers_both_ways(tmp_path / "s", write_store, variant, codes) > 0


@pytest.mark.parametrize("material", [(2, 0), (1, 1), (2, 1)])
def test_rows_of_a_wrong_index_are_proved_entry_by_entry(
    tmp_path, write_store, deep_variant, deep_codes, material
) -> None:
    """A class under another of its combinations: its images are not ranked to it, which both ways must say."""
    right = tier_index(deep_variant, *material)
    flags = right.representatives.copy()
    king = next(k for k in range(len(flags)) if len(right.kings.stabilisers[k]) > 1)
    least, other = np.flatnonzero(flags[king])[0], np.flatnonzero(~flags[king])[0]
    flags[king, least], flags[king, other] = False, True
    store = write_store(tmp_path / "s", deep_variant, deep_codes)
    unpacked = UnpackedTiers(store, list(deep_codes))
    for lower in deep_codes:
        unpacked.load(lower)
    assert both_ways(TierIndex(deep_variant, *material, representatives=flags), unpacked) > 0
