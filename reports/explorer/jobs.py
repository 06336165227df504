"""The jobs that workers run: searching, proving, counting and analysing. Nothing here handles HTTP requests.

A job, as `reports.explorer.work` defines it, is a function that takes the channel to the serving process, then the
request and the limits.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from reports.explorer.guard import NotFoundError, Settings
from reports.puzzles import efforts
from reports.rulebook import variations
from retrograde.answers import SolutionResult, SolvedResult, tier_result
from retrograde.proofs import ProofLimits, Solver
from retrograde.puzzles.puzzle_file import Puzzle, facts_of, read_puzzles, rules_of
from retrograde.puzzles.puzzle_game import PuzzleGame
from retrograde.solver.solver_report import SolveReport, solve_report
from retrograde.tablebase import Tablebase, open_tablebase
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut import svg
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError, MachineError, TablutError, UncompiledError
from tablut.indexing.values import unforced
from tablut.play.analysis import Analyst, Insight, analyse
from tablut.play.bridges.factory import player_from_name
from tablut.play.players import Choice, PlayerOptions, make_player
from tablut.play.players.registry import BestMoveResult, bestmove_result, ready_player
from tablut.play.players.simple import AlphaBetaPlayer
from tablut.play.search.limits import SearchLimits
from tablut.results import PerftCount, PerftResult, Result
from tablut.strip import draw_line
from tablut.variants import shipped_variant
from tablut.work.clocks import wall_clock
from tablut.work.progress import plural

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from counting import BoundsReport
    from reports.explorer.requests import (
        AnalysisRequest,
        BestMoveRequest,
        EndingsRequest,
        GameRequest,
        MovesRequest,
        PerftRequest,
        PictureRequest,
        SolveRequest,
    )
    from reports.explorer.work import Channel

_LINES: Final = 3
"""Number of best lines shown on the board."""
_TELL: Final = 0.5
"""Seconds between two messages about the progress of a proof."""
_TABLE_BYTES: Final = 64 << 20
"""Maximum size, in bytes, of a tablebase's unpacked part that a worker keeps in memory."""


class _StoppedError(TablutError):
    """Exception raised when the visitor has disconnected or the time has run out."""


def get_ready() -> None:
    """Run a small search and a small proof to load the code and data that they need."""
    board = Board("ashton")
    ready_player("alphabeta", board.variant, PlayerOptions(hash_mib=1))
    small = Board("ashton-5-4v0")
    Solver(small.variant, ProofLimits(100, 1.0, 1 << 20, 0)).solve(small.position)


@lru_cache(maxsize=8)
def opened(folder: Path) -> Tablebase:
    """Return the tablebase in a folder. Each process opens it only once."""
    return open_tablebase(folder, _TABLE_BYTES)


def bestmove(channel: Channel, request: BestMoveRequest, limits: SearchLimits, settings: Settings) -> BestMoveResult:
    """Choose a move with the requested player."""
    board = request.board()
    options = PlayerOptions(seed=request.seed, hash_mib=settings.hash_mib, table_mib=settings.table_mib)
    make = player_from_name if request.player in settings.players else make_player
    player = make(request.player, board.variant, options)
    channel.when_stopped(getattr(player, "stop", lambda: None))
    lines = {"lines": request.lines} if request.lines > 1 else {}
    return bestmove_result(board, request.player, player.choose(board, limits, **lines))


def think(channel: Channel, request: MovesRequest, movetime: float, settings: Settings) -> dict[str, Any]:
    """Search a position for its best lines, and send the current result after each iteration of a line."""
    board = request.board()
    player = AlphaBetaPlayer(board.variant, PlayerOptions(hash_mib=settings.hash_mib, table_mib=settings.table_mib))
    started = time.perf_counter()

    def progress(choice: Choice) -> dict[str, Any]:
        result = bestmove_result(board, "alphabeta", choice).model_dump(mode="json")
        return result | {"turn": board.turn, "seconds": round(time.perf_counter() - started, 2)}

    known: list[Choice] = []

    def hear(choice: Choice) -> None:
        """Send the lines found so far. Lines that this iteration has not found yet come from the previous one."""
        better = known[: choice.rank - 1]
        rest = [line for line in known if line.move not in {choice.move, *(line.move for line in better)}]
        known[:] = [*better, choice, *rest][:_LINES]
        channel.send("info", progress(known[0]._replace(others=tuple(known[1:]))))

    player.observe(hear)
    channel.when_stopped(player.stop)
    return progress(player.choose(board, SearchLimits(movetime=movetime), lines=_LINES))


