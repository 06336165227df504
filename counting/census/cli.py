"""``tablut census``: the reachable positions, ply by ply, as a table or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tablut.cli.options import VariantOption
from tablut.cli.runtime import EXIT_NO, Reply, command, progress
from tablut.compilation import wall_clock
from tablut.errors import InputError
from tablut.variants import load_variant

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from counting.census.report import CensusReport

__all__ = ["census_command"]


class _Display:
    """Shows the progress on a rich display, with a rate; see `counting.census.search.Observer`."""

    def __init__(self, display: Progress) -> None:
        self.display = display
        self.task = display.add_task("", total=None)
        self.name, self.began, self.count = "", 0.0, 0

    def begin(self, ply: int, step: str, total: int) -> None:
        """Start a bar for a step of a ply."""
        self.name, self.began, self.count = f"ply {ply} {step}", wall_clock(), 0
        self.display.reset(self.task, description=self.name, total=max(1, total))

    def advance(self, count: int) -> None:
        """Move the bar on and show the rate."""
        self.count += count
        rate = self.count / (wall_clock() - self.began) / 1e6
        self.display.update(self.task, advance=count, description=f"{self.name} {rate:.1f} M/s")

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self.display.console.print(text, highlight=False, soft_wrap=True)


@command
def census_command(
    variant: VariantOption = "ashton",
    plies: Annotated[
        int | None, typer.Option("--plies", min=0, max=999, help="How many plies. [default: 3 without --all]")
    ] = None,
    all_plies: Annotated[bool, typer.Option("--all", help="Until nothing is new; small boards allow it.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Count once more without symmetry, and compare.")] = False,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR", help="Folder to keep the positions in. [default: a temporary one]"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what the folder has.")] = False,
    memory: Annotated[
        int,
        typer.Option("--memory", metavar="MIB", min=1, help="Most memory, and most disk without --store, in MiB."),
    ] = 4096,
    threads: Annotated[int, typer.Option("--threads", min=1, max=1024, help="Tasks at once.")] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="A running Dask cluster whose workers see DIR."),
    ] = None,
    against_bounds: Annotated[
        bool,
        typer.Option("--against-bounds", help="Show the bound by material; complete censuses always do."),
    ] = False,
    graph: Annotated[
        str | None,
        typer.Option("--graph", metavar="FILE", help="Write the state graph of a complete census as Parquet."),
    ] = None,
) -> Reply:
    """Count the positions that are reachable from the start, ply by ply, exactly.

    A position is a placement with the side to move; classes are taken under the
    symmetries that keep the start. Decided positions are counted and not expanded.
    """
    from counting.census.report import census

    if plies is not None and all_plies:
        raise InputError("--plies and --all: choose one of them")
    if graph is not None and not all_plies:
        raise InputError("--graph: is drawn of a complete census; add --all")
    if scheduler is not None and store is None:
        raise InputError("--scheduler: needs --store DIR, a folder that the workers see under the same name")
    rules = load_variant(variant)
    with progress("census") as display:
        observer = _Display(display) if display.console.is_terminal else None
        report = census(
            rules,
            plies=None if all_plies else 3 if plies is None else plies,
            full=full,
            store=store,
            resume=resume,
            memory=memory << 20,
            threads=threads,
            scheduler=scheduler,
            observer=observer,
            graph=graph,
        )
    detailed = against_bounds or report.complete
    return Reply(report, lambda console: _show(console, report, detailed), 0 if report.holds else EXIT_NO)


def _show(console: Console, report: CensusReport, detailed: bool) -> None:
    from rich.table import Table

    console.print(f"[bold]{report.variant}[/bold]  {report.position}", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for name in ("ply", "new", "classes", "decided", "classes", "captures", "branching"):
        table.add_column(name, justify="right")
    for ply in report.plies:
        table.add_row(
            str(ply.ply),
            f"{ply.new:,}",
            f"{ply.new_classes:,}",
            f"{ply.decided:,}",
            f"{ply.decided_classes:,}",
            f"{ply.captures:,}",
            "" if ply.branching is None else f"{ply.branching:.2f}",
        )
    table.add_section()
    table.add_row(
        "all" if report.complete else "sum",
        f"{report.total:,}",
        f"{report.total_classes:,}",
        f"{report.decided_total:,}",
        f"{report.decided_total_classes:,}",
        style="bold",
    )
    console.print(table)
    order = len(report.symmetries)
    console.print(f"[dim]Classes under the {order} symmetr{'y' if order == 1 else 'ies'} that keep the start.[/dim]")
    if detailed:
        _show_bounds(console, report)
    if report.full is not None:
        verdict = "the same numbers" if report.full.agrees else "[bold red]other numbers[/bold red]"
        console.print(f"Without symmetry: {verdict} at every ply.")
    if report.outside:
        console.print(f"[bold red]{report.outside:,} positions are outside the counted space.[/bold red]")
    elif detailed:
        console.print("Every undecided position lies in the counted space.")
    if report.graph is not None:
        numbers = report.graph
        console.print(
            f"The graph: {numbers.nodes:,} classes, {numbers.edges:,} edges, {numbers.components:,} strongly connected "
            f"components (the largest has {numbers.largest_component:,} classes, the longest path "
            f"{numbers.condensation_depth:,} steps); the start can recur from {numbers.returning:,}; "
            f"no class is more than {numbers.eccentricity} plies away."
        )
    if report.next_ply is not None:
        wanted = report.next_ply
        console.print(
            f"[dim]Ply {wanted.ply} would take {wanted.children:,} children, {wanted.children_bytes / 1e9:.2f} GB, "
            f"and about {wanted.positions_bytes / 1e9:.2f} GB for its positions.[/dim]"
        )
    if report.children_per_cpu_second:
        console.print(
            f"[dim]{report.children:,} children in {report.cpu_seconds:.1f} s of processor time, "
            f"{report.children_per_cpu_second / 1e6:.1f} million a second.[/dim]"
        )


def _show_bounds(console: Console, report: CensusReport) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title="Against the bound", title_justify="left", title_style="bold")
    for name in ("attackers", "defenders", "reached", "bound", "ratio"):
        table.add_column(name, justify="right")
    for pair in report.material:
        ratio = "" if pair.ratio is None else f"{pair.ratio:.6f}"
        table.add_row(str(pair.attackers), str(pair.defenders), f"{pair.reached:,}", f"{pair.bound:,}", ratio)
    table.add_section()
    table.add_row("all", "", f"{report.total:,}", f"{report.bound:,}", f"{report.ratio:.6f}", style="bold")
    console.print(table)
