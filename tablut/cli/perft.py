"""``tablut perft``: how many move sequences there are, and whether a corpus of known numbers still holds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablut.cli.options import PositionOption, VariantOption, read_position, read_text
from tablut.cli.runtime import EXIT_NO, Reply, command, interruptible, progress
from tablut.compilation import wall_clock
from tablut.errors import InputError
from tablut.position import Move, Position
from tablut.results import Result
from tablut.variants import Variant, load_variant

if TYPE_CHECKING:
    from rich.console import Console

    from tablut.engine import Engine

__all__ = ["perft_command"]


class _Perft(Result):
    variant: str
    position: str
    perft: list[int]
    seconds: float
    nodes_per_second: float
    threads: int
    applied: dict[str, Any] | None = None
    divide: dict[str, int] | None = None


class _Mismatch(Result):
    id: str
    position: str
    depth: int
    expected: int
    found: int
    divide: dict[str, int]


class _Corpus(Result):
    variant: str
    file: str
    checked: int
    mismatches: list[_Mismatch]


@command
def perft_command(
    depth: Annotated[int, typer.Option("--depth", "-d", min=1, max=20, help="Number of plies.")] = 3,
    variant: VariantOption = "ashton",
    position: PositionOption = None,
    divide: Annotated[bool, typer.Option("--divide", help="Show the share of each first move.")] = False,
    applied: Annotated[
        bool, typer.Option("--applied", help="Make and judge every last move instead of counting them.")
    ] = False,
    threads: Annotated[int, typer.Option("--threads", min=1, max=1024, help="Number of threads.")] = 1,
    cache: Annotated[
        int, typer.Option("--cache", metavar="MIB", min=0, help="Memory for transpositions, in MiB; none by default.")
    ] = 0,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", metavar="FILE", help="Check a file of positions with known numbers instead."),
    ] = None,
) -> Reply:
    """Count the move sequences of exactly 1 to DEPTH plies.

    A decided position has no children; repetition and move limits are ignored.
    """
    from tablut.engine import engine_for

    rules = load_variant(variant)
    engine = engine_for(rules)
    if corpus is not None:
        checked = _check_corpus(engine, rules, corpus, threads)
        return Reply(checked, lambda console: _show_corpus(console, checked), EXIT_NO if checked.mismatches else 0)
    if applied and (cache or divide):
        raise InputError("--applied: makes every last move itself; leave out --cache and --divide")

    start = read_position(position, rules)
    board = engine.start() if start is None else engine.board(start.cells, start.side)
    counts, statistics, seconds = [], None, 0.0
    with progress("perft") as display:
        task = display.add_task("", total=depth)
        for plies in range(1, depth + 1):
            started = wall_clock()
            if applied:
                statistics = interruptible(partial(engine.perft_applied, board, plies, threads=threads))
                counts.append(statistics.nodes)
            else:
                count = partial(engine.perft, board, plies, threads=threads, cache_bytes=cache << 20)
                counts.append(interruptible(count))
            seconds = wall_clock() - started
            display.advance(task)
    text = str(start) if start is not None else rules.start_position
    result = _Perft(
        variant=rules.name,
        position=text,
        perft=counts,
        seconds=round(seconds, 6),
        nodes_per_second=round(counts[-1] / seconds, 1) if seconds else 0.0,
        threads=threads,
        applied=None
        if statistics is None
        else {
            "captured": statistics.captured,
            "key_sum": str(statistics.key_sum),
            "outcomes": {
                "undecided" if outcome is None else f"{outcome.termination}, {outcome.winner} wins": count
                for outcome, count in statistics.outcomes.items()
            },
        },
        divide=_named(engine.divide(board, depth, threads=threads), rules.size) if divide else None,
    )
    return Reply(result, lambda console: _show(console, result))


def _named(divided: dict[int, int], size: int) -> dict[str, int]:
    return {str(Move.from_code(code, size)): nodes for code, nodes in divided.items()}


def _show(console: Console, result: _Perft) -> None:
    console.print(f"{result.variant}  {result.position}", soft_wrap=True)
    if result.divide:
        for move, nodes in result.divide.items():
            console.print(f"{move:>8}  {nodes:>16,}")
    for plies, nodes in enumerate(result.perft, 1):
        console.print(f"{plies:>8}  {nodes:>16,}", style="bold")
    if result.applied:
        for outcome, count in result.applied["outcomes"].items():
            console.print(f"{count:>26,}  {outcome}")
        console.print(f"{result.applied['captured']:>26,}  soldiers captured by last plies")
    console.print(
        f"[dim]last depth: {result.seconds:.3f} s, {result.nodes_per_second / 1e6:,.1f} million a second, "
        f"{result.threads} thread{'s' * (result.threads > 1)}[/dim]"
    )


def _check_corpus(engine: Engine, variant: Variant, file: str, threads: int) -> _Corpus:
    """Compare every number of a corpus file; a mismatch comes with its position and divide."""
    checked, mismatches = 0, []
    for number, line in enumerate(read_text(file, "corpus").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(";")]
        if len(parts) != 4:
            raise InputError(f"corpus {file!r}, line {number}: expected `id; position; depth=nodes …; source`")
        id_, text, numbers, _ = parts
        position = Position.parse(text, variant.size)
        board = engine.board(position.cells, position.side)
        for entry in numbers.split():
            plies, equals, nodes = entry.partition("=")
            if not (equals and plies.isdigit() and nodes.isdigit() and int(plies) > 0):
                raise InputError(f"corpus {file!r}, line {number}: expected depth=nodes, not {entry!r}")
            found = engine.perft(board, int(plies), threads=threads)
            checked += 1
            if found != int(nodes):
                mismatches.append(
                    _Mismatch(
                        id=id_,
                        position=text,
                        depth=int(plies),
                        expected=int(nodes),
                        found=found,
                        divide=_named(engine.divide(board, int(plies), threads=threads), variant.size),
                    )
                )
    return _Corpus(variant=variant.name, file=str(Path(file)), checked=checked, mismatches=mismatches)


def _show_corpus(console: Console, result: _Corpus) -> None:
    for miss in result.mismatches:
        console.print(f"[bold red]{miss.id}[/bold red]\n{miss.position}", soft_wrap=True)
        console.print(f"depth {miss.depth}: expected {miss.expected:,}, found {miss.found:,}")
        console.print("  ".join(f"{move} {nodes:,}" for move, nodes in miss.divide.items()))
    console.print(f"{result.checked} numbers checked, {len(result.mismatches)} wrong")
