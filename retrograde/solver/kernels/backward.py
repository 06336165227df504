"""The backward passes, which propagate the value of a position to its parents by quiet moves.

A lost position makes each of its parents a win. A won position decrements the counter of moves of each parent, and when
the counter reaches zero the parent is lost. For this, the counter must be decremented once for every move of the parent
that leads to the class of the successor. There is exactly one such move for each un-move, unless parent or successor
has a symmetry. Rows in which this can happen are recognised by their residual group, and in these rows the moves of the
parent are counted.

Several threads work on one tier. All wins of a round have the same value, and counters
are decremented atomically; wins and losses are propagated in separate rounds.

In a tier that is solved in slices, white's moves lead to other slices. A pass then writes messages instead, and
`receive` applies them to the slices that they concern.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.cursor import (
    attacker_entry,
    capture_item,
    close_column,
    entry_on,
    open_column,
    open_later_row,
    piece_of,
    prepare_attacker,
    rows_of_king,
    symmetry_order,
    white_entry,
)
from retrograde.solver.kernels.workspace import ERRORS, KING, RESIDUAL, Desk, Workspace
from tablut.engine.attacks import wins_afar
from tablut.engine.jit import I64, advance, called, fetch_subtract, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernels import can_move, generate, make, unmake
from tablut.engine.layout import cell_on_cross, coordinates, undo_captured
from tablut.engine.records import flat, record_at
from tablut.engine.unmoves import OriginTables, arrivals
from tablut.indexing.tier_kernels import men_of, orbit_of, set_board
from tablut.indexing.tier_tables import code_of, is_decided, is_loss, lost_in, plies_of, won_in
from tablut.indexing.values import CAPTURES, COUNTER, SAFE
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Pass
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

_BLOCK = 512
"""Number of items that are searched for a value together."""


@called
def _moved_has_symmetry(index: TierTables, work: Workspace, tier: int, side: int, man: int, cell: int) -> bool:
    """Return whether the open position would have a symmetry if one man of a side stood on another cell."""
    black, white = work.here.black, work.here.white
    if side == 0 and man == index.tier.defenders[tier]:
        return symmetry_order(index, tier, cell, black, white) > 1
    men = black if side == 1 else white
    here = men[man]
    men[man] = cell
    found = symmetry_order(index, tier, work.cursor.head[KING], black, white) > 1
    men[man] = here
    return found


@called
def _is_symmetric(index: TierTables, tier: int, entry: int) -> bool:
    """Return whether the row of an entry (without column soldiers, the entry itself) has a residual group."""
    by_king = tier * index.square.kings + orbit_of(index, tier, entry)
    row = index.tier.first_row[by_king] + (entry - index.tier.base[by_king]) // index.tier.width[by_king]
    return index.row.residual[index.tier.meta_at[tier] + row] != 1


@called
def _open_spare(rules: Tables, index: TierTables, work: Workspace, tier: int, entry: int, side: int) -> None:
    """Set the spare board and the spare lists of men to an entry."""
    spare = work.spare
    king = men_of(index, tier, entry, spare.black, spare.white, work.scratch)
    set_board(rules, index, tier, king, spare.black, spare.white, side, spare.board)


@called
def _count_moves_to(
    rules: Tables, index: TierTables, work: Workspace, tier: int, parent: int, side: int, successor: int
) -> int:
    """Return how many quiet moves of a parent lead to the class of a successor."""
    _open_spare(rules, index, work, tier, parent, side)
    board = work.spare.board
    scratch_moves = np.empty(4 * rules.cells, dtype=np.int32)
    moves = pointer(scratch_moves)
    found = generate(rules, board, moves)
    count = I64(0)
    for number in range(found):
        undo, outcome = make(rules, board, I64(moves[number]))
        if outcome == UNDECIDED and undo_captured(undo) == 0:
            _, entry = entry_on(rules, index, work, board)
            count += I64(entry == successor)
        unmake(rules, board, undo)
    keep(scratch_moves)
    return count


@called
def _longest_capture(rules: Tables, index: TierTables, work: Workspace, task: Pass, parent: int) -> int:
    """Return the number of plies in which the slowest capture loses, in a position in which every move loses."""
    _open_spare(rules, index, work, task.tier, parent, task.side)
    scratch_moves = np.empty(4 * rules.cells, dtype=np.int32)
    moves = pointer(scratch_moves)
    found = generate(rules, work.spare.board, moves)
    worst = I64(0)
    for number in range(found):
        undo, outcome = make(rules, work.spare.board, I64(moves[number]))
        if outcome == UNDECIDED and undo_captured(undo) != 0:
            item = capture_item(rules, index, work, work.spare.board, task.lower)
            if item < 0 or not is_decided(item) or is_loss(item):
                work.cursor.head[ERRORS] += 1
            else:
                worst = max(worst, plies_of(item) + 1)
        unmake(rules, work.spare.board, undo)
    keep(scratch_moves)
    return worst


@inlined
def _propagate_loss(work: Workspace, task: Pass, distance: int, parent: int) -> None:
    """Make the parent of a lost position a win, or shorten its win."""
    item, new = I64(task.mine[parent]), won_in(distance + 1)
    if not is_decided(item) or (not is_loss(item) and item > new):
        task.mine[parent] = np.uint16(new)
        task.report[code_of(new)] += 1
    elif is_loss(item):
        # The position was stored as a loss although it has a winning move.
        work.cursor.head[ERRORS] += 1


@inlined
def _lose(
    rules: Tables, index: TierTables, work: Workspace, task: Pass, distance: int, parent: int, before: int
) -> None:
    """Make a parent a loss when the last of its quiet moves leads to a win in ``distance`` plies."""
    worst = distance + 1
    if before & CAPTURES != 0:
        worst = max(worst, _longest_capture(rules, index, work, task, parent))
    new = lost_in(worst)
    task.mine[parent] = np.uint16(new)
    task.report[code_of(new)] += 1


@inlined
def _take_moves(
    rules: Tables, index: TierTables, work: Workspace, task: Pass, distance: int, parent: int, moves: int
) -> None:
    """Subtract moves to wins in ``distance`` plies from a parent's counter; at zero, make the parent a loss."""
    before = fetch_subtract(advance(task.mine, parent), moves)
    left = (before & COUNTER) - moves
    if left < 0:
        work.cursor.head[ERRORS] += 1
    if left == 0 and before & SAFE == 0:
        _lose(rules, index, work, task, distance, parent, before)


