"""The passes that examine a position's moves: the first pass, and the forward passes.

The first pass finds positions without a legal move, and white's immediate wins, usually for many columns together.
Columns that differ only in their lowest soldier are consecutive, and form a *run*. Within a row, a column soldier's
cell alone determines whether the soldier blocks the king's way to an escape, and whether the other column soldiers can
shut the soldier in.

A forward pass examines every move from a position. Captures lead to lower tiers, whose values are known. Quiet moves
stay in the tier, where the values with the other side to move may be only partly known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retrograde.solver.kernels.context import ERRORS, FULL, KING, LOSSES, RESIDUAL, WINS, Context, Pass
from retrograde.solver.kernels.cursor import (
    are_all_rows,
    capture_item,
    clear_column,
    columns_of_row,
    count_men,
    entry_after,
    first_run,
    is_alias,
    may_return,
    moves_of,
    next_run,
    piece_of,
    prepare_moves,
    put_column,
    rows_of_king,
    set_later_row,
    step_to,
)
from retrograde.solver.kernels.tier_rows import (
    PENDING,
    collect_classes,
    evaluate_king,
    evaluate_row,
    expand_classes,
    has_merged_choices,
    set_king,
)
from tablut.engine.attacks import (
    beside,
    blocking_places,
    escape_targets,
    escape_ways,
    may_capture,
    may_end_afar,
    slides_from,
    winner_of,
)
from tablut.engine.jit import I64, advance, called, inlined, kernel, trailing_zeros
from tablut.engine.kernel_records import flat, record_at
from tablut.engine.kernels import can_move, make, unmake
from tablut.engine.layout import BoardArray, cell_on_cross, coordinates, cross_of, move_of, undo_captured
from tablut.indexing.tier_tables import code_of, is_decided, is_loss, lost_in, plies_of, won_in
from tablut.indexing.values import ALIAS, CAPTURES, SAFE
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.context import Pass
    from tablut.engine.tables import Tables


@inlined
def _has_move(context: Context, task: Pass) -> bool:
    """Return whether the side to move has a legal move in the current position."""
    if task.side == 0:
        return can_move(context.rules, context.here.board, 0)
    men = count_men(context.tiers, task.tier, 1)
    for man in range(men):
        _, targets = moves_of(context, 1, man, men)
        if targets != 0:
            return True
    return False


@called
def _mark_escapes(context: Context, items: NDArray[np.uint16], men: int, width: int) -> int:
    """Mark as won the columns in the current row that let the king escape, and return their number."""
    rules = context.rules
    king = context.cursor.head[KING]
    rank, file = coordinates(rules, king)
    west, east, south, north = escape_ways(rules, context.here.board, king)
    ways = I64(west != 0) | (I64(east != 0) << 1) | (I64(south != 0) << 2) | (I64(north != 0) << 3)
    if ways == 0:
        return I64(0)
    # For each cell, by its number, the king's ways to an escape that a column soldier on the cell blocks.
    closed = context.traits
    for cell in range(context.tiers.square.cells):
        number = I64(context.cursor.number[cell])
        if number >= 0:
            found = I64(0)
            if I64(rules.rank[cell]) == rank:
                place = I64(rules.file[cell])
                found |= ((west >> place) & 1) | (((east >> place) & 1) << 1)
            if I64(rules.file[cell]) == file:
                place = I64(rules.rank[cell])
                found |= (((south >> place) & 1) << 2) | (((north >> place) & 1) << 3)
            closed[number] = found
    marked, numbers = I64(0), context.run
    column, run = I64(0), first_run(numbers, men, width)
    while column < width:
        left = ways
        for k in range(1, men):
            left &= ~I64(closed[numbers[k]])
        if left != 0:
            for low in range(run):
                if left & ~I64(closed[low]) != 0:
                    items[column + low] = np.uint16(won_in(1))
                    marked += 1
        column += run
        run = next_run(numbers, men, width)
    return marked


@called
def _mark_stuck(context: Context, items: NDArray[np.uint16], men: int, width: int) -> int:
    """Mark as lost the columns in the current row where no column soldier can move, and return their number."""
    # Each of the other column soldiers blocks at most one direction, so a soldier with `men` or more free directions
    # can always move.
    rules, here = context.rules, context.here
    free = context.traits
    for cell in range(context.tiers.square.cells):
        number = I64(context.cursor.number[cell])
        if number >= 0:
            along_rank, along_file = slides_from(rules, here.board, rules.attacker_slides, cell)
            rank, file = coordinates(rules, cell)
            ways = I64(along_rank >> file != 0) + I64(along_rank & ((1 << file) - 1) != 0)
            ways += I64(along_file >> rank != 0) + I64(along_file & ((1 << rank) - 1) != 0)
            free[number] = ways >= men
    marked, numbers = I64(0), context.run
    column, run = I64(0), first_run(numbers, men, width)
    while column < width:
        moves = False
        for k in range(1, men):
            moves |= free[numbers[k]] != 0
        if not moves:
            for low in range(run):
                if free[low] != 0:
                    continue
                put_column(context, men, column + low)
                moves = False
                for k in range(men):
                    _, targets = moves_of(context, 1, k, men)
                    moves |= targets != 0
                clear_column(context, men)
                if not moves:
                    items[column + low] = np.uint16(lost_in(0))
                    marked += 1
        column += run
        run = next_run(numbers, men, width)
    return marked


@called
def _mark_king(context: Context, task: Pass, orbit: int) -> bool:
    """Treat all of a king's rows in a tier without defenders as the columns of one row, and mark these columns.

    Return whether this completes the first pass for these rows.
    """
    index = context.tiers
    if task.side == 0 and context.rules.either_after_ply != 0:
        return False
    set_king(context, task, orbit)
    men, mine = (
        index.tier.row_men[task.tier],
        advance(task.mine, index.tier.base[task.tier * index.square.kings + orbit]),
    )
    width, merged = columns_of_row(context, men), has_merged_choices(context, task)
    items = context.row_arrays.mine if merged else mine
    if merged:
        expand_classes(context, task, mine, items)
    marked = _mark_stuck(context, items, men, width) if task.side == 1 else _mark_escapes(context, items, men, width)
    if merged:
        collect_classes(context, task, mine, items)
    else:
        task.report[1 if task.side == 1 else 2] += marked
    return task.side == 1


_QUIET, _ENDED_LOST = -2, -3
"""Values returned instead of a successor's item if the move is quiet or loses the game immediately."""


