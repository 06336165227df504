"""What each task of a build took: an account that a build keeps if it is asked to.

A task is a tier that is built whole, a pass over a slice, or what the process that leads the build does itself with
a tier in slices: its plan, and the packing at the end. `retrograde.scale` makes a model of the build from it.

Times of one build can be compared between processes as far as their machines' clocks agree.
"""

from __future__ import annotations

import os
import threading
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, ValidationError, model_validator

from tablut import __version__
from tablut.compilation import cpu_clock, thread_clock
from tablut.errors import InputError
from tablut.files import excerpt, read_bytes, write_text
from tablut.machine import peak_memory
from tablut.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tablut.variants import Variant

__all__ = ["PASS", "PLAN", "STORE", "WHOLE", "Meter", "TaskTrace", "Trace", "Tracer", "read_trace", "write_trace"]

PLAN: Final = "plan"
PASS: Final = "pass"
STORE: Final = "store"
WHOLE: Final = "whole"
_MOST_BYTES: Final = 256 << 20
_STATISTICS: Final = Path("/proc/thread-self/schedstat")
"""Where Linux says how long a thread has run, and how long it has waited for a processor, in nanoseconds."""

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Seconds = Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)]


class TaskTrace(Result):
    """A task of a build.

    Attributes
    ----------
    tier : str
        Its name, such as ``4v2``.
    kind : str
        ``whole`` (a tier in memory), ``pass`` (over a slice), ``plan`` or ``store`` (of a tier in slices).
    step, number : int
        Of a pass: which one, and over which slice.
    entries, window : int
        Of a pass: the slice's entries of either side, and those of black's that the task sees.
    began, ended : float
        Seconds of the clock on the wall since the build began.
    cpu : float
        Processor seconds.
    waited : float, optional
        Seconds in which the task was ready and other programs had the processor; None where the system does not say.
    read, written : int
        Of a pass: bytes of the files of slices.
    worker : int
        Which thread of which process it ran in, numbered as they first answered.
    peak : int, optional
        Most memory that the process had taken until then, in bytes.
    """

    tier: Annotated[str, Field(pattern=r"^\d{1,3}v\d{1,3}$")]
    kind: Literal["plan", "pass", "store", "whole"]
    step: Count = 0
    number: Count = 0
    entries: Count = 0
    window: Count = 0
    began: Seconds
    ended: Seconds
    cpu: Seconds
    waited: Seconds | None
    read: Count = 0
    written: Count = 0
    worker: Count
    peak: Count | None

    @property
    def material(self) -> tuple[int, int]:
        """Attackers and defenders."""
        attackers, _, defenders = self.tier.partition("v")
        return int(attackers), int(defenders)

    @property
    def seconds(self) -> float:
        """How long it took by the clock on the wall."""
        return self.ended - self.began


class Trace(Result):
    """All tasks of a build, in the order in which they began.

    Attributes
    ----------
    variant, game : str
        Its rule set and the digest of its rules.
    men : int
        Most men, the king counted.
    memory : int
        Bytes that a process was allowed.
    workers : int
        Tasks at once.
    cores : int
        Processors of the machine that led the build.
    seconds : float
        The whole build by the clock on the wall.
    """

    format: Literal[1] = 1
    version: Annotated[str, Field(max_length=80)]
    variant: Annotated[str, Field(max_length=200)]
    game: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    men: Annotated[int, Field(ge=2, le=121)]
    memory: Count
    workers: Annotated[int, Field(ge=1, lt=1 << 20)]
    cores: Annotated[int, Field(ge=1, lt=1 << 20)]
    seconds: Seconds
    tasks: tuple[TaskTrace, ...]

    @model_validator(mode="after")
    def _is_of_one_build(self) -> Trace:
        if any(task.ended < task.began for task in self.tasks):
            raise ValueError("a task ends before it begins")
        if any(task.began < before.began for before, task in zip(self.tasks, self.tasks[1:], strict=False)):
            raise ValueError("the tasks are not in their order")
        if any(task.ended > self.seconds for task in self.tasks):
            raise ValueError("a task ends after the build")
        return self


