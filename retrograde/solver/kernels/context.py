"""The inputs to the compiled passes: the task of a pass, and one thread's working arrays.

The kernels do not check bounds. `row_array_sizes` computes array lengths that suffice to evaluate any whole row of a
tier. `new_context` allocates these arrays and all others, and its docstring explains why the types are wide enough.

On a wide board (`tablut.engine.layout`), rows are not evaluated as a whole, so masks of places have at most 11 bits.
Wide boards are arrays of uint64, and their cells are stored as uint16.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.layout import cells_dtype, new_board
from tablut.engine.tables import Blocks, Tables, build_tables
from tablut.engine.unmoves import OriginTables, build_origins
from tablut.indexing.tier_kernels import ROOM, SCRATCH
from tablut.indexing.tier_tables import TierTables
from tablut.indexing.values import COUNTER
from tablut.position import NARROW
from tablut.variants.model import derived

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

_MOST_MEN: Final = 5
"""Maximum number of attackers in a tier for which rows are evaluated as a whole.

The cost of this method grows with the number of ways to place all attackers but one.
"""


class RowArraySizes(NamedTuple):
    """Lengths of the arrays of `RowArrays`.

    - ``men``: Number of attackers of the tier; 0 if its rows are not evaluated as a whole.
    - ``masks``, ``marks``: Numbers of masks and marks. For every way to place all attackers but one, there is a mask
      for each line and a mark for each cell.
    - ``columns``: In a tier without defenders, the number of ways to place all attackers; in other tiers, 0.
    """

    men: int
    masks: int
    marks: int
    columns: int

    @property
    def bytes(self) -> int:
        """Size of the arrays in bytes, including the items of both sides."""
        return 2 * self.masks + self.marks + 2 * 2 * self.columns


NO_ROW_ARRAYS: Final = RowArraySizes(0, 0, 0, 0)


def row_array_sizes(variant: Variant, material: tuple[int, int]) -> RowArraySizes:
    """Return the array lengths for evaluating whole rows of a tier, or `NO_ROW_ARRAYS` if the tier does not allow this.

    The lengths are computed as if all cells on which attackers may stand were free. In a row, fewer of these cells are
    free, so every rank is within bounds.
    """
    attackers, defenders = material
    if attackers > _MOST_MEN or variant.size > NARROW:
        return NO_ROW_ARRAYS
    cells = len(variant.regions.soldier_cells)
    choices = comb(cells, attackers - 1)
    columns = 0 if defenders else comb(cells, attackers)
    return RowArraySizes(attackers, 2 * variant.size * choices, cells * choices, columns)


# -- lines: the places from which a slide reaches a target ----------------------------------


class LineSources(NamedTuple):
    """For each line, the places from which an attacker can reach a target. N is the board size.

    - ``places``: Blocks of ``3**N`` masks. Within a block, the index is the line's content in base 3, with the digit 1
      for a piece and 2 for a target. A mask contains only empty places on which an attacker may stand.
    - ``at``: Start of each line's block: first for all ranks, then for all files.
    """

    places: NDArray[np.uint16]
    at: NDArray[np.uint32]


@derived
def line_sources(variant: Variant) -> LineSources:
    """Return the places from which an attacker can reach a target, for all lines on a variant's board."""
    tables, standing = build_tables(variant), build_origins(variant).attacker_cells
    size = variant.size
    content = np.arange(3**size)
    taken, wanted = np.zeros_like(content), np.zeros_like(content)
    for place in range(size):
        digit = content // 3**place % 3
        taken |= (digit == 1).astype(content.dtype) << place
        wanted |= (digit == 2).astype(content.dtype) << place
    kinds = list(zip(tables.attacker_slides.tolist(), standing.tolist(), strict=True))
    blocks, offsets = Blocks(), {}
    for first, allowed in set(kinds):
        slides = tables.slides[first : first + (size << size)].reshape(size, 1 << size)
        block = np.zeros(3**size, dtype=np.uint16)
        for place in (place for place in range(size) if allowed >> place & 1):
            reaches = (slides[place, taken] & wanted != 0) & (taken >> place & 1 == 0)
            block |= reaches.astype(np.uint16) << np.uint16(place)
        offsets[first, allowed] = blocks.place(block)
    return LineSources(blocks.joined(), np.array([offsets[kind] for kind in kinds], dtype=np.uint32))


# -- a pass's task ----------------------------------------------------------------------------


LOSSES: Final = 0
"""Mode of a forward pass that only finds positions where all moves lose."""
WINS: Final = 1
"""Mode of a forward pass that only finds positions with a win within ``limit + 2`` plies."""
FULL: Final = 2
"""Mode of a forward pass that finds the complete item of each position."""