@inlined
def _tactical_places(rules: Tables, board: BoardArray, side: int, cell: int, royal: bool) -> int:
    """Return the places on a piece's lines where its arrival is tactical, as a cross (`tablut.engine.layout.cross_of`).

    A move is tactical if it leads to a place next to an enemy or, if the piece is the king (``royal``), to an escape.
    """
    rank, file = coordinates(rules, cell)
    row, column = beside(rules, board, rank, side ^ 1), beside(rules, board, rules.size + file, side ^ 1)
    if royal:
        row |= I64(rules.escapes_on[rank])
        column |= I64(rules.escapes_on[rules.size + file])
    return cross_of(row, column)


@inlined
def _may_end_or_capture(rules: Tables, board: BoardArray, side: int, target: int, king: int, royal: bool) -> bool:
    """Return whether a move to a target may capture or is an escape. ``royal`` means that the king moves."""
    return (royal and rules.escapes[target] != 0) or may_capture(rules, board, side, target, target if royal else king)


@inlined
def _item_after(context: Context, task: Pass, move: int) -> int:
    """Make a move, take it back, and return the resulting position's item in a lower tier.

    The result can also be `_QUIET` or `_ENDED_LOST`. It is -1 if the resulting position has no entry. If the move wins
    the game, the result is the item for a loss in 0 plies, as for a position without a legal move.
    """
    board, item = context.here.board, I64(_QUIET)
    undo, outcome = make(context.rules, board, move)
    if outcome != UNDECIDED:
        item = lost_in(0) if winner_of(outcome) == task.side else I64(_ENDED_LOST)
    elif undo_captured(undo) != 0:
        item = capture_item(context, board, task.lower)
    unmake(context.rules, board, undo)
    return item


