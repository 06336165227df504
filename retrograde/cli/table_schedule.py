"""``tablut tablebase schedule``: how long a traced build would take on more workers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablut.cli.people import Table, number, safe_text
from tablut.cli.runtime import Reply, command
from tablut.results import Result

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

_MOST = 4096
"""Workers that are simulated."""


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


@command
def schedule_command(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="What --trace wrote, of a build by one worker.", show_default=False)
    ],
    workers: Annotated[
        list[int] | None,
        typer.Option(
            "--workers", metavar="N", min=1, max=_MOST, help="How many; may be repeated. [default: 1, 2, 4, 8, 16]"
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            "--cores", min=1, max=_MOST, help="Processors that they share. [default: one for each]", show_default=False
        ),
    ] = None,
) -> Reply:
    """Foretell how long a build in slices would take on more workers, from what its tasks took on one.

    It is a model: the tasks in their order, each with its processor time, an overhead, and time for what it moves.
    """
    from retrograde.scale.replay import fit_costs, replay
    from retrograde.solver.trace import read_trace

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
    # The name of a rule set from a file is never markup.
    told = f"{build}: {spent}; measured with one worker {result.measured_seconds:,.1f} s"
    console.print(safe_text(told), soft_wrap=True)
    table = Table(number("workers"), number("processors"), number("seconds (model)"), number("no order takes less"))
    for one in result.model:
        table.add(f"{one.workers:,}", f"{one.cores:,}", f"{one.seconds:,.1f}", f"{one.least:,.1f}")
    console.print(table)
