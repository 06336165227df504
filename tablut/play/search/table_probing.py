"""Tablebase values of the moves in a position, corrected for the game history.

A tablebase values each position as if a game began there. Where a move ends the game by repetition, or the move limit
leaves too few plies for a win, these rules determine its value instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.jit import I64, called, inlined, items_at
from tablut.engine.kernel_records import directory, record_at
from tablut.engine.layout import BoardArray, count_of, king_of, side_of
from tablut.errors import TablutError
from tablut.indexing.tier_kernels import SCRATCH, entry_of, men_of_board, tier_at
from tablut.indexing.tier_tables import ADDRESS, TierTables, TierValues, code_at
from tablut.indexing.values import MISSING
from tablut.play.search.limits import MATE, PROVEN, TABLEBASE
from tablut.play.search.state import SearchState
from tablut.position import NARROW
from tablut.prober import MissingTableError, TierProber

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tablut.board import Board
    from tablut.engine.tables import Tables
    from tablut.position import Move
    from tablut.prober import Prober

LONGEST_LINE: Final = 256
"""Maximum length in plies of a line read from tables."""


class ProbedMove(NamedTuple):
    """Move with its score from a tablebase."""

    move: Move
    score: int


def probe_moves(board: Board, prober: Prober) -> list[ProbedMove] | None:
    """Return the values of all moves in a position, best move first, or None if a table is missing.

    A win in n plies has the score ``MATE - n`` if no earlier position can recur before it. Otherwise it has the score
    ``TABLEBASE - n``, or 0 if the opponent can spoil it by repeating a position. Losses have the opposite scores.
    """
    if not prober.covers(*board.position.material):
        return None
    rules = board.variant.rules
    # Positions from before the last capture cannot recur.
    spoiled = rules.repetition.result != "none" and board.ply > 0 and not board.captured()
    worth = TABLEBASE if spoiled else MATE
    probed = []
    for move in list(board.legal_moves):
        mover = board.turn
        board.push(move)
        try:
            outcome = board.outcome()
            if outcome is not None:
                score = 0 if outcome.winner is None else (MATE - 1 if outcome.winner == mover else 1 - MATE)
            else:
                verdict = prober.probe(board.position)
                score = 0
                if verdict.dtm is not None:
                    plies = verdict.dtm + 1
                    fits = rules.move_limit is None or board.ply + verdict.dtm <= rules.move_limit
                    won = verdict.wdl == "loss"
                    if fits and not (won and spoiled and _can_be_spoiled(board)):
                        score = (worth - plies) if won else (plies - worth)
        except MissingTableError:
            return None
        finally:
            board.pop()
        probed.append(ProbedMove(move, score))
    return sorted(probed, key=lambda found: -found.score)


def line_from(board: Board, prober: Prober, first: ProbedMove, due: Callable[[], bool] = lambda: False) -> list[Move]:
    """Return the line of best play to the end of the game, from a move that a tablebase values as won or lost.

    It ends early if a table is missing or damaged, if the history makes the win uncertain, after `LONGEST_LINE` plies,
    or when ``due`` returns True. Among equally good moves, the first in the engine's order is played.
    """
    line = [first.move]
    board.push(first.move)
    try:
        while board.outcome() is None and len(line) < LONGEST_LINE and not due():
            probed = probe_moves(board, prober)
            if not probed or probed[0].score == 0:
                break
            line.append(probed[0].move)
            board.push(probed[0].move)
    except TablutError:
        return line
    finally:
        for _ in line:
            board.pop()
    return line


def _can_be_spoiled(board: Board) -> bool:
    """Return whether the side to move can end the game by repetition without losing it."""
    mover = board.turn
    for move in list(board.legal_moves):
        board.push(move)
        outcome = board.outcome()
        board.pop()
        if outcome is not None and outcome.termination == "repetition" and outcome.winner in (None, mover):
            return True
    return False


# -- compiled probing inside the search tree -----------------------------------------------


# A table values a position as if a game began there. The search therefore probes only right after a capture, when no
# earlier position can recur. A position that the table values as won in n plies is then really won in n plies, because
# the distance decreases with every ply of the winner's line and no position repeats. A position where neither side
# can force a win is a draw, unless a repetition loses the game. A position is also a draw if the win takes more plies
# than the move limit leaves, because the winner cannot be forced to lose before the limit.
#
# The compiled index has about thirty arrays. Passing them as arguments would slow down every recursive call. Therefore
# the kernels find the arrays through an array of their addresses, which is called a directory. The directory's address
# is one of the search state's counters.


class _Probed(NamedTuple):
    """Data that a directory points to: the tiers, their values, and working memory."""

    tiers: TierTables
    places: NDArray[np.int64]
    values: NDArray[np.int16]
    black: NDArray[np.uint8]
    white: NDArray[np.uint8]
    scratch: NDArray[np.int64]


class Directory(NamedTuple):
    """Addresses that kernels use to find the tablebase values of tiers, and working memory for one search at a time."""

    items: NDArray[np.int64]
    most_soldiers: int
    values: TierValues
    kept: tuple[object, ...]


def load_tables(prober: Prober | None, memory: int) -> Directory | None:
    """Return a directory of as many of a prober's values as fit into ``memory`` bytes.

    Return None if no values fit, the prober is not a `tablut.prober.TierProber`, or the board is larger than 11×11.
    """
    if not isinstance(prober, TierProber) or prober.variant.size > NARROW:
        return None
    values = prober.load_tiers(memory)
    return None if values is None else directory_of(values)


def directory_of(values: TierValues) -> Directory:
    """Return a directory for the values of one or more tiers."""
    index = values.tiers
    black, white = (np.zeros(index.square.cells, dtype=np.uint8) for _ in range(2))
    probed = _Probed(index, values.places, values.values, black, white, np.zeros(SCRATCH, dtype=np.int64))
    most_soldiers = int((index.tier.attackers + index.tier.defenders).max())
    return Directory(directory(probed), most_soldiers, values, (probed,))


def beside(directory: Directory | None) -> Directory | None:
    """Return a second directory for the same values that has separate working memory."""
    return None if directory is None else directory_of(directory.values)


@inlined
def stored_value(rules: Tables, items: NDArray[np.int64], board: BoardArray) -> int:
    """Return the value of an undecided position, or `MISSING` if no table contains it.

    The function `tablut.indexing.values.verdict_of` decodes the value.
    """
    desk = record_at(items, _Probed)
    tier = tier_at(desk.tiers, count_of(rules, board, 1), count_of(rules, board, 0))
    if tier < 0 or desk.places[4 * tier + ADDRESS] == 0:
        return I64(MISSING)
    men_of_board(rules, board, desk.black, desk.white)
    entry = entry_of(desk.tiers, tier, king_of(rules, board), desk.black, desk.white, desk.scratch)
    if entry < 0:
        return I64(MISSING)
    return I64(desk.values[code_at(desk.places, 2 * tier + side_of(rules, board), entry)])


@called
def table_value(rules: Tables, state: SearchState, ply: int) -> tuple[bool, int]:
    """Return whether the tables determine the value of a position after a capture, and the value.

    They do not if they lack the position, if a repetition would decide a game that neither side can force, or if a win
    takes too many plies for a proven score.
    """
    counters = state.counters
    value = stored_value(rules, items_at(counters.tablebase, np.int64), state.board)
    if value == MISSING:
        return False, I64(0)
    plies = value if value > 0 else -value - 1
    if value == 0 or ply + plies > counters.limit_ply:
        if counters.repetition_rule == 2 or counters.repetition_rule == 5:
            return False, I64(0)
        counters.tablebase_hits += 1
        return True, I64(0)
    if ply + plies > MATE - PROVEN:
        return False, I64(0)
    counters.tablebase_hits += 1
    return True, I64(MATE - ply - plies) if value > 0 else I64(ply + plies - MATE)
