"""``tablut puzzle make``: new puzzles from self-play, from random placements or from a tablebase."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from retrograde.cli.puzzle_options import MemoryOption, NodesOption, StoreOption
from tablut.cli.options import VariantOption, seed_option
from tablut.cli.runtime import EXIT_UNKNOWN, Reply, command, interruptible, progress
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import InputError
from tablut.prober import find_prober
from tablut.results import Result
from tablut.running.machine import check_memory
from tablut.store.files import write_text
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress, TaskID

    from retrograde.puzzles.making import Made, Wanted
    from tablut.cli.people import PeopleConsole
    from tablut.variants import Variant


class _Made(Result):
    variant: str
    asked: int
    examined: int
    puzzles: list[str]
    file: str | None
    interrupted: bool


@command
def make_command(
    variant: VariantOption = "ashton",
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=10**6, help="How many puzzles.")] = 5,
    seed: Annotated[int, seed_option("Of everything random.")] = 1,
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

    Exit code 3: fewer than asked for. An interrupt prints and writes what there is.
    """
    from retrograde.proofs.solution import ProofLimits
    from retrograde.puzzles.making import Wanted, from_placements, from_self_play

    rules = load_variant(variant)
    if shortest > longest:
        raise InputError(f"--min-plies {shortest}: is more than --max-plies {longest}")
    check_memory("--memory", memory)
    limits = ProofLimits(nodes=nodes, memory_bytes=memory << 20, positions=0)
    maker = _Maker(rules, Wanted(count, seed, (shortest, longest), limits, winner))
    interrupted = False
    try:
        if source == "tablebase":
            maker.mine(tablebase, samples)
        elif source == "placements":
            maker.make(partial(from_placements, samples=samples or 100_000, men=men))
        else:
            maker.make(partial(from_self_play, games=games, deepen=deepen))
    except KeyboardInterrupt:
        interrupted = True
    return _reply(rules, maker, out, interrupted)


class _Maker:
    """Makes puzzles under a progress display; an interrupt leaves those that there are."""

    def __init__(self, variant: Variant, wanted: Wanted) -> None:
        from retrograde.puzzles.making import Made

        self.variant, self.wanted = variant, wanted
        self.made = Made([], 0)

    def make(self, source: Callable[..., Made]) -> None:
        """Make puzzles by a function that tells after each attempt what there is."""
        with progress("puzzles") as display:
            task = display.add_task("", total=self.wanted.number)

            def tell(found: Made) -> None:
                self._keep(found)
                display.update(task, completed=len(found.puzzles))

            self._keep(interruptible(partial(source, self.variant, self.wanted, tell=tell)))

    def mine(self, store: str | None, samples: int | None) -> None:
        """Find the deepest puzzles of a tablebase."""
        from retrograde.puzzles.mining import from_tablebase

        prober = find_prober(self.variant, store)
        if prober is None:
            raise InputError(f"--from tablebase: none ships for {self.variant.name}; name one with --tablebase")
        work = partial(from_tablebase, self.variant, prober, self.wanted, samples=samples, keep=self._keep)
        with progress("positions") as display:
            task = display.add_task("", total=None)
            told = partial(display.advance, task)
            self._keep(interruptible(partial(work, begin=partial(_set_total, display, task), tell=told)))

    def _keep(self, found: Made) -> None:
        self.made = found


def _set_total(display: Progress, task: TaskID, total: int) -> None:
    display.reset(task, total=total)


def _reply(variant: Variant, maker: _Maker, out: Path | None, interrupted: bool) -> Reply:
    """Write the puzzles if a file is named, and answer them."""
    from retrograde.puzzles.puzzle_file import format_puzzles

    made = maker.made
    if not made.examined and not interrupted:
        raise InputError("no position was examined, so no puzzle was found; ask for more --games or --samples")
    if out is not None:
        write_text(out, format_puzzles(made.puzzles), hint="; choose another file with --out")
    result = _Made(
        variant=variant.name,
        asked=maker.wanted.number,
        examined=made.examined,
        puzzles=[str(puzzle) for puzzle in made.puzzles],
        file=None if out is None else str(out),
        interrupted=interrupted,
    )
    code = EXIT_INTERRUPTED if interrupted else 0 if len(made.puzzles) == maker.wanted.number else EXIT_UNKNOWN
    return Reply(result, lambda console: _show_made(console, result), code, seed=maker.wanted.seed)


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
