"""The plain rules as a board asks them: for boards and rules that the compiled ones do not hold, slowly."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from tablut.position import Move, Position
from tablut.rules.naive import Cell, NaiveGame, NaiveMove, NaivePosition
from tablut.rules.outcome import OUTCOMES

if TYPE_CHECKING:
    from tablut.variants import Variant


class PlainUndo(NamedTuple):
    """What taking a ply back needs: the position before it, and the squares on which it captured."""

    before: NaivePosition
    captured: tuple[int, ...]


class PlainEngine:
    """What `tablut.board.Board` asks of an engine, answered by `NaiveGame`; a position is a list of one, changed."""

    def __init__(self, variant: Variant) -> None:
        self._game, self._size = NaiveGame(variant), variant.size
        self._codes: dict[NaiveMove, int] = {}

    def board(self, cells: str, side: str) -> list[NaivePosition]:
        """Return the position of a placement."""
        return [self._game.read(str(Position(cells, "w" if side == "w" else "b")))]

    def cells(self, board: list[NaivePosition]) -> tuple[str, str]:
        """Return the letters and the side to move; the inverse of `board`."""
        squares = (divmod(square, self._size) for square in range(self._size**2))
        return "".join(board[0].piece((file, rank)) or "." for rank, file in squares), board[0].side

    def legal_moves(self, board: list[NaivePosition]) -> array[int]:
        """Return the codes of the legal moves of the side to move."""
        return array("i", map(self._code, self._game.legal_moves(board[0])))

    def count_moves(self, board: list[NaivePosition], side: int) -> int:
        """Return the number of legal moves of a side, whoever is to move."""
        return len(self._game.legal_moves(board[0], "wb"[side]))

    def make(self, board: list[NaivePosition], code: int) -> tuple[PlainUndo, int]:
        """Make a legal move in place; return how it is taken back, and the number of its outcome."""
        before = board[0]
        board[0], captured, outcome = self._game.apply(
            before, self._game.parse_move(str(Move.from_code(code, self._size)))
        )
        return PlainUndo(before, tuple(sorted(map(self._square, captured)))), OUTCOMES.index(outcome)

    def unmake(self, board: list[NaivePosition], undo: PlainUndo) -> None:
        """Take the last move back, in place."""
        board[0] = undo.before

    def captured(self, undo: PlainUndo) -> tuple[int, ...]:
        """Return the squares of the soldiers that a move captured."""
        return undo.captured

    def perft(self, board: list[NaivePosition], depth: int) -> int:
        """Return the number of sequences of exactly so many plies from an undecided position."""
        return self._game.perft(board[0], depth)

    def _code(self, move: NaiveMove) -> int:
        code = self._codes.get(move)
        if code is None:
            code = self._codes[move] = Move(self._square(move[0]), self._square(move[1]), self._size).code
        return code

    def _square(self, cell: Cell) -> int:
        return cell[1] * self._size + cell[0]