class Messages(NamedTuple):
    """Buffer for messages to other slices about positions with a move to a newly valued position.

    - ``room``: Capacity of the buffer in messages; 0 if a pass changes the items itself.
    - ``entries``: Output: the positions that the messages concern, as entries in the whole tier.
    - ``moves``: Output: for each position, the number of moves to positions with the new value.
    - ``place``: The entry at which to continue (-1 if all messages have been written), and the number of messages
      written so far.
    - ``starts``: For each row of the task's window, its first entry in the whole tier.
    """

    room: int
    entries: NDArray[np.int64]
    moves: NDArray[np.uint8]
    place: NDArray[np.int64]
    starts: NDArray[np.int64]


def new_messages(room: int, starts: NDArray[np.int64]) -> Messages:
    """Return an empty buffer for ``room`` messages."""
    return Messages(room, np.zeros(room, np.int64), np.zeros(room, np.uint8), np.zeros(2, np.int64), starts)


class Pass(NamedTuple):
    """Parameters of one pass over a tier. The pass writes one side's items and reads the other side's.

    - ``tier``: Number of the tier.
    - ``side``: The side to move in the positions that receive items: 0 for white, 1 for black.
    - ``mode``: Mode of a forward pass: `LOSSES`, `WINS` or `FULL`.
    - ``limit``: In a forward pass, a distance in plies. Successors that the opponent wins in more plies count as open,
      because they have yet to be propagated. Positions won in more than ``limit + 2`` plies are examined again, since
      they may have a quicker win.
    - ``by_rows``: If this is not 0, a forward pass finds black's losses by evaluating whole rows where possible. This
      is worthwhile if most of a tier has to be examined.
    - ``mine``: The tier's items with ``side`` to move; see `tablut.indexing.values`.
    - ``theirs``: The tier's items with the other side to move.
    - ``lower``: Address of each tier's items, at index ``2 * tier + side to move``.
    - ``report``: Output: the pass adds the number of items that were given each code, and the number of aliases.
    - ``messages``: In a backward pass, the buffer for messages. If its capacity is not 0, the pass writes messages
      instead of changing items.
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
    """Parameters of a pass that marks the successors of a tier's newly marked entries.

    - ``tier``: Number of the tier.
    - ``side``: The side to move before the marked successors: 0 for white, 1 for black.
    - ``mine``, ``theirs``: The tier's marks with this side to move, and with the other side to move.
    - ``lower``: Address of each tier's marks, at index ``2 * tier + side to move``.
    """

    tier: int
    side: int
    mine: NDArray[np.uint8]
    theirs: NDArray[np.uint8]
    lower: NDArray[np.int64]


# -- the working arrays of one thread ---------------------------------------------------------


ORBIT, BASE, RESIDUAL, KING, STAMP, ERRORS, CELLS, STRIDE = 0, 1, 2, 3, 4, 5, 6, 7
"""Indices into the head of a cursor. The values are the king's orbit; the first entry of the row; the row's residual
group; the king's cell; the number of rows set so far; the number of contradictions, such as moves to entries that do
not exist; the number of cells that the row leaves for column soldiers; and the distance between two consecutive cells'
marks."""


class Cursor(NamedTuple):
    """A thread's place in a tier: the current row and column. C is the number of cells.

    - ``head``: Scalars, at the indices `ORBIT`, `BASE` and so on.
    - ``row_cells``: Cells of the row soldiers.
    - ``numbers``: Numbers of the column soldiers' cells in this row, in ascending order. In a tier without column
      soldiers, these are the numbers of the row soldiers' cells.
    - ``spot``: The cell with each number in this row.
    - ``number``: The number of each cell in this row, or -1 if it has none.
    """

    head: NDArray[np.int64]
    row_cells: NDArray[np.int64]
    numbers: NDArray[np.int64]
    spot: NDArray[np.uint8]
    number: NDArray[np.int16]


class Men(NamedTuple):
    """A position, stored both as the engine's board and as lists of cells. C is the number of cells.

    - ``board``: The board.
    - ``black``, ``white``: The cells of the attackers and the defenders, in any order.
    """

    board: NDArray[np.uint32]
    black: NDArray[np.uint8]
    white: NDArray[np.uint8]


class RowMoves(NamedTuple):
    """Cache of the rows after moves by white's men from the current row. C is the number of cells.

    - ``stamp``, ``base``: At index ``man * C + target``, the stamp of the row for which the values are valid, and the
      first entry of the row after the move.
    - ``number``: At index ``(man * C + target) * C + number``, the new row's number for the cell with this number in
      the current row.
    """

    stamp: NDArray[np.int64]
    base: NDArray[np.int64]
    number: NDArray[np.uint8]


class RowArrays(NamedTuple):
    """Arrays for evaluating a row as a whole (`retrograde.solver.kernels.tier_rows`). `RowArraySizes` has lengths.

    - ``men``: Maximum number of attackers that fit into the arrays; 0 if no row will be evaluated as a whole.
    - ``sources``: The places from which moves to a target begin.
    - ``lines``: Masks for one choice of column soldiers.
    - ``masks``: Masks for all choices.
    - ``marks``: At index ``number * choices + choice``, the marks for moves from a cell.
    - ``found``: For each column in a run, the marks for all of the position's moves.
    - ``mine``, ``theirs``: In a tier without defenders, the items of all positions with the king on one cell, for both
      sides to move.
    """

    men: int
    sources: LineSources
    lines: NDArray[np.uint16]
    masks: NDArray[np.uint16]
    marks: NDArray[np.uint8]
    found: NDArray[np.uint8]
    mine: NDArray[np.uint16]
    theirs: NDArray[np.uint16]


class Context(NamedTuple):
    """All tables and memory that the passes of one thread use. C is the number of cells.

    Kernels receive a context's directory (`tablut.engine.kernel_records.directory`), which is a single array, instead
    of a hundred arrays. Passing a single array reduces the kernels' compile time by a quarter.

    Attributes
    ----------
    rules, origins, tiers
        The rules, the tables of the cells from which pieces may have come, and the tier index.
    cursor : Cursor
        The current row and column.
    here : Men
        The current position.
    spare : Men
        Another position, which is a parent of the current position.
    below : Men
        The position after a move. Only its lists are used, not its board.
    row_moves : RowMoves
        The rows after moves from the current row.
    row_arrays : RowArrays
        Arrays for evaluating the current row as a whole.
    tactical, quiet : ndarray of int64, shape (2 * C,)
        For each man, the targets of its moves as a cross (`tablut.engine.layout.cross_of`).
    others : ndarray of int64, shape (3 * ROOM,)
        Terms of ranks that `retrograde.solver.kernels.cursor.entry_after` needs for the moves of attackers.
    scratch : ndarray of int64, shape (SCRATCH,)
        Scratch memory for `tablut.indexing.tier_kernels.entry_of`.
    moves : ndarray of int32, shape (4 * C,)
        Moves of a position.
    seen : ndarray of int64
        Number of parents of the current position whose moves have been counted, followed by these parents.
    traits : ndarray of uint8, shape (C,)
        For each number of a cell in this row, a property of the cell that a kernel uses for all columns.
    run : ndarray of int64, shape (C,)
        The same as the cursor's ``numbers``, but for iterating over columns without a board.
    """

    rules: Tables
    origins: OriginTables
    tiers: TierTables
    cursor: Cursor
    here: Men
    spare: Men
    below: Men
    row_moves: RowMoves
    row_arrays: RowArrays
    tactical: NDArray[np.int64]
    quiet: NDArray[np.int64]
    others: NDArray[np.int64]
    scratch: NDArray[np.int64]
    moves: NDArray[np.int32]
    seen: NDArray[np.int64]
    traits: NDArray[np.uint8]
    run: NDArray[np.int64]


def new_context(
    variant: Variant, rules: Tables, tiers: TierTables, defenders: int, sizes: RowArraySizes = NO_ROW_ARRAYS
) -> Context:
    """Return the tables and working arrays for one thread, for tiers with up to ``defenders`` defenders.

    The types are wide enough for the following reasons. Let C be the number of cells on the board. Cell indices and the
    number of men are at most C. The value of C is at most 121, or 361 on a wide board, and fits into `cells_dtype`. A
    position has at most 4C moves, and at most 4C moves lead to it, because at most four slides can end on an empty
    cell. `Context.seen` has space for 4C positions, and the counter in an item can count 4C moves. Moves to the same
    class lead to different positions in the same orbit. There are at most eight such positions, so a message can store
    the number of moves in one byte. `tablut.indexing.tier_tables` ensures that rows, choices and entries fit into their
    types.
    """
    size, cells, cell = variant.size, variant.size**2, cells_dtype(variant.size)
    assert cells <= np.iinfo(cell).max
    assert 4 * cells <= COUNTER
    white_moves = (defenders + 1) * cells
    here, spare, below = (Men(new_board(size), np.zeros(cells, cell), np.zeros(cells, cell)) for _ in range(3))
    no_sources = LineSources(np.zeros(0, np.uint16), np.zeros(0, np.uint32))
    return Context(
        rules=rules,
        origins=build_origins(variant),
        tiers=tiers,
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
        row_moves=RowMoves(
            np.zeros(white_moves, np.int64), np.zeros(white_moves, np.int64), np.zeros(white_moves * cells, cell)
        ),
        row_arrays=RowArrays(
            men=sizes.men,
            sources=line_sources(variant) if sizes.men else no_sources,
            lines=np.zeros(6 * size, np.uint16),
            masks=np.zeros(sizes.masks, np.uint16),
            marks=np.zeros(sizes.marks, np.uint8),
            found=np.zeros(cells, np.uint8),
            mine=np.zeros(sizes.columns, np.uint16),
            theirs=np.zeros(sizes.columns, np.uint16),
        ),
        tactical=np.zeros(2 * cells, np.int64),
        quiet=np.zeros(2 * cells, np.int64),
        others=np.zeros(3 * ROOM, np.int64),
        scratch=np.zeros(SCRATCH, np.int64),
        moves=np.zeros(4 * cells, np.int32),
        seen=np.zeros(1 + 4 * cells, np.int64),
        traits=np.zeros(cells, np.uint8),
        run=np.zeros(cells, np.int64),
    )