@inlined
def _is_known(work: Workspace, parent: int) -> bool:
    """Return whether a parent of the open position has been met before, and remember it."""
    number = work.seen[0]
    for other in range(number):
        if work.seen[1 + other] == parent:
            return True
    work.seen[1 + number] = parent
    work.seen[0] = number + 1
    return False


@inlined
def _write(index: TierTables, task: Pass, parent: int, moves: int) -> None:
    """Write a message: the parent that it concerns, as an entry of the whole tier, and the number of moves."""
    by_king = task.tier * index.square.kings + orbit_of(index, task.tier, parent)
    base, width, messages = index.tier.base[by_king], index.tier.width[by_king], task.messages
    row, count = (parent - base) // width, messages.place[1]
    messages.entries[count] = messages.starts[index.tier.first_row[by_king] + row] + parent - base - row * width
    messages.moves[count] = moves
    messages.place[1] = count + 1


@inlined
def _parent_has_symmetry(index: TierTables, work: Workspace, task: Pass, parent: int, man: int, start: int) -> bool:
    """Return whether a parent of the open position that has one man on another cell is symmetric."""
    if index.tier.column_men[task.tier] == 0:
        return _is_symmetric(index, task.tier, parent)
    # Only a row with a residual group has symmetric positions. Black moves within the open row; for white's moves, the
    # hop shows whether the new row has such a group.
    may_have = work.cursor.head[RESIDUAL] != 1
    if task.side == 0:
        may_have = work.hops.base[man * index.square.cells + start] < 0
    return may_have and _moved_has_symmetry(index, work, task.tier, task.side, man, start)


@inlined
def _count_once(rules: Tables, index: TierTables, work: Workspace, task: Pass, parent: int, successor: int) -> int:
    """Return how many moves of a parent lead to the open position's class, or 0 if the parent has been met before."""
    return (
        I64(0)
        if _is_known(work, parent)
        else _count_moves_to(rules, index, work, task.tier, parent, task.side, successor)
    )


@inlined
def _is_decided_by_last_ply(rules: Tables, work: Workspace, task: Pass) -> bool:
    """Return whether any ply that leads to the open position ends the game, so that there is nothing to propagate."""
    stuck = rules.either_after_ply != 0 and not can_move(rules, work.here.board, task.side)
    return stuck or wins_afar(rules, work.here.board, task.side, work.cursor.head[KING])


