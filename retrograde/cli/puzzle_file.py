"""``tablut puzzle solve FILE``: the puzzles of a file, and whether their stipulations hold."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from retrograde.cli.puzzle_results import PuzzleFile, PuzzleResult, solution_result
from tablut.cli.options import read_text, warn_if_impossible
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, interruptible, progress
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import InputError
from tablut.prober import find_prober
from tablut.store.files import excerpt
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrograde.proofs.solution import ProofLimits
    from retrograde.puzzles.puzzle_file import Puzzle
    from tablut.cli.people import PeopleConsole
    from tablut.variants import Variant


def solve_file(file: str, variant: str | None, limits: ProofLimits, tablebase: str | None, all_wins: bool) -> Reply:
    """Check the stipulations of a puzzle file; an interrupt answers what was solved until then."""
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
                solver = Solver(rules, limits, find_prober(rules, tablebase))
                solution = interruptible(partial(solver.solve, puzzle.position, all_wins=all_wins))
                verdict = judge(puzzle, solution)
                results.append(
                    PuzzleResult(
                        id=puzzle.id, claim=_claim(puzzle), verdict=verdict, solution=solution_result(solution)
                    )
                )
                display.advance(task)
        except KeyboardInterrupt:
            interrupted = True
    return _file_reply(file, results, interrupted, len(puzzles))


def _examine(file: str, puzzles: Sequence[Puzzle], games: Mapping[str, Variant]) -> None:
    """Refuse puzzles that cannot be solved before solving any: a slip in the last line must not cost an hour."""
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
