"""``tablut puzzle solve``: one position, or the stipulations of a puzzle file."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablut.cli.completion import variant_names_from
from tablut.cli.interrupts import EXIT_INTERRUPTED
from tablut.cli.options import PositionOption, read_position, read_text, warn_if_impossible
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, command, interruptible, progress
from tablut.errors import InputError
from tablut.files import excerpt, write_text
from tablut.machine import check_memory
from tablut.position import Position
from tablut.results import Result
from tablut.variants import Variant, load_variant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrograde.proofs.certificate import ProofCertificate
    from retrograde.proofs.solution import ProofLimits, Solution
    from retrograde.puzzles.puzzle_file import Puzzle
    from tablut.cli.people import PeopleConsole
    from tablut.prober import Prober

__all__ = [
    "MemoryOption",
    "NodesOption",
    "PuzzleFile",
    "PuzzleResult",
    "StoreOption",
    "find_tablebase",
    "solve_command",
]

NodesOption = Annotated[
    int, typer.Option("--nodes", min=1, max=10**15, help="Moves to be made on the board, for each position.")
]
Seconds = Annotated[float | None, typer.Option("--seconds", min=0.0, max=1e9, help="Wall time for each position.")]
MemoryOption = Annotated[
    int, typer.Option("--memory", metavar="MIB", min=1, max=1 << 24, help="For the transposition tables.")
]
Positions = Annotated[
    int,
    typer.Option(
        "--positions",
        min=0,
        max=10**9,
        help="Most positions of an exhaustive listing, which can prove a draw; 0: none.",
    ),
]
StoreOption = Annotated[
    Path | None, typer.Option("--tablebase", metavar="STORE", help="A tablebase. [default: what ships, if anything]")
]


class BoundsResult(Result):
    """What is proved about a side's chances, in plies."""

    win_within: int | None
    no_win_within: int
    never: bool


class SolutionResult(Result):
    """A solved position; see `retrograde.proofs.solution.Solution`."""

    variant: str
    position: str
    status: str
    wdl: str | None
    dtm: int | None
    winner: str | None
    line: list[str]
    winning_moves: list[str]
    other_winning_moves: list[str] | None = None
    open_moves: list[str]
    bounds: dict[str, BoundsResult]
    nodes: int
    seconds: float
    source: str
    reason: str


class _Solved(SolutionResult):
    plies_left: int | None
    interrupted: bool
    proof: str | None
    proof_positions: int | None
    svg: str | None


class PuzzleResult(Result):
    """A puzzle with what became of its claims."""

    id: str
    claim: str
    verdict: str
    solution: SolutionResult


class PuzzleFile(Result):
    """The puzzles of a file with what became of their claims."""

    file: str
    checked: int
    holds: int
    refuted: int
    unknown: int
    without_claim: int
    nodes: int
    interrupted: bool = False
    puzzles: list[PuzzleResult]


def _sources_from(incomplete: str) -> list[str]:
    """Return what ships and begins so: files, and once something is typed, puzzles."""
    from retrograde.puzzles.collection import COLLECTION, collection_names, shipped_ids

    names = [COLLECTION, *collection_names(), *(shipped_ids() if incomplete else ())]
    return [name for name in names if name.startswith(incomplete)]


