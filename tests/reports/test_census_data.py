"""The stored censuses are what the program counts: the small ones again, the large ones as far as is quick."""

import numpy as np
import pytest

from counting.census import census
from counting.census.verification import published_counts
from reports.census import results
from tablut.automorphisms.checks import near_start
from tablut.engine import engine_for
from tablut.indexing import PlacementIndex
from tablut.position import Position
from tablut.status import Status, position_status
from tablut.variants import load_variant
from tests.support.effort import slow_but

# The independent figures: undecided positions, classes, decided classes.
KNOWN = {
    "ashton-5-4v0": (139_097, 17_518, 7_635),
    "brandubh-5-4v0": (199_512, 25_265, 4_162),
    "ashton-5-4v2": (26_909_751, 6_731_251, None),
}


def test_stored_totals_are_the_independent_ones() -> None:
    stored = results()
    for name, (positions, classes, decided) in KNOWN.items():
        assert (stored[name]["total"], stored[name]["total_classes"]) == (positions, classes)
        assert decided in (None, stored[name]["decided_total_classes"])
    assert [ply["new"] for ply in stored["ashton"]["plies"]][:6] == [1, 56, 4408, 128008, 5455628, 103364432]
    assert [ply["new_classes"] for ply in stored["ashton"]["plies"]][:6] == [1, 7, 551, 16002, 682438, 12921316]
    assert stored["ashton"]["plies"][6]["new"] == 3_008_034_852
    assert stored["ashton"]["plies"][7]["new"] == 42_460_958_758
    assert published_counts(load_variant("ashton").digest) == {7: stored["ashton"]["counted"]["digest"]}


@pytest.mark.parametrize("name", list(results()))
def test_stored_censuses_are_consistent(name: str) -> None:
    result = results()[name]
    assert result["outside"] == 0
    assert result["total"] == sum(ply["new"] for ply in result["plies"])
    assert result["total_classes"] == sum(ply["new_classes"] for ply in result["plies"])
    assert result["decided_total"] == sum(ply["decided"] for ply in result["plies"])
    if result["complete"]:
        assert result["total"] == sum(pair["reached"] for pair in result["material"])
        assert int(result["bound"]) == 2 * PlacementIndex(load_variant(name)).size


@pytest.mark.parametrize(
    ("name", "plies"), slow_but([("ashton", 4)], [("ashton-5-4v0", None), ("brandubh-5-4v0", None), ("brandubh", 5)])
)
def test_stored_censuses_are_counted_again(name: str, plies: int | None) -> None:
    stored, again = results()[name]["plies"], census(load_variant(name), plies=plies).plies
    fields = ("ply", "new", "new_classes", "decided", "decided_classes", "captures", "moves")
    counted = [{field: getattr(ply, field) for field in fields} for ply in again]
    assert counted == [{field: ply[field] for field in fields} for ply in stored[: len(again)]]


@pytest.mark.parametrize("every", slow_but([67], [1]))
@pytest.mark.parametrize("name", slow_but(["brandubh-5-4v0"], ["ashton-5-4v0"]))
def test_reachable_positions_are_counted_ones_by_status_and_by_rank(name: str, every: int) -> None:
    variant = load_variant(name)
    engine, index = engine_for(variant), PlacementIndex(variant)
    words, _, complete = near_start(variant, 250_000)
    assert complete
    ranks = set()
    chosen = words[np.arange(0, len(words), every)]
    for board in engine.boards(chosen):
        cells, side = engine.cells(board)
        position = Position(cells, side)
        assert position_status(variant, position) is Status.VALID
        ranks.add((side, index.rank(position)))
    assert len(ranks) == len(chosen)
