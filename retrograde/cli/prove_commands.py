"""The commands ``tablut prove``, ``puzzle solve`` and ``puzzle check``, which prove claims and check proofs."""

from __future__ import annotations

from collections import Counter
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from retrograde.answers import PuzzleFile, PuzzleResult, SolutionResult, SolvedResult
from retrograde.proofs.proving import Claim, DrawRun, FirstMove, ProofRun, Proving
from retrograde.proofs.strategy_checker import CheckedProof, StrategyCheck
from retrograde.proofs.win_search import ProofLimits
from retrograde.puzzles.puzzle_file import (
    COLLECTION,
    MOST_BYTES,
    collection_names,
    judge,
    parse_puzzles,
    read_puzzles,
    shipped_ids,
)
from retrograde.tablebase.probing import prober_for
from tablut.cli.command import command
from tablut.cli.options import (
    AnimatedRequest,
    BoardRequest,
    LongWorkRequest,
    PicturesRequest,
    memory_field,
    position_field,
    read_position,
    read_text,
    tablebase_field,
    threads_field,
    variant_field,
    warn_if_impossible,
)
from tablut.cli.people import PeopleConsole, Table, label, legend, number
from tablut.cli.requests import Argument, Option, Request
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, interruptible, progress
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import InputError, MachineError
from tablut.formats.reading import read_move
from tablut.position import Position
from tablut.prober import Solution, find_prober
from tablut.variants import Variant, load_variant
from tablut.work.files import check_output, excerpt, store_path
from tablut.work.machine import check_memory
from tablut.work.progress import plural, rate_text
from tablut.work.run import LocalScheduler, open_scheduler

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrograde.proofs.certificate import ProofCertificate
    from retrograde.puzzles.puzzle_file import Puzzle

_LONG: Final = 20
"""Duration of a check, in seconds, above which its speed is printed."""


def nodes_field(default: int) -> Any:
    """Describe a field as the option ``--nodes`` of a search for a proof."""
    return Option(default, "Maximum number of moves made in the search for each position.", least=1, most=10**15)


# -- ``tablut puzzle solve``: one position -----------------------------------------------------