class _Follower(Analyst):
    """An analyst that keeps white's expected points in each position it has looked at."""

    def look(self, board: Board) -> Insight:
        found = super().look(board)
        self.points = found.expected if board.turn == "white" or found.expected is None else 1 - found.expected
        return found


def analyse_game(channel: Channel, request: AnalysisRequest, settings: Settings) -> dict[str, Any]:
    """Analyse a game and send a message for each position analysed."""
    record, variant = request.record_and_rules()
    most = settings.analysis_seconds
    until = wall_clock() + most
    limits = SearchLimits(movetime=min(request.movetime, most / (len(record.moves) + 1)))
    analyst = _Follower(variant, limits, proof_nodes=20_000, hash_mib=settings.hash_mib, table_mib=settings.table_mib)

    def watch(number: int) -> None:
        """Report progress, and stop if the visitor has disconnected or the time has run out."""
        if channel.stopped:
            raise _StoppedError
        if wall_clock() > until:
            raise MachineError("the analysis took too long", remedy="analyse a shorter game")
        channel.send("looked", {"ply": number, "plies": len(record.moves), "points": analyst.points})

    return analyse(record, analyst, watch).model_dump(mode="json")


_FRAMES: Final = 300
"""Maximum number of positions in an animation."""


def draw(_: Channel, request: PictureRequest) -> bytes:
    """Return a PNG picture of a position, or a GIF animation of the moves that led to it."""
    from tablut.pictures import draw_gif, draw_png

    board = request.board()
    if not request.animated:
        return draw_png(svg.board(board))
    moves, start = [str(move) for move in board.move_stack], board.copy()
    if len(moves) > _FRAMES:
        raise InputError(f"has {len(moves):,} moves, but an animation shows at most {_FRAMES}", subject="game")
    while start.ply:
        start.pop()
    return draw_gif(draw_line(board.variant, start.position, moves, pixels=320))


def prove(channel: Channel, request: SolveRequest, limits: ProofLimits, folder: Path | None) -> SolvedResult:
    """Search for a proof of a position's value within the limits."""
    board = request.board()
    solver = Solver(board.variant, limits, None if folder is None else opened(folder))
    channel.when_stopped(solver.stop)
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(_TELL):
            if found := solver.so_far():
                channel.send("said", f"at most {limits.seconds:g} s, {found.nodes:,} nodes so far")

    progress = threading.Thread(target=tell, daemon=True, name="progress")
    progress.start()
    try:
        solution = solver.solve(board.position, plies_left=request.plies_left, all_wins=request.all_wins)
    finally:
        ended.set()
        progress.join()  # so that no message follows the answer
    left = board.variant.rules.move_limit if request.plies_left is None else request.plies_left
    return SolvedResult(**SolutionResult.model_validate(solution).model_dump(), plies_left=left)


def solve_board(_: Channel, request: GameRequest) -> SolveReport:
    """Solve a small board completely."""
    return solve_report(request.game())[0]


def count_sequences(channel: Channel, request: PerftRequest, most: int) -> PerftResult:
    """Count move sequences, depth by depth."""
    board = request.board()
    engine = engine_for(board.variant)
    array = engine.board(board.position.cells, board.position.side)
    count = PerftCount(board.variant, str(board.position), 1)
    for plies in range(1, request.depth + 1):
        if channel.stopped:
            raise _StoppedError
        _check_perft(count.counts, plies, most)
        started = wall_clock()
        count.counts.append(engine.perft(array, plies))
        count.seconds = wall_clock() - started
    if request.divide:
        count.divided = engine.divide(array, request.depth)
    return count.result()