@command
def solve_command(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A puzzle file, or one that ships (collection, ashton, mcgill …), or a puzzle's id.",
            autocompletion=_sources_from,
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            "--variant",
            "-v",
            metavar="NAME|FILE",
            help="A shipped rule set, or a TOML file. [default: what the puzzles name, else ashton]",
            autocompletion=variant_names_from,
        ),
    ] = None,
    position: PositionOption = None,
    nodes: NodesOption = 50_000_000,
    seconds: Seconds = None,
    memory: MemoryOption = 256,
    positions: Positions = 250_000,
    tablebase: StoreOption = None,
    plies_left: Annotated[
        int | None,
        typer.Option("--plies-left", min=0, max=10**6, help="Plies before a draw. [default: the variant's move limit]"),
    ] = None,
    all_wins: Annotated[bool, typer.Option("--all-wins", help="Look for wins that take longer as well.")] = False,
    save_proof: Annotated[
        Path | None, typer.Option("--save-proof", metavar="FILE", help="Write the winner's whole strategy.")
    ] = None,
    proof_positions: Annotated[
        int, typer.Option("--proof-positions", min=1, max=4_000_000, help="Most positions of a saved strategy.")
    ] = 2_000_000,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the line as a strip of boards.")
    ] = None,
) -> Reply:
    """Prove win, loss or draw of a position, or check the stipulations of a puzzle file.

    Exit code 1 tells that a stipulation is refuted, 3 that the limits ran out before a proof. An interrupt prints
    what was proved until then.
    """
    from retrograde.proofs.solution import ProofLimits
    from retrograde.proofs.solver import Solver

    if seconds is not None and not math.isfinite(seconds):
        raise InputError(f"--seconds {seconds}: expected a number of seconds")
    check_memory("--memory", memory)
    limits = ProofLimits(nodes=nodes, seconds=seconds, memory_bytes=memory << 20, positions=positions)
    if file is not None:
        if position is not None or save_proof is not None or svg is not None or plies_left is not None:
            message = "leave out --position, --plies-left, --save-proof and --svg"
            raise InputError(f"puzzle file {excerpt(file)}: {message}")
        return _solve_file(file, variant, limits, tablebase, all_wins)
    rules = load_variant(variant or "ashton")
    asked = read_position(position, rules) or Position.parse(rules.start_position, rules.size)
    # What a tablebase says cannot be checked by who has only the rules.
    prober = None if save_proof is not None else find_tablebase(rules, tablebase)
    proof = solution = None
    interrupted = False
    solver = Solver(rules, limits, prober)
    try:
        solution = interruptible(partial(solver.solve, asked, plies_left=plies_left, all_wins=all_wins))
        if save_proof is not None:
            proof = interruptible(partial(_prove, rules, solution, limits, proof_positions, plies_left))
            proof.write(save_proof)
    except KeyboardInterrupt:
        solution, interrupted = solution or solver.so_far(), True
        if solution is None:
            raise
    if svg is not None and not interrupted:
        from tablut.strip import draw_strip

        write_text(svg, draw_strip(rules, asked, solution.line, title=_verdict(solution)))
    result = _Solved(
        **_result(solution).model_dump(),
        plies_left=rules.rules.move_limit if plies_left is None else plies_left,
        interrupted=interrupted,
        proof=None if proof is None else str(save_proof),
        proof_positions=None if proof is None else len(proof.strategy),
        svg=None if svg is None or interrupted else str(svg),
    )
    code = EXIT_INTERRUPTED if interrupted else 0 if solution.status == "proved" else EXIT_UNKNOWN
    return Reply(result, lambda console: _show(console, rules, solution, result), code)


def find_tablebase(variant: Variant, store: Path | None) -> Prober | None:
    """Return the tablebase that is named, or what ships for a variant."""
    from tablut.prober import find_prober

    return find_prober(variant, store)


def _prove(
    variant: Variant, solution: Solution, limits: ProofLimits, most: int, plies_left: int | None
) -> ProofCertificate:
    from retrograde.proofs.certificate import build_certificate
    from retrograde.proofs.win_search import Budget, WinSearch
    from tablut.engine import engine_for

    if solution.winner is None or solution.dtm is None:
        raise InputError(f"position '{solution.position}': no win is proved, so there is no strategy to save")
    engine = engine_for(variant)
    search = WinSearch(engine, int(solution.winner == "black"), limits.memory_bytes, Budget(limits))
    board = engine.board(solution.position.cells, solution.position.side)
    return build_certificate(engine, search, board, solution.dtm, most, plies_left=plies_left)


