"""The commands ``tablut tablebase …``, ``tablut probe`` and ``tablut solve``, which compute and query exact values."""

from __future__ import annotations

import shlex
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from retrograde.answers import ProbeResult, RatedMoveResult, TablebaseInfo, TierResult, info_of, probe_result
from tablut.board import Board
from tablut.cli.command import Group, command
from tablut.cli.options import (
    RulesRequest,
    check_range,
    material_field,
    memory_field,
    position_field,
    read_materials,
    read_position,
    scheduler_field,
    seed_field,
    store_argument,
    threads_field,
    variant_field,
)
from tablut.cli.people import PeopleConsole, Table, label, number
from tablut.cli.requests import Argument, Option, Request
from tablut.cli.runtime import EXIT_NO, Reply, interruptible, progress, typed
from tablut.cli.streams import complain
from tablut.errors import InputError, TablutError
from tablut.indexing.values import Wdl
from tablut.position import NARROW, Position, SideName
from tablut.prober import MissingTableError
from tablut.results import Result
from tablut.variants import Variant, load_variant, shipped_name
from tablut.work.files import store_path
from tablut.work.machine import physical_memory
from tablut.work.progress import plural, size_text

if TYPE_CHECKING:
    from retrograde.solver.solver_report import SideCounts, SolveReport
    from retrograde.tablebase.probing import Tablebase
    from retrograde.verification.verifying import Verification

app = Group(help="Build, describe, query and verify endgame tablebases.")

_LONG = 10
"""Minimum estimated time of a build, in seconds, for its cost to be printed in advance."""
_MEMORY = 4096
"""Memory limit of a build in MiB."""


# -- build and info ------------------------------------------------------------------------


class BuildRequest(RulesRequest):
    """The request of ``tablut tablebase build``."""

    men: int | None = Option(None, "Maximum number of men, including the king.", least=2)
    material: tuple[str, ...] = material_field(
        "Attackers and defenders, such as 5v1, with all material that captures lead to; may be repeated."
    )
    store: str | None = Option(None, "Folder of the tablebase. [default: ./tablebase-NAME]", metavar="STORE")
    threads: int = threads_field("Number of threads for each tier.")
    memory: int = memory_field(_MEMORY, "Memory limit; larger tiers are built in slices.")
    scheduler: str | None = scheduler_field()


@app.command("build", table=True)
def build_command(request: BuildRequest) -> Reply:
    """Build a tablebase, or add tiers to one.

    All positions with up to --men men, or with the material given, are solved and stored with their
    values and distances to the end. Stored tiers are kept, so an interrupted build resumes, and a
    build with more men or other material adds tiers. A long build first prints its cost and the
    tiers that it builds in slices. The workers of the --scheduler cluster execute code that this
    program sends them, so use only a cluster that you trust.
    """
    from retrograde.solver.build import build_tablebase
    from retrograde.solver.tier_graph import check_build
    from retrograde.tablebase.store import is_store, open_store

    rules, men, memory = request.rules, request.men, request.memory << 20
    materials = read_materials(request.material)
    if men is None and not materials:
        remedy = "add --men 4, which builds all tiers of at most four men"
        raise InputError("one of them is required", subject="--men or --material", remedy=remedy)
    root = store_path(f"tablebase-{rules.name}" if request.store is None else request.store)
    built = open_store(root).tiers() if is_store(root) else []
    estimate = check_build(rules, men, memory, root, built, materials=materials)
    if estimate.seconds >= _LONG:
        complain(f"{rules.name}: {estimate}")
    try:
        with progress("build") as observer:
            files = interruptible(
                lambda: build_tablebase(
                    root,
                    rules,
                    men,
                    materials=materials,
                    threads=request.threads,
                    memory=memory,
                    scheduler=request.scheduler,
                    observer=observer,
                )
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_what_is_kept(root)) from None
    info = info_of(files)

    def show(console: PeopleConsole) -> None:
        _show_info(console, info)
        console.print(f"stored in {root}", soft_wrap=True)

    return Reply(info, show, table=(TierResult, info.tiers))


def _what_is_kept(store: Path | str | None) -> str:
    """Return a message about an interrupt that names the stored tiers and the command that resumes."""
    from retrograde.tablebase.store import is_store, open_store, tier_name
    from retrograde.tablebase.writer import sweep

    if store is None:
        return f"interrupted; nothing is kept (--store DIR would allow resuming); start again: {typed()}"
    if is_store(root := Path(store)):
        with suppress(TablutError, OSError):
            # Remove the temporary files of the abandoned thread now, instead of leaving them for the next run.
            sweep(root)
        finished = ", ".join(map(tier_name, open_store(root).tiers())) or "none"
        return f"interrupted; finished tiers, which are kept: {finished}; continue with: {typed()}"
    return "interrupted"


