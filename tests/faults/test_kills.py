"""Commands that a signal ends at a random moment and that run again: the same answer and the same files as without."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults.test_damage import essence
from tests.support.effort import MORE
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.fuzz, pytest.mark.skipif(os.name != "posix", reason="signals end commands")]
ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "census -v brandubh-5-4v0 --all --store out",
    "census --plies 3 --store out",
    "census -v ashton-5-4v0 --all",
    "tablebase build -v brandubh-5-4v4 --men 4 --store out",
    "tablebase build -v brandubh-5-4v4 --men 4 --memory 1 --store out",
    "solve -v ashton-5-4v0 --store out",
    "report --out out",
    "perft -v ashton-5-4v0 -d 2",
)


def started(command: str, folder: Path) -> subprocess.Popen[str]:
    """Start a command in a folder, with a folder for temporary files beside it; `perft` compiles its kernels there."""
    (folder.parent / "tmp").mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder.parent / "tmp")}
    if command.startswith("perft"):
        environment["NUMBA_CACHE_DIR"] = str(folder / "out")
    line = [sys.executable, "-m", "tablut", *shlex.split(command), "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True)


def finished(command: str, folder: Path) -> tuple[Any, dict[str, int]]:
    """Return the answer of a command and the sizes of the files that it leaves; their digests may be in their names."""
    process = started(command, folder)
    out, err = process.communicate(timeout=2 * PATIENCE)
    assert process.returncode in (0, 3), err
    files = {
        re.sub(r"-[0-9a-f]{8,}|_[0-9a-f]{32,}", "", path.relative_to(folder).as_posix()): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }
    return essence(out), files


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function from a command to its seconds, its answer and its files."""

    @cache
    def run(command: str) -> tuple[float, Any, dict[str, int]]:
        finished(command, tmp_path_factory.mktemp("first") / "run")
        began = time.monotonic()
        answer, files = finished(command, tmp_path_factory.mktemp("second") / "run")
        return time.monotonic() - began, answer, files

    return run


@settings(max_examples=2 * MORE, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    command=st.sampled_from(COMMANDS),
    sent=st.sampled_from([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]),
    moment=st.floats(0.3, 1.05),
)
def test_a_killed_command_runs_again_to_the_same_end(
    command: str, sent: signal.Signals, moment: float, right: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    seconds, answer, files = right(command)
    folder = tmp_path_factory.mktemp("killed") / "run"
    process = started(command, folder)
    time.sleep(moment * seconds)
    process.send_signal(sent)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 3, 130, 143, -sent), err
    assert "Traceback" not in err
    if sent is not signal.SIGKILL:
        assert list((folder.parent / "tmp").iterdir()) == []
    assert finished(command, folder) == (answer, files)
