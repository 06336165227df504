"""A damaged, swapped, edited, stale or forged store of a census is named; its answer is right or there is none."""

import hashlib
import json
import re
import shutil
import tempfile
import zipfile
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from census_damage import ERRORS, Faults, damage, files_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counting.census import census
from counting.census.buckets import LEAF_BITS, leaf_sums
from counting.census.rows import HEAD, open_rows, read_rows, rows_digest
from counting.census.search import CensusLimits, Search
from counting.census.store import CensusStore, PlyRecord
from counting.census.toolbox import toolbox
from counting.census.verification import published_digests, verify_census
from tablut.cli.shell import run
from tablut.errors import InputError, MachineError, OutputError
from tablut.running.progress import Observer
from tablut.running.scheduling import LocalScheduler
from tablut.store.records import digest_of, read_record, record_text
from tablut.variants import Variant, load_variant
from tests.support.effort import examples

Captured = pytest.CaptureFixture[str]

STORES = Path(__file__).parents[1] / "data/stores"
BOARD = load_variant("ashton-5-4v0")


def limited(variant: Variant, plies: int) -> Variant:
    return replace(variant, rules=variant.rules.model_copy(update={"move_limit": plies}))


# Complete after a few plies, so that a store of it is small and has nothing to be computed.
SHORT = limited(BOARD, 4)
OTHER = limited(load_variant("brandubh-5-4v0"), 4)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("sound") / "store"
    census(SHORT, store=store)
    return store


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of another game, with more plies."""
    store = tmp_path_factory.mktemp("foreign") / "store"
    census(OTHER, store=store)
    return store


@pytest.fixture(scope="module")
def truth() -> list[str]:
    return [ply.digest for ply in census(SHORT).plies]


def answer(store: Path) -> list[str] | str:
    """Return the digests that a census says after going on with a store, or the line by which it refuses."""
    try:
        return [ply.digest for ply in census(SHORT, store=store, resume=True).plies]
    except (InputError, OutputError) as error:
        refusal = error
    assert refusal.exit_code == 2
    assert str(store) in str(refusal), refusal
    return str(refusal)


def proof(store: Path) -> int | str:
    """Return how many failures verification finds, or the line by which it refuses."""
    try:
        return verify_census(store, SHORT).failures
    except InputError as error:
        refusal = str(error)
    assert str(store) in refusal, refusal
    return refusal


def copied(store: Path, folder: Path) -> Path:
    """Return a copy of a store, alone in a folder of its own."""
    return Path(shutil.copytree(store, folder / "store", symlinks=True))


def try_damage(store: Path, foreign: Path, truth: list[str], draw: Any) -> str:
    """Damage a copy of a store; the answer is right or refused, and verification is not deceived."""
    with tempfile.TemporaryDirectory() as folder:
        place = copied(store, Path(folder))
        done = damage(place, foreign, draw)
        found = proof(place)
        # A store may end early: a last record that is missing takes nothing from what is there.
        shorter = done == f"_delete classes/ply-{len(truth) - 1:03}.json"
        assert (found == 0) == (done == "nothing" or shorter), (done, found)
        said = answer(place)
        assert isinstance(said, str) or said == truth, (done, said)
        assert not (Path(folder) / "evil").exists()
        return done


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_damage_is_named_or_harmless(sound: Path, foreign: Path, truth: list[str], data: st.DataObject) -> None:
    try_damage(sound, foreign, truth, lambda count: data.draw(st.integers(0, count - 1)))


# -- the damages by which stores were believed -------------------------------------------


@pytest.mark.parametrize("resumed", [5, None])
def test_a_part_of_another_ply_is_not_counted(tmp_path: Path, resumed: int | None) -> None:
    census(BOARD, plies=6, store=tmp_path)
    shutil.copy(tmp_path / "classes/ply-001/part-00000.rows", tmp_path / "classes/ply-005/part-00000.rows")
    with pytest.raises(InputError, match=r"ply-005/part-00000\.rows"):
        census(BOARD, plies=resumed, store=tmp_path, resume=True)


def test_names_in_records_lead_nowhere(sound: Path, tmp_path: Path) -> None:
    store = copied(sound, tmp_path)
    path = store / "classes/ply-003.json"
    body = json.loads(path.read_text())
    del body["sha256"]
    body["content"]["ply"] = "0/../../../../evil"
    path.write_text(json.dumps({**body, "sha256": digest_of(body)}, indent=1, sort_keys=True) + "\n")
    assert "ply-003.json': is damaged: ply:" in str(answer(store))
    assert not list(tmp_path.rglob("evil"))


# -- forged: consistent in itself --------------------------------------------------------


def reseal(store: Path, ply: int, **changes: Any) -> None:
    """Write a record with other values and fitting digests, and those that follow likewise."""
    before = None
    for path in sorted(store.glob("classes/ply-*.json")):
        record = read_record(path, PlyRecord, "file", "mend it")
        content = record.model_dump(exclude={"digest"}) | {"before": before}
        content |= changes if record.ply == ply else {}
        made = PlyRecord.make(content)
        path.write_text(record_text(made))
        before = made.digest


def test_a_forged_count_does_not_add_up(sound: Path, tmp_path: Path) -> None:
    store = copied(sound, tmp_path)
    record = read_record(store / "classes/ply-003.json", PlyRecord, "file", "mend it")
    reseal(store, 3, counters=record.counters | {"decided": record.counters["decided"] + 8})
    assert "ply-003.json': is damaged: it does not add up from its parts" in str(answer(store))


def test_a_forged_index_is_not_followed(sound: Path, tmp_path: Path) -> None:
    """Numbers of rows whose sum, in 64 bits, is the right one: kernels would go beyond the rows that there are."""
    path = copied(sound, tmp_path) / "classes/ply-004/part-00000.rows"
    content, leaves = path.read_bytes(), 8 << LEAF_BITS
    magic, version, length, cpu, *_ = HEAD.unpack(content[: HEAD.size])
    begin, stop = HEAD.size + length, open_rows(path).begin
    counts = np.frombuffer(content[begin : begin + leaves], dtype="<i8").copy()
    counts[np.flatnonzero(counts)[:4]] += 1 << 62
    rest = content[HEAD.size : begin] + counts.tobytes() + content[begin + leaves : stop]
    head = HEAD.pack(magic, version, length, cpu, hashlib.sha256(rest).digest(), 0)[:-4]
    path.write_bytes(head + zlib.crc32(head).to_bytes(4, "little") + rest + content[stop:])
    with pytest.raises(InputError, match="its index does not add up"):
        open_rows(path)


def test_a_forged_sum_of_moves_is_refused(sound: Path, tmp_path: Path) -> None:
    """The last record is sealed anew with one child more than its positions have, and its part says the same."""
    store = copied(sound, tmp_path)
    (store / "classes/ply-004.json").unlink()
    path = store / "classes/ply-003/part-00000.rows"
    content, leaves, file = path.read_bytes(), 8 << LEAF_BITS, open_rows(path)
    magic, version, length, cpu, *_ = HEAD.unpack(content[: HEAD.size])
    moves = file.moves.copy()
    moves[np.flatnonzero(moves)[0]] += 1
    number = int(moves.sum())
    text = content[HEAD.size : HEAD.size + length]
    text = text.replace(b'"next_children":%d' % (number - 1), b'"next_children":%d' % number)
    at = HEAD.size + len(text) + 2 * leaves
    rest = text + content[HEAD.size + length : at] + moves.astype("<i8").tobytes() + content[at + leaves : file.begin]
    head = HEAD.pack(magic, version, len(text), cpu, hashlib.sha256(rest).digest(), 0)[:-4]
    path.write_bytes(head + zlib.crc32(head).to_bytes(4, "little") + rest + content[file.begin :])
    record = read_record(store / "classes/ply-003.json", PlyRecord, "file", "mend it")
    entries = ({**record.parts[0].model_dump(), "digest": open_rows(path).digest},)
    reseal(store, 3, next_children=number, parts=entries)
    assert "its index says" in str(answer(store))


def forge_rows(store: Path, ply: int, keep: Any) -> None:
    """Leave rows out of a ply, with fitting index, statistics and digests."""
    from counting.census.tasks import write_part

    record = read_record(store / f"classes/ply-{ply:03}.json", PlyRecord, "file", "mend it")
    path = store / f"classes/ply-{ply:03}/part-00000.rows"
    file = open_rows(path)
    rows = np.ascontiguousarray(keep(read_rows(file, 0, 1 << LEAF_BITS)))
    counts, sums = np.zeros(1 << LEAF_BITS, dtype=np.int64), np.zeros(1 << LEAF_BITS, dtype=np.uint64)
    leaf_sums(rows, LEAF_BITS, np.empty(len(rows), dtype=np.uint16), counts, sums)
    children = file.header.stats.children
    owner, tools = file.header.owner, toolbox(SHORT, False)
    made = write_part(path, tools, rows, (counts, sums), owner, children=children, began=0.0)
    stats = {name: made[name] for name in ("counters", "material", "next_children")}
    changes = {**stats, "parts": (made["entry"],), "rows": rows_digest([open_rows(path)])}
    assert record.plan == owner.plan
    reseal(store, ply, **changes)


def test_a_forged_ply_is_refuted(sound: Path, tmp_path: Path) -> None:
    """The last ply, on which no other depends: only what the positions are can refute it."""
    store = copied(sound, tmp_path)
    forge_rows(store, 4, lambda rows: rows[:-1])
    # Orbits: the survey took the forged rows for asymmetric, which is found out again.
    assert verify_census(store, SHORT).failures > 0
    report = verify_census(store, SHORT, parents=True)
    messages = [message for check in report.checks for message in check.messages]
    assert any("children of the ply before are missing" in message for message in messages), messages


def test_a_forged_position_has_no_parent(sound: Path, tmp_path: Path) -> None:
    store = copied(sound, tmp_path)
    start = read_rows(open_rows(store / "classes/ply-000/part-00000.rows"), 0, 1 << LEAF_BITS)

    def with_the_start(rows: Any) -> Any:
        both = np.concatenate([rows, start])
        leaves = np.empty(len(both), dtype=np.uint16)
        leaf_sums(both, LEAF_BITS, leaves, np.zeros(1 << 12, dtype=np.int64), np.zeros(1 << 12, dtype=np.uint64))
        return both[np.argsort(leaves, kind="stable")]

    forge_rows(store, 4, with_the_start)
    checks = {check.name: check.failures for check in verify_census(store, SHORT, parents=True).checks}
    assert checks["positions are distinct, in a ply and among plies"] == 1
    assert checks["each position has a parent, each child is there"] >= 1


def test_more_positions_than_the_board_has_are_refused(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from counting import spaces as module
    from counting.census import store as extent

    real = module.spaces

    class Small:
        def material(self) -> Any:
            class Rows:
                rows = tuple(tuple(min(count, 80) for count in row) for row in real(SHORT)["no_end"].material().rows)

            return Rows

    monkeypatch.setattr(extent, "spaces", lambda variant: {"no_end": Small()})
    store = copied(sound, tmp_path)
    assert re.search(r"829 positions with 4 attackers and 0 defenders.*board has 80.*verify", str(answer(store)))
    # In a census of this run alone it is a defect, not a damage.
    with pytest.raises(ArithmeticError, match="the board has 80"):
        census(SHORT)


# -- versions ------------------------------------------------------------------------------


def test_stores_of_other_versions_are_refused(sound: Path, tmp_path: Path, capsys: Captured) -> None:
    store = copied(sound, tmp_path)
    path = store / "classes/census.json"
    path.write_text(path.read_text().replace('"version": 5', '"version": 4'))
    before = {path: path.read_bytes() for path in files_of(store)}
    assert run(["census", "-v", "ashton-5-4v0", "--plies", "4", "--store", str(store), "--resume"]) == 2
    assert run(["census", "verify", str(store)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    for line in captured.err.splitlines():
        assert re.search(r"census\.json': format version 4, this program reads 5; ", line)
    assert {path: path.read_bytes() for path in files_of(store)} == before


def test_a_store_of_this_version_is_read(tmp_path: Path, capsys: Captured) -> None:
    zipfile.ZipFile(STORES / "census-v5/store.zip").extractall(tmp_path)
    assert run(["census", "verify", str(tmp_path), "--parents", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["failures"], report["plies"], report["published"]) == (0, 4, "as published")
    assert (report["positions_checked"], report["classes_checked"]) == (161 + 144, 22 + 18)
    assert census(BOARD, store=tmp_path, resume=True).total == 139_097
    assert run(["census", "verify", str(tmp_path)]) == 0
    assert "As published." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "plies"), [("ashton", 3), ("bologna", 3), ("mcgill", 2), ("leiden", 3), ("berkeley", 2), ("brandubh", 4)]
)
def test_published_digests_are_what_is_counted(name: str, plies: int) -> None:
    variant = load_variant(name)
    found = [ply.digest for ply in census(variant, plies=plies).plies]
    assert found == published_digests(variant.digest)[: plies + 1]


def test_digests_do_not_depend_on_how_it_was_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Many small parts by many workers: the same digests as published, and the same files twice."""
    monkeypatch.setattr("counting.census.search._LEAST_ROWS", 500)

    def counted(folder: Path, threads: int) -> list[PlyRecord]:
        store, observer = CensusStore(folder, BOARD, full=False, resume=True), Observer()
        limits, workers = CensusLimits(expand_children=1800, merge_children=1500), LocalScheduler(threads)
        try:
            return Search(BOARD, full=False, store=store, scheduler=workers, limits=limits, observer=observer).run(9)
        finally:
            store.close()

    records = counted(tmp_path / "one", 2)
    assert max(len(record.parts) for record in records) > 5
    assert [record.digest for record in records] == published_digests(BOARD.digest)[:10]
    again = counted(tmp_path / "two", 2)
    assert [record.parts for record in again] == [record.parts for record in records]
    assert [record.digest for record in counted(tmp_path / "three", 1)] == [record.digest for record in records]


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


