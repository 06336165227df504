"""``tablut prove``: prove a claim about a position, by a search that can be interrupted and distributed."""

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
from tablut.variants import load_variant
from tablut.work.files import store_path
from tablut.work.machine import check_memory
from tablut.work.progress import plural
from tablut.work.run import open_scheduler


@tabular
def prove_command(
    claim: Annotated[
        Claim,
        typer.Option(
            "--claim", help="Claim to prove: a side wins, a side does not win, or a draw.", show_default=False
        ),
    ],
    variant: VariantOption = "ashton",
    position: PositionOption = None,
    moves: Annotated[
        str, typer.Option("--moves", metavar="MOVES", help="Moves to play first, separated by spaces.")
    ] = "",
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR", help="Folder for the state of the search, from which a run resumes."),
    ] = None,
    resume: ResumeOption = False,  # noqa: ARG001
    tablebase: StoreOption = None,
    hours: Annotated[
        float | None,
        typer.Option(
            "--hours",
            metavar="HOURS",
            min=0,
            help="Time limit in hours, after which no new task starts.",
        ),
    ] = None,
    nodes: Annotated[
        int, typer.Option("--nodes", min=1, max=10**12, help="Number of moves made by each task.")
    ] = 10_000_000,
    memory: Annotated[
        int,
        typer.Option("--memory", metavar="MIB", min=1, max=1 << 24, help="Memory for the table of each worker in MiB."),
    ] = 256,
    threads: Annotated[int, threads_option("Number of threads for each task; they share one table.")] = 1,
    scheduler: SchedulerOption = None,
) -> Reply:
    """Prove that a side wins from a position, never loses, or that it is a draw.

    The result is a strategy that `tablut puzzle check` can check. To resume a search, repeat the
    command with the same --store. The workers of --scheduler execute code from this program. Exit
    code 1: the claim is refuted; 3: the time limit was reached before the claim was settled.
    """
    if scheduler is not None and store is None:
        raise InputError("needs a folder for the results", subject="--scheduler", remedy="add --store DIR")
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
            go_on = "the same command" if store is not None else "a new run with --store DIR, which can be resumed"
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
            what = f"strategy for {part.claim}, {plural(part.strategy or 0, 'position')}: {part.certificate}"
            console.print(what, markup=False, soft_wrap=True)
        if part.status != "open" and not part.checked and not part.halves:
            console.print(f"to check it: {_way_to_check(part)}", markup=False, soft_wrap=True)
    made = [(found.tasks, "task"), (found.nodes, "node"), (found.positions, "position")]
    console.print(", ".join(plural(count, noun) for count, noun in made), style="dim")


def _way_to_check(found: Proving) -> str:
    """Return the command that checks a settled claim with the plain rules."""
    if found.status == "proved":
        return f"tablut puzzle check {found.certificate or '(the certificate in the folder --store DIR)'}"
    opposite = found.claim.removeprefix("not-") if found.claim.startswith("not-") else f"not-{found.claim}"
    return f"tablut prove --claim {opposite}, and tablut puzzle check with its certificate"
