"""Running a long computation's tasks on this machine or on the workers of a Dask cluster.

A task that writes a part (`PartTask`) is skipped if the part exists and has the same owner, so killed work can be
resumed. Damaged parts are reported and written again (`Mending`). A cluster must be as trustworthy as this machine: its
workers run any code that they are sent, and their results are unpickled here. Tasks exchange data as files in the
store, which must have the same path for all workers.
"""

from __future__ import annotations

import logging
import re
import signal
import socket
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from tablut.errors import THREADS, InputError, MachineError, TablutError
from tablut.work.clocks import thread_clock
from tablut.work.files import excerpt
from tablut.work.ledger import drop_files
from tablut.work.sealed_records import DamagedError

if TYPE_CHECKING:
    from tablut.work.parts import Owner, PartFile

Task = TypeVar("Task")
Answer = TypeVar("Answer")

_PATIENCE: Final = 5
"""Maximum response time of a scheduler in seconds."""
_ADDRESS: Final = re.compile(r"(?:tcp://)?(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_LENGTH: Final = 8
_GREETING: Final = 1 << 16
"""Maximum length of a scheduler's first message in bytes."""


class Scheduler:
    """Base class of schedulers, which run a function on many tasks in parallel."""

    workers: int
    """Number of tasks that run at the same time."""
    sharing: int
    """Number of tasks that run at the same time in one process and share its memory."""

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task], done: Callable[[Answer], None]
    ) -> list[Answer]:
        """Run a function on every task, pass each result to ``done``, and return the results in task order."""
        answers: dict[int, Answer] = {}
        left = iter(tasks)

        def kept(number: int, answer: Answer) -> None:
            done(answer)
            answers[number] = answer

        self._fed(function, lambda: next(left, None), kept)
        return [answers[number] for number in range(len(tasks))]

    def feed(
        self,
        function: Callable[[Task], Answer],
        draw: Callable[[], Task | None],
        done: Callable[[Answer], None],
    ) -> None:
        """Run a function on tasks that ``draw`` supplies, until it returns None and all tasks have ended.

        Each result is passed to ``done``, so that ``draw`` can choose the next task depending on the results so far.
        """
        self._fed(function, draw, lambda _, answer: done(answer))

    def _fed(
        self, function: Callable[[Task], Answer], draw: Callable[[], Task | None], done: Callable[..., None]
    ) -> None:
        """Keep all workers busy. Call ``done`` with the number and the result of each task, in the caller's thread."""
        running: dict[Any, int] = {}
        drawn = 0
        with self._guarded():
            while True:
                while len(running) < self.workers and (task := draw()) is not None:
                    running[self._submit(function, task)] = drawn
                    drawn += 1
                if not running:
                    return
                for future in self._first(set(running)):
                    done(running.pop(future), future.result())

    def _submit(self, function: Callable[[Task], Answer], task: Task) -> Any:
        raise NotImplementedError

    def _first(self, running: set[Any]) -> Any:
        """Wait a short while for running tasks, and return those that have ended."""
        raise NotImplementedError

    def _guarded(self) -> Any:
        """Return a context manager that cleans up if a run fails."""
        raise NotImplementedError


class LocalScheduler(Scheduler):
    """Scheduler that runs tasks on this machine: kernels in threads, and plain Python in processes.

    The main thread only waits, because a kernel does not react to signals. After an interruption or a failure, running
    tasks are abandoned and no further tasks begin.
    """

    def __init__(self, threads: int, *, processes: bool = False) -> None:
        self.workers = self.sharing = THREADS("threads", threads)
        self._processes = processes
        self._pool: Executor | None = None

    def _submit(self, function: Callable[[Task], Answer], task: Task) -> Any:
        """Start a task. The pool is kept for the next run, together with the memory that its threads have allocated."""
        if self._pool is None:
            spawn = get_context("spawn")
            self._pool = (
                ProcessPoolExecutor(self.workers, spawn) if self._processes else ThreadPoolExecutor(self.workers)
            )
            weakref.finalize(self, self._pool.shutdown, wait=self._processes)
        return self._pool.submit(function, task)

    def _first(self, running: set[Any]) -> Any:
        return wait(running, timeout=0.2, return_when=FIRST_COMPLETED).done

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            # The pool is discarded, so that the next run does not wait for abandoned tasks.
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
            raise


class ClusterScheduler(Scheduler):
    """Scheduler that runs tasks on the workers of a running Dask cluster."""

    def __init__(self, client: Any, distributed: Any) -> None:
        self.client, self.distributed = client, distributed
        threads = client.nthreads().values()
        self.workers, self.sharing = sum(threads), max(threads)

    def _submit(self, function: Callable[[Task], Answer], task: Task) -> Any:
        return self.client.submit(function, task, pure=False)

    def _first(self, running: set[Any]) -> Any:
        return self.distributed.wait(running, return_when="FIRST_COMPLETED").done

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except TablutError:
            raise
        except self.distributed.KilledWorker as error:
            raise MachineError(
                "a task crashed several workers, perhaps because they ran out of memory; finished work is kept",
                parameter="scheduler",
                remedy="lower `memory` (the limit of one worker) and continue",
            ) from error
        except (self.distributed.comm.CommClosedError, FutureCancelledError) as error:
            raise MachineError(
                f"the connection to the cluster was lost ({_first_line(error)})",
                parameter="scheduler",
                remedy="finished work is kept: continue with another cluster",
            ) from error


