"""The store of a census: killed or made in passes it has the same digests; damage is named and made again."""

import json
import os
import shutil
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import cluster
from failing import ERRORS, Faults
from fuses import Fuse, KilledError

from counting.census import census
from counting.census.buckets import FIXING, LEAVES, by_leaf
from counting.census.census_store import FORMAT_VERSION, CensusStore, PlyRecord
from counting.census.report import CensusReport
from counting.census.rows import ExpansionStats, open_rows, put_rows, read_rows, rows_digest
from counting.census.search import CensusLimits, CensusSearch, Resources, TooLargeError
from counting.census.tasks import write_part
from counting.census.toolbox import toolbox
from counting.census.verification import published_digests, verify_census
from tablut.cli.shell import run
from tablut.errors import InputError, MachineError
from tablut.variants import load_variant
from tablut.work.parts import Owner, PartWriter
from tablut.work.progress import Observer
from tablut.work.run import LocalScheduler
from tablut.work.sealed_records import read_record, record_text
from tests.support.effort import slow_but
from tests.support.sealing import place_of, reseal

Captured = pytest.CaptureFixture[str]

STORES = Path(__file__).parents[1] / "data/stores"
BOARD = load_variant("ashton-5-4v0")
PUBLISHED = published_digests(BOARD.digest)
# Complete after a few plies, so that a store of it is small and has nothing to be computed.
SHORT = replace(BOARD, rules=BOARD.rules.model_copy(update={"move_limit": 4}))
SMALL = CensusLimits(expand_children=2_000, merge_children=3_000, in_passes=True)
PLIES = 9


@pytest.fixture(autouse=True)
def _small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counting.census.search._LEAST_ROWS", 500)


def search(
    folder: Path,
    scheduler: LocalScheduler | None = None,
    limits: CensusLimits = SMALL,
    plies: int = PLIES,
    passes: int = 1,
    listener: Observer | None = None,
) -> list[str]:
    """Return the digests of the plies; the last is made in passes."""
    store, workers = CensusStore(folder, BOARD, full=False), scheduler or LocalScheduler(1)
    try:
        made = CensusSearch(
            BOARD, full=False, store=store, scheduler=workers, limits=limits, observer=listener or Observer()
        )
        return [record.digest for record in made.run(plies, passes)]
    finally:
        store.close()


