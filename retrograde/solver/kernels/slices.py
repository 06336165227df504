"""What the passes over a slice of a tier need beside those over a whole one.

Black's moves stay in a slice (`retrograde.solver.slices.plan`), so that black's positions are solved
by the passes for whole tiers. White's moves leave it. Here is which rows they come to and come from; to
which of white's positions a new value of black's is news; and what such news, sent by other
slices, does to the positions here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.backward import (
    _count_moves_to,
    _lose,
    _moved_has_symmetry,
    _occurs,
    _propagate_loss,
)
from retrograde.solver.kernels.cursor import (
    close_column,
    has_symmetry,
    open_column,
    open_later_row,
    open_row,
    piece_of,
    row_place,
    white_entry,
)
from retrograde.solver.kernels.workspace import ERRORS, KING, RESIDUAL, Desk, Workspace
from tablut.engine.jit import I64, called, inlined, kernel, pointer, trailing_zeros
from tablut.engine.kernels import can_move
from tablut.engine.records import flat, record_at
from tablut.engine.unmoves import OriginTables, line_origins, would_capture
from tablut.indexing.tier_kernels import orbit_of
from tablut.indexing.tier_tables import is_decided, is_loss
from tablut.indexing.values import COUNTER, SAFE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import News, Pass
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

_BLOCK = 512
"""Items that are searched for a value together."""


@kernel
def copy_runs(
    source: NDArray[np.uint16],
    at: int,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    targets: NDArray[np.int64],
    out: NDArray[np.uint16],
) -> None:
    """Copy what a part of an array has of some runs of it; O(copied + runs)."""
    end = at + len(source)
    for run in range(len(starts)):
        first, last = max(starts[run], at), min(starts[run] + lengths[run], end)
        shift = targets[run] - starts[run]
        for place in range(first, last):
            out[place + shift] = source[place - at]


# -- rows ----------------------------------------------------------------------------------


@inlined
def _row_of(x: TierTables, w: Workspace, tier: int, king: int, cells: NDArray[np.int64]) -> int:
    """Return the row of a king and row soldiers, counted over all kings, or -1; O(men * men)."""
    at = row_place(x, w, tier, king, cells)
    if at < 0:
        return I64(-1)
    return x.tier.first_row[tier * x.square.kings + I64(x.square.king[king])] + I64(x.row.number[at])


@called
def _mark_moved(t: Tables, x: TierTables, w: Workspace, tier: int, man: int, marks: NDArray[np.uint8]) -> None:
    """Mark the rows to which a move of one man along its row and its column, however far, leads from the open row."""
    cells, men, king = w.cursor.row_cells, x.tier.row_men[tier], w.cursor.head[KING]
    start = king if man == men else cells[man]
    rank, file = I64(t.rank[start]), I64(t.file[start])
    for step in range(2 * t.size):
        target = rank * t.size + step if step < t.size else (step - t.size) * t.size + file
        taken = target == king
        for k in range(men):
            taken |= cells[k] == target
        if taken:
            continue
        if man == men:
            row = _row_of(x, w, tier, target, cells)
        else:
            cells[man] = target
            row = _row_of(x, w, tier, king, cells)
            cells[man] = start
        if row >= 0:
            marks[row] = 1


@kernel
def mark_near(desk: NDArray[np.int64], tier: int, first: int, last: int, marks: NDArray[np.uint8]) -> None:
    """Mark some rows of a tier with defenders, and all to which a quiet move of white's can lead; O(rows * moves).

    More may be marked: what stands in the way is not looked at. So the rows from which such a
    move can come are among them, too.
    """
    d, near = record_at(pointer(desk), Desk), pointer(marks)
    t, x, w = d.tables, d.tiers, d.workspace
    for row in range(first, last):
        near[row] = 1
        open_row(t, x, w, tier, row, 0)
        for man in range(x.tier.row_men[tier] + 1):
            _mark_moved(t, x, w, tier, man, near)


@kernel
def mark_captured(
    desk: NDArray[np.int64], tier: int, below: int, first: int, last: int, marks: NDArray[np.uint8]
) -> None:
    """Mark the rows of a lower tier to which captures of row soldiers lead from some rows; O(rows * choices)."""
    d, met = record_at(pointer(desk), Desk), pointer(marks)
    t, x, w = d.tables, d.tiers, d.workspace
    men, left = x.tier.row_men[tier], x.tier.row_men[below]
    for row in range(first, last):
        open_row(t, x, w, tier, row, 0)
        for chosen in range(1 << men):
            count = I64(0)
            for k in range(men):
                if (chosen >> k) & 1 != 0:
                    w.others[count] = w.cursor.row_cells[k]
                    count += 1
            if count == left:
                found = _row_of(x, w, below, w.cursor.head[KING], w.others)
                if found >= 0:
                    met[found] = 1


# -- news ----------------------------------------------------------------------------------


@inlined
def _write(x: TierTables, p: Pass, n: News, parent: int, moves: int, count: int) -> int:
    """Write one piece of news: whom it concerns, as an entry of the whole tier, and how many moves."""
    by_king = p.tier * x.square.kings + orbit_of(x, p.tier, parent)
    base, width = x.tier.base[by_king], x.tier.width[by_king]
    row = (parent - base) // width
    n.entries[count] = n.starts[x.tier.first_row[by_king] + row] + parent - base - row * width
    n.moves[count] = moves
    return count + 1


@called
def _tell(t: Tables, x: TierTables, w: Workspace, p: Pass, r: OriginTables, n: News, item: int, successor: int) -> None:
    """Write the news of the open position, black to move, to all its parents; as `backward._propagate` does."""
    board, king, tier = w.here.board, w.cursor.head[KING], p.tier
    if t.either_after_ply != 0 and not can_move(t, board, 0):
        return
    symmetric = w.cursor.head[RESIDUAL] != 1 and has_symmetry(x, tier, king, w.here.black, w.here.white)
    men, count = x.tier.defenders[tier] + 1, n.place[1]
    w.seen[0] = 0
    for man in range(men):
        target, _ = piece_of(t, w, 0, man, men)
        if would_capture(t, board, 0, target, king):
            continue
        along_row, along_column = line_origins(t, r, board, target, I64(2) if man == men - 1 else I64(1))
        rank, file = I64(t.rank[target]), I64(t.file[target])
        for axis in range(2):
            starts = along_row if axis == 0 else along_column
            while starts:
                place = trailing_zeros(starts)
                starts &= starts - 1
                start = rank * t.size + place if axis == 0 else place * t.size + file
                parent = white_entry(x, w, tier, man, start)
                if parent < 0:
                    continue
                moves = I64(1)
                # Only a parent in a row with a residual group can have a symmetry of its own.
                counted = symmetric or (
                    w.hops.base[man * x.square.cells + start] < 0 and _moved_has_symmetry(x, w, tier, 0, man, start)
                )
                if not is_loss(item) and counted:
                    number, told = w.seen[0], False
                    for other in range(number):
                        told |= w.seen[1 + other] == parent
                    if told:
                        continue
                    w.seen[1 + number] = parent
                    w.seen[0] = number + 1
                    moves = _count_moves_to(t, x, w, tier, parent, 0, successor)
                count = _write(x, p, n, parent, moves, count)
    n.place[1] = count


@kernel
def tell(desk: NDArray[np.int64], task: Pass, news: News, item: int, first: int, last: int) -> int:
    """Write to whom a value of black's in some rows is news, until all is written or the room is short."""
    d, p, n = record_at(pointer(desk), Desk), flat(task), flat(news)
    t, r, x, w = d.tables, d.origins, d.tiers, d.workspace
    column_men, wanted = x.tier.column_men[p.tier], np.uint16(item)
    # A man comes along two lines, and no more than every other cell of them is one that it left.
    full = len(news.entries) - 2 * t.size * (x.tier.defenders[p.tier] + 1)
    w.cursor.head[ERRORS] = 0
    for orbit in range(x.square.kings):
        by_king = p.tier * x.square.kings + orbit
        start, width, base = x.tier.first_row[by_king], x.tier.width[by_king], x.tier.base[by_king]
        stop = base + (min(last, start + x.tier.row_count[by_king]) - start) * width
        opened = I64(-1)
        for block in range(max(base + (max(first, start) - start) * width, n.place[0]), stop, _BLOCK):
            end = min(block + _BLOCK, stop)
            if not _occurs(p.theirs, block, end, wanted):
                continue
            for successor in range(block, end):
                if p.theirs[successor] != wanted:
                    continue
                if n.place[1] > full:
                    n.place[0] = successor
                    return w.cursor.head[ERRORS]
                row = start + (successor - base) // width
                if row != opened:
                    open_later_row(t, x, w, p.tier, row, opened, 1)
                    opened = row
                open_column(t, x, w, column_men, successor - base - (row - start) * width)
                _tell(t, x, w, p, r, n, item, successor)
                close_column(t, w, column_men)
    n.place[0] = -1
    return w.cursor.head[ERRORS]


