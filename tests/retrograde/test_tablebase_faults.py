"""Stores that are damaged, swapped, linked, cut off in the making or out of disk: named, never believed."""

import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from retrograde.solver.build import build_tablebase
from retrograde.tablebase import TablebaseError, TooNewError, open_tablebase
from retrograde.tablebase.published import published_text, standing_of
from retrograde.tablebase.schema import FORMAT_VERSION, TierRecord, read_record, write_record
from retrograde.tablebase.scratch import mapped_array
from retrograde.tablebase.store import open_store
from retrograde.verification.verifying import verify
from tablut.cli.shell import run
from tablut.errors import InputError, MachineError, TablutError
from tablut.indexing import PlacementIndex
from tablut.position import Position
from tablut.prober import MISSING, MissingTableError, value_of
from tablut.variants import load_variant

DATA = Path(__file__).parents[1] / "data" / "stores"
GAME = load_variant("ashton-5-4v0")
MEN = 3
TIERS = ((1, 0), (2, 0))


def contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "provenance" not in path.parts and path.name != "lock"
    }


def every_position() -> list[Position]:
    placements = PlacementIndex(GAME)
    return [
        placements.unrank_in_tier(*material, rank, side)  # type: ignore[arg-type]
        for material in TIERS
        for rank in range(0, placements.tiers[material].size, 7)
        for side in "wb"
    ]


POSITIONS = every_position()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sound") / "store"
    build_tablebase(root, GAME, MEN)
    return root


@pytest.fixture(scope="module")
def truth(sound: Path) -> list[int]:
    table = open_tablebase(sound)
    return [value_of(table.probe(position)) for position in POSITIONS]


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Stores of other games, and of this one with another name: what may be swapped in."""
    found = []
    for name in ("brandubh-5-4v0", "ashton-5-4v2"):
        root = tmp_path_factory.mktemp("other") / name
        build_tablebase(root, load_variant(name), MEN)
        found.append(root)
    return found


def assert_right_or_refused(root: Path, truth: list[int]) -> bool:
    """Every answer is the right one, or an error that names something of the store; return whether one was refused."""
    refused = False
    for position, value in zip(POSITIONS, truth, strict=True):
        try:
            assert value_of(open_tablebase_once(root).probe(position)) == value, str(position)
        except (TablebaseError, MissingTableError) as error:
            assert "\n" not in str(error)  # noqa: PT017
            assert str(root) in str(error), str(error)  # noqa: PT017
            refused = True
            break
    return refused


_OPEN: dict[Path, object] = {}


def open_tablebase_once(root: Path):  # type: ignore[no-untyped-def]
    if root not in _OPEN:
        _OPEN[root] = open_tablebase(root)
    return _OPEN[root]


# -- damages -------------------------------------------------------------------------------


def damage(root: Path, others: list[Path], draw: Callable) -> str:
    """Do one thing to a store that a disk, a user or a program might do."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.name != "lock")
    if not files:
        return "nothing is left"
    pick = lambda: draw(st.sampled_from(files))  # noqa: E731
    kind = draw(
        st.sampled_from(["flip", "cut", "grow", "delete", "over", "swap", "foreign", "drop", "rename", "field"])
    )
    path = pick()
    content = path.read_bytes()
    if kind == "flip" and content:
        at = draw(st.integers(0, len(content) - 1))
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << draw(st.integers(0, 7)))]) + content[at + 1 :])
    elif kind == "cut":
        path.write_bytes(content[: draw(st.integers(0, len(content)))])
    elif kind == "grow":
        path.write_bytes(content + draw(st.binary(min_size=1, max_size=9)))
    elif kind == "delete":
        path.unlink()
    elif kind == "over":
        path.write_bytes(pick().read_bytes())
    elif kind == "swap":
        other = pick()
        mine, theirs = path.read_bytes(), other.read_bytes()
        path.write_bytes(theirs)
        other.write_bytes(mine)
    elif kind == "foreign":
        source = draw(st.sampled_from(others)) / path.relative_to(root)
        if source.exists():
            shutil.copy(source, path)
    elif kind == "drop":
        folder = draw(st.sampled_from(sorted({file.parent for file in files} - {root}) or [root]))
        if folder != root:
            shutil.rmtree(folder)
    elif kind == "rename":
        tiers = sorted(path for path in root.glob("*v*") if path.is_dir())
        if tiers:
            target = root / draw(st.sampled_from(["1v0", "2v0", "3v0", "1v1"]))
            source = draw(st.sampled_from(tiers))
            if source != target:
                shutil.rmtree(target, ignore_errors=True)
                source.rename(target)
    elif kind == "field" and path.suffix == ".json":
        # Edited, and its digest made to fit: what no digest can tell must at least not be believed to be more.
        try:
            group = json.loads(path.read_text())
            body = group["attributes"]["tablut"]
        except (ValueError, KeyError, TypeError):
            return kind
        name = draw(st.sampled_from(sorted(body)))
        body[name] = draw(st.sampled_from([None, -1, 0, 10**30, "x", [], {}, [[1, 0]], "0" * 64]))
        from retrograde.tablebase.schema import _group_text

        path.write_text(_group_text(body))
    return kind


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_store_is_right_or_named(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, others: list[Path], truth: list[int], data: st.DataObject
) -> None:
    assert_damages(tmp_path_factory, sound, others, truth, data)


