"""The passes that examine the moves of a position: the first pass, and the forward passes.

The first pass finds positions without a legal move, and white's immediate wins, mostly for many columns together.
Columns that differ only in their lowest soldier are adjacent, and form a *run*. Within a row, the cell of a column
soldier alone determines whether the soldier blocks the king's way to an escape, and whether it can be shut in.

A forward pass examines every move of a position. Captures lead to lower tiers, whose values are known.
Quiet moves stay in the tier, in which the values with the other side to move may be partly known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retrograde.solver.kernels.cursor import (
    are_all_rows,
    attacker_entry,
    capture_item,
    close_column,
    columns_of_row,
    first_run,
    is_alias,
    may_return,
    next_run,
    open_column,
    open_later_row,
    piece_of,
    prepare_attacker,
    rows_of_king,
    step_to,
    white_entry,
)
from retrograde.solver.kernels.rows import PENDING, is_spread, judge_king, judge_row, open_king, spread_out, take_in
from retrograde.solver.kernels.workspace import ERRORS, FULL, KING, LOSSES, RESIDUAL, WINS, Desk, Pass, Workspace
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
from tablut.engine.kernels import can_move, make, unmake
from tablut.engine.layout import BoardArray, cell_on_cross, coordinates, cross_of, move_of, undo_captured
from tablut.engine.records import flat, record_at
from tablut.indexing.tier_tables import code_of, is_decided, is_loss, lost_in, plies_of, won_in
from tablut.indexing.values import ALIAS, CAPTURES, SAFE
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Pass
    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables


@inlined
def _has_move(rules: Tables, index: TierTables, work: Workspace, task: Pass) -> bool:
    """Return whether the side to move has a legal move in the open position."""
    if task.side == 0:
        return can_move(rules, work.here.board, 0)
    for k in range(index.tier.attackers[task.tier]):
        along_rank, along_file = slides_from(rules, work.here.board, rules.attacker_slides, I64(work.here.black[k]))
        if (along_rank | along_file) != 0:
            return True
    return False


@called
def _mark_escapes(
    rules: Tables, index: TierTables, work: Workspace, items: NDArray[np.uint16], men: int, width: int
) -> int:
    """Mark as won the columns of the open row in which the king can escape; return their number."""
    king = work.cursor.head[KING]
    rank, file = coordinates(rules, king)
    west, east, south, north = escape_ways(rules, work.here.board, king)
    ways = I64(west != 0) | (I64(east != 0) << 1) | (I64(south != 0) << 2) | (I64(north != 0) << 3)
    if ways == 0:
        return I64(0)
    # The king's ways that a column soldier blocks, by the number of the soldier's cell.
    closed = work.traits
    for cell in range(index.square.cells):
        number = I64(work.cursor.number[cell])
        if number >= 0:
            found = I64(0)
            if I64(rules.rank[cell]) == rank:
                place = I64(rules.file[cell])
                found |= ((west >> place) & 1) | (((east >> place) & 1) << 1)
            if I64(rules.file[cell]) == file:
                place = I64(rules.rank[cell])
                found |= (((south >> place) & 1) << 2) | (((north >> place) & 1) << 3)
            closed[number] = found
    marked, numbers = I64(0), work.run
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
def _mark_stuck(
    rules: Tables, index: TierTables, work: Workspace, items: NDArray[np.uint16], men: int, width: int
) -> int:
    """Mark as lost the columns of the open row in which no column soldier can move; return their number."""
    # Each other column soldier blocks at most one direction. With `men` or more free directions, a soldier can always
    # move.
    free = work.traits
    for cell in range(index.square.cells):
        number = I64(work.cursor.number[cell])
        if number >= 0:
            along_rank, along_file = slides_from(rules, work.here.board, rules.attacker_slides, cell)
            rank, file = coordinates(rules, cell)
            ways = I64(along_rank >> file != 0) + I64(along_rank & ((1 << file) - 1) != 0)
            ways += I64(along_file >> rank != 0) + I64(along_file & ((1 << rank) - 1) != 0)
            free[number] = ways >= men
    marked, numbers = I64(0), work.run
    column, run = I64(0), first_run(numbers, men, width)
    while column < width:
        moves = False
        for k in range(1, men):
            moves |= free[numbers[k]] != 0
        if not moves:
            for low in range(run):
                if free[low] != 0:
                    continue
                open_column(rules, index, work, men, column + low)
                moves = False
                for k in range(men):
                    along_rank, along_file = slides_from(
                        rules, work.here.board, rules.attacker_slides, I64(work.here.black[k])
                    )
                    moves |= (along_rank | along_file) != 0
                close_column(rules, work, men)
                if not moves:
                    items[column + low] = np.uint16(lost_in(0))
                    marked += 1
        column += run
        run = next_run(numbers, men, width)
    return marked


@called
def _mark_king(rules: Tables, index: TierTables, work: Workspace, task: Pass, orbit: int) -> bool:
    """Mark the rows of a king in a tier without defenders like columns; return whether nothing is left to do."""
    if task.side == 0 and rules.either_after_ply != 0:
        return False
    open_king(rules, index, work, task, orbit)
    men, mine = (
        index.tier.row_men[task.tier],
        advance(task.mine, index.tier.base[task.tier * index.square.kings + orbit]),
    )
    width, spread = columns_of_row(index, work, men), is_spread(index, work, task)
    items = work.judged.mine if spread else mine
    if spread:
        spread_out(index, work, task, mine, items)
    marked = (
        _mark_stuck(rules, index, work, items, men, width)
        if task.side == 1
        else _mark_escapes(rules, index, work, items, men, width)
    )
    if spread:
        take_in(index, work, task, mine, items)
    else:
        task.report[1 if task.side == 1 else 2] += marked
    return task.side == 1


_QUIET, _ENDED_LOST = -2, -3
"""Values in place of a successor's item: the move captures nothing; the move ends the game as a loss for the mover."""


