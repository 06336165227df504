"""``python -m reports.studies.explained``: explain every counted position of a small board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from reports.studies.explained.explaining import explain
from tablut.cli.command import command, option, whole
from tablut.cli.options import threads_option, variant_option
from tablut.cli.people import Table, label, number
from tablut.cli.runtime import EXIT_NO, Reply, progress
from tablut.cli.shell import main
from tablut.variants import load_variant

if TYPE_CHECKING:
    from reports.reachable import Amount, Explanation
    from tablut.cli.people import PeopleConsole

NAME = "python -m reports.studies.explained"


@command()
@variant_option(default="ashton")
@option("--store", metavar="DIR", help="Folder for the census. [default: a temporary one]")
@whole("--memory", default=4096, least=1, metavar="MIB", help="Memory limit for the census in MiB.")
@threads_option("Number of parallel tasks of the census.")
def explain_command(variant: str, store: str | None, memory: int, threads: int) -> Reply:
    """Explain every counted position of a small board.

    Each position is reached by a game, is excluded by a lemma, or belongs to a set that no game enters. The command
    begins with a complete census. Exit code 1: the census, the lemmas and the un-moves contradict each other.
    """
    rules = load_variant(variant)
    with progress("explain") as observer:
        # An interrupt takes effect after the current batch of classes, and temporary files are then removed.
        result = explain(rules, store=store, memory=memory << 20, threads=threads, progress=observer)
    return Reply(result, lambda console: _show_explained(console, result), EXIT_NO if result.failures else 0)


def _show_explained(console: PeopleConsole, result: Explanation) -> None:
    console.print(Text.assemble((f"All counted positions of {result.variant}", "bold"), ("  computed", "dim")))
    table = Table(label(""), number("positions"), number("classes"), number("share"))

    def add(name: str, amount: Amount, style: str = "") -> None:
        share = f"{100 * amount.positions / result.counted.positions:.4f} %"
        table.add(name, f"{amount.positions:,}", f"{amount.classes:,}", share, style=style)

    add("counted", result.counted, "bold")
    add("reached", result.reached)
    for name, amount in result.excluded.items():
        if amount.classes:
            add(f"excluded by the lemma {name}", amount)
    add("closed: no lemma, but never entered", result.closed.all)
    for layer, amount in enumerate(result.closed.layers, 1):
        plies = "all predecessors excluded" if layer == 1 else "all predecessors excluded or in earlier layers"
        add(f"  layer {layer}: {plies}", amount)
    if result.closed.recurrent.classes:
        add("  recurrent: in a cycle of plies", result.closed.recurrent)
    if result.closed.after.classes:
        add("  reached only from recurrent ones", result.closed.after)
    console.print(table)
    if result.closed.parts:
        console.print(
            f"The closed set has {result.closed.parts:,} parts; the largest has "
            f"{result.closed.largest_part:,} positions.",
            style="dim",
        )
    console.print(
        f"No lemma holds for any of the {result.reached.classes:,} reached classes."
        if not result.failures
        else Text(f"{result.failures:,} classes are contradictory", "bold red")
    )
    for line in result.failed:
        console.print(line)


if __name__ == "__main__":
    main(explain_command, NAME)
