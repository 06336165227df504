"""What a tablebase says of the moves of a position, the history of the game considered.

A tablebase values positions as the first of their game. Here the rules that look back
come first: a move that ends the game by repetition, or for which the move limit leaves
too few plies, is worth what the rules say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tablut.play.search.scores import MATE, TABLEBASE
from tablut.prober import MissingTableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.board import Board
    from tablut.position import Move
    from tablut.prober import Prober

__all__ = ["LONGEST_LINE", "ProbedMove", "line_from", "probe_moves"]

LONGEST_LINE: Final = 256
"""Most plies of a line that is read from tables."""


class ProbedMove(NamedTuple):
    """A move with its value.

    Attributes
    ----------
    move : Move
        Legal.
    score : int
        For the side that moves; 0 for a draw and for what history decides.
    """

    move: Move
    score: int


def probe_moves(board: Board, prober: Prober) -> list[ProbedMove] | None:
    """Return the values of all moves, the best first; None if a table is missing.

    A forced win or loss is proven, ``MATE`` less its plies, if no position of the game
    can recur on the way to it. Else it is worth ``TABLEBASE`` less its plies, and a win
    that a reply can spoil at once by recreating a position is worth nothing.

    Parameters
    ----------
    board : Board
        Its game not over. As before on return.
    prober : Prober
        For its variant.

    Returns
    -------
    list of ProbedMove or None
        All legal moves.
    """
    if not prober.covers(*board.position.material):
        return None
    rules = board.variant.rules
    # A capture is for good: what was before the last one cannot recur.
    spoiled = rules.repetition != "none" and board.ply > 0 and not board.captured()
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
    """Return best play from a move that a tablebase values as won or lost, to the end of the game.

    The winner hastens, the loser delays; of equal moves the first. The line ends early where a table is missing, where
    the history leaves no win that is sure, after `LONGEST_LINE` plies, or when the answer is due.

    Parameters
    ----------
    board : Board
        Before the move. As before on return.
    prober : Prober
        For its variant.
    first : ProbedMove
        The first move of the line.
    due : callable
        Asked before each further ply whether there is no time for it.

    Returns
    -------
    list of Move
        At least the first.
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
    finally:
        for _ in line:
            board.pop()
    return line


def _can_be_spoiled(board: Board) -> bool:
    """Return whether a move recreates a position and thereby does not lose."""
    mover = board.turn
    for move in list(board.legal_moves):
        board.push(move)
        outcome = board.outcome()
        board.pop()
        if outcome is not None and outcome.termination == "repetition" and outcome.winner in (None, mover):
            return True
    return False
