"""The atlas of balance: its cells, what games say against plain twins, and a run that is killed and goes on."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import pytest

from reports.rulebook import with_field
from reports.studies.balance.__main__ import NAME, app
from reports.studies.balance.cells import (
    CHANGED,
    OPENINGS,
    all_cells,
    change_of,
    changed_cells,
    plan_of,
    shipped_cell,
)
from reports.studies.balance.gathering import (
    Played,
    added,
    alternatives,
    compared,
    csv_text,
    difference,
    first_move,
    first_move_matters,
    read_data,
    row_of,
    short,
)
from reports.studies.balance.page import again
from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.play.arena import contestant, play_match
from tablut.play.players import PlayerOptions
from tablut.play.players.simple import AlphaBetaPlayer
from tablut.play.search.limits import SearchLimits
from tablut.position import Move
from tablut.variants import load_variant
from tests.support.pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path


DATA = ROOT / "reports" / "studies" / "balance" / "data"


def test_cells_change_one_rule_and_contradictions_are_named() -> None:
    cells = all_cells()
    assert len({cell.variant.digest for cell in cells}) == len(cells)
    for game in CHANGED:
        found, left_out = changed_cells(game)
        ships = load_variant(game)
        assert len(found) + len(left_out) == 8
        for cell in found:
            assert cell.variant.start == ships.start
            assert (cell.change == "escape") == (cell.variant.terrain != ships.terrain)
            # The same change once more changes it back, but for what it says beside.
            _, fields, terrain = change_of(cell.variant, cell.change)
            back = cell.variant.rules
            for field, value in fields.items():
                back = with_field(back, field, value)
            assert terrain == ships.terrain
            assert back == ships.rules or cell.change in ("throne", "repetition"), cell.name
    assert "throne" in changed_cells("sea-battle-9")[1]
    assert "on_edge" in changed_cells("saami-tablut")[1]["fort"]
    assert "corner" in changed_cells("copenhagen")[1]["escape"]


def test_repetitions_and_alike_openings_follow_from_the_ends_and_the_rules() -> None:
    """The columns on repetitions and the cap, derived again from how games end, the rules and the seed."""
    rows, atlas = read_data(DATA)
    # Whoever has no move loses; in every cell with such an end, that is white.
    wins = {"king_escaped": "white", "exit_fort": "white"}
    wins |= dict.fromkeys(("king_captured", "encirclement", "no_moves"), "black")
    rules = {cell.name: cell.variant.rules.repetition.result for cell in all_cells()}
    for row in rows.values():
        ends = {end: int(count) for end, count in map(str.split, row.ends.split("; "))}
        sure = [sum(count for end, count in ends.items() if wins.get(end) == side) for side in ("white", "black")]
        assert row.rest == tuple(sure), row.cell
        lost = {"white_loses": (0, row.repeated), "draw": (0, 0), "none": (0, 0)}.get(rules[row.cell])
        assert lost in (None, (row.repeated_white, row.repeated_black)), row.cell
        assert (row.repeated, row.capped) == (ends.get("repetition", 0), ends.get("ply_cap", 0))
        same = map(str.__eq__, *(atlas.played[name][row.nodes].first_moves for name in (row.cell, row.game)))
        assert (row.alike > 0, row.alike <= sum(same)) == (not row.cell.endswith("+escape"), True), row.cell
    cell = next(cell for cell in all_cells() if cell.name == "brandubh+repetition")
    games = (cell.variant, load_variant(cell.game))
    begun = [[OPENINGS.of_pair(game, number) for number in range(200)] for game in games]
    assert sum(map(tuple.__eq__, *begun)) == rows[cell.name, 5_000].alike


def test_what_games_say_is_what_a_plain_count_says() -> None:
    cell, random = shipped_cell("brandubh"), contestant("random", SearchLimits(nodes=1))
    plan = plan_of(cell, 1, 30)._replace(first=random, second=random)
    report = play_match(plan)
    games = [one.game for one in report.played]
    played = short(report, plan)
    row = row_of(cell, 1, report, played)
    assert [row.white, row.black, row.draws] == [
        sum(game.winner == side for game in games) for side in ("white", "black", "draw")
    ]
    assert row.decided_white == pytest.approx(row.white / (row.white + row.black), abs=1e-4)
    assert row.plies == pytest.approx(sum(len(game.moves) for game in games) / 30, abs=1e-4)
    assert sum(int(part.split()[-1]) for part in row.ends.split(";")) == 30
    assert row.white_low < row.white_share < row.white_high
    repeated = [game.winner for game in games if game.termination == "repetition"]
    assert (row.repeated, row.repeated_white + row.repeated_black) == (len(repeated), 0)
    assert (row.rest, row.capped, row.alike) == ((row.white, row.black), 0, 30)
    # The same games under other escapes begin unlike those of the game as it ships.
    moved = next(one for one in changed_cells("brandubh")[0] if one.change == "escape")
    other = play_match(plan_of(moved, 1, 3)._replace(first=random, second=random))
    assert row_of(moved, 1, other, short(other, plan_of(moved, 1, 3))).alike == 0
    # The moves of one man to one square and all its mirror images: 40 first moves are 5.
    assert row.first_moves == 5
    assert {first_move(cell.variant, Move.parse(text, 7)) for text in ("d2-a2", "b4-b1", "f4-f7")} == {"d2-a2"}


def test_better_moves_than_a_repetition_are_those_of_separate_searches() -> None:
    cell = next(cell for cell in all_cells() if cell.name == "brandubh+repetition")
    plan = plan_of(cell, 100, 24)
    report = play_match(plan)
    found = alternatives(report, plan)
    lost = [one.game for one in report.played if one.game.termination == "repetition"]
    assert len(lost) == len(found.left) == found.proven + found.repeated + found.better > 0
    proven = 0
    for game, left in zip(lost, found.left, strict=True):
        turns = [len(game.moves) - left, *range(len(game.moves) - left + 2, len(game.moves), 2)]
        for ply in turns:
            board = Board(cell.variant)
            for move in game.moves[:ply]:
                board.push(move)
            assert board.turn == "white"
            others = [move for move in board.legal_moves if move != game.moves[ply]]
            player = AlphaBetaPlayer(cell.variant, PlayerOptions(hash_mib=64))
            best = player.search(board, SearchLimits(nodes=1000), moves=others)
            assert best.score is not None
            assert (best.score > -15_000) == (ply == turns[0])
        proven += best.mate is not None and best.mate < 0  # the last of these searches replaces the last move
    assert found.proven == proven


def test_tests_against_their_twins() -> None:
    before, after = "wwbbddwbwb", "wbwwdwwwwb"
    better, worse, p = compared(before, after)
    assert (better, worse) == (4, 1)
    assert p == pytest.approx(2 * sum(comb(5, many) for many in (4, 5)) / 2**5)
    mean, low, high = difference(before, after)
    # Ten pairs, and half a game in each of the four corners of their table.
    pairs = [0, -1, 0, 1, 0, 0.5, 1, 0, 1, 0, *[0] * 2]
    assert (mean, (low + high) / 2) == pytest.approx((0.25, sum(pairs) / 12))
    wide = 1.96 * np.sqrt(((sum(pair**2 for pair in pairs) + 1) / 12 - (sum(pairs) / 12) ** 2) / 12)
    assert (high - low) / 2 == pytest.approx(wide, abs=1e-4)
    assert difference("wb", "wb")[1] < 0 < difference("wb", "wb")[2]
    assert compared("wbd", "wbd") == (0, 0, 1.0)
    # Every way to give three wins to seven games; those that part the moves as much or more.
    results, first = "wwwbbbb", "a1-a2 a1-a2 a1-a2 b1-b2 b1-b2 b1-b2 b1-b2"
    spreads = [
        sum(place < 3 for place in won) ** 2 / 3 + sum(place >= 3 for place in won) ** 2 / 4
        for won in combinations(range(7), 3)
    ]
    exact = np.mean([spread >= 3 - 1e-9 for spread in spreads])
    assert first_move_matters(Played(digest="", engine="", results=results, first=first)) == pytest.approx(
        exact, abs=0.01
    )


def test_the_page_is_that_of_the_data_and_damage_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["page", "--check"], app, NAME) == 0, capsys.readouterr().out
    for name in ("atlas.csv", "atlas.json"):
        (tmp_path / name).write_text((DATA / name).read_text())
    rows, _ = read_data(tmp_path)
    some = next(iter(rows.values()))
    changed = f",{some.nodes},{some.games},{some.white + 1},"
    text = (tmp_path / "atlas.csv").read_text()
    (tmp_path / "atlas.csv").write_text(text.replace(f",{some.nodes},{some.games},{some.white},", changed, 1))
    with pytest.raises(InputError, match="counts differ"):
        read_data(tmp_path)


def test_added_cells_replace_their_own_and_keep_what_another_engine_played(tmp_path: Path) -> None:
    rows, atlas = read_data(DATA)
    key = "brandubh", 5_000
    old, other = atlas.played["brandubh"][5_000], atlas.played["mcgill"][5_000]
    assert old.engine != "another"
    new = old.model_copy(update={"engine": "another", "results": old.results[::-1]})
    gathered = atlas.model_copy(update={"played": {"brandubh": {5_000: new}}, "replaced": {}, "signature": "new"})
    merged, found = added([rows[key]], gathered, (rows, atlas))
    assert merged == list(rows.values())
    assert found.signature == "new"
    assert found.played["brandubh"][5_000] == new
    assert found.played["mcgill"][5_000] == other
    assert found.replaced["brandubh"] == {5_000: old}
    # If another engine plays the same games, nothing is replaced.
    same = atlas.model_copy(update={"played": {"brandubh": {5_000: old.model_copy(update={"engine": "another"})}}})
    assert added([rows[key]], same, (rows, atlas))[1].replaced == atlas.replaced
    # The same engine again replaces its own games without a trace.
    assert added([rows[key]], gathered, (rows, found))[1].replaced == found.replaced
    (tmp_path / "atlas.csv").write_text(csv_text(merged))
    (tmp_path / "atlas.json").write_text(found.model_dump_json())
    assert read_data(tmp_path)[1] == found
    (one,) = [one for one in again(rows, found) if one["row"].cell == "brandubh"]
    pairs = list(zip(old.results, new.results, strict=True))
    assert one["better"] == sum("bdw".index(after) > "bdw".index(before) for before, after in pairs)
    assert one["worse"] == sum("bdw".index(after) < "bdw".index(before) for before, after in pairs)


@pytest.mark.study
@pytest.mark.parametrize(
    "name", ["brandubh", "brandubh+king", "mcgill", "ashton", "copenhagen", "fetlar+fort", "sea-battle-11"]
)
def test_the_games_are_those_of_the_player_of_today(name: str) -> None:
    cell = next(cell for cell in all_cells() if cell.name == name)
    plan = plan_of(cell, 5_000, 10)
    again = short(play_match(plan), plan)
    kept = read_data(DATA)[1].played[name][5_000]
    assert (again.results, again.first_moves) == (kept.results[:10], kept.first_moves[:10])