# -- what a killed census leaves -----------------------------------------------------------


def test_leftovers_of_killed_writes_are_swept(sound: Path, truth: list[str], tmp_path: Path) -> None:
    store = tmp_path / "killed"
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


# -- machines that fail ----------------------------------------------------------------------


def writes(folder: Path) -> int:
    """Return how many calls of a census write."""
    faults = Faults(None, OSError())
    with faults.injected():
        census(SHORT, plies=2, store=folder)
    return faults.calls


def fail_at(folder: Path, call: int, error: BaseException, truth: list[str]) -> None:
    """Let one call fail; nothing is lost and nothing is believed."""
    with Faults(call, error).injected(), suppress(MachineError):
        report = census(SHORT, plies=2, store=folder)
        assert [ply.digest for ply in report.plies] == truth[:3]  # what failed was not needed
    assert answer(folder) == truth
    report = verify_census(folder, SHORT, parents=True)
    assert report.failures == 0, report.checks
    assert not list(folder.rglob("*.tmp"))


def test_some_write_calls_fail(tmp_path: Path, truth: list[str]) -> None:
    calls = writes(tmp_path / "count")
    assert calls > 40
    for number, call in enumerate(range(0, calls, 5)):
        fail_at(tmp_path / str(call), call, ERRORS[number % 3], truth)


def test_a_full_disk_is_exit_74_and_the_work_is_kept(tmp_path: Path, capsys: Captured) -> None:
    arguments = ["census", "-v", "ashton-5-4v0", "--plies", "3", "--store", str(tmp_path)]
    with Faults(55, ERRORS[0]).injected():
        assert run(arguments) == 74
    captured = capsys.readouterr()
    assert "No space left on device" in captured.err.splitlines()[-1]
    assert "--resume" in captured.err
    assert "ply" in captured.out
    assert run([*arguments, "--resume"]) == 0
    assert run(["census", "verify", str(tmp_path)]) == 0
