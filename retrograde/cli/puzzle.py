"""``tablut puzzle``: ``make`` and ``check``; ``solve`` is in `retrograde.cli.puzzle_solve`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from retrograde.cli.puzzle_solve import (
    MemoryOption,
    NodesOption,
    StoreOption,
    find_tablebase,
    solve_command,
)
from tablut.cli.interrupts import EXIT_INTERRUPTED
from tablut.cli.options import VariantOption, read_text, warn_if_impossible
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, command, interruptible, progress
from tablut.errors import InputError
from tablut.files import excerpt, write_text
from tablut.machine import check_memory
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
    interrupted: bool


class _Checked(Result):
    variant: str
    game: str
    file: str
    position: str
    winner: str
    plies: int
    plies_left: int | None
    strategy: int
    positions: int
    failures: list[str]
    proved: bool
    distance: str
    excluded: int
    shorter: int | None
    unused: int
    interrupted: bool


@app.command("make")
@command
def make_command(
    variant: VariantOption = "ashton",
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=10**6, help="How many puzzles.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Of everything random.")] = 1,
    shortest: Annotated[int, typer.Option("--min-plies", min=1, max=1000, help="Shortest win.")] = 3,
    longest: Annotated[int, typer.Option("--max-plies", min=1, max=1000, help="Longest win.")] = 99,
    source: Annotated[
        Literal["self-play", "placements", "tablebase"], typer.Option("--from", help="Where positions come from.")
    ] = "self-play",
    winner: Annotated[Literal["white", "black"] | None, typer.Option("--winner", help="Only its wins.")] = None,
    nodes: NodesOption = 1_000_000,
    memory: MemoryOption = 64,
    games: Annotated[int, typer.Option("--games", min=1, max=10**9, help="Games after which to give up.")] = 1000,
    deepen: Annotated[
        int, typer.Option("--deepen", min=0, max=1000, help="How often to try to put two plies in front of a puzzle.")
    ] = 0,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            min=1,
            max=10**12,
            help="Placements drawn [default: 100000], or positions of a tablebase [all].",
        ),
    ] = None,
    men: Annotated[
        int, typer.Option("--men", min=2, max=121, help="Most men of a random placement, the king counted.")
    ] = 7,
    tablebase: StoreOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write a puzzle file.")] = None,
) -> Reply:
    """Find new puzzles: wins with one first move only, graded, the same for the same seed.

    Exit code 3 tells that there are fewer than asked for. An interrupt prints, and writes, what there is.
    """
    from retrograde.proofs.solution import ProofLimits
    from retrograde.puzzles.making import Made, Wanted, from_placements, from_self_play
    from retrograde.puzzles.mining import from_tablebase
    from retrograde.puzzles.puzzle_file import format_puzzles

    rules = load_variant(variant)
    if shortest > longest:
        raise InputError(f"--min-plies {shortest}: is more than --max-plies {longest}")
    check_memory("--memory", memory)
    limits = ProofLimits(nodes=nodes, memory_bytes=memory << 20, positions=0)
    plies = shortest, longest
    made, interrupted = Made([], 0), False

    def keep(found: Made) -> None:
        nonlocal made
        made = found

    wanted = Wanted(count, seed, plies, limits, winner)
    try:
        if source == "tablebase":
            prober = find_tablebase(rules, tablebase)
            if prober is None:
                raise InputError(f"--from tablebase: none ships for {rules.name}; name one with --tablebase")
            mine = partial(from_tablebase, rules, prober, wanted, samples=samples, keep=keep)
            with progress("positions") as display:
                task = display.add_task("", total=None)
                told = partial(display.advance, task)
                made = interruptible(partial(mine, begin=partial(_set_total, display, task), tell=told))
        else:
            work = (
                partial(from_placements, rules, wanted, samples=samples or 100_000, men=men)
                if source == "placements"
                else partial(from_self_play, rules, wanted, games=games, deepen=deepen)
            )
            with progress("puzzles") as display:
                task = display.add_task("", total=count)

                def tell(found: Made) -> None:
                    keep(found)
                    display.update(task, completed=len(found.puzzles))

                made = interruptible(partial(work, tell=tell))
    except KeyboardInterrupt:
        interrupted = True
    if not made.examined and not interrupted:
        raise InputError("nothing was looked at, so nothing was found; ask for more --games or --samples")
    if out is not None:
        write_text(out, format_puzzles(made.puzzles), hint="; choose another file with --out")
    result = _Made(
        variant=rules.name,
        asked=count,
        examined=made.examined,
        puzzles=[str(puzzle) for puzzle in made.puzzles],
        file=None if out is None else str(out),
        interrupted=interrupted,
    )
    code = EXIT_INTERRUPTED if interrupted else 0 if len(made.puzzles) == count else EXIT_UNKNOWN
    return Reply(result, lambda console: _show_made(console, result), code, seed=seed)


def _set_total(display: Progress, task: TaskID, total: int) -> None:
    display.reset(task, total=total)


def _show_made(console: PeopleConsole, result: _Made) -> None:
    from rich.text import Text

    for line in result.puzzles:
        console.print(Text(line), soft_wrap=True)
    where = f", written to {result.file}" if result.file else ""
    head = "interrupted: " if result.interrupted else ""
    told = (
        f"# {result.variant}: {head}{len(result.puzzles)} of {result.asked} from {result.examined:,} positions{where}"
    )
    console.print(Text(told, style="dim"), soft_wrap=True)


@app.command("check")
@command
def check_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What --save-proof wrote.")],
    variant: Annotated[
        str | None, typer.Option("--variant", "-v", metavar="NAME|FILE", help="[default: what the proof names]")
    ] = None,
    plies: Annotated[
        int, typer.Option("--plies", min=0, max=10**12, help="Plies to be made in search of a shorter win; 0: none.")
    ] = 20_000,
) -> Reply:
    """Check a saved proof by the rules alone, in plain Python; docs/puzzles.md says what a proof is.

    Exit code 1 tells that it proves nothing, or that there is a shorter win.
    """
    from retrograde.proofs.certificate import MOST_BYTES, game_of, read_certificate
    from retrograde.proofs.checker import StrategyCheck
    from tablut.position import Position

    proof = read_certificate(file, read_text(file, "proof", MOST_BYTES))
    rules = game_of(file, proof, None if variant is None else load_variant(variant))
    try:
        check = StrategyCheck(
            rules,
            proof.position,
            proof.winner,
            proof.plies,
            proof.strategy,
            plies_left=proof.plies_left,
            most_plies=plies,
        )
    except InputError as error:
        raise InputError(f"proof {excerpt(file)}: {error}") from error
    warn_if_impossible(rules, Position.parse(proof.position, rules.size), f"proof {excerpt(file)}")
    interrupted = False
    try:
        checked = interruptible(check.run)
    except KeyboardInterrupt:
        checked, interrupted = check.found(), True
    result = _Checked(
        variant=rules.name,
        game=rules.digest,
        file=file,
        position=proof.position,
        winner=proof.winner,
        plies=proof.plies,
        plies_left=proof.plies_left,
        strategy=len(proof.strategy),
        positions=checked.positions,
        failures=checked.failures,
        proved=check.proved,
        distance=checked.distance,
        excluded=checked.excluded,
        shorter=checked.shorter,
        unused=checked.unused,
        interrupted=interrupted,
    )
    failed = bool(checked.failures) or checked.shorter is not None
    code = EXIT_NO if failed else EXIT_INTERRUPTED if interrupted else 0
    return Reply(result, lambda console: _show_checked(console, result), code)


def _show_checked(console: PeopleConsole, result: _Checked) -> None:
    from rich.text import Text

    def say(text: str, mark: str = "", style: str = "") -> None:
        # What stands in a proof is never markup.
        console.print(Text(mark, style=style) + Text(text, style="not bold default"), soft_wrap=True)

    left = "" if result.plies_left is None else f"  ({result.plies_left} plies left)"
    say(f"{result.variant}  {result.position}{left}")
    for failure in result.failures:
        say(f"  {failure}", "fails", "bold red")
    if result.failures:
        return
    if not result.proved:
        say(f"interrupted: {result.positions:,} positions checked, and nothing was wrong with them")
        return
    say(f": {result.winner} wins within {result.plies} plies; {result.positions:,} positions", "proved", "green")
    if result.unused:
        say(f"not needed, and not checked: {result.unused:,} positions of the file")
    if result.shorter is not None:
        say(f": {result.winner} wins within {result.shorter}", "not the shortest", "bold red")
    elif result.distance == "exact":
        say("and no sooner: every shorter win was tried")
    else:
        say(f"no win within {result.excluded} plies; further the search for a shorter one did not go")
