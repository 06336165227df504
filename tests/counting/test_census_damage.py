"""A damaged, swapped, edited, stale or forged store of a census is named; its answer is right or there is none."""

import hashlib
import json
import os
import random
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
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

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


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_damage_is_named_or_harmless(sound: Path, foreign: Path, truth: list[str], data: st.DataObject) -> None:
    try_damage(sound, foreign, truth, lambda count: data.draw(st.integers(0, count - 1)))


@pytest.mark.slow
def test_a_thousand_damages(sound: Path, foreign: Path, truth: list[str]) -> None:
    generator = random.Random(20240611)
    kinds: dict[str, int] = {}
    for _ in range(1000):
        kind = try_damage(sound, foreign, truth, generator.randrange).partition(" ")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    assert len(kinds) >= 10, kinds


# -- the damages by which stores were believed -------------------------------------------


@pytest.mark.parametrize("resumed", [5, None])
def test_a_part_of_another_ply_is_not_counted(tmp_path: Path, resumed: int | None, capsys: Captured) -> None:
    census(BOARD, plies=6, store=tmp_path)
    shutil.copy(tmp_path / "classes/ply-001/part-00000.rows", tmp_path / "classes/ply-005/part-00000.rows")
    plies = ["--all"] if resumed is None else ["--plies", str(resumed)]
    assert run(["census", "-v", "ashton-5-4v0", *plies, "--store", str(tmp_path), "--resume"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "ply-005/part-00000.rows" in captured.err
    assert captured.err.count("\n") == 1


def test_a_complete_store_without_its_parts_is_refused(sound: Path, tmp_path: Path) -> None:
    store = copied(sound, tmp_path)
    for path in store.rglob("*.rows"):
        path.unlink()
    assert "ply-000/part-00000.rows': is damaged: it is missing" in str(answer(store))


def test_an_edited_count_is_refused(sound: Path, tmp_path: Path) -> None:
    store = copied(sound, tmp_path)
    path = store / "classes/ply-003.json"
    record = json.loads(path.read_text())
    record["content"]["counters"]["decided"] += 8
    path.write_text(json.dumps(record))
    assert "ply-003.json': is damaged: not what its digest says" in str(answer(store))


def test_names_in_records_lead_nowhere(sound: Path, tmp_path: Path) -> None:
    store = copied(sound, tmp_path)
    path = store / "classes/ply-003.json"
    body = json.loads(path.read_text())
    del body["sha256"]
    body["content"]["ply"] = "0/../../../../evil"
    path.write_text(json.dumps({**body, "sha256": digest_of(body)}, indent=1, sort_keys=True) + "\n")
    assert "ply-003.json': is damaged: ply:" in str(answer(store))
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("content", ["[" * 100_000, '{"format": 4, ' + '"a": {' * 5000, "9" * 6000, "", "null", "{}"])
def test_hostile_records_are_one_line(sound: Path, tmp_path: Path, content: str) -> None:
    for name in ("ply-002.json", "census.json"):
        store = copied(sound, tmp_path / name)
        (store / "classes" / name).write_text(content)
        assert name in str(answer(store))


def test_records_of_any_length_are_not_read(sound: Path, tmp_path: Path) -> None:
    store = copied(sound, tmp_path)
    with (store / "classes/ply-002.json").open("r+b") as file:
        file.truncate(1 << 40)
    assert "ply-002.json" in str(answer(store))


def test_links_are_not_followed(sound: Path, tmp_path: Path) -> None:
    for name in ("ply-002", "ply-002.json", "census.json", "lock", "work"):
        store = copied(sound, tmp_path / name)
        inside, outside = store / "classes" / name, tmp_path / name / "outside"
        if inside.exists():
            inside.rename(outside)
        else:
            outside.mkdir() if name == "work" else outside.write_text("")
        inside.symlink_to(outside)
        if name == "work":
            for path in (*store.glob("classes/ply-004.json"), *store.glob("classes/ply-004/*")):
                path.unlink()
        assert "is a link" in str(answer(store)), name
        if name == "work":
            assert not list(outside.iterdir())


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


@pytest.mark.parametrize("version", [4, 6])
def test_stores_of_other_versions_are_refused(sound: Path, tmp_path: Path, version: int, capsys: Captured) -> None:
    store = copied(sound, tmp_path)
    path = store / "classes/census.json"
    path.write_text(path.read_text().replace('"version": 5', f'"version": {version}'))
    before = {path: path.read_bytes() for path in files_of(store)}
    assert run(["census", "-v", "ashton-5-4v0", "--plies", "4", "--store", str(store), "--resume"]) == 2
    assert run(["census", "verify", str(store)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    for line in captured.err.splitlines():
        assert re.search(rf"census\.json': format version {version}, this program reads 5; ", line)
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


@pytest.mark.parametrize("threads", [1, 2])
def test_digests_do_not_depend_on_how_it_was_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, threads: int
) -> None:
    """Many small parts, by other limits: the same digests as published, and the same files twice."""
    monkeypatch.setattr("counting.census.search._LEAST_ROWS", 500)

    def counted(folder: Path) -> list[PlyRecord]:
        store = CensusStore(folder, BOARD, full=False, resume=True)
        limits = CensusLimits(expand_children=900 * threads, merge_children=1500)
        try:
            return Search(
                BOARD, full=False, store=store, scheduler=LocalScheduler(threads), limits=limits, observer=Observer()
            ).run(9)
        finally:
            store.close()

    records = counted(tmp_path / "one")
    assert max(len(record.parts) for record in records) > 5
    assert [record.digest for record in records] == published_digests(BOARD.digest)[:10]
    again = counted(tmp_path / "two")
    assert [record.parts for record in again] == [record.parts for record in records]


def test_verification_speaks_to_people(sound: Path, tmp_path: Path, capsys: Captured) -> None:
    store = tmp_path / "store [/bold]"
    census(BOARD, plies=2, store=store, full=True)
    assert run(["census", "verify", str(store)]) == 0
    assert "0 failures. As published." in capsys.readouterr().out
    (store / "classes/ply-002/part-00000.rows").unlink()
    assert run(["census", "verify", str(store)]) == 1
    assert "ply-002/part-00000.rows': is damaged: it is missing" in capsys.readouterr().out
    (store / "classes/ply-000.json").unlink()
    assert run(["census", "verify", str(store), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["failures"] == 1
    assert run(["census", "verify", str(sound)]) == 2
    assert "do not ship; name their file with -v" in capsys.readouterr().err
    assert run(["census", "verify", str(sound), "-v", "ashton"]) == 2
    for path in (store / "classes").glob("ply-*.json"):
        path.unlink()
    shutil.rmtree(store / "full")
    assert run(["census", "verify", str(store)]) == 2
    assert "no complete ply" in capsys.readouterr().err


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
@pytest.mark.parametrize("name", ["census.json", "ply-002.json", "ply-002/part-00000.rows"])
def test_pipes_are_not_waited_for(sound: Path, tmp_path: Path, name: str) -> None:
    store = copied(sound, tmp_path)
    (store / "classes" / name).unlink()
    os.mkfifo(store / "classes" / name)
    assert name in str(answer(store))


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "classes"
    place.mkdir()
    (place / ".letter.odt.x1.tmp").write_text("dear")
    assert "holds no census" in str(answer(tmp_path))
    assert [path.name for path in place.iterdir()] == [".letter.odt.x1.tmp"]


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


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS, ids=["full", "broken", "memory"])
def test_every_write_call_fails(tmp_path: Path, truth: list[str], error: BaseException) -> None:
    calls = writes(tmp_path / "count")
    assert calls > 40
    for call in range(calls):
        fail_at(tmp_path / str(call), call, error, truth)


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


# -- any history -------------------------------------------------------------------------------


class Killed(Exception):  # noqa: N818
    pass


class History(RuleBasedStateMachine):
    """Write, kill, damage, go on, verify, in any order; whatever is refused is mended as the message says."""

    truth: list[str]
    foreign: Path

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.store = self.folder / "store"

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @rule(plies=st.integers(0, 4))
    def go_on(self, plies: int) -> None:
        said = self.tried(lambda: census(SHORT, plies=plies, store=self.store, resume=True))
        if said is not None:
            assert [ply.digest for ply in said.plies] == self.truth[: plies + 1]

    @rule(tasks=st.integers(0, 6))
    def kill(self, tasks: int) -> None:
        left = [tasks]

        def burning(function: Any) -> Any:
            def run_one(task: Any) -> Any:
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
                return function(task)

            return run_one

        from counting.census import search

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "run_expand", burning(search.run_expand))
            patch.setattr(search, "run_merge", burning(search.run_merge))
            with suppress(Killed):
                self.tried(lambda: census(SHORT, store=self.store, resume=True))

    @precondition(lambda self: files_of(self.store) and (self.store / "classes/census.json").exists())
    @rule(seed=st.integers(0, 10**6))
    def spoil(self, seed: int) -> None:
        if len({path.suffix for path in files_of(self.store)}) == 2 and len(files_of(self.store)) > 3:
            damage(self.store, self.foreign, random.Random(seed).randrange)

    @precondition(lambda self: (self.store / "classes/census.json").exists())
    @rule()
    def check(self) -> None:
        if proof(self.store) == 0:
            records = sorted(self.store.glob("classes/ply-*.json"))
            digests = [read_record(path, PlyRecord, "file", "mend it").digest for path in records]
            assert digests == self.truth[: len(records)]

    def tried(self, work: Any) -> Any:
        """Return what work gives; mend the store until it gives something."""
        for _ in range(40):
            try:
                return work()
            except (InputError, OutputError) as error:
                self.mend(str(error))
        raise AssertionError("mending leads nowhere")

    def mend(self, message: str) -> None:
        assert str(self.store) in message, message
        named = re.search(r"'(/[^']*|[a-z]+-\d+\.json|census\.json|ply-\d+|lock|work)'", message)
        assert named is not None, message
        path = self.store / "classes" / named[1]
        if path.name in ("census.json", "store", "classes") or path.parent == self.store:
            shutil.rmtree(self.store)
            return
        ply = re.search(r"ply-\d+", str(path.relative_to(self.store)))
        gone = [path]
        if ply is not None and "work" not in path.parts:
            gone += [self.store / f"classes/{ply[0]}.json", self.store / "classes" / ply[0]]
        for each in gone:
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def history(foreign: Path, truth: list[str]) -> type[History]:
    return type("History", (History,), {"foreign": foreign, "truth": truth})


def run_histories(history: type[History], examples: int) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    options = settings(
        max_examples=examples, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(history, settings=options)  # type: ignore[no-untyped-call]


def test_histories(history: type[History]) -> None:
    run_histories(history, 6)


@pytest.mark.slow
def test_many_histories(history: type[History]) -> None:
    run_histories(history, 150)
