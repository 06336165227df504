"""Runs of `tablut` in forks of this process, which has the kernels in memory; and trials side by side.

A fork runs `tablut.cli.main` with a command line, a folder and standard streams of its
own, as a shell would start it; only the second that Python and the kernels take to load
is saved. Memory is limited, so that a reader without bounds does not take the machine
down.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import weakref
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.faults.verdict import Trial, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


LIMIT: Final = 30.0
"""Seconds after which a command counts as hanging, unless a trial says otherwise."""
_MEMORY: Final = 3 << 30


@dataclass(frozen=True)
class Run:
    """How a command ended.

    Attributes
    ----------
    code : int
        The exit code; minus the signal's number where one ended it.
    out, err : str
        What it printed.
    seconds : float
        Wall time.
    hung : bool
        Whether the time limit ended it.
    """

    code: int
    out: str
    err: str
    seconds: float
    hung: bool = False


class Forked:
    """A command that runs in a fork, to be waited for or killed.

    Parameters
    ----------
    args : sequence of str
        Of `tablut`.
    folder : Path
        The current folder; temporary files go to its neighbour ``tmp``, if that is there.
    stdin : bytes
        Standard input.
    prepare : callable, optional
        Called in the fork before the command.
    """

    def __init__(
        self, args: Sequence[str], folder: Path, *, stdin: bytes = b"", prepare: Callable[[], None] | None = None
    ) -> None:
        self._files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115 - closed by `wait`
        self._files[0].write(stdin)
        self._files[0].seek(0)
        self.began = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        # Until the command begins, a signal is not the command's business.
        early = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, early)
        self.pid = os.fork()
        if self.pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, early)
        if self.pid == 0:
            code = 1
            try:
                code = self._become(args, folder, prepare)
            finally:
                os._exit(code)

    def _become(self, args: Sequence[str], folder: Path, prepare: Callable[[], None] | None) -> int:
        os.setsid()
        # What this process is to do at its end is not the command's business.
        atexit._clear()
        weakref.finalize._registry.clear()  # type: ignore[attr-defined]
        weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]
        for number, file in enumerate(self._files):
            os.dup2(file.fileno(), number)
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(folder)
        scratch = folder.parent / "tmp"
        if scratch.is_dir():
            os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
        sys.argv = ["tablut", *args]
        code = 1
        try:
            if prepare is not None:
                prepare()
            from tablut.cli import main

            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
            except KeyboardInterrupt:
                return 130
            main()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            # What Python does with an exception that nobody caught.
            traceback.print_exc()
        # What Python does at its end: threads that are no daemons, then what is registered.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        return code

    def poll(self) -> bool:
        """Return whether the command runs still."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def send(self, number: int) -> None:
        """Send a signal to the command; one that has ended does not mind."""
        os.kill(self.pid, number)

    def wait(self, limit: float = LIMIT) -> Run:
        """Wait for the end, or end the command after so many seconds."""
        pause, hung, most = 0.001, False, limit
        while self.poll():
            if time.monotonic() - self.began > most:
                if most < 6 * limit and _starved(self.pid, limit):
                    most += limit
                    continue
                hung = True
                os.killpg(self.pid, signal.SIGKILL)
                break
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        _, status = os.waitpid(self.pid, 0)
        seconds = time.monotonic() - self.began
        texts = []
        for file in self._files:
            file.seek(0)
            texts.append(file.read(1 << 22).decode("utf-8", "replace"))
            file.close()
        return Run(os.waitstatus_to_exitcode(status), texts[1], texts[2], seconds, hung)


class Started:
    """A command in a process of its own, with the kernel cache ``cache`` in its folder; see `Forked`."""

    def __init__(self, args: Sequence[str], folder: Path, cache: str = "out") -> None:
        scratch = {"TMPDIR": str(folder.parent / "tmp"), "NUMBA_CACHE_DIR": str(folder / cache)}
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tablut", *args],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), **scratch},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, number: int) -> None:
        """Send a signal to the command."""
        self.process.send_signal(number)

    def wait(self, limit: float = LIMIT) -> Run:
        """Wait for the end, or end the command after so many seconds."""
        hung = False
        try:
            out, err = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            hung = True
        return Run(self.process.returncode, out, err, time.monotonic() - self.began, hung)


def _starved(pid: int, limit: float) -> bool:
    """Return whether a process wants to compute and has got less than half of the time that it is allowed.

    On a busy machine wall time says little; a process that waits for something is not busy.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:  # not Linux
        return False
    used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return fields[0] in "RD" and used < limit / 2


def run(
    args: Sequence[str],
    folder: Path,
    *,
    limit: float = LIMIT,
    stdin: bytes = b"",
    prepare: Callable[[], None] | None = None,
) -> Run:
    """Run a command to its end; see `Forked`."""
    return Forked(args, folder, stdin=stdin, prepare=prepare).wait(limit)


class Journal:
    """Makes the trials of a run side by side, and keeps them as they are made: a run that is killed goes on.

    The first line of its file tells the run and the sources that are tried; each other one
    holds the trials of one number, or of one group of inputs.
    """

    def __init__(self, path: Path | None, seed: int, *, quick: bool, jobs: int) -> None:
        self.path, self.jobs, self.trials = path, jobs, list[Trial]()
        if path is None:
            return
        head = json.dumps({"seed": seed, "quick": quick, "sources": _digest_of_sources()}).encode() + b"\n"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else [head]
        if lines[0] != head:
            raise SystemExit(f"{path} holds trials of another run, or of other sources: name another file")
        whole = [line for line in lines if line.endswith(b"\n")]
        path.write_bytes(b"".join(whole))
        for line in whole[1:]:
            self.trials += [Trial(**{**item, "verdict": Verdict(item["verdict"])}) for item in json.loads(line)]

    def left(self, part: str, numbers: Sequence[int]) -> list[int]:
        """Return the numbers of a part whose trials have not been made."""
        made = {int(trial.seed.rpartition(".")[2]) for trial in self.trials if trial.part == part}
        return [number for number in numbers if number not in made]

    def spread(self, work: Callable[[int], list[Trial]], numbers: Sequence[int], title: str) -> None:
        """Make the trials of each number in several forks; a mistake in the trials themselves is raised here."""
        global _work
        _work, began = work, time.monotonic()
        # Forked at the first task, while this process has one thread.
        with ProcessPoolExecutor(self.jobs, get_context("fork")) as pool:
            for trials in pool.map(_called, numbers):
                self.trials += trials
                if self.path is not None:
                    with self.path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps([trial.to_json() for trial in trials]) + "\n")
        print(f"{title}: ended after {time.monotonic() - began:.0f} s", file=sys.stderr)  # noqa: T201


def _digest_of_sources() -> str:
    """Return a digest of the packages and of the trials themselves."""
    root, digest = Path(__file__).resolve().parents[2], sha256()
    for package in ("symmetry", "tablut", "counting", "retrograde", "reports", "tests/faults"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


_work: Callable[[int], list[Trial]]


def _called(number: int) -> list[Trial]:
    return _work(number)


def here(args: Sequence[str], folder: Path) -> int:
    """Run a command in this process, so that all forks have what it loads and compiles; return its exit code."""
    from tablut.cli.shell import run as run_here

    before, files = Path.cwd(), [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as out:
        sys.stdout.flush()
        sys.stderr.flush()
        os.chdir(folder)
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        try:
            return run_here(args)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(files[0], 1)
            os.dup2(files[1], 2)
            os.close(files[0])
            os.close(files[1])
            os.chdir(before)
