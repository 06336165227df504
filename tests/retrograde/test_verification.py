"""Verification: it passes on what is right, and finds each kind of wrong by itself."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrograde.tablebase import TablebaseError, open_tablebase
from retrograde.tablebase.bulk_probing import UnpackedTiers
from retrograde.tablebase.store import TierRecord, open_store, read_record, write_record
from retrograde.tablebase.writer import create, write_tier
from retrograde.verification import proof as proof_module
from retrograde.verification import verifying as verification_module
from retrograde.verification.proof import ALIASES, CHECKED, FAILURES, ORBITS, WRONG_VALUE, ProofTally, TierProof
from retrograde.verification.verifying import DRAW_PLIES, SEARCHED_PLIES, ForwardCheck, sample_values, verify
from tablut.cli.shell import run
from tablut.engine import build_tables, engine_for
from tablut.indexing.tier_kernels import rank_boards, unrank_entries
from tablut.indexing.tier_tables import tier_tables
from tablut.indexing.tiers import TierIndex, packed_rows, tier_index
from tablut.indexing.values import ALIAS_CODE
from tablut.position import Position
from tablut.variants import Variant, load_variant
from tablut.variants.schema import parse_variant
from tests.support.effort import examples, slow_but
from tests.support.observing import Heard
from tests.support.strategies import small_variants
from tests.twins.proof import PlainProof, plain_proof

if TYPE_CHECKING:
    from pathlib import Path


def words(variant: Variant, position: Position) -> np.ndarray:
    engine = engine_for(variant)
    return engine.words(engine.board(position.cells, position.side))


def classes(root: Path) -> int:
    """Count the classes of a store by its index alone, whatever its records say; with either side to move."""
    store = open_store(root)
    return 2 * sum(classes_of(store.variant, material) for material in store.tiers())


def classes_of(variant: Variant, material: tuple[int, int]) -> int:
    """Count the entries that are ranked to themselves."""
    index = tier_tables(variant, [material])
    entries = np.arange(index.tier.size[0])
    boards = np.empty((len(entries), 2 * variant.size + 4), dtype=np.uint32)
    unrank_entries(build_tables(variant), index, 0, entries, 0, boards)
    ranked = np.empty_like(entries)
    rank_boards(build_tables(variant), index, boards, np.empty(len(entries), dtype=np.int32), ranked)
    return int((ranked == entries).sum())


@pytest.mark.parametrize("options", [{}, {"threads": 3}, {"memory": 1}])
def test_what_is_right_passes(deep_store, monkeypatch, options) -> None:
    monkeypatch.setattr(proof_module, "_PART", 1000)
    heard = Heard()
    report = verify(deep_store, observer=heard, **options)
    assert report.failed == []
    assert (report.failures, report.files_checked) == (0, 30)
    assert report.positions_checked == classes(deep_store)
    store = open_store(deep_store)
    assert heard.done == heard.total == sum(store.tier(*material).entries for material in store.tiers())


# -- wrong values --------------------------------------------------------------------------


def rewritten(root: Path, copy: Path, material: tuple[int, int], white: np.ndarray, black: np.ndarray) -> Path:
    """Copy a store with other values for one tier, written as if they were right."""
    shutil.copytree(root, copy)
    write_tier(copy, tier_index(open_store(root).variant, *material), white, black)
    return copy


@pytest.mark.parametrize(
    ("side", "wrong"),
    slow_but([(1, "shorter"), (0, "lost")], [(0, "longer"), (1, "open")]),
)
def test_one_wrong_value_is_found(tmp_path, deep_store, deep_codes, side: int, wrong: str) -> None:
    codes = [array.copy() for array in deep_codes[2, 1]]
    won = np.flatnonzero((codes[side] % 2 == 0) & (codes[side] >= 4) & (codes[side] != ALIAS_CODE))
    entry = int(won[len(won) // 2])
    right = int(codes[side][entry])
    codes[side][entry] = {"longer": right + 2, "shorter": right - 2, "lost": right + 1, "open": 0}[wrong]
    root = rewritten(deep_store, tmp_path / "s", (2, 1), *codes)
    report = verify(root)
    assert report.failures >= 1
    assert {failure.where for failure in report.failed} == {"2v1"}
    position = str(tier_index(open_store(root).variant, 2, 1).unrank(entry, "wb"[side]))
    (found,) = [failure.what for failure in report.failed if failure.position == position]
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
    assert len(report.failed) <= 20 < report.failures


# -- wrong frames --------------------------------------------------------------------------


def test_a_record_that_counts_wrongly_is_found(tmp_path, deep_store) -> None:
    root = shutil.copytree(deep_store, tmp_path / "s")
    record = read_record(root / "2v1", TierRecord)
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
    write_record(root / "2v1", wrong)
    found = [failure.what for failure in verify(root).failed]
    assert len(found) == 3
    assert "orbits add up" in found[0]
    there = classes_of(open_store(root).variant, (2, 1))
    assert there < record.entries
    assert found[1] == f"the record gives {there + 1:,} classes, but there are {there:,}"
    assert "classes by code" in found[2]


def test_too_few_entries_are_found(tmp_path, deep_variant, deep_codes) -> None:
    index = tier_index(deep_variant, 1, 0)
    flags = index.representatives.copy()
    flags[0, np.flatnonzero(flags[0])[-1]] = False
    create(tmp_path / "s", deep_variant, [(1, 0)])
    fewer = TierIndex(deep_variant, 1, 0, packed=packed_rows(flags))
    white, black = deep_codes[1, 0]
    kept = np.delete(np.arange(index.size), index.offsets[1] - 1)
    write_tier(tmp_path / "s", fewer, white[kept], black[kept])
    report = verify(tmp_path / "s")
    (wrong,) = report.failed
    assert f"has {fewer.size} entries, but the index has {index.size}" in wrong.what
    tablebase = open_tablebase(tmp_path / "s")
    lacking = index.unrank(index.offsets[1] - 1, "w")
    for ask in (tablebase.stored_value, lambda position: tablebase.probe_words(words(deep_variant, position))):
        with pytest.raises(TablebaseError, match="1v0"):
            ask(lacking)
    with pytest.raises(TablebaseError):
        tablebase.load_tiers(1 << 30)


# -- forward -------------------------------------------------------------------------------


def test_the_sample_is_what_it_says_and_the_same_each_time(deep_store) -> None:
    store = open_store(deep_store)
    tablebase = open_tablebase(deep_store)

    def sample(seed: int) -> list[tuple[str, Position, int]]:
        return [(tier.record.name, position, value) for tier, position, value in sample_values(store, 120, seed)]

    found = sample(4)
    assert found == sample(4) != sample(5)
    assert all(tablebase.stored_value(position) == value for _, position, value in found)
    assert {name for name, _, _ in found} == {f"{a}v{d}" for a, d in store.tiers()}
    signs = [(value > 0) - (value < 0) for _, _, value in found]
    assert [signs.count(sign) for sign in (-1, 0, 1)] == [40] * 3
    assert max(value for _, _, value in found) > SEARCHED_PLIES
    assert min(value for _, _, value in found) < -SEARCHED_PLIES - 1


def test_what_is_played_out_is_right_and_other_values_are_refuted(deep_store) -> None:
    check = ForwardCheck(open_tablebase(deep_store))
    kinds = dict.fromkeys(("win", "loss", "draw"), 0)
    searched = followed = 0
    for _, position, value in sample_values(open_store(deep_store), 21, 2):
        assert check.check(position, value) is None
        # A value in so many plies is neither one of more, nor of fewer, nor the other side's, nor a draw.
        kinds["win" if value > 0 else "loss" if value < 0 else "draw"] += 1
        if value == 0:
            assert "no win" in str(check.check(position, DRAW_PLIES))
            assert "no loss" in str(check.check(position, -DRAW_PLIES - 1))
            assert "best moves" in str(check.check(position, 9))
            continue
        plies = value if value > 0 else -value - 1
        step = 1 if value > 0 else -1
        if plies > SEARCHED_PLIES:
            followed += 1
            assert "best moves" in str(check.check(position, value + 2 * step))
            assert "best moves" in str(check.check(position, value - 2 * step)) or plies - 2 <= SEARCHED_PLIES
        else:
            searched += 1
            assert "fewer" in str(check.check(position, value + step)) or plies == SEARCHED_PLIES
            assert plies < 2 or "no " in str(check.check(position, value - step))
        assert check.check(position, 0) is not None
    assert min(kinds.values()) >= 7
    assert searched > 1
    assert followed > 1


# -- the compiled proof of a tier says what the plain one says, on what is right and on what is wrong


CODES = 64


def damaged(codes: dict, share: float, seed: int) -> dict:
    """Give a share of all entries other values."""
    random = np.random.default_rng(seed)
    found = {}
    for material, sides in codes.items():
        sides = [side.copy() for side in sides]
        for side in sides:
            hit = (random.random(len(side)) < share) & (side != ALIAS_CODE)
            side[hit] = random.integers(0, 12, np.count_nonzero(hit))
        found[material] = tuple(sides)
    return found


def tallies(index: TierIndex, unpacked: UnpackedTiers) -> list[ProofTally]:
    proof = TierProof(index, unpacked, CODES, 20)
    return [proof.prove(part) for part in proof.parts()]


def assert_same(found: list[ProofTally], plain: PlainProof) -> int:
    """Compare all that is counted, and the failures that are listed; return how many there are."""
    counters = sum(tally.counters for tally in found)
    histogram = sum(tally.histogram for tally in found).reshape(2, CODES)
    assert (counters[CHECKED], counters[ALIASES], counters[ORBITS]) == (plain.checked, plain.aliases, plain.orbits)
    assert {(side, code): histogram[side, code] for side, code in np.argwhere(histogram).tolist()} == plain.codes
    assert counters[FAILURES] == len(plain.wrong)
    listed = [row for tally in found for row in tally.failures.reshape(-1, 4)[: tally.counters[FAILURES]].tolist()]
    assert all(kind == WRONG_VALUE and (entry, side, proved) in plain.wrong for kind, entry, side, proved in listed)
    return len(plain.wrong)


def compare(root, write_store, variant: Variant, codes: dict, most: int = 3) -> int:
    """Prove all tiers of so many soldiers both ways."""
    store = write_store(root, variant, codes)
    unpacked = UnpackedTiers(store, list(codes))
    for material in codes:
        unpacked.load(material)
    indices = {material: tier_index(variant, *material) for material in codes}
    return sum(
        assert_same(tallies(indices[material], unpacked), plain_proof(indices[material], indices, codes))
        for material in codes
        if sum(material) <= most
    )


@pytest.mark.slow
@settings(max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    variant=small_variants(size=3, most_attackers=3, most_defenders=2, later=True),
    share=st.sampled_from([0.0, 0.001, 0.05]),
    seed=st.integers(0, 99),
)
def test_the_proof_is_the_plain_one(tmp_path_factory, solve_codes, write_store, variant: Variant, share, seed) -> None:
    materials = [
        (attackers, men - attackers)
        for men in (1, 2)
        for attackers in range(1, men + 1)
        if attackers <= variant.attackers and men - attackers <= variant.defenders
    ]
    root = tmp_path_factory.mktemp("proof")
    codes = damaged(solve_codes(variant, materials), share, seed)
    wrong = compare(root / "s", write_store, variant, codes)
    assert wrong == 0 or share > 0
    shutil.rmtree(root)


@pytest.mark.parametrize(
    ("share", "most"), [(0.01, 1), *(pytest.param(share, 2, marks=pytest.mark.slow) for share in (0.0, 0.01))]
)
def test_the_proof_is_the_plain_one_on_draws(
    tmp_path, write_store, deep_variant, deep_codes, share: float, most: int
) -> None:
    wrong = compare(tmp_path / "s", write_store, deep_variant, damaged(deep_codes, share, 3), most)
    assert (wrong > 0) == (share > 0)


HEMMED_IN = """
format = 1
first = "white"
no_moves = "either_after_ply"
repetition = "draw"
terrain = "+.+\\n.T.\\n+.+"
start = "b.b\\n.K.\\nb.b"
castle = {pass = "nobody", stop = "nobody", hostile_to_white = "never", hostile_to_black = "never"}
king = {armed = true, on_castle = "four", elsewhere = "four"}
"""


def test_a_ply_that_leaves_its_own_side_without_a_move_loses_at_once(tmp_path, solve_codes, write_store) -> None:
    """At the start, the king is white's only piece and has four moves; after each, it is shut in between attackers."""
    variant = parse_variant(HEMMED_IN, name="hemmed-in", origin="test")
    codes = solve_codes(variant, [(1, 0), (2, 0), (3, 0), (4, 0)])
    start = tier_index(variant, 4, 0).rank(Position.parse(variant.start_position, variant.size))
    assert codes[4, 0][0][start] == 2 * 1 + 1  # a loss in one ply
    assert compare(tmp_path / "s", write_store, variant, codes, 4) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh"])
