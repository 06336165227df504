"""Coarse tasks through Dask: in this process by default, or on the workers of a running cluster.

Data passes between tasks as files in the store, so a cluster's workers must see the same
folder under the same name.
"""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tablut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["ClusterScheduler", "LocalScheduler", "Scheduler", "open_scheduler"]

Task = TypeVar("Task")


class Scheduler(Protocol):
    """Something that runs the same function on many tasks."""

    workers: int
    """Tasks at once, altogether."""
    sharing: int
    """Tasks at once that share the memory of one process."""

    def run(
        self, function: Callable[[Task], dict[str, Any]], tasks: Sequence[Task], done: Callable[[dict[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """Return the answers in the order of the tasks; ``done`` is told each when it is there, in any order."""


class _Background:
    """One thread that works while the main thread listens: a kernel does not look at signals."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        threading.Thread(target=_serve, args=(self._queue,), daemon=True).start()
        # The thread, and the memory that it holds, goes with the last that knows of it.
        weakref.finalize(self, self._queue.put, None)

    def run(self, work: Callable[[], Any]) -> Any:
        """Return what the work returns, or raise what it raises; an interrupt is heard at once."""
        answer: Future[Any] = Future()
        self._queue.put((work, answer))
        while not answer.done():
            wait([answer], timeout=0.2)
        return answer.result()


def _serve(queue: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None]) -> None:
    while (item := queue.get()) is not None:
        work, answer = item
        try:
            answer.set_result(work())
        except BaseException as error:
            # Raised again where the answer is waited for.
            answer.set_exception(error)
        del item, work, answer


class LocalScheduler:
    """Dask's synchronous or threaded scheduler in this process; kernels release the GIL.

    When the caller is interrupted, tasks that run are abandoned, and no further one begins.
    """

    def __init__(self, threads: int) -> None:
        self.workers = self.sharing = threads
        self._background: _Background | None = None

    def run(
        self, function: Callable[[Task], dict[str, Any]], tasks: Sequence[Task], done: Callable[[dict[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """See `Scheduler`."""
        dask: Any = import_module("dask")  # it has no types of its own
        stopping = threading.Event()

        def reported(task: Task) -> dict[str, Any]:
            if stopping.is_set():
                raise InterruptedError("the caller was interrupted")
            answer = function(task)
            done(answer)
            return answer

        # Bound beforehand: Dask would look for collections inside an argument.
        graph = [dask.delayed(partial(reported, task), pure=False)() for task in tasks]
        kind = "threads" if self.workers > 1 else "synchronous"
        if self._background is None:
            self._background = _Background()
        try:
            work = partial(dask.compute, *graph, scheduler=kind, num_workers=self.workers)
            return list(self._background.run(work))
        except BaseException:
            stopping.set()
            # Another run must not wait for what is abandoned.
            self._background = None
            raise


class ClusterScheduler:
    """A running Dask cluster."""

    def __init__(self, client: Any, distributed: Any) -> None:
        self.client, self.distributed = client, distributed
        threads = client.nthreads().values()
        self.workers, self.sharing = sum(threads), max(threads)

    def run(
        self, function: Callable[[Task], dict[str, Any]], tasks: Sequence[Task], done: Callable[[dict[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """See `Scheduler`."""
        futures = self.client.map(function, list(tasks), pure=False)
        try:
            for future in self.distributed.as_completed(futures):
                done(future.result())
            answers: list[dict[str, Any]] = self.client.gather(futures)
        except self.distributed.KilledWorker as error:
            raise InputError(
                "--scheduler: a task ended several workers, for want of memory perhaps; what is done is kept: "
                "lower --memory, which is that of one worker, and go on"
            ) from error
        return answers


@contextmanager
def open_scheduler(threads: int, address: str | None) -> Iterator[Scheduler]:
    """Return the local scheduler, or a cluster's by its address.

    Raises
    ------
    InputError
        If the package for clusters is missing, or nobody answers at the address.
    """
    if address is None:
        yield LocalScheduler(threads)
        return
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise InputError(
            "--scheduler: needs the package 'distributed'; install it with: pip install 'tablut[cluster]'"
        ) from error
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {address!r}: no scheduler answers there: {error}") from error
    with client:
        if not client.nthreads():
            raise InputError(f"--scheduler {address!r}: the scheduler has no workers; start some with `dask worker`")
        yield ClusterScheduler(client, distributed)