@called
def _take_moves(t: Tables, x: TierTables, w: Workspace, p: Pass, distance: int, parent: int, moves: int) -> None:
    """Take moves to won positions from a parent's counter; at zero the parent is lost."""
    before = I64(p.mine[parent])
    if is_decided(before):
        return
    left = (before & COUNTER) - moves
    if left < 0:
        w.cursor.head[ERRORS] += 1
        return
    p.mine[parent] = np.uint16(before - moves)
    if left == 0 and before & SAFE == 0:
        _lose(t, x, w, p, distance, parent, before)


@kernel
def hear(
    desk: NDArray[np.int64],
    task: Pass,
    entries: NDArray[np.uint32],
    moves: NDArray[np.uint8],
    shift: int,
    lost: int,
    distance: int,
) -> int:
    """Make of news what it says for white's positions here; O(news)."""
    d, p = record_at(pointer(desk), Desk), flat(task)
    t, x, w = d.tables, d.tiers, d.workspace
    w.cursor.head[ERRORS] = 0
    for number in range(len(entries)):
        parent = I64(entries[number]) + shift
        if lost != 0:
            _propagate_loss(w, p, distance, parent)
        else:
            _take_moves(t, x, w, p, distance, parent, I64(moves[number]))
    return w.cursor.head[ERRORS]
