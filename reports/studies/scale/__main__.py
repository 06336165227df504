"""``python -m reports.studies.scale``: take measurements, render the page, and predict how long builds take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reports.studies.rendered import check_option, rendered
from tablut.cli.command import Group, argument, whole
from tablut.cli.options import file_option, scheduler_option, variant_option
from tablut.cli.people import Table, number, safe_text
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


@app.command("trace")
@file_option("--store", required=True, metavar="STORE", help="Folder for the tablebase.")
@file_option("--out", required=True, help="JSON file for the trace.")
@whole("--men", required=True, least=2, most=121, help="Maximum number of men, including the king.")
@variant_option(default="brandubh")
@whole(
    "--memory", default=4096, least=1, metavar="MIB", help="Memory per worker in MiB; larger tiers are built in slices."
)
@scheduler_option
def trace_command(store: Path, out: Path, men: int, variant: str, memory: int, scheduler: str | None) -> Reply:
    """Build a tablebase like `tablut tablebase build`, and record the cost of each task.

    The tiers are built by one worker or by the workers of a cluster.
    """
    from reports.studies.scale.measuring import traced_build
    from reports.studies.scale.trace import TRACE, write_trace

    check_output(out, TRACE)
    found = interruptible(lambda: traced_build(store, load_variant(variant), men, memory << 20, scheduler))
    write_trace(out, found.model_dump())
    result = _Traced(variant=found.variant, tasks=len(found.tasks), seconds=found.seconds)
    return Reply(result, lambda console: console.print(f"{str(out)!r} has a trace of {len(found.tasks):,} tasks"))


@app.command("schedule")
@argument("trace", metavar="TRACE", type=click.Path(path_type=Path), help="File written by `trace` with one worker.")
@whole(
    "--workers",
    multiple=True,
    least=1,
    most=_MOST,
    help="Number of workers; may be repeated. [default: 1, 2, 4, 8, 16]",
)
@whole("--cores", least=1, most=_MOST, help="Number of processors that the workers share. [default: one per worker]")
def schedule_command(trace: Path, workers: tuple[int, ...], cores: int | None) -> Reply:
    """Predict how long a build in slices would take with more workers, from the trace of one worker.

    In the model, the tasks keep their order. Each takes its processor time, an overhead, and the time for moving its
    data.
    """
    from reports.studies.scale.records import read_trace
    from reports.studies.scale.replay import fit_costs, replay

    traced = read_trace(trace)
    costs = fit_costs(traced)
    found = [replay(traced, count, cores or count, costs) for count in sorted(set(workers or (1, 2, 4, 8, 16)))]
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
@check_option
def page_command(check: bool) -> Reply:
    """Render the page and its figures from the measurements."""
    from reports.studies.scale.page import FOLDER, artefacts

    return rendered(FOLDER, artefacts(), check)


_MEASURED = FileKind("a file of measurements", beginning(rb'\{"command":"python -m reports\.studies\.scale measure'))


class _Measured(Result):
    variant: str
    seconds: dict[int, float]


@app.command("measure")
@file_option("--store", required=True, help="JSON file for the result.")
@variant_option(default="brandubh")
@whole("--men", default=6, least=4, most=20, help="Number of men in the timed tiers.")
@whole("--memory", default=64, least=1, metavar="MIB", help="Memory per worker in MiB.")
@whole("--workers", multiple=True, least=1, most=_MOST, help="Number of workers; may be repeated. [default: 1, 2, 4]")
def measure_command(store: Path, variant: str, men: int, memory: int, workers: tuple[int, ...]) -> Reply:
    """Build tiers with one, two and four workers on this machine, and store the costs. This takes ten minutes in total.

    Do not run other programs in the meantime. Before each build, the predicted wall time is printed for comparison.
    """
    from reports.studies.scale.measuring import measure

    check_output(store, _MEASURED)
    counts = workers or [1, 2, 4]
    said = f"{NAME} measure --store {store.name} -v {variant} --men {men} --memory {memory}"
    found = measure(
        load_variant(variant), men, memory << 20, counts, said + "".join(f" --workers {count}" for count in counts)
    )
    write_text(store, found.model_dump_json(exclude_defaults=True) + "\n", kind=_MEASURED)
    result = _Measured(variant=found.variant, seconds={run.workers: run.seconds for run in found.runs})
    return Reply(result, lambda console: console.print(f"{str(store)!r} contains the measurements"))


if __name__ == "__main__":
    main(app, NAME)
