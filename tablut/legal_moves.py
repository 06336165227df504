"""`LegalMoves`: what `Board.legal_moves` returns, a view that reads like a set and keeps the engine's order."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tablut.position import Move

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["LegalMoves", "legal_code"]


@cache
def _moves_by_code(size: int) -> Mapping[int, Move]:
    """Return every move along a line of a board by the engine's code: made once, since making them takes most time."""
    moves = (
        Move(start, target, size)
        for start in range(size * size)
        for target in range(size * size)
        if start != target and (start // size == target // size or start % size == target % size)
    )
    return {move.code: move for move in moves}


def legal_code(move: object, codes: Sequence[int], size: int) -> int | None:
    """Return the engine's code of a move that is among some, or None.

    Parameters
    ----------
    move : object
        Anything; what is no move of the board is not among them.
    codes : sequence of int
        Of legal moves.
    size : int
        Side of the board in cells.

    Returns
    -------
    int or None
        One of ``codes``.

    Examples
    --------
    >>> legal_code(Move(31, 58, 9), [31 | 58 << 7], 9) == 31 | 58 << 7
    True
    """
    if not isinstance(move, Move):
        return None
    # A move is any three numbers; with numbers off the board, two of them may have one code.
    code = move.code
    known = _moves_by_code(size).get(code)
    return code if (known is move or known == move) and code in codes else None


class LegalMoves:
    """The legal moves of a board, now and after each move on it: iterable, with a length, and asked by ``in``.

    Parameters
    ----------
    codes : callable
        Returns the engine's codes of the legal moves of the present position, in the engine's order.
    size : int
        Side of the board in cells.

    Examples
    --------
    >>> from tablut import Board, Move
    >>> moves = Board("ashton-5-4v0").legal_moves
    >>> len(moves), moves.count(), [str(move) for move in moves]
    (4, 4, ['c3-b3', 'c3-d3', 'c3-c2', 'c3-c4'])
    >>> Move.parse("c3-c5", 5) in moves
    False
    """

    def __init__(self, codes: Callable[[], Sequence[int]], size: int) -> None:
        self._codes, self._size = codes, size

    def __iter__(self) -> Iterator[Move]:
        return map(_moves_by_code(self._size).__getitem__, self._codes())

    def __contains__(self, move: object) -> bool:
        return legal_code(move, self._codes(), self._size) is not None

    def __len__(self) -> int:
        return len(self._codes())

    def count(self) -> int:
        """Return the number of legal moves."""
        return len(self)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"<LegalMoves: {', '.join(map(str, self))}>"