def _result(solution: Solution) -> SolutionResult:
    later = solution.other_winning_moves
    return SolutionResult(
        variant=solution.variant.name,
        position=str(solution.position),
        status=solution.status,
        wdl=solution.wdl,
        dtm=solution.dtm,
        winner=solution.winner,
        line=[str(move) for move in solution.line],
        winning_moves=[str(move) for move in solution.winning_moves],
        other_winning_moves=None if later is None else [str(move) for move in later],
        open_moves=[str(move) for move in solution.open_moves],
        bounds={
            side: BoundsResult(win_within=bounds.win_within, no_win_within=bounds.no_win_within, never=bounds.never)
            for side, bounds in solution.bounds.items()
        },
        nodes=solution.nodes,
        seconds=round(solution.seconds, 3),
        source=solution.source,
        reason=solution.reason,
    )


def _verdict(solution: Solution) -> str:
    """Return what is known, in words."""
    if solution.winner is not None:
        return f"{solution.winner} wins" + ("" if solution.dtm is None else f" in {solution.dtm}")
    return {"draw": "a draw", "unresolved": "unresolved: the history decides"}.get(solution.wdl or "", "unknown")


def _proven_bounds(solution: Solution) -> list[str]:
    lines = []
    for side, bounds in solution.bounds.items():
        if bounds.never:
            lines.append(f"{side} cannot force a win")
        else:
            within = "" if bounds.win_within is None else f"wins within {bounds.win_within}, "
            lines.append(f"{side}: {within}no win within {bounds.no_win_within} plies")
    return lines


def _show(console: PeopleConsole, variant: Variant, solution: Solution, result: _Solved) -> None:
    from rich.text import Text

    from tablut.cli.draw import draw_board, legend

    def say(text: str, style: str = "") -> None:
        # Names, ids, paths and positions come from outside: none of it is markup.
        console.print(Text(text, style=style), soft_wrap=True)

    console.print(draw_board(variant, solution.position.rows()))
    console.print(legend(variant))
    left = "" if result.plies_left is None else f"  ({result.plies_left} plies left)"
    say(f"{variant.name}  {solution.position}{left}")
    console.print(
        Text(_verdict(solution), style="bold") + Text(f"  ({solution.reason})" if solution.reason else "", style=""),
        soft_wrap=True,
    )
    if solution.status == "unknown":
        for line in _proven_bounds(solution):
            say(f"proved: {line}")
    if result.line:
        say("line: " + " ".join(result.line))
    if result.winning_moves:
        what = "only move" if len(result.winning_moves) == 1 and not result.open_moves else "moves"
        say(f"{what} that attain{'s' * (what == 'only move')} it: {', '.join(result.winning_moves)}")
    if result.other_winning_moves is not None:
        say(f"moves that win later: {', '.join(result.other_winning_moves) or 'none found'}")
    if result.open_moves:
        say(f"moves not settled: {', '.join(result.open_moves)}")
    say(f"by {result.source}; {result.nodes:,} nodes, {result.seconds:.2f} s", style="dim")
    if result.interrupted and solution.status == "proved":
        say("interrupted before the strategy was saved")
    if result.proof:
        say(f"strategy for {result.proof_positions:,} positions in {result.proof}", style="dim")
    if result.svg:
        say(f"drawn to {result.svg}", style="dim")


# -- puzzle files ----------------------------------------------------------------------


def _solve_file(file: str, variant: str | None, limits: ProofLimits, tablebase: Path | None, all_wins: bool) -> Reply:
    from retrograde.proofs.solver import Solver
    from retrograde.puzzles.collection import read_puzzles
    from retrograde.puzzles.puzzle_file import MOST_BYTES, judge, parse_puzzles

    if file == "-":
        puzzles = parse_puzzles(file, read_text(file, "puzzle file", MOST_BYTES), variant)
    else:
        puzzles = read_puzzles(file, variant)
    games = {name: load_variant(name) for name in {puzzle.variant for puzzle in puzzles}}
    results: list[PuzzleResult] = []
    interrupted = False
    with progress("puzzles") as display:
        task = display.add_task("", total=len(puzzles))
        try:
            interruptible(partial(_examine, file, puzzles, games))
            for puzzle in puzzles:
                rules = games[puzzle.variant]
                solver = Solver(rules, limits, find_tablebase(rules, tablebase))
                solution = interruptible(partial(solver.solve, puzzle.position, all_wins=all_wins))
                verdict = judge(puzzle, solution)
                results.append(
                    PuzzleResult(id=puzzle.id, claim=_claim(puzzle), verdict=verdict, solution=_result(solution))
                )
                display.advance(task)
        except KeyboardInterrupt:
            interrupted = True
    return _file_reply(file, results, interrupted, len(puzzles))


