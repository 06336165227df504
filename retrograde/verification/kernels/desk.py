"""What a proof works with: the placements of a tier, and the memory of one thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.layout import new_board
from tablut.engine.tables import Tables  # noqa: TC001 (the fields of records are read when kernels are compiled)
from tablut.indexing.tier_kernels import SCRATCH
from tablut.indexing.tier_tables import TierTables  # noqa: TC001

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

__all__ = ["Listing", "ProofDesk", "ProofMemory", "new_memory"]


class Listing(NamedTuple):
    """The placements of a tier in the order of its entries; C cells, K orbits of the king, G symmetries.

    Attributes
    ----------
    row_kind, row_men, column_men : int
        Who the row soldiers are (1: the defenders), how many, and how many column soldiers.
    row_spots, column_spots : int
        How many cells each of them may have.
    most, order : int
        The length of a row of ``binomial``, and G.
    king_cell, base, width : ndarray of int64, shape (K,)
        By king: its cell, its first entry, and the columns of its rows.
    first_row : ndarray of int64, shape (K + 1,)
        By king, the number of its first row.
    combination : ndarray of int64, flat
        By row, the row soldiers' combination.
    row_cell, column_cell : ndarray of uint8
        The cells that row soldiers and column soldiers may have.
    binomial : ndarray of int64, flat
        At ``n * most + k`` the number of k-combinations of n.
    image : ndarray of uint8, shape (G * C,)
        At ``element * C + cell`` the image of a cell.
    """

    row_kind: int
    row_men: int
    column_men: int
    row_spots: int
    column_spots: int
    most: int
    order: int
    king_cell: NDArray[np.int64]
    base: NDArray[np.int64]
    width: NDArray[np.int64]
    first_row: NDArray[np.int64]
    combination: NDArray[np.int64]
    row_cell: NDArray[np.uint8]
    column_cell: NDArray[np.uint8]
    binomial: NDArray[np.int64]
    image: NDArray[np.uint8]


class ProofMemory(NamedTuple):
    """The memory of one thread; C is the number of cells.

    Attributes
    ----------
    board : ndarray of uint32, shape (2N + 4,)
        The position that is proved.
    moves : ndarray of int32, shape (4 * C,)
        Its moves.
    black, white : ndarray of uint8, shape (C,)
        The cells of its attackers and of its defenders.
    spare_black, spare_white : ndarray of uint8, shape (C,)
        Those of another: an image, or what a capture leads to.
    left : ndarray of uint8, shape (C,)
        The cells that the row leaves to column soldiers, ascending.
    column : ndarray of int64, shape (C + 1,)
        Which of them are taken, ascending.
    scratch : ndarray of int64, shape (SCRATCH,)
        For `tablut.indexing.tier_kernels.entry_of`.
    """

    board: NDArray[np.uint32]
    moves: NDArray[np.int32]
    black: NDArray[np.uint8]
    white: NDArray[np.uint8]
    spare_black: NDArray[np.uint8]
    spare_white: NDArray[np.uint8]
    left: NDArray[np.uint8]
    column: NDArray[np.int64]
    scratch: NDArray[np.int64]


class ProofDesk(NamedTuple):
    """All that a proof works with.

    Attributes
    ----------
    tables : Tables
        The variant.
    tiers : TierTables
        The compiled index, of the tier and of those that captures lead to.
    listing : Listing
        The tier's placements.
    memory : ProofMemory
        Of one thread.
    places : ndarray of int64
        Where the codes lie, see `tablut.indexing.tier_values.TierValues`.
    tier : int
        The tier's number in ``tiers``.
    """

    tables: Tables
    tiers: TierTables
    listing: Listing
    memory: ProofMemory
    places: NDArray[np.int64]
    tier: int


def new_memory(variant: Variant) -> ProofMemory:
    """Return memory for one thread.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    ProofMemory
        All zeros.
    """
    cells = variant.size**2
    return ProofMemory(
        board=new_board(variant.size),
        moves=np.zeros(4 * cells, dtype=np.int32),
        black=np.zeros(cells, dtype=np.uint8),
        white=np.zeros(cells, dtype=np.uint8),
        spare_black=np.zeros(cells, dtype=np.uint8),
        spare_white=np.zeros(cells, dtype=np.uint8),
        left=np.zeros(cells, dtype=np.uint8),
        column=np.zeros(cells + 1, dtype=np.int64),
        scratch=np.zeros(SCRATCH, dtype=np.int64),
    )