def _sources(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the puzzle files and puzzle ids that begin with a prefix, or only the files if the prefix is empty."""
    names = [COLLECTION, *collection_names(), *(shipped_ids() if incomplete else ())]
    return [name for name in names if name.startswith(incomplete)]


class SolvePuzzleRequest(PicturesRequest, AnimatedRequest):
    """The request of ``tablut puzzle solve``."""

    file: str | None = Argument(
        "[FILE]", "A puzzle file, a built-in one (collection, ashton, mcgill …), or a puzzle's id.", None, _sources
    )
    variant: str | None = variant_field(
        help="Name of a built-in rule set, or a TOML file. [default: that of the puzzles, or ashton]"
    )
    position: str | None = position_field()
    nodes: int = nodes_field(50_000_000)
    seconds: float | None = Option(None, "Time limit for each position.", metavar="SECONDS", least=0, most=1e9)
    memory: int = memory_field(256, "Memory for the transposition tables.", most=1 << 24)
    positions: int = Option(
        250_000, "Maximum number of positions listed to prove a draw; 0 to list none.", least=0, most=10**9
    )
    tablebase: str | None = tablebase_field()
    plies_left: int | None = Option(
        None, "Plies left before a draw. [default: the move limit of the rules]", least=0, most=10**6
    )
    all_wins: bool = Option(False, "Also look for moves that win more slowly.")
    save_proof: Path | None = Option(None, "File for the winner's complete strategy.")
    proof_positions: int = Option(2_000_000, "Maximum positions in a saved strategy.", least=1, most=4_000_000)
    svg: Path | None = Option(None, "File for an SVG drawing of the line as a strip of boards.")
    gif: Path | None = Option(None, "File for an animated picture of the line.")

    @cached_property
    def limits(self) -> ProofLimits:
        """The limits of the search for each position."""
        check_memory("memory", self.memory)
        return ProofLimits(self.nodes, self.seconds, self.memory << 20, self.positions)


@command()
def solve_command(request: SolvePuzzleRequest) -> Reply:
    """Solve a position, or check the stipulations of the puzzles in a file.

    A position is proved to be a win, a loss or a draw. After an interrupt, the results so far are
    printed. Exit code 1: a stipulation is refuted; 3: the limits were reached before a proof was
    found.
    """
    from retrograde.proofs.certificate import PROOF_FILE
    from retrograde.proofs.solver import Solver

    file, limits, plies_left, save_proof = request.file, request.limits, request.plies_left, request.save_proof
    if file is not None:
        if request.position is not None or save_proof is not None or request.draws or plies_left is not None:
            message = "cannot be combined with --position, --plies-left, --save-proof or a picture"
            raise InputError(message, subject=f"puzzle file {excerpt(file)}")
        return _solve_file(file, request)
    check_output(save_proof, PROOF_FILE, "choose another file with `save_proof`")
    rules = load_variant(request.variant or "ashton")
    asked = read_position(request.position, rules) or Position.parse(rules.start_position, rules.size)
    # A saved proof must be checkable with nothing but the rules, so it uses no tablebase.
    prober = None if save_proof is not None else find_prober(rules, request.tablebase)
    proof = solution = None
    interrupted = False
    solver = Solver(rules, limits, prober)
    try:
        solution = interruptible(partial(solver.solve, asked, plies_left=plies_left, all_wins=request.all_wins))
        if save_proof is not None:
            proof = interruptible(partial(_prove, rules, solution, limits, request.proof_positions, plies_left))
            proof.write(save_proof, "choose another file with `save_proof`")
    except KeyboardInterrupt:
        solution, interrupted = solution or solver.so_far(), True
        if solution is None:
            raise
    drawn = {} if interrupted else request.picture_names
    if request.draws and not interrupted:
        from tablut.strip import draw_line, draw_strip

        request.write_drawing(draw_strip(rules, asked, solution.line, title=_verdict(solution)))
        request.animate(draw_line(rules, asked, solution.line, title=_verdict(solution)))
    result = SolvedResult(
        **SolutionResult.model_validate(solution).model_dump(),
        plies_left=rules.rules.move_limit if plies_left is None else plies_left,
        interrupted=interrupted,
        proof=None if proof is None else str(save_proof),
        proof_positions=None if proof is None else len(proof.strategy),
        svg=drawn.get("svg"),
        png=drawn.get("png"),
        gif=drawn.get("gif"),
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
    """Return a description of the proved result."""
    if solution.winner is not None:
        return f"{solution.winner} wins" + ("" if solution.dtm is None else f" in {solution.dtm}")
    return {"draw": "a draw", "unresolved": "unresolved: the result depends on the history"}.get(
        solution.wdl or "", "unknown"
    )


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
    say = partial(console.print, soft_wrap=True)
    console.board(variant, solution.position.rows())
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
        what = "the only best move" if len(result.winning_moves) == 1 and not result.open_moves else "best moves"
        say(f"{what}: {', '.join(result.winning_moves)}")
    if result.other_winning_moves is not None:
        say(f"moves that win more slowly: {', '.join(result.other_winning_moves) or 'none found'}")
    if result.open_moves:
        say(f"unsettled moves: {', '.join(result.open_moves)}")
    say(f"by {result.source}; {plural(result.nodes, 'node')}, {result.seconds:.2f} s", style="dim")
    if result.interrupted and solution.status == "proved":
        say("interrupted before the strategy was saved")
    if result.proof and result.proof_positions is not None:
        say(f"strategy of {plural(result.proof_positions, 'position')} saved in {result.proof}", style="dim")
    for file in filter(None, (result.svg, result.png, result.gif)):
        say(f"drawing saved in {file}", style="dim")


# -- ``tablut puzzle solve FILE``: check the stipulations of a puzzle file ---------------


def _solve_file(file: str, request: SolvePuzzleRequest) -> Reply:
    """Check the stipulations of a puzzle file. After an interrupt, return the results so far."""
    from retrograde.proofs.solver import Solver

    if file == "-":
        puzzles = parse_puzzles(file, read_text(file, "puzzle file", MOST_BYTES), request.variant)
    else:
        puzzles = read_puzzles(file, request.variant)
    games = {name: load_variant(name) for name in {puzzle.variant for puzzle in puzzles}}
    results: list[PuzzleResult] = []
    interrupted = False
    with progress("solve") as observer:
        observer.begin("puzzles", len(puzzles))
        try:
            interruptible(partial(_examine, file, puzzles, games))
            for puzzle in puzzles:
                rules = games[puzzle.variant]
                solver = Solver(rules, request.limits, find_prober(rules, request.tablebase))
                solution = interruptible(partial(solver.solve, puzzle.position, all_wins=request.all_wins))
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

    Without this check, a mistake in the last line of a file would be reported only after hours.
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


# -- ``tablut puzzle check``: a saved proof -----------------------------------------------------


class _CheckedStrategy(CheckedProof):
    variant: str
    game: str
    file: str
    position: str
    winner: str
    plies: int | None
    plies_left: int | None
    strategy: int
    tables: dict[str, str]
    deep: bool
    interrupted: bool


class CheckProofRequest(Request):
    """The request of ``tablut puzzle check``."""

    file: str = Argument("FILE", "Proof file, written by --save-proof.")
    variant: str | None = variant_field(
        help="Name of a built-in rule set, or a TOML file. [default: as named in the proof]"
    )
    plies: int = Option(
        20_000,
        "Maximum number of plies made in the search for a shorter win; 0 for no search.",
        least=0,
        most=10**12,
    )
    tablebase: str | None = tablebase_field()
    deep: bool = Option(False, "Also play out the positions that the proof leaves to tablebases.")
    threads: int = threads_field("Number of processes that check in parallel.")


@command()
def check_command(request: CheckProofRequest) -> Reply:
    """Check a saved proof using only the rules, in plain Python.

    docs/proofs.md describes proofs. Exit code 1: the proof is wrong, or there is a shorter win.
    """
    from retrograde.proofs.certificate import MOST_BYTES, game_of, read_certificate

    file, variant, threads, deep = request.file, request.variant, request.threads, request.deep
    named = f"proof {excerpt(file)}"
    proof = read_certificate(file, read_text(file, "proof", MOST_BYTES) if file == "-" else Path(file))
    rules = game_of(file, proof, None if variant is None else load_variant(variant))
    tables = prober_for(rules, request.tablebase) if proof.tables else None
    interrupted = False
    try:
        scheduler = LocalScheduler(threads, processes=threads > 1)
        check = StrategyCheck(rules, proof, most_plies=request.plies, scheduler=scheduler, tablebase=tables, deep=deep)
        warn_if_impossible(rules, Position.parse(proof.position, rules.size), named)
        checked = interruptible(check.run)
    except InputError as error:
        # Errors about the file itself already name the file.
        if not error.subject.startswith(named):
            error.within(named)
        raise
    except KeyboardInterrupt:
        checked, interrupted = check.result(), True
    result = _CheckedStrategy(
        variant=rules.name,
        game=rules.digest,
        file=file,
        position=proof.position,
        winner=proof.winner,
        plies=proof.plies,
        plies_left=proof.plies_left,
        strategy=len(proof.strategy),
        tables=proof.tables,
        deep=deep,
        interrupted=interrupted,
        **checked.model_dump(),
    )
    failed = bool(checked.failures) or checked.shorter is not None
    code = EXIT_NO if failed else EXIT_INTERRUPTED if interrupted else 0
    return Reply(result, lambda console: _show_checked(console, result), code)


def _show_checked(console: PeopleConsole, result: _CheckedStrategy) -> None:
    def say(text: str, mark: str = "", style: str = "") -> None:
        console.print(Text(mark, style=style) + Text(text, style="not bold default"), soft_wrap=True)

    left = "" if result.plies_left is None else f"  ({plural(result.plies_left, 'ply')} left)"
    say(f"{result.variant}  {result.position}{left}")
    for failure in result.failures:
        say(f"  {failure}", "fails", "bold red")
    if result.failures:
        return
    if not result.proved:
        say(f"interrupted: {plural(result.positions, 'position')} checked, no error found")
        return
    replies = f"all replies to them in {result.positions - result.strategy:,}"
    does = "never loses" if result.within is None else f"wins within {plural(result.within, 'ply')}"
    if result.within != result.plies:
        does += f", {result.plies} according to the header"
    say(f": {result.winner} {does}; its moves in {plural(result.strategy, 'position')}, {replies}", "proved", "green")
    if result.unused:
        say(f"unused: {plural(result.unused, 'position')} of the file")
    if result.shorter is not None:
        say(f": {result.winner} wins within {result.shorter}", "not the shortest", "bold red")
    elif result.distance == "exact":
        say("there is no shorter win: all were tried")
    elif result.distance is not None:
        say(f"no shorter win within {plural(result.excluded, 'ply')}; longer ones are beyond the limit of this check")
    if result.in_tables:
        played = "whose moves were played out" if result.deep else "with the stored values; --deep plays them out"
        say(f"{plural(result.in_tables, 'position')} in tables ({', '.join(result.tables)}), {played}")
    if result.seconds > _LONG:
        say(f"{result.positions:,} positions in {result.seconds:.0f} s, {rate_text(result.positions_per_second)}")


# -- ``tablut prove``: prove a claim, possibly for days and on many machines -----------------------


class ProveRequest(BoardRequest, LongWorkRequest):
    """The request of ``tablut prove``."""

    claim: Claim = Option(..., "Claim: a side wins, a side does not win, or a draw.")
    moves: str = Option("", "Moves to play first, separated by spaces.", metavar="MOVES")
    tablebase: str | None = tablebase_field()
    hours: float | None = Option(None, "Time limit in hours, after which no new task starts.", metavar="HOURS", least=0)
    nodes: int = Option(10_000_000, "Maximum number of moves made by each task.", least=1, most=10**12)
    memory: int = memory_field(256, "Memory for each worker's table.", most=1 << 24)
    store: str | None = Option(None, "Folder for the state of the search, from which a run resumes.", metavar="DIR")
    threads: int = threads_field("Number of threads for each task; they share one table.")


@command(table=True)
def prove_command(request: ProveRequest) -> Reply:
    """Prove that a side wins from a position, that a side does not win, or that neither side wins.

    The result is a strategy that `tablut puzzle check` can check. To resume a search, repeat the
    command with the same --store. The workers of the --scheduler cluster execute code that this
    program sends them. Exit code 1: the claim is refuted; 3: the time limit was reached before the
    claim was settled.
    """
    check_memory("memory", request.memory)
    board, claim = request.board, request.claim
    for text in request.moves.split():
        board.push(read_move(text, board.size).move)
    root = None if request.store is None else store_path(request.store)
    with open_scheduler(1, request.scheduler) as workers, progress("prove") as observer:
        limits = request.among(["nodes", "threads", "tablebase"]) | {"memory": request.memory << 20}
        start = DrawRun if claim == "draw" else ProofRun
        run = start(board.variant, board.position, claim, observer=observer, **limits)
        try:
            run.run(workers, root, request.hours)
        except (MachineError, KeyboardInterrupt) as error:
            raise request.interrupted(_proving(run.result()), error) from None
    return _proving(run.result())


def _proving(found: Proving) -> Reply:
    code = {"proved": 0, "refuted": EXIT_NO}.get(found.status, EXIT_UNKNOWN)
    return Reply(found, lambda console: _show_proving(console, found), code, table=(FirstMove, found.first_moves))


def _show_proving(console: PeopleConsole, found: Proving) -> None:
    console.print(f"{found.variant}  {found.position}", soft_wrap=True)
    within = "" if found.within is None else f" within {plural(found.within, 'ply')}"
    unchecked = "" if found.checked or found.status == "open" else ", not checked with the plain rules"
    console.print(f"{found.claim}: {found.status}{within}{unchecked}", style="bold")
    if found.status == "proved":
        console.print(found.repetition)
    else:
        table = Table(label("first move"), number("proof"), number("disproof"), label("status"))
        for one in sorted(found.first_moves, key=lambda one: (one.proof is None, one.proof)):
            status = one.status if one.checked or one.status == "open" else f"{one.status}, not checked"
            table.add(one.move, *("∞" if n is None else f"{n:,}" for n in (one.proof, one.disproof)), status)
        console.print(table)
    for part in (found, *found.halves):
        if part.certificate:
            what = f"strategy for {part.claim}, {plural(part.strategy or 0, 'position')}: {part.certificate}"
            console.print(what, soft_wrap=True)
        if part.status != "open" and not part.checked and not part.halves:
            console.print(f"to check it: {_way_to_check(part)}", soft_wrap=True)
    made = [(found.tasks, "task"), (found.nodes, "node"), (found.positions, "position")]
    console.print(", ".join(plural(count, noun) for count, noun in made), style="dim")


def _way_to_check(found: Proving) -> str:
    """Return the command that checks a settled claim with the plain rules."""
    if found.status == "proved":
        return f"tablut puzzle check {found.certificate or '(the certificate in the folder --store DIR)'}"
    opposite = found.claim.removeprefix("not-") if found.claim.startswith("not-") else f"not-{found.claim}"
    return f"tablut prove --claim {opposite}, and tablut puzzle check with its certificate"
