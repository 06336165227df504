"""`LegalMoves`: what `Board.legal_moves` returns, a view that reads like a set and keeps the engine's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tablut.position import Move

__all__ = ["LegalMoves"]


class LegalMoves:
    """The legal moves of a board, now and after each move on it: iterable, with a length, and asked by ``in``.

    Parameters
    ----------
    generated : callable
        Returns the legal moves of the present position, in the engine's order.

    Examples
    --------
    >>> from tablut import Board, Move
    >>> moves = Board("ashton-5-4v0").legal_moves
    >>> len(moves), moves.count(), [str(move) for move in moves]
    (4, 4, ['c3-b3', 'c3-d3', 'c3-c2', 'c3-c4'])
    >>> Move.parse("c3-c5", 5) in moves
    False
    """

    def __init__(self, generated: Callable[[], Mapping[Move, int]]) -> None:
        self._generated = generated

    def __iter__(self) -> Iterator[Move]:
        return iter(self._generated())

    def __contains__(self, move: object) -> bool:
        return move in self._generated()

    def __len__(self) -> int:
        return len(self._generated())

    def count(self) -> int:
        """Return the number of legal moves."""
        return len(self)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"<LegalMoves: {', '.join(map(str, self))}>"
