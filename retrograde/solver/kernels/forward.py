"""The forward passes: what a position's moves say about it, once and for all of a tier.

`evaluate` looks at every move of the open position. Moves that capture lead to
lower tiers, whose values are known; quiet moves stay in the tier, whose other
side may be partly known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.kernels.cursor import open_later_row, step_to
from retrograde.solver.kernels.entries import attacker_entry, prepare_attacker, white_entry
from retrograde.solver.kernels.moves import capture_item, may_return, piece_of
from retrograde.solver.kernels.rows import PENDING, judge_row
from retrograde.solver.kernels.task import FULL, LOSSES, WINS, Pass
from retrograde.solver.kernels.together import judge_king
from retrograde.solver.kernels.workspace import ERRORS, KING, Desk, Workspace
from tablut.engine.attacks import beside, blocking_places, may_capture, slides_along, winner_of
from tablut.engine.jit import I64, advance, inlined, kernel, pointer, trailing_zeros
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import coordinates, line_of, move_of, occupied, undo_captured
from tablut.engine.records import flat, record_at
from tablut.indexing.tier_tables import code_of, is_decided, is_loss, lost_in, plies_of, won_in
from tablut.indexing.values import ALIAS, CAPTURES, SAFE
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

_QUIET, _WON, _LOST = -2, -3, -4
"""Instead of a successor's item: the move captures nothing; it ends the game, won or lost for its side."""


@inlined
def _sort_targets(t: Tables, x: TierTables, w: Workspace, p: Pass) -> tuple[int, bool]:
    """Write where each man may go, as masks of its row and its column: beside an enemy, or quietly.

    While the king threatens to escape, a quiet move of black's that does not block its
    way lets it: such a successor is known without being looked up, and left out.
    """
    board, side = w.here.board, p.side
    king_rank, king_file = coordinates(t, w.cursor.head[KING])
    men = x.tier.attackers[p.tier] if side == 1 else x.tier.defenders[p.tier] + 1
    moves, lets_escape = I64(0), False
    threatened, row_way, column_way = False, I64(0), I64(0)
    if side == 1 and t.either_after_ply == 0 and p.limit > 0:
        threatened, row_way, column_way = blocking_places(t, board, w.cursor.head[KING])
    for man in range(men):
        start, slides = piece_of(t, w, side, man, men)
        rank, file = coordinates(t, start)
        for axis in range(2):
            line = rank if axis == 0 else t.size + file
            content = occupied(line_of(board, line))
            targets = slides_along(t, slides, line, file if axis == 0 else rank, content)
            moves |= targets
            near = beside(t, board, line, side ^ 1)
            if side == 0 and man == men - 1:
                near |= I64(t.escapes_on[line])
            if t.either_after_ply != 0:
                near = targets
            if threatened:
                if axis == 0:
                    blocks = (row_way if rank == king_rank else 0) | (((column_way >> rank) & 1) << king_file)
                else:
                    blocks = (column_way if file == king_file else 0) | (((row_way >> file) & 1) << king_rank)
                concerned = (blocks | near) & targets
                lets_escape |= concerned != targets
                targets = concerned
            w.sharp[2 * man + axis] = targets & near
            w.quiet[2 * man + axis] = targets & ~near
    return moves, lets_escape


@inlined
def _sharp_item(t: Tables, x: TierTables, w: Workspace, p: Pass, man: int, men: int, target: int) -> int:
    """Return the item that a move beside an enemy, or to an escape, leads to; -1 if there is none; or `_QUIET`, ..."""
    board, king = w.here.board, w.cursor.head[KING]
    start, slides = piece_of(t, w, p.side, man, men)
    royal = p.side == 0 and man == men - 1
    if not (
        (royal and t.escapes[target] != 0)
        or may_capture(t, board, p.side, target, target if royal else king)
        or (t.either_after_ply != 0 and not may_return(t, board, slides, start, target))
    ):
        return I64(_QUIET)
    undo, outcome = make(t, board, move_of(start, target))
    item = I64(_QUIET)
    if outcome != UNDECIDED:
        item = I64(_WON) if winner_of(outcome) == p.side else I64(_LOST)
    elif undo_captured(undo) != 0:
        item = capture_item(t, x, w, w.here, p.lower, start, target)
    unmake(t, board, undo)
    return item


