"""``tablut solve``: who wins a reduced board, with every position that its start reaches."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tablut.cli.options import VariantOption, threads_option
from tablut.cli.people import Table, label, number
from tablut.cli.runtime import Reply, command, interruptible, progress
from tablut.errors import InputError
from tablut.running.machine import physical_memory
from tablut.variants import load_variant

if TYPE_CHECKING:
    from retrograde.solver.report import Line, SideCounts, SolveReport
    from tablut.cli.people import PeopleConsole
    from tablut.variants import Variant


@command
def solve_command(
    variant: VariantOption = "ashton",
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="STORE",
            help="Also keep every value: in a folder, or under an s3:// URL.",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[int, threads_option("Tasks at once.")] = 1,
    memory: Annotated[
        int | None,
        typer.Option("--memory", metavar="MIB", min=1, help="Most memory, in MiB. [default: what the machine has]"),
    ] = None,
) -> Reply:
    """Solve a reduced board completely: the value of every position that the start reaches.

    Values are those of the position as the first of its game: under a move limit a win counts if it
    ends within the limit. Distances are in plies to the end under best play.
    """
    from retrograde.solver.report import solve_report
    from retrograde.solver.solution import memory_needed
    from retrograde.solver.tiers import tier_graph
    from retrograde.tablebase.writer import create

    rules = load_variant(variant)
    needed = memory_needed(rules)
    limit = memory << 20 if memory else physical_memory()
    if limit is not None and needed > limit:
        raise InputError(
            f"variant {rules.name}: its solution needs about {needed / 2**20:,.0f} MiB of memory and "
            f"{limit / 2**20:,.0f} are allowed; choose a smaller board (tablut variants), or tablut tablebase build"
        )
    if store is not None:
        # An unusable folder is refused now, not after the work. From now on the store names
        # the tiers it will have, so a part of them is not taken for all.
        create(store, rules, list(tier_graph(rules)))
    steps: list[str] = []
    try:
        with progress("solve") as display:
            task = display.add_task("", total=None)

            def advanced(step: str) -> None:
                steps.append(step)
                display.update(task, description=step)

            report, solved = interruptible(lambda: solve_report(rules, threads=threads, advanced=advanced))
            if store is not None:
                display.update(task, description="stores")
                steps.append(f"stores in {store}")
                interruptible(lambda: solved.store(store))
    except KeyboardInterrupt:
        words = ["tablut", "solve", "-v", variant, *([] if store is None else ["--store", store])]
        typer.echo(
            f"tablut: interrupted at {steps[-1] if steps else 'the index'}; a solution is kept in memory alone until "
            f"it is stored; start it again: {shlex.join(words)}",
            err=True,
        )
        raise
    return Reply(report, lambda console: _show(console, rules, report))


def _show(console: PeopleConsole, variant: Variant, report: SolveReport) -> None:
    from tablut.cli.people import draw_board
    from tablut.position import Position

    console.print(draw_board(variant, variant.start))
    ends = "" if report.dtm is None else f" in {report.dtm} plies"
    who = {"white": "White wins", "black": "Black wins", "draw": "A draw", "unresolved": "Unresolved"}[report.value]
    line = " ".join(report.start.line) or "neither side can force a win"
    console.print(Text.assemble(f"{report.variant}: ", (who + ends, "bold"), f": {line}\n"), soft_wrap=True)
    unforced = "draw" if report.white_to_move.unresolved + report.black_to_move.unresolved == 0 else "unresolved"
    names = ("win", unforced, "loss")
    table = Table(
        label("to move"),
        *(number(name) for name in names),
        *(number(f"classes: {name}" if name == "win" else name, f"{name}, classes") for name in names),
    )
    for side in ("white", "black"):
        whole, classes = getattr(report, f"{side}_to_move"), getattr(report.by_class, f"{side}_to_move")
        cells = [count for counts in (whole, classes) for count in _counts(counts)]
        table.add(side, *(f"{count:,}" for count in cells))
    console.print(table)
    console.print(
        f"\n{report.positions:,} positions are reached, {report.classes:,} classes under the "
        f"{len(report.symmetries)} symmetries of the start; the bound counts {report.bound:,}."
    )
    zugzwangs = report.mutual_zugzwangs
    console.print(
        f"Mutual zugzwangs: {zugzwangs['full']:,} that either side loses, {zugzwangs['half']:,} that cost a draw."
    )
    if report.longest is not None:
        longest: Line = report.longest
        console.print(f"\nFurthest from the end, {report.max_dtm} plies:  {longest.position}", soft_wrap=True)
        console.print(draw_board(variant, Position.parse(longest.position, variant.size).rows()))
        console.print(" ".join(longest.line), soft_wrap=True)


def _counts(counts: SideCounts) -> tuple[int, int, int]:
    return counts.win, counts.draw + counts.unresolved, counts.loss
