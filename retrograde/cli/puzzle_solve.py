"""``tablut puzzle solve``: one position, or the stipulations of a puzzle file."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from retrograde.cli.puzzle_file import solve_file
from retrograde.cli.puzzle_options import MemoryOption, NodesOption, PositionsOption, SecondsOption, StoreOption
from retrograde.cli.puzzle_results import SolutionResult, solution_result
from tablut.cli.options import PositionOption, read_position, variant_option
from tablut.cli.runtime import EXIT_UNKNOWN, Reply, command, interruptible
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import InputError
from tablut.position import Position
from tablut.prober import find_prober
from tablut.running.machine import check_memory
from tablut.store.files import excerpt, write_text
from tablut.variants import Variant, load_variant

if TYPE_CHECKING:
    from retrograde.proofs.certificate import ProofCertificate
    from retrograde.proofs.solution import ProofLimits, Solution
    from tablut.cli.people import PeopleConsole

__all__ = ["SolvedResult", "solve_command"]


class SolvedResult(SolutionResult):
    """A solved position, and what was made of its solution."""

    plies_left: int | None
    interrupted: bool = False
    proof: str | None = None
    proof_positions: int | None = None
    svg: str | None = None


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
        variant_option("A shipped rule set, or a TOML file. [default: what the puzzles name, else ashton]"),
    ] = None,
    position: PositionOption = None,
    nodes: NodesOption = 50_000_000,
    seconds: SecondsOption = None,
    memory: MemoryOption = 256,
    positions: PositionsOption = 250_000,
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

    Exit code 1: a stipulation is refuted; 3: the limits ran out before a proof. An interrupt prints
    what was proved until then.
    """
    from retrograde.proofs.solution import ProofLimits

    if seconds is not None and not math.isfinite(seconds):
        raise InputError(f"--seconds {seconds}: expected a number of seconds")
    check_memory("--memory", memory)
    limits = ProofLimits(nodes=nodes, seconds=seconds, memory_bytes=memory << 20, positions=positions)
    if file is not None:
        if position is not None or save_proof is not None or svg is not None or plies_left is not None:
            message = "leave out --position, --plies-left, --save-proof and --svg"
            raise InputError(f"puzzle file {excerpt(file)}: {message}")
        return solve_file(file, variant, limits, tablebase, all_wins)
    rules = load_variant(variant or "ashton")
    asked = read_position(position, rules) or Position.parse(rules.start_position, rules.size)
    return _solve_position(
        rules, asked, limits, tablebase, _Wish(plies_left, all_wins, save_proof, proof_positions, svg)
    )


class _Wish(NamedTuple):
    """What is asked of one position."""

    plies_left: int | None
    all_wins: bool
    save_proof: Path | None
    proof_positions: int
    svg: Path | None


def _solve_position(
    variant: Variant, asked: Position, limits: ProofLimits, tablebase: str | None, wish: _Wish
) -> Reply:
    from retrograde.proofs.solver import Solver

    # A proof must be checkable by the rules alone, so it may not rest on a tablebase.
    prober = None if wish.save_proof is not None else find_prober(variant, tablebase)
    proof = solution = None
    interrupted = False
    solver = Solver(variant, limits, prober)
    try:
        solution = interruptible(partial(solver.solve, asked, plies_left=wish.plies_left, all_wins=wish.all_wins))
        if wish.save_proof is not None:
            proof = interruptible(partial(_prove, variant, solution, limits, wish.proof_positions, wish.plies_left))
            proof.write(wish.save_proof)
    except KeyboardInterrupt:
        solution, interrupted = solution or solver.so_far(), True
        if solution is None:
            raise
    drawn = None if interrupted else wish.svg
    if drawn is not None:
        from tablut.strip import draw_strip

        write_text(drawn, draw_strip(variant, asked, solution.line, title=_verdict(solution)))
    result = SolvedResult(
        **solution_result(solution).model_dump(),
        plies_left=variant.rules.move_limit if wish.plies_left is None else wish.plies_left,
        interrupted=interrupted,
        proof=None if proof is None else str(wish.save_proof),
        proof_positions=None if proof is None else len(proof.strategy),
        svg=None if drawn is None else str(drawn),
    )
    code = EXIT_INTERRUPTED if interrupted else 0 if solution.status == "proved" else EXIT_UNKNOWN
    return Reply(result, lambda console: _show(console, variant, solution, result), code)


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


def _show(console: PeopleConsole, variant: Variant, solution: Solution, result: SolvedResult) -> None:
    from rich.text import Text

    from tablut.cli.people import draw_board, legend

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
        say(f"saved: its answer in {result.proof_positions:,} positions, {result.proof}", style="dim")
    if result.svg:
        say(f"drawn to {result.svg}", style="dim")
