"""Stores that are damaged, swapped, linked, of other formats, or not as published: named, never believed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reports.studies.sources import published_text
from retrograde.solver.build import build_tablebase
from retrograde.tablebase import TablebaseError, open_tablebase
from retrograde.tablebase.store import RootRecord, TierRecord, open_store, read_record, write_record
from retrograde.verification.verifying import standing_of, verify
from tablut.cli.shell import run
from tablut.errors import MachineError
from tablut.indexing.values import value_of
from tablut.prober import MissingTableError
from tablut.variants import load_variant
from tests.faults import damage
from tests.support.effort import MORE, examples, slow_but
from tests.support.endings import GAME, MEN, POSITIONS, contents
from tests.support.observing import Heard
from tests.support.waiting import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATA = Path(__file__).parents[1] / "data" / "stores"


def refused(root: Path, truth: list[int]) -> bool:
    """Return whether an answer is an error that names something of the store; every other one is the right one."""
    try:
        table = open_tablebase(root)
        for position, value in zip(POSITIONS, truth, strict=True):
            assert value_of(table.probe(position)) == value, str(position)
    except (TablebaseError, MissingTableError) as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert str(root) in str(error), str(error)  # noqa: PT017
        return True
    return False


# -- damages -------------------------------------------------------------------------------


SPOILING = (
    "flip",
    "truncate",
    "extend",
    "delete",
    "swap",
    "copy_over",
    "from_elsewhere",
    "delete_folder",
    "edit_value",
)


@settings(max_examples=examples(15, 2 * MORE), deadline=None, suppress_health_check=list(HealthCheck))
@given(kinds=st.lists(st.sampled_from(SPOILING), min_size=1, max_size=2), random=st.randoms(use_true_random=False))
def test_a_damaged_store_is_right_or_named(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, others: list[Path], truth: list[int], kinds, random
) -> None:
    root = tmp_path_factory.getbasetemp() / "damaged"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(sound, root)
    before = contents(root)
    for kind in kinds:
        with suppress(LookupError, ValueError):  # there is nothing that this could be done to
            getattr(damage, kind)(random, root, others)
    named = refused(root, truth)
    if contents(root) == before:
        assert not named
        return
    # What probing need not look at, a verification does.
    try:
        assert verify(root).failures
    except TablebaseError as error:
        assert str(root) in str(error)  # noqa: PT017


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "white/../../1v0/zarr.json", "white/c/1"])
def test_a_name_in_a_record_is_never_a_path(tmp_path: Path, sound: Path, name: str) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    record = read_record(root / "2v0", TierRecord)
    write_record(root / "2v0", record.model_copy(update={"files": {**record.files, name: record.files["white/c/0"]}}))
    with pytest.raises(TablebaseError, match="2v0"):
        open_store(root).tier(2, 0)


def test_a_record_that_drops_a_tier_does_not_pass(tmp_path: Path, sound: Path, capsys) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    record = open_store(root).record
    write_record(root, record.model_copy(update={"tiers": ((1, 0),)}))
    assert run(["tablebase", "verify", str(root)]) == 1
    assert "2v0" in capsys.readouterr().out


# -- format versions -----------------------------------------------------------------------


def test_the_format_is_the_one_that_is_kept(tmp_path: Path, truth: list[int]) -> None:
    root = shutil.copytree(DATA / f"tablebase-{RootRecord.VERSION}", tmp_path / "s")
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


@pytest.mark.parametrize(("version", "way"), [(3, "make it again"), (5, "update it")])
def test_another_version_is_refused_with_the_way_out(
    tmp_path: Path, sound: Path, capsys, version: int, way: str
) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    path = root / "zarr.json"
    path.write_text(path.read_text().replace('"version": 4', f'"version": {version}'))
    with pytest.raises(TablebaseError, match=way):
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
    from retrograde.verification import verifying as published

    other = json.loads(published_text([sound]))
    other["games"][GAME.digest]["tiers"]["2v0"] = "0" * 64
    monkeypatch.setattr(published, "_published", lambda: other["games"])
    assert run(["tablebase", "verify", str(sound), "--quick"]) == 1
    assert "differ from those published" in capsys.readouterr().out


# -- stores that are killed, interrupted or out of disk while they are written: nothing is lost, nothing is believed


# -- unfinished ----------------------------------------------------------------------------


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
    with pytest.raises(TablebaseError):
        build_tablebase(other, GAME, MEN)
    assert [path.name for path in other.iterdir()] == ["letter.txt"]


def test_a_damaged_tier_is_built_again(tmp_path: Path, sound: Path) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    shard = root / "2v0" / "white" / "c" / "0"
    shard.write_bytes(shard.read_bytes()[::-1])
    heard = Heard()
    build_tablebase(root, GAME, MEN, observer=heard)
    assert contents(root) == contents(sound)
    assert any("2v0" in step and "damaged" in step for step in heard.notes)


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


@pytest.mark.parametrize("error", slow_but([OSError], [MemoryError]))
@pytest.mark.parametrize("step", slow_but([23], [1]))
def test_a_write_that_fails_loses_nothing(tmp_path: Path, sound: Path, error: type[BaseException], step: int) -> None:
    for at in range(0, number_of_calls(tmp_path), step):
        assert_fails_cleanly(tmp_path / "s", sound, at, error)


# -- interrupts ----------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_an_interrupt_is_heard_and_says_how_to_go_on(tmp_path: Path) -> None:
    root = tmp_path / "s"
    command = [sys.executable, "-m", "tablut", "tablebase", "build", "-v", "ashton", "--men", "5", "--store", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: process.poll() is not None or (root / "1v0").exists())
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "finished tiers, which are kept: 1v0" in error
    assert f"continue with: tablut tablebase build -v ashton --men 5 --store {root}" in error
    assert open_store(root).tier(1, 0).values()


# -- a store's life ------------------------------------------------------------------------
