"""Immutable values for positions and moves, and their text forms.

Cells are numbered ``index = rank * size + file`` from a1 = 0. A diagram is a tuple of rows from the top rank down;
index 0 of a row is file a. Parsing does not check whether a position is possible; see `tablut.board.Board.status`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from math import isqrt
from typing import TYPE_CHECKING, Any, Final, Literal

from tablut.errors import InputError, whole_number
from tablut.work.files import brief, excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symmetry import Symmetry

FILES = "abcdefghijklmnopqrs"
Side = Literal["w", "b"]
SideName = Literal["white", "black"]
SIDES: Final[tuple[SideName, SideName]] = ("white", "black")
SIDE_NAMES: Final[dict[Side, SideName]] = {"w": "white", "b": "black"}
OTHER_SIDE: Final[dict[Side, Side]] = {"w": "b", "b": "w"}

_LETTERS = "bwK"
_TEXT = 480
"""Maximum length of a position in an error message; it is enough for a 19×19 board."""
_ITEM = re.compile(r"[0-9]+|.", re.DOTALL)
_PIECES = {"b": "b", "w": "w", "K": "K"}
_FOREIGN = dict.fromkeys("tT", "OpenTafl's ")
_SQUARE = f"[a-{FILES[-1]}][0-9]{{1,2}}"
# Every part after the first capture begins with a letter that identifies it, so the pattern is unambiguous.
_MOVE = re.compile(
    rf"(?P<start>{_SQUARE})-?(?P<target>{_SQUARE})(?P<taken>x{_SQUARE}(?:(?:/x?|xx?)?{_SQUARE})*+)?",
    re.IGNORECASE | re.ASCII,
)
_CAPTURED = re.compile(_SQUARE, re.IGNORECASE | re.ASCII)


# -- squares and diagrams as text -----------------------------------------------------------


def square_name(square: int, size: int) -> str:
    """Return the name of a square."""
    if not 0 <= square < size * size:
        raise InputError(f"must be 0 to {size * size - 1} on a {size}x{size} board", subject=f"square {square!r}")
    rank, file = divmod(square, size)
    return f"{FILES[file]}{rank + 1}"


def parse_square(name: str, size: int) -> int:
    """Return the index of a square from its name in lower or upper case; the inverse of `square_name`."""
    # The length is checked first, because `int` raises a different error for a text of thousands of digits.
    plain = 2 <= len(name) <= 3 and name.isascii()
    file, rank = (FILES[:size].find(name[0].lower()), name[1:]) if plain else (-1, "")
    if file < 0 or not rank.isdecimal() or rank[0] == "0" or int(rank) > size:
        raise InputError(f"expected a1 to {square_name(size * size - 1, size)}", subject=f"square {excerpt(name)}")
    return (int(rank) - 1) * size + file


def diagram_cells(rows: Sequence[str]) -> str:
    """Return a diagram's cells as one string, in index order."""
    return "".join(reversed(rows))


def position_text(rows: Sequence[str], side: str) -> str:
    """Return the one-line text of a position."""
    return "/".join([_row_text(row) for row in rows]) + f" {side}"


@lru_cache(maxsize=1 << 14)
def _row_text(row: str) -> str:
    """Return a row as text, writing runs of empty cells as numbers."""
    return "".join(str(len(list(run))) if content == "." else "".join(run) for content, run in groupby(row))


# -- moves and positions ---------------------------------------------------------------------


NARROW: Final = 11
"""Side length of the largest board that uses the narrow layout of lines and moves."""
WIDEST: Final = len(FILES)
"""Side length of the largest supported board."""


