"""``tablut census verify``: what is done with a stored census."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from counting.census.display import observer_on
from tablut.cli.options import variant_option
from tablut.cli.people import Table, label, number
from tablut.cli.runtime import EXIT_NO, Reply, command, interruptible, progress
from tablut.variants import load_variant

if TYPE_CHECKING:
    from counting.census.verification import VerifyReport
    from tablut.cli.people import PeopleConsole

StoredArgument = Annotated[str, typer.Argument(metavar="STORE", help="A census, as given with --store.")]


@command
def verify_command(
    store: StoredArgument,
    variant: Annotated[
        str | None,
        variant_option("The rules, if they do not ship. [default: the store's]"),
    ] = None,
    parents: Annotated[
        bool,
        typer.Option(
            "--parents",
            help="Expand every position again: each has a parent in the ply before, and no child is missing.",
        ),
    ] = False,
    memory: Annotated[
        int, typer.Option("--memory", metavar="MIB", min=256, help="Most memory for positions, in MiB.")
    ] = 2048,
) -> Reply:
    """Verify a stored census from its files, as far as possible by other code than made it.

    Exit code 1: something is wrong.
    """
    from counting.census.verification import verify_census

    rules = None if variant is None else load_variant(variant)
    with progress("census verify") as display:
        observer = observer_on(display)
        # It writes nothing, so an interrupt may abandon it.
        report = interruptible(
            lambda: verify_census(store, rules, parents=parents, memory=memory << 20, observer=observer)
        )
    return Reply(report, lambda console: _show_verified(console, report), EXIT_NO if report.failures else 0)


def _show_verified(console: PeopleConsole, report: VerifyReport) -> None:
    console.print(f"{report.variant}  {report.store}", soft_wrap=True)
    table = Table(label("check"), number("cases"), number("failures"))
    for check in report.checks:
        table.add(check.name, f"{check.cases:,}", f"{check.failures:,}")
    console.print(table)
    for check in report.checks:
        for message in check.messages:
            console.print(f"{check.name}: {message}", soft_wrap=True)
    if report.without_symmetry is None:
        console.print("The store has no count without symmetry.", style="dim")
    elif report.without_symmetry != report.plies:
        console.print(f"Without symmetry it ends after {report.without_symmetry} plies of {report.plies}.")
    if report.counted is not None and report.counted >= report.plies:
        console.print(f"Ply {report.counted} was counted and not stored: only its tallies can be checked.")
    console.print(
        f"{report.positions_checked:,} positions in {report.classes_checked:,} classes, {report.plies} plies: "
        f"{report.failures:,} failures. {report.published[0].upper() + report.published[1:]}.",
        soft_wrap=True,
    )
