"""``python -m reports.studies.collection``: find new puzzles."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from rich.text import Text

from reports.studies.collection.blunders import from_games, read_games
from reports.studies.collection.making import Made, Wanted, format_puzzles, from_almost, from_placements, from_self_play
from reports.studies.collection.mining import from_tablebase
from reports.studies.collection.shapes import Theme
from retrograde.cli.prove_commands import nodes_option
from retrograde.proofs.win_search import ProofLimits
from retrograde.puzzles.puzzle_file import read_puzzles
from tablut.cli.command import choice, command, option, whole
from tablut.cli.options import file_option, seed_option, variant_option
from tablut.cli.runtime import EXIT_UNKNOWN, Reply, interruptible, progress
from tablut.cli.shell import main
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import InputError
from tablut.prober import find_prober
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.files import FileKind, check_output, write_text
from tablut.work.machine import check_memory

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

NAME = "python -m reports.studies.collection"


class _Made(Result):
    variant: str
    asked: int
    examined: int
    puzzles: list[str]
    file: str | None
    interrupted: bool


@command()
@variant_option("Rule set. [default: ashton; with --records, that of the records]")
@whole("--count", "-n", default=5, least=1, most=10**6, help="Number of puzzles.")
@seed_option("Seed of all random choices.", 1)
@whole("--min-plies", "shortest", default=3, least=1, most=1000, help="Minimum length of the win in plies.")
@whole("--max-plies", "longest", default=99, least=1, most=1000, help="Maximum length of the win in plies.")
@choice(
    "--from",
    "source",
    words=("self-play", "placements", "shapes", "tablebase"),
    default="self-play",
    help="Source of the positions, if no --records are given.",
)
@option(
    "--records",
    metavar="FILE",
    multiple=True,
    help="Game record or archive. Blunders in the games become puzzles. Can be given several times.",
)
@choice("--theme", words=get_args(Theme), help="Find only puzzles with this theme.")
@choice("--winner", words=("white", "black"), help="Find only wins of this side.")
@nodes_option(1_000_000)
@whole("--memory", least=1, most=1 << 24, default=64, metavar="MIB", help="Memory for the transposition tables in MiB.")
@whole("--games", default=1000, least=1, most=10**9, help="Maximum number of games.")
@whole("--samples", least=1, most=10**12, help="Number of placements [default: 100000] or tablebase positions [all].")
@whole("--men", default=7, least=2, most=121, help="Maximum number of men, including the king.")
@option("--tablebase", metavar="STORE", help="Folder of a tablebase.")
@file_option("--out", "-o", help="Puzzle file to write.")
def make_command(
    variant: str | None,
    count: int,
    seed: int,
    shortest: int,
    longest: int,
    source: Literal["self-play", "placements", "shapes", "tablebase"],
    records: tuple[str, ...],
    theme: Theme | None,
    winner: Literal["white", "black"] | None,
    nodes: int,
    memory: int,
    games: int,
    samples: int | None,
    men: int,
    tablebase: str | None,
    out: Path | None,
) -> Reply:
    """Find new puzzles: graded wins in which exactly one first move leads to the shortest win.

    The same seed always gives the same puzzles.

    If the command is interrupted, it prints and writes the puzzles found so far. Exit code 3: fewer puzzles were found
    than requested.
    """
    played, rules = read_games(records, variant) if records else ([], load_variant(variant or "ashton"))
    if shortest > longest:
        raise InputError(f"must not be greater than --max-plies {longest}", subject=f"--min-plies {shortest}")
    if theme is not None and source == "tablebase":
        raise InputError(
            "is found in lines of play, which a tablebase does not contain",
            subject="--theme",
            remedy="choose another --from",
        )
    check_memory("--memory", memory)
    kind = FileKind("a puzzle file", lambda path: bool(read_puzzles(str(path), variant)))
    check_output(out, kind)
    limits = ProofLimits(nodes=nodes, memory_bytes=memory << 20, positions=0)
    wanted = Wanted(count, seed, (shortest, longest), limits, winner, theme)
    if played:
        make = partial(from_games, rules, wanted, played)
    elif source == "tablebase":
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
        raise InputError("no position was examined, so no puzzle was found", remedy="use more games or samples")
    if out is not None:
        write_text(out, format_puzzles(made.puzzles), remedy="choose another file with --out", kind=kind)
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
    main(make_command, NAME)