def _show_info(console: PeopleConsole, info: TablebaseInfo) -> None:
    """Print the tiers of a tablebase as a table."""
    more = any(1 + tier.attackers + tier.defenders > info.max_men for tier in info.tiers)
    what = f"  tablebase, all positions with at most {info.max_men} men" + (", some tiers with more" if more else "")
    console.print(Text.assemble((info.variant, "bold"), what))
    neither = "unresolved" if any(tier.unresolved for tier in info.tiers) else "draw"
    numbers = ("positions", "classes", "win", neither, "loss", "longest", "bytes")
    table = Table(label("tier"), *map(number, numbers))
    for tier in info.tiers:
        counts = (tier.positions, tier.classes, tier.win, tier.draw + tier.unresolved, tier.loss)
        cells = [f"{tier.attackers}v{tier.defenders}", *(f"{count:,}" for count in counts), str(tier.max_dtm)]
        table.add(*cells, f"{tier.bytes:,}")
    table.add("all", f"{info.positions:,}", f"{info.classes:,}", "", "", "", "", f"{info.bytes:,}", style="bold")
    console.print(table)
    note = f"Tier: attackers v defenders. Win, {neither} and loss are for the side to move, counted in classes."
    console.print(note, style="dim")
    if info.positions:
        console.print(f"{info.bytes / info.positions:.4f} bytes for each position")
    if info.missing:
        console.print(f"not built yet: {', '.join(info.missing)}")


class _StoreRequest(Request):
    store: str = store_argument()


@app.command("info", table=True)
def info_command(request: _StoreRequest) -> Reply:
    """Describe a tablebase: its rules, tiers, values and sizes."""
    from retrograde.tablebase.store import open_store

    info = info_of(open_store(request.store))
    return Reply(info, lambda console: _show_info(console, info), table=(TierResult, info.tiers))


# -- verify --------------------------------------------------------------------------------


class VerifyTablebaseRequest(_StoreRequest):
    """The request of ``tablut tablebase verify``."""

    quick: bool = Option(False, "Only compare the files with their digests.")
    sample: int | None = Option(
        None, "Number of positions to play out in plain Python. [default: 20; with --quick, 0]", least=0
    )
    seed: int = seed_field("Seed of the sample.", 1)
    threads: int = threads_field("Number of tasks that run in parallel.")
    memory: int = memory_field(4096, "Memory limit for unpacked tiers; the others are kept on disk.")
    record: Path | None = Option(None, "File that records verified tiers, which later runs skip.")


