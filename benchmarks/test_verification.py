"""Speed of verification: ``pytest benchmarks/test_verification.py --benchmark-enable --benchmark-only -s``.

Times are CPU seconds of the process on one thread, for one eighth of some tiers of the shipped tablebase. A value
belongs to a class of placements with one side to move.
"""

import time
from pathlib import Path

import pytest

import retrograde
from retrograde.tablebase.bulk_probing import UnpackedTiers
from retrograde.tablebase.store import open_store
from retrograde.verification.proof import CHECKED, FAILURES, RowRange, TierProof

pytestmark = pytest.mark.benchmark(timer=time.process_time)

STORES = Path(retrograde.__file__).parent / "data"
TIERS = [
    ("ashton-5", (2, 2)),
    ("ashton-5", (3, 1)),
    ("ashton-5", (1, 3)),
    ("ashton-5", (4, 0)),
    ("brandubh-5", (2, 2)),
    ("mcgill-5", (2, 2)),
]


@pytest.mark.parametrize(
    ("name", "material"), TIERS, ids=lambda part: part if isinstance(part, str) else f"{part[0]}v{part[1]}"
)
def test_prove(benchmark, name, material):
    store = open_store(STORES / name)
    unpacked = UnpackedTiers(store, store.tiers())
    for tier in store.tiers():
        unpacked.load(tier)
    proof = TierProof(store.tier(*material).index, unpacked, codes=1, listed=20)
    parts = list(proof.parts())[::8]
    proof.prove(RowRange(0, 0, 0))

    def prove():
        return [proof.prove(part).counters for part in parts]

    counters = sum(benchmark.pedantic(prove, rounds=1))
    assert counters[FAILURES] == 0
    if benchmark.enabled:
        each = benchmark.stats.stats.min / counters[CHECKED]
        benchmark.extra_info["nanoseconds a value"] = round(each * 1e9)
        print(f"\n{name} {material}: {each * 1e9:.0f} ns a value")  # noqa: T201
