"""No lemma holds on any reached position of the seven reduced boards: every class of a complete census is tried."""

from pathlib import Path

import numpy as np
import pytest

from counting.census import census
from counting.census.buckets import FIXING
from counting.census.expansion import DECIDED
from counting.census.files import open_rows, read_rows
from counting.reachable.lemmas import lemmas_for
from tablut.engine import engine_for
from tablut.variants import load_variant

CLASSES = {
    "ashton-5-4v0": 17_518,
    "brandubh-5-4v0": 25_265,
    "ashton-5-4v2": 6_731_251,
    "ashton-5-4v4": 61_750_501,
    "brandubh-5-4v4": 52_291_482,
    "ashton-7-4v1": None,
    "brandubh-7-4v1": None,
}
QUICK = ("ashton-5-4v0", "brandubh-5-4v0")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CLASSES]
)
def test_no_lemma_holds_on_a_reached_position(name: str, tmp_path: Path) -> None:
    variant = load_variant(name)
    engine, lemmas = engine_for(variant), lemmas_for(variant)
    report = census(variant, store=tmp_path / "census")
    tried = 0
    for path in sorted((tmp_path / "census").rglob("part-*.rows")):
        file = open_rows(path)
        for first in range(0, len(file.counts), 256):
            rows = read_rows(file, first, first + 256)
            words = rows[rows[:, -1] >> np.uint64(DECIDED) == 0].copy()
            words[:, -1] &= np.uint64((1 << FIXING) - 1)
            assert not lemmas.of_boards(engine.boards(words)).any()
            tried += len(words)
    assert tried == report.total_classes
    assert CLASSES[name] in (None, tried)
