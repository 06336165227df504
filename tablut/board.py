"""`Board`: a position of a variant together with its history. The interface resembles that of python-chess.

The compiled engine is loaded when moves are first needed.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from tablut import rules
from tablut.errors import IllegalMoveError, InputError, NoMoveError, UncompiledError, shown_value, whole_number
from tablut.formats.reading import PositionLike, as_move, as_position, read_move
from tablut.position import OTHER_SIDE, SIDE_NAMES, Move, MoveText, Position, diagram_cells, parse_square, square_name
from tablut.rules.outcome import OUTCOMES, GameResult, Outcome
from tablut.status import Status, check_playable, position_status, reasons
from tablut.variants import VariantLike, as_variant, shipped_name
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from symmetry import Symmetry
    from tablut.records import GameRecord


# -- `LegalMoves`: the type of `Board.legal_moves`, a set-like view whose order is the engine's


@cache
def _moves_by_code(size: int) -> Mapping[int, Move]:
    """Return every move along a rank or file of a board, keyed by the move's engine code."""
    moves = (
        Move(start, target, size)
        for start in range(size * size)
        for target in range(size * size)
        if start != target and (start // size == target // size or start % size == target % size)
    )
    return {move.code: move for move in moves}


def _legal_code(move: object, codes: Sequence[int], size: int) -> int | None:
    """Return the engine code of a move if it is one of the given codes, or None otherwise."""
    if not isinstance(move, Move):
        return None
    # A `Move` is not validated when it is created. If its squares are off the board, its code may equal that of
    # another move.
    code = move.code
    known = _moves_by_code(size).get(code)
    return code if (known is move or known == move) and code in codes else None


class LegalMoves:
    """A live view of a board's legal moves, which changes with every move made on the board.

    It can be iterated over and has a length (`len`). ``in`` takes a move or its text.
    """

    def __init__(self, codes: Callable[[], Sequence[int]], size: int) -> None:
        self._codes, self._size = codes, size

    def __iter__(self) -> Iterator[Move]:
        return map(_moves_by_code(self._size).__getitem__, self._codes())

    def __contains__(self, move: object) -> bool:
        if isinstance(move, str):
            move = read_move(move, self._size).move
        return _legal_code(move, self._codes(), self._size) is not None

    def __len__(self) -> int:
        return len(self._codes())

    def count(self) -> int:
        """Return the number of legal moves."""
        return len(self)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        shown = ", ".join(map(str, islice(self, 20)))
        return f"<LegalMoves: {shown}{', ...' if len(self) > 20 else ''}>"


# -- `Board`: a position with its history; the interface resembles that of python-chess -----


# The compiled engine applies the rules, or `PlainEngine` where the compiled rules do not support the variant. The
# engine is loaded when moves are first needed. Displaying, parsing and checking a position work without it. Repetition
# and the move limit depend on the game history and are therefore decided here.
#
# A board may contain an impossible position; `status` gives the reasons. If there is no king or
# more than one, or a piece stands on a forbidden cell, no move can be made and there is no
# outcome. An impossible position is never regarded as decided by its placement.
#
# A placement with a captured king looks the same as an undecided one. On a board that was set up
# from text, the king therefore never counts as captured. Only a capture made by `push` is recognised.


class _Ply(NamedTuple):
    """A move that has been made, and the earlier state that `pop` restores."""

    move: Move
    undo: Any
    position: Position
    outcome: Outcome | None
    codes: list[int] | None


class Board:
    """A position of a variant together with its history. Moves can be made and taken back.

    A board must not be shared by threads that make moves: give each thread a `copy`.

    Parameters
    ----------
    variant : Variant, str or path-like
        A rule set, its name, or the path to its file.
    position : Position, Board or str, optional
        The default is the variant's start position. Text may be in any format that
        `tablut.formats.reading.read_position` accepts.

    Raises
    ------
    InputError
        If the variant or the text cannot be read.

    Examples
    --------
    >>> board = Board("ashton-5-4v0")
    >>> board.push_text("c3-b3")
    Move.parse('c3-b3', 5)
    >>> board.turn, board.outcome()
    ('black', None)
    >>> print(board)
    ..b..
    .....
    bK..b
    .....
    ..b..
    b
    >>> board.pop()
    Move.parse('c3-b3', 5)
    >>> board == Board("ashton-5-4v0")
    True
    """

    def __init__(self, variant: VariantLike = "ashton", position: PositionLike | None = None) -> None:
        self.variant = as_variant(variant)
        if position is None:
            self._position = Position(
                diagram_cells(self.variant.start), "w" if self.variant.rules.first == "white" else "b"
            )
        else:
            self._position = as_position(position, self.variant)
        self._plies: list[_Ply] = []
        # Number of times that each placement with its side to move occurred before the current position.
        self._earlier: dict[tuple[str, str], int] = {}
        # The engine's board, created when it is first needed; `PlainEngine` uses a list instead of an array.
        self._array: Any = None
        self._codes: list[int] | None = None
        self._reached: Outcome | None = None

    # -- the placement -----------------------------------------------------------------

    @property
    def size(self) -> int:
        """Side length of the board in cells."""
        return self.variant.size

    @property
    def position(self) -> Position:
        """The current position, as an immutable value."""
        return self._position

    @property
    def turn(self) -> Literal["white", "black"]:
        """The side to move."""
        return SIDE_NAMES[self._position.side]

    @property
    def text(self) -> str:
        """The position as one line of text that `Board` can read back."""
        return str(self._position)

    def piece_at(self, square: int | str) -> Literal["b", "w", "K"] | None:
        """Return the piece on a ``square``, which is given by index or name: ``'b'``, ``'w'``, ``'K'`` or None.

        Raises
        ------
        InputError
            If the board has no such square.

        Examples
        --------
        >>> Board("ashton").piece_at("e5"), Board("ashton").piece_at(0)
        ('K', None)
        """
        name = square if isinstance(square, str) else square_name(whole_number("square", square), self.size)
        return self.piece_map().get(parse_square(name, self.size))

    def piece_map(self) -> dict[int, Literal["b", "w", "K"]]:
        """Return a dictionary of the pieces (``b``, ``w`` or ``K``), keyed by square index, in square order.

        Examples
        --------
        >>> Board("ashton-5-4v0").piece_map()
        {2: 'b', 10: 'b', 12: 'K', 14: 'b', 22: 'b'}
        """
        return {square: piece for square, piece in enumerate(self._position.cells) if piece != "."}  # type: ignore[misc]

    def king(self) -> int | None:
        """Return the king's square, or None if there is no king or more than one."""
        cells = self._position.cells
        return cells.index("K") if cells.count("K") == 1 else None

    def status(self) -> Status:
        """Return all reasons why the position is impossible, or `Status.VALID` if there are none."""
        return position_status(self.variant, self._position)

    def transform(self, symmetry: Symmetry | str) -> Board:
        """Return a new board, without history, that contains the position's image under a symmetry of the variant.

        ``symmetry`` is a `Symmetry` that leaves the rules unchanged, or its name.

        Raises
        ------
        InputError
            If the rules do not have this symmetry.
        """
        found = next((one for one in self.variant.symmetries if symmetry in (one, one.name)), None)
        if found is None:
            names = ", ".join(one.name for one in self.variant.symmetries)
            shown = shown_value(getattr(symmetry, "name", symmetry))
            raise InputError(
                f"does not keep the rules of {self.variant.name}",
                subject=f"symmetry {shown}",
                remedy=f"choose one of {names}",
            )
        return Board(self.variant, self._position.transformed(found))

    # -- the game ----------------------------------------------------------------------

    @property
    def ply(self) -> int:
        """Number of moves made on this board."""
        return len(self._plies)

    @property
    def move_stack(self) -> list[Move]:
        """The moves made on this board, from the first to the last."""
        return [ply.move for ply in self._plies]

    # -- the engine --------------------------------------------------------------------

    @cached_property
    def _engine(self) -> Any:
        # Imported here, because it loads numba, which is needed only for moves.
        from tablut.engine import engine_for

        try:
            return engine_for(self.variant)
        except UncompiledError:
            return rules.naive.PlainEngine(self.variant)

    def _playable(self) -> Any:
        if self._array is None:
            check_playable(self.variant, self._position)
            self._array = self._engine.board(self._position.cells, self._position.side)
        return self._array

    def _generated(self) -> list[int]:
        """Return the engine codes of the legal moves, in the engine's order."""
        if self._codes is None:
            array = self._playable()
            self._codes = [] if self._decided() else self._engine.legal_moves(array).tolist()
            if self.variant.rules.repetition.forbids(self.turn):
                self._codes = [code for code in self._codes if not self._recurs_too_often(code)]
        return self._codes

    def _recurs_too_often(self, code: int) -> bool:
        """Return whether a move would repeat a position more often than the rules allow."""
        array = self._playable().copy()
        self._engine.make(array, code)
        cells, side = self._engine.cells(array)
        return self._earlier.get((cells, side), 0) + 1 >= self.variant.rules.repetition.times

    @property
    def legal_moves(self) -> LegalMoves:
        """The legal moves of the side to move. There are none in a decided position."""
        return LegalMoves(self._generated, self.size)

    def is_legal(self, move: Move | str) -> bool:
        """Return whether a ``move``, which may be given as text, is legal. Captures named in the text are not checked.

        Raises
        ------
        InputError
            If the text is not a move.

        Examples
        --------
        >>> Board("ashton").is_legal("e4-f4"), Board("ashton").is_legal("e5-e9")
        (True, False)
        """
        return move in self.legal_moves

    def perft(self, depth: int) -> int:
        """Return the number of move sequences of ``depth`` plies from the current position, ignoring the game history.

        For depths from 1, it is 0 in a decided position.

        Raises
        ------
        InputError
            If the depth is not a whole number from 0 to 1,000, or if the game cannot continue from the position.

        Examples
        --------
        >>> [Board("ashton-5-4v0").perft(depth) for depth in range(5)]
        [1, 4, 76, 296, 2648]
        """
        if (depth := whole_number("depth", depth, most=1000)) == 0:
            return 1
        return 0 if self._decided() else self._engine.perft(self._playable(), depth)

    # -- moves -------------------------------------------------------------------------

    def push(self, move: Move | str) -> None:
        """Make a legal ``move``, which may be given as text in any format that `push_text` reads.

        Raises
        ------
        InputError
            If the text cannot be read as a move.
        IllegalMoveError
            If the move is not legal. The board is then unchanged.
        """
        if not isinstance(move, Move):
            self._push_text(as_move(move, self.size), str(move))
            return
        code = _legal_code(move, self._generated(), self.size)
        if code is None:
            why = "the game is over" if self._decided() else self._why_illegal(move)
            where = f"'{self._position}' ({self.variant.name})"
            raise IllegalMoveError(f"move {move}: is not legal in {where}: {why}", why)
        before = self._position
        undo, outcome = self._engine.make(self._playable(), code)
        self._plies.append(_Ply(move, undo, before, self._reached, self._codes))
        placed = before.cells, before.side
        self._earlier[placed] = self._earlier.get(placed, 0) + 1
        cells = list(before.cells)
        cells[move.target], cells[move.start] = cells[move.start], "."
        if undo != code:  # if a move captures nothing, its undo record equals its code
            for square in self._engine.captured(undo):
                cells[square] = "."
        self._position = Position("".join(cells), OTHER_SIDE[before.side], before.fields)
        self._reached, self._codes = OUTCOMES[outcome], None

    def _why_illegal(self, move: Move) -> str:
        piece = self.piece_at(move.start)
        if piece is None:
            return "there is no piece to move"
        if (piece == "b") != (self.turn == "black"):
            return f"it is {self.turn}'s turn"
        if move.code in self._engine.legal_moves(self._playable()):
            return "the resulting position has occurred too often"
        game = rules.naive.NaiveGame(self.variant)
        return game.why_not(game.read(self.text), game.parse_move(str(move)))

    def push_text(self, text: str) -> Move:
        """Make a move given as ``text``, check the captures that the text names, and return the move.

        Examples are ``e4-e7``, ``e4e7`` and ``e4-e7xe8``; `tablut.formats.reading.read_move` lists further notations.

        Raises
        ------
        InputError
            If the text is not a move.
        IllegalMoveError
            If the move is not legal, if the text assigns it to the side that is not to move, or if its captures differ
            from those that the text names. The board is then unchanged.

        Examples
        --------
        >>> Board("ashton").push_text("e4f4")
        Move.parse('e4-f4', 9)
        """
        return self._push_text(read_move(text, self.size), text)

    def _push_text(self, given: MoveText, text: str) -> Move:
        if given.side is not None and given.side != self._position.side:
            where = f"'{self._position}' ({self.variant.name})"
            raise IllegalMoveError(
                f"is a move of {SIDE_NAMES[given.side]}, but in {where} it is {self.turn}'s turn",
                subject=f"move {excerpt(text)}",
            )
        self.push(given.move)
        captured = self.captured()
        # OpenTafl's records list a captured king among the captures.
        if given.captures is not None and given.captures - {self.captured_king()} != frozenset(captured):
            self.pop()
            raise IllegalMoveError(
                f"in '{self._position}' ({self.variant.name}) the move is "
                f"{MoveText(given.move, frozenset(captured) or None)}",
                subject=f"move {excerpt(text)}",
            )
        return given.move

    def pop(self) -> Move:
        """Take back the last move, and return it.

        Raises
        ------
        NoMoveError
            If no move has been made. This error is both an `InputError` and an `IndexError`.
        """
        if not self._plies:
            raise NoMoveError("has no move to take back", subject=f"position '{self._position}'")
        last = self._plies.pop()
        self._engine.unmake(self._playable(), last.undo)
        self._position, self._reached, self._codes = last.position, last.outcome, last.codes
        self._earlier[last.position.cells, last.position.side] -= 1
        return last.move

    def peek(self) -> Move:
        """Return the last move made, or raise `NoMoveError` if no move has been made."""
        if not self._plies:
            raise NoMoveError("has no last move", subject=f"position '{self._position}'")
        return self._plies[-1].move

    def captured_king(self) -> int | None:
        """Return the king's square if the last move captured the king, else None. A captured king is not removed."""
        reached = self._reached
        return self.king() if reached is not None and reached.termination == "king_captured" else None

    def captured(self) -> tuple[int, ...]:
        """Return the squares of the soldiers that the last move captured, in ascending order."""
        return self._captured_by(self._plies[-1]) if self._plies else ()

    def _captured_by(self, ply: _Ply) -> tuple[int, ...]:
        # If a move captures nothing, its undo record equals its code.
        return () if ply.undo == ply.move.code else tuple(self._engine.captured(ply.undo))

    # -- the end -----------------------------------------------------------------------

    def _decided(self) -> Outcome | None:
        """Return the outcome of the last ply, or of the placement if no ply has been made; ignore earlier plies."""
        if self._reached is not None or self._plies:
            return self._reached
        found = self._standing()
        if found is not None and (status := check_playable(self.variant, self._position)):
            raise InputError(
                f"is already decided ({found.how}) and impossible: {reasons(status)}",
                subject=f"position '{self._position}'",
            )
        return found

    def _standing(self) -> Outcome | None:
        """Return the outcome that follows from the placement alone, or None.

        This is needed only for positions that were set up, because the engine reports the outcome of a move.
        """
        either, king = self.variant.rules.no_moves == "either_after_ply", self.king()
        if either and king is not None and not self._mobile("white"):
            return Outcome("no_moves", "black")
        if king in self.variant.regions.escapes:
            return Outcome("king_escaped", "white")
        if "b" not in self._position.cells:
            return Outcome("no_attackers", "white")
        return Outcome("no_moves", "white") if either and not self._mobile("black") else None

    def _mobile(self, side: Literal["white", "black"]) -> bool:
        return bool(self._engine.count_moves(self._playable(), int(side == "black")))

    def outcome(self) -> Outcome | None:
        """Return the outcome of the game, or None if it is not over.

        The game can end with a decisive ply, by repetition, at the variant's move limit, or because the side to move
        has no legal move.

        Raises
        ------
        InputError
            If the position was set up and the game cannot continue from it. The error is also raised if the position is
            impossible although its placement would decide the game.

        Examples
        --------
        >>> Board("ashton", "9/9/9/9/9/9/9/9/9 w").outcome()
        Traceback (most recent call last):
            ...
        tablut.errors.InputError: position '9/9/9/9/9/9/9/9/9 w': cannot be played on: there is no king ...
        """
        decided = self._decided()
        if decided is not None:
            return decided
        other: Literal["white", "black"] = "black" if self.turn == "white" else "white"
        # The whole list is generated and cached, because callers usually need the moves afterwards.
        if not self._generated():
            return Outcome("no_moves", other)
        rules = self.variant.rules
        if rules.repetition.ends and self.occurrence() >= rules.repetition.times:
            # The side that is not to move has just repeated the position.
            return Outcome("repetition", rules.repetition.winner(other))
        return Outcome("move_limit", None) if rules.move_limit is not None and self.ply >= rules.move_limit else None

    def is_game_over(self) -> bool:
        """Return whether the game has ended; see `outcome`."""
        return self.outcome() is not None

    def result(self) -> Literal["white", "black", "draw", "*"]:
        """Return the result as written in game records: the winner, ``draw``, or ``*`` while the game goes on."""
        outcome = self.outcome()
        return "*" if outcome is None else outcome.winner or "draw"

    def is_repetition(self) -> bool:
        """Return whether the position (placement and side to move) occurred earlier on this board."""
        return self.occurrence() > 1

    def occurrence(self) -> int:
        """Return how often the position (placement and side to move) has occurred on this board so far."""
        return self._earlier.get((self._position.cells, self._position.side), 0) + 1

    def record(self, tags: Mapping[str, str] | None = None, result: GameResult | None = None) -> GameRecord:
        """Return a record of the moves made on this board, for example for `tablut.records.write_record`.

        ``tags`` are the players, time and place: ``White``, ``Black``, ``Date`` and so on. ``result`` is by default
        taken from `outcome`.

        Raises
        ------
        InputError
            If the game cannot continue from the position.

        Examples
        --------
        >>> from tablut.records import write_record
        >>> board = Board("ashton")
        >>> board.push("e4-f4")
        >>> print(write_record(board.record({"White": "Anna"})), end="")
        [Variant "ashton"]
        [White "Anna"]
        <BLANKLINE>
        1. e4-f4
        *
        """
        from tablut.records import GameRecord

        start, outcome = self._plies[0].position if self._plies else self._position, self.outcome()
        return GameRecord(
            tags=dict(tags or {}),
            variant=shipped_name(self.variant) or self.variant,
            start=None if start == Board(self.variant).position else start,
            moves=tuple(MoveText(ply.move, frozenset(self._captured_by(ply)) or None) for ply in self._plies),
            result=result if result is not None or outcome is None else outcome.winner or "draw",
        )

    # -- identity ----------------------------------------------------------------------

    def canonical(self) -> Board:
        """Return a new board, without history, that contains the position's canonical image.

        All images of a position under the variant's symmetries have the same canonical image.
        """
        engine = self._engine
        if isinstance(engine, rules.naive.PlainEngine):
            # The plain engine has no packed words, so the cell letters are compared instead.
            images = [self._position.transformed(symmetry) for symmetry in self.variant.symmetries]
            return Board(self.variant, min(images, key=lambda image: image.cells))
        words, _ = engine.canonical(engine.words(self._playable()), self.variant.symmetries)
        cells, side = engine.cells(engine.boards(words)[0])
        return Board(self.variant, Position(cells, side))

    def zobrist_key(self) -> int:
        """Return the 64-bit Zobrist key of the position. The key is a hash, so different positions may share it."""
        from tablut.engine import engine_for

        return engine_for(self.variant).key(self._playable())

    def assert_ok(self) -> None:
        """Check that the incrementally updated engine board equals one newly created from the position.

        Raises
        ------
        AssertionError
            If the cells, counts or lines of the engine's board are wrong. The message contains the position.
        """
        fresh = self._engine.board(self._position.cells, self._position.side)
        assert [*fresh] == [*self._playable()], f"'{self._position}': board {self._array} should be {fresh}"
        assert self._engine.cells(fresh) == (self._position.cells, self._position.side), str(self._position)

    def copy(self) -> Self:
        """Return a board with the same position and history; `copy.copy` and `copy.deepcopy` do the same."""
        board = object.__new__(type(self))
        board.__dict__.update(self.__dict__)  # values that are never changed in place may be shared
        board._plies = self._plies.copy()
        board._earlier = self._earlier.copy()
        board._array = None if self._array is None else self._array.copy()
        return board

    __copy__ = copy

    def __deepcopy__(self, _memo: object) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, object]:
        """Return the state to pickle. It omits the engine, which is looked up again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_engine"}

    def __eq__(self, other: object) -> bool:
        """Return whether variant, placement and side to move are equal. The history is ignored."""
        if not isinstance(other, Board):
            return NotImplemented
        mine, theirs = self._position, other._position
        return self.variant == other.variant and (mine.cells, mine.side) == (theirs.cells, theirs.side)

    def __hash__(self) -> int:
        """Return a hash of variant, placement and side to move. A board used as a key must not be changed."""
        return hash((self.variant, self._position.cells, self._position.side))

    def __str__(self) -> str:
        return self._position.grid()

    def __repr__(self) -> str:
        return f"Board({self.variant.name!r}, {str(self._position)!r})"

    def _repr_svg_(self) -> str:
        from tablut import svg

        return svg.board(self)