@inlined
def _evaluate(t: Tables, x: TierTables, w: Workspace, p: Pass) -> int:
    """Return the item of the open position, by all its moves; of `LOSSES` and `WINS` only those, and 0 otherwise."""
    men = x.tier.attackers[p.tier] if p.side == 1 else x.tier.defenders[p.tier] + 1
    best, worst, count, flags = I64(0), I64(0), I64(0), I64(0)
    moves, lets_escape = _sort_targets(t, x, w, p)
    if lets_escape:
        worst = I64(2)
    # The least distance of a win that is not known already ends the search for one.
    enough = p.limit + 2 if p.mode == WINS and t.either_after_ply == 0 else I64(0)
    # Where one move settles it, that is a quiet one more often than not; a capture ends the rest.
    for phase in range(1 if p.mode == FULL else 0, 3):
        for turn in range(men):
            # White's king comes first: most wins are its.
            man = turn if p.side == 1 else men - 1 - turn
            start, _ = piece_of(t, w, p.side, man, men)
            rank, file = coordinates(t, start)
            prepared = False
            for axis in range(2):
                if phase == 1:
                    targets = w.sharp[2 * man + axis]
                else:
                    targets = w.quiet[2 * man + axis]
                    w.quiet[2 * man + axis] = 0
                while targets:
                    place = trailing_zeros(targets)
                    targets &= targets - 1
                    target = rank * t.size + place if axis == 0 else place * t.size + file
                    if phase == 1:
                        item = _sharp_item(t, x, w, p, man, men, target)
                        if item == _QUIET:
                            w.quiet[2 * man + axis] |= 1 << place
                            continue
                        if item == _WON:
                            return won_in(1)
                        if item == _LOST:
                            worst = max(worst, I64(1))
                            continue
                        flags |= CAPTURES
                    else:
                        if p.side == 1 and not prepared:
                            prepare_attacker(x, w, man, men)
                            prepared = True
                        if p.side == 1:
                            entry = attacker_entry(x, w, p.tier, man, target)
                        else:
                            entry = white_entry(x, w, p.tier, man, target)
                        item = I64(p.theirs[entry]) if entry >= 0 else I64(-1)
                    if item < 0:
                        w.cursor.head[ERRORS] += 1
                        continue
                    distance = plies_of(item) + 1
                    if not is_decided(item) or (phase != 1 and not is_loss(item) and distance > p.limit + 1):
                        if p.mode == LOSSES:
                            return I64(0)
                        if phase == 1:
                            flags |= SAFE
                        else:
                            count += 1
                    elif not is_loss(item):
                        worst = max(worst, distance)
                    else:
                        best = distance if best == 0 else min(best, distance)
                        if best <= enough:
                            return won_in(best)
    if p.mode == WINS:
        return won_in(best) if 0 < best <= p.limit + 2 else I64(0)
    if best != 0:
        return won_in(best) if p.mode == FULL else I64(0)
    if moves == 0:
        return lost_in(I64(0))
    if count == 0 and flags & SAFE == 0:
        return lost_in(worst)
    return count | flags if p.mode == FULL else I64(0)


@kernel
def forward_pass(desk: NDArray[np.int64], task: Pass, first: int, last: int) -> int:
    """Write the items of some rows of a tier that are not final; O(entries looked at * moves)."""
    d, p = record_at(pointer(desk), Desk), flat(task)
    t, x, w = d.tables, d.tiers, d.workspace
    column_men, items = x.tier.column_men[p.tier], p.mine
    final = won_in(p.limit + 2)
    men = x.tier.attackers[p.tier]
    may_judge = p.by_rows != 0 and p.side == 1 and t.either_after_ply == 0 and men <= w.judged.men
    w.cursor.head[ERRORS] = 0
    for orbit in range(x.square.kings):
        by_king = p.tier * x.square.kings + orbit
        opened = I64(-1)
        start, rows, width = x.tier.first_row[by_king], x.tier.row_count[by_king], x.tier.width[by_king]
        together = may_judge and column_men == 0 and rows > 0 and first <= start and start + rows <= last
        if together:
            judge_king(t, x, w, p, orbit)
        for row in range(max(first, start), min(last, start + rows)):
            base = x.tier.base[by_king] + (row - start) * width
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
