"""``python -m reports.studies.collection``: find new puzzles."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from reports.studies.collection.blunders import from_games, read_games
from reports.studies.collection.making import Made, Wanted, format_puzzles, from_almost, from_placements, from_self_play
from reports.studies.collection.mining import from_tablebase
from reports.studies.collection.shapes import Theme
from retrograde.cli.prove_commands import nodes_field
from retrograde.proofs.win_search import ProofLimits
from retrograde.puzzles.puzzle_file import read_puzzles
from tablut.cli.command import command
from tablut.cli.options import seed_field, variant_field
from tablut.cli.requests import Option, Request
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


class MakeRequest(Request):
    """The parameters of the command."""

    variant: str | None = variant_field(help="Rule set. [default: ashton; with --records, that of the records]")
    count: int = Option(5, "Number of puzzles.", "--count", "-n", least=1, most=10**6)
    seed: int = seed_field("Seed of all random choices.", 1)
    shortest: int = Option(3, "Minimum length of the win in plies.", "--min-plies", least=1, most=1000)
    longest: int = Option(99, "Maximum length of the win in plies.", "--max-plies", least=1, most=1000)
    source: Literal["self-play", "placements", "shapes", "tablebase"] = Option(
        "self-play", "Source of the positions, if no --records are given.", "--from"
    )
    records: tuple[str, ...] = Option(
        (), "Game record or archive. Blunders in the games become puzzles. Can be given several times.", metavar="FILE"
    )
    theme: Theme | None = Option(None, "Find only puzzles with this theme.")
    winner: Literal["white", "black"] | None = Option(None, "Find only wins of this side.")
    nodes: int = nodes_field(1000000)
    memory: int = Option(64, "Memory for the transposition tables in MiB.", metavar="MIB", least=1, most=1 << 24)
    games: int = Option(1000, "Maximum number of games.", least=1, most=10**9)
    samples: int | None = Option(
        None, "Number of placements [default: 100000] or tablebase positions [all].", least=1, most=10**12
    )
    men: int = Option(7, "Maximum number of men, including the king.", least=2, most=121)
    tablebase: str | None = Option(None, "Folder of a tablebase.", metavar="STORE")
    out: Path | None = Option(None, "Puzzle file to write.", "--out", "-o")


@command()
def make_command(request: MakeRequest) -> Reply:
    """Find new puzzles: graded wins in which exactly one first move leads to the shortest win.

    The same seed always gives the same puzzles.

    If the command is interrupted, it prints and writes the puzzles found so far. Exit code 3: fewer puzzles were found
    than requested.
    """
    played, rules = (
        read_games(request.records, request.variant)
        if request.records
        else ([], load_variant(request.variant or "ashton"))
    )
    if request.shortest > request.longest:
        raise InputError(
            f"must not be greater than --max-plies {request.longest}", subject=f"--min-plies {request.shortest}"
        )
    if request.theme is not None and request.source == "tablebase":
        raise InputError(
            "is found in lines of play, which a tablebase does not contain",
            subject="--theme",
            remedy="choose another --from",
        )
    check_memory("--memory", request.memory)
    kind = FileKind("a puzzle file", lambda path: bool(read_puzzles(str(path), request.variant)))
    check_output(request.out, kind)
    limits = ProofLimits(nodes=request.nodes, memory_bytes=request.memory << 20, positions=0)
    wanted = Wanted(
        request.count, request.seed, (request.shortest, request.longest), limits, request.winner, request.theme
    )
    if played:
        make = partial(from_games, rules, wanted, played)
    elif request.source == "tablebase":
        prober = find_prober(rules, request.tablebase)
        if prober is None:
            raise InputError(
                f"no tablebase of {rules.name} is shipped", subject="--from tablebase", remedy="add --tablebase"
            )
        make = partial(from_tablebase, rules, prober, wanted, samples=request.samples)
    elif request.source == "placements":
        make = partial(from_placements, rules, wanted, samples=request.samples or 100_000, men=request.men)
    elif request.source == "shapes":
        make = partial(from_almost, rules, wanted, samples=request.samples or 100_000)
    else:
        make = partial(from_self_play, rules, wanted, games=request.games)
    made, interrupted = Made([], 0), False
    try:
        with progress("make") as observer:
            observer.begin("puzzles", request.count)

            def advanced(found: Made) -> None:
                nonlocal made
                observer.advance(len(found.puzzles) - len(made.puzzles))
                made = found

            made = interruptible(partial(make, advanced=advanced))
    except KeyboardInterrupt:
        interrupted = True
    if not made.examined and not interrupted:
        raise InputError("no position was examined, so no puzzle was found", remedy="use more games or samples")
    if request.out is not None:
        write_text(request.out, format_puzzles(made.puzzles), remedy="choose another file with --out", kind=kind)
    result = _Made(
        variant=rules.name,
        asked=request.count,
        examined=made.examined,
        puzzles=[str(puzzle) for puzzle in made.puzzles],
        file=None if request.out is None else str(request.out),
        interrupted=interrupted,
    )
    code = EXIT_INTERRUPTED if interrupted else 0 if len(made.puzzles) == request.count else EXIT_UNKNOWN
    return Reply(result, lambda console: _show_made(console, result), code, seed=request.seed)


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
