"""``tablut reachable``: estimate the reachable share of the counted space, and check its certificates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from tablut.cli.options import (
    ResumeOption,
    SchedulerOption,
    VariantOption,
    seed_option,
    threads_option,
    variant_option,
)
from tablut.cli.people import PeopleConsole, Table, label, number
from tablut.cli.runtime import EXIT_NO, Interrupted, Reply, command, progress
from tablut.errors import InputError, MachineError
from tablut.results import Result, scientific
from tablut.variants import load_variant
from tablut.work.progress import plural

if TYPE_CHECKING:
    from counting.reachable.estimation import ReachableEstimate

app = typer.Typer(
    rich_markup_mode=None, add_completion=False, help="Estimate the share of the counted positions that can be reached."
)

_SHOWN = 20

_WHY = {
    "no_last_ply": "no ply leads to the placement",
    "predecessors": "lemmas exclude every previous position",
}
"""Reasons why final placements are unreachable, keyed by their names in JSON."""


@app.command("estimate")
@command
def estimate_command(
    variant: VariantOption = "ashton",
    samples: Annotated[
        int, typer.Option(min=1, max=10**9, help="Number of samples for which reachability is decided.")
    ] = 1000,
    seed: Annotated[int, seed_option("Seed of the samples.")] = 1,
    space: Annotated[
        Literal["undecided", "decided"],
        typer.Option(help="Space to sample: undecided positions with the side to move, or final placements."),
    ] = "undecided",
    lemma_samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10**12,
            help="Number of samples on which the lemmas are tried, --samples included. [default: --samples]",
        ),
    ] = None,
    certificates: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File for the certificates of all samples; compressed if it ends in .gz."),
    ] = None,
    checks: Annotated[
        int,
        typer.Option(
            "--check", min=0, help="Number of certificates (the first ones) that the plain rules check immediately."
        ),
    ] = 50,
    threads: Annotated[int, threads_option("Number of chunks of samples processed in parallel.")] = 1,
    store: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder for finished chunks of samples, from which a run resumes.")
    ] = None,
    resume: ResumeOption = False,  # noqa: ARG001
    scheduler: SchedulerOption = None,
) -> Reply:
    """Estimate the reachable share from random samples.

    Each sample is a position that the bound counts. It is decided by a lemma that excludes it, by a
    proof game that reaches it, or by its complete backward tree, if that does not contain the
    start.
    """
    from counting.reachable.estimation import estimate

    if scheduler is not None and store is None:
        raise InputError(
            "needs a folder that the workers see under the same name", subject="--scheduler", remedy="add --store DIR"
        )
    rules = load_variant(variant)
    partial: list[ReachableEstimate] = []

    def reply(result: ReachableEstimate) -> Reply:
        return Reply(result, lambda console: _show(console, result), seed=seed)

    with progress("estimate") as observer:
        try:
            found = estimate(
                rules,
                samples,
                seed,
                space=space,
                lemma_samples=lemma_samples,
                threads=threads,
                scheduler=scheduler,
                store=store,
                certificates=certificates,
                checks=checks,
                observer=observer,
                partial=partial.append,
            )
        except (MachineError, KeyboardInterrupt) as error:
            if not partial:
                raise
            # The results so far are shown first, then the reason for the end.
            go_on = "the same command" if store is not None else "a new run with --store DIR, which can be resumed"
            raise Interrupted(reply(partial[0]), go_on, error) from None
    return reply(found)


def _percent(interval: list[float]) -> str:
    return f"{100 * interval[0]:.4f} to {100 * interval[1]:.4f} %"


def _show(console: PeopleConsole, result: ReachableEstimate) -> None:
    what = "counted space" if result.space == "undecided" else "final placements"
    title = f"How much of the {what} of {result.variant} can be reached"
    console.print(Text.assemble((title, "bold"), ("  estimated", "dim")))
    if not result.complete:
        console.print("interrupted: only the samples before the first one without a result are counted", style="yellow")
    console.print(
        f"{plural(result.n, 'sample')} (seed {result.seed}): {result.reachable:,} reached by a proof game, "
        f"{result.unreachable:,} proved out of reach, {result.unknown:,} unknown"
    )
    table = Table(number("samples"), label("excluded by"), header=False)
    for name, count in result.lemmas.excluded.items():
        if count:
            table.add(f"{count:,}", f"{_WHY.get(name, f'the lemma {name}')}, of {result.lemmas.n:,}")
    if result.games.pockets:
        table.add(f"{result.games.pockets:,}", f"a pocket, of {result.n:,}")
    if result.games.exhausted:
        table.add(f"{result.games.exhausted:,}", f"the whole backward tree, of {result.n:,}")
    console.print(table)
    games = result.games
    console.print(
        f"proof games: median length {games.median_plies:.0f} plies, maximum {games.longest_plies}; "
        f"{games.cpu_milliseconds:.2f} ms of processor time for each",
        style="dim",
    )
    console.print(
        f"reachable share, 95 %: {_percent(result.interval95)}; 99 %: {_percent(result.interval99)}"
        f" (± {100 * result.absolute99:.4f} points, ± {100 * result.relative99:.4f} % of the share)"
    )
    low, high = result.positions.low, result.positions.high
    counted = "counted" if result.space == "undecided" else "final placements, labelled by how the game ended"
    console.print(f"positions, 99 %: {scientific(low, 6)} to {scientific(high, 6)}, of {result.counted} {counted}")
    for shared, name in ((result.placements, "placements, either side to move"), (result.classes, "up to symmetry")):
        if shared is not None:
            low, high = shared.positions.low, shared.positions.high
            console.print(f"{name}, 99 %: {scientific(low, 6)} to {scientific(high, 6)}, of {shared.counted}")
    for ending, stage in (result.endings or {}).items():
        console.print(f"{ending}: {stage.reachable:,} of {plural(stage.n, 'sample')} reached", style="dim")
    console.print(f"{plural(result.checked, 'certificate')} checked again by the plain rules", style="dim")


class _Checked(Result):
    variant: str
    checked: int
    failures: int
    reachable: int
    unreachable: int
    unknown: int
    interval95: list[float]
    interval99: list[float]
    failed: list[str]


@app.command("check")
@command
def check_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File written by `estimate --certificates`.")],
    variant: Annotated[
        str | None,
        variant_option("Rule set, as a name or a TOML file. [default: as named in the file]"),
    ] = None,
) -> Reply:
    """Check certificates with the plain rules alone.

    The samples are drawn again, every proof game is replayed and every lemma is derived again. Exit
    code 1: a certificate is wrong.
    """
    from counting.reachable.checker import check_file

    with progress("check") as observer:
        observer.begin("certificates")
        header, checked = check_file(
            Path(file),
            lambda name: load_variant(variant or name),
            observer.advance,
        )
    claimed = header.model_dump(include=set(_Checked.model_fields))
    result = _Checked(**claimed, checked=checked.checked, failures=len(checked.failures), failed=checked.failures)
    return Reply(result, lambda console: _show_checked(console, result), EXIT_NO if checked.failures else 0)


def _show_checked(console: PeopleConsole, result: _Checked) -> None:
    verdict = Text(f"{result.failures:,} fail", "bold red") if result.failures else Text("all hold", "green")
    console.print(
        Text.assemble(
            f"{plural(result.checked, 'certificate')} of {result.variant}: ",
            verdict,
            f"; {result.reachable:,} reachable, {result.unreachable:,} unreachable, {result.unknown:,} unknown",
        )
    )
    for line in result.failed[:_SHOWN]:
        console.print(line)
    if len(result.failed) > _SHOWN:
        console.print(f"and {len(result.failed) - _SHOWN:,} more (--json lists all)")
