"""The census against known figures, its naive twin, itself without symmetry, and the counted space."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counting.census import Resources, census
from counting.census.rows import open_rows, read_rows
from counting.census.toolbox import COUNTERS
from tablut.cli.shell import run
from tablut.engine import engine_for
from tablut.position import Position, position_text
from tablut.status import Status, position_status
from tablut.variants import Variant, load_variant
from tests.support.effort import MORE, OLDER_CASES, examples, slow_but
from tests.support.strategies import small_variants
from tests.twins.census import naive_census

Captured = pytest.CaptureFixture[str]

# Positions, classes, decided classes; the decided ones of ashton-5-4v2 are not known from elsewhere.
COMPLETE = {"ashton-5-4v0": (139_097, 17_518, 7_635), "brandubh-5-4v0": (199_512, 25_265, 4_162)}


def assert_equals_the_twin(variant: Variant, plies: int | None) -> None:
    report = census(variant, plies=plies, resources=Resources(memory=1 << 30))
    naive = naive_census(variant, plies)
    while len(naive) > 1 and naive[-1]["new"] == naive[-1]["decided"] == 0:
        naive.pop()
    assert [{name: getattr(ply, name) for name in naive[0]} for ply in report.plies] == naive
    assert report.outside == 0


@pytest.mark.parametrize("name", slow_but(["brandubh-5-4v0"], COMPLETE))
def test_complete_boards(name: str) -> None:
    report = census(load_variant(name), full=True)
    assert (report.total, report.total_classes, report.decided_total_classes) == COMPLETE[name]
    assert report.complete
    assert report.next_ply is None
    assert report.full is not None
    assert report.full.agrees
    assert sum(ply["decided"] for ply in report.full.plies) == report.decided_total
    assert report.outside == report.outside_classes == 0
    assert sum(pair.reached for pair in report.material) == report.total
    assert all(pair.reached <= pair.tightened <= pair.bound for pair in report.material)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "positions", "classes", "bound"),
    [
        ("ashton-5-4v2", 26_909_751, 6_731_251, 27_512_140),
        # No other source gives this one: it pins what the census has found.
        ("brandubh-5-4v4", 418_208_182, 52_291_482, 457_009_130),
    ],
)
def test_larger_complete_boards(name: str, positions: int, classes: int, bound: int) -> None:
    report = census(load_variant(name), resources=Resources(threads=2))
    assert (report.total, report.total_classes, report.bound) == (positions, classes, bound)
    assert report.complete
    assert report.outside == 0


def test_the_first_plies_of_ashton() -> None:
    report = census(load_variant("ashton"), plies=4)
    assert [ply.new for ply in report.plies] == [1, 56, 4_408, 128_008, 5_455_628]
    assert [ply.new_classes for ply in report.plies] == [1, 7, 551, 16_002, 682_438]
    assert report.plies[0].branching == 56
    assert not report.complete
    assert report.next_ply is not None
    assert report.next_ply.children == 38_174_330
    # The moves of the full census are those of perft as long as nothing transposes: 56, 4408.
    assert [ply.moves for ply in report.plies[:3]] == [56, 4_408, 248_456]


@pytest.mark.slow
def test_the_fifth_ply_of_ashton() -> None:
    report = census(load_variant("ashton"), plies=5, resources=Resources(threads=2))
    assert (report.plies[5].new, report.plies[5].new_classes) == (103_364_432, 12_921_316)


@pytest.mark.parametrize("name", OLDER_CASES)
def test_the_twin_and_the_sums_of_orbits(name: str) -> None:
    variant = load_variant(name)
    assert_equals_the_twin(variant, 1 if variant.size > 7 else 2 if variant.size == 7 else 3)
    report = census(variant, plies=2 if variant.size > 7 else 3, full=True)
    assert report.full is not None
    assert report.full.agrees


@settings(max_examples=examples(3, 2 * MORE), deadline=None, suppress_health_check=list(HealthCheck))
@given(small_variants(size=3, most_attackers=2, most_defenders=1, later=True))
def test_any_rules_on_the_smallest_board(variant: Variant) -> None:
    assert_equals_the_twin(variant, None)


@settings(max_examples=examples(3, 2 * MORE), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([5, 7, 9, 11, 16]).flatmap(lambda size: small_variants(size=size, most_attackers=3, later=True)),
    st.just(2),
)
def test_any_rules_on_any_terrain(variant: Variant, plies: int) -> None:
    assert_equals_the_twin(variant, plies)
    report = census(variant, plies=plies, full=True)
    assert report.full is not None
    assert report.full.agrees


def test_every_reached_position_is_possible_and_canonical(tmp_path: Path) -> None:
    """By `Status`, which shares nothing with the masks of the census; the stored rows are those of the count."""
    variant = load_variant("brandubh-5-4v0")
    engine = engine_for(variant)
    report = census(variant, store=tmp_path)
    rows = []
    for path in sorted(tmp_path.rglob("part-*.rows")):
        file = open_rows(path)
        rows.append(read_rows(file, 0, len(file.counts)))
        assert list(file.stats.counters) == list(COUNTERS)
    words = np.concatenate(rows)
    assert len(np.unique(words, axis=0)) == len(words) == report.total_classes + report.decided_total_classes
    flags = words[:, -1] >> np.uint64(62)
    words[:, -1] &= np.uint64((1 << 62) - 1)
    assert int((flags == 0).sum()) == report.total_classes
    assert np.array_equal(engine.canonical(words)[0], words)
    for board, flag in zip(engine.boards(words)[::7], flags[::7], strict=True):
        cells, side = engine.cells(board)
        rows_of_cells = [cells[rank * 5 : rank * 5 + 5] for rank in reversed(range(5))]
        position = Position.parse(position_text(rows_of_cells, side), 5)
        assert position_status(variant, position) == Status.VALID, str(position)
        assert flag in (0, 2, 3)


# -- the command -----------------------------------------------------------------------


def test_the_command_as_json(capsys: Captured) -> None:
    assert run(["census", "-v", "ashton-5-4v0", "--all", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    answer = json.loads(captured.out)
    assert {"ply", "new", "new_classes", "decided", "decided_classes"} <= answer["plies"][0].keys()
    totals = answer["total"], answer["total_classes"], answer["decided_total_classes"]
    assert totals == COMPLETE["ashton-5-4v0"]
    assert answer["decided_total"] == sum(ply["decided"] for ply in answer["plies"])
    assert answer["complete"] is True
    assert answer["variant"] == "ashton-5-4v0"
    assert answer["provenance"]["parameters"]["all_plies"] is True


def test_the_command_for_people(capsys: Captured) -> None:
    assert run(["census", "--plies", "2", "--full", "--against-bounds"]) == 0
    text = capsys.readouterr().out
    assert "4\xa0408" in text
    assert "551" in text
    assert run(["census", "--plies", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--plies", "2", "--all"], ["--plies", "--all"]),
        (["--plies", "-1"], ["--plies"]),
        (["--memory", "100"], ["--memory 100", "MiB"]),
        (["--all"], ["ashton", "classes", "with --plies"]),
        (["--plies", "1", "verify", "here"], ["verify"]),
        (["verify", "nowhere"], ["nowhere", "contains no census"]),
        (["--scheduler", "tcp://127.0.0.1:1"], ["--scheduler", "--store"]),
        (["-v", "asthon"], ["asthon"]),
    ],
)
def test_bad_input_is_one_line(capsys: Captured, arguments: list[str], words: list[str]) -> None:
    assert run(["census", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert all(word in captured.err for word in words), captured.err
