"""Coarse tasks: in threads of this process by default, or on the workers of a running Dask cluster.

Dask is needed for a cluster only; the extra ``cluster`` installs it.

A cluster is trusted like this machine: its workers run what they are sent, and their
answers are unpickled here. Data passes between tasks as files in the store, so a cluster's
workers must see the same folder under the same name.
"""

from __future__ import annotations

import logging
import re
import socket
import threading
import weakref
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from tablut.errors import InputError, MachineError, TablutError
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Task = TypeVar("Task")

_PATIENCE: Final = 5
"""Seconds in which a scheduler must answer."""
_ADDRESS: Final = re.compile(r"(?:tcp://)?(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_LENGTH: Final = 8
_GREETING: Final = 1 << 16
"""Bytes of a scheduler's first message, at most."""


class Scheduler(Protocol):
    """Something that runs the same function on many tasks."""

    workers: int
    """Tasks at once, altogether."""
    sharing: int
    """Tasks at once that share the memory of one process."""

    def run(
        self, function: Callable[[Task], dict[str, Any]], tasks: Sequence[Task], done: Callable[[dict[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """Run a function on every task and return the answers."""


class LocalScheduler:
    """Threads of this process; kernels release the GIL.

    The main thread only waits, because a kernel does not look at signals. When it is
    interrupted, or a task fails, tasks that run are abandoned, and no further one begins.
    """

    def __init__(self, threads: int) -> None:
        self.workers = self.sharing = threads
        self._pool: ThreadPoolExecutor | None = None

    def run(
        self, function: Callable[[Task], dict[str, Any]], tasks: Sequence[Task], done: Callable[[dict[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """Run a function on every task and return the answers; see `Scheduler.run`."""
        stopping = threading.Event()

        def _reported(task: Task) -> dict[str, Any]:
            if stopping.is_set():
                return {}  # nobody reads it
            try:
                answer = function(task)
                done(answer)
            except BaseException:
                stopping.set()
                raise
            return answer

        pool = self._threads()
        try:
            futures = [pool.submit(_reported, task) for task in tasks]
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, timeout=0.2, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
            return [future.result() for future in futures]
        except BaseException:
            stopping.set()
            # Another run must not wait for what is abandoned.
            pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
            raise

    def _threads(self) -> ThreadPoolExecutor:
        """Return the threads, which stay for the next run, with the memory that they hold."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.workers)
            weakref.finalize(self, self._pool.shutdown, wait=False)
        return self._pool


class ClusterScheduler:
    """A running Dask cluster."""

    def __init__(self, client: Any, distributed: Any) -> None:
        self.client, self.distributed = client, distributed
        threads = client.nthreads().values()
        self.workers, self.sharing = sum(threads), max(threads)

    def run(
        self, function: Callable[[Task], dict[str, Any]], tasks: Sequence[Task], done: Callable[[dict[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """Run a function on every task and return the answers; see `Scheduler.run`."""
        futures = self.client.map(function, list(tasks), pure=False)
        try:
            for future in self.distributed.as_completed(futures):
                done(future.result())
            answers: list[dict[str, Any]] = self.client.gather(futures)
        except TablutError:
            raise
        except self.distributed.KilledWorker as error:
            raise MachineError(
                "--scheduler: a task ended several workers, for want of memory perhaps; what is done is kept: "
                "lower --memory, which is that of one worker, and go on"
            ) from error
        except (self.distributed.comm.CommClosedError, FutureCancelledError) as error:
            raise MachineError(
                f"--scheduler: the cluster has gone ({_first_line(error)}); what is done is kept: go on with another"
            ) from error
        return answers


@contextmanager
def open_scheduler(threads: int, address: str | None) -> Iterator[Scheduler]:
    """Open the local scheduler, or that of a cluster by its address."""
    if address is None:
        yield LocalScheduler(threads)
        return
    shown = f"--scheduler {excerpt(address)}"
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise InputError(f"{shown}: is not an address of a Dask scheduler; expected one like tcp://127.0.0.1:8786")
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise InputError(
            "--scheduler: needs the package 'distributed'; install it with: pip install 'tablut[cluster]'"
        ) from error
    with _silent():
        try:
            _check_greeting(found["host"].strip("[]"), int(found["port"]))
            # It has greeted; a machine whose disk is slow may still be loading the package.
            client = distributed.Client(address, timeout=12 * _PATIENCE)
        except Exception as error:
            # No answer, or that of another program: the package raises errors of many kinds.
            raise MachineError(f"{shown}: no scheduler answers there: {_first_line(error)}") from error
    with client:
        if not client.nthreads():
            raise MachineError(f"{shown}: the scheduler has no workers; start some with `dask worker`")
        yield ClusterScheduler(client, distributed)


def _check_greeting(host: str, port: int) -> None:
    """Refuse an address at which no scheduler answers.

    A scheduler speaks first: eight bytes with the length of what follows, some hundred. The
    package would wait long for a silent program, and take any number for that length.
    """
    with socket.create_connection((host, port), timeout=_PATIENCE) as connection:
        said = b""
        while len(said) < _LENGTH and (more := connection.recv(_LENGTH - len(said))):
            said += more
    if len(said) < _LENGTH or int.from_bytes(said, "little") > _GREETING:
        raise ConnectionError(f"it does not greet as a scheduler does ({said.hex() or 'nothing'})")


@contextmanager
def _silent() -> Iterator[None]:
    """Silence the package's log about a failed connection: one line of ours replaces it."""
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
