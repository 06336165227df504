"""The compiled proof of a tier says what the plain one says, on what is right and on what is wrong."""

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrograde.tablebase.batch import UnpackedTiers
from retrograde.verification.proof import ALIASES, CHECKED, FAILURES, ORBITS, WRONG_VALUE, Tally, TierProof
from tablut.indexing.tiers import TierIndex, tier_index
from tablut.indexing.values import ALIAS_CODE
from tablut.testing import small_variants
from tablut.variants import Variant, load_variant
from tests.support.effort import examples
from tests.twins.proof import PlainProof, plain_proof

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


def tallies(index: TierIndex, unpacked: UnpackedTiers) -> list[Tally]:
    proof = TierProof(index, unpacked, CODES)
    return [proof.prove(part) for part in proof.parts()]


def assert_same(found: list[Tally], plain: PlainProof) -> int:
    """Compare all that is counted, and the failures that are listed; return how many there are."""
    counters = sum(tally.counters for tally in found)
    histogram = sum(tally.histogram for tally in found).reshape(2, CODES)
    assert (counters[CHECKED], counters[ALIASES], counters[ORBITS]) == (plain.checked, plain.aliases, plain.orbits)
    assert {(side, code): histogram[side, code] for side, code in np.argwhere(histogram).tolist()} == plain.codes
    assert counters[FAILURES] == len(plain.wrong)
    listed = [row for tally in found for row in tally.failures.reshape(-1, 4)[: tally.counters[FAILURES]].tolist()]
    assert all(kind == WRONG_VALUE and (entry, side, proved) in plain.wrong for kind, entry, side, proved in listed)
    return len(plain.wrong)


def compare(root, write_store, variant: Variant, codes: dict, most: int = 3) -> int:
    """Prove all tiers of so many soldiers both ways."""
    store = write_store(root, variant, codes)
    unpacked = UnpackedTiers(store, list(codes))
    for material in codes:
        unpacked.load(material)
    indices = {material: tier_index(variant, *material) for material in codes}
    return sum(
        assert_same(tallies(indices[material], unpacked), plain_proof(indices[material], indices, codes))
        for material in codes
        if sum(material) <= most
    )


@settings(max_examples=examples(4), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    variant=small_variants(most_attackers=3, most_defenders=2),
    share=st.sampled_from([0.0, 0.001, 0.05]),
    seed=st.integers(0, 99),
)
def test_the_proof_is_the_plain_one(tmp_path_factory, solve_codes, write_store, variant: Variant, share, seed) -> None:
    materials = [
        (attackers, men - attackers)
        for men in (1, 2)
        for attackers in range(1, men + 1)
        if attackers <= variant.attackers and men - attackers <= variant.defenders
    ]
    root = tmp_path_factory.mktemp("proof")
    codes = damaged(solve_codes(variant, materials), share, seed)
    wrong = compare(root / "s", write_store, variant, codes)
    assert wrong == 0 or share > 0
    shutil.rmtree(root)


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_the_proof_is_the_plain_one_on_draws(tmp_path, write_store, deep_variant, deep_codes, share: float) -> None:
    wrong = compare(tmp_path / "s", write_store, deep_variant, damaged(deep_codes, share, 3), 2)
    assert (wrong > 0) == (share > 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh"])
def test_the_proof_is_the_plain_one_on_the_full_games(tmp_path, solve_codes, write_store, name: str) -> None:
    variant = load_variant(name)
    codes = damaged(solve_codes(variant, [(1, 0), (1, 1), (2, 0)]), 0.001, 5)
    assert compare(tmp_path / "s", write_store, variant, codes, 1) > 0


@pytest.mark.parametrize("material", [(2, 0), (1, 1), (2, 1)])
def test_an_index_that_ranks_images_elsewhere_is_found(
    tmp_path, write_store, deep_variant, deep_codes, material
) -> None:
    """A class under another of its combinations: its images are not ranked to it."""
    right = tier_index(deep_variant, *material)
    flags = right.representatives.copy()
    king = next(k for k in range(len(flags)) if len(right.kings.stabilisers[k]) > 1)
    least, other = np.flatnonzero(flags[king])[0], np.flatnonzero(~flags[king])[0]
    flags[king, least], flags[king, other] = False, True
    store = write_store(tmp_path / "s", deep_variant, deep_codes)
    unpacked = UnpackedTiers(store, list(deep_codes))
    for lower in deep_codes:
        unpacked.load(lower)
    index = TierIndex(deep_variant, *material, representatives=flags)
    assert sum(int(tally.counters[FAILURES]) for tally in tallies(index, unpacked)) > 0
