"""Coarse tasks through Dask: in this process by default, or on the workers of a running cluster.

Data passes between tasks as files in the store, so a cluster's workers must see the same
folder under the same name.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from importlib import import_module
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


class LocalScheduler:
    """Dask's synchronous or threaded scheduler in this process; kernels release the GIL."""

    def __init__(self, threads: int) -> None:
        self.workers = self.sharing = threads

    def run(
        self, function: Callable[[Task], dict[str, Any]], tasks: Sequence[Task], done: Callable[[dict[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """See `Scheduler`."""
        dask: Any = import_module("dask")  # it has no types of its own

        def reported(task: Task) -> dict[str, Any]:
            answer = function(task)
            done(answer)
            return answer

        # Bound beforehand: Dask would look for collections inside an argument.
        graph = [dask.delayed(partial(reported, task), pure=False)() for task in tasks]
        kind = "threads" if self.workers > 1 else "synchronous"
        return list(dask.compute(*graph, scheduler=kind, num_workers=self.workers))


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
