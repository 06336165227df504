"""`tablut tablebase query`: every list against the position-by-position answers of the same tablebase."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from reports.studies.sources import summarise
from retrograde.answers import TablebaseSummary, info_of
from retrograde.tablebase.probing import Tablebase, open_tablebase, shipped_store
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.board import Board
from tablut.cli.shell import run
from tablut.position import Position

STORE = Path(__file__).resolve().parents[2] / "retrograde" / "data" / "ashton-5-4v0"
WDL = ("win", "draw", "loss")


@pytest.fixture(scope="module")
def tablebase(shallow_store: Path) -> Tablebase:
    return open_tablebase(shallow_store)


@pytest.fixture(scope="module")
def everything(tablebase: Tablebase) -> list[tuple[Position, str, int | None]]:
    return [tuple(one) for one in list_positions(tablebase.store, TableQuery(), 10**6).positions]


def test_every_class_is_listed_once_with_its_value(tablebase: Tablebase, everything: list[Any]) -> None:
    tiers = info_of(tablebase.store).tiers
    assert len(everything) == sum(tier.classes for tier in tiers)
    for wdl in WDL:
        assert sum(value == wdl for _, value, _ in everything) == sum(getattr(tier, wdl) for tier in tiers)
    some = everything[::37]
    assert len({Board(tablebase.variant, position).canonical().position for position, _, _ in some}) == len(some)
    for position, wdl, dtm in some:
        assert tuple(tablebase.probe(position)) == (wdl, dtm), position


def test_a_query_is_a_filter(tablebase: Tablebase, everything: list[Any]) -> None:
    for wdl, side, (low, high) in itertools.product(
        (None, *WDL), (None, "white", "black"), ((None, None), (4, None), (7, 7))
    ):
        expected = [
            (position, value, dtm)
            for position, value, dtm in everything
            if wdl in (None, value)
            and side in (None, "white" if position.side == "w" else "black")
            and (low is None or (dtm is not None and low <= dtm <= (dtm if high is None else high)))
        ]
        query = TableQuery(wdl, side, low, high)  # type: ignore[arg-type]
        found = list_positions(tablebase.store, query, 40)
        assert found.found == len(expected), query
        assert [tuple(one) for one in found.positions] == expected[:40], query
        assert list_positions(tablebase.store, query, 40, skip=25).positions == found.positions[25:]
        for order, sign in (("longest", -1), ("shortest", 1)):
            first = list_positions(tablebase.store, query._replace(order=order), 7)  # type: ignore[arg-type]
            lengths = sorted(sign * dtm for _, _, dtm in expected if dtm is not None)[:7]
            assert [sign * one.dtm for one in first.positions if one.dtm is not None] == lengths, query
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


def test_the_command_answers_in_json_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tablebase", "query", str(STORE), "--wdl", "loss", "--order", "longest", "-n", "5"]
    assert run([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [set(one) for one in answer["positions"]] == [{"position", "wdl", "dtm"}] * 5
    assert run([*arguments, "--csv"]) == 0
    comment, *lines = capsys.readouterr().out.splitlines()
    assert comment.startswith(f"# variant {answer['variant']}; version ")
    assert comment.endswith("-n 5 --csv")
    rows = list(csv.DictReader(lines))
    assert [(row["position"], row["wdl"], int(row["dtm"])) for row in rows] == [
        (one["position"], one["wdl"], one["dtm"]) for one in answer["positions"]
    ]
    assert all(a["dtm"] >= b["dtm"] for a, b in itertools.pairwise(answer["positions"]))


# -- A tablebase as a whole: its longest wins and mutual zugzwangs against the answers position by position


WORTH = {"win": 1, "draw": 0, "unresolved": 0, "loss": -1}


@pytest.fixture(scope="module", params=["deep", "brandubh-5-4v0"])
def summed(shallow_store: Path, request: pytest.FixtureRequest) -> Tablebase:
    """A tablebase whose mutual zugzwangs cost a draw, and one in which some lose for either side."""
    return open_tablebase(shallow_store if request.param == "deep" else shipped_store(request.param) or "")


@pytest.fixture(scope="module")
def summary(summed: Tablebase) -> TablebaseSummary:
    return summarise(summed, 10**6)


@pytest.fixture(scope="module")
def every_one(summed: Tablebase) -> list[Any]:
    return [tuple(one) for one in list_positions(summed.store, TableQuery(), 10**6).positions]


def test_the_longest_wins_are_the_longest(every_one: list[Any], summary: TablebaseSummary) -> None:
    longest: dict[tuple[tuple[int, int], str], int] = {}
    for position, wdl, dtm in every_one:
        if WORTH[wdl]:
            material = position.cells.count("b"), position.cells.count("w")
            winner = "white" if (position.side == "w") == (wdl == "win") else "black"
            longest[material, winner] = max(dtm, longest.get((material, winner), 0))
    assert {((one.attackers, one.defenders), one.winner): one.dtm for one in summary.longest} == longest


def test_each_line_ends_when_its_distance_says(summed: Tablebase, summary: TablebaseSummary) -> None:
    for one in summary.longest:
        board = Board(summed.variant, Position.parse(one.position, summed.variant.size))
        for move in one.line:
            assert board.outcome() is None
            board.push_text(move)
        outcome = board.outcome()
        assert outcome is not None
        assert (outcome.winner, len(one.line)) == (one.winner, one.dtm)


def test_all_mutual_zugzwangs_are_found(summed: Tablebase, every_one: list[Any], summary: TablebaseSummary) -> None:
    expected = []
    for position, wdl, dtm in every_one:
        if position.side == "w" and WORTH[wdl] <= 0:
            black = summed.probe(Position(position.cells, "b"))
            if WORTH[wdl] + WORTH[black.wdl] < 0:
                expected.append((position, (wdl, dtm), tuple(black)))
    found = summary.zugzwangs
    assert sorted((str(position), *both) for position, *both in expected) == sorted(
        (one.position, (one.white.wdl, one.white.dtm), (one.black.wdl, one.black.dtm)) for one in found.listed
    )
    assert found.full + found.half == len(expected)
    assert found.full == sum(white[0] == black[0] == "loss" for _, white, black in expected)
    assert expected
    distances = [one.white.dtm for one in found.listed if one.white.dtm is not None]
    assert distances == sorted(distances, reverse=True)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_what_is_not_listed_is_counted(summed: Tablebase, summary: TablebaseSummary, most: int) -> None:
    fewer = summarise(summed, most)
    assert fewer.longest == summary.longest
    assert (fewer.zugzwangs.full, fewer.zugzwangs.half) == (summary.zugzwangs.full, summary.zugzwangs.half)
    assert fewer.zugzwangs.listed == summary.zugzwangs.listed[:most]


def test_it_says_what_the_tablebase_holds(summed: Tablebase, summary: TablebaseSummary) -> None:
    assert info_of(summed.store).model_dump().items() <= summary.model_dump().items()
    digests = {name: summed.store.tier(*map(int, name.split("v"))).record.digest for name in summary.digests}
    assert summary.digests == digests
    assert len(digests) == len(summed.store.tiers())
