"""The backward passes, which propagate a position's value to its parents along quiet moves.

If a position is lost, each of its parents is won. If a position is won, each parent's counter of moves is decremented,
and when the counter reaches zero, the parent is lost. The counter must therefore be decremented once for every move
from the parent to the successor's class. Parents are found by taking back moves; a move taken back is called an
*un-move*. There is exactly one move for each un-move, unless the parent or the successor has a symmetry. Only positions
in rows with a nontrivial residual group can have a symmetry. In these rows, the moves from the parent to the successor
are counted one by one.

Several threads can safely work on one tier, because all wins in a round have the same value, counters are decremented
atomically, and wins and losses are propagated in separate rounds.

In a tier that is solved in slices, white's moves may lead to other slices. A pass then writes messages instead of
changing items, and `receive` applies the messages to the receiving slice's items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.context import ERRORS, KING, RESIDUAL, Context
from retrograde.solver.kernels.cursor import (
    capture_item,
    clear_column,
    count_men,
    entry_after,
    entry_on,
    piece_of,
    prepare_moves,
    put_column,
    rows_of_king,
    set_later_row,
    symmetry_order,
)
from tablut.engine.attacks import wins_afar
from tablut.engine.jit import I64, advance, called, fetch_subtract, inlined, kernel, trailing_zeros
from tablut.engine.kernel_records import flat, record_at
from tablut.engine.kernels import can_move, generate, make, unmake
from tablut.engine.layout import cell_on_cross, coordinates, undo_captured
from tablut.engine.unmoves import arrivals
from tablut.indexing.tier_kernels import men_of, set_board, split_entry
from tablut.indexing.tier_tables import code_of, is_decided, is_loss, lost_in, plies_of, won_in
from tablut.indexing.values import CAPTURES, COUNTER, SAFE
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.context import Pass
    from tablut.indexing.tier_tables import TierTables

_BLOCK = 512
"""Number of consecutive items that are searched for a value in one vectorised loop."""


@called
def _moved_has_symmetry(context: Context, tier: int, side: int, man: int, cell: int) -> bool:
    """Return whether the current position would have a symmetry if one of a side's men were on a given cell."""
    index = context.tiers
    black, white = context.here.black, context.here.white
    if side == 0 and man == index.tier.defenders[tier]:
        return symmetry_order(index, tier, cell, black, white) > 1
    men = black if side == 1 else white
    here = men[man]
    men[man] = cell
    found = symmetry_order(index, tier, context.cursor.head[KING], black, white) > 1
    men[man] = here
    return found


@called
def _is_symmetric(index: TierTables, tier: int, entry: int) -> bool:
    """Return whether an entry's row has a nontrivial residual group."""
    _, row, _ = split_entry(index, tier, entry)
    return index.row.residual[index.tier.meta_at[tier] + row] != 1


@called
def _set_spare(context: Context, tier: int, entry: int, side: int) -> None:
    """Put an entry's position on the spare board."""
    spare = context.spare
    king = men_of(context.tiers, tier, entry, spare.black, spare.white, context.scratch)
    set_board(context.rules, context.tiers, tier, king, spare.black, spare.white, side, spare.board)


@called
def _count_moves_to(context: Context, tier: int, parent: int, side: int, successor: int) -> int:
    """Make all quiet moves from a parent, and return the number of moves that lead to a successor's class."""
    rules = context.rules
    _set_spare(context, tier, parent, side)
    board, count = context.spare.board, I64(0)
    for number in range(generate(rules, board, context.moves)):
        undo, outcome = make(rules, board, I64(context.moves[number]))
        if outcome == UNDECIDED and undo_captured(undo) == 0:
            _, entry = entry_on(context, board)
            count += I64(entry == successor)
        unmake(rules, board, undo)
    return count


@called
def _longest_capture(context: Context, task: Pass, parent: int) -> int:
    """Return the distance of the slowest capture, in plies. All of the position's moves must lose."""
    rules = context.rules
    _set_spare(context, task.tier, parent, task.side)
    board, worst = context.spare.board, I64(0)
    for number in range(generate(rules, board, context.moves)):
        undo, outcome = make(rules, board, I64(context.moves[number]))
        if outcome == UNDECIDED and undo_captured(undo) != 0:
            item = capture_item(context, board, task.lower)
            if item < 0 or not is_decided(item) or is_loss(item):
                context.cursor.head[ERRORS] += 1
            else:
                worst = max(worst, plies_of(item) + 1)
        unmake(rules, board, undo)
    return worst


