"""The page on endings: stored summaries against the tables that ship, and changes that a check must see."""

import json
from pathlib import Path
from typing import Any

import pytest

import reports.endings
import reports.rendering
from retrograde.answers import tier_result
from retrograde.tablebase.probing import open_tablebase, shipped_store
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.errors import InputError
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


def change(stored: dict[str, Any], path: str, value: Any) -> None:
    *folders, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    at: Any = stored
    for part in folders:
        at = at[part]
    at[last] = value


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("variant", "bologna", "variant"),
        ("tiers.3.win", 5, "1v3"),
        ("tiers.3.positions", 272_003_426, "tiers"),
        ("classes", 1, "classes"),
        ("digests.2v1", "0" * 64, "digests.2v1"),
        ("longest.0.dtm", 6, "longest"),
        ("longest.0.line.0", "a1-i9", "move a1-i9"),
        ("longest.0.position", "x w", "position"),
        ("zugzwangs.listed", [], "zugzwangs"),
        ("zugzwangs.listed.0.white.wdl", "win", "zugzwangs"),
        ("zugzwangs.listed.0.white.dtm", None, "zugzwangs"),
        ("zugzwangs.listed.0.position", "9/9/9/9/9/9/9/9/K8 w", "position"),
    ],
)
def test_a_changed_summary_is_named(
    path: str, value: Any, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = json.loads((reports.rendering.DATA / "endings" / "ashton.json").read_text())
    change(stored, path, value)
    (tmp_path / "endings").mkdir()
    (tmp_path / "endings" / "ashton.json").write_text(json.dumps(stored))
    monkeypatch.setattr(reports.rendering, "DATA", tmp_path)
    with pytest.raises(InputError, match=r"ashton\.json") as caught:
        reports.endings.results()
    assert named in str(caught.value)
    assert "make it again" in str(caught.value)


def test_tables_that_were_not_verified_as_they_are_published_are_not_called_verified(
    summaries: dict[str, dict[str, Any]],
) -> None:
    summary = summaries["ashton"]
    proof: dict[str, Any] = {
        "failures": 0,
        "published": {"same": list(summary["digests"]), "unknown": [], "different": []},
        "positions_checked": summary["classes"] - 932,
        "verified_before": {"1v0": 932},
    }
    assert reports.endings._whole(summary, proof) is proof
    assert reports.endings._whole(summary, None) is None
    assert reports.endings._whole(summary, {**proof, "failures": 1}) is None
    assert reports.endings._whole(summary, {**proof, "verified_before": {}}) is None
    fewer = {"same": list(summary["digests"])[1:], "unknown": list(summary["digests"])[:1], "different": []}
    assert reports.endings._whole(summary, {**proof, "published": fewer}) is None
