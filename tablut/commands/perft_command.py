"""``tablut perft``: count move sequences, or check the counts in a corpus."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from tablut.board import Board
from tablut.cli.command import command
from tablut.cli.options import position_field, read_position, read_text, threads_field, variant_field
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import EXIT_NO, Interrupted, Reply, interruptible, progress
from tablut.errors import InputError, UncompiledError
from tablut.position import Position
from tablut.results import PerftCount, PerftResult, Result, named_moves
from tablut.variants import Variant, load_variant, variant_names
from tablut.work.clocks import wall_clock
from tablut.work.files import excerpt
from tablut.work.progress import plural, rate_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.cli.people import PeopleConsole

_CLAIM = re.compile(r"([1-9][0-9]?)=([0-9]{1,18})")


class _Mismatch(Result):
    id: str
    position: str
    depth: int
    expected: int
    found: int
    divide: dict[str, int]


class _Count(Result):
    ply: int
    move: str | None
    nodes: int


class _Corpus(Result):
    variant: str
    file: str
    checked: int
    mismatches: list[_Mismatch]


class PerftRequest(Request):
    """The request of ``tablut perft``."""

    depth: int = Option(3, "Number of plies.", "--depth", "-d", least=0, most=20)
    variant: str | None = variant_field(
        help="Name of a rule set, or a TOML file. [default: that of the corpus, or ashton]"
    )
    position: str | None = position_field()
    divide: bool = Option(False, "Also count the sequences for each first move.")
    applied: bool = Option(False, "Make every last move and count the outcomes, instead of only counting the moves.")
    threads: int = threads_field("Number of threads.")
    corpus: str | None = Option(None, "File of positions with known counts to check instead.", metavar="FILE")


@command(table=True)
def perft_command(request: PerftRequest) -> Reply:
    """Count the move sequences of exactly 1, 2, … DEPTH plies (perft), to test a move generator.

    With --depth 0 the answer is 1. A decided position has no moves; repetition and move limits are
    ignored.
    """
    from tablut.engine import engine_for

    depth, divide, applied, threads = request.depth, request.divide, request.applied, request.threads
    if request.corpus is not None:
        if request.position is not None or divide or applied:
            raise InputError(
                "provides the positions",
                subject="--corpus",
                remedy="leave out --position, --divide and --applied",
            )
        return _check_corpus(request.corpus, request.variant, threads)
    if applied and divide:
        raise InputError("cannot be combined with --divide", subject="--applied", remedy="leave one of them out")
    if depth == 0 and (applied or divide):
        raise InputError(
            "needs at least one move",
            subject=f"--{'applied' if applied else 'divide'}",
            remedy="use --depth 1 or more",
        )

    rules = load_variant(request.variant or "ashton")
    start = read_position(request.position, rules)
    counted: Callable[[int], int]
    try:
        engine = engine_for(rules)
        board = engine.start() if start is None else engine.board(start.cells, start.side)
        counted = partial(engine.perft, board, threads=threads)
    except UncompiledError:
        if applied or divide:
            raise
        counted = Board(rules, start).perft
    found = PerftCount(rules, str(start) if start is not None else rules.start_position, threads)
    try:
        with progress("perft") as observer:
            observer.begin("plies", depth)
            for plies in range(1, depth + 1):
                started = wall_clock()
                if applied:
                    found.statistics = interruptible(partial(engine.perft_applied, board, plies, threads=threads))
                    found.counts.append(found.statistics.nodes)
                else:
                    found.counts.append(interruptible(partial(counted, plies)))
                found.seconds = wall_clock() - started
                observer.advance()
        if divide:
            found.divided = interruptible(partial(engine.divide, board, depth, threads=threads))
    except KeyboardInterrupt:
        if not found.counts:
            raise
        raise Interrupted(_reply(found)) from None
    return _reply(found)


def _reply(found: PerftCount) -> Reply:
    result = found.result()
    rows = [_Count(ply=ply, move=None, nodes=nodes) for ply, nodes in _by_ply(result)]
    rows += [_Count(ply=len(result.perft), move=move, nodes=nodes) for move, nodes in (result.divide or {}).items()]
    return Reply(result, lambda console: _show(console, result), table=(_Count, rows))


def _by_ply(result: PerftResult) -> list[tuple[int, int]]:
    """Return pairs of ply and count. The empty sequence is listed only if no longer sequence was counted."""
    return [*enumerate(result.perft, 1)] or [(0, 1)]


def _show(console: PeopleConsole, result: PerftResult) -> None:
    console.print(f"{result.variant}  {result.position}", soft_wrap=True)
    if result.divide:
        for move, nodes in result.divide.items():
            console.print(f"{move:>8}  {nodes:>16,}")
    for plies, nodes in _by_ply(result):
        console.print(f"{plies:>8}  {nodes:>16,}", style="bold")
    if result.applied:
        for outcome, count in result.applied["outcomes"].items():
            console.print(f"{count:>26,}  {outcome}")
        console.print(f"{result.applied['captured']:>26,}  soldiers captured by last plies")
    if result.perft:
        speed = f"{result.seconds:.3f} s, {rate_text(result.nodes_per_second)}"
        console.print(f"last depth: {speed}, {plural(result.threads, 'thread')}", style="dim")


# -- corpora -------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """A position in a corpus and its known counts, as pairs of depth and number of sequences."""

    id: str
    position: Position
    numbers: list[tuple[int, int]]


def _check_corpus(file: str, variant: str | None, threads: int) -> Reply:
    """Check every count of a corpus file. Report each mismatch with its position and the count for each first move."""
    from tablut.engine import engine_for

    rules, entries = _read_corpus(file, variant)
    engine = engine_for(rules)
    checked = 0
    mismatches: list[_Mismatch] = []

    def reply() -> Reply:
        result = _Corpus(variant=rules.name, file=str(Path(file)), checked=checked, mismatches=mismatches)
        code = EXIT_NO if mismatches else 0
        return Reply(result, lambda console: _show_corpus(console, result), code, table=(_Mismatch, mismatches))

    try:
        for entry in entries:
            for plies, expected in entry.numbers:
                board = engine.board(entry.position.cells, entry.position.side)
                found = interruptible(partial(engine.perft, board, plies, threads=threads))
                checked += 1
                if found != expected:
                    divided = interruptible(partial(engine.divide, board, plies, threads=threads))
                    mismatches.append(
                        _Mismatch(
                            id=entry.id,
                            position=str(entry.position),
                            depth=plies,
                            expected=expected,
                            found=found,
                            divide=named_moves(divided, rules.size),
                        )
                    )
    except KeyboardInterrupt:
        if not checked:
            raise
        raise Interrupted(reply()) from None
    return reply()


def _read_corpus(file: str, variant: str | None) -> tuple[Variant, list[_Entry]]:
    """Return the rules and entries of a corpus. A line before the entries may name the rules."""
    rules = None if variant is None else load_variant(variant)
    named = ""
    entries: list[_Entry] = []
    for number, line in enumerate(read_text(file, "corpus").splitlines(), 1):
        where = f"corpus {excerpt(file)}, line {number}"
        if not line.strip() or line.startswith("#"):
            continue
        if not entries and not named and line.split()[0] == "variant":
            named = line.split(maxsplit=1)[1].strip() if len(line.split()) > 1 else ""
            rules = _held_to(named, rules, where)
            continue
        rules = rules or load_variant("ashton")
        entries.append(_read_entry(line, rules, where))
    if rules is None or not entries:
        raise InputError("contains no positions, so there is nothing to check", subject=f"corpus {excerpt(file)}")
    return rules, entries


def _held_to(named: str, given: Variant | None, where: str) -> Variant:
    """Return the rules that a corpus names.

    A corpus can only name a built-in rule set or the one given by ``--variant``, so that it cannot cause a file to be
    opened.
    """
    if named in variant_names():
        rules = load_variant(named)
        if given is not None and given != rules:
            raise InputError(
                f"is of variant {named}, not of {given.name!r}",
                subject=where,
                remedy="leave out --variant",
            )
        return rules
    if given is None or given.name != named:
        raise InputError(
            f"names the unknown variant {excerpt(named)}",
            subject=where,
            remedy="give its rule file with --variant",
        )
    return given


def _read_entry(line: str, variant: Variant, where: str) -> _Entry:
    parts = [part.strip() for part in line.split(";")]
    if len(parts) != 4:
        raise InputError("expected `id; position; depth=nodes …; source`", subject=where)
    id_, text, claims, _ = parts
    numbers = []
    for claim in claims.split():
        match = _CLAIM.fullmatch(claim)
        if match is None:
            raise InputError(f"expected depth=nodes, not {excerpt(claim)}", subject=where)
        numbers.append((int(match[1]), int(match[2])))
    if not numbers:
        raise InputError("has no counts to check", subject=where)
    return _Entry(id_, Position.parse(text, variant.size), numbers)


def _show_corpus(console: PeopleConsole, result: _Corpus) -> None:
    for miss in result.mismatches:
        console.print(Text.assemble((miss.id, "bold red"), f"\n{miss.position}"), soft_wrap=True)
        console.print(f"depth {miss.depth}: expected {miss.expected:,}, found {miss.found:,}")
        console.print("  ".join(f"{move} {nodes:,}" for move, nodes in miss.divide.items()))
    console.print(f"{result.variant}: {plural(result.checked, 'number')} checked, {len(result.mismatches)} wrong")