@inlined
def _propagate_loss(context: Context, task: Pass, distance: int, parent: int) -> None:
    """Mark a lost position's parent as a win, or shorten the win that it already has."""
    item, new = I64(task.mine[parent]), won_in(distance + 1)
    if not is_decided(item) or (not is_loss(item) and item > new):
        task.mine[parent] = np.uint16(new)
        task.report[code_of(new)] += 1
    elif is_loss(item):
        # The position was stored as a loss although it has a winning move.
        context.cursor.head[ERRORS] += 1


@inlined
def _lose(context: Context, task: Pass, distance: int, parent: int, before: int) -> None:
    """Mark a parent as a loss if its last remaining quiet move leads to a win in ``distance`` plies."""
    worst = distance + 1
    if before & CAPTURES != 0:
        worst = max(worst, _longest_capture(context, task, parent))
    new = lost_in(worst)
    task.mine[parent] = np.uint16(new)
    task.report[code_of(new)] += 1


@inlined
def _take_moves(context: Context, task: Pass, distance: int, parent: int, moves: int) -> None:
    """Subtract moves that lead to wins in ``distance`` plies from a parent's counter.

    If the counter reaches zero, mark the parent as a loss.
    """
    before = fetch_subtract(advance(task.mine, parent), moves)
    left = (before & COUNTER) - moves
    if left < 0:
        context.cursor.head[ERRORS] += 1
    if left == 0 and before & SAFE == 0:
        _lose(context, task, distance, parent, before)


@inlined
def _is_known(context: Context, parent: int) -> bool:
    """Record a parent, and return whether an earlier un-move of the current position has already led to it."""
    number = context.seen[0]
    for other in range(number):
        if context.seen[1 + other] == parent:
            return True
    context.seen[1 + number] = parent
    context.seen[0] = number + 1
    return False


@inlined
def _write(index: TierTables, task: Pass, parent: int, moves: int) -> None:
    """Write a message for another slice: a parent (as an entry in the whole tier) and the number of its moves."""
    _, row, column = split_entry(index, task.tier, parent)
    messages, count = task.messages, task.messages.place[1]
    messages.entries[count] = messages.starts[row] + column
    messages.moves[count] = moves
    messages.place[1] = count + 1


@inlined
def _parent_has_symmetry(context: Context, task: Pass, parent: int, man: int, start: int) -> bool:
    """Return whether a parent has a symmetry. In the parent, a man is on ``start`` instead of its current cell."""
    index = context.tiers
    if index.tier.column_men[task.tier] == 0:
        return _is_symmetric(index, task.tier, parent)
    # Only a row with a nontrivial residual group can have symmetric positions. Black's moves stay within the current
    # row. For a move by white to such a row, `RowMoves` stores a negative value instead of the row's first entry.
    may_have = context.cursor.head[RESIDUAL] != 1
    if task.side == 0:
        may_have = context.row_moves.base[man * index.square.cells + start] < 0
    return may_have and _moved_has_symmetry(context, task.tier, task.side, man, start)


@inlined
def _count_once(context: Context, task: Pass, parent: int, successor: int) -> int:
    """Return the number of a parent's moves to the current position, or 0 if these moves have already been counted."""
    return I64(0) if _is_known(context, parent) else _count_moves_to(context, task.tier, parent, task.side, successor)


@inlined
def _is_decided_by_last_ply(context: Context, task: Pass) -> bool:
    """Return whether every ply that leads to the current position ends the game.

    If so, the position has no value to propagate. Unlike in `tablut.engine.unmoves`, a position without a legal move
    has parents here, because it is a loss in 0 plies.
    """
    rules = context.rules
    stuck = rules.either_after_ply != 0 and not can_move(rules, context.here.board, task.side)
    return stuck or wins_afar(rules, context.here.board, task.side, context.cursor.head[KING])


