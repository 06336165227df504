"""A player on a clock: whatever it does, a legal move is there in time.

A player thinks in a thread of its own and is told a time with a margin. One that does
not answer by then, fails, or answers with a move that is not legal, is replaced for that
move by a plain one: it escapes or takes the king if it can, else it is the first legal move. Every time
that happens is told. A player that still thinks about an earlier position when it is
asked again is left alone until it is done: no player is asked two things at once.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from tablut.board import Board
    from tablut.play.players import Choice, Player
    from tablut.play.search.limits import SearchLimits
    from tablut.position import Move

__all__ = ["Answer", "Thinker", "move_margin", "plain_move"]


def move_margin(timeout: float) -> float:
    """Return how many seconds of a server's time for a move are not used.

    A tenth of a second and a tenth of the time, at most two seconds and never more than
    half: the way to the server and back, and a machine with more to do.

    Parameters
    ----------
    timeout : float
        The server's seconds for a move.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> round(move_margin(60), 3), round(move_margin(1), 3), round(move_margin(0.1), 3)
    (2, 0.2, 0.05)
    """
    return min(0.1 + timeout / 10, 2, timeout / 2)


def plain_move(board: Board, unwanted: Collection[Move] = ()) -> Move:
    """Return a legal move without any thought: one that escapes or takes the king, or the first one.

    Parameters
    ----------
    board : Board
        Undecided, with a legal move; as before on return.
    unwanted : collection of Move
        Moves to leave out unless there is no other.

    Returns
    -------
    Move
        Legal.

    Examples
    --------
    >>> from tablut import Board
    >>> str(plain_move(Board("ashton-5-4v0", "2b2/5/bK2b/5/2b2 w")))
    'b3-b1'
    """
    moves = list(board.legal_moves)
    moves = [move for move in moves if move not in unwanted] or moves
    side, king = board.turn, board.king()
    for move in moves:
        # Nearly every win is the king's own move, or a move next to it; to try all of them takes too long.
        if king is None or (move.start != king if side == "white" else not _adjacent(move.target, king, board.size)):
            continue
        board.push(move)
        outcome = board.outcome()
        board.pop()
        if outcome is not None and outcome.winner == side:
            return move
    return moves[0]


def _adjacent(one: int, other: int, size: int) -> bool:
    return abs(one // size - other // size) + abs(one % size - other % size) == 1


class Answer(NamedTuple):
    """A move, and where it comes from.

    Attributes
    ----------
    move : Move
        Legal.
    choice : Choice or None
        What the player said; None if the move is a plain one.
    trouble : str or None
        Why it is a plain one.
    """

    move: Move
    choice: Choice | None
    trouble: str | None


class Thinker:
    """Asks one player for moves, each within a time.

    Parameters
    ----------
    player : Player
        Used from one thread at a time.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.players import make_player
    >>> from tablut.play.search.limits import SearchLimits
    >>> board = Board("brandubh")
    >>> answer = Thinker(make_player("random", "brandubh")).choose(board, SearchLimits(movetime=5), 10)
    >>> answer.move in board.legal_moves, answer.trouble
    (True, None)
    """

    def __init__(self, player: Player) -> None:
        self._player = player
        self._thread: threading.Thread | None = None

    def choose(self, board: Board, limits: SearchLimits, patience: float, unwanted: Collection[Move] = ()) -> Answer:
        """Return a legal move.

        Parameters
        ----------
        board : Board
            Undecided, with a legal move.
        limits : SearchLimits
            What the player is told.
        patience : float
            Seconds after which it is no longer waited for.
        unwanted : collection of Move
            Moves that the server refused here.

        Returns
        -------
        Answer
            In time.
        """
        until = time.monotonic() + patience
        spare = plain_move(board.copy(), unwanted)
        if self._thread is not None and self._thread.is_alive():
            return Answer(spare, None, "the player still thinks about an earlier position")
        found: list[Choice] = []
        failed: list[Exception] = []

        def _think(asked: Board) -> None:
            try:
                found.append(self._player.choose(asked, limits))
            except Exception as error:
                # Told below; a game is not lost because a player fails once.
                failed.append(error)

        self._thread = threading.Thread(target=_think, args=(board.copy(),), daemon=True, name="player")
        self._thread.start()
        self._thread.join(max(until - time.monotonic(), 0.0))
        if failed:
            return Answer(spare, None, f"the player failed ({type(failed[0]).__name__}: {failed[0]})")
        if not found:
            return Answer(spare, None, "the player did not answer in time")
        if found[0].move not in board.legal_moves:
            return Answer(spare, None, f"the player answered {found[0].move}, which is not legal")
        if found[0].move in unwanted:
            return Answer(spare, None, f"the server refused {found[0].move} before")
        return Answer(found[0].move, found[0], None)
