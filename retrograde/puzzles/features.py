"""What a first move looks like to a human solver: does it win, does it tempt, how hard is the puzzle.

A move tempts if it captures, threatens to win with the next ply, or brings the king
nearer to an escape or an attacker beside the king. Tempting moves that do not
attain the distance are what a solver has to see through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.board import Board
from tablut.engine import engine_for
from tablut.rules.outcome import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Collection

    from tablut.position import Move, Position
    from tablut.variants import Variant

__all__ = ["grade", "is_symmetrical", "tempting_moves", "threatens"]


def grade(plies: int, temptations: int) -> int:
    """Return how hard a puzzle is, 1 to 5.

    A point for every two plies, or for every eight tempting wrong moves, beyond the easiest.

    Parameters
    ----------
    plies : int
        Distance of the win.
    temptations : int
        Tempting first moves that do not attain it.

    Returns
    -------
    int
        1 is easiest.

    Examples
    --------
    >>> grade(3, 0), grade(5, 9), grade(11, 20)
    (1, 3, 5)
    """
    return min(5, max(1, 1 + (plies - 3 + 1) // 2 + temptations // 8))


def threatens(variant: Variant, position: Position) -> bool:
    """Return whether the side that is *not* to move would win with its next ply, were it its turn.

    Parameters
    ----------
    variant : Variant
        The rule set.
    position : Position
        On a board of its size.

    Returns
    -------
    bool
        Whether it threatens to win.
    """
    engine = engine_for(variant)
    board = engine.board(position.cells, "w" if position.side == "b" else "b")
    children = engine.expand(engine.words(board))
    wins = "white" if position.side == "b" else "black"
    return any(
        outcome is not None and outcome.winner == wins for outcome in map(OUTCOMES.__getitem__, children.outcomes)
    )


def tempting_moves(variant: Variant, position: Position, winning: Collection[Move]) -> list[Move]:
    """Return the tempting moves that are not among the winning ones.

    Parameters
    ----------
    variant : Variant
        The rule set.
    position : Position
        On a board of its size.
    winning : collection of Move
        The solution.

    Returns
    -------
    list of Move
        In the order of generation.

    Examples
    --------
    >>> from tablut.position import Position
    >>> from tablut.variants import load_variant
    >>> variant = load_variant("ashton-5-4v0")
    >>> [str(move) for move in tempting_moves(variant, Position.parse("2b2/5/b1K1b/5/2b2 w", 5), [])]
    ['c3-b3', 'c3-d3', 'c3-c2', 'c3-c4']
    """
    found = []
    for move in Board(variant, position).legal_moves:
        if move in winning:
            continue
        board = Board(variant, position)
        board.push(move)
        outcome = board.outcome()
        if (
            board.captured()
            or (outcome is None and threatens(variant, board.position))
            or _approach(variant, position, move)
        ):
            found.append(move)
    return found


def _approach(variant: Variant, position: Position, move: Move) -> bool:
    """Return whether a move brings the king nearer to an escape, or an attacker beside the king."""
    king = position.cells.index("K")
    if move.start == king:
        return _to_escape(variant, move.target) < _to_escape(variant, king)
    return position.side == "b" and _steps(move.target, king, variant.size) == 1


def _steps(first: int, second: int, size: int) -> int:
    return abs(first // size - second // size) + abs(first % size - second % size)


def _to_escape(variant: Variant, cell: int) -> int:
    """Return the steps from a cell to the nearest escape, pieces ignored."""
    return min(_steps(cell, escape, variant.size) for escape in variant.regions.escapes)


def is_symmetrical(variant: Variant, position: Position) -> bool:
    """Return whether a symmetry of the rules maps a position to itself.

    Parameters
    ----------
    variant : Variant
        The rule set.
    position : Position
        On a board of its size.

    Returns
    -------
    bool
        Whether one other than the identity does.
    """
    images = [position.transformed(element).cells for element in variant.symmetries]
    return images.count(position.cells) > 1
