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
from tablut.engine.layout import cell_on_cross, coordinates, cross_of, move_of, undo_captured
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
def _has_move(t: Tables, x: TierTables, w: Workspace, p: Pass) -> bool:
    """Return whether the side to move has a legal move in the open position."""
    if p.side == 0:
        return can_move(t, w.here.board, 0)
    for k in range(x.tier.attackers[p.tier]):
        along_rank, along_file = slides_from(t, w.here.board, t.attacker_slides, I64(w.here.black[k]))
        if (along_rank | along_file) != 0:
            return True
    return False


@called
def _mark_escapes(t: Tables, x: TierTables, w: Workspace, items: NDArray[np.uint16], men: int, width: int) -> int:
    """Mark as won the columns of the open row in which the king can escape; return their number."""
    king = w.cursor.head[KING]
    rank, file = coordinates(t, king)
    west, east, south, north = escape_ways(t, w.here.board, king)
    ways = I64(west != 0) | (I64(east != 0) << 1) | (I64(south != 0) << 2) | (I64(north != 0) << 3)
    if ways == 0:
        return I64(0)
    # The king's ways that a column soldier blocks, by the number of the soldier's cell.
    closed = w.traits
    for cell in range(x.square.cells):
        number = I64(w.cursor.number[cell])
        if number >= 0:
            found = I64(0)
            if I64(t.rank[cell]) == rank:
                place = I64(t.file[cell])
                found |= ((west >> place) & 1) | (((east >> place) & 1) << 1)
            if I64(t.file[cell]) == file:
                place = I64(t.rank[cell])
                found |= (((south >> place) & 1) << 2) | (((north >> place) & 1) << 3)
            closed[number] = found
    marked, numbers = I64(0), w.run
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
def _mark_stuck(t: Tables, x: TierTables, w: Workspace, items: NDArray[np.uint16], men: int, width: int) -> int:
    """Mark as lost the columns of the open row in which no column soldier can move; return their number."""
    # Each other column soldier blocks at most one direction. With `men` or more free directions, a soldier can always
    # move.
    free = w.traits
    for cell in range(x.square.cells):
        number = I64(w.cursor.number[cell])
        if number >= 0:
            along_rank, along_file = slides_from(t, w.here.board, t.attacker_slides, cell)
            rank, file = coordinates(t, cell)
            ways = I64(along_rank >> file != 0) + I64(along_rank & ((1 << file) - 1) != 0)
            ways += I64(along_file >> rank != 0) + I64(along_file & ((1 << rank) - 1) != 0)
            free[number] = ways >= men
    marked, numbers = I64(0), w.run
    column, run = I64(0), first_run(numbers, men, width)
    while column < width:
        moves = False
        for k in range(1, men):
            moves |= free[numbers[k]] != 0
        if not moves:
            for low in range(run):
                if free[low] != 0:
                    continue
                open_column(t, x, w, men, column + low)
                moves = False
                for k in range(men):
                    along_rank, along_file = slides_from(t, w.here.board, t.attacker_slides, I64(w.here.black[k]))
                    moves |= (along_rank | along_file) != 0
                close_column(t, w, men)
                if not moves:
                    items[column + low] = np.uint16(lost_in(0))
                    marked += 1
        column += run
        run = next_run(numbers, men, width)
    return marked


@called
def _mark_king(t: Tables, x: TierTables, w: Workspace, p: Pass, orbit: int) -> bool:
    """Mark the rows of a king in a tier without defenders like columns; return whether nothing is left to do."""
    if p.side == 0 and t.either_after_ply != 0:
        return False
    open_king(t, x, w, p, orbit)
    men, mine = x.tier.row_men[p.tier], advance(p.mine, x.tier.base[p.tier * x.square.kings + orbit])
    width, spread = columns_of_row(x, w, men), is_spread(x, w, p)
    items = w.judged.mine if spread else mine
    if spread:
        spread_out(x, w, p, mine, items)
    marked = _mark_stuck(t, x, w, items, men, width) if p.side == 1 else _mark_escapes(t, x, w, items, men, width)
    if spread:
        take_in(x, w, p, mine, items)
    else:
        p.report[1 if p.side == 1 else 2] += marked
    return p.side == 1


_QUIET, _ENDED_LOST = -2, -3
"""Values in place of a successor's item: the move captures nothing; the move ends the game as a loss for the mover."""


@inlined
def _sharp_places(t: Tables, board: NDArray[np.uint32], side: int, cell: int, royal: bool) -> int:
    """Return the cross of the places next to an enemy around a piece of ``side``; for the king, include the escapes."""
    rank, file = coordinates(t, cell)
    row, column = beside(t, board, rank, side ^ 1), beside(t, board, t.size + file, side ^ 1)
    if royal:
        row |= I64(t.escapes_on[rank])
        column |= I64(t.escapes_on[t.size + file])
    return cross_of(row, column)


