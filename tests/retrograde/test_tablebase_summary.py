"""A tablebase as a whole: its longest wins and mutual zugzwangs against the answers position by position."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from retrograde.answers import TablebaseSummary, info_of, summarise
from retrograde.tablebase.probing import Tablebase, open_tablebase, shipped_store
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.board import Board
from tablut.errors import InputError
from tablut.position import Position

WORTH = {"win": 1, "draw": 0, "unresolved": 0, "loss": -1}


@pytest.fixture(scope="module", params=["deep", "brandubh-5-4v0"])
def tablebase(deep_store: Path, request: pytest.FixtureRequest) -> Tablebase:
    """A tablebase whose mutual zugzwangs cost a draw, and one in which some lose for either side."""
    return open_tablebase(deep_store if request.param == "deep" else shipped_store(request.param) or "")


@pytest.fixture(scope="module")
def summary(tablebase: Tablebase) -> TablebaseSummary:
    return summarise(tablebase, 10**6)


@pytest.fixture(scope="module")
def everything(tablebase: Tablebase) -> list[Any]:
    return [tuple(one) for one in list_positions(tablebase.store, TableQuery(), 10**6).positions]


def test_the_longest_wins_are_the_longest(everything: list[Any], summary: TablebaseSummary) -> None:
    longest: dict[tuple[tuple[int, int], str], int] = {}
    for position, wdl, dtm in everything:
        if WORTH[wdl]:
            material = position.cells.count("b"), position.cells.count("w")
            winner = "white" if (position.side == "w") == (wdl == "win") else "black"
            longest[material, winner] = max(dtm, longest.get((material, winner), 0))
    assert {((one.attackers, one.defenders), one.winner): one.dtm for one in summary.longest} == longest


def test_each_line_ends_when_its_distance_says(tablebase: Tablebase, summary: TablebaseSummary) -> None:
    for one in summary.longest:
        board = Board(tablebase.variant, Position.parse(one.position, tablebase.variant.size))
        for move in one.line:
            assert board.outcome() is None
            board.push_text(move)
        outcome = board.outcome()
        assert outcome is not None
        assert (outcome.winner, len(one.line)) == (one.winner, one.dtm)


def test_all_mutual_zugzwangs_are_found(tablebase: Tablebase, everything: list[Any], summary: TablebaseSummary) -> None:
    expected = []
    for position, wdl, dtm in everything:
        if position.side == "w" and WORTH[wdl] <= 0:
            black = tablebase.probe(Position(position.cells, "b"))
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
def test_what_is_not_listed_is_counted(tablebase: Tablebase, summary: TablebaseSummary, most: int) -> None:
    fewer = summarise(tablebase, most)
    assert fewer.longest == summary.longest
    assert (fewer.zugzwangs.full, fewer.zugzwangs.half) == (summary.zugzwangs.full, summary.zugzwangs.half)
    assert fewer.zugzwangs.listed == summary.zugzwangs.listed[:most]


def test_it_says_what_the_tablebase_holds(tablebase: Tablebase, summary: TablebaseSummary) -> None:
    assert info_of(tablebase).model_dump().items() <= summary.model_dump().items()
    digests = {name: tablebase.store.tier(*map(int, name.split("v"))).record.digest for name in summary.digests}
    assert summary.digests == digests
    assert len(digests) == len(tablebase.store.tiers())


def test_a_tablebase_without_a_tier_is_refused(tmp_path: Path) -> None:
    shutil.copytree(shipped_store("brandubh-5-4v0") or "", tmp_path / "store")
    shutil.rmtree(tmp_path / "store" / "2v0")
    with pytest.raises(InputError, match="is not complete, without 2v0"):
        summarise(open_tablebase(tmp_path / "store"))
