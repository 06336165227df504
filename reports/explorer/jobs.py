"""Jobs for the workers: searching, proving, counting and analysing. Nothing here handles HTTP requests.

Each function is a job in the sense of `reports.explorer.work`: it takes the link to the serving process, then the
request and the limits.
"""

from __future__ import annotations

import time
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from reports.explorer.guard import BusyError, NotFoundError, Settings
from reports.rulebook.deciding import DecidingRules, deciding_rules
from retrograde.answers import SolutionResult, SolvedResult, tier_result
from retrograde.proofs import ProofLimits, Solver
from retrograde.puzzles.game import PuzzleGame
from retrograde.puzzles.puzzle_file import facts_of, read_puzzles
from retrograde.solver.report import SolveReport, solve_report
from retrograde.tablebase import Tablebase, open_tablebase
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.answers import PerftCount, PerftResult
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.indexing.values import unforced
from tablut.play.analysis import Analyst, analyse
from tablut.play.players import Choice, PlayerOptions, make_player
from tablut.play.players.registry import BestMoveResult, bestmove_result, ready_player
from tablut.play.players.simple import AlphaBetaPlayer
from tablut.play.search.limits import SearchLimits
from tablut.results import Result
from tablut.variants import shipped_variant
from tablut.work.clocks import wall_clock
from tablut.work.progress import plural

if TYPE_CHECKING:
    from pathlib import Path

    from counting import BoundsReport
    from reports.explorer.asked import (
        AnalysisAsked,
        BestMoveAsked,
        EndingsAsked,
        GameAsked,
        MovesAsked,
        PerftAsked,
        SolveAsked,
    )
    from reports.explorer.work import Link

_TABLE_BYTES: Final = 64 << 20
"""Bytes of an unpacked tablebase that a worker keeps in memory."""


class _LeftError(Exception):
    """Raised when the visitor has disconnected."""


def get_ready() -> None:
    """Load what searches and proofs need."""
    board = Board("ashton")
    ready_player("alphabeta", board.variant, PlayerOptions(hash_mib=1))
    small = Board("ashton-5-4v0")
    Solver(small.variant, ProofLimits(100, 1.0, 1 << 20, 0)).solve(small.position)


@lru_cache(maxsize=8)
def opened(folder: Path) -> Tablebase:
    """Return a tablebase, opened only once per process."""
    return open_tablebase(folder, _TABLE_BYTES)


def bestmove(link: Link, asked: BestMoveAsked, limits: SearchLimits, settings: Settings) -> BestMoveResult:
    """Choose a move with the requested player."""
    board = asked.board()
    options = PlayerOptions(seed=asked.seed, hash_mib=settings.hash_mib, table_mib=settings.table_mib)
    player = make_player(asked.player, board.variant, options)
    link.when_stopped(getattr(player, "stop", lambda: None))
    return bestmove_result(board, asked.player, player.choose(board, limits))


def think(link: Link, asked: MovesAsked, movetime: float, settings: Settings) -> dict[str, Any]:
    """Search a position and send the current result after each iteration."""
    board = asked.board()
    player = AlphaBetaPlayer(board.variant, PlayerOptions(hash_mib=settings.hash_mib, table_mib=settings.table_mib))
    started = time.perf_counter()

    def known(choice: Choice) -> dict[str, Any]:
        found = bestmove_result(board, "alphabeta", choice).model_dump(mode="json")
        return found | {"turn": board.turn, "seconds": round(time.perf_counter() - started, 2)}

    player.observe(lambda choice: link.send("info", known(choice)))
    link.when_stopped(player.stop)
    return known(player.choose(board, SearchLimits(movetime=movetime)))


def analysed(link: Link, asked: AnalysisAsked, settings: Settings) -> dict[str, Any]:
    """Analyse a game and send a message for each position analysed."""
    record, variant = asked.record_and_rules()
    most = settings.analysis_seconds
    until = wall_clock() + most
    limits = SearchLimits(movetime=min(asked.movetime, most / (len(record.moves) + 1)))
    analyst = Analyst(variant, limits, proof_nodes=20_000, hash_mib=settings.hash_mib, table_mib=settings.table_mib)

    def _watch(number: int) -> None:
        """Report progress, and stop if the visitor has disconnected or the time is over."""
        if link.stopped:
            raise _LeftError
        if wall_clock() > until:
            raise BusyError("the analysis took too long; analyse a shorter game")
        link.send("looked", {"ply": number, "plies": len(record.moves)})

    return analyse(record, analyst, _watch).model_dump(mode="json")


