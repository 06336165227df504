"""Verification: it passes on what is right, and finds each kind of wrong by itself."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from retrograde.tablebase import TablebaseError, open_tablebase
from retrograde.tablebase.encoding import ALIAS_CODE
from retrograde.tablebase.schema import TierRecord, read_record, write_record
from retrograde.tablebase.store import open_store
from retrograde.tablebase.writer import create, write_tier
from retrograde.verification import verifying as verification_module
from retrograde.verification.playing import SEARCHED_PLIES, ForwardCheck, sample_wins
from retrograde.verification.verifying import verify
from tablut.engine import engine_for
from tablut.indexing.tiers import TierIndex, tier_index
from tablut.position import Position
from tablut.testing import small_variants
from tablut.variants import Variant, load_variant
from tests.support.effort import examples


def words(variant: Variant, position: Position) -> np.ndarray:
    engine = engine_for(variant)
    return engine.words(engine.board(position.cells, position.side))


def classes(root: Path) -> int:
    store = open_store(root)
    return sum(2 * store.tier(*material).record.classes for material in store.tiers())


@pytest.mark.parametrize("options", [{}, {"threads": 3}, {"memory": 1}])
def test_what_is_right_passes(deep_store, monkeypatch, options) -> None:
    monkeypatch.setattr(verification_module, "_PART", 1000)
    told = []
    report = verify(deep_store, advanced=lambda tier, entries: told.append((tier, entries)), **options)
    assert report.wrong == []
    assert (report.failures, report.files_checked) == (0, 30)
    assert report.positions_checked == classes(deep_store)
    store = open_store(deep_store)
    assert sum(entries for _, entries in told) == sum(store.tier(*material).entries for material in store.tiers())


def test_a_game_with_all_eight_symmetries_passes(small_store) -> None:
    report = verify(small_store, sample=5)
    assert (report.wrong, report.positions_checked) == ([], classes(small_store))
    assert sum(report.samples.values()) == 5


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(variant=small_variants(most_attackers=3, most_defenders=2))
def test_any_rules_solved_are_verified(tmp_path_factory, solve_codes, write_store, variant: Variant) -> None:
    materials = [
        (attackers, defenders)
        for attackers in range(1, variant.attackers + 1)
        for defenders in range(variant.defenders + 1)
        if attackers + defenders <= 3
    ]
    root = tmp_path_factory.mktemp("any")
    write_store(root / "s", variant, solve_codes(variant, materials))
    report = verify(root / "s")
    assert (report.wrong, report.failures) == ([], 0)
    shutil.rmtree(root)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh"])
def test_the_full_games_up_to_four_men(tmp_path, solve_codes, write_store, name: str) -> None:
    materials = [(attackers, men - attackers) for men in (1, 2, 3) for attackers in range(1, men + 1)]
    variant = load_variant(name)
    write_store(tmp_path / "s", variant, solve_codes(variant, materials))
    report = verify(tmp_path / "s", sample=10, threads=2)
    assert (report.wrong, report.failures) == ([], 0)


# -- wrong values --------------------------------------------------------------------------


def rewritten(root: Path, copy: Path, material: tuple[int, int], white: np.ndarray, black: np.ndarray) -> Path:
    """Copy a store with other values for one tier, written as if they were right."""
    shutil.copytree(root, copy)
    write_tier(copy, tier_index(open_store(root).variant, *material), white, black)
    return copy


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("wrong", ["longer", "shorter", "lost", "open"])
def test_one_wrong_value_is_found(tmp_path, deep_store, deep_codes, side: int, wrong: str) -> None:
    codes = [array.copy() for array in deep_codes[2, 1]]
    won = np.flatnonzero((codes[side] % 2 == 0) & (codes[side] >= 4) & (codes[side] != ALIAS_CODE))
    entry = int(won[len(won) // 2])
    right = int(codes[side][entry])
    codes[side][entry] = {"longer": right + 2, "shorter": right - 2, "lost": right + 1, "open": 0}[wrong]
    root = rewritten(deep_store, tmp_path / "s", (2, 1), *codes)
    report = verify(root)
    assert report.failures >= 1
    assert {failure.where for failure in report.wrong} == {"2v1"}
    position = str(tier_index(open_store(root).variant, 2, 1).unrank(entry, "wb"[side]))
    (found,) = [failure.what for failure in report.wrong if failure.position == position]
    assert f"entry {entry:,}" in found
    assert f"proved win in {right >> 1}" in found
    assert verify(root, quick=True).failures == 0


def test_a_draw_called_a_win_and_a_win_that_wins_nothing(tmp_path, deep_store, deep_codes) -> None:
    white, black = (array.copy() for array in deep_codes[2, 0])
    # A circle of wins that never end: every draw is called a win or loss of the same far distance.
    white[white == 0] = 2 * 40
    black[black == 0] = 2 * 39 + 1
    report = verify(rewritten(deep_store, tmp_path / "s", (2, 0), white, black))
    assert report.failures > 100
    assert len(report.wrong) <= 20 < report.failures


def test_wrong_values_below_are_found_below(tmp_path, deep_store, deep_codes) -> None:
    white, black = (array.copy() for array in deep_codes[1, 0])
    white[np.flatnonzero(white == 2)[3]] = 6
    report = verify(rewritten(deep_store, tmp_path / "s", (1, 0), white, black), sample=3)
    assert "1v0" in {failure.where for failure in report.wrong}
    # A table that is wrong guides no search.
    assert sum(report.samples.values()) == 0


# -- wrong frames --------------------------------------------------------------------------


def test_a_record_that_counts_wrongly_is_found(tmp_path, deep_store) -> None:
    root = shutil.copytree(deep_store, tmp_path / "s")
    record = read_record(root / "2v0", TierRecord)
    moved = dict(record.white.classes)
    moved[2] -= 1
    moved[6] += 1
    wrong = record.model_copy(
        update={
            "placements": record.placements + 1,
            "classes": record.classes + 1,
            "white": record.white.model_copy(update={"classes": moved}),
        }
    )
    write_record(root / "2v0", wrong)
    found = [failure.what for failure in verify(root).wrong]
    assert len(found) == 3
    assert "orbits add up" in found[0]
    assert "classes;" in found[1]
    assert "classes by code" in found[2]


def test_wrong_representatives_are_found(tmp_path, deep_store, deep_variant, deep_codes) -> None:
    right = tier_index(deep_variant, 1, 1)
    flags = right.representatives.copy()
    # One class is represented by another of its combinations: all sizes stay what they are.
    king = next(k for k in range(len(flags)) if len(right.kings.stabilisers[k]) > 1)
    image = right.kings.group[right.kings.stabilisers[king][1]].table
    least, other = next(
        (number, right.leads.index(image[cell]))
        for number, cell in enumerate(right.leads)
        if flags[king, number] and image[cell] != cell
    )
    flags[king, least], flags[king, other] = False, True
    root = tmp_path / "s"
    shutil.copytree(deep_store, root)
    index = TierIndex(deep_variant, 1, 1, representatives=flags)
    assert index.size == right.size
    write_tier(root, index, *deep_codes[1, 1])
    found = [failure for failure in verify(root).wrong if failure.where == "1v1"]
    assert found
    assert "ranked" in found[0].what


def test_too_few_entries_are_found(tmp_path, deep_variant, deep_codes) -> None:
    index = tier_index(deep_variant, 1, 0)
    flags = index.representatives.copy()
    flags[0, np.flatnonzero(flags[0])[-1]] = False
    create(tmp_path / "s", deep_variant, [(1, 0)])
    fewer = TierIndex(deep_variant, 1, 0, representatives=flags)
    white, black = deep_codes[1, 0]
    kept = np.delete(np.arange(index.size), index.offsets[1] - 1)
    write_tier(tmp_path / "s", fewer, white[kept], black[kept])
    report = verify(tmp_path / "s")
    (wrong,) = report.wrong
    assert f"has {fewer.size} entries, the index {index.size}" in wrong.what
    with pytest.raises(TablebaseError, match="entries, the index"):
        open_tablebase(tmp_path / "s").probe_words(words(deep_variant, index.unrank(0, "w")))


# -- forward -------------------------------------------------------------------------------


def test_the_sample_is_what_it_says_and_the_same_each_time(deep_store) -> None:
    store = open_store(deep_store)
    tablebase = open_tablebase(deep_store)
    found = [(tier.record.name, position, plies) for tier, position, plies in sample_wins(store, 60, 4)]
    assert found == [(tier.record.name, position, plies) for tier, position, plies in sample_wins(store, 60, 4)]
    assert found != [(tier.record.name, position, plies) for tier, position, plies in sample_wins(store, 60, 5)]
    for name, position, plies in found:
        assert tablebase.probe(position) == ("win", plies)
        assert name == "v".join(map(str, position.material))
    assert len({name for name, _, _ in found}) == 5
    assert {position.side for _, position, _ in found} == {"w", "b"}
    assert max(plies for _, _, plies in found) > SEARCHED_PLIES


def test_wins_are_searched_and_followed_and_other_distances_refuted(deep_store) -> None:
    check = ForwardCheck(open_tablebase(deep_store))
    searched = followed = 0
    for _, position, plies in sample_wins(open_store(deep_store), 30, 2):
        assert check.check(position, plies) is None
        if plies > SEARCHED_PLIES:
            followed += 1
            assert "best moves" in str(check.check(position, plies + 2))
            assert "best moves" in str(check.check(position, plies - 2)) or plies - 2 <= SEARCHED_PLIES
        else:
            searched += 1
            assert "fewer" in str(check.check(position, plies + 1)) or plies == SEARCHED_PLIES
            assert plies == 1 or "no win" in str(check.check(position, plies - 1))
    assert searched > 3
    assert followed > 3


def test_a_search_that_takes_too_long_is_given_up(deep_store, monkeypatch) -> None:
    monkeypatch.setattr("retrograde.verification.playing._NODES", 3)
    check = ForwardCheck(open_tablebase(deep_store))
    position = next(position for _, position, plies in sample_wins(open_store(deep_store), 50, 2) if plies == 3)
    assert "neither proves nor refutes" in str(check.check(position, 3))


def test_a_draw_is_no_win(deep_store) -> None:
    tablebase = open_tablebase(deep_store)
    index = tier_index(tablebase.variant, 2, 0)
    draws = (index.unrank(entry, "w") for entry in range(index.size))
    position = next(p for p in draws if tablebase.probe(p).wdl == "draw")
    check = ForwardCheck(tablebase)
    assert "no win" in str(check.check(position, 3))
    assert "best moves" in str(check.check(position, 9))


def test_the_search_agrees_with_the_values_on_all_short_wins(deep_store) -> None:
    check = ForwardCheck(open_tablebase(deep_store))
    index = tier_index(check.tablebase.variant, 1, 1)
    tried = 0
    for entry in range(0, index.size, 40):
        position = index.unrank(entry, "w")
        verdict = check.tablebase.probe(position)
        if verdict.wdl == "win" and verdict.dtm is not None and verdict.dtm <= 3:
            tried += 1
            assert check.check(position, verdict.dtm) is None
    assert tried > 50


def test_positions_in_a_report_can_be_read(tmp_path, deep_store, deep_codes) -> None:
    white, black = (array.copy() for array in deep_codes[2, 0])
    white[np.flatnonzero(white == 6)[0]] = 2
    report = verify(rewritten(deep_store, tmp_path / "s", (2, 0), white, black))
    positions = [failure.position for failure in report.wrong if failure.position]
    assert positions
    for text in positions:
        assert Position.parse(text, 5).material == (2, 0)
