"""``tablut puzzle solve``, and the options that the commands of ``tablut puzzle`` share."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from retrograde.answers import PuzzleFile, PuzzleResult, SolutionResult, SolvedResult
from retrograde.puzzles.puzzle_file import (
    COLLECTION,
    MOST_BYTES,
    collection_names,
    judge,
    parse_puzzles,
    read_puzzles,
    shipped_ids,
)
from tablut.cli.options import (
    PositionOption,
    read_position,
    read_text,
    variant_option,
    warn_if_impossible,
)
from tablut.cli.people import PeopleConsole, draw_board, legend
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, command, interruptible, progress
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import InputError, did_you_mean
from tablut.position import Position
from tablut.prober import find_prober
from tablut.variants import Variant, load_variant
from tablut.work.files import excerpt, write_text
from tablut.work.machine import check_memory
from tablut.work.progress import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrograde.proofs.certificate import ProofCertificate
    from retrograde.proofs.solution import ProofLimits, Solution
    from retrograde.puzzles.puzzle_file import Puzzle

FileOption = Annotated[
    str, typer.Option("--file", "-f", metavar="FILE", help="Puzzle file that contains the puzzle, or a shipped one.")
]

NodesOption = Annotated[
    int,
    typer.Option("--nodes", min=1, max=10**15, help="Maximum number of moves made in the search, for each position."),
]
SecondsOption = Annotated[
    float | None, typer.Option("--seconds", metavar="SECONDS", min=0.0, max=1e9, help="Time limit for each position.")
]
MemoryOption = Annotated[
    int, typer.Option("--memory", metavar="MIB", min=1, max=1 << 24, help="Memory for the transposition tables in MiB.")
]
PositionsOption = Annotated[
    int,
    typer.Option(
        "--positions",
        min=0,
        max=10**9,
        help="Maximum number of positions in an exhaustive listing, which can prove a draw; 0 for none.",
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option("--tablebase", metavar="STORE", help="Folder of a tablebase. [default: the shipped one, if any]"),
]


def puzzle_ids_from(incomplete: str) -> list[str]:
    """Return the ids of shipped puzzles that begin with a text, for completion."""
    return [id_ for id_ in shipped_ids() if id_.startswith(incomplete)]


def read_one(name: str, file: str, variant: str | None) -> Puzzle:
    """Return the puzzle with a given id from a file."""
    puzzles = {puzzle.id: puzzle for puzzle in read_puzzles(file, variant)}
    if name in puzzles or name.lower() in puzzles:
        return puzzles.get(name) or puzzles[name.lower()]
    hint = did_you_mean(name, puzzles, "list them with `tablut puzzle list`, or choose another file with --file")
    raise InputError(f"is not in {excerpt(file)}", subject=f"puzzle {excerpt(name)}", remedy=hint)


# -- solve: one position -----------------------------------------------------------------


def _sources_from(incomplete: str) -> list[str]:
    """Return the names of shipped puzzle files and puzzles that begin with a text, for completion.

    For an empty text, return only files.
    """
    names = [COLLECTION, *collection_names(), *(shipped_ids() if incomplete else ())]
    return [name for name in names if name.startswith(incomplete)]


@command
def solve_command(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A puzzle file, a shipped one (collection, ashton, mcgill …), or the id of a puzzle.",
            autocompletion=_sources_from,
        ),
    ] = None,
    variant: Annotated[
        str | None,
        variant_option("Name of a shipped rule set, or a TOML file. [default: that of the puzzles, else ashton]"),
    ] = None,
    position: PositionOption = None,
    nodes: NodesOption = 50_000_000,
    seconds: SecondsOption = None,
    memory: MemoryOption = 256,
    positions: PositionsOption = 250_000,
    tablebase: StoreOption = None,
    plies_left: Annotated[
        int | None,
        typer.Option(min=0, max=10**6, help="Number of plies before a draw. [default: the move limit of the rules]"),
    ] = None,
    all_wins: Annotated[bool, typer.Option("--all-wins", help="Also look for moves that win later.")] = False,
    save_proof: Annotated[Path | None, typer.Option(help="File for the winner's complete strategy.")] = None,
    proof_positions: Annotated[
        int, typer.Option(min=1, max=4000000, help="Maximum number of positions in a saved strategy.")
    ] = 2_000_000,
    svg: Annotated[Path | None, typer.Option(help="File for an SVG drawing of the line as a strip of boards.")] = None,
) -> Reply:
    """Solve a position or the puzzles of a file.

    For a position, a win, a loss or a draw is proved; for puzzles, their stipulations are checked.
    After an interrupt, the results so far are printed. Exit code 1: a stipulation is refuted; 3:
    the limits were reached before a proof.
    """
    from retrograde.proofs.solution import ProofLimits
    from retrograde.proofs.solver import Solver

    if seconds is not None and not math.isfinite(seconds):
        raise InputError("must be a finite number of seconds", subject=f"--seconds {seconds}")
    check_memory("memory", memory)
    limits = ProofLimits(nodes=nodes, seconds=seconds, memory_bytes=memory << 20, positions=positions)
    if file is not None:
        if position is not None or save_proof is not None or svg is not None or plies_left is not None:
            message = "cannot be combined with --position, --plies-left, --save-proof or --svg"
            raise InputError(message, subject=f"puzzle file {excerpt(file)}")
        return solve_file(file, variant, limits, tablebase, all_wins)
    rules = load_variant(variant or "ashton")
    asked = read_position(position, rules) or Position.parse(rules.start_position, rules.size)
    # A proof that is saved must be checkable by the rules alone, so no tablebase is used.
    prober = None if save_proof is not None else find_prober(rules, tablebase)
    proof = solution = None
    interrupted = False
    solver = Solver(rules, limits, prober)
    try:
        solution = interruptible(partial(solver.solve, asked, plies_left=plies_left, all_wins=all_wins))
        if save_proof is not None:
            proof = interruptible(partial(_prove, rules, solution, limits, proof_positions, plies_left))
            proof.write(save_proof, "choose another file with `save_proof`")
    except KeyboardInterrupt:
        solution, interrupted = solution or solver.so_far(), True
        if solution is None:
            raise
    drawn = None if interrupted else svg
    if drawn is not None:
        from tablut.strip import draw_strip

        write_text(drawn, draw_strip(rules, asked, solution.line, title=_verdict(solution)))
    result = SolvedResult(
        **SolutionResult.model_validate(solution).model_dump(),
        plies_left=rules.rules.move_limit if plies_left is None else plies_left,
        interrupted=interrupted,
        proof=None if proof is None else str(save_proof),
        proof_positions=None if proof is None else len(proof.strategy),
        svg=None if drawn is None else str(drawn),
    )
    code = EXIT_INTERRUPTED if interrupted else 0 if solution.status == "proved" else EXIT_UNKNOWN
    return Reply(result, lambda console: _show_solved(console, rules, solution, result), code)


def _prove(
    variant: Variant, solution: Solution, limits: ProofLimits, most: int, plies_left: int | None
) -> ProofCertificate:
    from retrograde.proofs.certificate import build_certificate
    from retrograde.proofs.win_search import ProofBudget, WinSearch
    from tablut.engine import engine_for

    if solution.winner is None or solution.dtm is None:
        raise InputError("has no proved win, so no strategy can be saved", subject=f"position '{solution.position}'")
    engine = engine_for(variant)
    search = WinSearch(engine, int(solution.winner == "black"), limits.memory_bytes, ProofBudget(limits))
    board = engine.board(solution.position.cells, solution.position.side)
    return build_certificate(engine, search, board, solution.dtm, most, plies_left=plies_left)


def _verdict(solution: Solution) -> str:
    """Return a description of what was proved."""
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


def _show_solved(console: PeopleConsole, variant: Variant, solution: Solution, result: SolvedResult) -> None:
    def say(text: str, style: str = "") -> None:
        # Names, ids, paths and positions come from outside and must not be interpreted as markup.
        console.print(Text(text, style=style), soft_wrap=True)

    console.print(draw_board(variant, solution.position.rows()))
    console.print(legend(variant))
    left = "" if result.plies_left is None else f"  ({plural(result.plies_left, 'ply')} left)"
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
        say(f"unsettled moves: {', '.join(result.open_moves)}")
    say(f"by {result.source}; {plural(result.nodes, 'node')}, {result.seconds:.2f} s", style="dim")
    if result.interrupted and solution.status == "proved":
        say("interrupted before the strategy was saved")
    if result.proof and result.proof_positions is not None:
        say(f"strategy of {plural(result.proof_positions, 'position')} saved in {result.proof}", style="dim")
    if result.svg:
        say(f"drawing saved in {result.svg}", style="dim")


# -- solve FILE: check the stipulations of a puzzle file ---------------------------------


def solve_file(file: str, variant: str | None, limits: ProofLimits, tablebase: str | None, all_wins: bool) -> Reply:
    """Check the stipulations of a puzzle file; after an interrupt, return the results so far."""
    from retrograde.proofs.solver import Solver

    if file == "-":
        puzzles = parse_puzzles(file, read_text(file, "puzzle file", MOST_BYTES), variant)
    else:
        puzzles = read_puzzles(file, variant)
    games = {name: load_variant(name) for name in {puzzle.variant for puzzle in puzzles}}
    results: list[PuzzleResult] = []
    interrupted = False
    with progress("solve") as observer:
        observer.begin("puzzles", len(puzzles))
        try:
            interruptible(partial(_examine, file, puzzles, games))
            for puzzle in puzzles:
                rules = games[puzzle.variant]
                solver = Solver(rules, limits, find_prober(rules, tablebase))
                solution = interruptible(partial(solver.solve, puzzle.position, all_wins=all_wins))
                verdict = judge(puzzle, solution)
                solved = SolutionResult.model_validate(solution)
                results.append(PuzzleResult(id=puzzle.id, claim=_claim(puzzle), verdict=verdict, solution=solved))
                observer.advance()
        except KeyboardInterrupt:
            interrupted = True
    counts = Counter(result.verdict for result in results)
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
    return Reply(
        found, lambda console: _show_file(console, found, len(puzzles)), EXIT_INTERRUPTED if interrupted else code
    )


def _examine(file: str, puzzles: Sequence[Puzzle], games: Mapping[str, Variant]) -> None:
    """Raise an error for puzzles that cannot be solved, before the search begins.

    Otherwise a mistake in the last line of a file would be reported only after hours.
    """
    from retrograde.proofs.solver import is_lost_at_once

    for puzzle in puzzles:
        try:
            is_lost_at_once(games[puzzle.variant], puzzle.position)
        except InputError as error:
            error.within(f"puzzle file {excerpt(file)}, puzzle {excerpt(puzzle.id)}")
            raise
    for puzzle in puzzles:
        warn_if_impossible(games[puzzle.variant], puzzle.position, f"puzzle {excerpt(puzzle.id)}")


def _claim(puzzle: Puzzle) -> str:
    claim = "" if puzzle.stipulation is None else str(puzzle.stipulation)
    if puzzle.first is not None:
        claim += f"{', ' * bool(claim)}first move {' '.join(map(str, puzzle.first))}"
    return claim


def _show_file(console: PeopleConsole, result: PuzzleFile, total: int) -> None:
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
        console.print(Text(f"interrupted: {result.checked} of {plural(total, 'puzzle')} solved"), soft_wrap=True)
    console.print(
        Text(
            f"{plural(result.checked, 'puzzle')}: {result.holds} hold, {result.refuted} refuted, "
            f"{result.unknown} unknown"
            + (f", {result.without_claim} without a claim" if result.without_claim else "")
            + f"; {plural(result.nodes, 'node')}"
        ),
        soft_wrap=True,
    )