@inlined
def _sharp_places(rules: Tables, board: BoardArray, side: int, cell: int, royal: bool) -> int:
    """Return the cross of the places next to an enemy around a piece of ``side``; for the king, include the escapes."""
    rank, file = coordinates(rules, cell)
    row, column = beside(rules, board, rank, side ^ 1), beside(rules, board, rules.size + file, side ^ 1)
    if royal:
        row |= I64(rules.escapes_on[rank])
        column |= I64(rules.escapes_on[rules.size + file])
    return cross_of(row, column)


@inlined
def _may_end_or_capture(rules: Tables, board: BoardArray, side: int, target: int, king: int, royal: bool) -> bool:
    """Return whether a move to a target may escape or capture; ``royal`` if the king moves."""
    return (royal and rules.escapes[target] != 0) or may_capture(rules, board, side, target, target if royal else king)


@inlined
def _item_after(rules: Tables, index: TierTables, work: Workspace, task: Pass, move: int) -> int:
    """Return the item of a move's successor outside the tier; -1 if it has no entry, `_QUIET` or `_ENDED_LOST`.

    A move that wins the game gives the opponent the value of a position without a legal move: a loss in 0 plies.
    """
    board, item = work.here.board, I64(_QUIET)
    undo, outcome = make(rules, board, move)
    if outcome != UNDECIDED:
        item = lost_in(0) if winner_of(outcome) == task.side else I64(_ENDED_LOST)
    elif undo_captured(undo) != 0:
        item = capture_item(rules, index, work, board, task.lower)
    unmake(rules, board, undo)
    return item


@inlined
def _wins_at_once(rules: Tables, index: TierTables, work: Workspace, task: Pass) -> bool:
    """Return whether white wins in one ply in the open position, by an escape or a capture.

    A capture also wins immediately if it leaves black without a legal move. Quiet moves that do so are not examined
    here, because the positions to which they lead are propagated to their parents.
    """
    board, king = work.here.board, work.cursor.head[KING]
    if rules.either_after_ply == 0:
        along_rank, along_file = escape_targets(rules, board, king)
        if (along_rank | along_file) != 0:
            return True
    men, afar = index.tier.defenders[task.tier] + 1, may_end_afar(rules, board, I64(0))
    for man in range(men):
        royal = man == men - 1
        start, slides = piece_of(rules, work, 0, man, men)
        along_rank, along_file = slides_from(rules, board, slides, start)
        centre, targets = coordinates(rules, start), cross_of(along_rank, along_file)
        if not afar:
            targets &= _sharp_places(rules, board, I64(0), start, royal)
        while targets:
            target = cell_on_cross(rules, centre, trailing_zeros(targets))
            targets &= targets - 1
            looked_at = afar or _may_end_or_capture(rules, board, I64(0), target, king, royal)
            if looked_at and _item_after(rules, index, work, task, move_of(rules, start, target)) == lost_in(0):
                return True
    return False


