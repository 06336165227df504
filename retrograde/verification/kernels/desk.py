"""What a proof works with: the placements of a tier, the memory of one thread, and what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.layout import new_board
from tablut.engine.tables import Tables  # noqa: TC001 (the fields of records are read when kernels are compiled)
from tablut.indexing.tier_kernels import SCRATCH
from tablut.indexing.tier_tables import TierTables  # noqa: TC001

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

CHECKED, ALIASES, ORBITS, FAILURES, COUNTERS = 0, 1, 2, 3, 4
"""Counters: positions proved, aliases, sum of the placements' orbits, failures; and the number of counters."""

MOST_CELLS: Final = 128
"""No board has more cells; tables by cell that follow each other begin so far apart."""


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


class WayMemory(NamedTuple):
    """What the open row, or the open king of a tier without defenders, knows of itself; C cells, M men of white.

    Attributes
    ----------
    number : ndarray of uint8, shape (C,)
        By cell, its number among those that an attacker may have; `MOST_CELLS` if there is none.
    near : ndarray of int64, shape (2N,)
        By line of the board, the places beside which a white piece stands.
    place : ndarray of uint8, shape (8 * MOST_CELLS,)
        At ``element * MOST_CELLS + cell`` the number of the cell's image among all cells that attackers may have.
    made : ndarray of uint8, shape (64,)
        At ``element * 8 + turn`` the listing's symmetry that a turn, one of the listing's, and then an
        element, one of the index's, make together; their number if it is none of them.
    turns : ndarray of int64, shape (1,)
        The listing's symmetries that keep the open row, or the open king, as a mask without the identity, bit 0.
    stamp, base, first : ndarray of int64, shape (M * C,)
        At ``man * C + target``: the row for which the way was found, and where it leads, see
        `retrograde.verification.kernels.ways`.
    there : ndarray of uint8, shape (M * C * MOST_CELLS,)
        At ``(man * C + target) * MOST_CELLS + cell`` the number that an attacker's cell has there.
    below, above : ndarray of int64, shape (C + 1,)
        What attackers contribute to a rank, by how many of them are below the one that moves.
    """

    number: NDArray[np.uint8]
    near: NDArray[np.int64]
    place: NDArray[np.uint8]
    made: NDArray[np.uint8]
    turns: NDArray[np.int64]
    stamp: NDArray[np.int64]
    base: NDArray[np.int64]
    first: NDArray[np.int64]
    there: NDArray[np.uint8]
    below: NDArray[np.int64]
    above: NDArray[np.int64]


class Tally(NamedTuple):
    """What a proof finds.

    Attributes
    ----------
    codes, room : int
        Codes from ``codes`` on are not counted; so many failures are written down.
    counters : ndarray of int64, shape (COUNTERS,)
        See `CHECKED` and its fellows.
    histogram : ndarray of int64, shape (2 * codes,)
        By side to move and stored code, the number of classes.
    failures : ndarray of int64, shape (4 * room,)
        Of each: kind, entry, side to move, and the proved code (for `WRONG_ALIAS` where the placement is ranked to).
    """

    codes: int
    room: int
    counters: NDArray[np.int64]
    histogram: NDArray[np.int64]
    failures: NDArray[np.int64]


class ProofDesk(NamedTuple):
    """All that a proof works with."""

    tables: Tables
    tiers: TierTables
    listing: Listing
    memory: ProofMemory
    ways: WayMemory
    tally: Tally
    places: NDArray[np.int64]
    tier: int


def new_memory(variant: Variant, defenders: int) -> tuple[ProofMemory, WayMemory]:
    """Return memory for one thread."""
    cells = variant.size**2
    ways = (defenders + 1) * cells
    memory = ProofMemory(
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
    return memory, WayMemory(
        number=np.zeros(cells, dtype=np.uint8),
        near=np.zeros(2 * variant.size, dtype=np.int64),
        place=np.zeros(8 * MOST_CELLS, dtype=np.uint8),
        made=np.zeros(64, dtype=np.uint8),
        turns=np.zeros(1, dtype=np.int64),
        stamp=np.zeros(ways, dtype=np.int64),
        base=np.zeros(ways, dtype=np.int64),
        first=np.zeros(ways, dtype=np.int64),
        there=np.zeros(ways * MOST_CELLS, dtype=np.uint8),
        below=np.zeros(cells + 1, dtype=np.int64),
        above=np.zeros(cells + 1, dtype=np.int64),
    )


def new_tally(codes: int, room: int) -> Tally:
    """Return a tally of nothing."""
    return Tally(
        codes=codes,
        room=room,
        counters=np.zeros(COUNTERS, dtype=np.int64),
        histogram=np.zeros(2 * codes, dtype=np.int64),
        failures=np.zeros(4 * room, dtype=np.int64),
    )