def killed(folder: Path, tasks: int, **more: Any) -> list[str]:
    """Make a census that dies after every few tasks; return the names of what its last ply was made from."""
    deaths, made = 0, list[str]()
    while True:
        fuse = Fuse(tasks)
        try:
            found = search(folder, fuse, **more)
        except KilledError:
            deaths += 1
            continue
        finally:
            made += fuse.made
        assert deaths > 3
        assert found == PUBLISHED[: len(found)]
        assert not (folder / "work").exists()
        return made


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All plies before the last."""
    folder = tmp_path_factory.mktemp("before")
    census(BOARD, plies=PLIES - 1, store=folder)
    return folder / "classes"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("sound") / "store"
    census(SHORT, store=store)
    return store


def copied(store: Path, folder: Path) -> Path:
    """Return a copy of a store, alone in a folder of its own."""
    return Path(shutil.copytree(store, folder / store.name))


# -- killed, in passes, by many ----------------------------------------------------------


def test_dying_after_every_few_tasks(tmp_path: Path) -> None:
    killed(tmp_path, 7)


def test_dying_in_passes(before: Path, tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    parts = [name for name in killed(folder, 4, passes=5) if name.startswith("part")]
    # No part was made twice: a pass that was done stays done.
    assert len(parts) == len(set(parts)) == len(list(folder.glob(f"ply-{PLIES:03}/part-*"))) >= 5
    assert verify_census(folder, BOARD).failures == 0


def test_other_limits_and_passes_after_dying(before: Path, tmp_path: Path) -> None:
    """A plan with other shares does not take over the files of the plan before."""
    for number, (tasks, passes, limits) in enumerate(
        [
            (40, 1, SMALL),
            (23, 1, CensusLimits(900, 1_500)),
            (11, 1, CensusLimits(50_000, 4_000)),
            (4, 5, SMALL),
            (4, 3, SMALL),
        ]
    ):
        folder = (
            tmp_path / "whole" if number < 3 else copied(before, tmp_path) if number == 3 else tmp_path / before.name
        )
        with pytest.raises(KilledError):
            search(folder, Fuse(tasks), limits, passes=passes)
    for folder in (tmp_path / "whole", tmp_path / before.name):
        assert search(folder, passes=2) == PUBLISHED[: PLIES + 1]


def test_stale_files_are_made_again(tmp_path: Path) -> None:
    """Files of children and parts of another ply, under the names of this one, are not taken over."""
    search(tmp_path / "plain")
    for folder, ply in (("early", 7), ("late", 9)):
        while not list((tmp_path / folder).glob(f"work/ply-{ply:03}/*")):
            with pytest.raises(KilledError):
                search(tmp_path / folder, Fuse(1))
    early, late, mixed = tmp_path / "early/work/ply-007", tmp_path / "late/work/ply-009", tmp_path / "mixed"
    shutil.copytree(early, mixed)
    for source, target in ((late, early), (mixed, late)):
        for path in source.iterdir():
            shutil.copy(path, target / path.name)
    shutil.copytree(tmp_path / "plain/ply-009", tmp_path / "early/ply-008")
    for folder in ("early", "late"):
        assert search(tmp_path / folder) == PUBLISHED[: PLIES + 1]


def test_digests_do_not_depend_on_how_it_was_counted(tmp_path: Path) -> None:
    """Many small parts by many workers: the same digests as published, and the same files twice."""
    limits = CensusLimits(expand_children=1800, merge_children=1500)
    for name in ("one", "two"):
        assert search(tmp_path / name, LocalScheduler(2), limits) == PUBLISHED[: PLIES + 1]
    one, two = (
        {path.name: open_rows(path).part.digest for path in (tmp_path / name).rglob("*.rows")}
        for name in ("one", "two")
    )
    assert one == two
    assert len(list((tmp_path / "one/ply-009").iterdir())) > 5


@pytest.mark.parametrize(
    ("name", "plies"), [("ashton", 3), ("bologna", 3), ("mcgill", 2), ("leiden", 3), ("berkeley", 2), ("brandubh", 4)]
)
def test_published_digests_are_what_is_counted(name: str, plies: int, tmp_path: Path) -> None:
    variant = load_variant(name)
    passes = 3 if name == "ashton" else 1
    found = census(variant, plies=plies, store=tmp_path, resources=Resources(passes=passes))
    assert (found.passes, [ply.digest for ply in found.plies]) == (
        passes,
        published_digests(variant.digest)[: plies + 1],
    )


def test_the_disk_decides_how_many_passes(before: Path, tmp_path: Path, capsys: Captured) -> None:
    store = copied(before, tmp_path).parent
    due = census(BOARD, plies=PLIES - 1, store=store)
    assert due.next_ply is not None
    disk = due.stored_bytes + due.next_ply.positions_bytes + due.next_ply.children_bytes // 2
    found = census(BOARD, plies=PLIES, store=store, resources=Resources(1 << 30, disk))
    assert found.passes > 1
    assert [ply.digest for ply in found.plies] == PUBLISHED[: PLIES + 1]
    with pytest.raises(TooLargeError, match=r"^disk: ply 10 .* of `disk`.* count ply 10"):
        census(BOARD, plies=PLIES + 1, store=store, resources=Resources(disk=found.stored_bytes + 9_000))
    with pytest.raises(TooLargeError, match=r"^memory: some leaves of ply 10"):
        search(store / "classes", limits=replace(SMALL, merge_children=4), plies=PLIES + 1, passes=2)
    assert run(["census", "-v", BOARD.name, "--all", "--passes", "3"]) == 2
    assert "--passes: applies to the last ply only; give --plies" in capsys.readouterr().err


def numbers(report: CensusReport) -> dict[str, Any]:
    plain = report.model_dump(exclude={"cpu_seconds", "children_per_cpu_second", "store", "stored_bytes"})
    for ply in plain["plies"]:
        del ply["cpu_seconds"]
    return plain


def test_going_on_with_a_finished_or_shorter_census(before: Path, tmp_path: Path) -> None:
    store = copied(before, tmp_path).parent
    long = census(BOARD, plies=PLIES, store=store)
    assert numbers(census(BOARD, plies=PLIES, store=store)) == numbers(long)
    shorter = census(BOARD, plies=4, store=store)
    assert [ply.new for ply in shorter.plies] == [ply.new for ply in long.plies[:5]]
    assert census(BOARD, store=store).total == 139_097


@pytest.mark.slow
def test_two_workers_of_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with cluster(tmp_path / "cluster", workers=2) as address:
        spread = census(BOARD, store=tmp_path / "store", resources=Resources(scheduler=address))
    assert numbers(spread) == numbers(census(BOARD))


# -- what does not fit ---------------------------------------------------------------------


def test_stores_that_do_not_fit(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    census(BOARD, plies=2, store=store)

    def refused(*arguments: str) -> str:
        assert run(["census", "--store", *arguments]) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        return captured.err

    assert "by other rules" in refused(str(store), "-v", "brandubh-5-4v0")
    (tmp_path / "file").write_text("")
    assert "file" in refused(str(tmp_path / "file"))
    (tmp_path / "full/classes").mkdir(parents=True)
    (tmp_path / "full/classes/letter").write_text("")
    assert "not empty" in refused(str(tmp_path / "full"))
    holder = CensusStore(store / "classes", BOARD, full=False)
    assert "another program" in refused(str(store), "-v", BOARD.name)
    holder.close()
    monkeypatch.setattr(CensusStore, "free_bytes", lambda self: 1_000)
    with pytest.raises(InputError, match=r"1\.0 kB are free"):
        census(BOARD, plies=9, store=store)
    about = store / "classes/census.json"
    about.write_text(about.read_text().replace(f'"version": {FORMAT_VERSION}', '"version": 4'))
    kept = {path: path.read_bytes() for path in store.rglob("*.*")}
    assert "format version 4, this program reads 6" in refused(str(store), "-v", BOARD.name)
    assert run(["census", "verify", str(store)]) == 2
    assert {path: path.read_bytes() for path in store.rglob("*.*")} == kept


def test_a_store_of_this_version_is_read(tmp_path: Path, capsys: Captured) -> None:
    zipfile.ZipFile(STORES / "census-v6/store.zip").extractall(tmp_path)
    assert run(["census", "verify", str(tmp_path), "--parents", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["failures"], report["plies"], report["published"]) == (0, 4, "as published")
    assert (report["positions_checked"], report["classes_checked"]) == (161 + 144, 22 + 18)
    assert census(BOARD, plies=6, store=tmp_path).plies[6].digest == PUBLISHED[6]
    assert run(["census", "verify", str(tmp_path)]) == 0


def test_the_command_verifies(sound: Path, tmp_path: Path, capsys: Captured) -> None:
    store = tmp_path / "store [/bold]"
    census(BOARD, plies=2, store=store, full=True)
    assert run(["census", "verify", str(store)]) == 0
    assert "0 failures. As published." in capsys.readouterr().out
    (store / "classes/ply-002/part-00000.rows").unlink()
    (store / "classes/ply-000.json").unlink()
    assert run(["census", "verify", str(store), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["failures"] == 1
    for path in (store / "classes").glob("ply-*.json"):
        path.unlink()
    shutil.rmtree(store / "full")
    for bad in ([str(sound)], [str(sound), "-v", "ashton"], [str(store)]):
        assert run(["census", "verify", *bad]) == 2
        assert capsys.readouterr().err.count("\n") == 1


# -- damaged -------------------------------------------------------------------------------


class Listener(Observer):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def answer(store: Path, listener: Observer | None = None) -> list[str]:
    """Return the digests that a census says after going on with a store."""
    return [ply.digest or "" for ply in census(SHORT, store=store, observer=listener).plies]


def damage(path: Path, where: int, bits: int = 0x10) -> None:
    content = bytearray(path.read_bytes())
    content[where] ^= bits
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("name", ["ply-001/part-00000.rows", "ply-003/part-00000.rows", "ply-002.json"])
@pytest.mark.parametrize("how", ["bit", "cut", "gone", "other"])
def test_damage_is_named_and_made_again(sound: Path, tmp_path: Path, name: str, how: str) -> None:
    """In the plies that others rest on, whose records stay."""
    truth, store = answer(sound), copied(sound, tmp_path)
    path, kept = store / "classes" / name, (store / "classes/ply-004.json").read_bytes()
    content = path.read_bytes()
    if how == "bit":
        damage(path, -3)
    elif how == "cut":
        path.write_bytes(content[:-9])
    elif how == "other":
        shutil.copy(store / "classes" / name.replace("1", "0").replace("3", "4").replace("2", "4"), path)
    else:
        path.unlink()
    listener = Listener()
    assert answer(store, listener) == truth
    assert how == "gone" or any(path.name in line for line in listener.lines), listener.lines
    assert verify_census(store, SHORT, parents=True).failures == 0
    assert (store / "classes/ply-004.json").read_bytes() == kept


def test_damaged_codes_are_named_and_made_again(tmp_path: Path) -> None:
    brandubh, folder, listener = load_variant("brandubh"), tmp_path / "coded", Listener()
    census(brandubh, plies=3, store=folder)
    part = folder / "classes/ply-003/part-00000.rows"
    assert open_rows(part).stats.codes is not None
    damage(part, 801)
    found = [ply.digest for ply in census(brandubh, plies=4, store=folder, observer=listener).plies]
    assert found == [ply.digest for ply in census(brandubh, plies=4).plies]
    assert any(str(part) in line for line in listener.lines)


def test_damaged_children_are_named_and_made_again(before: Path, tmp_path: Path) -> None:
    folder, listener = copied(before, tmp_path), Listener()
    while not list(folder.glob(f"ply-{PLIES:03}/part-*")):
        with pytest.raises(KilledError):
            search(folder, Fuse(1))
    children = sorted(folder.glob(f"work/ply-{PLIES:03}/children-*"))[-1]
    # One part is merged already, whichever: one of these two rows is still to be read.
    damage(children, 3)
    damage(children, 8 * (open_rows(children).rows - 1))
    assert search(folder, listener=listener) == PUBLISHED[: PLIES + 1]
    assert any(children.name in line for line in listener.lines)


def test_a_disk_that_is_not_to_be_trusted_ends_the_census(before: Path, tmp_path: Path) -> None:
    class Rotten(LocalScheduler):
        def run(self, function: Any, tasks: Any, done: Any) -> list[dict[str, Any]]:
            answers = super().run(function, tasks, done)
            for path in (task.target for task in tasks if "children" in task.target.name):
                damage(path, 3)
            return answers

    with pytest.raises(InputError, match="check the disk"):
        search(copied(before, tmp_path), Rotten(1))


@pytest.mark.parametrize("bit", [0, FIXING, 63])
def test_every_bit_of_a_child_counts_for_its_checksum(before: Path, tmp_path: Path, bit: int) -> None:
    """Also those that are no part of the position: a wrong orbit would be a wrong count."""
    rows = read_rows(file := open_rows(before / "ply-006/part-00000.rows"), 0, LEAVES)
    rows[5, -1] |= np.uint64(1 << FIXING)
    leaves, counts, sums = by_leaf(rows)
    assert np.array_equal(counts, file.counts)
    assert np.flatnonzero(sums != file.sums).tolist() == [leaves[5]]
    target = tmp_path / "children-00000.rows"
    stats = ExpansionStats(words=1, codes=None, children=len(rows), counters=(0, 0, 0, 0))
    with PartWriter(target) as writer:
        put_rows(writer, rows, (counts, sums, np.zeros_like(counts)))
        writer.finish(Owner(plan=BOARD.digest, step=6, number=0), stats)
    assert np.array_equal(read_rows(open_rows(target), 0, LEAVES), rows)
    damage(target, 8 * 5 + bit // 8, 1 << bit % 8)
    with pytest.raises(InputError, match=rf"children-00000\.rows.*leaf {leaves[5]} "):
        read_rows(open_rows(target), 0, LEAVES)


# -- forged: consistent in itself --------------------------------------------------------


def reseal_records(store: Path, ply: int, **changes: Any) -> None:
    """Write a record with other values and fitting digests, and those that follow likewise."""
    before = None
    for path in sorted(store.glob("classes/ply-*.json")):
        record = read_record(path, PlyRecord, "file", "mend it")
        content = record.model_dump(exclude={"digest"}) | {"before": before}
        made = PlyRecord.make(content | (changes if record.ply == ply else {}))
        path.write_text(record_text(made))
        before = made.digest


def test_a_forged_count_does_not_add_up(sound: Path, tmp_path: Path) -> None:
    truth, store, listener = answer(sound), copied(sound, tmp_path), Listener()
    record = read_record(store / "classes/ply-003.json", PlyRecord, "file", "mend it")
    reseal_records(store, 3, counters=record.counters | {"decided": record.counters["decided"] + 8})
    assert answer(store, listener) == truth
    assert any("ply-003.json' is" in line.replace(":", "") for line in listener.lines), listener.lines


def test_a_forged_index_is_not_followed(sound: Path, tmp_path: Path) -> None:
    """Numbers of rows whose sum, in 64 bits, is the right one: kernels would go beyond the rows that there are."""
    path = copied(sound, tmp_path) / "classes/ply-004/part-00000.rows"

    def change(header: dict[str, Any], data: bytearray) -> None:
        counts = np.frombuffer(data[place_of(header, "counts")], dtype="<i8").copy()
        counts[np.flatnonzero(counts)[:4]] += 1 << 62
        data[place_of(header, "counts")] = counts.tobytes()

    reseal(path, change)
    with pytest.raises(InputError, match="its index is inconsistent"):
        open_rows(path)


def test_a_forged_sum_of_moves_is_found(sound: Path, tmp_path: Path) -> None:
    """The last record is sealed anew with one child more than its positions have, and its part says the same."""
    truth, store, listener = answer(sound), copied(sound, tmp_path), Listener()
    (store / "classes/ply-004.json").unlink()
    path = store / "classes/ply-003/part-00000.rows"

    def change(header: dict[str, Any], data: bytearray) -> None:
        moves = np.frombuffer(data[place_of(header, "moves")], dtype="<i8").copy()
        moves[np.flatnonzero(moves)[0]] += 1
        data[place_of(header, "moves")] = moves.tobytes()
        header["stats"]["next_children"] += 1

    reseal(path, change)
    file, record = open_rows(path), read_record(store / "classes/ply-003.json", PlyRecord, "file", "mend it")
    entries = ({**record.parts[0].model_dump(), **file.entry},)
    reseal_records(store, 3, next_children=file.stats.next_children, parts=entries)
    assert answer(store, listener) == truth
    assert any("its index gives" in line for line in listener.lines)


def forge_rows(store: Path, ply: int, keep: Any) -> None:
    """Write other rows into a ply, with fitting index, statistics and digests."""
    path = store / f"classes/ply-{ply:03}/part-00000.rows"
    file = open_rows(path)
    rows = np.ascontiguousarray(keep(read_rows(file, 0, LEAVES)))
    leaves, counts, sums = by_leaf(rows)
    rows, owner = rows[np.argsort(leaves, kind="stable")], file.part.header.owner
    children = file.stats.children
    write_part(path, toolbox(SHORT, False), rows, (counts, sums), owner, children=children, began=0.0)
    made = open_rows(path)
    stats = {name: getattr(made.stats, name) for name in ("counters", "material", "next_children")}
    reseal_records(store, ply, **stats, parts=(made.entry,), rows=rows_digest([made]))


def test_a_forged_ply_is_refuted(sound: Path, tmp_path: Path) -> None:
    """The last ply, on which no other depends: only what the positions are can refute it."""
    store = copied(sound, tmp_path)
    forge_rows(store, 4, lambda rows: rows[:-1])
    # Orbits: the survey took the forged rows for asymmetric, which is found out again.
    assert verify_census(store, SHORT).failures > 0
    report = verify_census(store, SHORT, parents=True)
    messages = [message for check in report.checks for message in check.messages]
    assert any("children of the previous ply are missing" in message for message in messages), messages


def test_a_forged_position_has_no_parent(sound: Path, tmp_path: Path) -> None:
    store = copied(sound, tmp_path)
    start = read_rows(open_rows(store / "classes/ply-000/part-00000.rows"), 0, LEAVES)
    forge_rows(store, 4, lambda rows: np.concatenate([rows, start]))
    checks = {check.name: check.failures for check in verify_census(store, SHORT, parents=True).checks}
    assert checks["positions are distinct within plies and between them"] == 1
    assert checks["each position has a parent, and no child is missing"] >= 1


def test_more_positions_than_the_board_has_are_refused(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from counting import spaces as module
    from counting.census import census_store as extent

    few = module.spaces(SHORT)["no_end"].material()
    few = module.CountsByMaterial(tuple(tuple(min(count, 80) for count in row) for row in few.rows))
    monkeypatch.setattr(module.Space, "material", lambda space: few)
    monkeypatch.setattr(extent, "spaces", module.spaces)
    store = copied(sound, tmp_path)
    with pytest.raises(TooLargeError, match=r"829 positions with 4 attackers and 0 defenders.*board allows 80.*verify"):
        answer(store)
    # In a census of this run alone it is a defect, not a damage.
    with pytest.raises(ArithmeticError, match="the board allows 80"):
        census(SHORT)


# -- what a killed census leaves, and machines that fail -------------------------------------


def test_leftovers_of_killed_writes_are_swept(sound: Path, tmp_path: Path) -> None:
    store, truth = tmp_path / "killed", answer(sound)
    (store / "classes").mkdir(parents=True)
    (store / "classes/.census.json.ab12.tmp").write_text("{")
    assert answer(store) == truth
    for name in (".ply-002.json.x_1.tmp", ".census.json.q.tmp", "ply-003/.part-00000.rows.abc.tmp"):
        (store / "classes" / name).write_text("half")
    # Killed between the record of the last ply and the removal of what it was made from.
    (store / "classes/work/ply-004").mkdir(parents=True)
    (store / "classes/work/ply-004/children-00000.rows").write_text("half")
    assert answer(store) == truth
    assert not (store / "classes/work").exists()
    for path in (store / "classes").glob("ply-004*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert answer(store) == truth
    assert not list(store.rglob("*.tmp"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="names of open files are not known")
def test_a_ply_is_on_the_disk_before_its_record_and_that_before_the_children_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    sync, rename = os.fsync, Path.replace

    def synced(descriptor: Any) -> None:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        seen.append(f"sync {Path(f'/proc/self/fd/{number}').readlink().name.strip('.').split('.')[0]}")
        sync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        seen.append(f"name {Path(target).stem}")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.setattr(shutil, "rmtree", lambda path, **_: seen.append(f"remove {path.name}"))
    census(BOARD, plies=1, store=tmp_path)
    assert seen[-8:-6] == ["sync part-00000", "name part-00000"]
    assert sorted(seen[-6:-4]) == ["sync classes", "sync ply-001"]
    assert seen[-4:] == ["sync ply-001", "name ply-001", "sync classes", "remove work"]


@pytest.mark.parametrize("step", slow_but([17], [7]))
def test_some_write_calls_fail(sound: Path, tmp_path: Path, step: int) -> None:
    """Nothing is lost and nothing is believed."""
    truth, counted = answer(sound), Faults(None, OSError())
    with counted.injected():
        census(SHORT, plies=2, store=tmp_path / "count")
    assert counted.calls > 40
    for number, call in enumerate(range(0, counted.calls, step)):
        folder = tmp_path / str(call)
        with Faults(call, ERRORS[number % 3]).injected(), suppress(MachineError):
            report = census(SHORT, plies=2, store=folder)
            assert [ply.digest for ply in report.plies] == truth[:3]  # what failed was not needed
        assert answer(folder) == truth
        assert verify_census(folder, SHORT, parents=True).failures == 0
        assert not list(folder.rglob("*.tmp"))


def test_a_full_disk_is_exit_74_and_the_work_is_kept(tmp_path: Path, capsys: Captured) -> None:
    arguments = ["census", "-v", "ashton-5-4v0", "--plies", "3", "--store", str(tmp_path)]
    with Faults(55, ERRORS[0]).injected():
        assert run(arguments) == 74
    captured = capsys.readouterr()
    assert "No space left on device" in captured.err.splitlines()[-1]
    assert "ply" in captured.out
    assert run([*arguments]) == 0
    assert run(["census", "verify", str(tmp_path)]) == 0
