"""The records of an expansion: what it needs, its scratch memory, what children share, and which are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.canonical import ImageTables
    from tablut.engine.tables import Tables


class Expander(NamedTuple):
    """What an expansion needs of a game and of its group."""

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
    """What all children of a position share. Kernels make it."""

    side: int
    home: int
    attackers: int
    settled: int
    least: int
    own: int
    foe: int
    tail: np.uint64


class Pieces(NamedTuple):
    """The entries of a table that, united in pairs, are the images of a child's soldiers. Kernels make it."""

    white: int
    white_too: int
    black: int
    black_too: int


class ChildTally(NamedTuple):
    """How many children there are. Kernels make it."""

    children: int
    made: int
    capturing: int
    captured: int


class Choice(NamedTuple):
    """Which children are written. Kernels make it, so that what it excludes is not compiled."""

    quiet: bool
    capturing: bool
    leaf_bits: int
    first: int
    last: int
