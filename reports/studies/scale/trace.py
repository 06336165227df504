"""Measurement of each task in a build, by a scheduler and an observer that the build uses.

A task is building a whole tier, a pass over a slice, or the leading process's work for a tier in slices. This work is
planning before the first pass, or packing at the end.

Times from different processes are comparable only if their machines' clocks agree.
"""

from __future__ import annotations

import json
import os
import threading
import time
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrograde.solver.build import TierTask, build_tier
from retrograde.tablebase.store import tier_name
from tablut import __version__
from tablut.work.clocks import cpu_clock, thread_clock
from tablut.work.files import FileKind, beginning, write_text
from tablut.work.machine import peak_memory
from tablut.work.progress import Observer
from tablut.work.run import Answer, PartResult, Scheduler, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tablut.variants import Variant

TRACE: Final = FileKind("a trace of a build", beginning(rb'\{"format": \d+, "version": "[^"]*", "variant": '))

PLAN: Final = "plan"
PASS: Final = "pass"
STORE: Final = "store"
WHOLE: Final = "whole"
_STATISTICS: Final = Path("/proc/thread-self/schedstat")
"""File where Linux reports how long a thread has run and how long it has waited for a processor, in nanoseconds."""


class Meter:
    """Meter of a task's time and memory. It starts when it is created."""

    def __init__(self, *, whole: bool = False) -> None:
        self._clock = cpu_clock if whole else thread_clock
        self._began, self._cpu, self._waited = time.time(), self._clock(), _waited()

    def read(self) -> dict[str, Any]:
        """Return the measurements so far."""
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
    """Return the seconds that this thread spent ready to run but not running, or None if unknown."""
    try:
        return int(_STATISTICS.read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def metered(function: Callable[[Task], Answer], task: Task) -> tuple[Answer, dict[str, Any]]:
    """Run a task in its process, and measure it."""
    meter = Meter(whole=isinstance(task, TierTask))
    return function(task), meter.read()


class Tracer(Scheduler, Observer):
    """Scheduler and observer for a build that collects the tasks' measurements."""

    def __init__(self, variant: Variant, men: int, memory: int, scheduler: Scheduler) -> None:
        self._variant, self._men, self._memory, self._scheduler = variant, men, memory, scheduler
        self.workers, self.sharing = scheduler.workers, scheduler.sharing
        self._began = time.time()
        self._found: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}
        self._sliced = False
        self._after_tier = self._after_note = Meter(whole=True)

    # -- work of the leading process -----------------------------------------------------

    def begin(self, step: str, total: int | None = None) -> None:  # noqa: ARG002
        """Start timing the planning of a tier."""
        self._sliced, self._after_tier = False, Meter(whole=True)

    def note(self, text: str) -> None:  # noqa: ARG002
        """Start a timer for packing a tier.

        A later note restarts the timer, so only the time after the tier's last note is recorded.
        """
        self._after_note = Meter(whole=True)

    def advance(self, count: int = 1) -> None:
        """Record the packing of a tier that was built in slices, and start measuring the next tier."""
        if self._sliced:
            self._add(self._found[-1]["tier"], STORE, self._after_note.read())
        self.begin("", count)

    # -- tasks ----------------------------------------------------------------------------

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task], done: Callable[[Answer], None]
    ) -> list[Answer]:
        """Run a function on every task, and measure the tasks."""
        if function is not build_tier and not self._sliced:
            self._sliced = True
            self._add(tier_name(tasks[0].material), PLAN, self._after_tier.read())  # type: ignore[attr-defined]
        answers = self._scheduler.run(partial(metered, function), tasks, lambda answer: done(answer[0]))
        for answer, measured in answers:
            if isinstance(answer, dict):
                self._add(answer["tier"], WHOLE, measured)
            elif isinstance(answer, PartResult) and answer.now:  # otherwise the pass's file already existed
                same = {name: getattr(answer.stats, name) for name in ("entries", "window", "read")}
                same |= {"number": answer.number, "written": answer.length}
                step = tasks[0].owner.step  # type: ignore[attr-defined]
                self._add(self._found[-1]["tier"], PASS, measured, step=step, **same)
        return [answer for answer, _ in answers]

    def _add(self, tier: str, kind: str, measured: Mapping[str, Any], **more: int) -> None:
        worker = self._numbers.setdefault(measured["worker"], len(self._numbers))
        times = {name: round(max(measured[name] - self._began, 0.0), 6) for name in ("began", "ended")}
        spent = {name: None if measured[name] is None else round(measured[name], 6) for name in ("cpu", "waited")}
        found = {"tier": tier, "kind": kind, "worker": worker, "peak": measured["peak"], **times, **spent, **more}
        self._found.append(found)

    def trace(self) -> dict[str, Any]:
        """Return the finished build's trace, with the tasks in order of their start."""
        tasks = sorted(self._found, key=lambda task: float(task["began"]))
        last = max((task["ended"] for task in tasks), default=0.0)
        return {
            "format": 1,
            "version": __version__,
            "variant": self._variant.name,
            "game": self._variant.digest,
            "men": self._men,
            "memory": self._memory,
            "workers": self.workers,
            "cores": _cores(),
            # Other machines' clocks may be ahead, so a task can seem to end after the build.
            "seconds": max(round(time.time() - self._began, 6), last),
            "tasks": tasks,
        }


def _cores() -> int:
    """Return the number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def write_trace(target: Path, trace: Mapping[str, Any]) -> None:
    """Write a trace as JSON, atomically."""
    write_text(target, json.dumps(trace) + "\n", remedy="choose another file with --out", kind=TRACE)
