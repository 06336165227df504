"""A census that is interrupted anywhere goes on to identical numbers; damage is found and named."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import cluster
from fuses import Fuse, KilledError

from counting.census import census
from counting.census.buckets import FIXING, LEAF_BITS, leaf_sums
from counting.census.report import CensusReport
from counting.census.rows import FORMAT_VERSION, Owner, open_rows, read_rows, write_rows
from counting.census.search import CensusLimits, Search
from counting.census.store import CensusStore, PlyRecord
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.running.progress import Observer
from tablut.running.scheduling import LocalScheduler
from tablut.variants import load_variant

VARIANT = load_variant("ashton-5-4v0")
SMALL = CensusLimits(expand_children=2_000, merge_children=3_000)


def numbers(report: CensusReport) -> dict[str, Any]:
    plain = report.model_dump(exclude={"cpu_seconds", "children_per_cpu_second", "store"})
    for ply in plain["plies"]:
        del ply["cpu_seconds"]
    return plain


def search(folder: Path, scheduler: LocalScheduler, limits: CensusLimits = SMALL) -> list[PlyRecord]:
    store = CensusStore(folder, VARIANT, full=False, resume=True)
    try:
        return Search(VARIANT, full=False, store=store, scheduler=scheduler, limits=limits, observer=Observer()).run(
            None
        )
    finally:
        store.close()


def digests(records: list[PlyRecord]) -> list[str]:
    """Return what stands for all counts and positions, however they were made."""
    return [record.digest for record in records]


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    report = census(VARIANT)
    assert report.total == 139_097
    return [(ply.new, ply.new_classes, ply.decided, ply.decided_classes) for ply in report.plies]


@pytest.fixture(autouse=True)
def _small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counting.census.search._LEAST_ROWS", 500)


def test_dying_after_every_few_tasks(tmp_path: Path, expected: list[Any]) -> None:
    deaths = 0
    while True:
        try:
            records = search(tmp_path, Fuse(7))
        except KilledError:
            deaths += 1
            continue
        break
    assert deaths > 5
    names = ("new", "new_classes", "decided", "decided_classes")
    assert [tuple(record.counters[name] for name in names) for record in records][: len(expected)] == expected
    assert not (tmp_path / "work").exists()


def test_other_limits_after_dying(tmp_path: Path) -> None:
    """A plan with other shares does not take over the files of the plan before."""
    plain = digests(search(tmp_path / "plain", LocalScheduler(1)))
    for tasks, limits in ((40, SMALL), (23, CensusLimits(900, 1_500)), (11, CensusLimits(50_000, 4_000))):
        with pytest.raises(KilledError):
            search(tmp_path / "other", Fuse(tasks), limits)
    assert digests(search(tmp_path / "other", LocalScheduler(1))) == plain


def damage(path: Path, where: int, bits: int = 0x10) -> None:
    content = bytearray(path.read_bytes())
    content[where] ^= bits
    path.write_bytes(bytes(content))


def test_a_damaged_part_of_codes_is_named(tmp_path: Path) -> None:
    brandubh = load_variant("brandubh")
    census(brandubh, plies=3, store=tmp_path)
    part = tmp_path / "classes/ply-003/part-00000.rows"
    file = open_rows(part)
    assert file.header.codes is not None
    damage(part, file.begin + 801)
    with pytest.raises(InputError, match=r"ply-003/part-00000\.rows"):
        census(brandubh, plies=4, store=tmp_path, resume=True)


def test_damaged_children_are_named_and_made_again(tmp_path: Path) -> None:
    plain = digests(search(tmp_path / "plain", LocalScheduler(1)))
    folder = tmp_path / "damaged"
    tasks = 1
    while not list(folder.glob("ply-009/part-*")):
        with pytest.raises(KilledError):
            search(folder, Fuse(tasks))
    children = sorted(folder.glob("work/ply-009/children-*"))[-1]
    # One part is merged already, whichever: one of these two rows is still to be read.
    damage(children, open_rows(children).begin + 3)
    damage(children, -3)
    with pytest.raises(InputError, match=children.name):
        search(folder, LocalScheduler(1))
    children.unlink()
    assert digests(search(folder, LocalScheduler(1))) == plain


def test_stale_children_are_made_again(tmp_path: Path) -> None:
    """Files of children and parts of another ply, under the names of this one, are not taken over."""
    plain = digests(search(tmp_path / "plain", LocalScheduler(1)))
    for folder, ply, tasks in (("early", 7, 1), ("late", 9, 1)):
        while not list((tmp_path / folder).glob(f"work/ply-{ply:03}/*")):
            with pytest.raises(KilledError):
                search(tmp_path / folder, Fuse(tasks))
    early, late = tmp_path / "early/work/ply-007", tmp_path / "late/work/ply-009"
    mixed = tmp_path / "mixed"
    shutil.copytree(early, mixed)
    for path in late.iterdir():
        shutil.copy(path, early / path.name)
    for path in mixed.iterdir():
        shutil.copy(path, late / path.name)
    shutil.copytree(tmp_path / "plain/ply-009", tmp_path / "early/ply-008")
    for folder in ("early", "late"):
        assert digests(search(tmp_path / folder, LocalScheduler(1))) == plain


@pytest.mark.parametrize("bit", [0, FIXING, 63])
def test_every_bit_of_a_child_counts_for_its_checksum(tmp_path: Path, bit: int) -> None:
    """Also those that are no part of the position: a wrong orbit would be a wrong count."""
    census(VARIANT, plies=6, store=tmp_path)
    rows = read_rows(file := open_rows(tmp_path / "classes/ply-006/part-00000.rows"), 0, 1 << LEAF_BITS)
    rows[5, -1] |= np.uint64(1 << FIXING)
    leaves = np.empty(len(rows), dtype=np.uint16)
    counts, sums = np.zeros_like(file.counts), np.zeros_like(file.sums)
    leaf_sums(rows, LEAF_BITS, leaves, counts, sums)
    assert np.array_equal(counts, file.counts)
    assert np.flatnonzero(sums != file.sums).tolist() == [leaves[5]]
    target = tmp_path / "children-00000.rows"
    owner = Owner(VARIANT.digest, False, 6, 0, "test")
    stats = {"children": len(rows), "counters": [0, 0, 0, 0]}
    write_rows(target, rows, (counts, sums, np.zeros_like(counts)), owner, stats, cpu=0.0)
    assert np.array_equal(read_rows(open_rows(target), 0, 1 << LEAF_BITS), rows)
    damage(target, open_rows(target).begin + 8 * 5 + bit // 8, 1 << bit % 8)
    with pytest.raises(InputError, match=rf"children-00000\.rows.*leaf {leaves[5]} "):
        read_rows(open_rows(target), 0, 1 << LEAF_BITS)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="names of open files are not known")
def test_a_ply_is_on_the_disk_before_its_record_and_that_before_the_children_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: Any) -> None:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        seen.append(f"sync {Path(f'/proc/self/fd/{number}').readlink().name.strip('.').split('.')[0]}")
        sync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        seen.append(f"name {Path(target).stem}")
        return replace(path, target)

    def removed(path: Path, **_: Any) -> None:
        seen.append(f"remove {path.name}")

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.setattr(shutil, "rmtree", removed)
    census(VARIANT, plies=1, store=tmp_path)
    assert seen[-8:-6] == ["sync part-00000", "name part-00000"]
    assert sorted(seen[-6:-4]) == ["sync classes", "sync ply-001"]
    assert seen[-4:] == ["sync ply-001", "name ply-001", "sync classes", "remove work"]


def test_going_on_with_a_finished_or_shorter_census(tmp_path: Path) -> None:
    long = census(VARIANT, plies=9, store=tmp_path)
    again = census(VARIANT, plies=9, store=tmp_path, resume=True)
    assert numbers(again) == numbers(long)
    shorter = census(VARIANT, plies=4, store=tmp_path, resume=True)
    assert [ply.new for ply in shorter.plies] == [ply.new for ply in long.plies[:5]]
    assert numbers(census(VARIANT, store=tmp_path, resume=True))["total"] == 139_097


def test_stores_that_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    census(VARIANT, plies=2, store=store)

    def refused(*arguments: str) -> str:
        assert run(["census", "--store", *arguments]) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        return captured.err

    assert "--resume" in refused(str(store), "-v", "ashton-5-4v0")
    assert "by other rules" in refused(str(store), "-v", "brandubh-5-4v0", "--resume")
    (tmp_path / "file").write_text("")
    assert "file" in refused(str(tmp_path / "file"))
    (tmp_path / "full/classes").mkdir(parents=True)
    (tmp_path / "full/classes/letter").write_text("")
    assert "not empty" in refused(str(tmp_path / "full"))
    about = store / "classes/census.json"
    assert f'"version": {FORMAT_VERSION}' in about.read_text()
    about.write_text(about.read_text().replace(f'"version": {FORMAT_VERSION}', '"version": 99'))
    assert "format version 99" in refused(str(store), "-v", "ashton-5-4v0", "--resume")
    shutil.rmtree(store)
    census(VARIANT, plies=2, store=store, resume=True)
    holder = CensusStore(store / "classes", VARIANT, full=False, resume=True)
    assert "another program" in refused(str(store), "-v", "ashton-5-4v0", "--resume")
    holder.close()


def test_no_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CensusStore, "free_bytes", lambda self: 1_000)
    with pytest.raises(InputError, match=r"1\.0 kB are free.*--resume"):
        census(VARIANT, plies=9, store=tmp_path)


@pytest.mark.slow
def test_two_workers_of_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    plain = census(VARIANT)
    with cluster(tmp_path / "cluster", workers=2) as address:
        spread = census(VARIANT, store=tmp_path / "store", scheduler=address)
    assert numbers(spread) | {"stored_bytes": 0} == numbers(plain) | {"stored_bytes": 0}
