"""What workers do about positions and games: search, prove, count, analyse. Nothing here answers requests.

Each function is a job of `reports.explorer.workers`: it takes whoever asked, what he asked, and the limits.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from reports.explorer.errors import BusyError
from retrograde.answers import SolvedResult, solution_result
from retrograde.proofs import ProofLimits, Solver
from retrograde.solver.report import SolveReport, solve_report
from retrograde.tablebase import open_tablebase
from tablut.answers import BestMoveResult, PerftCount, PerftResult, bestmove_result
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.play.analysis import Analyst, analyse
from tablut.play.players import PlayerOptions, make_player
from tablut.play.players.registry import ready_player
from tablut.play.players.simple import AlphaBetaPlayer
from tablut.play.search.limits import SearchLimits
from tablut.running.clocks import wall_clock

if TYPE_CHECKING:
    from pathlib import Path

    from counting import BoundsReport
    from reports.explorer.asked import AnalysisAsked, BestMoveAsked, GameAsked, MovesAsked, PerftAsked, SolveAsked
    from reports.explorer.settings import Settings
    from reports.explorer.workers import Caller
    from retrograde.tablebase import Tablebase
    from tablut.play.players import Choice

__all__ = ["analysed", "bestmove", "count_sequences", "get_ready", "opened", "prove", "size_of", "solve_board", "think"]

_TABLE_BYTES: Final = 64 << 20
"""Of a tablebase that a worker keeps unpacked."""


class _LeftError(Exception):
    """Whoever asked has gone."""


def get_ready(_: Caller) -> None:
    """Load what a search and a proof need."""
    board = Board("ashton")
    ready_player("alphabeta", board.variant, PlayerOptions(hash_mib=1))
    small = Board("ashton-5-4v0")
    Solver(small.variant, ProofLimits(100, 1.0, 1 << 20, 0)).solve(small.position)


@lru_cache(maxsize=8)
def opened(folder: Path) -> Tablebase:
    """Return a tablebase, opened once in this process."""
    return open_tablebase(folder, _TABLE_BYTES)


def bestmove(caller: Caller, asked: BestMoveAsked, limits: SearchLimits, settings: Settings) -> BestMoveResult:
    """Choose a move."""
    board = asked.board()
    options = PlayerOptions(seed=asked.seed, hash_mib=settings.hash_mib, table_mib=settings.table_mib)
    player = make_player(asked.player, board.variant, options)
    caller.when_gone(getattr(player, "stop", lambda: None))
    return bestmove_result(board, asked.player, player.choose(board, limits))


def think(caller: Caller, asked: MovesAsked, movetime: float, settings: Settings) -> dict[str, Any]:
    """Search, and tell what is known after each iteration."""
    board = asked.board()
    player = AlphaBetaPlayer(board.variant, PlayerOptions(hash_mib=settings.hash_mib, table_mib=settings.table_mib))
    started = time.perf_counter()
    player.observe(lambda choice: caller.tell("info", _told(choice, board, started)))
    caller.when_gone(player.stop)
    return _told(player.choose(board, SearchLimits(movetime=movetime)), board, started)


def _told(choice: Choice, board: Board, started: float) -> dict[str, Any]:
    return {
        "move": str(choice.move),
        "score": choice.score,
        "mate": choice.mate,
        "depth": choice.depth,
        "nodes": choice.nodes,
        "tbhits": choice.tbhits,
        "pv": [str(move) for move in choice.pv],
        "turn": board.turn,
        "seconds": round(time.perf_counter() - started, 2),
    }


def analysed(caller: Caller, asked: AnalysisAsked, settings: Settings) -> dict[str, Any]:
    """Analyse a game, and tell of each position that was looked at."""
    record, variant = asked.record_and_rules()
    most = settings.analysis_seconds
    until = wall_clock() + most
    limits = SearchLimits(movetime=min(asked.movetime, most / (len(record.moves) + 1)))
    analyst = Analyst(variant, limits, proof_nodes=20_000, hash_mib=settings.hash_mib, table_mib=settings.table_mib)

    def _watch(number: int) -> None:
        """Tell how far it is, and stop where nobody listens."""
        if caller.gone:
            raise _LeftError
        if wall_clock() > until:
            raise BusyError("the time for an analysis is over; a shorter game can be analysed")
        caller.tell("looked", {"ply": number, "plies": len(record.moves)})

    return analyse(record, analyst, _watch).model_dump(mode="json")


def prove(caller: Caller, asked: SolveAsked, limits: ProofLimits, folder: Path | None) -> SolvedResult:
    """Prove what can be proved of a position."""
    board = asked.board()
    solver = Solver(board.variant, limits, None if folder is None else opened(folder))
    caller.when_gone(solver.stop)
    solution = solver.solve(board.position, plies_left=asked.plies_left, all_wins=asked.all_wins)
    left = board.variant.rules.move_limit if asked.plies_left is None else asked.plies_left
    return SolvedResult(**solution_result(solution).model_dump(), plies_left=left)


def solve_board(_: Caller, asked: GameAsked) -> SolveReport:
    """Solve a small board."""
    return solve_report(asked.game())[0]


def count_sequences(caller: Caller, asked: PerftAsked, most: int) -> PerftResult:
    """Count move sequences, depth by depth."""
    board = asked.board()
    engine = engine_for(board.variant)
    array = engine.board(board.position.cells, board.position.side)
    found = PerftCount(board.variant, str(board.position), 1)
    for plies in range(1, asked.depth + 1):
        if caller.gone:
            raise _LeftError
        _check_perft(found.counts, plies, most)
        started = wall_clock()
        found.counts.append(engine.perft(array, plies))
        found.seconds = wall_clock() - started
    if asked.divide:
        found.divided = engine.divide(array, asked.depth)
    return found.result()


def _check_perft(counts: list[int], plies: int, most: int) -> None:
    """Refuse the next depth if it would count more sequences than the server does for one request."""
    if len(counts) < 2 or counts[-2] == 0:
        return
    expected = counts[-1] * max(counts[-1] // counts[-2], 2)
    if expected > most:
        raise InputError(
            f"depth {plies}: has about {expected:,} sequences; at most {most:,} are counted here, "
            "and tablut perft counts as many as you like"
        )


def size_of(_: Caller, asked: GameAsked) -> BoundsReport:
    """Count the state space."""
    from counting import bounds

    return bounds(asked.game())