@kernel
def immediate_pass(directory: NDArray[np.int64], arguments: Pass, first: int, last: int) -> int:
    """Mark aliases, positions without a legal move, and white's wins in one ply, in the given rows of a tier."""
    desk, task = record_at(directory, Desk), flat(arguments)
    rules, index, work = desk.tables, desk.tiers, desk.workspace
    column_men = index.tier.column_men[task.tier]
    work.cursor.head[ERRORS] = 0
    for orbit in range(index.square.kings):
        opened = I64(-1)
        begin, end, at_begin, width = rows_of_king(index, task.tier, orbit, first, last)
        may_mark = column_men == 0 and index.tier.attackers[task.tier] <= work.judged.men
        if (
            may_mark
            and are_all_rows(index, task.tier, orbit, begin, end)
            and _mark_king(rules, index, work, task, orbit)
        ):
            continue
        for row in range(begin, end):
            base = at_begin + (row - begin) * width
            if column_men == 0 and task.mine[base] != 0:
                continue
            open_later_row(rules, index, work, task.tier, row, opened, task.side)
            opened = I64(row)
            aliases = column_men > 0 and work.cursor.head[RESIDUAL] != 1
            if column_men > 0 and not aliases:
                if task.side == 1:
                    task.report[1] += _mark_stuck(rules, index, work, advance(task.mine, base), column_men, width)
                    continue
                if rules.either_after_ply == 0:
                    task.report[2] += _mark_escapes(rules, index, work, advance(task.mine, base), column_men, width)
            at = I64(-1)
            for column in range(width):
                if task.mine[base + column] != 0:
                    continue
                step_to(rules, index, work, column_men, at, column)
                at = I64(column)
                new = I64(0)
                if aliases and is_alias(index, work, task.tier, base + column):
                    task.mine[base + column] = np.uint16(ALIAS)
                    task.report[ALIAS] += 1
                    continue
                if task.side == 0 and _wins_at_once(rules, index, work, task):
                    new = won_in(1)
                elif not _has_move(rules, index, work, task):
                    new = lost_in(0)
                if new != 0:
                    task.mine[base + column] = np.uint16(new)
                    task.report[code_of(new)] += 1
    return work.cursor.head[ERRORS]


# -- the forward passes ----------------------------------------------------------------------


_FIRST, _SHARP, _REST = range(3)
"""Steps of examining a position's moves.

First come the moves that are clearly quiet, then those that may capture or end the game, some of which turn out to be
quiet, and last the remaining quiet moves.
"""


class _MoveTally(NamedTuple):
    """Summary of the moves of the open position that have been examined so far.

    Attributes
    ----------
    best : int
        Plies of the quickest win; 0 if there is none.
    worst : int
        Plies of the longest loss.
    left : int
        The open item (`tablut.indexing.values`): the number of quiet moves not known to lose, and flags for whether
        captures were met (`CAPTURES`) and whether one of them does not lose (`SAFE`).
    settled : bool
        Whether the remaining moves no longer matter.
    """

    best: int
    worst: int
    left: int
    settled: bool


@inlined
def _blocking_places(rules: Tables, king: int, cell: int, rank_way: int, file_way: int) -> int:
    """Return the cross of the places in line with a cell that lie on the king's ways found by `blocking_places`."""
    (rank, file), (king_rank, king_file) = coordinates(rules, cell), coordinates(rules, king)
    row, column = ((file_way >> rank) & 1) << king_file, ((rank_way >> file) & 1) << king_rank
    return cross_of(row | (rank_way if rank == king_rank else 0), column | (file_way if file == king_file else 0))