@app.command("verify")
def verify_command(request: VerifyTablebaseRequest) -> Reply:
    """Verify the stored values of a tablebase.

    Every value is derived again from the moves of its position, by code that shares only the move generator and the
    ranking of positions with the solver. A sample of wins, losses and draws is played out with a separate
    implementation of the rules in plain Python. The command also compares all files with their digests and the values
    with published ones, and proves that the index contains each position exactly once. With --record, an interrupted
    run resumes with the tiers that are not yet verified; changed tiers are verified again. Exit code 1: an error was
    found.
    """
    from retrograde.tablebase.store import open_store
    from retrograde.verification.verifying import verify

    quick, sample, seed, record = request.quick, request.sample, request.seed, request.record
    if quick and sample:
        raise InputError("--quick checks only the files", subject="--quick and --sample", remedy="choose one of them")
    if quick and record is not None:
        raise InputError(
            "--quick verifies no values to record", subject="--quick and --record", remedy="choose one of them"
        )
    open_store(request.store).check_complete()
    try:
        with progress("verify") as observer:
            report = interruptible(
                lambda: verify(
                    request.store,
                    quick=quick,
                    sample=20 if sample is None else sample,
                    seed=seed,
                    threads=request.threads,
                    memory=request.memory << 20,
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
        console.print(f"positions searched: {searched}; played out with the plain rules: {followed} ({played})")
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


class ProbeRequest(Request):
    """The request of ``tablut probe``."""

    store: str | None = Argument("[STORE]", "Folder of the tablebase. [default: a built-in one]", None)
    position: str | None = position_field()
    variant: str | None = variant_field(help="Name of a rule set, or a TOML file. [default: that of STORE, or ashton]")


@command(table=True)
def probe_command(request: ProbeRequest) -> Reply:
    """Look up a position and each of its moves in a tablebase.

    A value is a win, a loss or a draw. Wins and losses have a distance to the end, in plies. The
    position is valued as if a game began with this position, so all plies of a move limit are left.
    """
    tablebase = _tablebase(request.store, request.variant)
    board = Board(tablebase.variant, read_position(request.position, tablebase.variant))
    try:
        probed = probe_result(tablebase, board, str(tablebase.store.root))
    except MissingTableError as error:
        raise _missing(error, board, tablebase, request.store, request.variant) from None
    return Reply(probed, lambda console: _show_probed(console, board, probed), table=(RatedMoveResult, probed.moves))


def _missing(
    error: MissingTableError, board: Board, tablebase: Tablebase, store: str | None, name: str | None
) -> InputError:
    """Return the error for missing material.

    The error names the command that builds the missing tier if this machine can build it, or explains why the position
    is impossible.
    """
    from retrograde.solver.tier_graph import check_build
    from retrograde.tablebase.probing import shipped_store

    game, (attackers, defenders) = tablebase.variant, board.position.material
    if attackers > game.attackers or defenders > game.defenders:
        return InputError(
            f"is impossible ({', '.join(board.status().names)})",
            subject=f"position '{board.position}'",
            remedy=f"choose another position, since no tablebase of {game.name} has a tier {attackers}v{defenders}",
        )
    men, own = 1 + attackers + defenders, store is not None and tablebase.store.root.resolve() != shipped_store(game)
    root = str(store) if own else f"tablebase-{game.name}"
    build = shlex.join(["tablut", "tablebase", "build", "-v", _named(game, name), "--men", str(men), "--store", root])
    remedy = f"build it with `{build}`" + ("" if own else f", and give the folder {root}")
    try:
        check_build(game, men, _MEMORY << 20, store_path(root), tablebase.store.tiers() if own else [])
    except InputError:
        most = tablebase.store.max_men
        problem = f"has {men} men, and the tables of {game.name} have at most {most}"
        remedy = f"give a position with at most {most} men as `position`"
        return InputError(problem, subject=f"position '{board.position}'", remedy=remedy)
    return InputError(str(error), remedy=remedy)


def _tablebase(store: str | None, name: str | None) -> Tablebase:
    from retrograde.tablebase.probing import open_tablebase, prober_for

    if store is not None and name is None:
        return open_tablebase(store)
    game = load_variant(name or "ashton")
    tablebase = prober_for(game, store)
    if tablebase is None:
        raise InputError(
            "has no built-in tablebase",
            subject=f"variant {game.name!r}",
            remedy=f"build one with `{_making(game, name)}`, and give its folder",
        )
    return tablebase


def _making(game: Variant, name: str | None) -> str:
    """Return a command that builds a tablebase of the whole game, or of endings if that does not fit into memory."""
    from retrograde.solver.solution import memory_needed

    memory, rules = physical_memory(), _named(game, name)
    if memory is not None and memory_needed(game) <= memory:
        return shlex.join(["tablut", "solve", "-v", rules, "--store", f"solution-{game.name}"])
    men = "3" if game.size > NARROW else "4"
    return shlex.join(["tablut", "tablebase", "build", "-v", rules, "--men", men, "--store", f"tablebase-{game.name}"])


def _named(game: Variant, name: str | None) -> str:
    """Return the value of ``-v`` for a game: the name or file that the user gave, a built-in name or a placeholder."""
    return name or shipped_name(game) or "RULES.toml"


def _show_probed(console: PeopleConsole, board: Board, probed: ProbeResult) -> None:
    console.board(board.variant, board.position.rows())
    console.print(f"{probed.variant}  {probed.position}", soft_wrap=True)
    console.print(Text.assemble(f"{board.turn} to move: ", (_words(probed.wdl, probed.dtm), "bold")))
    if not probed.moves:
        console.print(f"{board.turn} has no legal move")
        return
    rated = ((one.move, _words(one.wdl, one.dtm)) for one in probed.moves)
    console.table((label("move"), label("value")), rated, header=False)


def _words(wdl: str, dtm: int | None) -> str:
    return wdl if dtm is None else f"{wdl} in {plural(dtm, 'ply')}"


# -- query -------------------------------------------------------------------------------


class _Valued(Result):
    position: str
    wdl: str
    dtm: int | None


class _ListedPositions(Result):
    variant: str
    store: str
    found: int
    positions: list[_Valued]


class QueryRequest(_StoreRequest):
    """The request of ``tablut tablebase query``."""

    wdl: Wdl | None = Option(None, "Value for the side to move.")
    side: SideName | None = Option(None, "Side to move.")
    shortest: int | None = Option(None, "Minimum distance to the end in plies.", "--min-plies", least=0, most=20_000)
    longest: int | None = Option(None, "Maximum distance to the end in plies.", "--max-plies", least=0, most=20_000)
    material: tuple[str, ...] = material_field("Attackers and defenders, such as 2v1; may be repeated.")
    zugzwang: Literal["full", "half", "any"] | None = Option(
        None, "Mutual zugzwangs: both sides lose if they must move (full), or one loses and one draws (half)."
    )
    order: Literal["index", "longest", "shortest"] = Option("index", "Order of the positions.")
    most: int = Option(20, "Maximum number of positions to list.", "--most", "-n", least=0, most=10**6)


@app.command("query", table=True)
def query_command(request: QueryRequest) -> Reply:
    """List positions of a tablebase that have given values.

    Examples are the longest wins, the draws with a certain material, and mutual zugzwangs.
    Positions that are images of each other under the symmetries of the board form a class. All
    matching classes are counted, and one position of each class is listed.
    """
    from retrograde.tablebase.querying import TableQuery, list_positions
    from retrograde.tablebase.store import open_store

    check_range(request.shortest, request.longest)
    wanted = request.among(["wdl", "side", "shortest", "longest", "zugzwang", "order"])
    query = TableQuery(materials=read_materials(request.material), **wanted)
    files = open_store(request.store)
    with progress("query") as observer:
        observer.begin("entries")
        listing = interruptible(partial(list_positions, files, query, request.most, observer.advance))
    found = _ListedPositions(
        variant=files.variant.name,
        store=str(files.root),
        found=listing.found,
        positions=[_Valued(position=str(one.position), wdl=one.wdl, dtm=one.dtm) for one in listing.positions],
    )
    return Reply(found, lambda console: _show_found(console, found), table=(_Valued, found.positions))


def _show_found(console: PeopleConsole, found: _ListedPositions) -> None:
    if found.positions:
        rows = ((one.wdl, "" if one.dtm is None else str(one.dtm), one.position) for one in found.positions)
        console.table((label("value"), number("plies"), label("position")), rows)
    more = found.found - len(found.positions)
    console.print(f"{found.variant}: {plural(found.found, 'position')} up to symmetry", style="dim")
    if more:
        console.print(f"and {more:,} more (list them with --most)", style="dim")


# -- ``tablut solve``: a small board ---------------------------------------------------------


class SolveRequest(RulesRequest):
    """The request of ``tablut solve``."""

    store: str | None = Option(None, "Folder for all values, from which an interrupted run resumes.", metavar="STORE")
    threads: int = threads_field("Number of tasks that run in parallel.")
    memory: int | None = memory_field(None, "Memory limit. [default: all memory of the machine]")


@command()
def solve_command(request: SolveRequest) -> Reply:
    """Solve a small board completely: find the value of every position reachable from the start.

    Each position is valued as if a game began with this position. Under a move limit, a win must
    therefore end within the limit. Distances are in plies to the end under best play.
    """
    from retrograde.solver.solution import memory_needed
    from retrograde.solver.solver_report import solve_report

    rules = request.rules
    needed = memory_needed(rules)
    limit = request.memory << 20 if request.memory else physical_memory()
    if limit is not None and needed > limit:
        raise InputError(
            f"needs {size_text(needed)} of memory to be solved, and {size_text(limit)} are available",
            subject=f"variant {rules.name}",
            remedy=f"allow {-(-needed // 2**20):,} MiB of `memory`"
            if needed <= (physical_memory() or 0)
            else f"solve a small board, such as `tablut solve -v brandubh-5-4v0`, or endings: `{_making(rules, None)}`",
        )
    try:
        with progress("solve") as observer:
            how = request.among(["threads", "store"])
            report, _ = interruptible(lambda: solve_report(rules, observer=observer, **how))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_what_is_kept(request.store)) from None
    return Reply(report, lambda console: _show_solution(console, rules, report))


def _show_solution(console: PeopleConsole, variant: Variant, report: SolveReport) -> None:
    console.board(variant, variant.start)
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
        f"Mutual zugzwangs: {zugzwangs['full']:,} in which both sides lose if they must move, "
        f"{zugzwangs['half']:,} in which one loses and one draws."
    )
    if report.longest is not None:
        longest = report.longest
        console.print(f"\nFarthest from the end, {plural(report.max_dtm, 'ply')}:  {longest.position}", soft_wrap=True)
        console.board(variant, Position.parse(longest.position, variant.size).rows())
        console.print(" ".join(longest.line), soft_wrap=True)


def _counts(counts: SideCounts) -> tuple[int, int, int]:
    return counts.win, counts.draw + counts.unresolved, counts.loss
