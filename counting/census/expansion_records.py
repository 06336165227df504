"""The records of an expansion: what it needs, its scratch memory, what children share, and which are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.canonical import ImageTables
    from tablut.engine.tables import Tables

__all__ = [
    "ChildTally",
    "Choice",
    "Expander",
    "Parent",
    "Pieces",
    "Work",
]


class Expander(NamedTuple):
    """What an expansion needs of a game and of its group.

    Attributes
    ----------
    tables : Tables
        The compiled rules.
    images : ImageTables
        The group.
    template : ndarray of uint64
        Its `counting.census.cell_images.cell_images`.
    order : int
        The number of its elements.
    """

    tables: Tables
    images: ImageTables
    template: NDArray[np.uint64]
    order: int


class Work(NamedTuple):
    """The scratch memory of an expansion, as pointers. Kernels make it; N is the size, C the cells.

    Attributes
    ----------
    board : ndarray of uint32, shape (2N + 4,)
        The parent, but for the moment in which a ply is judged.
    threats : ndarray of uint32, shape (2N,)
        Masks by line of the places on which a move may capture.
    entries : ndarray of int64, shape (2N,)
        Entries of a table to be united.
    table : ndarray of uint64, shape (16 * (C + slots),)
        The images of single cells, then of the parent's pieces; see `cell_images`.
    least : ndarray of uint64, shape (16,)
        Receives images that nobody asks for.
    rows, kings, candidates : ndarray
        Of the group; see `tablut.engine.canonical.ImageTables`.
    """

    board: NDArray[np.uint32]
    threats: NDArray[np.uint32]
    entries: NDArray[np.int64]
    table: NDArray[np.uint64]
    least: NDArray[np.uint64]
    rows: NDArray[np.uint64]
    kings: NDArray[np.uint8]
    candidates: NDArray[np.uint8]


class Parent(NamedTuple):
    """What all children of a position share. Kernels make it.

    Attributes
    ----------
    side : int
        To move: 0 white, 1 black.
    home : int
        The king's cell.
    attackers : int
        How many there are.
    settled : int
        The elements whose image can be least, as far as the king and the defenders say.
    least : int
        The elements whose image is least.
    own, foe : int
        Where in the table the images of the soldiers of the side to move begin, and the other side's.
    tail : uint64
        The side to move after the ply, where it stands behind the king's cell.
    """

    side: int
    home: int
    attackers: int
    settled: int
    least: int
    own: int
    foe: int
    tail: np.uint64


class Pieces(NamedTuple):
    """The entries of a table that, united in pairs, are the images of a child's soldiers. Kernels make it.

    Attributes
    ----------
    white, white_too : int
        The white ones: those that stayed, and the one that moved or none.
    black, black_too : int
        The black ones.
    """

    white: int
    white_too: int
    black: int
    black_too: int


class ChildTally(NamedTuple):
    """How many children there are. Kernels make it.

    Attributes
    ----------
    children : int
        Written so far, of all parents.
    made : int
        Moves of this parent, whether or not their children were written.
    capturing, captured : int
        Those of them that capture, and soldiers captured.
    """

    children: int
    made: int
    capturing: int
    captured: int


class Choice(NamedTuple):
    """Which children are written. Kernels make it, so that what it excludes is not compiled.

    Attributes
    ----------
    quiet, capturing : bool
        Whether children of moves without and with a capture are.
    leaf_bits : int
        0, or the bits of the hash that name a leaf: then only children of some leaves are written.
    first, last : int
        These leaves, ``last`` excluded.
    """

    quiet: bool
    capturing: bool
    leaf_bits: int
    first: int
    last: int