@contextmanager
def open_scheduler(threads: int, address: str | Scheduler | None) -> Iterator[Scheduler]:
    """Yield a local scheduler, a cluster's scheduler at an address, or a given open scheduler."""
    if not isinstance(address, str):
        yield address or LocalScheduler(threads)
        return
    shown = {"parameter": "scheduler", "value": excerpt(address)}
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise InputError("is not an address of a Dask scheduler; expected one like tcp://127.0.0.1:8786", **shown)
    if not 0 < int(found["port"]) < 1 << 16:
        raise InputError(f"port {found['port']}: expected 1 to 65535", **shown)
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise InputError(
            "needs the package 'distributed'",
            parameter="scheduler",
            remedy="install it with: pip install 'tablut[cluster]'",
        ) from error
    with _silent():
        try:
            _check_greeting(found["host"].strip("[]"), int(found["port"]))
            # The timeout is generous, because a scheduler that has sent its first message may still be loading from a
            # slow disk.
            client = distributed.Client(address, timeout=12 * _PATIENCE)
        except Exception as error:
            # If no program responds, or if the program that responds is not a scheduler, `distributed` raises errors of
            # many kinds.
            raise MachineError(f"no scheduler responds: {_first_line(error)}", **shown) from error
    with client:
        if not client.nthreads():
            raise MachineError("the scheduler has no workers", **shown, remedy="start some with `dask worker`")
        yield ClusterScheduler(client, distributed)


def _check_greeting(host: str, port: int) -> None:
    """Raise an error if no scheduler responds at an address.

    Without this check, `distributed` would wait a long time for a program that sends nothing.
    """
    with socket.create_connection((host, port), timeout=_PATIENCE) as connection:
        said = b""
        while len(said) < _LENGTH and (more := connection.recv(_LENGTH - len(said))):
            said += more
    if len(said) < _LENGTH or int.from_bytes(said, "little") > _GREETING:
        raise ConnectionError(f"its first message does not come from a scheduler ({said.hex() or 'nothing'})")


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress the log messages of `distributed` about a failed connection. A one-line error replaces the messages."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return excerpt(text.splitlines()[0], 160)


@contextmanager
def ending_orderly() -> Iterator[None]:
    """Convert signals that end the process to `SystemExit` within the context, so that temporary files are removed.

    Only programs should use this function.
    """

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    kinds = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Keep handlers that the calling program has installed. Outside the main thread, no handler can be set.
    kinds = [kind for kind in kinds if signal.getsignal(kind) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        kinds = []
    for kind in kinds:
        signal.signal(kind, leave)
    try:
        yield
    finally:
        for kind in kinds:
            signal.signal(kind, signal.SIG_DFL)


# -- tasks that write parts ----------------------------------------------------------------


class PartTask(ABC):
    """A task that writes one part, whose path and owner are known beforehand."""

    target: Path
    owner: Owner

    @abstractmethod
    def opened(self) -> PartFile[Any]:
        """Open the part."""

    @abstractmethod
    def make(self, began: float) -> PartFile[Any]:
        """Write the part. ``began`` is the thread clock's reading when the task started."""


def run_parts(
    scheduler: Scheduler,
    tasks: Sequence[PartTask],
    tell: Callable[[str], object],
    done: Callable[[PartResult], object],
) -> list[PartResult]:
    """Run tasks, report damage, and call ``done`` with each result."""

    def on_result(result: PartResult) -> None:
        if result.damage:
            tell(result.damage)
        done(result)

    return scheduler.run(run_part, tasks, on_result) if tasks else []


def made_part(task: PartTask) -> PartFile[Any] | None:
    """Return a task's part, or None if it has not been written. Raise `DamagedError` if the part is damaged."""
    if not task.target.exists() and not task.target.is_symlink():
        return None
    part = task.opened()
    return part if part.header.owner == task.owner else None


class PartResult(NamedTuple):
    """Description of a task's part: its owner's number, its length in bytes, and its processor time in seconds.

    ``now`` is false if the part already existed. ``damage`` describes the damage of an earlier part, if there was any.
    """

    number: int
    digest: str
    length: int
    stats: Any
    cpu: float
    now: bool
    damage: str


def run_part(task: PartTask) -> PartResult:
    """Run a task unless its part already exists; return a description of the part."""
    began, damage, part = thread_clock(), "", None
    try:
        part = made_part(task)
    except DamagedError as error:
        damage = str(error)
        drop_files([task.target])
    now = part is None
    if part is None:
        part = task.make(began)
    return PartResult(task.owner.number, part.digest, part.length, part.header.stats, part.cpu, now, damage)


_TRIES: Final = 3
"""Maximum number of repairs without progress. After that, the disk is considered faulty."""


class Mending:
    """Policy for damaged files: each one is reported and removed, so that the caller can write it again."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell, self._failures, self._furthest = tell, 0, -1

    @contextmanager
    def attempt(self, step: int, resume: Callable[[], object]) -> Iterator[None]:
        """Handle damage that is found during a step of the work, which runs within the context.

        Then ``resume`` is called to find out which files still exist, and the caller writes the missing ones.
        """
        try:
            yield
        except DamagedError as error:
            self.remove(error)
            resume()
        else:
            if step > self._furthest:
                self._furthest, self._failures = step, 0

    def remove(self, error: DamagedError, *, found: bool = False) -> None:
        """Report and remove a damaged file. Raise the error if no task can write it again, or after too many repairs.

        If ``found`` is true, the damage was found while looking for existing files, which does not count as a repair.
        """
        if error.path is None:
            raise error
        self._failures += not found
        if self._failures > _TRIES:
            again = f"check the disk: this happened {self._failures} times"
            raise DamagedError(error.problem, subject=error.subject, remedy=again) from error
        self._tell(str(error))
        drop_files([error.path])
