"""What every player asks of a board before it chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.errors import InputError

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.position import Move
    from tablut.variants import Variant

__all__ = ["moves_asked_about"]


def moves_asked_about(board: Board, variant: Variant) -> list[Move]:
    """Return the moves to choose from, at least one, in the engine's order.

    Parameters
    ----------
    board : Board
        The game.
    variant : Variant
        The rule set that the player was made for.

    Returns
    -------
    list of Move
        All legal ones.

    Raises
    ------
    InputError
        If the board is of another variant, or the game is over.

    Examples
    --------
    >>> from tablut import Board
    >>> board = Board("ashton-5-4v0")
    >>> [str(move) for move in moves_asked_about(board, board.variant)]
    ['c3-b3', 'c3-d3', 'c3-c2', 'c3-c4']
    """
    if board.variant != variant:
        raise InputError(f"position '{board.position}': is of {board.variant.name}, not of {variant.name}")
    moves = list(board.legal_moves)
    if board.outcome() is not None or not moves:
        raise InputError(f"position '{board.position}': the game is over; there is no move to choose")
    return moves
