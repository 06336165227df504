"""What a pass is given beside the tables: which part of which tier, what it is to find, and the arrays it works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOSSES: Final = 0
"""A forward pass asks whether all moves lose."""
WINS: Final = 1
"""It asks whether a move wins within ``limit`` plies and two."""
FULL: Final = 2
"""It asks for all that the moves say."""


class Pass(NamedTuple):
    """One pass over a tier: the items of one side are written, those of the other are read.

    Attributes
    ----------
    tier : int
        The number of the tier.
    side : int
        Who is to move in the positions whose items are written: 0 white, 1 black.
    mode : int
        Of a forward pass: `LOSSES`, `WINS` or `FULL`.
    limit : int
        Of a forward pass: successors that are won for the opponent in more plies count as
        open, because they have yet to be propagated. Wins in more than ``limit + 2`` plies are
        looked at again: there may be quicker ones.
    by_rows : int
        Of a forward pass: not 0 to judge black's losses a row at a time, where that can be; for when most
        of a tier is to be looked at.
    mine : ndarray of uint16, shape (entries,)
        The tier's items with ``side`` to move; see `tablut.indexing.values`.
    theirs : ndarray of uint16, shape (entries,)
        Its items with the other side to move.
    lower : ndarray of int64, shape (2 * tiers,)
        At ``2 * tier + side to move`` the address of a tier's items.
    report : ndarray of int64, shape (CODES,)
        Receives how many items were given each code, or found to be aliases, on top of what it has.
    """

    tier: int
    side: int
    mode: int
    limit: int
    by_rows: int
    mine: NDArray[np.uint16]
    theirs: NDArray[np.uint16]
    lower: NDArray[np.int64]
    report: NDArray[np.int64]


class Marking(NamedTuple):
    """One pass that marks the successors of what is marked in a tier.

    Attributes
    ----------
    tier : int
        The number of the tier.
    side : int
        Who is to move in the positions whose successors are marked: 0 white, 1 black.
    mine, theirs : ndarray of uint8, shape (entries,)
        The tier's marks with this side to move, and with the other.
    lower : ndarray of int64, shape (2 * tiers,)
        At ``2 * tier + side to move`` the address of a tier's marks.
    """

    tier: int
    side: int
    mine: NDArray[np.uint8]
    theirs: NDArray[np.uint8]
    lower: NDArray[np.int64]


class News(NamedTuple):
    """Room for news: entries of a tier to which a new value of the other side's matters.

    Attributes
    ----------
    entries : ndarray of int64, shape (n,)
        Receives whom it concerns, as entries of the whole tier.
    moves : ndarray of uint8, shape (n,)
        Receives how many of their moves lead to the new value.
    place : ndarray of int64, shape (2,)
        Where to go on, and how much is written.
    starts : ndarray of int64, shape (rows,)
        For each row that the task has, its first entry in the whole tier.
    """

    entries: NDArray[np.int64]
    moves: NDArray[np.uint8]
    place: NDArray[np.int64]
    starts: NDArray[np.int64]
