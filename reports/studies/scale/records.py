"""The measurements behind the model, stored by `measuring` and read by `page`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from reports.studies.scale.trace import PASS, PLAN, STORE
from retrograde.solver.passes import MOVES, QUICK_WINS
from tablut.errors import InputError
from tablut.results import Result
from tablut.work.files import excerpt, read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from retrograde.tablebase.store import Store

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Seconds = Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^\d{1,3}v\d{1,3}$")]


class TaskTrace(Result):
    """The measurements for one task in a build."""

    tier: Name
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
        """Numbers of attackers and of defenders."""
        attackers, _, defenders = self.tier.partition("v")
        return int(attackers), int(defenders)

    @property
    def seconds(self) -> float:
        """Wall time of the task in seconds."""
        return self.ended - self.began


class Trace(Result):
    """All tasks in a build, in order of their start."""

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
            raise ValueError("the tasks are not in order")
        if any(task.ended > self.seconds for task in self.tasks):
            raise ValueError("a task ends after the build")
        return self


def read_trace(path: Path) -> Trace:
    """Read a trace written by `write_trace`."""
    content = read_bytes(path, "trace", 256 << 20)
    try:
        return Trace.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        what = excerpt(f"{place}: {first['msg']}", 160)
        raise InputError(
            what,
            subject=f"trace {excerpt(str(path))}",
            remedy="make it again with: python -m reports.studies.scale trace",
        ) from error


class TierCost(Result):
    """The cost of all tasks for a tier that one worker built in slices."""

    tier: Name
    classes: Annotated[int, Field(ge=1, lt=1 << 60)]
    slices: Annotated[int, Field(ge=1, lt=1 << 60)]
    passes: Annotated[int, Field(ge=1, lt=1 << 60)]
    cpu: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]
    plan_cpu: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]
    store_cpu: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]
    window: Annotated[int, Field(ge=1, lt=1 << 60)]
    near: Annotated[int, Field(ge=1, lt=1 << 60)]
    own: Annotated[int, Field(ge=1, lt=1 << 60)]
    written: Annotated[int, Field(ge=1, lt=1 << 60)]
    stored: Annotated[int, Field(ge=1, lt=1 << 60)]
    longest: Annotated[int, Field(ge=1, lt=1 << 60)]

    @property
    def material(self) -> tuple[int, int]:
        """Numbers of attackers and of defenders."""
        attackers, _, defenders = self.tier.partition("v")
        return int(attackers), int(defenders)


class Judged(Result):
    """Processor seconds for solving a tier in memory, with and without evaluating rows as wholes."""

    tier: Name
    judged: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]
    unjudged: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]


class Crowded(Result):
    """The cost of building a tier in slices in one process, and in one process per processor at the same time."""

    tier: Name
    slices: Annotated[int, Field(ge=1, lt=1 << 60)]
    processes: Annotated[int, Field(ge=1, lt=1 << 20)]
    alone: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]
    beside: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]

    @property
    def factor(self) -> float:
        """Slowdown factor, at least 1, for a task's computation while all processors are busy."""
        return max(self.beside / self.alone, 1.0)


class Windows(Result):
    """The rows that a slice needs in tiers with a given number of defenders, whatever the number of attackers."""

    defenders: Annotated[int, Field(ge=1, le=60)]
    rows: Annotated[int, Field(ge=1, lt=1 << 60)]
    slices: tuple[Annotated[int, Field(ge=1, lt=1 << 60)], ...]
    seen: tuple[Annotated[float, Field(ge=1, lt=1e9, allow_inf_nan=False)], ...]


class Run(Result):
    """Totals for a timed build."""

    workers: Annotated[int, Field(ge=1, lt=1 << 60)]
    seconds: Seconds
    cpu: Seconds
    waited: Seconds | None
    tasks: Count


class ScaleCheck(Result):
    """All the measurements that the resource model is based on and checked against."""

    format: Literal[1] = 1
    command: Annotated[str, Field(pattern=r"^python -m reports\.studies\.scale measure[^`|\n]*$")]
    version: str
    commit: str | None
    machine: str
    load: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    variant: str
    trace: Trace
    runs: tuple[Run, ...]
    tiers: tuple[TierCost, ...]
    whole: dict[Name, Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]]
    judged: tuple[Judged, ...]
    crowded: Crowded
    windows: tuple[Windows, ...]


def run_of(trace: Trace) -> Run:
    """Return the totals for a traced build."""
    waited = [task.waited for task in trace.tasks]
    return Run(
        workers=trace.workers,
        seconds=trace.seconds,
        cpu=round(sum(task.cpu for task in trace.tasks), 3),
        waited=None if None in waited else round(sum(seconds or 0.0 for seconds in waited), 3),
        tasks=len(trace.tasks),
    )


def tier_costs(trace: Trace, store: Store) -> list[TierCost]:
    """Return the cost of each tier that was built in slices."""
    found = []
    for tier in dict.fromkeys(task.tier for task in trace.tasks if task.kind == PASS):
        mine = [task for task in trace.tasks if task.tier == tier]
        passes = [task for task in mine if task.kind == PASS]
        record = store.tier(*passes[0].material).record
        near = sum(task.read for task in passes if task.step in (QUICK_WINS, MOVES))
        found.append(
            TierCost(
                tier=tier,
                classes=2 * sum({task.number: task.entries for task in passes}.values()),
                slices=len({task.number for task in passes}),
                passes=len(passes),
                cpu=round(sum(task.cpu for task in passes), 3),
                plan_cpu=max(sum(task.cpu for task in mine if task.kind == PLAN), 1e-6),
                store_cpu=max(sum(task.cpu for task in mine if task.kind == STORE), 1e-6),
                window=sum(task.window for task in passes),
                near=near,
                own=sum(task.read for task in passes) - near,
                written=sum(task.written for task in passes),
                stored=sum(file.bytes for file in record.files.values()),
                longest=record.longest(),
            )
        )
    return found
