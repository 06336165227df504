"""The files of a tablebase: written whole and alike, read back, and every damage named."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import zarr

from retrograde.tablebase import (
    DamagedTableError,
    MissingTableError,
    TablebaseError,
    open_tablebase,
)
from retrograde.tablebase.store import open_store
from retrograde.tablebase.writer import code_histogram, create
from retrograde.verification.verifying import verify
from tablut.indexing.tiers import tier_index
from tablut.indexing.values import ALIAS_CODE
from tablut.position import Position
from tablut.variants import load_variant


@pytest.fixture
def copied(small_store: Path, tmp_path: Path) -> Path:
    """A store that a test may damage."""
    return shutil.copytree(small_store, tmp_path / "store")


# -- writing and reading -------------------------------------------------------------------


def test_the_record_counts_what_is_there(small_store, small_codes, small_variant) -> None:
    store = open_store(small_store)
    assert store.tiers() == sorted(small_codes)
    for material, sides in small_codes.items():
        record = store.tier(*material).record
        index = tier_index(small_variant, *material)
        assert (record.placements, record.entries) == (index.positions, index.size)
        assert record.classes == np.count_nonzero(sides[0] != ALIAS_CODE)
        for side, codes in zip((record.white, record.black), sides, strict=True):
            assert side.classes == code_histogram(codes)
            assert side.dtype == "uint8"
        assert sum(record.tally().values()) == 2 * record.classes
        assert record.longest() == max(int(codes[codes != ALIAS_CODE].max()) >> 1 for codes in sides)
        assert (store.tier(*material).index.representatives == index.representatives).all()


def test_it_is_a_zarr_hierarchy_that_others_can_read(small_store, small_codes) -> None:
    group = zarr.open_group(small_store, mode="r")
    assert group.attrs["tablut"]["content"]["variant"]["name"] == "ashton-5-4v2"
    for material, (white, _) in small_codes.items():
        stored = group[f"{material[0]}v{material[1]}/white"]
        assert (stored[:][white != ALIAS_CODE] == white[white != ALIAS_CODE]).all()


# -- refusing ------------------------------------------------------------------------------


def test_a_store_is_of_one_game_and_its_plan_grows(tmp_path, small_variant) -> None:
    root = tmp_path / "s"
    create(root, small_variant, [(2, 0)])
    assert create(root, small_variant, [(1, 0)]).planned == ((1, 0), (2, 0))
    assert open_store(root).planned == ((1, 0), (2, 0))
    with pytest.raises(TablebaseError, match="ashton-5-4v4"):
        create(root, load_variant("ashton-5-4v4"), [(1, 0)])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    with pytest.raises(TablebaseError):
        create(tmp_path / "full", small_variant, [(1, 0)])
    with pytest.raises(TablebaseError):
        create(tmp_path / "full" / "letter.txt", small_variant, [(1, 0)])


# -- damage --------------------------------------------------------------------------------


def test_what_happens_to_a_file_while_it_is_open_is_noticed(copied) -> None:
    tablebase = open_tablebase(copied, cache_bytes=0)
    white, black = (Position.parse(f"5/1b3/2K2/3b1/5 {side}", 5) for side in "wb")
    assert tablebase.probe(white) != tablebase.probe(black)
    shard = copied / "2v0" / "white" / "c" / "0"
    content = bytearray(shard.read_bytes())
    content[len(content) // 3] ^= 16
    shard.write_bytes(content)
    with pytest.raises(DamagedTableError, match=r"white.*c.*0"):
        tablebase.probe(white)
    tablebase.probe(black)
    shard.unlink()
    with pytest.raises(DamagedTableError, match=r"white.*c.*0"):
        tablebase.probe(white)


def test_a_missing_tier_is_named(copied) -> None:
    tablebase, position = open_tablebase(copied), Position.parse("5/1b3/2K2/3b1/5 b", 5)
    with pytest.raises(MissingTableError, match="3v1"):
        tablebase.store.tier(3, 1)
    shutil.rmtree(copied / "2v0")
    for ask in (lambda: tablebase.covers(2, 0), lambda: tablebase.probe(position)):
        with pytest.raises(DamagedTableError, match="2v0"):
            ask()
    wrong = {failure.where: failure.what for failure in verify(copied).failed}
    assert set(wrong) == {"2v0", "2v1", "3v0"}
    assert "captures lead to 2v0" in wrong["3v0"]
    for above in ("2v1", "3v0"):
        shutil.rmtree(copied / above)
    assert not tablebase.covers(2, 0)
    with pytest.raises(MissingTableError, match="2v0"):
        tablebase.probe(position)


def test_a_tier_in_the_wrong_place_is_named(copied, tmp_path, solve_codes, write_store) -> None:
    shutil.rmtree(copied / "2v0")
    shutil.copytree(copied / "1v0", copied / "2v0")
    with pytest.raises(TablebaseError, match=r"2v0.*1v0"):
        open_store(copied).tier(2, 0)
    other = load_variant("brandubh-5-4v0")
    write_store(tmp_path / "other", other, solve_codes(other, [(1, 0)]))
    shutil.rmtree(copied / "1v0")
    shutil.copytree(tmp_path / "other" / "1v0", copied / "1v0")
    with pytest.raises(TablebaseError, match=r"1v0.*ashton-5-4v2"):
        open_store(copied).tier(1, 0)
