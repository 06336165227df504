"""`BaseBoard`: a position of a variant, without rules and without history.

It is shown, parsed, compared and judged by its placement; no compiled kernel is loaded.
`tablut.board.Board` adds moves, the history and the end of the game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from tablut.errors import InputError
from tablut.formats.reading import as_position
from tablut.notation import diagram_cells, parse_square
from tablut.position import Position
from tablut.status import Status, position_status
from tablut.variants import as_variant

if TYPE_CHECKING:
    from symmetry import Symmetry
    from tablut.formats.reading import PositionLike
    from tablut.variants import VariantLike

__all__ = ["BaseBoard"]


class BaseBoard:
    """A position of a variant, by its placement alone.

    Parameters
    ----------
    variant : Variant, str or path-like
        A rule set, or the name or path of one.
    position : Position, Board or str, optional
        The start by default; text as `tablut.formats.reading.read_position` reads it.

    Raises
    ------
    InputError
        If the variant or the text cannot be read.

    Examples
    --------
    >>> board = BaseBoard("ashton-5-4v0")
    >>> board.turn, board.king(), board.text
    ('white', 12, '2b2/5/b1K1b/5/2b2 w')
    """

    def __init__(self, variant: VariantLike = "ashton", position: PositionLike | None = None) -> None:
        self.variant = as_variant(variant)
        if position is None:
            side: Literal["w", "b"] = "w" if self.variant.rules.first == "white" else "b"
            self._position = Position(diagram_cells(self.variant.start), side)
        else:
            self._position = as_position(position, self.variant)

    @property
    def size(self) -> int:
        """Side of the board in cells."""
        return self.variant.size

    @property
    def position(self) -> Position:
        """The position as a value."""
        return self._position

    @property
    def turn(self) -> Literal["white", "black"]:
        """The side to move."""
        return "white" if self._position.side == "w" else "black"

    @property
    def text(self) -> str:
        """The position as one line, as `Board` takes it.

        Returns
        -------
        str
            One line.

        Examples
        --------
        >>> board = BaseBoard("ashton-5-4v0")
        >>> board.text, BaseBoard("ashton-5-4v0", board.text) == board
        ('2b2/5/b1K1b/5/2b2 w', True)
        """
        return str(self._position)

    def piece_at(self, square: int | str) -> Literal["b", "w", "K"] | None:
        """Return the piece on a square, or None.

        Parameters
        ----------
        square : int or str
            Index or name.

        Returns
        -------
        {'b', 'w', 'K'} or None
            Attacker, defender or king; None on an empty square.

        Raises
        ------
        InputError
            If the board has no square of the name.

        Examples
        --------
        >>> BaseBoard("ashton").piece_at("e5"), BaseBoard("ashton").piece_at(0)
        ('K', None)
        """
        piece = self._position.cells[parse_square(square, self.size) if isinstance(square, str) else square]
        return None if piece == "." else piece  # type: ignore[return-value]

    def king(self) -> int | None:
        """Return the king's square, or None if there is not exactly one."""
        cells = self._position.cells
        return cells.index("K") if cells.count("K") == 1 else None

    def status(self) -> Status:
        """Return every reason why the position is impossible; `Status.VALID` if there is none."""
        return position_status(self.variant, self._position)

    def transform(self, symmetry: Symmetry) -> Self:
        """Return a board without history whose position is the image under a symmetry of the variant.

        Parameters
        ----------
        symmetry : Symmetry
            One of ``variant.symmetries``.

        Returns
        -------
        BaseBoard
            Of the same variant and class.

        Raises
        ------
        InputError
            If the symmetry does not keep the variant's rules.

        Examples
        --------
        >>> board = BaseBoard("ashton-5-4v0", "2b2/3K1/b3b/5/2b2 b")
        >>> board.transform(board.variant.symmetries[2]).text  # turned by 180 degrees
        '2b2/5/b3b/1K3/2b2 b'
        """
        if symmetry not in self.variant.symmetries:
            raise InputError(f"symmetry {symmetry.name!r}: does not keep the rules of {self.variant.name}")
        return type(self)(self.variant, self._position.transformed(symmetry))

    def __eq__(self, other: object) -> bool:
        """Return whether variant, placement and side to move are equal; the history plays no part."""
        if not isinstance(other, BaseBoard):
            return NotImplemented
        mine, theirs = self._position, other._position
        return self.variant == other.variant and (mine.cells, mine.side) == (theirs.cells, theirs.side)

    def __hash__(self) -> int:
        """Return the hash of what `__eq__` compares; do not push on a board that is a key."""
        return hash((self.variant, self._position.cells, self._position.side))

    def __str__(self) -> str:
        return self._position.grid()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.variant.name!r}, {str(self._position)!r})"