@pytest.mark.slow
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_store_is_right_or_named_at_length(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, others: list[Path], truth: list[int], data: st.DataObject
) -> None:
    assert_damages(tmp_path_factory, sound, others, truth, data)


def assert_damages(factory, sound: Path, others: list[Path], truth: list[int], data: st.DataObject) -> None:  # type: ignore[no-untyped-def]
    root = factory.getbasetemp() / "damaged"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(sound, root)
    _OPEN.clear()
    before = contents(root)
    for _ in range(data.draw(st.integers(1, 2))):
        damage(root, others, data.draw)
    refused = assert_right_or_refused(root, truth)
    if contents(root) == before:
        assert not refused
        return
    # What probing need not look at, a verification does.
    try:
        assert verify(root).failures
    except TablebaseError as error:
        assert str(root) in str(error)  # noqa: PT017


@pytest.mark.parametrize("part", ["white/c/0", "black/zarr.json", "representatives/c/0"])
def test_a_file_that_the_record_leaves_out_is_missed(tmp_path: Path, sound: Path, part: str) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    record = read_record(root / "2v0", TierRecord)
    write_record(
        root / "2v0", record.model_copy(update={"files": {k: v for k, v in record.files.items() if k != part}})
    )
    (root / "2v0" / part).unlink()
    with pytest.raises(TablebaseError, match=rf"does not name '{part}'"):
        open_store(root).tier(2, 0)


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "white/../../1v0/zarr.json", "white/c/1"])
def test_a_name_in_a_record_is_never_a_path(tmp_path: Path, sound: Path, name: str) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    record = read_record(root / "2v0", TierRecord)
    write_record(root / "2v0", record.model_copy(update={"files": {**record.files, name: record.files["white/c/0"]}}))
    with pytest.raises(TablebaseError, match="names a file that is none of it"):
        open_store(root).tier(2, 0)


@pytest.mark.parametrize("link", ["zarr.json", "2v0", "2v0/zarr.json", "2v0/white", "2v0/white/c", "2v0/black/c/0"])
def test_links_out_of_a_store_are_not_followed(tmp_path: Path, sound: Path, link: str) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    (root / link).rename(tmp_path / "outside")
    (root / link).symlink_to(tmp_path / "outside")
    with pytest.raises(TablebaseError, match="is a link"):
        open_tablebase(root).probe(Position.parse("5/1b3/2K2/3b1/5 w", 5))


def test_a_record_that_drops_a_tier_does_not_pass(tmp_path: Path, sound: Path, capsys) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    record = open_store(root).record
    write_record(root, record.model_copy(update={"tiers": ((1, 0),)}))
    assert run(["tablebase", "verify", str(root)]) == 1
    assert "2v0" in capsys.readouterr().out


def test_a_giant_or_nested_record_is_refused(tmp_path: Path, sound: Path) -> None:
    for number, text in enumerate(["[" * 100_000, '{"a":' * 100_000, "1" * 10_000, "\0", ""]):
        root = shutil.copytree(sound, tmp_path / str(number))
        (root / "zarr.json").write_text(text)
        with pytest.raises(TablebaseError, match=r"damaged|no record"):
            open_store(root)


