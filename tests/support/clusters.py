"""A Dask cluster as people start one: a scheduler and its workers, each in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.support.waiting import eventually


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """Run a scheduler, and workers of one thread each; the context is the scheduler's address.

    Parameters
    ----------
    folder : pathlib.Path
        Where they leave what they say, and what they put aside.
    workers : int
        How many processes work.

    Yields
    ------
    str
        What ``--scheduler`` takes.
    """
    folder.mkdir()
    known = folder / "scheduler.json"
    here = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(known)]
    working = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
    started: list[subprocess.Popen[bytes]] = []
    try:
        said = _start(started, folder / "scheduler.log", "dask_scheduler", *here, "--port", "0")
        _until(known.exists, started, said)
        logs = [
            _start(started, folder / f"worker-{number}.log", "dask_worker", *here, *working)
            for number in range(workers)
        ]
        for said in logs:
            _until(partial(_has_registered, said), started, said)
        yield json.loads(known.read_text(encoding="utf-8"))["address"]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _start(started: list[subprocess.Popen[bytes]], said: Path, program: str, *options: str) -> Path:
    """Start a program of `distributed`, and return the file of what it says."""
    with said.open("wb") as file:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *options]
        started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file))
    return said


def _has_registered(said: Path) -> bool:
    """Return whether a worker has reported that it has joined the cluster."""
    return "Registered to" in said.read_text(encoding="utf-8")


def _until(there: Callable[[], bool], started: list[subprocess.Popen[bytes]], said: Path) -> None:
    """Wait for something, and fail with what was said if a process ends before."""
    eventually(lambda: there() or any(process.poll() is not None for process in started))
    assert there(), said.read_text(encoding="utf-8")
