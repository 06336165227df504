"""What was measured to make the model: `benchmarks/scale.py` stores it, the report reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from retrograde.solver.slices.tasks import MOVES_STEP, WINS_STEP
from retrograde.solver.trace import PASS, PLAN, STORE, Trace
from tablut.results import Result

if TYPE_CHECKING:
    from retrograde.tablebase.store import Store

__all__ = ["Crowded", "Judged", "Run", "ScaleCheck", "TierCost", "Windows", "run_of", "tier_costs"]

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Seconds = Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^\d{1,3}v\d{1,3}$")]


class TierCost(Result):
    """What a tier took, all its tasks together; built in slices by one worker.

    Attributes
    ----------
    tier : str
        Its name.
    classes : int
        With either side to move.
    slices, passes : int
        How many there were; a pass is one over one slice.
    cpu : float
        Processor seconds of the passes.
    plan_cpu, store_cpu : float
        Of the leading process: to cut the tier, and to pack what is stored.
    window : int
        Entries that the passes saw of rows near theirs, summed over all of them.
    near : int
        Bytes read in the two steps that look at the rows near.
    own : int
        Bytes read in all other steps.
    written : int
        Bytes of the files of slices that were made.
    stored : int
        Bytes of the tier in the store.
    longest : int
        Plies of its longest win or loss.
    """

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
        """Attackers and defenders."""
        attackers, _, defenders = self.tier.partition("v")
        return int(attackers), int(defenders)


class Judged(Result):
    """A tier solved in memory with and without the judging of whole rows, in processor seconds."""

    tier: Name
    judged: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]
    unjudged: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]


class Crowded(Result):
    """A tier built in slices by one process, and then by one for each processor at a time.

    Attributes
    ----------
    tier : str
        Its name.
    slices : int
        Into which it was cut.
    processes : int
        That built it at a time, each for itself.
    alone, beside : float
        Processor seconds of the passes of one process, while no other computed and while all did: the mean of all.
    """

    tier: Name
    slices: Annotated[int, Field(ge=1, lt=1 << 60)]
    processes: Annotated[int, Field(ge=1, lt=1 << 20)]
    alone: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]
    beside: Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]

    @property
    def factor(self) -> float:
        """How many times as long a task computes while all processors do; never less than once.

        Returns
        -------
        float
            Without a unit.

        Examples
        --------
        >>> Crowded(tier="1v4", slices=14, processes=2, alone=10.0, beside=11.0).factor
        1.1
        """
        return max(self.beside / self.alone, 1.0)


class Windows(Result):
    """How many rows a slice sees, for tiers of so many defenders; it does not depend on the attackers.

    Attributes
    ----------
    defenders : int
        Of these tiers.
    rows : int
        That they have.
    slices : tuple of int
        Numbers of slices, ascending from 1.
    seen : tuple of float
        For each, how many times its own rows a slice sees, in the mean over some slices.
    """

    defenders: Annotated[int, Field(ge=1, le=60)]
    rows: Annotated[int, Field(ge=1, lt=1 << 60)]
    slices: tuple[Annotated[int, Field(ge=1, lt=1 << 60)], ...]
    seen: tuple[Annotated[float, Field(ge=1, lt=1e9, allow_inf_nan=False)], ...]


class Run(Result):
    """A build that was timed.

    Attributes
    ----------
    workers : int
        Worker processes.
    seconds : float
        By the clock on the wall.
    cpu : float
        Processor seconds of its tasks.
    waited : float, optional
        Seconds in which tasks were ready and had no processor.
    tasks : int
        How many there were.
    """

    workers: Annotated[int, Field(ge=1, lt=1 << 60)]
    seconds: Seconds
    cpu: Seconds
    waited: Seconds | None
    tasks: Count


class ScaleCheck(Result):
    """Everything that the model of scale is made from, and what it is compared with.

    Attributes
    ----------
    command, version, commit : str
        What made it.
    machine : str
        What kind of processor, in words.
    load : float
        How many programs wanted a processor when it began, one minute's mean; of a quiet machine about 0.
    variant : str
        The rule set.
    trace : Trace
        Of the build by one worker.
    runs : tuple of Run
        The same build by each number of workers.
    tiers : tuple of TierCost
        Of that build and of smaller ones.
    whole : dict of str to float
        Of tiers solved in memory, some without defenders among them: processor seconds for a class.
    judged : tuple of Judged
        What judging whole rows saves.
    crowded : Crowded
        How processors slow each other that compute at the same time.
    windows : tuple of Windows
        By the number of defenders.
    """

    format: Literal[1] = 1
    command: Annotated[str, Field(pattern=r"^python -m benchmarks\.scale[^`|\n]*$")]
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
    """Return what a trace says of its build as a whole.

    Parameters
    ----------
    trace : Trace
        The trace.

    Returns
    -------
    Run
        Its sums.
    """
    waited = [task.waited for task in trace.tasks]
    return Run(
        workers=trace.workers,
        seconds=trace.seconds,
        cpu=round(sum(task.cpu for task in trace.tasks), 3),
        waited=None if None in waited else round(sum(seconds or 0.0 for seconds in waited), 3),
        tasks=len(trace.tasks),
    )


def tier_costs(trace: Trace, store: Store) -> list[TierCost]:
    """Return what each tier took that a build made in slices.

    Parameters
    ----------
    trace : Trace
        Of the whole build, which was not interrupted.
    store : Store
        What it made.

    Returns
    -------
    list of TierCost
        In the order in which they were built.
    """
    found = []
    for tier in dict.fromkeys(task.tier for task in trace.tasks if task.kind == PASS):
        mine = [task for task in trace.tasks if task.tier == tier]
        passes = [task for task in mine if task.kind == PASS]
        record = store.tier(*passes[0].material).record
        near = sum(task.read for task in passes if task.step in (WINS_STEP, MOVES_STEP))
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
