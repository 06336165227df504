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


def grade(plies: int, temptations: int) -> int:
    """Return how hard a puzzle is, 1 to 5.

    A point for every two plies, or for every eight tempting wrong moves, beyond the easiest.
    """
    return min(5, max(1, 1 + (plies - 3 + 1) // 2 + temptations // 8))


def threatens(variant: Variant, position: Position) -> bool:
    """Return whether the side that is *not* to move would win with its next ply, were it its turn."""
    engine = engine_for(variant)
    board = engine.board(position.cells, "w" if position.side == "b" else "b")
    children = engine.expand(engine.words(board))
    wins = "white" if position.side == "b" else "black"
    return any(
        outcome is not None and outcome.winner == wins for outcome in map(OUTCOMES.__getitem__, children.outcomes)
    )


def tempting_moves(variant: Variant, position: Position, winning: Collection[Move]) -> list[Move]:
    """Return the tempting moves that are not among the winning ones."""
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
    """Return whether a symmetry of the rules maps a position to itself."""
    images = [position.transformed(element).cells for element in variant.symmetries]
    return images.count(position.cells) > 1