def prove(link: Link, asked: SolveAsked, limits: ProofLimits, folder: Path | None) -> SolvedResult:
    """Prove the value of a position within the limits, as far as possible."""
    board = asked.board()
    solver = Solver(board.variant, limits, None if folder is None else opened(folder))
    link.when_stopped(solver.stop)
    solution = solver.solve(board.position, plies_left=asked.plies_left, all_wins=asked.all_wins)
    left = board.variant.rules.move_limit if asked.plies_left is None else asked.plies_left
    return SolvedResult(**SolutionResult.model_validate(solution).model_dump(), plies_left=left)


def solve_board(_: Link, asked: GameAsked) -> SolveReport:
    """Solve a small board completely."""
    return solve_report(asked.game())[0]


def count_sequences(link: Link, asked: PerftAsked, most: int) -> PerftResult:
    """Count move sequences, depth by depth."""
    board = asked.board()
    engine = engine_for(board.variant)
    array = engine.board(board.position.cells, board.position.side)
    found = PerftCount(board.variant, str(board.position), 1)
    for plies in range(1, asked.depth + 1):
        if link.stopped:
            raise _LeftError
        _check_perft(found.counts, plies, most)
        started = wall_clock()
        found.counts.append(engine.perft(array, plies))
        found.seconds = wall_clock() - started
    if asked.divide:
        found.divided = engine.divide(array, asked.depth)
    return found.result()


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


def size_of(_: Link, asked: GameAsked) -> BoundsReport:
    """Count the state space of a game."""
    from counting import bounds

    return bounds(asked.game())


# -- puzzles ---------------------------------------------------------------------------------------


class ListedPuzzle(Result):
    """A puzzle without its solution."""

    id: str
    variant: str
    size: int
    position: str
    side: Literal["white", "black"]
    winner: Literal["white", "black"]
    plies: int
    claim: str
    grade: int | None
    theme: str
    men: int
    source: str


class Tried(Result):
    """The verdict on an attempted move."""

    move: str
    right: bool | None
    over: bool
    reply: str | None
    plies: int
    said: str


class Revealed(Result):
    """The solution from here: a line in which the defender holds out longest, and all correct first moves."""

    line: list[str]
    right: list[str]


@cache
def list_puzzles() -> dict[str, ListedPuzzle]:
    """Return the puzzles of the collection that have a winner and a distance, by id."""
    found = [(puzzle, facts_of(puzzle)) for puzzle in read_puzzles("collection")]
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
            theme="pattern" if puzzle.tags.get("pattern") else facts.theme,
            men=1 + sum(puzzle.position.material),
            source=puzzle.tags.get("source", ""),
        )
        for puzzle, facts in found
        if facts.winner and facts.plies
    }


def _game(listed: ListedPuzzle, moves: list[str], settings: Settings) -> PuzzleGame:
    """Return the puzzle after the given moves."""
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
    return PuzzleGame(variant, board.position, listed.winner, left, limits)


def defence(_: Link, listed: ListedPuzzle, settings: Settings) -> str | None:
    """Find the first move of a puzzle in which the losing side moves first."""
    move = _game(listed, [], settings).defence()
    return None if move is None else str(move)


def judged(_: Link, listed: ListedPuzzle, moves: list[str], settings: Settings) -> Tried:
    """Judge the last of the given moves."""
    game = _game(listed, moves[:-1], settings)
    if game.board.turn != listed.winner:
        raise InputError(f"after {len(moves) - 1} moves it is the other side's turn", subject=f"puzzle {listed.id}")
    move = game.board.push_text(moves[-1])
    game.board.pop()
    answer = game.judge(move)
    reply = None if answer.reply is None else str(answer.reply)
    left = game.plies - 1 - (answer.reply is not None) if answer.right else game.plies
    return Tried(
        move=str(move),
        right=answer.right,
        over=bool(answer.right and answer.over),
        reply=reply,
        plies=left,
        said=_said(game.plies, answer.right, reply, over=answer.over),
    )