@inlined
def _may_end_or_capture(t: Tables, board: NDArray[np.uint32], side: int, target: int, king: int, royal: bool) -> bool:
    """Return whether a move to a target may escape or capture; ``royal`` if the king moves."""
    return (royal and t.escapes[target] != 0) or may_capture(t, board, side, target, target if royal else king)


@inlined
def _item_after(t: Tables, x: TierTables, w: Workspace, p: Pass, move: int) -> int:
    """Return the item of a move's successor outside the tier; -1 if it has no entry, `_QUIET` or `_ENDED_LOST`.

    A move that wins the game gives the opponent the value of a position without a legal move: a loss in 0 plies.
    """
    board, item = w.here.board, I64(_QUIET)
    undo, outcome = make(t, board, move)
    if outcome != UNDECIDED:
        item = lost_in(0) if winner_of(outcome) == p.side else I64(_ENDED_LOST)
    elif undo_captured(undo) != 0:
        item = capture_item(t, x, w, board, p.lower)
    unmake(t, board, undo)
    return item


@inlined
def _wins_at_once(t: Tables, x: TierTables, w: Workspace, p: Pass) -> bool:
    """Return whether white wins in one ply in the open position, by an escape or a capture.

    A capture also wins immediately if it leaves black without a legal move. Quiet moves that do so are not examined
    here, because the positions to which they lead are propagated to their parents.
    """
    board, king = w.here.board, w.cursor.head[KING]
    if t.either_after_ply == 0:
        along_rank, along_file = escape_targets(t, board, king)
        if (along_rank | along_file) != 0:
            return True
    men, afar = x.tier.defenders[p.tier] + 1, may_end_afar(t, board, I64(0))
    for man in range(men):
        royal = man == men - 1
        start, slides = piece_of(t, w, 0, man, men)
        along_rank, along_file = slides_from(t, board, slides, start)
        centre, targets = coordinates(t, start), cross_of(along_rank, along_file)
        if not afar:
            targets &= _sharp_places(t, board, I64(0), start, royal)
        while targets:
            target = cell_on_cross(t, centre, trailing_zeros(targets))
            targets &= targets - 1
            looked_at = afar or _may_end_or_capture(t, board, I64(0), target, king, royal)
            if looked_at and _item_after(t, x, w, p, move_of(t, start, target)) == lost_in(0):
                return True
    return False


@kernel
def immediate_pass(desk: NDArray[np.int64], task: Pass, first: int, last: int) -> int:
    """Mark aliases, positions without a legal move, and white's wins in one ply, in the given rows of a tier."""
    d, p = record_at(desk, Desk), flat(task)
    t, x, w = d.tables, d.tiers, d.workspace
    column_men = x.tier.column_men[p.tier]
    w.cursor.head[ERRORS] = 0
    for orbit in range(x.square.kings):
        opened = I64(-1)
        begin, end, at_begin, width = rows_of_king(x, p.tier, orbit, first, last)
        may_mark = column_men == 0 and x.tier.attackers[p.tier] <= w.judged.men
        if may_mark and are_all_rows(x, p.tier, orbit, begin, end) and _mark_king(t, x, w, p, orbit):
            continue
        for row in range(begin, end):
            base = at_begin + (row - begin) * width
            if column_men == 0 and p.mine[base] != 0:
                continue
            open_later_row(t, x, w, p.tier, row, opened, p.side)
            opened = I64(row)
            aliases = column_men > 0 and w.cursor.head[RESIDUAL] != 1
            if column_men > 0 and not aliases:
                if p.side == 1:
                    p.report[1] += _mark_stuck(t, x, w, advance(p.mine, base), column_men, width)
                    continue
                if t.either_after_ply == 0:
                    p.report[2] += _mark_escapes(t, x, w, advance(p.mine, base), column_men, width)
            at = I64(-1)
            for column in range(width):
                if p.mine[base + column] != 0:
                    continue
                step_to(t, x, w, column_men, at, column)
                at = I64(column)
                new = I64(0)
                if aliases and is_alias(x, w, p.tier, base + column):
                    p.mine[base + column] = np.uint16(ALIAS)
                    p.report[ALIAS] += 1
                    continue
                if p.side == 0 and _wins_at_once(t, x, w, p):
                    new = won_in(1)
                elif not _has_move(t, x, w, p):
                    new = lost_in(0)
                if new != 0:
                    p.mine[base + column] = np.uint16(new)
                    p.report[code_of(new)] += 1
    return w.cursor.head[ERRORS]


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
def _blocking_places(t: Tables, king: int, cell: int, rank_way: int, file_way: int) -> int:
    """Return the cross of the places in line with a cell that lie on the king's ways found by `blocking_places`."""
    (rank, file), (king_rank, king_file) = coordinates(t, cell), coordinates(t, king)
    row, column = ((file_way >> rank) & 1) << king_file, ((rank_way >> file) & 1) << king_rank
    return cross_of(row | (rank_way if rank == king_rank else 0), column | (file_way if file == king_file else 0))


