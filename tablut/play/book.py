"""Opening books: a player that begins with book moves, and match openings that are drawn from a book.

The player makes the move with the highest lower bound on its points, or draws a move at random in proportion to its
number of games.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from tablut.board import Board
from tablut.errors import InputError, TablutError
from tablut.play.collection import PlayedMove, open_collection
from tablut.play.players import Player
from tablut.play.players.registry import BOOK, BOOK_MOVE, bare_choice
from tablut.play.search.limits import Choice, SearchLimits, repeats
from tablut.position import Move, Position
from tablut.variants import Variant
from tablut.work.files import excerpt

WAYS: Final = ("best", "draw")


class BookPlayer:
    """A player that makes book moves as long as the book contains the position. Then another player takes over."""

    def __init__(self, player: Player, variant: Variant, settings: dict[str, str], seed: int) -> None:
        self._player, self._random = player, Random(f"book {seed}")
        self._path, self._way = Path(settings.get(BOOK, "")), settings.get(BOOK_MOVE, "best")
        if not settings.get(BOOK):
            given = BOOK if BOOK in settings else f"{BOOK_MOVE}={excerpt(self._way)}"
            raise InputError(f"needs {BOOK}=FILE", subject=f"option {given}")
        if self._way not in WAYS:
            raise InputError(f"expected {' or '.join(WAYS)}", subject=f"option {BOOK_MOVE}={excerpt(self._way)}")
        with open_collection(self._path) as book:
            book.rules(variant)

    def choose(self, board: Board, limits: SearchLimits, **wanted: Any) -> Choice:
        """Return a move from the book, or the choice of the other player if the book has no suitable move.

        A move is not suitable if it has lost all its games or repeats a position of the game. The other player also
        chooses if several lines or a choice among given moves are ``wanted``.
        """
        try:
            moves, notes = [] if wanted else without_repetitions(book_moves(self._path, board), board), list[str]()
        except (TablutError, OSError) as error:
            moves, notes = [], [f"{error}; the book was not used"]
        if self._way == "best":
            moves = [move for move in moves if move.score != 0]
        if not moves:
            choice = self._player.choose(board, limits, **wanted)
            return choice._replace(notes=(*notes, *choice.notes))
        if self._way == "draw":
            move = drawn_move(moves, self._random, board.size)
        else:
            move = Move.parse(max(moves, key=lambda move: (move.low, move.games)).move, board.size)
        return bare_choice(move)._replace(source="book")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._player, name)


def book_moves(path: Path, board: Board) -> list[PlayedMove]:
    """Return the moves that a book contains for a board's position."""
    with open_collection(path) as book:
        return book.answer(board, most=0).moves


def without_repetitions(moves: list[PlayedMove], board: Board) -> list[PlayedMove]:
    """Return the book moves that the history of the game does not speak against (see `repeats`)."""
    found = []
    for played in moves:
        new = [text for text in (played.move, *played.same) if not repeats(board, Move.parse(text, board.size))]
        found += [played.model_copy(update={"move": new[0], "same": new[1:]})] if new else []
    return found


def drawn_move(moves: list[PlayedMove], random: Random, size: int) -> Move:
    """Draw a move at random in proportion to its number of games. Choose evenly among equivalent moves."""
    (drawn,) = random.choices(moves, [move.games for move in moves])
    return Move.parse(random.choice([drawn.move, *drawn.same]), size)


class BookOpenings(NamedTuple):
    """Match openings of at most ``plies`` moves, each drawn at random in proportion to its games in a ``book``."""

    book: str
    plies: int = 4
    seed: int = 1

    def of_pair(self, variant: Variant, number: int, start: Position | None = None) -> tuple[Move, ...]:
        """Return the opening for a pair of games. It never ends the game."""
        random, board = Random(f"book {self.seed} {number}"), Board(variant, start)
        while board.ply < self.plies and (moves := book_moves(Path(self.book), board)):
            board.push(drawn_move(moves, random, board.size))
            if board.outcome() is not None:
                board.pop()
                break
        if not board.ply and self.plies:
            raise InputError("does not contain the first position of the games", subject=f"book {excerpt(self.book)}")
        return tuple(board.move_stack)