@inlined
def _wins_at_once(context: Context, task: Pass) -> bool:
    """Return whether white can win in one ply from the current position, by an escape or a capture.

    A capture also wins immediately if it leaves black without a legal move. Quiet moves that leave black without a
    legal move are not examined here, because the losses after these moves are propagated to their parents.
    """
    rules = context.rules
    board, king = context.here.board, context.cursor.head[KING]
    if rules.either_after_ply == 0:
        along_rank, along_file = escape_targets(rules, board, king)
        if (along_rank | along_file) != 0:
            return True
    men, afar = count_men(context.tiers, task.tier, 0), may_end_afar(rules, board, I64(0))
    for man in range(men):
        royal = man == men - 1
        start, targets = moves_of(context, 0, man, men)
        centre = coordinates(rules, start)
        if not afar:
            targets &= _tactical_places(rules, board, I64(0), start, royal)
        while targets:
            target = cell_on_cross(rules, centre, trailing_zeros(targets))
            targets &= targets - 1
            looked_at = afar or _may_end_or_capture(rules, board, I64(0), target, king, royal)
            if looked_at and _item_after(context, task, move_of(rules, start, target)) == lost_in(0):
                return True
    return False


@kernel
def immediate_pass(directory: NDArray[np.int64], arguments: Pass, first: int, last: int) -> int:
    """Mark aliases, positions without a legal move, and white's wins in one ply, in the given rows of a tier."""
    context, task = record_at(directory, Context), flat(arguments)
    index, cursor = context.tiers, context.cursor
    column_men = index.tier.column_men[task.tier]
    cursor.head[ERRORS] = 0
    for orbit in range(index.square.kings):
        before = I64(-1)
        begin, end, at_begin, width = rows_of_king(index, task.tier, orbit, first, last)
        may_mark = column_men == 0 and index.tier.attackers[task.tier] <= context.row_arrays.men
        if may_mark and are_all_rows(index, task.tier, orbit, begin, end) and _mark_king(context, task, orbit):
            continue
        for row in range(begin, end):
            base = at_begin + (row - begin) * width
            if column_men == 0 and task.mine[base] != 0:
                continue
            set_later_row(context, task.tier, row, before, task.side)
            before = I64(row)
            aliases = column_men > 0 and cursor.head[RESIDUAL] != 1
            if column_men > 0 and not aliases:
                if task.side == 1:
                    task.report[1] += _mark_stuck(context, advance(task.mine, base), column_men, width)
                    continue
                if context.rules.either_after_ply == 0:
                    task.report[2] += _mark_escapes(context, advance(task.mine, base), column_men, width)
            at = I64(-1)
            for column in range(width):
                if task.mine[base + column] != 0:
                    continue
                step_to(context, column_men, at, column)
                at = I64(column)
                new = I64(0)
                if aliases and is_alias(context, task.tier, base + column):
                    task.mine[base + column] = np.uint16(ALIAS)
                    task.report[ALIAS] += 1
                    continue
                if task.side == 0 and _wins_at_once(context, task):
                    new = won_in(1)
                elif not _has_move(context, task):
                    new = lost_in(0)
                if new != 0:
                    task.mine[base + column] = np.uint16(new)
                    task.report[code_of(new)] += 1
    return cursor.head[ERRORS]


# -- the forward passes ----------------------------------------------------------------------


_FIRST, _TACTICAL, _REST = range(3)
"""Steps in which a position's moves are examined.

Moves that are clearly quiet come first, followed by moves that may capture or end the game. Some of the latter turn out
to be quiet, and are examined last.
"""


class MoveSummary(NamedTuple):
    """Results of the current position's moves that have been examined so far.

    - ``best``: Distance of the quickest win in plies; 0 if no win has been found.
    - ``worst``: Distance of the longest loss in plies.
    - ``left``: The open item (`tablut.indexing.values`). It contains the number of quiet moves not known to lose, a
      flag for whether any move captures (`CAPTURES`), and a flag for whether any capture does not lose (`SAFE`).
    - ``settled``: Whether the remaining moves no longer matter.
    """

    best: int
    worst: int
    left: int
    settled: bool


@inlined
def _blocking_places(rules: Tables, king: int, cell: int, rank_way: int, file_way: int) -> int:
    """Return, as a cross, the cells in line with a given cell where a soldier would block the king's only escape route.

    ``rank_way`` and ``file_way`` are the masks that `blocking_places` returns.
    """
    (rank, file), (king_rank, king_file) = coordinates(rules, cell), coordinates(rules, king)
    row, column = ((file_way >> rank) & 1) << king_file, ((rank_way >> file) & 1) << king_rank
    return cross_of(row | (rank_way if rank == king_rank else 0), column | (file_way if file == king_file else 0))


