"""Alpha-beta: quiescence, and principal-variation search with a transposition table.

`quiesce` and `negamax` are recursive and fail-soft. They may prune, reduce and trust an
estimate, yet what they call proven (see `tablut.play.search.scores`) is: a win needs a move
that is one; a loss needs every legal move to have been searched, or to be known to lose.
So nothing is left out while the best value found is a loss, a null move proves nothing,
and a proof from the table is used only within the search that stored it, because what
recurs depends on the game before its root.

A node is a move made on the board and judged, in quiescence as anywhere else.

The arguments of a recursive call must have exactly the types of the first one. Else numba
compiles a second version, and calls it through a symbol that its cache on disk loses.

References
----------
T. A. Marsland, M. Campbell, Parallel search of strongly ordered game trees, ACM
Computing Surveys 14 (1982) 533-551 (principal-variation search); C. Donninger, Null
move and deep search, ICCA Journal 16 (1993) 137-143.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import is_legal
from tablut.engine.jit import I64, U64, advance, called, kernel
from tablut.engine.kernels import generate, make, position_key, unmake
from tablut.engine.layout import king_of, put_side, side_of, start_of, undo_captured
from tablut.engine.records import flat
from tablut.play.search import transposition
from tablut.play.search.entering import arrive, estimate, extend_line, leave, moves_at, out_of_limits, parries, settle
from tablut.play.search.ordering import (
    capturing_moves,
    is_threatened,
    killer_moves,
    king_moves,
    mark_targets,
    pick,
    rank_by_history,
    rank_moves,
    reward,
    without_move,
    without_tried,
)
from tablut.play.search.scores import MATE, MAX_PLY, PROVEN
from tablut.play.search.state import (
    BASE,
    FLAGS,
    GENERATION,
    LIMIT_PLY,
    NODES,
    QUIESCENCE,
    ROOT_DEPTH,
    ROOT_MOVE,
    ROOT_MOVES,
    ROOT_SCORE,
    SELECTIVE,
    SELECTIVE_DEPTH,
    STOPPED,
    TABLE_MASK,
    TRANSPOSITIONS,
    SearchState,
    seen_place,
)
from tablut.play.search.threats import threatening_moves
from tablut.rules.outcome import KING_CAPTURED, NO_MOVES_WHITE, UNDECIDED

if TYPE_CHECKING:
    from tablut.engine.tables import Tables
    from tablut.play.search.terms import EvaluationTables

__all__ = ["search_root"]

_INFINITE = MATE + 1
_EVASIONS = 4
"""Plies of quiescence in which a side that is about to lose may try every move."""
_THREATS = 1
"""Plies of quiescence in which a king may threaten to escape."""
_NULL_DEPTH = 3
_REMEMBERED, _CAPTURES, _KILLERS, _QUIET, _ALL, _DONE = range(6)
_MARGIN_DEPTH = 3
_MARGIN = 70
"""Centi-logits a ply by which an estimate may be off where it is trusted to end a branch."""


@called
def quiesce(
    t: Tables, e: EvaluationTables, s: SearchState, alpha: int, beta: int, ply: int, key: np.uint64, deep: int
) -> int:
    """Return the value of a position once captures and threats to win have been played out."""
    if out_of_limits(s):
        return I64(0)
    settled, value, endangered, row, column = settle(t, s, ply, key)
    if settled:
        return value
    board = s.board
    stand = estimate(t, e, board)
    if (s.counters[FLAGS] & QUIESCENCE) == 0 or ply >= MAX_PLY - 2:
        return stand
    if ply > s.counters[SELECTIVE_DEPTH]:
        s.counters[SELECTIVE_DEPTH] = ply
    side, king = side_of(t, board), king_of(t, board)
    moves = moves_at(t, s, ply)
    every = endangered and deep < _EVASIONS
    if every:
        count, hopeless = parries(t, s, ply, key, row, column, moves)
        if count + hopeless == 0:
            return I64(ply - MATE)
        best = I64(ply + 2 - MATE) if hopeless != 0 else I64(-_INFINITE)
        captures = I64(0)
    else:
        if stand >= beta or endangered:
            return stand
        best = stand
        threats = advance(s.threats, I64(ply * 4 * t.size))
        captures = I64(0)
        if mark_targets(t, board, side, threats) != 0:
            captures = capturing_moves(t, board, threats, moves)
        count = captures
        if side == 0 and deep < _THREATS:
            count += threatening_moves(t, e, board, advance(moves, captures))
    alpha = max(alpha, best)
    for index in range(count):
        if alpha >= beta:
            break
        move = I64(moves[index])
        is_king = side == 0 and start_of(move) == king
        undo, outcome = make(t, board, move)
        if outcome != UNDECIDED:
            s.counters[NODES] += 1
            unmake(t, board, undo)
            black_won = outcome in (KING_CAPTURED, NO_MOVES_WHITE)
            value = I64(MATE - ply - 1) if black_won == (side == 1) else I64(ply + 1 - MATE)
            s.line_length[ply + 1] = 0
        elif index >= captures or undo_captured(undo) != 0:
            s.counters[NODES] += 1
            child = arrive(t, s, ply, key, is_king, undo)
            value = -quiesce(t, e, s, -beta, -alpha, ply + 1, child, deep + 1)
            leave(s, child)
            unmake(t, board, undo)
            if s.counters[STOPPED] != 0:
                return I64(0)
        else:
            unmake(t, board, undo)
            continue
        if value > best:
            best = value
            if value > alpha:
                alpha = value
                extend_line(s, ply, move)
    return best


@called
def negamax(
    t: Tables,
    e: EvaluationTables,
    s: SearchState,
    depth: int,
    alpha: int,
    beta: int,
    ply: int,
    key: np.uint64,
    after_null: int,
) -> int:
    """Return the value of a position, searched to a depth of at least 1 ply."""
    if out_of_limits(s):
        return I64(0)
    board, counters = s.board, s.counters
    flags = I64(counters[FLAGS])
    selective = (flags & SELECTIVE) != 0
    side, king = side_of(t, board), king_of(t, board)
    at_root = ply == 0
    endangered, row, column = False, I64(0), I64(0)
    s.line_length[ply] = 0
    if not at_root:
        settled, value, endangered, row, column = settle(t, s, ply, key)
        if settled:
            return value
        if ply >= MAX_PLY - 2:
            return estimate(t, e, board)
        # The earliest win is on the next ply, the earliest loss on the one after it, or here without a move.
        alpha, beta = max(alpha, I64(ply - MATE)), min(beta, I64(MATE - ply - 1))
        if alpha >= beta:
            return alpha
    if endangered and selective and ply < 2 * counters[ROOT_DEPTH]:
        depth += 1

    first_alpha = alpha
    principal = beta - alpha > 1
    remembered, known = I64(0), False
    stand = I64(0)
    if (flags & TRANSPOSITIONS) != 0:
        data = transposition.look_up(s.table, I64(counters[TABLE_MASK]), key)
        known = data != U64(0)
        if known:
            remembered = transposition.move_of(data)
            stand = transposition.evaluation_of(data)
            stored, bound = transposition.score_of(data), transposition.bound_of(data)
            proven = abs(stored) >= PROVEN
            usable = transposition.depth_of(data) >= depth if selective else transposition.depth_of(data) == depth
            if proven:
                # The same proof may run into other positions of another game, or into the move limit.
                usable = usable or selective
                usable = usable and transposition.generation_of(data) == (counters[GENERATION] & 0xFF)
                usable = usable and ply + MATE - abs(stored) <= counters[LIMIT_PLY]
                stored += -ply if stored > 0 else ply
            if usable and not principal:
                if stored >= beta and (bound & transposition.LOWER) != 0:
                    return stored
                if stored <= alpha and (bound & transposition.UPPER) != 0:
                    return stored
    if not known:
        stand = estimate(t, e, board)

    if selective and not principal and not endangered and not at_root and abs(beta) < PROVEN:
        if depth <= _MARGIN_DEPTH and stand - _MARGIN * depth >= beta:
            return stand
        if depth >= _NULL_DEPTH and after_null == 0 and stand >= beta and ply + 1 < counters[LIMIT_PLY]:
            put_side(t, board, side_of(t, board) ^ 1)
            child = U64(key ^ t.side_key[0])
            s.keys[I64(counters[BASE]) + ply + 1] = child
            s.reversible[ply + 1] = s.reversible[ply] + 1
            s.seen[seen_place(child)] += 1
            left = depth - 3 - depth // 4
            if left > 0:
                value = -negamax(t, e, s, left, -beta, 1 - beta, ply + 1, child, I64(1))
            else:
                value = -quiesce(t, e, s, -beta, 1 - beta, ply + 1, child, I64(0))
            leave(s, child)
            put_side(t, board, side_of(t, board) ^ 1)
            if counters[STOPPED] != 0:
                return I64(0)
            if value >= beta:
                # A win after a null move proves nothing.
                return min(value, I64(PROVEN - 1))

    moves = moves_at(t, s, ply)
    threats = advance(s.threats, I64(ply * 4 * t.size))
    ranks = advance(s.ranks, I64(ply * 4 * t.cells))
    best, best_move = I64(-_INFINITE), I64(0)
    legal, searched = I64(0), I64(0)
    # Moves are generated in stages, since most positions are done with after the first few.
    stage, index, count = I64(_REMEMBERED if remembered != 0 else _CAPTURES), I64(0), I64(0)
    if at_root or endangered:
        stage = I64(_ALL)
    while True:
        if index == count:
            index = I64(0)
            if stage == _REMEMBERED:
                count = I64(0)
                if is_legal(t, board, remembered):
                    moves[0], count = np.int32(remembered), I64(1)
                stage = I64(_CAPTURES)
            elif stage == _CAPTURES:
                count = I64(0)
                if mark_targets(t, board, side, threats) != 0:
                    count = without_move(moves, capturing_moves(t, board, threats, moves), remembered)
                    rank_by_history(t, s, side, ply, count, moves)
                stage = I64(_KILLERS)
            elif stage == _KILLERS:
                count = killer_moves(t, s, board, ply, threats, remembered, moves)
                stage = I64(_QUIET)
            elif stage == _QUIET:
                futile = selective and not principal and searched > 0 and best > -PROVEN and depth <= _MARGIN_DEPTH
                if futile and alpha < PROVEN and stand + _MARGIN * depth <= alpha:
                    # Only a king may still change much; a soldier's quiet move will not.
                    count = king_moves(t, board, moves) if side == 0 else I64(0)
                else:
                    count = generate(t, board, moves)
                count = without_tried(t, s, ply, threats, remembered, count, moves)
                rank_by_history(t, s, side, ply, count, moves)
                stage = I64(_DONE)
            elif stage == _ALL:
                mark_targets(t, board, side, threats)
                if at_root:
                    count = I64(counters[ROOT_MOVES])
                    for number in range(count):
                        moves[number] = s.root_moves[number]
                else:
                    count, hopeless = parries(t, s, ply, key, row, column, moves)
                    if hopeless != 0:
                        best = I64(ply + 2 - MATE)
                        legal += hopeless
                rank_moves(t, s, side, ply, remembered, count, moves, threats)
                stage = I64(_DONE)
            else:
                break
            legal += count
            continue
        # `stage` is the next one. The one or two moves of some stages have no ranks.
        ranked = count > 1 and stage in (_KILLERS, _DONE)
        move = pick(moves, ranks, index, count) if ranked else I64(moves[index])
        index += 1
        is_king = side == 0 and start_of(move) == king
        late_stage = stage == _DONE and not is_threatened(t, threats, move >> 7)
        if (
            selective
            and late_stage
            and not is_king
            and not endangered
            and not at_root
            and not principal
            and best > -PROVEN
            and depth <= _MARGIN_DEPTH
            and searched > 6 + 6 * depth * depth
        ):
            continue
        counters[NODES] += 1
        undo, outcome = make(t, board, move)
        if outcome != UNDECIDED:
            unmake(t, board, undo)
            black_won = outcome in (KING_CAPTURED, NO_MOVES_WHITE)
            value = I64(MATE - ply - 1) if black_won == (side == 1) else I64(ply + 1 - MATE)
            s.line_length[ply + 1] = 0
        else:
            child = arrive(t, s, ply, key, is_king, undo)
            left = depth - 1
            if searched == 0:
                if left > 0:
                    value = -negamax(t, e, s, left, -beta, -alpha, ply + 1, child, I64(0))
                else:
                    value = -quiesce(t, e, s, -beta, -alpha, ply + 1, child, I64(0))
            else:
                late = I64(0)
                if selective and late_stage and not endangered and depth >= 3 and searched >= 3:
                    late = min(I64(s.reductions[min(depth, 63) * 64 + min(searched, 63)]), left)
                    if principal or is_king:
                        late = max(late - 1, 0)
                if left - late > 0:
                    value = -negamax(t, e, s, left - late, -alpha - 1, -alpha, ply + 1, child, I64(0))
                else:
                    value = -quiesce(t, e, s, -alpha - 1, -alpha, ply + 1, child, I64(0))
                if value > alpha and late > 0 and counters[STOPPED] == 0:
                    value = -negamax(t, e, s, left, -alpha - 1, -alpha, ply + 1, child, I64(0))
                if value > alpha and value < beta and counters[STOPPED] == 0:
                    if left > 0:
                        value = -negamax(t, e, s, left, -beta, -alpha, ply + 1, child, I64(0))
                    else:
                        value = -quiesce(t, e, s, -beta, -alpha, ply + 1, child, I64(0))
            leave(s, child)
            unmake(t, board, undo)
            if counters[STOPPED] != 0:
                return I64(0)
        searched += 1
        if value > best:
            best = value
            if value > alpha:
                alpha = value
                best_move = move
                extend_line(s, ply, move)
                if at_root:
                    counters[ROOT_MOVE], counters[ROOT_SCORE] = move, value
                if alpha >= beta:
                    reward(s, side, ply, move, depth, undo_captured(undo) == 0)
                    break
    if legal == 0:
        return I64(ply - MATE)
    if (flags & TRANSPOSITIONS) != 0:
        bound = transposition.EXACT
        if best >= beta:
            bound = transposition.LOWER
        elif best <= first_alpha:
            bound = transposition.UPPER
        stored = best
        if abs(best) >= PROVEN:
            stored += ply if best > 0 else -ply
        transposition.store(
            s.table,
            I64(counters[TABLE_MASK]),
            key,
            best_move,
            stored,
            min(depth, 255),
            bound,
            I64(counters[GENERATION]) & 0xFF,
            stand,
        )
    return best


@kernel
def search_root(
    tables: Tables, evaluation: EvaluationTables, state: SearchState, depth: int, alpha: int, beta: int
) -> int:
    """Search the position of a state and return its value for the side to move.

    Parameters
    ----------
    tables : Tables
        The variant.
    evaluation : EvaluationTables
        Its evaluation.
    state : SearchState
        The board, undecided, the moves to choose from, at least one, the path before
        it, limits and memory; the counters receive the results, see `tablut.play.search.state`.
    depth : int
        Plies, 1 to 255.
    alpha, beta : int
        The window.
    """
    t, e, s = flat(tables), flat(evaluation), flat(state)
    s.counters[ROOT_DEPTH] = depth
    s.counters[ROOT_MOVE] = 0
    return negamax(t, e, s, depth, alpha, beta, I64(0), position_key(t, s.board), I64(0))