@inlined
def _sort_targets(t: Tables, w: Workspace, p: Pass, men: int) -> bool:
    """Write the targets of each man as two crosses, next to an enemy and quiet; return whether a move allows an escape.

    While the king threatens to escape, any quiet move of black that does not block the king's way lets it escape. The
    value of the successor is then known without a lookup, so these moves are left out.
    """
    board, side, king = w.here.board, p.side, w.cursor.head[KING]
    lets_escape, all_sharp = False, t.either_after_ply != 0 or may_end_afar(t, board, side)
    threatened, rank_way, file_way = False, I64(0), I64(0)
    if side == 1 and t.either_after_ply == 0 and p.limit > 0:
        threatened, rank_way, file_way = blocking_places(t, board, king)
    for man in range(men):
        start, slides = piece_of(t, w, side, man, men)
        along_rank, along_file = slides_from(t, board, slides, start)
        targets = cross_of(along_rank, along_file)
        sharp = targets
        if not all_sharp:
            sharp &= _sharp_places(t, board, side, start, side == 0 and man == men - 1)
        quiet = targets & ~sharp
        if threatened:
            useful = quiet & _blocking_places(t, king, start, rank_way, file_way)
            lets_escape |= useful != quiet
            quiet = useful
        w.sharp[man], w.quiet[man] = sharp, quiet
    return lets_escape


@inlined
def _sharp_item(t: Tables, x: TierTables, w: Workspace, p: Pass, man: int, men: int, target: int) -> int:
    """Return the result of `_item_after` for a move that ends next to an enemy or on an escape.

    Most of these moves turn out to be quiet, and need not be made on the board.
    """
    board = w.here.board
    start, slides = piece_of(t, w, p.side, man, men)
    if (
        _may_end_or_capture(t, board, p.side, target, w.cursor.head[KING], p.side == 0 and man == men - 1)
        or (t.either_after_ply != 0 and not may_return(t, board, slides, start, target))
        or may_end_afar(t, board, p.side)
    ):
        return _item_after(t, x, w, p, move_of(t, start, target))
    return I64(_QUIET)


@inlined
def _enough(t: Tables, p: Pass) -> int:
    """Return the distance of a win after which no further move has to be examined.

    A search for wins usually stops at any win that is not known yet. Otherwise it stops only at a win in one ply.
    """
    return p.limit + 2 if p.mode == WINS and t.either_after_ply == 0 else I64(1)


@inlined
def _try_sharp(t: Tables, x: TierTables, w: Workspace, p: Pass, man: int, men: int, tally: _MoveTally) -> _MoveTally:
    """Return the tally with a man's moves that capture or end the game added; quiet moves are left for later."""
    best, worst, left, settled = tally.best, tally.worst, tally.left, False
    start, _ = piece_of(t, w, p.side, man, men)
    centre, targets, quiet = coordinates(t, start), w.sharp[man], w.quiet[man]
    while targets and not settled:
        place = trailing_zeros(targets)
        targets &= targets - 1
        item = _sharp_item(t, x, w, p, man, men, cell_on_cross(t, centre, place))
        if item == _QUIET:
            quiet |= I64(1) << place
        elif item == _ENDED_LOST:
            worst = max(worst, I64(1))
        elif item < 0:
            w.cursor.head[ERRORS] += 1
        elif not is_decided(item):
            left |= CAPTURES | SAFE
            settled = p.mode == LOSSES
        elif is_loss(item):
            left |= CAPTURES
            best = _quicker(best, plies_of(item) + 1)
            settled = best <= _enough(t, p)
        else:
            left |= CAPTURES
            worst = max(worst, plies_of(item) + 1)
    w.quiet[man] = quiet
    return _MoveTally(best, worst, left, settled)