@inlined
def _sort_targets(context: Context, task: Pass, men: int) -> bool:
    """Write the targets of each man's tactical and quiet moves as crosses.

    While the king threatens to escape, any quiet move by black that does not block the king's way lets the king escape.
    These moves are left out, because their value is known. Return whether any moves have been left out.
    """
    rules = context.rules
    board, side, king = context.here.board, task.side, context.cursor.head[KING]
    lets_escape, all_tactical = False, rules.either_after_ply != 0 or may_end_afar(rules, board, side)
    threatened, rank_way, file_way = False, I64(0), I64(0)
    if side == 1 and rules.either_after_ply == 0 and task.limit > 0:
        threatened, rank_way, file_way = blocking_places(rules, board, king)
    for man in range(men):
        start, targets = moves_of(context, side, man, men)
        tactical = targets
        if not all_tactical:
            tactical &= _tactical_places(rules, board, side, start, side == 0 and man == men - 1)
        quiet = targets & ~tactical
        if threatened:
            useful = quiet & _blocking_places(rules, king, start, rank_way, file_way)
            lets_escape |= useful != quiet
            quiet = useful
        context.tactical[man], context.quiet[man] = tactical, quiet
    return lets_escape


@inlined
def _tactical_item(context: Context, task: Pass, man: int, men: int, target: int) -> int:
    """Return the result of `_item_after` for a tactical move.

    Most tactical moves turn out to be quiet, and need not be made on the board.
    """
    rules = context.rules
    board = context.here.board
    start, slides = piece_of(context, task.side, man, men)
    if (
        _may_end_or_capture(
            rules, board, task.side, target, context.cursor.head[KING], task.side == 0 and man == men - 1
        )
        or (rules.either_after_ply != 0 and not may_return(rules, board, slides, start, target))
        or may_end_afar(rules, board, task.side)
    ):
        return _item_after(context, task, move_of(rules, start, target))
    return I64(_QUIET)


@inlined
def _enough(rules: Tables, task: Pass) -> int:
    """Return the greatest distance at which a win makes it unnecessary to examine further moves.

    A search for wins usually stops at the first win in at most ``limit + 2`` plies. Other searches stop only at a win
    in one ply.
    """
    return task.limit + 2 if task.mode == WINS and rules.either_after_ply == 0 else I64(1)


@inlined
def _try_tactical(context: Context, task: Pass, man: int, men: int, summary: MoveSummary) -> MoveSummary:
    """Examine a man's tactical moves, and add the results to a summary.

    Moves that turn out to be quiet are left for `_try_quiet`.
    """
    rules = context.rules
    best, worst, left, settled = summary.best, summary.worst, summary.left, False
    start, _ = piece_of(context, task.side, man, men)
    centre, targets, quiet = coordinates(rules, start), context.tactical[man], context.quiet[man]
    while targets and not settled:
        place = trailing_zeros(targets)
        targets &= targets - 1
        item = _tactical_item(context, task, man, men, cell_on_cross(rules, centre, place))
        if item == _QUIET:
            quiet |= I64(1) << place
        elif item == _ENDED_LOST:
            worst = max(worst, I64(1))
        elif item < 0:
            context.cursor.head[ERRORS] += 1
        elif not is_decided(item):
            left |= CAPTURES | SAFE
            settled = task.mode == LOSSES
        elif is_loss(item):
            left |= CAPTURES
            best = _quicker(best, plies_of(item) + 1)
            settled = best <= _enough(rules, task)
        else:
            left |= CAPTURES
            worst = max(worst, plies_of(item) + 1)
    context.quiet[man] = quiet
    return MoveSummary(best, worst, left, settled)


@inlined
def _try_quiet(context: Context, task: Pass, man: int, men: int, summary: MoveSummary) -> MoveSummary:
    """Examine a man's quiet moves, and add the results to a summary."""
    rules = context.rules
    best, worst, left, settled = summary.best, summary.worst, summary.left, False
    start, _ = piece_of(context, task.side, man, men)
    centre, targets = coordinates(rules, start), context.quiet[man]
    context.quiet[man] = 0
    if targets != 0:
        prepare_moves(context, task.side, man, men)
    while targets and not settled:
        target = cell_on_cross(rules, centre, trailing_zeros(targets))
        targets &= targets - 1
        entry = entry_after(context, task.tier, task.side, man, target)
        if entry < 0:
            context.cursor.head[ERRORS] += 1
            continue
        item = I64(task.theirs[entry])
        if not is_decided(item) or (not is_loss(item) and plies_of(item) > task.limit):
            # The successor is open, or it is a win for the opponent that has yet to be propagated.
            left += 1
            settled = task.mode == LOSSES
        elif is_loss(item):
            best = _quicker(best, plies_of(item) + 1)
            settled = best <= _enough(rules, task)
        else:
            worst = max(worst, plies_of(item) + 1)
    return MoveSummary(best, worst, left, settled)