def test_the_proof_is_the_plain_one_on_the_full_games(tmp_path, solve_codes, write_store, name: str) -> None:
    variant = load_variant(name)
    codes = damaged(solve_codes(variant, [(1, 0), (1, 1), (2, 0)]), 0.01, 5)
    assert compare(tmp_path / "s", write_store, variant, codes, 1) > 0


@pytest.mark.parametrize("material", [(2, 0), (1, 1), (2, 1)])
def test_an_index_that_ranks_images_elsewhere_is_found(
    tmp_path, write_store, deep_variant, deep_codes, material
) -> None:
    """A class under another of its combinations: its images are not ranked to it."""
    right = tier_index(deep_variant, *material)
    flags = right.representatives.copy()
    king = next(k for k in range(len(flags)) if len(right.kings.stabilisers[k]) > 1)
    least, other = np.flatnonzero(flags[king])[0], np.flatnonzero(~flags[king])[0]
    flags[king, least], flags[king, other] = False, True
    store = write_store(tmp_path / "s", deep_variant, deep_codes)
    unpacked = UnpackedTiers(store, list(deep_codes))
    for lower in deep_codes:
        unpacked.load(lower)
    index = TierIndex(deep_variant, *material, packed=packed_rows(flags))
    assert sum(int(tally.counters[FAILURES]) for tally in tallies(index, unpacked)) > 0


