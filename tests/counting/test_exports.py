"""Numbers for spreadsheets and sequences: the same as in the answer, and in the form that other programs read."""

import csv
import io
import json
import re

import pytest

from counting import bounds
from counting.complexity import placements_by_men
from counting.family import SIDES, scaled_tablut
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.variants import load_variant
from tests.support.effort import slow_but

Captured = pytest.CaptureFixture[str]


def sequence(text: str) -> dict[int, int]:
    """Return a b-file's values by index; every line is a comment or two integers, the indices without a gap."""
    assert text.isascii()
    assert text.endswith("\n")
    lines = text.splitlines()
    found = {}
    for line in lines:
        if not line.startswith("# "):
            assert re.fullmatch(r"\d+ \d+", line), line
            number, value = map(int, line.split())
            found[number] = value
    assert lines[0].startswith("# ")
    assert list(found) == list(range(min(found), max(found) + 1))
    return found


def test_the_bound_by_side_is_that_of_the_family(capsys: Captured) -> None:
    assert run(["bounds", "--bfile"]) == 0
    text = capsys.readouterr().out
    assert run(["bounds", "--bfile", "--json"]) == 0
    boards = json.loads(capsys.readouterr().out)["boards"]
    found = sequence(text)
    assert found == {board["side"] // 2: int(board["distinct"]) for board in boards}
    assert list(found) == [side // 2 for side in SIDES] == list(range(3, 10))
    assert found[4] == bounds("ashton").corrected.distinct
    lines = [line.removeprefix("# (Python) ") for line in text.splitlines() if line.startswith("# (Python) ")]
    short = "\n".join(lines).replace("range(3, 10)", "range(3, 5)")  # the others take long
    exec(short, {})
    assert json.loads(capsys.readouterr().out) == [found[3], found[4]]


def test_the_family_has_the_boards_of_two_games() -> None:
    assert scaled_tablut(9).same_game(load_variant("ashton"))
    assert scaled_tablut(7).start == load_variant("brandubh").start
    for side in SIDES:
        game = scaled_tablut(side)
        assert (game.size, game.attackers, game.defenders) == (side, 4 * (side - 5), 2 * (side - 5))
        assert len(game.start_symmetries) == 8
        assert len(game.regions.camp_cells) == game.attackers
    for side in (5, 8, 21, 9.0, "9", None):
        with pytest.raises(InputError) as found:
            scaled_tablut(side)  # type: ignore[arg-type]
        assert found.value.parameter == "side"


@pytest.mark.parametrize("name", slow_but(["brandubh-5-4v0"], ["ashton"]))
def test_states_by_men_add_up_to_the_bound(name: str, capsys: Captured) -> None:
    assert run(["bounds", "--bfile", "-v", name]) == 0
    found = sequence(capsys.readouterr().out)
    report = bounds(name)
    assert list(found.values()) == placements_by_men(report)
    assert sum(found.values()) == report.corrected.total
    assert (min(found), max(found)) == (1, 1 + max(one.attackers + one.defenders for one in report.material))


@pytest.mark.parametrize("name", slow_but(["brandubh-5-4v4"], ["ashton"]))
def test_csv_holds_every_exact_number_of_the_answer(name: str, capsys: Captured) -> None:
    assert run(["bounds", "-v", name, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    by_group = {(row["group"], row["id"]): row for row in rows if row["id"]}
    report = bounds(name)
    for term in report.terms:
        row = by_group["equation", term.id]
        assert (int(row["exact"]), row["published"]) == (term.exact, term.published or "")
        assert row["agrees"] == {None: "", True: "yes", False: "no"}[term.agrees]
    for group in ("corrected", "tightened", "classes", "classes_tightened"):
        for key, value in getattr(report, group):
            assert int(by_group[group, key]["exact"]) == value
    assert sum(int(row["exact"]) for row in rows if row["group"] == "material") == report.corrected.total


def test_the_census_as_a_sequence(capsys: Captured) -> None:
    assert run(["census", "-v", "ashton-5-4v0", "--plies", "4", "--bfile"]) == 0
    found = sequence(capsys.readouterr().out)
    assert run(["census", "-v", "ashton-5-4v0", "--plies", "4", "--json"]) == 0
    plies = json.loads(capsys.readouterr().out)["plies"]
    assert found == {ply["ply"]: ply["new"] for ply in plies}
    assert run(["census", "-v", "ashton-5-4v0", "--plies", "4", "--csv"]) == 0
    comment, *lines = capsys.readouterr().out.splitlines()
    assert comment.startswith("# variant ashton-5-4v0; ")
    assert found == {int(row["ply"]): int(row["new"]) for row in csv.DictReader(lines)}