def code_of_cells(start: Any, target: Any, size: int) -> Any:
    """Return the 14-bit code of a move (`tablut.engine.layout`), or the codes for an array of moves."""
    if size <= NARROW:
        return start | target << 7
    along_row = start // size == target // size
    return 2 * WIDEST * start + along_row * (target % size) + (1 - along_row) * (WIDEST + target // size)


def cells_of_code(code: Any, size: int) -> tuple[Any, Any]:
    """Return the start and target cells of a move code, or the cells for an array of codes."""
    if size <= NARROW:
        return code & 127, code >> 7 & 127
    start, place = code // (2 * WIDEST), code % (2 * WIDEST)
    along_row = place < WIDEST
    at_row, at_column = start // size * size + place, (place - WIDEST) * size + start % size
    return start, along_row * at_row + (1 - along_row) * at_column


@dataclass(frozen=True, slots=True, repr=False)
class Move:
    """A move from one square to another, given by their indices ``start`` and ``target``.

    ``size`` is the side length of the board in cells, which determines the square names.

    Examples
    --------
    >>> str(Move(31, 58, 9))
    'e4-e7'
    """

    start: int
    target: int
    size: int

    @classmethod
    def parse(cls, text: str, size: int) -> Move:
        """Return the move given by a ``text`` such as ``e4-e7``, which need not be legal.

        The dash is optional, letters may be in either case, and captures are not allowed. ``size`` is the side length
        of the board in cells.

        Raises
        ------
        InputError
            If the text is not a move on a board of this size.

        Examples
        --------
        >>> Move.parse("e4e7", 9) == Move.parse("e4-e7", 9) == Move(31, 58, 9)
        True
        """
        move_text = MoveText.parse(text, whole_number("size", size, 3, WIDEST))
        if move_text.captures is not None:
            raise InputError("expected only the two squares, such as e4-e7", subject=f"move {excerpt(text)}")
        return move_text.move

    @classmethod
    def from_code(cls, code: int, size: int) -> Move:
        """Return the move with a given ``code``, which need not be legal. This is the inverse of `code`.

        The code is ``start | target << 7`` on boards up to 11×11. ``size`` is the side length of the board in cells.

        Examples
        --------
        >>> str(Move.from_code(31 | 58 << 7, 9))
        'e4-e7'
        """
        return cls(*cells_of_code(whole_number("code", code), whole_number("size", size, 3, WIDEST)), size)

    @property
    def code(self) -> int:
        """The engine's 14-bit code of the move: ``start | target << 7`` on boards up to 11×11."""
        return int(code_of_cells(self.start, self.target, self.size))

    def transformed(self, symmetry: Symmetry) -> Move:
        """Return the move's image under a ``symmetry`` of the board.

        Examples
        --------
        >>> from symmetry import dihedral
        >>> str(Move.parse("e4-e7", 9).transformed(dihedral(9)[1]))
        'f5-c5'
        """
        return Move(symmetry.table[self.start], symmetry.table[self.target], self.size)

    def __str__(self) -> str:
        return f"{square_name(self.start, self.size)}-{square_name(self.target, self.size)}"

    def __repr__(self) -> str:
        try:
            return f"Move.parse({str(self)!r}, {self.size})"
        except InputError:  # a square off the board has no name
            return f"Move({self.start}, {self.target}, {self.size})"


@dataclass(frozen=True, slots=True)
class MoveText:
    """A move, which need not be legal, as described by a text.

    ``captures``, ``side`` and ``count`` are the captures, the side and the number of captured pieces in the text, or
    None.
    """

    move: Move
    captures: frozenset[int] | None = None
    side: Side | None = None
    count: int | None = None

    @classmethod
    def parse(cls, text: str, size: int) -> MoveText:
        """Parse a move such as ``e4-e7``, ``e4e7``, ``e4-e7xe8xd7`` or ``e4-e7xe8/d7``."""
        found = _MOVE.fullmatch(text)
        if found is None:
            raise InputError(
                "expected two squares such as e4-e7, then captures such as xe8", subject=f"move {excerpt(text)}"
            )
        try:
            start, target = parse_square(found["start"], size), parse_square(found["target"], size)
            names = _CAPTURED.findall(found["taken"] or "")
            captures = frozenset(parse_square(name, size) for name in names) if names else None
        except InputError as error:
            raise InputError(str(error), subject=f"move {excerpt(text)}") from error
        return cls(Move(start, target, size), captures)

    def __str__(self) -> str:
        names = sorted(self.captures or (), key=lambda square: (square % self.move.size, square))
        return str(self.move) + "".join("x" + square_name(square, self.move.size) for square in names)


@brief
@dataclass(frozen=True, slots=True)
class Position:
    """A placement with the side to move.

    - ``cells``: One letter for each cell in the order of cell indices: ``.``, ``b``, ``w`` or ``K``.
    - ``side``: The side to move, ``w`` or ``b``.
    - ``fields``: Further ``name=value`` fields of the text; they are kept but have no meaning here.

    Examples
    --------
    >>> position = Position.parse("2b2/2w2/b1K1b/2w2/2b2 w note=mine", 5)
    >>> position.size, position.side, position.fields
    (5, 'w', {'note': 'mine'})
    >>> str(position)
    '2b2/2w2/b1K1b/2w2/2b2 w note=mine'
    >>> print(position.grid())
    ..b..
    ..w..
    b.K.b
    ..w..
    ..b..
    w
    """

    cells: str
    side: Side
    fields: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def size(self) -> int:
        """Side length of the board in cells."""
        return isqrt(len(self.cells))

    @property
    def material(self) -> tuple[int, int]:
        """Numbers of attackers and of defenders; kings are not counted."""
        counts = Counter(self.cells)
        return counts["b"], counts["w"]

    def rows(self) -> tuple[str, ...]:
        """Return the rows of the diagram, from the top rank down."""
        size = self.size
        return tuple(self.cells[rank * size : (rank + 1) * size] for rank in reversed(range(size)))

    def transformed(self, symmetry: Symmetry) -> Position:
        """Return the position's image, with the same side to move and fields, under a ``symmetry`` of the board.

        Examples
        --------
        >>> from symmetry import dihedral
        >>> str(Position.parse("2b/K2/3 w", 3).transformed(dihedral(3)[1]))
        'b2/3/1K1 w'
        """
        cells = ["."] * len(self.cells)
        for cell, image in enumerate(symmetry.table):
            cells[image] = self.cells[cell]
        return Position("".join(cells), self.side, self.fields)

    def __str__(self) -> str:
        return position_text(self.rows(), self.side) + "".join(f" {key}={value}" for key, value in self.fields.items())

    def grid(self) -> str:
        """Return the position as a grid: N lines of N characters, and a line with the side to move."""
        return "\n".join([*self.rows(), self.side])

    @classmethod
    def parse(cls, text: str, size: int) -> Position:
        r"""Return the position given by a ``text``, which need not be possible.

        The text is one line: the rows from the top rank down, separated by ``/``, with runs of empty cells as numbers,
        a space, the side to move (``w`` or ``b``), and optional further fields. Or it is a grid of N lines of N
        characters and a line with the side to move. ``size`` is the side length of the board in cells.

        Raises
        ------
        InputError
            If the text is not a position on a board of this size.

        Examples
        --------
        >>> Position.parse("2w/K2/1b1 w", 3) == Position.parse("..w\nK..\n.b.\nw", 3)
        True
        """
        text = text.strip()
        if not text:
            raise InputError(
                "is empty; expected rows from the top rank down, a space, and w or b", subject="position ''"
            )
        lines = [line.strip() for line in text.splitlines()]
        if len(lines) > 1:
            return cls._from_grid(lines, size)
        shown = f"position {excerpt(text, _TEXT)}"
        placement, *rest = text.split()
        if not rest:
            raise InputError("the side to move is missing", subject=shown, remedy="add ' w' or ' b' after the rows")
        side = rest[0]
        if side not in ("w", "b"):
            raise InputError(f"expected w or b, the side to move, after the rows, not {excerpt(side)}", subject=shown)
        fields: dict[str, str] = {}
        for entry in rest[1:]:
            name, equals, value = entry.partition("=")
            if not (name and equals and entry.isprintable()):
                raise InputError(f"expected name=value after the side to move, not {excerpt(entry)}", subject=shown)
            if name in fields:
                raise InputError(f"the field {excerpt(name)} occurs twice", subject=shown)
            fields[name] = value
        rows = placement.split("/")
        if len(rows) != size:
            raise InputError(f"has {len(rows)} rows, but the board has {size}", subject=shown)
        return cls(
            diagram_cells([expand_row(row, size, shown, _PIECES, _FOREIGN) for row in rows]),
            "w" if side == "w" else "b",
            fields,
        )

    @classmethod
    def _from_grid(cls, lines: list[str], size: int) -> Position:
        *rows, side = lines
        shown = f"position {excerpt('/'.join(lines), _TEXT)}"
        if side not in ("w", "b"):
            raise InputError(f"the last line should be w or b, the side to move, not {excerpt(side)}", subject=shown)
        if len(rows) != size:
            raise InputError(f"has {len(rows)} rows, but the board has {size}", subject=shown)
        for row in rows:
            if len(row) != size or set(row) - set("." + _LETTERS):
                raise InputError(f"row {excerpt(row)} should be {size} characters of . b w K", subject=shown)
        return cls(diagram_cells(rows), "w" if side == "w" else "b")


def expand_row(row: str, size: int, shown: str, pieces: Mapping[str, str], foreign: Mapping[str, str]) -> str:
    """Expand a row where numbers stand for runs of empty cells. Errors describe the ``foreign`` letters."""
    cells = ""
    for item in _ITEM.findall(row):
        if item in pieces:
            cells += pieces[item]
        elif item[0] in "123456789":
            # The number is limited, because a run longer than the board is an error in any case and could be huge.
            cells += "." * min(int(item[:4]), size + 1)
        else:
            what = f"{foreign.get(item, '')}{item[:20]!r}"
            raise InputError(f"row {excerpt(row)} has {what}; expected numbers and {' '.join(pieces)}", subject=shown)
    if len(cells) != size:
        raise InputError(f"row {excerpt(row)} has {len(cells)} cells, but the board has {size}", subject=shown)
    return cells