@inlined
def _propagate(
    rules: Tables, index: TierTables, work: Workspace, task: Pass, origins: OriginTables, item: int, successor: int
) -> None:
    """Propagate the open position's item to all its parents, or write messages for them.

    In the parents, the side of the pass is to move. They are found man by man: if one man stands elsewhere in a parent,
    the parent's entry differs from the open position's by one term.
    """
    if _is_decided_by_last_ply(rules, work, task):
        return
    king, men = (
        work.cursor.head[KING],
        index.tier.attackers[task.tier] if task.side == 1 else index.tier.defenders[task.tier] + 1,
    )
    # Without column soldiers a row is a single position, and its residual group is the group of that position.
    symmetric = work.cursor.head[RESIDUAL] != 1 and (
        index.tier.column_men[task.tier] == 0
        or symmetry_order(index, task.tier, king, work.here.black, work.here.white) > 1
    )
    work.seen[0] = 0
    for man in range(men):
        target, _ = piece_of(rules, work, task.side, man, men)
        centre, starts = coordinates(rules, target), arrivals(rules, origins, work.here.board, task.side, target, king)
        if task.side == 1 and starts != 0:
            prepare_attacker(index, work, man, men)
        while starts:
            start = cell_on_cross(rules, centre, trailing_zeros(starts))
            starts &= starts - 1
            parent = (
                attacker_entry(index, work, task.tier, man, start)
                if task.side == 1
                else white_entry(index, work, task.tier, man, start)
            )
            sends = task.messages.room > 0
            # A loss makes every parent a win; a win decrements the counters of parents that are still open.
            if parent < 0 or not (is_loss(item) or sends or not is_decided(I64(task.mine[parent]))):
                continue
            moves = I64(1)
            # If the parent or the open position has a symmetry, the number of un-moves differs from the number of
            # moves.
            if not is_loss(item) and (symmetric or _parent_has_symmetry(index, work, task, parent, man, start)):
                moves = _count_once(rules, index, work, task, parent, successor)
            if moves == 0:
                continue
            if sends:
                _write(index, task, parent, moves)
            elif is_loss(item):
                _propagate_loss(work, task, plies_of(item), parent)
            else:
                _take_moves(rules, index, work, task, plies_of(item), parent, moves)


@inlined
def _occurs(items: NDArray[np.uint16], start: int, stop: int, wanted: np.uint16) -> bool:
    """Return whether an item occurs in a range of items. The loop has no early exit, so that it is vectorised."""
    found = np.uint16(0)
    for place in range(start, stop):
        found |= np.uint16(items[place] == wanted)
    return found != 0


@kernel
def backward_pass(directory: NDArray[np.int64], arguments: Pass, item: int, first: int, last: int) -> int:
    """Propagate every position of one value in some rows of a tier to its parents; O(entries + positions * moves).

    If messages are written, the pass stops when their buffer is nearly full, and the next call continues at that place.
    """
    desk, task = record_at(directory, Desk), flat(arguments)
    rules, origins, index, work, messages = desk.tables, desk.origins, desk.tiers, desk.workspace, task.messages
    column_men, wanted = index.tier.column_men[task.tier], np.uint16(item)
    # Leave space for all messages of one position: at most 2 * size for each of white's men.
    full = messages.room - 2 * rules.size * (index.tier.defenders[task.tier] + 1)
    work.cursor.head[ERRORS] = 0
    for orbit in range(index.square.kings):
        begin, end, base, width = rows_of_king(index, task.tier, orbit, first, last)
        stop, opened = base + (end - begin) * width, I64(-1)
        for block in range(max(base, messages.place[0]), stop, _BLOCK):
            block_end = min(block + _BLOCK, stop)
            if not _occurs(task.theirs, block, block_end, wanted):
                continue
            for successor in range(block, block_end):
                if task.theirs[successor] != wanted:
                    continue
                if messages.room > 0 and messages.place[1] > full:
                    messages.place[0] = successor
                    return work.cursor.head[ERRORS]
                row = begin + (successor - base) // width
                if row != opened:
                    open_later_row(rules, index, work, task.tier, row, opened, task.side ^ 1)
                    opened = row
                open_column(rules, index, work, column_men, successor - base - (row - begin) * width)
                _propagate(rules, index, work, task, origins, item, successor)
                close_column(rules, work, column_men)
    if messages.room > 0:
        messages.place[0] = -1
    return work.cursor.head[ERRORS]


@kernel
def receive(
    directory: NDArray[np.int64],
    arguments: Pass,
    entries: NDArray[np.uint32],
    moves: NDArray[np.uint8],
    shift: int,
    item: int,
) -> int:
    """Apply messages to the positions that they concern; these have moves to positions of one value. O(messages)."""
    desk, task = record_at(directory, Desk), flat(arguments)
    rules, index, work = desk.tables, desk.tiers, desk.workspace
    work.cursor.head[ERRORS] = 0
    for number in range(len(entries)):
        parent = I64(entries[number]) + shift
        if is_loss(item):
            _propagate_loss(work, task, plies_of(item), parent)
        elif not is_decided(I64(task.mine[parent])):
            _take_moves(rules, index, work, task, plies_of(item), parent, I64(moves[number]))
    return work.cursor.head[ERRORS]