def _said(plies: int, right: bool | None, reply: str | None, *, over: bool) -> str:
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


def revealed(link: Link, listed: ListedPuzzle, moves: list[str], settings: Settings) -> Revealed:
    """Find all correct moves, and a line of play."""
    right = [str(move) for move in _game(listed, moves, settings).right_moves()]
    return Revealed(line=solution(link, listed, moves, settings), right=right)


def solution(_: Link, listed: ListedPuzzle, moves: list[str], settings: Settings, most: int = 100) -> list[str]:
    """Find a line of best play by both sides."""
    line: list[str] = []
    so_far = list(moves)
    while len(so_far) < listed.plies and len(line) < most:
        game = _game(listed, so_far, settings)
        if game.board.outcome() is not None:
            break
        winner = game.board.turn == listed.winner
        move = next(game.right_moves(), None) if winner else game.defence()
        if move is None:
            raise InputError("has no win from here within the claimed number of plies", subject=f"puzzle {listed.id}")
        line.append(str(move))
        so_far.append(str(move))
    if not line:
        raise InputError("is over", subject=f"puzzle {listed.id}")
    return line


def decided_by(link: Link, listed: ListedPuzzle, settings: Settings) -> DecidingRules:
    """Find the rules that decide a puzzle."""

    def _watch(solver: Solver) -> None:
        link.when_stopped(solver.stop)
        if link.stopped:
            raise _LeftError

    (puzzle,) = (one for one in read_puzzles("collection") if one.id == listed.id)
    limits = ProofLimits(settings.nodes, None, settings.proof_mib << 20, 0)
    return deciding_rules(puzzle, limits, settings.puzzle_seconds / 2, _watch)


# -- endings ---------------------------------------------------------------------------------------


class EndingListed(Result):
    """A position of a tablebase."""

    position: str
    wdl: str
    dtm: int | None


class EndingsFound(Result):
    """Positions found in a tablebase."""

    name: str
    variant: str
    found: int
    at_least: int | None
    positions: list[EndingListed]


class _StoppedError(Exception):
    """Raised when the time is over or the visitor has disconnected."""


def found_endings(link: Link, name: str, folder: Path, asked: EndingsAsked, seconds: float) -> EndingsFound:
    """List positions of a tablebase.

    If the longest wins or losses are requested, the greatest distances are tried first, so that the remaining entries
    need not be read.
    """
    store, variant, until = opened(folder).store, opened(folder).variant, wall_clock() + seconds
    materials = tuple(store.tiers())
    if asked.material is not None:
        attackers, _, defenders = asked.material.partition("v")
        wanted = (int(attackers), int(defenders))
        if wanted not in materials:
            raise NotFoundError(
                f"does not contain {asked.material}; see the tiers at /api/endings", subject=f"tablebase {name}"
            )
        materials = (wanted,)

    def look(_: int) -> None:
        if link.stopped or wall_clock() > until:
            raise _StoppedError

    bounds: list[int | None] = [asked.min_plies]
    if asked.order == "longest" and asked.wdl in ("win", "loss") and asked.zugzwang is None and not asked.max_plies:
        deepest = max((tier_result(store.tier(*one).record, variant).max_dtm for one in materials), default=0)
        bounds = [*(bound for bound in (deepest - 2, deepest // 2) if bound > (asked.min_plies or 0)), *bounds]
    # Under given rules, unforced positions are either draws or unresolved, never both.
    wdl = unforced(variant) if asked.wdl in ("draw", "unresolved") else asked.wdl
    try:
        for bound in bounds:
            query = TableQuery(wdl, asked.side, bound, asked.max_plies, materials, asked.zugzwang, asked.order)
            listing = list_positions(store, query, asked.skip + asked.most, look, skip=asked.skip)
            if len(listing.positions) >= asked.most:
                break
    except _StoppedError:
        raise BusyError(
            f"tablebase {name}: the list takes longer than {seconds:g} seconds; choose one material"
        ) from None
    positions = [EndingListed(position=str(one.position), wdl=one.wdl, dtm=one.dtm) for one in listing.positions]
    return EndingsFound(name=name, variant=variant.name, found=listing.found, at_least=bound, positions=positions)
