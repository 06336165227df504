"""`tablut tablebase query`: every list against the position-by-position answers of the same tablebase."""

import csv
import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from retrograde.answers import info_of
from retrograde.tablebase.probing import Tablebase, open_tablebase
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.board import Board
from tablut.cli.shell import run
from tablut.position import Position

STORE = Path(__file__).resolve().parents[2] / "retrograde" / "data" / "ashton-5-4v0"
WDL = ("win", "draw", "loss")


@pytest.fixture(scope="module")
def tablebase(deep_store: Path) -> Tablebase:
    return open_tablebase(deep_store)


@pytest.fixture(scope="module")
def everything(tablebase: Tablebase) -> list[tuple[Position, str, int | None]]:
    return [tuple(one) for one in list_positions(tablebase.store, TableQuery(), 10**6).positions]


def test_every_class_is_listed_once_with_its_value(tablebase: Tablebase, everything: list[Any]) -> None:
    tiers = info_of(tablebase).tiers
    assert len(everything) == sum(tier.classes for tier in tiers)
    for wdl in WDL:
        assert sum(value == wdl for _, value, _ in everything) == sum(getattr(tier, wdl) for tier in tiers)
    some = everything[::37]
    assert len({Board(tablebase.variant, position).canonical().position for position, _, _ in some}) == len(some)
    for position, wdl, dtm in some:
        assert tuple(tablebase.probe(position)) == (wdl, dtm), position


@pytest.mark.parametrize("wdl", [None, *WDL])
@pytest.mark.parametrize("side", [None, "white", "black"])
@pytest.mark.parametrize("bounds", [(None, None), (4, None), (7, 7)])
def test_a_query_is_a_filter(
    tablebase: Tablebase, everything: list[Any], wdl: Any, side: Any, bounds: tuple[int | None, int | None]
) -> None:
    low, high = bounds
    expected = [
        (position, value, dtm)
        for position, value, dtm in everything
        if wdl in (None, value)
        and side in (None, "white" if position.side == "w" else "black")
        and (bounds == (None, None) or (dtm is not None and (low or 0) <= dtm <= (dtm if high is None else high)))
    ]
    query = TableQuery(wdl, side, low, high)
    found = list_positions(tablebase.store, query, 40)
    assert found.found == len(expected)
    assert [tuple(one) for one in found.positions] == expected[:40]
    for order, sign in (("longest", -1), ("shortest", 1)):
        first = list_positions(tablebase.store, query._replace(order=order), 7)
        plies = [one.dtm for one in first.positions]
        lengths = sorted(sign * dtm for _, _, dtm in expected if dtm is not None)[:7]
        assert [sign * dtm for dtm in plies if dtm is not None] == lengths
        assert first.found == found.found


def test_materials_share_the_whole(tablebase: Tablebase, everything: list[Any]) -> None:
    tiers = tablebase.store.tiers()
    counts = [list_positions(tablebase.store, TableQuery(materials=(tier,)), 0).found for tier in tiers]
    assert counts == [sum(position.material == tier for position, _, _ in everything) for tier in tiers]
    assert all(counts)


def test_zugzwangs_are_those_of_the_definition(tablebase: Tablebase, everything: list[Any]) -> None:
    score = {"win": 1, "draw": 0, "loss": -1}
    values = {(position.cells, position.side): score[wdl] for position, wdl, _ in everything}
    full, half = set(), set()
    for cells, side in values:
        white, black = values.get((cells, "w")), values.get((cells, "b"))
        if white is not None and black is not None and white < -black:
            (full if (white, black) == (-1, -1) else half).add((cells, side))
    for kind, expected in (("full", full), ("half", half), ("any", full | half)):
        found = list_positions(tablebase.store, TableQuery(zugzwang=kind), 10**6)  # type: ignore[arg-type]
        assert {(one.position.cells, one.position.side) for one in found.positions} == expected, kind
    assert half, "the store has some"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--material", "3v1"], "3v1"),
        (["--material", "two"], "'two'"),
        (["--material", "²v1"], "expected attackers"),
        (["--min-plies", "5", "--max-plies", "4"], "--min-plies 5"),
        (["--wdl", "unresolved"], "unresolved"),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tablebase", "query", str(STORE), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert word in printed.err


def test_the_command_answers_in_json_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tablebase", "query", str(STORE), "--wdl", "loss", "--order", "longest", "-n", "5"]
    assert run([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [set(one) for one in answer["positions"]] == [{"position", "wdl", "dtm"}] * 5
    assert run([*arguments, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["position"], row["wdl"], int(row["dtm"])) for row in rows] == [
        (one["position"], one["wdl"], one["dtm"]) for one in answer["positions"]
    ]
    assert all(a["dtm"] >= b["dtm"] for a, b in itertools.pairwise(answer["positions"]))