@inlined
def _propagate(context: Context, task: Pass, item: int, successor: int) -> None:
    """Propagate the current position's item to all its parents, or write messages about the parents.

    In the parents, the pass's side is to move. The parents are found by taking back slides of this side's men.
    """
    rules, index, here = context.rules, context.tiers, context.here
    if _is_decided_by_last_ply(context, task):
        return
    king, men, sends = context.cursor.head[KING], count_men(index, task.tier, task.side), task.messages.room > 0
    # Without column soldiers, a row is a single position, and its residual group is that position's group.
    symmetric = context.cursor.head[RESIDUAL] != 1 and (
        index.tier.column_men[task.tier] == 0 or symmetry_order(index, task.tier, king, here.black, here.white) > 1
    )
    context.seen[0] = 0
    for man in range(men):
        target, _ = piece_of(context, task.side, man, men)
        centre = coordinates(rules, target)
        starts = arrivals(rules, context.origins, here.board, task.side, target, king)
        if starts != 0:
            prepare_moves(context, task.side, man, men)
        while starts:
            start = cell_on_cross(rules, centre, trailing_zeros(starts))
            starts &= starts - 1
            parent = entry_after(context, task.tier, task.side, man, start)
            # After a loss, every parent is won. After a win, the counters of parents that are still open decrease.
            if parent < 0 or not (is_loss(item) or sends or not is_decided(I64(task.mine[parent]))):
                continue
            moves = I64(1)
            # If the parent or the current position has a symmetry, the numbers of moves and un-moves can differ.
            if not is_loss(item) and (symmetric or _parent_has_symmetry(context, task, parent, man, start)):
                moves = _count_once(context, task, parent, successor)
            if moves == 0:
                continue
            if sends:
                _write(index, task, parent, moves)
            elif is_loss(item):
                _propagate_loss(context, task, plies_of(item), parent)
            else:
                _take_moves(context, task, plies_of(item), parent, moves)


@inlined
def _occurs(items: NDArray[np.uint16], start: int, stop: int, wanted: np.uint16) -> bool:
    """Return whether an item occurs in a range of items. The loop has no early exit, so that LLVM can vectorise it."""
    found = np.uint16(0)
    for place in range(start, stop):
        found |= np.uint16(items[place] == wanted)
    return found != 0


@kernel
def backward_pass(directory: NDArray[np.int64], arguments: Pass, item: int, first: int, last: int) -> int:
    """Propagate every position with a given value, in the given rows of a tier, to its parents.

    If messages are written, the pass stops when the buffer is nearly full, and the next call continues from there. The
    pass takes O(entries + positions * moves) time.
    """
    context, task = record_at(directory, Context), flat(arguments)
    index, cursor = context.tiers, context.cursor
    messages = task.messages
    column_men, wanted = index.tier.column_men[task.tier], np.uint16(item)
    # Leave space for all messages that one position can cause: at most 2 * size for each of white's men.
    full = messages.room - 2 * context.rules.size * (index.tier.defenders[task.tier] + 1)
    cursor.head[ERRORS] = 0
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
                    return cursor.head[ERRORS]
                row = begin + (successor - base) // width
                if row != opened:
                    set_later_row(context, task.tier, row, opened, task.side ^ 1)
                    opened = row
                put_column(context, column_men, successor - base - (row - begin) * width)
                _propagate(context, task, item, successor)
                clear_column(context, column_men)
    if messages.room > 0:
        messages.place[0] = -1
    return cursor.head[ERRORS]


@kernel
def receive(
    directory: NDArray[np.int64],
    arguments: Pass,
    entries: NDArray[np.uint32],
    moves: NDArray[np.uint8],
    shift: int,
    item: int,
) -> int:
    """Apply messages for positions with a move to a position with a given value. Takes O(messages) time."""
    context, task = record_at(directory, Context), flat(arguments)
    context.cursor.head[ERRORS] = 0
    for number in range(len(entries)):
        parent = I64(entries[number]) + shift
        if is_loss(item):
            _propagate_loss(context, task, plies_of(item), parent)
        elif not is_decided(I64(task.mine[parent])):
            _take_moves(context, task, plies_of(item), parent, I64(moves[number]))
    return context.cursor.head[ERRORS]
