"""``tablut census``: count the reachable positions, ply by ply, and verify a stored census."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from tablut.cli.options import ResumeOption, SchedulerOption, VariantOption, threads_option, variant_option
from tablut.cli.people import PeopleConsole, Table, label, number
from tablut.cli.runtime import EXIT_NO, Interrupted, Reply, command, interruptible, progress, tabular, with_sub_commands
from tablut.errors import InputError, MachineError
from tablut.results import bfile
from tablut.variants import load_variant
from tablut.work.progress import plural, rate_text, seconds_text, size_text
from tablut.work.run import ending_orderly

if TYPE_CHECKING:
    from collections.abc import Callable

    from counting.census.report import CensusReport, CountedPly
    from counting.census.verification import VerifyReport

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.callback(invoke_without_command=True)
@with_sub_commands
@tabular
def census_command(
    variant: VariantOption = "ashton",
    plies: Annotated[
        int | None, typer.Option(min=0, max=999, help="Number of plies. [default: 3 without --all]")
    ] = None,
    all_plies: Annotated[
        bool, typer.Option("--all", help="Continue until no new positions appear (feasible on small boards only).")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Count a second time without symmetry, and compare.")] = False,
    store: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder for the positions. [default: a temporary one]")
    ] = None,
    resume: ResumeOption = False,  # noqa: ARG001
    memory: Annotated[
        int, typer.Option(metavar="MIB", min=1, help="Memory limit in MiB; without --store also the disk limit.")
    ] = 4096,
    threads: Annotated[int, threads_option("Number of tasks that run in parallel.")] = 1,
    scheduler: SchedulerOption = None,
    disk: Annotated[
        float | None,
        typer.Option(
            metavar="GIB", min=0.001, help="Disk limit in GiB; a ply that needs more is made in several passes."
        ),
    ] = None,
    passes: Annotated[
        int, typer.Option(min=1, max=4096, help="Minimum number of passes over the last ply; bins are not divided.")
    ] = 1,
    count_last: Annotated[
        bool, typer.Option("--count-last", help="Count the last ply without storing its positions.")
    ] = False,
    part: Annotated[
        str, typer.Option(metavar="K/N", help="With --count-last: part K of N of the ply, chosen by a hash.")
    ] = "1/1",
    again: Annotated[
        bool, typer.Option("--again", help="With --count-last: repeat an earlier count, and compare.")
    ] = False,
    against_bounds: Annotated[
        bool,
        typer.Option(
            "--against-bounds", help="Compare with the bound by material (always done for a complete census)."
        ),
    ] = False,
    graph: Annotated[
        str | None, typer.Option(metavar="FILE", help="Parquet file for the state graph of a complete census.")
    ] = None,
    as_bfile: Annotated[
        bool, typer.Option("--bfile", help="Print the numbers of new positions as a b-file instead.")
    ] = False,
) -> Reply:
    """Count the positions reachable from the start exactly, ply by ply.

    A position is a placement with the side to move. Classes are orbits under the symmetries that
    leave the start in place. Decided positions are counted but not expanded.
    """
    from counting.census.counted import CountWish
    from counting.census.report import Ply, census
    from counting.census.search import Resources, TooLargeError

    if plies is not None and all_plies:
        raise InputError("cannot be combined", subject="--plies and --all", remedy="give only one of them")
    if graph is not None and not all_plies:
        raise InputError("is available only for a complete census", subject="--graph", remedy="add --all")
    if scheduler is not None and store is None:
        raise InputError(
            "needs a folder that the workers see under the same name", subject="--scheduler", remedy="add --store DIR"
        )
    if not count_last and (again or part != "1/1"):
        raise InputError(
            "apply only to a ply that is not stored", subject="--part and --again", remedy="add --count-last"
        )
    wish = CountWish.part(part, passes, again=again)
    rules = load_variant(variant)
    partial: list[CensusReport] = []

    def reply(report: CensusReport, *, ended: bool) -> Reply:
        detailed = against_bounds or (report.complete and ended)
        show: Callable[[PeopleConsole], None] = lambda console: _show(console, report, detailed)  # noqa: E731
        if as_bfile:
            show = lambda console: console.out(_bfile(report), end="")  # noqa: E731
        return Reply(report, show, 0 if report.holds else EXIT_NO, table=(Ply, report.plies))

    # Without --store, the positions are in a temporary folder.
    with progress("census") as observer, ending_orderly():
        try:
            report = census(
                rules,
                plies=None if all_plies else 3 if plies is None else plies,
                full=full,
                store=store,
                count=wish if count_last else None,
                graph=graph,
                resources=Resources(
                    memory << 20, None if disk is None else int(disk * (1 << 30)), passes, threads, scheduler
                ),
                observer=observer,
                partial=partial.append,
            )
        except (MachineError, TooLargeError, KeyboardInterrupt) as error:
            if not partial:
                raise
            # The results so far are shown first, then the reason for the end.
            go_on = "the same command" if store is not None else "a new run with --store DIR, which can be resumed"
            raise Interrupted(reply(partial[0], ended=False), go_on, error) from None
    return reply(report, ended=True)


def _bfile(report: CensusReport) -> str:
    comments = [
        f"Undecided positions (placements with the side to move) of {report.variant} first reached at ply n",
        f"(tablut census --bfile). {'Complete.' if report.complete else 'Later plies were not counted.'}",
    ]
    return bfile([ply.new for ply in report.plies], 0, comments)


_COLUMNS: Final = ("new", "new_classes", "decided", "decided_classes", "captures")


def _show(console: PeopleConsole, report: CensusReport, detailed: bool) -> None:
    console.print(Text.assemble((report.variant, "bold"), f"  {report.position}"), soft_wrap=True)
    table = Table(
        number("ply"),
        number("new"),
        number("classes", "new, classes"),
        number("decided"),
        number("classes", "decided, classes"),
        number("captures"),
        number("branching"),
    )
    for ply in report.plies:
        branching = "" if ply.branching is None else f"{ply.branching:.2f}"
        table.add(str(ply.ply), *(f"{getattr(ply, name):,}" for name in _COLUMNS), branching)
    totals = report.total, report.total_classes, report.decided_total, report.decided_total_classes
    table.add("all" if report.complete else "sum", *(f"{total:,}" for total in totals), style="bold")
    console.print(table)
    order = len(report.symmetries)
    console.print(
        f"Classes are counted up to the {plural(order, 'symmetry')} that leave the start in place.", style="dim"
    )
    if report.move_limit is not None:
        stops = "; the census stops there, so these are all positions" if report.stopped_by_limit else ""
        console.print(f"The rules end a game after {plural(report.move_limit, 'ply')}{stops}.", soft_wrap=True)
    if report.counted is not None:
        _show_counted(console, report.counted)
    if detailed:
        _show_bounds(console, report)
    if report.full is not None:
        console.print(Text.assemble("Without symmetry: ", _verdict(report.full.agrees), " at each ply."))
    if report.outside:
        console.print(f"{plural(report.outside, 'position')} outside the counted space.", style="bold red")
    elif detailed:
        console.print("Every undecided position lies in the counted space.")
    if (numbers := report.graph) is not None:
        console.print(
            f"State graph: {plural(numbers.nodes, 'class')}, {plural(numbers.edges, 'edge')}, "
            f"{plural(numbers.components, 'strongly connected component')}. The largest component has "
            f"{plural(numbers.largest_component, 'class')}; the longest path has "
            f"{plural(numbers.condensation_depth, 'step')}. The start can recur from {numbers.returning:,}; "
            f"no class is more than {plural(numbers.eccentricity, 'ply')} away."
        )
    if (wanted := report.next_ply) is not None:
        console.print(
            f"Ply {wanted.ply} would have {wanted.children:,} children ({size_text(wanted.children_bytes)}) "
            f"and need about {size_text(wanted.positions_bytes)} for its positions.",
            style="dim",
        )
    if report.children_per_cpu_second:
        console.print(
            f"{report.children:,} children in {seconds_text(report.cpu_seconds)} of processor time: "
            f"{rate_text(report.children_per_cpu_second)}.",
            style="dim",
        )


def _verdict(same: bool) -> Text:
    return Text("the same numbers") if same else Text("other numbers", "bold red")


def _show_counted(console: PeopleConsole, counted: CountedPly) -> None:
    part = "all" if counted.whole else plural(len(counted.hundredths), "hundredth")
    console.print(
        f"Ply {counted.ply} was counted without being stored: {part} of it, in {plural(counted.passes, 'pass')}. "
        f"{plural(counted.new, 'new position')} in {plural(counted.new_classes, 'class')}, {counted.decided:,} decided "
        f"in {counted.decided_classes:,}, from {counted.children:,} children.",
        soft_wrap=True,
    )
    for each in counted.estimates:
        console.print(
            f"Estimate for the whole ply: {each.name.replace('_', ' ')} {each.value:,} (95 %: {each.low:,} to "
            f"{each.high:,})."
        )
    if counted.counted_again:
        again = f"Counted again, {plural(len(counted.counted_again), 'hundredth')}: "
        console.print(Text.assemble(again, _verdict(counted.agrees), "."))


def _show_bounds(console: PeopleConsole, report: CensusReport) -> None:
    console.print("Comparison with the bound", style="bold")
    table = Table(*map(number, ("attackers", "defenders", "reached", "bound", "ratio")))
    for pair in report.material:
        ratio = "" if pair.ratio is None else f"{pair.ratio:.6f}"
        table.add(str(pair.attackers), str(pair.defenders), f"{pair.reached:,}", f"{pair.bound:,}", ratio)
    table.add("all", "", f"{report.total:,}", f"{report.bound:,}", f"{report.ratio:.6f}", style="bold")
    console.print(table)


# -- verification ------------------------------------------------------------------------


@app.command("verify")
@command
def verify_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Folder of a census, as given with --store.")],
    variant: Annotated[
        str | None,
        variant_option("Rule set, needed if it is not a shipped one. [default: that of the store]"),
    ] = None,
    parents: Annotated[
        bool,
        typer.Option(
            "--parents",
            help="Expand all positions again, and check that each has a parent and that no child is missing.",
        ),
    ] = False,
    memory: Annotated[int, typer.Option(metavar="MIB", min=256, help="Memory limit for positions in MiB.")] = 2048,
) -> Reply:
    """Verify a stored census.

    Its files are checked, as far as possible by other code than that of the census. Exit code 1: an
    error was found.
    """
    from counting.census.verification import verify_census

    rules = None if variant is None else load_variant(variant)
    with progress("census verify") as observer:
        # The verification writes nothing, so it can be abandoned after an interrupt.
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
        console.print("The store contains no count without symmetry.", style="dim")
    elif report.without_symmetry != report.plies:
        console.print(f"The count without symmetry covers {report.without_symmetry} of {plural(report.plies, 'ply')}.")
    if report.counted is not None and report.counted >= report.plies:
        console.print(f"Ply {report.counted} was counted without being stored, so only its tallies can be checked.")
    console.print(
        f"{plural(report.positions_checked, 'position')} in {plural(report.classes_checked, 'class')}, "
        f"{plural(report.plies, 'ply')}: {plural(report.failures, 'failure')}. "
        f"{report.published[0].upper() + report.published[1:]}.",
        soft_wrap=True,
    )