# -- format versions -----------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_every_format_version_is_read(tmp_path: Path, truth: list[int], sound: Path, version: int) -> None:
    root = shutil.copytree(DATA / f"tablebase-{version}", tmp_path / "s")
    store = open_store(root)
    assert {store.record.version, *(store.tier(*material).record.version for material in TIERS)} == {version}
    table = open_tablebase(root)
    assert [value_of(table.probe(position)) for position in POSITIONS] == truth
    report = verify(root, sample=2)
    assert (report.failures, report.published["same"]) == (0, ["1v0", "2v0"])
    # It is added to, and what was there stays.
    before = contents(root)
    build_tablebase(root, GAME, MEN + 1)
    after = contents(root)
    assert {name: after[name] for name in before if name != "zarr.json"} == {
        name: before[name] for name in before if name != "zarr.json"
    }
    assert verify(root).failures == 0


def test_a_later_version_is_refused_with_the_way_out(tmp_path: Path, capsys) -> None:
    root = shutil.copytree(DATA / f"tablebase-{FORMAT_VERSION}", tmp_path / "s")
    record = open_store(root).record
    write_record(root, record.model_copy(update={"version": FORMAT_VERSION + 1}))
    with pytest.raises(TooNewError, match="update it"):
        open_store(root)
    assert run(["probe", str(root), "-p", "5/1b3/2K2/3b1/5 w"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# -- published -----------------------------------------------------------------------------


def test_values_are_compared_with_the_published(tmp_path: Path, sound: Path, others: list[Path], capsys) -> None:
    assert run(["tablebase", "verify", str(sound), "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["published"] == {"same": ["1v0", "2v0"], "unknown": [], "different": []}
    own = tmp_path / "own"
    build_tablebase(own, load_variant("brandubh-5-4v4"), 2)
    assert run(["tablebase", "verify", str(own)]) == 0
    assert "not among the published: 1v0" in capsys.readouterr().out
    assert json.loads(published_text([sound]))["games"][GAME.digest]["tiers"].keys() == {"1v0", "2v0"}
    assert standing_of(GAME, (3, 0), "0" * 64) == "different"


def test_other_values_than_the_published_fail(tmp_path: Path, sound: Path, monkeypatch, capsys) -> None:
    from retrograde.tablebase import published

    other = json.loads(published_text([sound]))
    other["games"][GAME.digest]["tiers"]["2v0"] = "0" * 64
    monkeypatch.setattr(published, "_published", lambda: other)
    assert run(["tablebase", "verify", str(sound), "--quick"]) == 1
    assert "not those published" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["ashton", "mcgill", "berkeley"])
def test_three_men_are_as_published(tmp_path: Path, name: str) -> None:
    build_tablebase(tmp_path / "s", load_variant(name), 3)
    report = verify(tmp_path / "s", quick=True)
    assert (report.failures, report.published["same"]) == (0, ["1v0", "1v1", "2v0"])


# -- unfinished ----------------------------------------------------------------------------


def test_a_store_with_nothing_in_it_is_no_success(tmp_path: Path, capsys) -> None:
    from retrograde.tablebase.writer import create

    for tiers, words in (([], "has no tiers"), (list(TIERS), "not complete, without 1v0, 2v0")):
        create(tmp_path / "s", GAME, tiers)
        for options in ([], ["--quick"]):
            assert run(["tablebase", "verify", str(tmp_path / "s"), *options]) == 2
            assert words in capsys.readouterr().err


def test_a_solution_that_was_not_stored_says_what_is_missing(tmp_path: Path, capsys, monkeypatch) -> None:
    from retrograde.solver.solution import SolvedGame

    def killed(self: SolvedGame, root: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SolvedGame, "store", killed)
    assert run(["solve", "-v", "ashton-5-4v0", "--store", str(tmp_path / "s")]) == 130
    error = capsys.readouterr().err
    assert f"start it again: tablut solve -v ashton-5-4v0 --store {tmp_path / 's'}" in error
    assert run(["tablebase", "verify", str(tmp_path / "s")]) == 2
    assert "without 1v0, 2v0, 3v0, 4v0" in capsys.readouterr().err


def test_what_a_kill_leaves_locks_nothing_out(tmp_path: Path, sound: Path) -> None:
    root = tmp_path / "s"
    root.mkdir()
    (root / ".zarr.json.abc_1.tmp").write_text("{")
    (root / "lock").touch()
    build_tablebase(root, GAME, 2)
    for name in (".zarr.json.x1.tmp",):
        (root / name).write_text("{")
    for name in (".2v0.tmp", ".2v0.scratch", ".4v0.tmp"):
        (root / name / "white").mkdir(parents=True)
    build_tablebase(root, GAME, MEN)
    assert contents(root) == contents(sound)
    assert [path.name for path in root.iterdir() if path.name.startswith(".")] == []
    # What is not ours stays, and keeps us out.
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(TablebaseError, match="holds other files"):
        build_tablebase(other, GAME, MEN)
    assert [path.name for path in other.iterdir()] == ["letter.txt"]


def test_a_damaged_tier_is_built_again(tmp_path: Path, sound: Path) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    shard = root / "2v0" / "white" / "c" / "0"
    shard.write_bytes(shard.read_bytes()[::-1])
    told: list[str] = []
    build_tablebase(root, GAME, MEN, advanced=told.append)
    assert contents(root) == contents(sound)
    assert any("2v0" in step and "damaged" in step for step in told)


def test_two_writers_are_kept_apart(tmp_path: Path, sound: Path) -> None:
    from retrograde.tablebase.writer import writing

    root = shutil.copytree(sound, tmp_path / "s")
    with writing(root), pytest.raises(InputError, match="another program is writing"), writing(root):
        pass


# -- a machine that fails ------------------------------------------------------------------


@contextmanager
def failing(at: int | None, error: type[BaseException]) -> Iterator[list[int]]:
    """Let the call of this number to anything that writes fail; count the calls."""
    calls = [0]
    patch = pytest.MonkeyPatch()

    def wrapped(function: Callable) -> Callable:
        def call(*arguments: object, **options: object) -> object:
            calls[0] += 1
            if calls[0] - 1 == at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if error is OSError else error
            return function(*arguments, **options)

        return call

    # Also what other tests' threads might call: nothing runs beside this.
    for owner, name in [
        (zarr, "create_array"),
        (zarr.Array, "__setitem__"),
        (os, "fsync"),
        (Path, "replace"),
        (Path, "rename"),
        (Path, "mkdir"),
        (tempfile, "mkstemp"),
        (np, "packbits"),
    ]:
        patch.setattr(owner, name, wrapped(getattr(owner, name)))
    try:
        yield calls
    finally:
        patch.undo()


def assert_fails_cleanly(root: Path, sound: Path, at: int, error: type[BaseException]) -> None:
    shutil.rmtree(root, ignore_errors=True)
    with failing(at, error), pytest.raises((OSError, MemoryError)) as caught:
        build_tablebase(root, GAME, MEN)
    if error is OSError:
        assert isinstance(caught.value, MachineError), at
        assert "No space left" in str(caught.value)
    # What is there is whole.
    if (root / "zarr.json").exists():
        store = open_store(root)
        for material in store.tiers():
            assert not list(store.tier(*material).check_contents())
    build_tablebase(root, GAME, MEN)
    assert contents(root) == contents(sound), at
    assert [path.name for path in root.iterdir() if path.name.startswith(".")] == []


def number_of_calls(tmp_path: Path) -> int:
    with failing(None, OSError) as calls:
        build_tablebase(tmp_path / "counted", GAME, MEN)
    assert calls[0] > 30
    return calls[0]


@pytest.mark.parametrize("error", [OSError, MemoryError])
def test_a_write_that_fails_loses_nothing(tmp_path: Path, sound: Path, error: type[BaseException]) -> None:
    for at in range(0, number_of_calls(tmp_path), 4):
        assert_fails_cleanly(tmp_path / "s", sound, at, error)


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError, MemoryError])
def test_every_write_that_fails_loses_nothing(tmp_path: Path, sound: Path, error: type[BaseException]) -> None:
    for at in range(number_of_calls(tmp_path)):
        assert_fails_cleanly(tmp_path / "s", sound, at, error)


def test_scratch_takes_its_room_first_and_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    array = mapped_array(tmp_path / "folder" / "items", 1000, np.uint16)
    assert list((tmp_path / "folder").iterdir()) == []
    array[:] = 7
    assert int(array.sum()) == 7000

    def full(descriptor: int, start: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(MachineError, match=r"cannot take 2,000 bytes: No space left"):
        mapped_array(tmp_path / "folder" / "more", 1000, np.uint16)
    assert list((tmp_path / "folder").iterdir()) == []


LIMITED = """
import resource, sys
from tablut.cli.shell import run
import retrograde.solver.build
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(run(sys.argv[2:]))
"""


def under_a_limit(limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LIMITED, str(limit), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(os.name != "posix", reason="no such limit here")
def test_no_room_for_scratch_files_is_said(tmp_path: Path) -> None:
    # The slices of a tier, and the arrays that are mapped to verify it, are larger than the limit.
    game, root = "ashton-5-4v4", tmp_path / "s"
    arguments = ["tablebase", "build", "-v", game, "--men", "6", "--store", str(root), "--memory", "1"]
    answer = under_a_limit(200_000, *arguments)
    assert answer.returncode == 74, answer.stderr
    line = answer.stderr.splitlines()[-1]
    assert ".slice" in line
    assert "File too large" in line
    assert run([*arguments, "--json"]) == 0  # goes on with the slices that are whole
    assert [path.name for path in root.iterdir() if path.name.startswith(".")] == []
    answer = under_a_limit(200_000, "tablebase", "verify", str(root), "--memory", "1", "--sample", "0")
    assert answer.returncode == 74, answer.stderr
    assert "scratch file" in answer.stderr


FILLED = """
import sys
from retrograde.solver.build import build_tablebase
from tablut.errors import MachineError
from tablut.variants import load_variant
try:
    build_tablebase(sys.argv[1], load_variant("ashton-5-4v4"), 6, memory=4 << 20)
except MachineError as error:
    sys.exit(f"{error.exit_code} {error}")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system")
def test_a_full_disk_is_said(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], capture_output=True).returncode:
        pytest.skip("may not mount")
    try:
        command = [sys.executable, "-c", FILLED, str(disk / "s")]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert answer.returncode == 1, answer.stderr
        assert answer.stderr.startswith("74 ")
        assert "No space left" in answer.stderr
        # Slices that are finished are kept, and nothing else.
        left = [path for path in (disk / "s").iterdir() if path.name.startswith(".")]
        assert all(path.name.endswith(".slices") and not list(path.glob(".*")) for path in left)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# -- interrupts ----------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("seconds", [1.5, pytest.param(3.0, marks=pytest.mark.slow)])
def test_an_interrupt_is_heard_and_says_how_to_go_on(tmp_path: Path, seconds: float) -> None:
    root = tmp_path / "s"
    command = [sys.executable, "-m", "tablut", "tablebase", "build", "-v", "ashton", "--men", "5", "--store", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (root / "1v0").exists():
            time.sleep(0.01)
        time.sleep(seconds)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        waited = time.monotonic() - sent
    assert process.returncode == 130
    assert "tiers finished and kept: 1v0" in error
    assert f"go on: tablut tablebase build -v ashton --men 5 --store {root}" in error
    assert waited < 5, "a second where nothing else runs"
    assert open_store(root).tier(1, 0).values()


# -- a store's life ------------------------------------------------------------------------


class Life(RuleBasedStateMachine):
    """A store that is built, killed, damaged, built again and verified, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="tablut-life-"))
        self.root = self.folder / "s"
        self.sound = True

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize()
    def build(self) -> None:
        build_tablebase(self.root, GAME, 2)

    @rule(men=st.integers(2, MEN))
    def build_again(self, men: int) -> None:
        try:
            build_tablebase(self.root, GAME, men)
        except TablutError as error:
            assert not self.sound
            assert str(self.root) in str(error)  # noqa: PT017
        else:
            self.sound = self.sound or not verify(self.root, quick=True).failures

    @rule(at=st.integers(0, 60), error=st.sampled_from([OSError, MemoryError]))
    def fail(self, at: int, error: type[BaseException]) -> None:
        try:
            with failing(at, error):
                build_tablebase(self.root, GAME, MEN)
        except (OSError, MemoryError, TablutError):
            pass

    @rule()
    def kill(self) -> None:
        (self.root / ".2v0.tmp" / "white").mkdir(parents=True, exist_ok=True)
        (self.root / ".zarr.json.k1ll.tmp").write_text("{")

    @precondition(lambda self: (self.root / "1v0").is_dir())
    @rule(data=st.data())
    def damage(self, data: st.DataObject) -> None:
        files = sorted(
            path for path in self.root.rglob("*") if path.is_file() and path.parent.name in ("0", "c", "1v0")
        )
        if files:
            path = data.draw(st.sampled_from(files))
            path.write_bytes(path.read_bytes()[:-1])
            self.sound = False

    @rule()
    def check(self) -> None:
        try:
            report = verify(self.root)
        except TablebaseError as error:
            assert str(self.root) in str(error)  # noqa: PT017
            return
        missing = open_store(self.root).missing()
        assert report.failures or not missing
        if not self.sound:
            return
        assert report.failures == len(missing)

    @invariant()
    def nothing_wrong_is_answered(self) -> None:
        if not (self.root / "zarr.json").exists():
            return
        try:
            table = open_tablebase(self.root)
            values = [(position, table.probe(position)) for position in POSITIONS[:40:8]]
        except (TablebaseError, MissingTableError):
            return
        for position, verdict in values:
            assert value_of(verdict) == TRUE[str(position)]


TRUE: dict[str, int] = {}


@pytest.fixture(autouse=True, scope="module")
def _truth(truth: list[int]) -> None:
    TRUE.update(zip(map(str, POSITIONS), truth, strict=True))


Life.TestCase.settings = settings(
    max_examples=8, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLife = Life.TestCase


# -- what is said beforehand ---------------------------------------------------------------


def test_an_impossible_build_is_refused_before_it_starts(tmp_path: Path, capsys) -> None:
    for men in (50, 12, 9):
        assert run(["tablebase", "build", "--men", str(men), "--store", str(tmp_path / "s")]) == 2
        error = capsys.readouterr().err
        assert f"--men {men}: " in error
        assert "is possible here" in error
        assert error.count("\n") == 1
    assert not (tmp_path / "s").exists()


def test_a_long_build_says_what_it_takes(tmp_path: Path, capsys, monkeypatch) -> None:
    from retrograde.solver import build

    monkeypatch.setattr(build, "build_tablebase", lambda root, *_, **__: build_small(root))

    def build_small(root: Path) -> None:
        from retrograde.tablebase.writer import create

        create(root, load_variant("ashton"), [])

    assert run(["tablebase", "build", "--men", "5", "--store", str(tmp_path / "s")]) == 0
    error = capsys.readouterr().err
    assert "10 tiers, 17" in error
    assert "on disk" in error
    assert "seconds of processor time at 4 million classes a second" in error


def test_probing_beyond_what_ships_says_how_to_build(capsys) -> None:
    assert run(["probe", "-p", "9/9/4b4/4w4/2K6/9/4b4/9/3bb4 b"]) == 2
    assert "tablut tablebase build -v ashton --men 6 --store tablebase-ashton" in capsys.readouterr().err
    assert run(["probe", str(DATA / "tablebase-2"), "-p", "5/1b3/2K2/3b1/4b w"]) == 2
    error = capsys.readouterr().err
    assert f"tablut tablebase build -v ashton-5-4v0 --men 4 --store {DATA / 'tablebase-2'}" in error
    many = "/".join(["bbbbbbbbb", "bbbbbbbbb", *["9"] * 2, "4K4", *["9"] * 4]) + " w"
    assert run(["probe", "-p", many]) == 2
    assert "TOO_MANY_ATTACKERS" in capsys.readouterr().err


def test_words_of_boards_are_probed(sound: Path, truth: list[int]) -> None:
    from tablut.board import Board
    from tablut.engine import engine_for

    engine, table = engine_for(GAME), open_tablebase(sound)
    boards = [Board(GAME, position) for position in POSITIONS]
    assert table.probe_words(engine.words(boards)).tolist() == truth
    assert table.probe_words(engine.words(POSITIONS)).tolist() == truth
    assert table.probe_words(engine.words(boards[0])).tolist() == truth[:1]
    assert engine.words([]).shape == (0, engine.tables.words)
    with pytest.raises(InputError, match="is of brandubh-5-4v0"):
        engine.words([Board("brandubh-5-4v0")])
    for wrong in (["5/5/5/5/5 w"], np.zeros((2, 3), dtype=np.uint32), np.zeros((1, 14))):
        with pytest.raises(InputError, match=r"expected a Board|are uint32"):
            engine.words(wrong)  # type: ignore[arg-type]
    assert MISSING not in truth
    assert list(itertools.islice(boards, 1))