@inlined
def _quicker(best: int, plies: int) -> int:
    """Return the distance of the quicker of two wins. ``best`` is 0 if no earlier win is known."""
    return plies if best == 0 else min(best, plies)


@inlined
def _item_of(task: Pass, summary: MoveSummary) -> int:
    """Return the item that follows from the moves' results, or 0 if the pass does not search for this kind of item."""
    best = summary.best
    if best != 0:
        wanted = best == 1 or task.mode == FULL or (task.mode == WINS and best <= task.limit + 2)
        return won_in(best) if wanted else I64(0)
    if task.mode == WINS:
        return I64(0)
    if summary.left & ~CAPTURES == 0:
        return lost_in(summary.worst)
    return summary.left if task.mode == FULL else I64(0)


@inlined
def _evaluate(context: Context, task: Pass) -> int:
    """Compute the current position's item from its moves.

    In the modes `LOSSES` and `WINS`, the result is 0 if the position is not known to be lost or won, respectively.
    """
    men = count_men(context.tiers, task.tier, task.side)
    lets_escape = _sort_targets(context, task, men)
    summary = MoveSummary(I64(0), I64(2) if lets_escape else I64(0), I64(0), False)
    # Mode `FULL` examines each move once. In the other modes, a single move, usually a quiet one, often settles the
    # item.
    for step in range(_TACTICAL if task.mode == FULL else _FIRST, _REST + 1):
        for turn in range(men):
            # White's king comes first, because it makes most of the winning moves.
            man = turn if task.side == 1 else men - 1 - turn
            if step == _TACTICAL:
                summary = _try_tactical(context, task, man, men, summary)
            else:
                summary = _try_quiet(context, task, man, men, summary)
            if summary.settled:
                return _item_of(task, summary)
    return _item_of(task, summary)


@kernel
def forward_pass(directory: NDArray[np.int64], arguments: Pass, first: int, last: int) -> int:
    """Examine the moves from all positions in the given rows, except positions whose items are final.

    The pass takes O(examined entries * moves) time.
    """
    context, task = record_at(directory, Context), flat(arguments)
    index = context.tiers
    column_men, items = index.tier.column_men[task.tier], task.mine
    final = won_in(task.limit + 2)
    men = index.tier.attackers[task.tier]
    by_rows = (
        task.by_rows != 0 and task.side == 1 and context.rules.either_after_ply == 0 and men <= context.row_arrays.men
    )
    by_rows = by_rows and context.rules.distant.far == 0
    context.cursor.head[ERRORS] = 0
    for orbit in range(index.square.kings):
        before = I64(-1)
        begin, end, at_begin, width = rows_of_king(index, task.tier, orbit, first, last)
        together = by_rows and column_men == 0 and are_all_rows(index, task.tier, orbit, begin, end)
        if together:
            evaluate_king(context, task, orbit)
        for row in range(begin, end):
            base = at_begin + (row - begin) * width
            at = I64(-1)
            evaluated = together
            if by_rows and column_men > 0 and index.row.residual[index.tier.meta_at[task.tier] + row] == 1:
                set_later_row(context, task.tier, row, before, task.side)
                before = I64(row)
                evaluate_row(context, advance(items, base), advance(task.theirs, base), task.report, men, task.limit)
                evaluated = True
            for column in range(width):
                item = I64(items[base + column])
                if item == ALIAS or (is_decided(item) and (is_loss(item) or item <= final)):
                    continue
                if evaluated and item != PENDING:
                    continue
                if at < 0 and before != row:
                    set_later_row(context, task.tier, row, before, task.side)
                    before = I64(row)
                step_to(context, column_men, at, column)
                at = I64(column)
                new = _evaluate(context, task)
                if new != item:
                    items[base + column] = np.uint16(new)
                    if is_decided(new):
                        task.report[code_of(new)] += 1
    return context.cursor.head[ERRORS]