@inlined
def _try_quiet(t: Tables, x: TierTables, w: Workspace, p: Pass, man: int, men: int, tally: _MoveTally) -> _MoveTally:
    """Return the tally with all quiet moves of a man added; their successors are in the tier."""
    best, worst, left, settled = tally.best, tally.worst, tally.left, False
    start, _ = piece_of(t, w, p.side, man, men)
    centre, targets = coordinates(t, start), w.quiet[man]
    w.quiet[man] = 0
    if p.side == 1 and targets != 0:
        prepare_attacker(x, w, man, men)
    while targets and not settled:
        target = cell_on_cross(t, centre, trailing_zeros(targets))
        targets &= targets - 1
        entry = attacker_entry(x, w, p.tier, man, target) if p.side == 1 else white_entry(x, w, p.tier, man, target)
        if entry < 0:
            w.cursor.head[ERRORS] += 1
            continue
        item = I64(p.theirs[entry])
        if not is_decided(item) or (not is_loss(item) and plies_of(item) > p.limit):
            # The successor is open, or a win of the opponent's that has yet to be propagated.
            left += 1
            settled = p.mode == LOSSES
        elif is_loss(item):
            best = _quicker(best, plies_of(item) + 1)
            settled = best <= _enough(t, p)
        else:
            worst = max(worst, plies_of(item) + 1)
    return _MoveTally(best, worst, left, settled)


@inlined
def _quicker(best: int, plies: int) -> int:
    """Return the distance of the quicker of two wins. ``best`` is 0 if there is no first one."""
    return plies if best == 0 else min(best, plies)


@inlined
def _item_of(p: Pass, tally: _MoveTally) -> int:
    """Return the item implied by a count of moves, or 0 if the pass does not look for items of this kind."""
    best = tally.best
    if best != 0:
        wanted = best == 1 or p.mode == FULL or (p.mode == WINS and best <= p.limit + 2)
        return won_in(best) if wanted else I64(0)
    if p.mode == WINS:
        return I64(0)
    if tally.left & ~CAPTURES == 0:
        return lost_in(tally.worst)
    return tally.left if p.mode == FULL else I64(0)


@inlined
def _evaluate(t: Tables, x: TierTables, w: Workspace, p: Pass) -> int:
    """Compute the work item of the current position from its moves.

    In the modes `LOSSES` and `WINS`, return only items of these kinds, and 0 for anything else.
    """
    men = x.tier.attackers[p.tier] if p.side == 1 else x.tier.defenders[p.tier] + 1
    lets_escape = _sort_targets(t, w, p, men)
    tally = _MoveTally(I64(0), I64(2) if lets_escape else I64(0), I64(0), False)
    # If a single move settles the item, it is mostly a quiet one. In mode `FULL`, each move is examined only once.
    for step in range(_SHARP if p.mode == FULL else _FIRST, _REST + 1):
        for turn in range(men):
            # White's king comes first, because it makes most of the winning moves.
            man = turn if p.side == 1 else men - 1 - turn
            if step == _SHARP:
                tally = _try_sharp(t, x, w, p, man, men, tally)
            else:
                tally = _try_quiet(t, x, w, p, man, men, tally)
            if tally.settled:
                return _item_of(p, tally)
    return _item_of(p, tally)


@kernel
def forward_pass(desk: NDArray[np.int64], task: Pass, first: int, last: int) -> int:
    """Write the items of some rows of a tier that are not final; O(examined entries * moves)."""
    d, p = record_at(desk, Desk), flat(task)
    t, x, w = d.tables, d.tiers, d.workspace
    column_men, items = x.tier.column_men[p.tier], p.mine
    final = won_in(p.limit + 2)
    men = x.tier.attackers[p.tier]
    may_judge = p.by_rows != 0 and p.side == 1 and t.either_after_ply == 0 and men <= w.judged.men
    may_judge = may_judge and t.distant.far == 0
    w.cursor.head[ERRORS] = 0
    for orbit in range(x.square.kings):
        opened = I64(-1)
        begin, end, at_begin, width = rows_of_king(x, p.tier, orbit, first, last)
        together = may_judge and column_men == 0 and are_all_rows(x, p.tier, orbit, begin, end)
        if together:
            judge_king(t, x, w, p, orbit)
        for row in range(begin, end):
            base = at_begin + (row - begin) * width
            at = I64(-1)
            judged = together
            if may_judge and column_men > 0 and x.row.residual[x.tier.meta_at[p.tier] + row] == 1:
                open_later_row(t, x, w, p.tier, row, opened, p.side)
                opened = I64(row)
                judge_row(t, x, w, advance(items, base), advance(p.theirs, base), p.report, men, p.limit)
                judged = True
            for column in range(width):
                item = I64(items[base + column])
                if item == ALIAS or (is_decided(item) and (is_loss(item) or item <= final)):
                    continue
                if judged and item != PENDING:
                    continue
                if at < 0 and opened != row:
                    open_later_row(t, x, w, p.tier, row, opened, p.side)
                    opened = I64(row)
                step_to(t, x, w, column_men, at, column)
                at = I64(column)
                new = _evaluate(t, x, w, p)
                if new != item:
                    items[base + column] = np.uint16(new)
                    if is_decided(new):
                        p.report[code_of(new)] += 1
    return w.cursor.head[ERRORS]
