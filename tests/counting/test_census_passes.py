"""A ply that is stored in passes over ranges of leaves is the ply made at once; killed, it goes on in its pass."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fuses import Fuse, KilledError

from counting.census import census
from counting.census.buckets import LEAF_BITS
from counting.census.search import CensusLimits, Search, TooLargeError, leaf_ranges
from counting.census.store import CensusStore, PlyRecord
from counting.census.verification import verify_census
from tablut.cli.shell import run
from tablut.running.progress import Observer
from tablut.running.scheduling import LocalScheduler
from tablut.variants import Variant, load_variant

BOARD = load_variant("ashton-5-4v2")
PLIES = 7
SMALL = CensusLimits(expand_children=20_000, merge_children=30_000, in_passes=True)


def search(
    folder: Path,
    passes: int,
    limits: CensusLimits = SMALL,
    scheduler: LocalScheduler | None = None,
    variant: Variant = BOARD,
    plies: int = PLIES,
) -> list[PlyRecord]:
    store = CensusStore(folder, variant, full=False, resume=True)
    try:
        workers = LocalScheduler(1) if scheduler is None else scheduler
        made = Search(variant, full=False, store=store, scheduler=workers, limits=limits, observer=Observer())
        return made.run(plies, passes)
    finally:
        store.close()


@pytest.fixture(autouse=True)
def _small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counting.census.search._LEAST_ROWS", 20_000)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("before")
    census(BOARD, plies=PLIES - 1, store=folder)
    return folder / "classes"


@pytest.fixture(scope="module")
def truth() -> list[str | None]:
    return [ply.digest for ply in census(BOARD, plies=PLIES).plies]


def copied(before: Path, folder: Path) -> Path:
    return Path(shutil.copytree(before, folder / "classes"))


@pytest.mark.parametrize("passes", [3, 20])
def test_any_number_of_passes(before: Path, truth: list[str], tmp_path: Path, passes: int) -> None:
    folder = copied(before, tmp_path)
    records = search(folder, passes)
    assert [record.digest for record in records] == truth
    assert len(records[-1].parts) >= passes
    assert not (folder / "work").exists()
    assert verify_census(folder, BOARD).failures == 0


def test_the_full_game(tmp_path: Path) -> None:
    plain = [each.digest for each in census("ashton", plies=3).plies]
    found = census("ashton", plies=3, passes=3, store=tmp_path)
    assert found.passes == 3
    assert [each.digest for each in found.plies] == plain


def test_ranges_are_all_leaves() -> None:
    for passes in (1, 2, 3, 7, 100, 1 << LEAF_BITS):
        for merges in (1, 2, 5):
            flat = [leaves for some in leaf_ranges(passes, merges) for leaves in some]
            assert [first for first, _ in flat] == [0, *[last for _, last in flat[:-1]]]
            assert flat[-1][1] == 1 << LEAF_BITS
            assert all(first < last for first, last in flat)


def test_the_disk_decides(before: Path, truth: list[str], tmp_path: Path) -> None:
    kept = sum(path.stat().st_size for path in before.rglob("*.rows"))
    found = census(
        BOARD, plies=PLIES, store=copied(before, tmp_path).parent, resume=True, disk=kept + 2_600_000, memory=1 << 30
    )
    assert found.passes > 1
    assert [ply.digest for ply in found.plies] == truth
    with pytest.raises(TooLargeError, match=r"--disk: ply 8 takes .*give at least --disk .*--count-last"):
        census(BOARD, plies=PLIES + 1, store=tmp_path, resume=True, disk=kept + 2_600_000)


def test_dying_after_every_few_tasks(before: Path, truth: list[str], tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    deaths, made = 0, []
    while True:
        fuse = Fuse(9)
        try:
            records = search(folder, 5, SMALL, fuse)
        except KilledError:
            deaths += 1
            made += fuse.made
            continue
        break
    made += fuse.made
    assert deaths > 3
    assert [record.digest for record in records] == truth
    parts = [name for name in made if name.startswith("part")]
    # No part was made twice: a pass that was done stays done.
    assert len(parts) == len(set(parts)) == len(records[-1].parts)


def test_parts_of_another_plan_are_made_again(before: Path, truth: list[str], tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    for passes in (5, 3, 1, 4):
        with pytest.raises(KilledError):
            search(folder, passes, SMALL, Fuse(25))
    assert [record.digest for record in search(folder, 2)] == truth


def test_the_command(before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(copied(before, tmp_path).parent)
    arguments = ["census", "-v", BOARD.name, "--plies", str(PLIES), "--store", store, "--resume"]
    assert run([*arguments, "--disk", "0.001"]) == 2
    captured = capsys.readouterr().err
    assert "give at least --disk" in captured
    assert run(["census", "-v", BOARD.name, "--all", "--passes", "3"]) == 2
    assert "--passes: are those of the last ply" in capsys.readouterr().err
    assert run([*arguments, "--passes", "3", "--json"]) == 0
    assert '"passes": 3' in capsys.readouterr().out


def test_a_leaf_too_large_for_memory(before: Path, tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match="--memory: some leaves of ply 7"):
        search(copied(before, tmp_path), 2, replace(SMALL, merge_children=40))
