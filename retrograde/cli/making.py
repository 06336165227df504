"""``tablut tablebase build`` and ``tablut solve``: compute values and store them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tablut.cli.options import SchedulerOption, VariantOption, material_option, read_materials, threads_option
from tablut.cli.people import PeopleConsole, Table, label, number
from tablut.cli.runtime import Reply, command, interruptible, progress, tabular, typed
from tablut.cli.streams import complain
from tablut.errors import InputError, TablutError
from tablut.variants import Variant, load_variant
from tablut.work.files import store_path
from tablut.work.machine import physical_memory
from tablut.work.progress import plural

if TYPE_CHECKING:
    from retrograde.answers import TablebaseInfo
    from retrograde.solver.report import Line, SideCounts, SolveReport

_LONG = 10
"""Estimated time of a build, in seconds, from which on its cost is printed in advance."""


@tabular
def build_command(
    men: Annotated[int | None, typer.Option(min=2, help="Maximum number of men, the king included.")] = None,
    material: Annotated[
        list[str] | None,
        material_option("Attackers and defenders, such as 5v1, with all material after captures; may be repeated."),
    ] = None,
    variant: VariantOption = "ashton",
    store: Annotated[
        str | None,
        typer.Option(metavar="STORE", help="Folder of the tablebase. [default: ./tablebase-NAME]", show_default=False),
    ] = None,
    threads: Annotated[int, threads_option("Number of threads for each tier.")] = 1,
    memory: Annotated[
        int, typer.Option(metavar="MIB", min=1, help="Memory limit in MiB; larger tiers are built in slices.")
    ] = 4096,
    scheduler: SchedulerOption = None,
) -> Reply:
    """Build a tablebase, or add tiers to one.

    All positions with up to --men men, or with the material given, are solved and stored with value
    and distance to the end. Stored tiers are kept, so an interrupted build resumes, and a build
    with more men or other material adds to them. A long build first prints its cost and the tiers
    that it builds in slices. The workers of --scheduler execute code from this program: use only a
    cluster of your own.
    """
    from retrograde.answers import TierResult, info_of
    from retrograde.solver.build import build_tablebase
    from retrograde.solver.tiers import check_build
    from retrograde.tablebase.probing import open_tablebase
    from retrograde.tablebase.store import is_store, open_store

    rules, materials = load_variant(variant), read_materials(material)
    if men is None and not materials:
        raise InputError(
            "one of them is required; --men 4 builds all tiers of at most four men", subject="--men or --material"
        )
    root = store_path(f"tablebase-{rules.name}" if store is None else store)
    built = open_store(root).tiers() if is_store(root) else []
    estimate = check_build(rules, men, memory << 20, root, built, materials=materials)
    if estimate.seconds >= _LONG:
        complain(f"{rules.name}: {estimate}")
    try:
        with progress("build") as observer:
            interruptible(
                lambda: build_tablebase(
                    root,
                    rules,
                    men,
                    materials=materials,
                    threads=threads,
                    memory=memory << 20,
                    scheduler=scheduler,
                    observer=observer,
                )
            )
    except KeyboardInterrupt:
        _say_what_is_kept(root)
        raise
    info = info_of(open_tablebase(root))

    def show(console: PeopleConsole) -> None:
        show_info(console, info)
        console.print(f"stored in {root}", soft_wrap=True)

    return Reply(info, show, table=(TierResult, info.tiers))


def _say_what_is_kept(store: Path | str | None) -> None:
    """Print after an interrupt which tiers are stored, and how to resume."""
    from retrograde.tablebase.store import is_store, open_store, tier_name
    from retrograde.tablebase.writer import sweep

    if store is None:
        complain(f"interrupted; nothing is kept (--store DIR would allow resuming); start again: {typed()}")
    elif is_store(root := Path(store)):
        with suppress(TablutError, OSError):
            # Remove the temporary files of the abandoned thread, as the next run would do.
            sweep(root)
        finished = ", ".join(map(tier_name, open_store(root).tiers())) or "none"
        complain(f"interrupted; finished tiers, which are kept: {finished}; continue with: {typed()}")


def show_info(console: PeopleConsole, info: TablebaseInfo) -> None:
    """Print the tiers of a tablebase as a table."""
    more = any(1 + tier.attackers + tier.defenders > info.max_men for tier in info.tiers)
    what = f"  tablebase, all positions with at most {info.max_men} men" + (", some tiers with more" if more else "")
    console.print(Text.assemble((info.variant, "bold"), what))
    neither = "unresolved" if any(tier.unresolved for tier in info.tiers) else "draw"
    numbers = ("positions", "classes", "win", neither, "loss", "longest", "bytes")
    table = Table(label("tier"), *map(number, numbers))
    for tier in info.tiers:
        counts = (tier.positions, tier.classes, tier.win, tier.draw + tier.unresolved, tier.loss)
        table.add(
            f"{tier.attackers}v{tier.defenders}",
            *(f"{count:,}" for count in counts),
            str(tier.max_dtm),
            f"{tier.bytes:,}",
        )
    table.add("all", f"{info.positions:,}", f"{info.classes:,}", "", "", "", "", f"{info.bytes:,}", style="bold")
    console.print(table)
    note = f"Tier: attackers v defenders. Win, {neither} and loss are for the side to move, counted in classes."
    console.print(note, style="dim")
    if info.positions:
        console.print(f"{info.bytes / info.positions:.4f} bytes for each position")
    if info.missing:
        console.print(f"not built yet: {', '.join(info.missing)}")


# -- solve -------------------------------------------------------------------------------


@command
def solve_command(
    variant: VariantOption = "ashton",
    store: Annotated[
        str | None,
        typer.Option(
            metavar="STORE",
            help="Folder in which all values are stored, and from which an interrupted run resumes.",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[int, threads_option("Number of tasks that run in parallel.")] = 1,
    memory: Annotated[
        int | None, typer.Option(metavar="MIB", min=1, help="Memory limit in MiB. [default: all memory of the machine]")
    ] = None,
) -> Reply:
    """Solve a small board completely: find the value of every position reachable from the start.

    Each position counts as the first one of its game; under a move limit, a win must end within the
    limit. Distances are in plies to the end under best play.
    """
    from retrograde.solver.report import solve_report
    from retrograde.solver.solution import memory_needed

    rules = load_variant(variant)
    needed = memory_needed(rules)
    limit = memory << 20 if memory else physical_memory()
    if limit is not None and needed > limit:
        raise InputError(
            f"needs about {needed / 2**20:,.0f} MiB of memory, but only {limit / 2**20:,.0f} MiB are available",
            subject=f"variant {rules.name}",
            remedy="choose a smaller board (see tablut variants), or use tablut tablebase build",
        )
    try:
        with progress("solve") as observer:
            report, _ = interruptible(lambda: solve_report(rules, threads=threads, store=store, observer=observer))
    except KeyboardInterrupt:
        _say_what_is_kept(store)
        raise
    return Reply(report, lambda console: _show_solution(console, rules, report))


def _show_solution(console: PeopleConsole, variant: Variant, report: SolveReport) -> None:
    from tablut.cli.people import draw_board
    from tablut.position import Position

    console.print(draw_board(variant, variant.start))
    ends = "" if report.dtm is None else f" in {plural(report.dtm, 'ply')}"
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
        f"\nThe start reaches {plural(report.positions, 'position')}, {plural(report.classes, 'class')} under the "
        f"{plural(len(report.symmetries), 'symmetry')} of the start; the bound counts {report.bound:,}."
    )
    zugzwangs = report.mutual_zugzwangs
    console.print(
        f"Mutual zugzwangs: {zugzwangs['full']:,} lost by either side to move, {zugzwangs['half']:,} that cost a draw."
    )
    if report.longest is not None:
        longest: Line = report.longest
        console.print(f"\nFarthest from the end, {plural(report.max_dtm, 'ply')}:  {longest.position}", soft_wrap=True)
        console.print(draw_board(variant, Position.parse(longest.position, variant.size).rows()))
        console.print(" ".join(longest.line), soft_wrap=True)


def _counts(counts: SideCounts) -> tuple[int, int, int]:
    return counts.win, counts.draw + counts.unresolved, counts.loss
