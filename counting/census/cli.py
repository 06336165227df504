"""The command ``tablut census``, which counts the reachable positions ply by ply and verifies stored censuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tablut.cli.command import Group
from tablut.cli.options import (
    LongWorkRequest,
    RulesRequest,
    memory_field,
    store_argument,
    threads_field,
    variant_field,
)
from tablut.cli.people import PeopleConsole, Table, label, number
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import EXIT_NO, Reply, interruptible, progress
from tablut.errors import InputError, MachineError
from tablut.results import bfile
from tablut.variants import load_variant
from tablut.work.progress import plural, rate_text, seconds_text, size_text
from tablut.work.run import ending_orderly

if TYPE_CHECKING:
    from collections.abc import Callable

    from counting.census.report import CensusReport, CountedPly
    from counting.census.verification import VerifyReport

app = Group()


class _CountedRequest(RulesRequest, LongWorkRequest):
    """The part of a request shared by `census` and `census count`: how to count, and what to print."""

    memory: int = memory_field(4096, "Memory limit and, without --store, disk limit.")
    disk: float | None = Option(
        None,
        "Disk limit; a ply that does not fit is made in several passes. [default: the free space]",
        metavar="GIB",
        least=0.001,
    )
    passes: int = Option(1, "Minimum number of passes over the last ply.", least=1, most=4096)
    against_bounds: bool = Option(
        False, "Compare the counts with the bound by material (always done for a complete census)."
    )
    as_bfile: bool = Option(False, "Print the numbers of new positions as a b-file instead.", "--bfile", form=True)
    store: str | None = Option(
        None,
        "Folder in which positions are stored, so that a run can be resumed. [default: a temporary folder]",
        metavar="DIR",
    )
    threads: int = threads_field("Number of tasks that run in parallel.")

    def reply(self, report: CensusReport, *, ended: bool) -> Reply:
        """Return the reply that prints a report. ``ended`` is false if the run was stopped early."""
        from counting.census.report import Ply

        detailed = self.against_bounds or (report.complete and ended)
        show: Callable[[PeopleConsole], None] = lambda console: _show(console, report, detailed)  # noqa: E731
        if self.as_bfile:
            show = lambda console: console.out(_bfile(report), end="")  # noqa: E731
        return Reply(report, show, 0 if report.holds else EXIT_NO, table=(Ply, report.plies))

    def run(self, plies: int | None, **wishes: Any) -> Reply:
        """Run a census. After an error or an interrupt, show the results so far, and then the reason for stopping."""
        from counting.census.report import census
        from counting.census.search import Resources, TooLargeError

        partial: list[CensusReport] = []
        disk = None if self.disk is None else int(self.disk * (1 << 30))
        with progress("census") as observer, ending_orderly():
            try:
                report = census(
                    self.rules,
                    plies=plies,
                    store=self.store,
                    **wishes,
                    resources=Resources(self.memory << 20, disk, self.passes, self.threads, self.scheduler),
                    observer=observer,
                    partial=partial.append,
                )
            except (MachineError, TooLargeError, KeyboardInterrupt) as error:
                if not partial:
                    raise
                raise self.interrupted(self.reply(partial[0], ended=False), error) from None
        return self.reply(report, ended=True)


class CensusRequest(_CountedRequest):
    """The request of ``tablut census``."""

    plies: int | None = Option(None, "Number of plies. [default: 3 without --all]", least=0, most=999)
    all_plies: bool = Option(False, "Continue until no new positions appear (feasible on small boards only).", "--all")
    graph: str | None = Option(None, "NumPy archive (.npz) for the state graph of a complete census.", metavar="FILE")
    full: bool = Option(False, "Count a second time without symmetry, and compare the numbers.")


@app.default(table=True)
def census_command(request: CensusRequest) -> Reply:
    """Count the positions that can be reached from the start, ply by ply.

    All counts are exact. A position is a placement with the side to move. Classes are orbits under
    the symmetries that leave the start in place. Decided positions are counted but not expanded.
    """
    plies, graph = request.plies, request.graph
    if plies is not None and request.all_plies:
        raise InputError("cannot be combined", subject="--plies and --all", remedy="give only one of them")
    if graph is not None and not request.all_plies:
        raise InputError("is available only for a complete census", subject="--graph", remedy="add --all")
    limit = None if request.all_plies else 3 if plies is None else plies
    return request.run(limit, graph=graph, full=request.full)


class CensusCountRequest(_CountedRequest):
    """The request of ``tablut census count``."""

    plies: int = Option(3, "Number of plies.", least=1, most=999)
    part: str = Option("1/1", "Part K of N of the last ply, chosen by a hash.", metavar="K/N")
    again: bool = Option(False, "Repeat an earlier count, and compare the numbers.")


@app.command("count", table=True)
def count_command(request: CensusCountRequest) -> Reply:
    """Count the positions of the last ply without storing them.

    The earlier plies are counted and stored in the same way as by `tablut census`. If only a part of the last ply is
    counted (--part), the numbers for the whole ply are estimated. With --again, the exit code is 1 if the numbers
    differ from those of the earlier count.
    """
    from counting.census.counted import CountRequest

    wanted = CountRequest.part(request.part, request.passes, again=request.again)
    return request.run(request.plies, count=wanted)


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


class VerifyCensusRequest(Request):
    """The request of ``tablut census verify``."""

    store: str = store_argument("Folder of a census, as given with --store.")
    variant: str | None = variant_field(
        help="Rule set; required unless it is built in. [default: the rule set of the store]"
    )
    parents: bool = Option(
        False, "Expand all positions again, and check that each has a parent and that no child is missing."
    )
    memory: int = memory_field(2048, "Memory limit for positions.", least=256)


@app.command("verify")
def verify_command(request: VerifyCensusRequest) -> Reply:
    """Verify a stored census.

    The files are checked, as far as possible, by code that the census itself does not use. The exit
    code is 1 if an error is found.
    """
    from counting.census.verification import verify_census

    rules = None if request.variant is None else load_variant(request.variant)
    memory = request.memory << 20
    with progress("census verify") as observer:
        # The verification writes nothing, so it can be abandoned after an interrupt.
        report = interruptible(
            lambda: verify_census(request.store, rules, parents=request.parents, memory=memory, observer=observer)
        )
    return Reply(report, lambda console: _show_verified(console, report), EXIT_NO if report.failures else 0)


def _show_verified(console: PeopleConsole, report: VerifyReport) -> None:
    console.print(f"{report.variant}  {report.store}", soft_wrap=True)
    columns = label("check"), number("cases"), number("failures")
    console.table(columns, ((check.name, f"{check.cases:,}", f"{check.failures:,}") for check in report.checks))
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
