"""The page on endings: stored summaries against the tables that ship, and changes that a check must see."""

from typing import Any

import pytest

import reports.endings
import reports.rendering
from retrograde.answers import tier_result
from retrograde.tablebase.probing import open_tablebase, shipped_store
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.position import Position
from tests.support.effort import slow_but

GAMES = sorted(path.stem for path in (reports.rendering.DATA / "endings").glob("*.json"))
SHIPPED = [name for name in GAMES if shipped_store(name) is not None]
SOME = slow_but(["ashton", "brandubh"], SHIPPED)


@pytest.fixture(scope="module")
def summaries() -> dict[str, dict[str, Any]]:
    return reports.endings.results()


def test_every_full_game_is_there(summaries: dict[str, dict[str, Any]]) -> None:
    assert sorted(summaries) == GAMES
    assert {name for name, summary in summaries.items() if summary["max_men"] == 6} == set(SHIPPED)


@pytest.mark.parametrize("name", SOME)
def test_the_tables_that_ship_are_part_of_it(name: str, summaries: dict[str, dict[str, Any]]) -> None:
    stored, store = summaries[name], shipped_store(name)
    assert store is not None
    tablebase = open_tablebase(store)
    tiers = {(tier["attackers"], tier["defenders"]): tier for tier in stored["tiers"]}
    for material in tablebase.store.tiers():
        record = tablebase.store.tier(*material).record
        assert tier_result(record, tablebase.variant).model_dump() == tiers[material], material
        assert stored["digests"][f"{material[0]}v{material[1]}"] == record.digest
    for one in stored["longest"]:
        if tablebase.covers(one["attackers"], one["defenders"]):
            position = Position.parse(one["position"], tablebase.variant.size)
            wins = (position.side == "w") == (one["winner"] == "white")
            assert tablebase.probe(position) == ("win" if wins else "loss", one["dtm"])


@pytest.mark.parametrize("name", SOME)
def test_the_mutual_zugzwangs_of_four_men_are_those_listed(name: str, summaries: dict[str, dict[str, Any]]) -> None:
    store = shipped_store(name)
    assert store is not None
    tablebase = open_tablebase(store)
    few = tuple(material for material in tablebase.store.tiers() if sum(material) < 4)
    found = list_positions(tablebase.store, TableQuery(side="white", materials=few, zugzwang="any"), 10**4)
    listed = {
        one["position"]: (one["white"]["wdl"], one["white"]["dtm"])
        for one in summaries[name]["zugzwangs"]["listed"]
        if sum(one["position"].count(piece) for piece in "bwK") - one["position"].endswith("w") <= 4
    }
    assert listed == {str(one.position): (one.wdl, one.dtm) for one in found.positions}