@inlined
def _sort_targets(rules: Tables, work: Workspace, task: Pass, men: int) -> bool:
    """Write the targets of each man as two crosses, next to an enemy and quiet; return whether a move allows an escape.

    While the king threatens to escape, any quiet move of black that does not block the king's way lets it escape. The
    value of the successor is then known without a lookup, so these moves are left out.
    """
    board, side, king = work.here.board, task.side, work.cursor.head[KING]
    lets_escape, all_sharp = False, rules.either_after_ply != 0 or may_end_afar(rules, board, side)
    threatened, rank_way, file_way = False, I64(0), I64(0)
    if side == 1 and rules.either_after_ply == 0 and task.limit > 0:
        threatened, rank_way, file_way = blocking_places(rules, board, king)
    for man in range(men):
        start, slides = piece_of(rules, work, side, man, men)
        along_rank, along_file = slides_from(rules, board, slides, start)
        targets = cross_of(along_rank, along_file)
        sharp = targets
        if not all_sharp:
            sharp &= _sharp_places(rules, board, side, start, side == 0 and man == men - 1)
        quiet = targets & ~sharp
        if threatened:
            useful = quiet & _blocking_places(rules, king, start, rank_way, file_way)
            lets_escape |= useful != quiet
            quiet = useful
        work.sharp[man], work.quiet[man] = sharp, quiet
    return lets_escape


@inlined
def _sharp_item(rules: Tables, index: TierTables, work: Workspace, task: Pass, man: int, men: int, target: int) -> int:
    """Return the result of `_item_after` for a move that ends next to an enemy or on an escape.

    Most of these moves turn out to be quiet, and need not be made on the board.
    """
    board = work.here.board
    start, slides = piece_of(rules, work, task.side, man, men)
    if (
        _may_end_or_capture(rules, board, task.side, target, work.cursor.head[KING], task.side == 0 and man == men - 1)
        or (rules.either_after_ply != 0 and not may_return(rules, board, slides, start, target))
        or may_end_afar(rules, board, task.side)
    ):
        return _item_after(rules, index, work, task, move_of(rules, start, target))
    return I64(_QUIET)


@inlined
def _enough(rules: Tables, task: Pass) -> int:
    """Return the distance of a win after which no further move has to be examined.

    A search for wins usually stops at any win that is not known yet. Otherwise it stops only at a win in one ply.
    """
    return task.limit + 2 if task.mode == WINS and rules.either_after_ply == 0 else I64(1)


@inlined
def _try_sharp(
    rules: Tables, index: TierTables, work: Workspace, task: Pass, man: int, men: int, tally: _MoveTally
) -> _MoveTally:
    """Return the tally with a man's moves that capture or end the game added; quiet moves are left for later."""
    best, worst, left, settled = tally.best, tally.worst, tally.left, False
    start, _ = piece_of(rules, work, task.side, man, men)
    centre, targets, quiet = coordinates(rules, start), work.sharp[man], work.quiet[man]
    while targets and not settled:
        place = trailing_zeros(targets)
        targets &= targets - 1
        item = _sharp_item(rules, index, work, task, man, men, cell_on_cross(rules, centre, place))
        if item == _QUIET:
            quiet |= I64(1) << place
        elif item == _ENDED_LOST:
            worst = max(worst, I64(1))
        elif item < 0:
            work.cursor.head[ERRORS] += 1
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
    work.quiet[man] = quiet
    return _MoveTally(best, worst, left, settled)


@inlined
def _try_quiet(
    rules: Tables, index: TierTables, work: Workspace, task: Pass, man: int, men: int, tally: _MoveTally
) -> _MoveTally:
    """Return the tally with all quiet moves of a man added; their successors are in the tier."""
    best, worst, left, settled = tally.best, tally.worst, tally.left, False
    start, _ = piece_of(rules, work, task.side, man, men)
    centre, targets = coordinates(rules, start), work.quiet[man]
    work.quiet[man] = 0
    if task.side == 1 and targets != 0:
        prepare_attacker(index, work, man, men)
    while targets and not settled:
        target = cell_on_cross(rules, centre, trailing_zeros(targets))
        targets &= targets - 1
        entry = (
            attacker_entry(index, work, task.tier, man, target)
            if task.side == 1
            else white_entry(index, work, task.tier, man, target)
        )
        if entry < 0:
            work.cursor.head[ERRORS] += 1
            continue
        item = I64(task.theirs[entry])
        if not is_decided(item) or (not is_loss(item) and plies_of(item) > task.limit):
            # The successor is open, or a win of the opponent's that has yet to be propagated.
            left += 1
            settled = task.mode == LOSSES
        elif is_loss(item):
            best = _quicker(best, plies_of(item) + 1)
            settled = best <= _enough(rules, task)
        else:
            worst = max(worst, plies_of(item) + 1)
    return _MoveTally(best, worst, left, settled)


