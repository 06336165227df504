"""``python -m reports.studies.scale``: take measurements, render the page, and predict how long builds take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from reports.studies.rendered import PageRequest, rendered
from tablut.cli.command import Group
from tablut.cli.options import scheduler_field, variant_field
from tablut.cli.people import Table, number, safe_text
from tablut.cli.requests import Argument, Option, Request
from tablut.cli.runtime import Reply, interruptible
from tablut.cli.shell import main
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.files import FileKind, beginning, check_output, write_text

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

app = Group(help="Effort of solving brandubh completely.")
NAME = "python -m reports.studies.scale"
_MOST = 4096
"""Maximum number of workers that can be simulated."""


class _Foretold(Result):
    workers: int
    cores: int
    seconds: float
    least: float


class _Schedule(Result):
    variant: str
    men: int
    memory: int
    measured_seconds: float
    tasks: int
    cpu_seconds: float
    overhead: float
    per_byte: float
    between_tasks: float
    between_steps: float
    model: list[_Foretold]


class _Traced(Result):
    variant: str
    tasks: int
    seconds: float


class TraceRequest(Request):
    """The parameters of the command."""

    store: Path = Option(..., "Folder for the tablebase.", metavar="STORE")
    out: Path = Option(..., "JSON file for the trace.")
    men: int = Option(..., "Maximum number of men, including the king.", least=2, most=121)
    variant: str = variant_field("brandubh")
    memory: int = Option(4096, "Memory per worker in MiB; larger tiers are built in slices.", metavar="MIB", least=1)
    scheduler: str | None = scheduler_field()


@app.command("trace")
def trace_command(request: TraceRequest) -> Reply:
    """Build a tablebase like `tablut tablebase build`, and record the cost of each task.

    The tiers are built by one worker or by the workers of a cluster.
    """
    from reports.studies.scale.measuring import traced_build
    from reports.studies.scale.trace import TRACE, write_trace

    check_output(request.out, TRACE)
    found = interruptible(
        lambda: traced_build(
            request.store, load_variant(request.variant), request.men, request.memory << 20, request.scheduler
        )
    )
    write_trace(request.out, found.model_dump())
    result = _Traced(variant=found.variant, tasks=len(found.tasks), seconds=found.seconds)
    return Reply(
        result, lambda console: console.print(f"{str(request.out)!r} has a trace of {len(found.tasks):,} tasks")
    )


class ScheduleRequest(Request):
    """The parameters of the command."""

    trace: Path = Argument("TRACE", "File written by `trace` with one worker.")
    workers: tuple[Annotated[int, Field(ge=1, le=_MOST)], ...] = Option(
        (), "Number of workers; may be repeated. [default: 1, 2, 4, 8, 16]"
    )
    cores: int | None = Option(
        None, "Number of processors that the workers share. [default: one per worker]", least=1, most=_MOST
    )


@app.command("schedule")
def schedule_command(request: ScheduleRequest) -> Reply:
    """Predict how long a build in slices would take with more workers, from the trace of one worker.

    In the model, the tasks keep their order. Each takes its processor time, an overhead, and the time for moving its
    data.
    """
    from reports.studies.scale.records import read_trace
    from reports.studies.scale.replay import fit_costs, replay

    traced = read_trace(request.trace)
    costs = fit_costs(traced)
    found = [
        replay(traced, count, request.cores or count, costs)
        for count in sorted(set(request.workers or (1, 2, 4, 8, 16)))
    ]
    result = _Schedule(
        variant=traced.variant,
        men=traced.men,
        memory=traced.memory,
        measured_seconds=traced.seconds,
        tasks=len(traced.tasks),
        cpu_seconds=sum(task.cpu for task in traced.tasks),
        overhead=costs.overhead,
        per_byte=costs.per_byte,
        between_tasks=costs.between_tasks,
        between_steps=costs.between_steps,
        model=[_Foretold(**one.model_dump()) for one in found],
    )
    return Reply(result, lambda console: _show(console, result))


def _show(console: PeopleConsole, result: _Schedule) -> None:
    build = f"{result.variant}, at most {result.men} men, {result.memory >> 20:,} MiB for each worker"
    spent = f"{result.tasks:,} tasks, {result.cpu_seconds:,.1f} processor seconds"
    # A rule set's name from a file is never interpreted as markup.
    told = f"{build}: {spent}; measured with one worker {result.measured_seconds:,.1f} s"
    console.print(safe_text(told), soft_wrap=True)
    table = Table(number("workers"), number("processors"), number("seconds (model)"), number("minimum for any order"))
    for one in result.model:
        table.add(f"{one.workers:,}", f"{one.cores:,}", f"{one.seconds:,.1f}", f"{one.least:,.1f}")
    console.print(table)


@app.command("page")
def page_command(request: PageRequest) -> Reply:
    """Render the page and its figures from the measurements."""
    from reports.studies.scale.page import FOLDER, artefacts

    return rendered(FOLDER, artefacts(), request.check)


_MEASURED = FileKind("a file of measurements", beginning(rb'\{"command":"python -m reports\.studies\.scale measure'))


class _Measured(Result):
    variant: str
    seconds: dict[int, float]


class MeasureRequest(Request):
    """The parameters of the command."""

    store: Path = Option(..., "JSON file for the result.")
    variant: str = variant_field("brandubh")
    men: int = Option(6, "Number of men in the timed tiers.", least=4, most=20)
    memory: int = Option(64, "Memory per worker in MiB.", metavar="MIB", least=1)
    workers: tuple[Annotated[int, Field(ge=1, le=_MOST)], ...] = Option(
        (), "Number of workers; may be repeated. [default: 1, 2, 4]"
    )


@app.command("measure")
def measure_command(request: MeasureRequest) -> Reply:
    """Build tiers with one, two and four workers on this machine, and store the costs. This takes ten minutes in total.

    Do not run other programs in the meantime. Before each build, the predicted wall time is printed for comparison.
    """
    from reports.studies.scale.measuring import measure

    check_output(request.store, _MEASURED)
    counts = request.workers or [1, 2, 4]
    said = f"{NAME} measure --store {request.store.name} -v {request.variant} --men {request.men} "
    said += f"--memory {request.memory}"
    found = measure(
        load_variant(request.variant),
        request.men,
        request.memory << 20,
        counts,
        said + "".join(f" --workers {count}" for count in counts),
    )
    write_text(request.store, found.model_dump_json(exclude_defaults=True) + "\n", kind=_MEASURED)
    result = _Measured(variant=found.variant, seconds={run.workers: run.seconds for run in found.runs})
    return Reply(result, lambda console: console.print(f"{str(request.store)!r} contains the measurements"))


if __name__ == "__main__":
    main(app, NAME)
