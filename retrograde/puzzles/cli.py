"""``tablut puzzle``: ``make`` and ``check``; ``solve`` is in `retrograde.puzzles.cli_solve`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from retrograde.puzzles.cli_solve import MemoryOption, NodesOption, StoreOption, find_tablebase, solve_command
from tablut.cli.options import VariantOption, read_text
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, command, interruptible, progress
from tablut.errors import InputError
from tablut.files import write_text
from tablut.results import Result
from tablut.variants import load_variant

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from tablut.cli.people import PeopleConsole

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False, help="Prove wins, losses and draws; make puzzles.")
app.command("solve")(solve_command)


class _Made(Result):
    variant: str
    asked: int
    examined: int
    puzzles: list[str]
    file: str | None


class _Checked(Result):
    variant: str
    file: str
    position: str
    winner: str
    plies: int
    strategy: int
    positions: int
    failures: list[str]
    distance: str
    excluded: int
    shorter: int | None


@app.command("make")
@command
def make_command(
    variant: VariantOption = "ashton",
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many puzzles.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of everything random.")] = 1,
    shortest: Annotated[int, typer.Option("--min-plies", min=1, help="Shortest win.")] = 3,
    longest: Annotated[int, typer.Option("--max-plies", min=1, help="Longest win.")] = 99,
    source: Annotated[
        Literal["self-play", "placements", "tablebase"], typer.Option("--from", help="Where positions come from.")
    ] = "self-play",
    winner: Annotated[Literal["white", "black"] | None, typer.Option("--winner", help="Only its wins.")] = None,
    nodes: NodesOption = 1_000_000,
    memory: MemoryOption = 64,
    games: Annotated[int, typer.Option("--games", min=1, help="Games after which to give up.")] = 1000,
    deepen: Annotated[
        int, typer.Option("--deepen", min=0, help="How often to try to put two plies in front of a puzzle.")
    ] = 0,
    samples: Annotated[
        int | None,
        typer.Option("--samples", min=1, help="Placements drawn [default: 100000], or positions of a tablebase [all]."),
    ] = None,
    men: Annotated[int, typer.Option("--men", min=2, help="Most men of a random placement, the king counted.")] = 7,
    tablebase: StoreOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write a puzzle file.")] = None,
) -> Reply:
    """Find new puzzles: wins with one first move only, graded, the same for the same seed.

    Exit code 3 tells that there are fewer than asked for.
    """
    from retrograde.puzzles.making import from_placements, from_self_play
    from retrograde.puzzles.mining import from_tablebase
    from retrograde.puzzles.puzzle_file import format_puzzles
    from retrograde.puzzles.solution import Limits

    rules = load_variant(variant)
    if shortest > longest:
        raise InputError(f"--min-plies {shortest}: is more than --max-plies {longest}")
    limits = Limits(nodes=nodes, memory_bytes=memory << 20, positions=0)
    plies = shortest, longest
    if source == "tablebase":
        prober = find_tablebase(rules, tablebase)
        if prober is None:
            raise InputError(f"--from tablebase: none ships for {rules.name}; name one with --tablebase")
        mine = partial(from_tablebase, rules, prober, count=count, seed=seed, plies=plies, limits=limits)
        with progress("positions") as display:
            task = display.add_task("", total=None)
            told = partial(display.advance, task)
            sized = partial(_set_total, display, task)
            made = interruptible(partial(mine, samples=samples, winner=winner, begin=sized, tell=told))
    elif source == "placements":
        draw = partial(from_placements, rules, count=count, seed=seed, plies=plies, limits=limits)
        made = interruptible(partial(draw, samples=samples or 100_000, men=men, winner=winner))
    else:
        with progress("puzzles") as display:
            task = display.add_task("", total=count)
            play = partial(from_self_play, rules, count=count, seed=seed, plies=plies, limits=limits)

            def tell(found: int) -> None:
                display.update(task, completed=found)

            made = interruptible(partial(play, games=games, winner=winner, deepen=deepen, tell=tell))
    if out is not None:
        write_text(out, format_puzzles(made.puzzles), hint="; choose another file with --out")
    result = _Made(
        variant=rules.name,
        asked=count,
        examined=made.examined,
        puzzles=[str(puzzle) for puzzle in made.puzzles],
        file=None if out is None else str(out),
    )
    code = 0 if len(made.puzzles) == count else EXIT_UNKNOWN
    return Reply(result, lambda console: _show_made(console, result), code, seed=seed)


def _set_total(display: Progress, task: TaskID, total: int) -> None:
    display.reset(task, total=total)


def _show_made(console: PeopleConsole, result: _Made) -> None:
    for line in result.puzzles:
        console.print(line, soft_wrap=True)
    where = f", written to {result.file}" if result.file else ""
    counts = f"{len(result.puzzles)} of {result.asked} from {result.examined:,} positions{where}"
    console.print(f"# {result.variant}: {counts}", style="dim", soft_wrap=True)


@app.command("check")
@command
def check_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What --save-proof wrote.")],
    variant: Annotated[
        str | None, typer.Option("--variant", "-v", metavar="NAME|FILE", help="[default: what the proof names]")
    ] = None,
    plies: Annotated[
        int, typer.Option("--plies", min=0, help="Plies to be made in search of a shorter win; 0: none.")
    ] = 20_000,
) -> Reply:
    """Check a saved proof by the rules alone, in plain Python.

    Exit code 1 tells that it proves nothing, or that there is a shorter win.
    """
    from retrograde.puzzles.certificate import read_certificate, rules_digest
    from retrograde.puzzles.checker import check_strategy

    proof = read_certificate(file, read_text(file, "proof"))
    rules = load_variant(variant or proof.variant)
    if rules_digest(rules) != proof.rules:
        raise InputError(f"proof {file!r}: was made under other rules than {rules.name}; name them with --variant")
    checked = interruptible(
        partial(check_strategy, rules, proof.position, proof.winner, proof.plies, proof.strategy, most_plies=plies)
    )
    result = _Checked(
        variant=rules.name,
        file=file,
        position=proof.position,
        winner=proof.winner,
        plies=proof.plies,
        strategy=len(proof.strategy),
        positions=checked.positions,
        failures=checked.failures,
        distance=checked.distance,
        excluded=checked.excluded,
        shorter=checked.shorter,
    )
    failed = bool(checked.failures) or checked.shorter is not None
    return Reply(result, lambda console: _show_checked(console, result), EXIT_NO if failed else 0)


def _show_checked(console: PeopleConsole, result: _Checked) -> None:
    console.print(f"{result.variant}  {result.position}", soft_wrap=True)
    for failure in result.failures:
        console.print(Text.assemble(("fails", "bold red"), f"  {failure}"), soft_wrap=True)
    if not result.failures:
        what = f": {result.winner} wins within {result.plies} plies; {result.positions:,} positions"
        console.print(Text.assemble(("proved", "green"), what))
    if result.shorter is not None:
        console.print(
            Text.assemble(("not the shortest", "bold red"), f": {result.winner} wins within {result.shorter}")
        )
    elif result.distance == "exact":
        console.print("and no sooner: every shorter win was tried")
    else:
        console.print(f"no win within {result.excluded} plies; further the search for a shorter one did not go")
