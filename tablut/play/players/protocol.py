"""What a player is: something that chooses a move within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.play.search.limits import SearchLimits
    from tablut.position import Move

__all__ = ["Choice", "Player"]


class Choice(NamedTuple):
    """A move and what its player has to say for it.

    Attributes
    ----------
    move : Move
        Legal in the position asked about.
    score : int or None
        What the player expects, for the side to move, in centi-logits (see
        `tablut.play.search.scores`); None if it has no opinion.
    mate : int or None
        Plies to a proven end: positive if the side to move wins, negative if it loses.
    depth : int
        Plies searched; 0 if nothing was.
    nodes : int
        Moves made in search.
    pv : tuple of Move
        The line expected; begins with the move.
    tbhits : int
        Positions that a tablebase valued.
    playouts : int
        Games played out.
    """

    move: Move
    score: int | None
    mate: int | None
    depth: int
    nodes: int
    pv: tuple[Move, ...]
    tbhits: int = 0
    playouts: int = 0


class Player(Protocol):
    """A player of one variant.

    It may keep what it has learnt from move to move. A new game needs no notice: the
    board that it is shown has the whole history.
    """

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return a move in an undecided position.

        Parameters
        ----------
        board : Board
            With the history of the game; not changed.
        limits : SearchLimits
            At least one. The answer comes before ``limits.movetime`` seconds are over.

        Raises
        ------
        InputError
            If the game is over, or the limits are none.
        """