@inlined
def _quicker(best: int, plies: int) -> int:
    """Return the distance of the quicker of two wins. ``best`` is 0 if there is no first one."""
    return plies if best == 0 else min(best, plies)


@inlined
def _item_of(task: Pass, tally: _MoveTally) -> int:
    """Return the item implied by a count of moves, or 0 if the pass does not look for items of this kind."""
    best = tally.best
    if best != 0:
        wanted = best == 1 or task.mode == FULL or (task.mode == WINS and best <= task.limit + 2)
        return won_in(best) if wanted else I64(0)
    if task.mode == WINS:
        return I64(0)
    if tally.left & ~CAPTURES == 0:
        return lost_in(tally.worst)
    return tally.left if task.mode == FULL else I64(0)


@inlined
def _evaluate(rules: Tables, index: TierTables, work: Workspace, task: Pass) -> int:
    """Compute the work item of the current position from its moves.

    In the modes `LOSSES` and `WINS`, return only items of these kinds, and 0 for anything else.
    """
    men = index.tier.attackers[task.tier] if task.side == 1 else index.tier.defenders[task.tier] + 1
    lets_escape = _sort_targets(rules, work, task, men)
    tally = _MoveTally(I64(0), I64(2) if lets_escape else I64(0), I64(0), False)
    # If a single move settles the item, it is mostly a quiet one. In mode `FULL`, each move is examined only once.
    for step in range(_SHARP if task.mode == FULL else _FIRST, _REST + 1):
        for turn in range(men):
            # White's king comes first, because it makes most of the winning moves.
            man = turn if task.side == 1 else men - 1 - turn
            if step == _SHARP:
                tally = _try_sharp(rules, index, work, task, man, men, tally)
            else:
                tally = _try_quiet(rules, index, work, task, man, men, tally)
            if tally.settled:
                return _item_of(task, tally)
    return _item_of(task, tally)


@kernel
def forward_pass(directory: NDArray[np.int64], arguments: Pass, first: int, last: int) -> int:
    """Write the items of some rows of a tier that are not final; O(examined entries * moves)."""
    desk, task = record_at(directory, Desk), flat(arguments)
    rules, index, work = desk.tables, desk.tiers, desk.workspace
    column_men, items = index.tier.column_men[task.tier], task.mine
    final = won_in(task.limit + 2)
    men = index.tier.attackers[task.tier]
    may_judge = task.by_rows != 0 and task.side == 1 and rules.either_after_ply == 0 and men <= work.judged.men
    may_judge = may_judge and rules.distant.far == 0
    work.cursor.head[ERRORS] = 0
    for orbit in range(index.square.kings):
        opened = I64(-1)
        begin, end, at_begin, width = rows_of_king(index, task.tier, orbit, first, last)
        together = may_judge and column_men == 0 and are_all_rows(index, task.tier, orbit, begin, end)
        if together:
            judge_king(rules, index, work, task, orbit)
        for row in range(begin, end):
            base = at_begin + (row - begin) * width
            at = I64(-1)
            judged = together
            if may_judge and column_men > 0 and index.row.residual[index.tier.meta_at[task.tier] + row] == 1:
                open_later_row(rules, index, work, task.tier, row, opened, task.side)
                opened = I64(row)
                judge_row(
                    rules, index, work, advance(items, base), advance(task.theirs, base), task.report, men, task.limit
                )
                judged = True
            for column in range(width):
                item = I64(items[base + column])
                if item == ALIAS or (is_decided(item) and (is_loss(item) or item <= final)):
                    continue
                if judged and item != PENDING:
                    continue
                if at < 0 and opened != row:
                    open_later_row(rules, index, work, task.tier, row, opened, task.side)
                    opened = I64(row)
                step_to(rules, index, work, column_men, at, column)
                at = I64(column)
                new = _evaluate(rules, index, work, task)
                if new != item:
                    items[base + column] = np.uint16(new)
                    if is_decided(new):
                        task.report[code_of(new)] += 1
    return work.cursor.head[ERRORS]