def _examine(file: str, puzzles: Sequence[Puzzle], games: Mapping[str, Variant]) -> None:
    """Refuse what cannot be solved before the first puzzle is: a slip in the last line must not cost an hour."""
    from retrograde.proofs.solver import is_lost_at_once

    for puzzle in puzzles:
        try:
            is_lost_at_once(games[puzzle.variant], puzzle.position)
        except InputError as error:
            raise InputError(f"puzzle file {excerpt(file)}, puzzle {excerpt(puzzle.id)}: {error}") from error
    for puzzle in puzzles:
        warn_if_impossible(games[puzzle.variant], puzzle.position, f"puzzle {excerpt(puzzle.id)}")


def _file_reply(file: str, results: list[PuzzleResult], interrupted: bool, total: int) -> Reply:
    counts = {
        name: sum(result.verdict == name for result in results) for name in ("holds", "refuted", "unknown", "none")
    }
    unsolved = any(result.verdict == "none" and result.solution.status == "unknown" for result in results)
    found = PuzzleFile(
        file=file,
        checked=len(results),
        holds=counts["holds"],
        refuted=counts["refuted"],
        unknown=counts["unknown"],
        without_claim=counts["none"],
        nodes=sum(result.solution.nodes for result in results),
        interrupted=interrupted,
        puzzles=results,
    )
    code = EXIT_NO if found.refuted else EXIT_UNKNOWN if found.unknown or unsolved else 0
    return Reply(found, lambda console: _show_file(console, found, total), EXIT_INTERRUPTED if interrupted else code)


def _claim(puzzle: Puzzle) -> str:
    claim = "" if puzzle.stipulation is None else str(puzzle.stipulation)
    if puzzle.first is not None:
        claim += f"{', ' * bool(claim)}first move {' '.join(map(str, puzzle.first))}"
    return claim


def _show_file(console: PeopleConsole, result: PuzzleFile, total: int) -> None:
    from rich.text import Text

    colours = {"holds": "green", "refuted": "bold red", "unknown": "yellow", "none": "dim"}
    for puzzle in result.puzzles:
        solution = puzzle.solution
        value = f"{solution.winner} wins in {solution.dtm}" if solution.winner and solution.dtm else solution.wdl
        moves = " ".join(solution.winning_moves[:4]) + (" …" if len(solution.winning_moves) > 4 else "")
        line = Text(f"{puzzle.verdict:>8}", style=colours[puzzle.verdict])
        line.append(f"  {puzzle.id:<16} {value or 'unknown':<18} {moves:<12} ", style="not bold default")
        line.append(f"{solution.variant}, {solution.nodes:,} nodes", style="dim")
        console.print(line, soft_wrap=True)
        if puzzle.verdict in ("refuted", "unknown"):
            told = f"{'':>10}claimed: {puzzle.claim}\n{'':>10}{solution.position}"
            console.print(Text(told), soft_wrap=True)
    if result.interrupted:
        console.print(Text(f"interrupted: {result.checked} of {total} puzzles solved"), soft_wrap=True)
    console.print(
        Text(
            f"{result.checked} puzzle{'s' * (result.checked != 1)}: {result.holds} hold, {result.refuted} refuted, "
            f"{result.unknown} unknown"
            + (f", {result.without_claim} without a claim" if result.without_claim else "")
            + f"; {result.nodes:,} nodes"
        ),
        soft_wrap=True,
    )
