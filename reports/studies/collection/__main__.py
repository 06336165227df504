"""``python -m reports.studies.collection``: find new puzzles."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from reports.studies.collection.making import Made, Wanted, from_almost, from_placements, from_self_play
from reports.studies.collection.mining import from_tablebase
from reports.studies.collection.shapes import Theme
from retrograde.cli.puzzle_solving import MemoryOption, NodesOption, StoreOption
from retrograde.proofs.solution import ProofLimits
from retrograde.puzzles.puzzle_file import format_puzzles
from tablut.cli.options import VariantOption, seed_option
from tablut.cli.runtime import EXIT_UNKNOWN, Reply, command, interruptible, progress
from tablut.cli.shell import main
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import InputError
from tablut.prober import find_prober
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.files import write_text
from tablut.work.machine import check_memory

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

app = typer.Typer(rich_markup_mode=None, add_completion=False)
NAME = "python -m reports.studies.collection"


class _Made(Result):
    variant: str
    asked: int
    examined: int
    puzzles: list[str]
    file: str | None
    interrupted: bool


@app.command()
@command
def make_command(
    variant: VariantOption = "ashton",
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=10**6, help="Number of puzzles.")] = 5,
    seed: Annotated[int, seed_option("Seed of all random choices.")] = 1,
    shortest: Annotated[int, typer.Option("--min-plies", min=1, max=1000, help="Minimum plies of the win.")] = 3,
    longest: Annotated[int, typer.Option("--max-plies", min=1, max=1000, help="Maximum plies of the win.")] = 99,
    source: Annotated[
        Literal["self-play", "placements", "shapes", "tablebase"],
        typer.Option("--from", help="Source of the positions."),
    ] = "self-play",
    theme: Annotated[Theme | None, typer.Option(help="Only puzzles with this theme.")] = None,
    winner: Annotated[Literal["white", "black"] | None, typer.Option(help="Only wins of this side.")] = None,
    nodes: NodesOption = 1_000_000,
    memory: MemoryOption = 64,
    games: Annotated[int, typer.Option(min=1, max=10**9, help="Maximum number of games.")] = 1000,
    samples: Annotated[
        int | None,
        typer.Option(min=1, max=10**12, help="Number of placements [default: 100000] or tablebase positions [all]."),
    ] = None,
    men: Annotated[int, typer.Option(min=2, max=121, help="Maximum number of men, including the king.")] = 7,
    tablebase: StoreOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Puzzle file to write.")] = None,
) -> Reply:
    """Find new puzzles: graded wins with exactly one winning first move. The same seed gives the same puzzles.

    Exit code 3: fewer puzzles were found than requested. If the command is interrupted, it prints and writes the
    puzzles found so far.
    """
    rules = load_variant(variant)
    if shortest > longest:
        raise InputError(f"must not be greater than --max-plies {longest}", subject=f"--min-plies {shortest}")
    if theme is not None and source == "tablebase":
        raise InputError(
            "is found in lines of play, which a tablebase does not contain",
            subject="--theme",
            remedy="choose another --from",
        )
    check_memory("--memory", memory)
    limits = ProofLimits(nodes=nodes, memory_bytes=memory << 20, positions=0)
    wanted = Wanted(count, seed, (shortest, longest), limits, winner, theme)
    if source == "tablebase":
        prober = find_prober(rules, tablebase)
        if prober is None:
            raise InputError(
                f"no tablebase of {rules.name} is shipped", subject="--from tablebase", remedy="add --tablebase"
            )
        make = partial(from_tablebase, rules, prober, wanted, samples=samples)
    elif source == "placements":
        make = partial(from_placements, rules, wanted, samples=samples or 100_000, men=men)
    elif source == "shapes":
        make = partial(from_almost, rules, wanted, samples=samples or 100_000)
    else:
        make = partial(from_self_play, rules, wanted, games=games)
    made, interrupted = Made([], 0), False
    try:
        with progress("make") as observer:
            observer.begin("puzzles", count)

            def advanced(found: Made) -> None:
                nonlocal made
                observer.advance(len(found.puzzles) - len(made.puzzles))
                made = found

            made = interruptible(partial(make, advanced=advanced))
    except KeyboardInterrupt:
        interrupted = True
    if not made.examined and not interrupted:
        raise InputError("no position was examined, so no puzzle was found", remedy="increase --games or --samples")
    if out is not None:
        write_text(out, format_puzzles(made.puzzles), remedy="choose another file with --out")
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


def _show_made(console: PeopleConsole, result: _Made) -> None:
    for line in result.puzzles:
        console.print(Text(line), soft_wrap=True)
    where = f", written to {result.file}" if result.file else ""
    head = "interrupted: " if result.interrupted else ""
    told = (
        f"# {result.variant}: {head}{len(result.puzzles)} of {result.asked} from {result.examined:,} positions{where}"
    )
    console.print(Text(told, style="dim"), soft_wrap=True)


if __name__ == "__main__":
    main(app, NAME)
