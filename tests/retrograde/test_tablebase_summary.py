"""`tablut tablebase summary`: its longest wins and mutual zugzwangs against the answers position by position."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from retrograde.tablebase.probing import Tablebase, open_tablebase, shipped_store
from retrograde.tablebase.querying import TableQuery, list_positions
from retrograde.tablebase.summarising import Summary, summarise
from tablut.board import Board
from tablut.cli.shell import run
from tablut.position import Position

WORTH = {"win": 1, "draw": 0, "unresolved": 0, "loss": -1}


@pytest.fixture(scope="module", params=["deep", "brandubh-5-4v0"])
def tablebase(deep_store: Path, request: pytest.FixtureRequest) -> Tablebase:
    """A tablebase whose mutual zugzwangs cost a draw, and one in which some lose for either side."""
    return open_tablebase(deep_store if request.param == "deep" else shipped_store(request.param) or "")


@pytest.fixture(scope="module")
def summary(tablebase: Tablebase) -> Summary:
    return summarise(tablebase, 10**6)


@pytest.fixture(scope="module")
def everything(tablebase: Tablebase) -> list[Any]:
    return [tuple(one) for one in list_positions(tablebase.store, TableQuery(), 10**6).positions]


def test_the_longest_wins_are_the_longest(everything: list[Any], summary: Summary) -> None:
    longest: dict[tuple[tuple[int, int], str], int] = {}
    for position, wdl, dtm in everything:
        if WORTH[wdl]:
            material = position.cells.count("b"), position.cells.count("w")
            winner = "white" if (position.side == "w") == (wdl == "win") else "black"
            longest[material, winner] = max(dtm, longest.get((material, winner), 0))
    assert {(one.material, one.winner): one.dtm for one in summary.longest} == longest


def test_each_line_ends_when_its_distance_says(tablebase: Tablebase, summary: Summary) -> None:
    for one in summary.longest:
        board = Board(tablebase.variant, one.position)
        for move in one.line:
            assert board.outcome() is None
            board.push(move)
        outcome = board.outcome()
        assert outcome is not None
        assert (outcome.winner, len(one.line)) == (one.winner, one.dtm)


def test_all_mutual_zugzwangs_are_found(tablebase: Tablebase, everything: list[Any], summary: Summary) -> None:
    expected = []
    for position, wdl, dtm in everything:
        if position.side == "w" and WORTH[wdl] <= 0:
            black = tablebase.probe(Position(position.cells, "b"))
            if WORTH[wdl] + WORTH[black.wdl] < 0:
                expected.append((position, (wdl, dtm), tuple(black)))
    found = summary.zugzwangs
    assert sorted(map(str, expected)) == sorted(
        str((one.position, tuple(one.white), tuple(one.black))) for one in found.listed
    )
    assert found.full + found.half == len(expected)
    assert found.full == sum(white[0] == black[0] == "loss" for _, white, black in expected)
    assert expected
    distances = [one.white.dtm for one in found.listed if one.white.dtm is not None]
    assert distances == sorted(distances, reverse=True)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_what_is_not_listed_is_counted(tablebase: Tablebase, summary: Summary, most: int) -> None:
    fewer = summarise(tablebase, most)
    assert fewer.longest == summary.longest
    assert fewer.zugzwangs[:2] == summary.zugzwangs[:2]
    assert fewer.zugzwangs.listed == summary.zugzwangs.listed[:most]


def test_the_command_says_what_the_function_finds(
    tablebase: Tablebase, summary: Summary, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tablebase.store.root)
    assert run(["tablebase", "summary", store, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(one["position"], one["dtm"]) for one in answer["longest"]] == [
        (str(one.position), one.dtm) for one in summary.longest
    ]
    assert [one["position"] for one in answer["zugzwangs"]["listed"]] == [
        str(one.position) for one in summary.zugzwangs.listed
    ]
    digests = {name: tablebase.store.tier(*map(int, name.split("v"))).record.digest for name in answer["digests"]}
    assert answer["digests"] == digests
    assert len(digests) == len(tablebase.store.tiers())
    assert run(["tablebase", "summary", store]) == 0
    shown = capsys.readouterr().out
    assert f"mutual zugzwangs: {summary.zugzwangs.full:,} lose for either side" in shown
    assert str(summary.longest[-1].position) in shown


def test_a_tablebase_without_a_tier_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(shipped_store("brandubh-5-4v0") or "", tmp_path / "store")
    shutil.rmtree(tmp_path / "store" / "2v0")
    assert run(["tablebase", "summary", str(tmp_path / "store")]) == 2
    assert "is not complete, without 2v0" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nowhere", "__init__.py"])
def test_what_is_no_tablebase_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tablebase", "summary", str(tmp_path / name)]) == 2
    assert name in capsys.readouterr().err
