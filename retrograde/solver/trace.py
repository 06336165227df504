"""What each task of a build took: an account that a build keeps if it is asked to.

A task is a tier that is built whole, a pass over a slice, or what the process that leads the build does itself with
a tier in slices: its plan, and the packing at the end. The study `scale` makes a model of the build from it.

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
from tablut.errors import InputError
from tablut.results import Result
from tablut.running.clocks import cpu_clock, thread_clock
from tablut.running.machine import peak_memory
from tablut.store.files import excerpt, read_bytes, write_text
from tablut.store.records import Count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tablut.variants import Variant

PLAN: Final = "plan"
PASS: Final = "pass"
STORE: Final = "store"
WHOLE: Final = "whole"
_MOST_BYTES: Final = 256 << 20
_STATISTICS: Final = Path("/proc/thread-self/schedstat")
"""Where Linux says how long a thread has run, and how long it has waited for a processor, in nanoseconds."""

Seconds = Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)]


class TaskTrace(Result):
    """A task of a build."""

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
    """All tasks of a build, in the order in which they began."""

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
    """Measures one task, from when it is made."""

    def __init__(self, *, whole: bool = False) -> None:
        self._clock = cpu_clock if whole else thread_clock
        self._began, self._cpu, self._waited = time.time(), self._clock(), _waited()

    def read(self) -> dict[str, Any]:
        """Return what was measured so far."""
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
    """Collects what the tasks of a build took."""

    def __init__(self, variant: Variant, men: int, memory: int) -> None:
        self._variant, self._men, self._memory = variant, men, memory
        self._began = time.time()
        self._found: list[dict[str, Any]] = []
        self._workers: dict[str, int] = {}
        self.slots = 1

    def note(self, tier: str, kind: str, measured: Mapping[str, Any], **more: int) -> None:
        """Note a task that is done."""
        worker = self._workers.setdefault(measured["worker"], len(self._workers))
        times = {name: round(max(measured[name] - self._began, 0.0), 6) for name in ("began", "ended")}
        spent = {name: None if measured[name] is None else round(measured[name], 6) for name in ("cpu", "waited")}
        found = {"tier": tier, "kind": kind, "worker": worker, "peak": measured["peak"], **times, **spent, **more}
        self._found.append(found)

    def trace(self) -> Trace:
        """Return the account of the build, which ends now."""
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
    """Write a trace as JSON, whole or not at all."""
    write_text(target, trace.model_dump_json(exclude_defaults=True) + "\n", hint="; choose another file with --trace")


def read_trace(path: Path) -> Trace:
    """Return a trace that `write_trace` wrote."""
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
