"""``tablut probe``, and the sub-commands of ``tablut tablebase`` except ``build``."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from retrograde.answers import ProbeResult, RatedMoveResult, TierResult, info_of, probe_result
from retrograde.cli.making import build_command, show_info
from tablut.board import Board
from tablut.cli.options import (
    PositionOption,
    StoreArgument,
    material_option,
    read_materials,
    read_position,
    threads_option,
    variant_option,
)
from tablut.cli.people import PeopleConsole, Table, draw_board, label, number
from tablut.cli.runtime import EXIT_NO, Reply, command, interruptible, progress, tabular, typed
from tablut.cli.streams import complain
from tablut.errors import InputError
from tablut.position import NARROW
from tablut.prober import MissingTableError
from tablut.results import Result
from tablut.variants import Variant, load_variant
from tablut.work.machine import physical_memory
from tablut.work.progress import plural

if TYPE_CHECKING:
    from retrograde.tablebase.probing import Tablebase
    from retrograde.tablebase.querying import TableQuery
    from retrograde.tablebase.store import Store
    from retrograde.verification.findings import Verification

app = typer.Typer(
    rich_markup_mode=None, add_completion=False, help="Build, describe, query and verify endgame tablebases."
)
app.command("build")(build_command)


# -- info ----------------------------------------------------------------------------------


@app.command("info")
@tabular
def info_command(store: StoreArgument) -> Reply:
    """Describe a tablebase: rules, tiers, values, sizes."""
    from retrograde.tablebase.probing import open_tablebase

    info = info_of(open_tablebase(store))
    return Reply(info, lambda console: show_info(console, info), table=(TierResult, info.tiers))


# -- verify --------------------------------------------------------------------------------


@app.command("verify")
@command
def verify_command(
    store: StoreArgument,
    quick: Annotated[bool, typer.Option("--quick", help="Only compare the files with their digests.")] = False,
    sample: Annotated[
        int | None,
        typer.Option(min=0, help="Number of positions to play out by the naive rules. [default: 20; with --quick, 0]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 1,
    threads: Annotated[int, threads_option("Number of tasks that run in parallel.")] = 1,
    memory: Annotated[
        int,
        typer.Option(
            metavar="MIB", min=1, help="Memory limit for unpacked tiers in MiB; beyond it, they are kept on disk."
        ),
    ] = 4096,
    record: Annotated[
        Path | None, typer.Option(help="File that records verified tiers, which later runs skip.", show_default=False)
    ] = None,
) -> Reply:
    """Verify the stored values of a tablebase.

    Every value is derived again from the moves of its position by code independent of the solver. The two share only
    the move generator and the ranking of positions. A sample of wins, losses and draws is played out by the naive
    rules. The command also compares all files with their digests and the values with published ones, and proves that
    the index contains each position exactly once. With --record, an interrupted run resumes with the tiers that are not
    yet verified; changed tiers are verified again. Exit code 1: an error was found.
    """
    from retrograde.tablebase.store import open_store
    from retrograde.verification.verifying import verify

    if quick and sample:
        raise InputError("--quick checks only the files", subject="--quick and --sample", remedy="choose one of them")
    if quick and record is not None:
        raise InputError(
            "--quick verifies no values to record", subject="--quick and --record", remedy="choose one of them"
        )
    open_store(store).check_complete()
    try:
        with progress("verify") as observer:
            report = interruptible(
                lambda: verify(
                    store,
                    quick=quick,
                    sample=20 if sample is None else sample,
                    seed=seed,
                    threads=threads,
                    memory=memory << 20,
                    record=record,
                    observer=observer,
                )
            )
    except KeyboardInterrupt:
        way = "continue with" if record else "start again (--record FILE would let it resume)"
        complain(f"interrupted; {way}: {typed()}")
        raise
    code = EXIT_NO if report.failures else 0
    return Reply(report, lambda console: _show_verified(console, report), code, seed=None if quick else seed)


def _show_verified(console: PeopleConsole, report: Verification) -> None:
    console.print(f"{report.variant}: {plural(report.files_checked, 'file')} compared with their digests")
    if not report.quick:
        console.print(f"{plural(report.positions_checked, 'value')} verified from their moves")
        if report.verified_before:
            tiers, values = ", ".join(report.verified_before), sum(report.verified_before.values())
            console.print(f"{values:,} verified earlier, according to the record: {tiers}", soft_wrap=True)
        searched, followed = report.samples["searched"], report.samples["followed"]
        played = ", ".join(f"{count} {kind}" for kind, count in report.played.items())
        console.print(f"positions searched: {searched}; played out by the naive rules: {followed} ({played})")
    names = report.published
    if names["same"]:
        console.print(f"as published: {', '.join(names['same'])}", soft_wrap=True)
    if names["unknown"]:
        console.print(f"not among the published: {', '.join(names['unknown'])}", soft_wrap=True)
    for wrong in report.failed:
        place = f"  {wrong.position}" if wrong.position else ""
        console.print(Text.assemble((wrong.where, "bold red"), f"  {wrong.what}{place}"), soft_wrap=True)
    if report.failures > len(report.failed):
        console.print(f"and {report.failures - len(report.failed):,} more")
    if report.failures:
        console.print("errors found", style="bold red")
    else:
        console.print("no errors found", style="bold green")


# -- probe ---------------------------------------------------------------------------------


@tabular
def probe_command(
    store: Annotated[
        str | None,
        typer.Argument(metavar="STORE", help="Folder of the tablebase. [default: a shipped one]", show_default=False),
    ] = None,
    position: PositionOption = None,
    variant: Annotated[
        str | None, variant_option("Name of a rule set, or a TOML file. [default: that of STORE, or ashton]")
    ] = None,
) -> Reply:
    """Look up a position in a tablebase, with the value of each move.

    Values are wins, losses and draws with their distances to the end in plies. The position counts
    as the first one of its game, with all plies of a move limit left.
    """
    tablebase = _tablebase(store, variant)
    board = Board(tablebase.variant, read_position(position, tablebase.variant))
    try:
        probed = probe_result(tablebase, board, str(tablebase.store.root))
    except MissingTableError as error:
        raise _missing(error, board, tablebase, store, variant) from None
    return Reply(probed, lambda console: _show_probed(console, board, probed), table=(RatedMoveResult, probed.moves))


def _missing(
    error: MissingTableError, board: Board, tablebase: Tablebase, store: str | None, name: str | None
) -> InputError:
    """Return the error for missing material. It names the command that builds it, or explains that it is impossible."""
    game, (attackers, defenders) = tablebase.variant, board.position.material
    if attackers > game.attackers or defenders > game.defenders:
        return InputError(
            f"is impossible ({', '.join(board.status().names)})",
            subject=f"position '{board.position}'",
            remedy=f"choose another position, since no tablebase of {game.name} has a tier {attackers}v{defenders}",
        )
    words = ["tablut", "tablebase", "build", "-v", name or game.name, "--men", str(1 + attackers + defenders)]
    words += ["--store", f"tablebase-{game.name}" if store is None else store]
    return InputError(str(error), remedy=f"build it with: {shlex.join(words)}")


def _tablebase(store: str | None, name: str | None) -> Tablebase:
    from retrograde.tablebase.probing import open_tablebase, prober_for

    if store is not None and name is None:
        return open_tablebase(store)
    game = load_variant(name or "ashton")
    tablebase = prober_for(game, store)
    if tablebase is None:
        raise InputError(
            "has no shipped tablebase",
            subject=f"variant {game.name!r}",
            remedy=f"make one and give its folder: {_making(game, name or game.name)}",
        )
    return tablebase


def _making(game: Variant, name: str) -> str:
    """Return a command that makes a tablebase: of the whole game if it fits into memory, otherwise of endings."""
    from retrograde.solver.solution import memory_needed

    memory = physical_memory()
    if memory is not None and memory_needed(game) <= memory:
        return shlex.join(["tablut", "solve", "-v", name, "--store", f"solution-{game.name}"])
    men = "3" if game.size > NARROW else "4"
    return shlex.join(["tablut", "tablebase", "build", "-v", name, "--men", men, "--store", f"tablebase-{game.name}"])


def _show_probed(console: PeopleConsole, board: Board, probed: ProbeResult) -> None:
    console.print(draw_board(board.variant, board.position.rows()))
    console.print(f"{probed.variant}  {probed.position}", soft_wrap=True)
    console.print(Text.assemble(f"{board.turn} to move: ", (_words(probed.wdl, probed.dtm), "bold")))
    if not probed.moves:
        console.print(f"{board.turn} has no legal move")
        return
    table = Table(label("move"), label("value"), header=False)
    for rated in probed.moves:
        table.add(rated.move, _words(rated.wdl, rated.dtm))
    console.print(table)


def _words(wdl: str, dtm: int | None) -> str:
    return wdl if dtm is None else f"{wdl} in {dtm} {'ply' if dtm == 1 else 'plies'}"


# -- query -------------------------------------------------------------------------------


class _Position(Result):
    position: str
    wdl: str
    dtm: int | None


class _Found(Result):
    variant: str
    store: str
    found: int
    positions: list[_Position]


@app.command("query")
@tabular
def query_command(
    store: StoreArgument,
    wdl: Annotated[
        Literal["win", "draw", "loss", "unresolved"] | None, typer.Option(help="Value for the side to move.")
    ] = None,
    side: Annotated[Literal["white", "black"] | None, typer.Option(help="Side to move.")] = None,
    shortest: Annotated[
        int | None, typer.Option("--min-plies", min=0, max=20_000, help="Minimum distance to the end in plies.")
    ] = None,
    longest: Annotated[
        int | None, typer.Option("--max-plies", min=0, max=20_000, help="Maximum distance to the end in plies.")
    ] = None,
    material: Annotated[
        list[str] | None, material_option("Attackers and defenders, such as 2v1; may be repeated.")
    ] = None,
    zugzwang: Annotated[
        Literal["full", "half", "any"] | None,
        typer.Option(help="Mutual zugzwangs: either side to move loses (full), or having to move costs a draw (half)."),
    ] = None,
    order: Annotated[Literal["index", "longest", "shortest"], typer.Option(help="Order of the positions.")] = ("index"),
    most: Annotated[
        int, typer.Option("--most", "-n", min=0, max=10**6, help="Maximum number of positions to list.")
    ] = 20,
) -> Reply:
    """List positions of a tablebase by their values.

    For example the longest wins, the draws with some material, or mutual zugzwangs. One position of
    each class under the symmetries of the board is listed; all matching classes are counted.
    """
    from retrograde.tablebase.querying import TableQuery
    from retrograde.tablebase.store import open_store

    if shortest is not None and longest is not None and shortest > longest:
        raise InputError(f"must not be greater than --max-plies {longest}", subject=f"--min-plies {shortest}")
    materials = read_materials(material)
    files = open_store(store)
    found = _ask(files, TableQuery(wdl, side, shortest, longest, materials, zugzwang, order), most)
    return Reply(found, lambda console: _show_found(console, found), table=(_Position, found.positions))


def _ask(files: Store, query: TableQuery, most: int) -> _Found:
    from retrograde.tablebase.querying import list_positions

    with progress("query") as observer:
        observer.begin("entries")
        listing = interruptible(partial(list_positions, files, query, most, observer.advance))
    return _Found(
        variant=files.variant.name,
        store=str(files.root),
        found=listing.found,
        positions=[_Position(position=str(one.position), wdl=one.wdl, dtm=one.dtm) for one in listing.positions],
    )


def _show_found(console: PeopleConsole, found: _Found) -> None:
    if found.positions:
        table = Table(label("value"), number("plies"), label("position"))
        for one in found.positions:
            table.add(one.wdl, "" if one.dtm is None else str(one.dtm), one.position)
        console.print(table)
    more = found.found - len(found.positions)
    console.print(f"{found.variant}: {plural(found.found, 'position')} up to symmetry", style="dim")
    if more:
        console.print(f"and {more:,} more (list them with --most)", style="dim")
