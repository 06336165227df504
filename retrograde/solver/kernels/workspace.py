"""What the compiled passes are given: the task of a pass, and the memory of one thread.

The kernels check no bounds. `judging_room` says how long the arrays are by which rows are judged as a whole, for every
row of a tier; `new_workspace` makes these and all others, and says why their types are wide enough.

Rows of a wide board (`tablut.engine.layout`) are not judged as a whole, so masks of places have 11 bits at most; its
boards are uint64, its cells uint16.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.layout import cells_dtype, new_board
from tablut.engine.tables import Tables, build_tables
from tablut.engine.unmoves import OriginTables, build_origins
from tablut.indexing.tier_kernels import ROOM, SCRATCH
from tablut.indexing.tier_tables import TierTables
from tablut.indexing.values import COUNTER
from tablut.position import NARROW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

_MOST_MEN: Final = 5
"""Attackers of a tier up to which its rows are judged: what it takes grows with the choices of all but one."""


class JudgingRoom(NamedTuple):
    """Lengths of the arrays of `retrograde.solver.kernels.workspace.RowMasks`.

    Attributes
    ----------
    men : int
        The attackers of the tier's positions; 0 if its rows are not judged.
    masks, marks : int
        A mask for each line, and a mark for each cell, of every choice of all attackers but one.
    columns : int
        Without defenders the choices of all attackers: what a king's rows are spread out to.
    """

    men: int
    masks: int
    marks: int
    columns: int

    @property
    def bytes(self) -> int:
        """What the arrays take, the items of both sides among them."""
        return 2 * self.masks + self.marks + 2 * 2 * self.columns


NOT_JUDGED: Final = JudgingRoom(0, 0, 0, 0)


def judging_room(variant: Variant, material: tuple[int, int]) -> JudgingRoom:
    """Return the room to judge a tier, none if its rows are not judged.

    A row leaves fewer cells to the attackers than there are, so no choice of theirs has a number beyond these.
    """
    attackers, defenders = material
    if attackers > _MOST_MEN or variant.size > NARROW:
        return NOT_JUDGED
    cells = len(variant.regions.free_cells | variant.regions.camp_cells)
    choices = comb(cells, attackers - 1)
    columns = 0 if defenders else comb(cells, attackers)
    return JudgingRoom(attackers, 2 * variant.size * choices, cells * choices, columns)


# -- lines: from which places a slide ends on one of some targets ---------------------------


class LineSources(NamedTuple):
    """The places of lines from which an attacker reaches a target; N is the board's size.

    Attributes
    ----------
    places : ndarray of uint16, flat
        Blocks of ``3**N`` masks; within a block, index by the line's content in base 3: digit 1 where
        a piece stands, 2 for a target. Only empty places where an attacker may stand are in a mask.
    at : ndarray of uint32, shape (2N,)
        Where the block of a line begins; ranks, then files.
    """

    places: NDArray[np.uint16]
    at: NDArray[np.uint32]


@lru_cache(maxsize=8)
def line_sources(variant: Variant) -> LineSources:
    """Return the sources of all lines of a variant."""
    tables, standing = build_tables(variant), build_origins(variant).attacker_cells
    size = variant.size
    content = np.arange(3**size)
    taken, wanted = np.zeros_like(content), np.zeros_like(content)
    for place in range(size):
        digit = content // 3**place % 3
        taken |= (digit == 1).astype(content.dtype) << place
        wanted |= (digit == 2).astype(content.dtype) << place
    known: dict[tuple[int, int], int] = {}
    blocks: list[NDArray[np.uint16]] = []
    at = np.zeros(2 * size, dtype=np.uint32)
    for line, kind in enumerate(zip(tables.attacker_slides.tolist(), standing.tolist(), strict=True)):
        if kind not in known:
            known[kind] = len(blocks) * 3**size
            slides = tables.slides[kind[0] : kind[0] + (size << size)].reshape(size, 1 << size)
            block = np.zeros(3**size, dtype=np.uint16)
            for place in range(size):
                reaches = (slides[place, taken] & wanted != 0) & (taken >> place & 1 == 0)
                block |= (reaches & bool(kind[1] >> place & 1)).astype(np.uint16) << np.uint16(place)
            blocks.append(block)
        at[line] = known[kind]
    return LineSources(np.concatenate(blocks), at)


# -- the task of a pass -----------------------------------------------------------------------


LOSSES: Final = 0
"""A forward pass asks whether all moves lose."""
WINS: Final = 1
"""It asks whether a move wins within ``limit`` plies and two."""
FULL: Final = 2
"""It asks for all that the moves say."""


class Messages(NamedTuple):
    """Room for messages to other slices: positions that a new value of the other side's concerns.

    Attributes
    ----------
    room : int
        How many there is room for; 0 if a pass is to change the positions itself.
    entries : ndarray of int64, shape (room,)
        Receives whom it concerns, as entries of the whole tier.
    moves : ndarray of uint8, shape (room,)
        Receives how many of their moves lead to the new value.
    place : ndarray of int64, shape (2,)
        Where to go on, -1 if all is written; and how much is written.
    starts : ndarray of int64, shape (rows,)
        For each row that the task has, its first entry in the whole tier.
    """

    room: int
    entries: NDArray[np.int64]
    moves: NDArray[np.uint8]
    place: NDArray[np.int64]
    starts: NDArray[np.int64]


def new_messages(room: int, starts: NDArray[np.int64]) -> Messages:
    """Return room for so many messages."""
    return Messages(room, np.zeros(room, np.int64), np.zeros(room, np.uint8), np.zeros(2, np.int64), starts)


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
    messages : Messages
        Of a backward pass: what is new is written there, if there is room, and changes nothing here.
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
    messages: Messages


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


# -- the memory of one thread -----------------------------------------------------------------


ORBIT, BASE, RESIDUAL, KING, STAMP, ERRORS, CELLS, STRIDE = 0, 1, 2, 3, 4, 5, 6, 7
"""Places in a cursor's head: the king's orbit, the first entry of the row, the
elements that keep the row, the king's cell, the number of rows opened so far, how
many entries were looked for that do not exist, the cells that the row leaves to column soldiers, and
how far apart the marks of two cells lie."""


class Cursor(NamedTuple):
    """Where in a tier a thread is: the open row and column; C is the number of cells.

    Attributes
    ----------
    head : ndarray of int64, shape (8,)
        See `ORBIT` and its fellows.
    row_cells : ndarray of int64, shape (C,)
        The row soldiers' cells.
    numbers : ndarray of int64, shape (C,)
        The numbers of the column soldiers' cells in this row, ascending; without
        column soldiers those of the row soldiers' cells.
    spot : ndarray of uint8, shape (C,)
        By number in this row, the cell.
    number : ndarray of int16, shape (C,)
        By cell, the number in this row, or -1.
    """

    head: NDArray[np.int64]
    row_cells: NDArray[np.int64]
    numbers: NDArray[np.int64]
    spot: NDArray[np.uint8]
    number: NDArray[np.int16]


class Men(NamedTuple):
    """A position, as the engine has it and as lists of cells; C is the number of cells.

    Attributes
    ----------
    board : ndarray of uint32, shape (2N + 4,)
        The board.
    black, white : ndarray of uint8, shape (C,)
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
    number : ndarray of uint8, shape ((defenders + 1) * C * C,)
        At ``(man * C + target) * C + number`` the number there.
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
    found : ndarray of uint8, shape (C,)
        What the moves of a position come to, for each column of a run.
    mine, theirs : ndarray of uint16, flat
        The items of all columns of one king, see `retrograde.solver.kernels.rows`.
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
    """The memory of one thread; C is the number of cells.

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
    sharp, quiet : ndarray of int64, shape (2 * C,)
        At ``2 * man`` and the next the targets on its rank and on its file; see `retrograde.solver.kernels.forward`.
    others : ndarray of int64, shape (3 * ROOM,)
        Sums for `retrograde.solver.kernels.cursor`.
    scratch : ndarray of int64, shape (SCRATCH,)
        For `tablut.indexing.tier_kernels.entry_of`.
    seen : ndarray of int64
        How many parents of the open position were treated by counting, and which.
    traits : ndarray of uint8, shape (C,)
        By number in this row, what the cell means to a question about all columns.
    run : ndarray of int64, shape (C,)
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
    """Return memory for one thread, for tiers of so many defenders at most.

    A cell, a number of one and a man are below C: 121, or 361 on a wide board, which `cells_dtype` holds. A position
    has at most 4C moves, and as many come to it, because an empty cell is the end of four slides at most: so many
    `Workspace.seen` remembers, and an item counts. Moves to one class lead to as many positions of an orbit, eight at
    most: a message counts them in a byte. Rows, choices and entries `tablut.indexing.tier_tables` holds to their types.
    """
    size, cells, cell = variant.size, variant.size**2, cells_dtype(variant.size)
    assert cells <= np.iinfo(cell).max
    assert 4 * cells <= COUNTER
    hops = (defenders + 1) * cells
    here, spare, below = (Men(new_board(size), np.zeros(cells, cell), np.zeros(cells, cell)) for _ in range(3))
    return Workspace(
        cursor=Cursor(
            head=np.zeros(8, np.int64),
            row_cells=np.zeros(cells, np.int64),
            numbers=np.zeros(cells, np.int64),
            spot=np.zeros(cells, cell),
            number=np.zeros(cells, np.int16),
        ),
        here=here,
        spare=spare,
        below=below,
        hops=Hops(np.zeros(hops, np.int64), np.zeros(hops, np.int64), np.zeros(hops * cells, cell)),
        judged=RowMasks(
            men=judged.men,
            sources=line_sources(variant)
            if judged.men
            else LineSources(np.zeros(0, np.uint16), np.zeros(0, np.uint32)),
            lines=np.zeros(6 * size, np.uint16),
            masks=np.zeros(judged.masks, np.uint16),
            marks=np.zeros(judged.marks, np.uint8),
            found=np.zeros(cells, np.uint8),
            mine=np.zeros(judged.columns, np.uint16),
            theirs=np.zeros(judged.columns, np.uint16),
        ),
        sharp=np.zeros(2 * cells, np.int64),
        quiet=np.zeros(2 * cells, np.int64),
        others=np.zeros(3 * ROOM, np.int64),
        scratch=np.zeros(SCRATCH, np.int64),
        seen=np.zeros(1 + 4 * cells, np.int64),
        traits=np.zeros(cells, np.uint8),
        run=np.zeros(cells, np.int64),
    )
