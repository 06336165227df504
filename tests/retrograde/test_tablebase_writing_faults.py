"""Stores that are killed, interrupted or out of disk while they are written: nothing is lost, nothing is believed."""

import errno
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
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from retrograde.solver.build import build_tablebase
from retrograde.tablebase import TablebaseError, open_tablebase
from retrograde.tablebase.batch import mapped_array
from retrograde.tablebase.store import open_store
from retrograde.verification.verifying import verify
from tablut.cli.shell import run
from tablut.errors import MachineError, TablutError
from tablut.indexing.values import value_of
from tablut.prober import MissingTableError
from tests.support.endings import GAME, MEN, POSITIONS, TIERS, contents
from tests.support.waiting import PATIENCE, eventually

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
    with pytest.raises(TablebaseError, match="holds no tablebase"):
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
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_write_that_fails_loses_nothing(tmp_path: Path, sound: Path, error: type[BaseException], step: int) -> None:
    for at in range(0, number_of_calls(tmp_path), step):
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
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


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


# -- interrupts ----------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_an_interrupt_is_heard_and_says_how_to_go_on(tmp_path: Path) -> None:
    root = tmp_path / "s"
    command = [sys.executable, "-m", "tablut", "tablebase", "build", "-v", "ashton", "--men", "5", "--store", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: process.poll() is not None or (root / "1v0").exists())
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "tiers finished and kept: 1v0" in error
    assert f"go on: tablut tablebase build -v ashton --men 5 --store {root}" in error
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
