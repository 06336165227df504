"""``tablut prove``: a claim about a position, by a search that can be stopped and shared out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from retrograde.cli.puzzle_solving import StoreOption
from retrograde.proofs.proving import Claim, DrawRun, FirstMove, ProofRun, Proving
from tablut.board import Board
from tablut.cli.options import (
    PositionOption,
    ResumeOption,
    SchedulerOption,
    VariantOption,
    read_position,
    threads_option,
)
from tablut.cli.people import PeopleConsole, Table, label, number
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Interrupted, Reply, progress, tabular
from tablut.errors import InputError, MachineError
from tablut.formats.reading import read_move
from tablut.running.machine import check_memory
from tablut.running.progress import plural
from tablut.running.scheduling import open_scheduler
from tablut.store.files import store_path
from tablut.variants import load_variant


@tabular
def prove_command(
    claim: Annotated[Claim, typer.Option("--claim", help="Who wins, or what is not so.", show_default=False)],
    variant: VariantOption = "ashton",
    position: PositionOption = None,
    moves: Annotated[str, typer.Option("--moves", metavar="MOVES", help="Played first, with spaces between.")] = "",
    store: Annotated[str | None, typer.Option("--store", metavar="DIR", help="Folder to keep the search in.")] = None,
    resume: ResumeOption = False,  # noqa: ARG001
    tablebase: StoreOption = None,
    hours: Annotated[
        float | None,
        typer.Option("--hours", metavar="HOURS", min=0, help="Start no task after this many hours in all."),
    ] = None,
    nodes: Annotated[int, typer.Option("--nodes", min=1, max=10**12, help="Moves made by one task.")] = 10_000_000,
    memory: Annotated[
        int, typer.Option("--memory", metavar="MIB", min=1, max=1 << 24, help="Memory for the table of each worker.")
    ] = 256,
    threads: Annotated[int, threads_option("For each task, with one table.")] = 1,
    scheduler: SchedulerOption = None,
) -> Reply:
    """Prove that a side wins from a position, or never loses, with a strategy that `tablut puzzle check` checks.

    Exit code 1: the claim is refuted; 3: the hours were over before it was settled. The same command goes on
    with what the folder has. The workers of --scheduler run what this program sends them.
    """
    if scheduler is not None and store is None:
        raise InputError("--scheduler: needs --store DIR, in which the answers are kept")
    check_memory("memory", memory)
    rules = load_variant(variant)
    board = Board(rules, read_position(position, rules))
    for text in moves.split():
        board.push(read_move(text, board.size).said.move)
    root = None if store is None else store_path(store)
    with open_scheduler(1, scheduler) as workers, progress("prove") as observer:
        limits: dict[str, Any] = {"nodes": nodes, "memory": memory << 20, "threads": threads}
        start = DrawRun if claim == "draw" else ProofRun
        run = start(rules, board.position, claim, observer=observer, tablebase=tablebase, **limits)
        try:
            run.run(workers, root, hours)
        except (MachineError, KeyboardInterrupt) as error:
            go_on = "the same command" if store is not None else "--store DIR keeps what is done"
            raise Interrupted(_reply(run.result()), go_on, error) from None
    return _reply(run.result())


def _reply(found: Proving) -> Reply:
    code = {"proved": 0, "refuted": EXIT_NO}.get(found.status, EXIT_UNKNOWN)
    return Reply(found, lambda console: _show(console, found), code, table=(FirstMove, found.first_moves))


def _show(console: PeopleConsole, found: Proving) -> None:
    console.print(f"{found.variant}  {found.position}", markup=False, soft_wrap=True)
    within = "" if found.within is None else f" within {plural(found.within, 'ply')}"
    unchecked = "" if found.checked or found.status == "open" else ", not checked by the plain rules"
    console.print(f"{found.claim}: {found.status}{within}{unchecked}", style="bold")
    if found.status == "proved":
        console.print(found.repetition)
    else:
        table = Table(label("first move"), number("proof"), number("disproof"), label("status"))
        for one in sorted(found.first_moves, key=lambda one: (one.proof is None, one.proof)):
            status = one.status if one.checked or one.status == "open" else f"{one.status}, not checked"
            table.add(one.move, *("∞" if n is None else f"{n:,}" for n in (one.proof, one.disproof)), status)
        console.print(table)
    for part in (found, *found.halves):
        if part.certificate:
            what = f"the strategy for {part.claim}, {plural(part.strategy or 0, 'position')}: {part.certificate}"
            console.print(what, markup=False, soft_wrap=True)
        if part.status != "open" and not part.checked and not part.halves:
            console.print(f"to check it: {_way_to_check(part)}", markup=False, soft_wrap=True)
    made = [(found.tasks, "task"), (found.nodes, "node"), (found.positions, "position")]
    console.print(", ".join(plural(count, noun) for count, noun in made), style="dim")


def _way_to_check(found: Proving) -> str:
    """Return the command that has the plain rules check a claim that is settled."""
    if found.status == "proved":
        return f"tablut puzzle check {found.certificate or '(the certificate that --store DIR keeps)'}"
    opposite = found.claim.removeprefix("not-") if found.claim.startswith("not-") else f"not-{found.claim}"
    return f"tablut prove --claim {opposite}, and tablut puzzle check with its certificate"
