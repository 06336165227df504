"""The memory of one thread: what is open in a tier, positions beside it, and room for what a pass works out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from retrograde.solver.judging import NOT_JUDGED, JudgingRoom
from retrograde.solver.kernels.sources import LineSources, line_sources
from tablut.engine.layout import new_board
from tablut.engine.tables import Tables  # noqa: TC001 (the fields of records are read when kernels are compiled)
from tablut.engine.unmoves import OriginTables  # noqa: TC001
from tablut.indexing.tier_kernels import ROOM, SCRATCH
from tablut.indexing.tier_tables import TierTables  # noqa: TC001

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

__all__ = [
    "BASE",
    "CELLS",
    "ERRORS",
    "KING",
    "ORBIT",
    "RESIDUAL",
    "ROOM",
    "STAMP",
    "STRIDE",
    "Cursor",
    "Desk",
    "Hops",
    "Men",
    "RowMasks",
    "Workspace",
    "new_workspace",
]

ORBIT, BASE, RESIDUAL, KING, STAMP, ERRORS, CELLS, STRIDE = 0, 1, 2, 3, 4, 5, 6, 7
"""Places in a cursor's head: the king's orbit, the first entry of the row, the
elements that keep the row, the king's cell, the number of rows opened so far, how
many entries were looked for that do not exist, the cells that the row leaves to column soldiers, and
how far apart the marks of two cells lie."""


class Cursor(NamedTuple):
    """Where in a tier a thread is: the open row and column.

    Attributes
    ----------
    head : ndarray of int64, shape (8,)
        See `ORBIT` and its fellows.
    row_cells : ndarray of int64, shape (ROOM,)
        The row soldiers' cells.
    numbers : ndarray of int64, shape (ROOM,)
        The numbers of the column soldiers' cells in this row, ascending; without
        column soldiers those of the row soldiers' cells.
    spot : ndarray of uint8, shape (ROOM,)
        By number in this row, the cell.
    number : ndarray of int16, shape (ROOM,)
        By cell, the number in this row, or -1.
    """

    head: NDArray[np.int64]
    row_cells: NDArray[np.int64]
    numbers: NDArray[np.int64]
    spot: NDArray[np.uint8]
    number: NDArray[np.int16]


class Men(NamedTuple):
    """A position, as the engine has it and as lists of cells.

    Attributes
    ----------
    board : ndarray of uint32, shape (2N + 4,)
        The board.
    black, white : ndarray of uint8, shape (ROOM,)
        The cells of the attackers and of the defenders, in any order.
    """

    board: NDArray[np.uint32]
    black: NDArray[np.uint8]
    white: NDArray[np.uint8]


class Hops(NamedTuple):
    """Where moves of the king and of defenders lead, by row; C is the number of cells.

    Attributes
    ----------
    stamp, base : ndarray of int64, shape ((defenders + 1) * C,)
        At ``man * C + target`` the row for which they hold, and the first entry of the
        row that the move leads to.
    number : ndarray of uint8, shape ((defenders + 1) * C * ROOM,)
        At ``(man * C + target) * ROOM + number`` the number there.
    """

    stamp: NDArray[np.int64]
    base: NDArray[np.int64]
    number: NDArray[np.uint8]


class RowMasks(NamedTuple):
    """Masks of lines by which a row is judged, see `retrograde.solver.kernels.rows`; as long as `JudgingRoom` says.

    Attributes
    ----------
    men : int
        How many attackers there is room for; 0 if no row will be judged.
    sources : LineSources
        Where moves to a target begin.
    lines : ndarray of uint16, shape (6 * N,)
        Of one choice of column soldiers.
    masks : ndarray of uint16, flat
        Of all choices.
    marks : ndarray of uint8, flat
        At ``number * choices + choice`` what the moves from a cell come to.
    found : ndarray of uint8, shape (ROOM,)
        What the moves of a position come to, for each column of a run.
    mine, theirs : ndarray of uint16, flat
        The items of all columns of one king, see `retrograde.solver.kernels.together`.
    """

    men: int
    sources: LineSources
    lines: NDArray[np.uint16]
    masks: NDArray[np.uint16]
    marks: NDArray[np.uint8]
    found: NDArray[np.uint8]
    mine: NDArray[np.uint16]
    theirs: NDArray[np.uint16]


class Workspace(NamedTuple):
    """The memory of one thread.

    Attributes
    ----------
    cursor : Cursor
        The open row and column.
    here : Men
        The open position.
    spare : Men
        Another one: a parent of the open one.
    below : Men
        What a move leads to; lists alone, the board is not used.
    hops : Hops
        Where moves lead from the open row.
    judged : RowMasks
        What the open row is judged by.
    sharp, quiet : ndarray of int64, shape (2 * ROOM,)
        At ``2 * man`` and the next the targets on its row and on its column; see `retrograde.solver.kernels.forward`.
    others : ndarray of int64, shape (3 * ROOM,)
        Sums for `retrograde.solver.kernels.entries`.
    scratch : ndarray of int64, shape (SCRATCH,)
        For `tablut.indexing.tier_kernels.entry_of`.
    seen : ndarray of int64
        How many parents of the open position were treated by counting, and which.
    traits : ndarray of uint8, shape (ROOM,)
        By number in this row, what the cell means to a question about all columns.
    run : ndarray of int64, shape (ROOM,)
        As the cursor's ``numbers``, where columns are gone through without a board.
    """

    cursor: Cursor
    here: Men
    spare: Men
    below: Men
    hops: Hops
    judged: RowMasks
    sharp: NDArray[np.int64]
    quiet: NDArray[np.int64]
    others: NDArray[np.int64]
    scratch: NDArray[np.int64]
    seen: NDArray[np.int64]
    traits: NDArray[np.uint8]
    run: NDArray[np.int64]


class Desk(NamedTuple):
    """All that the passes of one thread work with.

    Kernels are given its directory (`tablut.engine.records.directory`), one array in the place of a
    hundred: that takes a quarter off the time to compile them.
    """

    tables: Tables
    origins: OriginTables
    tiers: TierTables
    workspace: Workspace


def new_workspace(variant: Variant, defenders: int, judged: JudgingRoom = NOT_JUDGED) -> Workspace:
    """Return memory for one thread, for tiers of so many defenders at most."""
    size, cells = variant.size, variant.size**2
    hops = (defenders + 1) * cells
    here, spare, below = (Men(new_board(size), _zeros(np.uint8), _zeros(np.uint8)) for _ in range(3))
    return Workspace(
        cursor=Cursor(
            head=_zeros(np.int64, 8),
            row_cells=_zeros(np.int64),
            numbers=_zeros(np.int64),
            spot=_zeros(np.uint8),
            number=_zeros(np.int16),
        ),
        here=here,
        spare=spare,
        below=below,
        hops=Hops(stamp=_zeros(np.int64, hops), base=_zeros(np.int64, hops), number=_zeros(np.uint8, hops * ROOM)),
        judged=RowMasks(
            men=judged.men,
            sources=line_sources(variant),
            lines=_zeros(np.uint16, 6 * size),
            masks=_zeros(np.uint16, judged.masks),
            marks=_zeros(np.uint8, judged.marks),
            found=_zeros(np.uint8),
            mine=_zeros(np.uint16, judged.columns),
            theirs=_zeros(np.uint16, judged.columns),
        ),
        sharp=_zeros(np.int64, 2 * ROOM),
        quiet=_zeros(np.int64, 2 * ROOM),
        others=_zeros(np.int64, 3 * ROOM),
        scratch=_zeros(np.int64, SCRATCH),
        seen=_zeros(np.int64, 1 + 4 * cells),
        traits=_zeros(np.uint8),
        run=_zeros(np.int64),
    )


def _zeros(dtype: type, length: int = ROOM) -> NDArray[Any]:
    return np.zeros(length, dtype=dtype)
