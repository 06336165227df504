"""``python -m reports.studies.lower_bound``: prove the lower bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from reports.studies.lower_bound.bound import BUDGET, prove_lower_bound
from tablut.cli.command import command
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import EXIT_NO, Reply, interruptible, progress
from tablut.cli.shell import main
from tablut.results import scientific

if TYPE_CHECKING:
    from reports.studies.lower_bound.bound import ProvedBound
    from tablut.cli.people import PeopleConsole

NAME = "python -m reports.studies.lower_bound"
_SHOWN = 20


class LowerRequest(Request):
    """The parameters of the command."""

    budget: int = Option(
        BUDGET,
        "Number of placements of an outer region to examine (a microsecond each); more placements raise the bound.",
        "--placements",
        least=1,
        most=10**11,
    )
    store: str | None = Option(None, "Folder for finished counts, from which a run resumes.", metavar="DIR")


@command()
def lower_command(request: LowerRequest) -> Reply:
    """Prove a lower bound on the number of reachable positions of ashton, without samples.

    Every step of the proof is checked. Exit code 1: a step does not hold.
    """
    with progress("lower bound") as observer:
        folder = None if request.store is None else Path(request.store)
        result = interruptible(
            lambda: prove_lower_bound(request.budget, folder, begin=observer.begin, tick=observer.advance)
        )
    return Reply(result, lambda console: _show_lower(console, result), EXIT_NO if result.failures else 0)


def _show_lower(console: PeopleConsole, result: ProvedBound) -> None:
    title = f"Reachable positions of {result.variant}"
    console.print(Text.assemble((title, "bold"), ("  proved", "dim")))
    console.print(f"at least {result.positions:,}: {scientific(result.positions, 6)}")
    console.print(f"{100 * result.share:.4f} % of the {scientific(result.counted, 6)} counted positions")
    console.print(
        f"{len(result.regions)} closures of {result.assembled:,} placements, "
        f"{result.steps:,} steps and {result.openings} openings checked",
        style="dim",
    )
    for line in result.failures[:_SHOWN]:
        console.print(Text.assemble(("failed ", "bold red"), line))


if __name__ == "__main__":
    main(lower_command, NAME)
