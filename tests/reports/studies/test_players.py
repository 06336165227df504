"""The study of the players: stored games come out again, verdicts are exact, claims hold, pages are current."""

import json
import re
import shutil
from pathlib import Path

import pytest
from scipy.stats import binom

from reports.studies.players import measures, tables
from reports.studies.players.__main__ import NAME
from reports.studies.players.__main__ import page_command as app
from reports.studies.players.measures import GAMES, PLAYERS
from reports.studies.players.tables import CLOCK, FOLDER, LEVEL, PAIRINGS, cells, noticed, own_matches, results
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.play.arena.statistics import same_chances

pytestmark = pytest.mark.study

DATA = FOLDER / "data"
TABLES = {"I": 10, "II": 10, "III": 10, "IV": 10, "V": 10}


def test_every_published_cell_has_its_games() -> None:
    found = results()
    assert list(found) == [one.name for one in (*PAIRINGS, CLOCK)]
    every = cells(found)
    assert len(every) == 20
    for cell in every:
        assert cell.published.games == TABLES.get(cell.pairing.table, cell.published.games)
        assert cell.wins + cell.losses + cell.draws >= 200
        for count, (low, high) in zip((cell.wins, cell.losses, cell.draws), cell.intervals, strict=True):
            assert low <= count / 200 <= high
    assert sum(cell.published.games for cell in every if cell.pairing.table == "VI") == 190


def test_how_often_the_test_notices_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a sum over all results, each judged by the test that judges the cells."""
    monkeypatch.setattr(tables, "PER_CELL", 9)
    for games, theirs, ours in ((4, 0.9, 0.2), (5, 0.3, 0.3), (6, 1.0, 0.1)):
        expected = sum(
            binom.pmf(k, games, theirs) * binom.pmf(m, 9, ours)
            for k in range(games + 1)
            for m in range(10)
            if same_chances((k, games - k), (m, 9 - m)) < LEVEL
        )
        assert noticed(games, theirs, ours) == pytest.approx(expected)
        assert expected > 0


def test_what_is_incompatible_has_a_reason_and_nothing_else_has() -> None:
    every = cells(results())
    assert {(cell.pairing.name, cell.side) for cell in every if cell.p < LEVEL} == {
        (one.name, side) for one in PAIRINGS for side in one.reasons or ()
    }


def test_our_player_is_shown_as_it_is_stored() -> None:
    (page,) = [one for one in tables.artefacts() if one.path == "players.md"]
    text, docs = page.render().decode(), (FOLDER.parents[2] / "docs" / "players.md").read_text(encoding="utf-8")
    found = own_matches()
    assert list(found) == [one.name for one in tables.OPPONENTS]
    for name, match in found.items():
        games = (match["a_wins"], match["draws"], match["b_wins"])
        assert sum(games) == match["games"] == 400
        verdict = "reached" if match["score"] >= tables.WANTED else "**missed**"
        (row,) = re.findall(rf"^\| `{name}` \| {match['variant']} \|.*$", text, re.MULTILINE)
        assert f"| {games[0]} | {games[1]} | {games[2]} |" in row
        assert f"| {verdict} |" in row
        low, high = match["score_wilson"]
        (row,) = re.findall(rf"^\| `{name}`[^|]* \| {', '.join(map(str, games))} \|.*$", docs, re.MULTILINE)
        assert f"| {low:.3f}–{high:.3f} |" in row
        assert match["provenance"]["commit"][:7] in row


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("players", "table-1"),
        *(pytest.param("players", one.name, marks=pytest.mark.slow) for one in PAIRINGS[1:]),
        *(
            pytest.param("measures", f"{player.name}-{game}", marks=pytest.mark.slow)
            for player in PLAYERS[:2]
            for game in player.variants
        ),
    ],
)
def test_stored_games_come_out_again(folder: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command that the file names. Not so `alphabeta`: it gets better, and the file names its commit."""
    found = json.loads((DATA / folder / f"{name}.json").read_text(encoding="utf-8"))
    assert run(found["provenance"]["command"].split()[1:]) == 0
    again = json.loads(capsys.readouterr().out)
    for key in ("provenance", "slowest", "nodes_a_second"):
        found.pop(key, None)
    # Answers have gained fields since.
    assert {key: again[key] for key in found} == found


def test_every_game_is_measured_by_every_player() -> None:
    found = measures.results()
    assert {(player.name, game) for player in PLAYERS for game in GAMES} <= set(found)
    for row in found.values():
        assert row["white"] + row["black"] + row["draws"] == row["games"] >= 100


def test_the_pages_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--check", "--json"], app, NAME) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "from_", "damage"),
    [
        ("table-1", "table-2", None),
        ("ours-heuristic", "ours-payoff", None),
        ("table-3", "table-3", ("draws", 1)),
        ("table-3", "table-3", ("score", 0.1)),
    ],
)
def test_a_match_in_anothers_place_or_with_other_counts_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, from_: str, damage: tuple[str, float] | None
) -> None:
    folder = Path(shutil.copytree(DATA / "players", tmp_path / "players"))
    stored = json.loads((folder / f"{from_}.json").read_text(encoding="utf-8"))
    if damage is not None:
        stored[damage[0]] += damage[1]
    (folder / f"{name}.json").write_text(json.dumps(stored), encoding="utf-8")
    monkeypatch.setattr(tables, "_MATCHES", folder)
    with pytest.raises(InputError) as refused:
        (own_matches if name.startswith("ours") else results)()
    assert f"{name}.json" in refused.value.subject
    (folder / f"{name}.json").unlink()
    with pytest.raises(InputError):
        (own_matches if name.startswith("ours") else results)()