# -- verification goes on from its record, and verifies again what has changed -----------


TIERS = ["1v0", "1v1", "2v0", "2v1", "3v0"]


class StoppedError(Exception):
    """As if the program had been killed."""


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, deep_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "record.json"
    prove, proved = verification_module._prove_tier, []

    def until_the_fourth(tier, *others, **options) -> None:
        if len(proved) == 3:
            raise StoppedError
        proved.append(tier.record.name)
        prove(tier, *others, **options)

    monkeypatch.setattr(verification_module, "_prove_tier", until_the_fourth)
    with pytest.raises(StoppedError):
        verify(deep_store, record=record)
    monkeypatch.undo()
    assert proved == TIERS[:3]
    rest = verify(deep_store, record=record)
    assert list(rest.verified_before) == TIERS[:3]
    assert (rest.failures, rest.files_checked) == (0, 30)
    again = verify(deep_store, record=record)
    assert (list(again.verified_before), again.positions_checked) == (TIERS, 0)
    assert sum(again.verified_before.values()) == verify(deep_store).positions_checked


def test_a_tier_that_changes_is_verified_again_with_all_above(tmp_path, deep_store, deep_codes) -> None:
    record = tmp_path / "record.json"
    verify(deep_store, record=record)
    root = shutil.copytree(deep_store, tmp_path / "s")
    white, black = (codes.copy() for codes in deep_codes[2, 0])
    white[white == 2] = 6
    write_tier(root, tier_index(open_store(root).variant, 2, 0), white, black)
    report = verify(root, record=record)
    # 2v1 and 3v0 come to 2v0 by captures.
    assert list(report.verified_before) == ["1v0", "1v1"]
    assert report.failures > 0
    assert "2v0" in {wrong.where for wrong in report.failed}
    # What failed is not noted.
    assert "2v0" not in verify(root, record=record).verified_before


def test_a_record_that_is_not_as_it_was_written_is_refused(tmp_path, deep_store, capsys) -> None:
    record = tmp_path / "record.json"
    verify(deep_store, record=record)
    for text in (record.read_text().replace('"positions": ', '"positions": 1', 1), "notes"):
        record.write_text(text)
        assert run(["tablebase", "verify", str(deep_store), "--record", str(record)]) == 2
        error = capsys.readouterr().err
        assert "verification record" in error
        assert error.count("\n") == 1