def _check_perft(counts: list[int], plies: int, most: int) -> None:
    """Refuse the next depth if its expected number of sequences exceeds the server's limit per request."""
    if len(counts) < 2 or counts[-2] == 0:
        return
    expected = counts[-1] * max(counts[-1] // counts[-2], 2)
    if expected > most:
        raise InputError(
            f"has about {expected:,} sequences, but at most {most:,} are counted here; tablut perft has no such limit",
            subject=f"depth {plies}",
        )


def count_space(_: Channel, request: GameRequest) -> BoundsReport:
    """Count a game's state space."""
    from counting import bounds

    return bounds(request.game())


# -- puzzles ---------------------------------------------------------------------------------------


class ListedPuzzle(Result):
    """A puzzle without its solution. ``nodes`` is the number of nodes that the engine needs for the first move."""

    id: str
    variant: str
    size: int
    position: str
    side: Literal["white", "black"]
    winner: Literal["white", "black"]
    plies: int
    claim: str
    grade: int | None
    nodes: int | None
    theme: str
    men: int
    source: str


class Judgement(Result):
    """The verdict on a move. ``said`` is the verdict in words, and ``plies`` is the number of plies left.

    ``position`` is the position before the move.
    """

    position: str
    move: str
    right: bool | None
    over: bool
    reply: str | None
    plies: int
    said: str


class Solution(Result):
    """The rest of a solution: a line that delays the loss as long as possible, and all correct first moves."""

    position: str
    line: list[str]
    right: list[str]


@cache
def list_puzzles() -> dict[str, ListedPuzzle]:
    """Return the collection's puzzles that state a winner and a distance, keyed by id."""
    puzzles, nodes = [(puzzle, facts_of(puzzle)) for puzzle in read_puzzles("collection")], efforts()
    return {
        puzzle.id: ListedPuzzle(
            id=puzzle.id,
            variant=puzzle.variant,
            size=puzzle.position.size,
            position=str(puzzle.position),
            side=facts.side,
            winner=facts.winner,
            plies=facts.plies,
            claim=str(puzzle.stipulation),
            grade=facts.grade,
            nodes=nodes.get(puzzle.id),
            theme="pattern" if puzzle.tags.get("pattern") else facts.theme,
            men=1 + sum(puzzle.position.material),
            source=puzzle.tags.get("source", ""),
        )
        for puzzle, facts in puzzles
        if facts.winner and facts.plies
    }


@cache
def first_moves(name: str) -> list[str]:
    """Return the correct first moves of a puzzle, as its file states them."""
    return [str(move) for puzzle in read_puzzles("collection") if puzzle.id == name for move in puzzle.first or ()]


def _game(channel: Channel, listed: ListedPuzzle, moves: list[str], settings: Settings) -> PuzzleGame:
    """Return the puzzle after the given moves. Its proofs end when the job has to stop."""
    variant = shipped_variant(listed.variant)
    board = Board(variant, listed.position)
    if len(moves) >= listed.plies:
        raise InputError(
            f"ends after {listed.plies} plies, but {len(moves)} moves are given", subject=f"puzzle {listed.id}"
        )
    for move in moves:
        board.push_text(move)
    limits = ProofLimits(settings.nodes, settings.proof_seconds, settings.proof_mib << 20, 0)
    left = listed.plies - len(moves)
    game = PuzzleGame(variant, board.position, listed.winner, left, limits)
    channel.when_stopped(game.stop)
    return game


def defence(channel: Channel, listed: ListedPuzzle, settings: Settings) -> str:
    """Find the first move in a puzzle where the losing side moves first."""
    return _best_line(channel, listed, [], settings, 1)[0][1]


def judge_move(channel: Channel, listed: ListedPuzzle, moves: list[str], settings: Settings) -> Judgement:
    """Judge the last of the given moves."""
    game = _game(channel, listed, moves[:-1], settings)
    if game.board.turn != listed.winner:
        raise InputError(f"after {len(moves) - 1} moves it is the other side's turn", subject=f"puzzle {listed.id}")
    position, move = str(game.board.position), game.board.push_text(moves[-1])
    game.board.pop()
    verdict = game.judge(move)
    reply = None if verdict.reply is None else str(verdict.reply)
    left = game.plies - 1 - (verdict.reply is not None) if verdict.right else game.plies
    return Judgement(
        position=position,
        move=str(move),
        right=verdict.right,
        over=bool(verdict.right and verdict.over),
        reply=reply,
        plies=left,
        said=_in_words(game.plies, verdict.right, reply, over=verdict.over),
    )


def _in_words(plies: int, right: bool | None, reply: str | None, *, over: bool) -> str:
    if right is None:
        return "The proof took too long, so this move could not be judged."
    if right:
        if over:
            return "Solved: the game is won."
        return f"Right. The longest defence is {reply}; {_plies(plies - 2)} to the end."
    if over:
        return "That ends the game, but not with the intended win."
    after = f" after {reply}" if reply else ""
    return f"Wrong:{after} there is provably no win within {_plies(plies)}."


def _plies(number: int) -> str:
    moves = (number + 1) // 2
    return "1 ply" if number == 1 else f"{number} plies ({plural(moves, 'move')})"


def reveal(channel: Channel, listed: ListedPuzzle, moves: list[str], settings: Settings) -> Solution:
    """Find all correct moves and a line of best play."""
    game = _game(channel, listed, moves, settings)
    right = [str(move) for move in game.right_moves()]
    _refuse_if_spent(game)
    line = [move for _, move in _best_line(channel, listed, moves, settings, 100)]
    return Solution(position=str(game.board.position), line=line, right=right)


class Hint(Result):
    """The square of the piece to move in a position."""

    position: str
    square: str


def hint(channel: Channel, listed: ListedPuzzle, moves: list[str], settings: Settings) -> Hint:
    """Find a correct move."""
    ((position, move),) = _best_line(channel, listed, moves, settings, 1)
    return Hint(position=position, square=move.split("-")[0])


_Line = list[tuple[str, str]]
"""The positions of a line, each with the move made in it."""


def _refuse_if_spent(game: PuzzleGame) -> None:
    if game.spent:
        raise MachineError("the proof took too long", remedy="try again")


def _best_line(channel: Channel, listed: ListedPuzzle, moves: list[str], settings: Settings, most: int) -> _Line:
    """Find a line of best play by both sides, of at most ``most`` plies."""
    line: _Line = []
    while len(moves) < listed.plies and len(line) < most:
        game = _game(channel, listed, moves, settings)
        if game.board.outcome() is not None:
            break
        winner = game.board.turn == listed.winner
        move = next(game.right_moves(), None) if winner else game.defence()
        if move is None:
            _refuse_if_spent(game)
            raise InputError("has no win from here within the claimed number of plies", subject=f"puzzle {listed.id}")
        line.append((str(game.board.position), str(move)))
        moves = [*moves, str(move)]
    if not line:
        raise InputError("is over", subject=f"puzzle {listed.id}")
    return line


class DecidingRules(Result):
    """The rule fields that a puzzle depends on, and the fields for which this could not be determined."""

    position: str
    rules: list[str]
    unknown: list[str]


def find_deciding_rules(channel: Channel, listed: ListedPuzzle, settings: Settings) -> DecidingRules:
    """Find the rules that a puzzle from the collection depends on."""

    def watch(solver: Solver, so_far: str) -> None:
        channel.send("said", f"at most {settings.puzzle_seconds / 2:g} s, {so_far}")
        channel.when_stopped(solver.stop)
        if channel.stopped:
            raise _StoppedError

    puzzle = next(puzzle for puzzle in read_puzzles("collection") if puzzle.id == listed.id)
    limits = ProofLimits(settings.nodes, None, settings.proof_mib << 20, 0)
    return deciding_rules(puzzle, limits, settings.puzzle_seconds / 2, watch)


def deciding_rules(
    puzzle: Puzzle, limits: ProofLimits, seconds: float, watch: Callable[[Solver, str], object] = lambda *_: None
) -> DecidingRules:
    """Return the rule fields for which at least one other value would change a puzzle's solution.

    The solution changes if the win becomes longer, shorter or impossible, if other first moves win, or if the position
    is invalid under the changed rules. ``watch`` is called before each proof, with the solver and with words that
    describe the progress.
    """
    facts, until = facts_of(puzzle), wall_clock() + seconds
    solution = facts.winner, facts.plies, {*(puzzle.first or ())}
    deciding, unknown = [], []
    changes = [*variations(rules_of(puzzle))]
    for number, (field, variant) in enumerate(changes, 1):
        if field in deciding:
            continue
        try:
            solver = Solver(variant, replace(limits, seconds=max(until - wall_clock(), 0.01)))
            watch(solver, f"change {number} of {len(changes)}")
            found = solver.solve(puzzle.position, plies_left=facts.plies)
        except UncompiledError:
            unknown.append(field)
            continue
        except InputError:
            deciding.append(field)  # the position is invalid under these rules
            continue
        if found.wdl is None:
            unknown.append(field)
        elif (found.winner, found.dtm, {*found.winning_moves}) != solution:
            deciding.append(field)
    unknown = [field for field in dict.fromkeys(unknown) if field not in deciding]
    return DecidingRules(position=str(puzzle.position), rules=deciding, unknown=unknown)


# -- endings ---------------------------------------------------------------------------------------


class ListedEnding(Result):
    """A position in a tablebase, and its value."""

    position: str
    wdl: str
    dtm: int | None


class EndingsList(Result):
    """Positions found in a tablebase."""

    name: str
    variant: str
    found: int
    at_least: int | None
    positions: list[ListedEnding]


def find_endings(channel: Channel, name: str, folder: Path, request: EndingsRequest, seconds: float) -> EndingsList:
    """List positions from a tablebase.

    If the longest wins or losses are requested, the search begins with the greatest distances. It then need not read
    the other entries if it finds enough positions.
    """
    store, variant, until = opened(folder).store, opened(folder).variant, wall_clock() + seconds
    materials = tuple(store.tiers())
    if request.material is not None:
        attackers, _, defenders = request.material.partition("v")
        wanted = (int(attackers), int(defenders))
        if wanted not in materials:
            raise NotFoundError(
                f"does not contain {request.material}; see the tiers at /api/endings", subject=f"tablebase {name}"
            )
        materials = (wanted,)

    def look(_: int) -> None:
        if channel.stopped or wall_clock() > until:
            raise _StoppedError

    bounds: list[int | None] = [request.min_plies]
    if (
        request.order == "longest"
        and request.wdl in ("win", "loss")
        and request.zugzwang is None
        and not request.max_plies
    ):
        deepest = max((tier_result(store.tier(*tier).record, variant).max_dtm for tier in materials), default=0)
        bounds = [*(bound for bound in (deepest - 2, deepest // 2) if bound > (request.min_plies or 0)), *bounds]
    # Depending on the rules, the positions without a forced win are either all draws or all unresolved.
    wdl = unforced(variant) if request.wdl in ("draw", "unresolved") else request.wdl
    try:
        for bound in bounds:
            query = TableQuery(wdl, request.side, bound, request.max_plies, materials, request.zugzwang, request.order)
            listing = list_positions(store, query, request.skip + request.most, look, skip=request.skip)
            if len(listing.positions) >= request.most:
                break
    except _StoppedError:
        raise MachineError(
            f"the list takes longer than {seconds:g} seconds", subject=f"tablebase {name}", remedy="choose one material"
        ) from None
    positions = [
        ListedEnding(position=str(ending.position), wdl=ending.wdl, dtm=ending.dtm) for ending in listing.positions
    ]
    return EndingsList(name=name, variant=variant.name, found=listing.found, at_least=bound, positions=positions)