class Meter:
    """Measures one task, from when it is made.

    Parameters
    ----------
    whole : bool
        Whether the task has its process to itself, and may use several threads.

    Examples
    --------
    >>> found = Meter().read()
    >>> sorted(found)
    ['began', 'cpu', 'ended', 'peak', 'waited', 'worker']
    >>> found["began"] <= found["ended"]
    True
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._clock = cpu_clock if whole else thread_clock
        self._began, self._cpu, self._waited = time.time(), self._clock(), _waited()

    def read(self) -> dict[str, Any]:
        """Return what was measured so far.

        Returns
        -------
        dict
            ``began`` and ``ended`` by the system's clock, ``cpu``, ``waited``, ``worker`` (a name) and ``peak``.
        """
        waited = _waited()
        return {
            "began": self._began,
            "ended": max(time.time(), self._began),
            "cpu": max(self._clock() - self._cpu, 0.0),
            "waited": None if waited is None or self._waited is None else max(waited - self._waited, 0.0),
            "worker": f"{_machine()}:{os.getpid()}:{threading.get_ident()}",
            "peak": peak_memory(),
        }


@cache
def _machine() -> str:
    import platform

    return platform.node()


def _waited() -> float | None:
    """Return how long this thread was ready to run and did not, in seconds."""
    try:
        return int(_STATISTICS.read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


class Tracer:
    """Collects what the tasks of a build took.

    Parameters
    ----------
    variant : Variant
        Its rule set.
    men : int
        Most men, the king counted.
    memory : int
        Bytes that a process is allowed.

    Attributes
    ----------
    slots : int
        How many tasks can run at once; the build says it.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> tracer = Tracer(load_variant("brandubh"), 3, 1 << 20)
    >>> tracer.note("1v0", "whole", Meter().read())
    >>> trace = tracer.trace()
    >>> [(task.tier, task.kind, task.worker) for task in trace.tasks], trace.seconds >= trace.tasks[0].ended
    ([('1v0', 'whole', 0)], True)
    """

    def __init__(self, variant: Variant, men: int, memory: int) -> None:
        self._variant, self._men, self._memory = variant, men, memory
        self._began = time.time()
        self._found: list[dict[str, Any]] = []
        self._workers: dict[str, int] = {}
        self.slots = 1

    def note(self, tier: str, kind: str, measured: Mapping[str, Any], **more: int) -> None:
        """Note a task that is done.

        Parameters
        ----------
        tier, kind : str
            As in `TaskTrace`.
        measured : mapping
            What `Meter.read` gave.
        **more : int
            Other fields of `TaskTrace`.
        """
        worker = self._workers.setdefault(measured["worker"], len(self._workers))
        times = {name: round(max(measured[name] - self._began, 0.0), 6) for name in ("began", "ended")}
        spent = {name: None if measured[name] is None else round(measured[name], 6) for name in ("cpu", "waited")}
        found = {"tier": tier, "kind": kind, "worker": worker, "peak": measured["peak"], **times, **spent, **more}
        self._found.append(found)

    def trace(self) -> Trace:
        """Return the account of the build, which ends now.

        Returns
        -------
        Trace
            All tasks, in the order in which they began.
        """
        tasks = tuple(sorted((TaskTrace(**found) for found in self._found), key=lambda task: task.began))
        last = max((task.ended for task in tasks), default=0.0)
        return Trace(
            version=__version__,
            variant=self._variant.name,
            game=self._variant.digest,
            men=self._men,
            memory=self._memory,
            workers=self.slots,
            cores=_cores(),
            # The clocks of other machines may be ahead.
            seconds=max(round(time.time() - self._began, 6), last),
            tasks=tasks,
        )


def _cores() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def write_trace(target: Path, trace: Trace) -> None:
    """Write a trace as JSON, whole or not at all.

    Parameters
    ----------
    target : Path
        The file; what stands there is replaced.
    trace : Trace
        The trace.

    Raises
    ------
    OutputError, MachineError
        If it cannot be written.
    """
    write_text(target, trace.model_dump_json(exclude_defaults=True) + "\n", hint="; choose another file with --trace")


def read_trace(path: Path) -> Trace:
    """Return a trace that `write_trace` wrote.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Trace
        Every field of it checked.

    Raises
    ------
    InputError
        If there is no such file, or it holds something else.
    """
    content = read_bytes(path, "trace", _MOST_BYTES)
    try:
        return Trace.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        what = excerpt(f"{place}: {first['msg']}", 160)
        raise InputError(
            f"trace {excerpt(str(path))}: {what}; make it again with: tablut tablebase build --trace FILE"
        ) from error
