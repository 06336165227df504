"""Move ordering: captures, killer moves (which refuted a sibling node), and quiet moves sorted by history score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import is_legal, king_slides, mark_threats, slides_along, slides_of
from tablut.engine.jit import I64, U64, advance, inlined, read_word, trailing_zeros, write_word
from tablut.engine.kernels import generate
from tablut.engine.layout import (
    BoardArray,
    coordinates,
    king_of,
    line_of,
    move_of,
    occupied,
    own_pieces,
    side_of,
    start_of,
    target_of,
    undo_captured,
    undo_of,
)
from tablut.play.search.limits import MATE, PROVEN
from tablut.play.search.node import MARGIN, MARGIN_DEPTH, SearchNode, moves_at, parries
from tablut.play.search.state import HISTORY, MARKS, SHARED, SearchState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

_REMEMBERED = 1 << 25
_CAPTURE = 1 << 24
_KILLER = 1 << 23
_POSTPONED = -(1 << 25)
_HISTORY_LIMIT = 1 << 14
"""Bound on the absolute value of a history score. The closer a score is to the bound, the less it changes."""
_LARGE = 11
"""Size from which boards count as large.

On large boards, moves also have history scores as replies to the opponent's last move, and moves that concern the king
have a bonus.
"""
_KING_BONUS = 150
"""History score added to moves of the king, and to black moves into the king's row or column."""


@inlined
def mark_targets(rules: Tables, board: BoardArray, side: int, threats: NDArray[np.uint32]) -> int:
    """Write, for each line, a mask of the places where an arriving piece of ``side`` may capture.

    Return 0 if there is no such place. ``threats`` has 4N masks, and the result is written into the first 2N. Each cell
    is marked in the masks of both its row and its column.
    """
    lines = 2 * rules.size
    scratch = advance(threats, I64(lines))
    mark_threats(rules, board, side, scratch)
    every = I64(0)
    for line in range(lines):
        every |= I64(scratch[line])
        threats[line] = scratch[line]
    if every == 0:
        return I64(0)
    for line in range(lines):
        places = I64(scratch[line])
        own = line if line < rules.size else line - rules.size
        across = rules.size if line < rules.size else 0
        while places:
            place = trailing_zeros(places)
            places &= places - 1
            # For a soldier on the edge, a mask also has a bit beyond the edge, where no piece can arrive.
            if place < rules.size:
                threats[across + place] |= np.uint32(1 << own)
    return every


@inlined
def is_threatened(rules: Tables, threats: NDArray[np.uint32], cell: int) -> bool:
    """Return whether a move to a cell may capture."""
    return (I64(threats[I64(rules.rank[cell])]) >> I64(rules.file[cell])) & 1 != 0


@inlined
def capturing_moves(rules: Tables, board: BoardArray, threats: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the moves of the side to move that may capture, and return their number."""
    size = rules.size
    side, king = side_of(rules, board), king_of(rules, board)
    count = 0
    for line in range(2 * size):
        wanted = I64(threats[line])
        if wanted == 0:
            continue
        content = line_of(board, line)
        own = own_pieces(content, side)
        first, step = (line * size, 1) if line < size else (line - size, size)
        while own:
            place = trailing_zeros(own)
            own &= own - 1
            start = first + place * step
            slides_at = slides_of(rules, side, start, king)
            targets = slides_along(rules, slides_at, line, place, occupied(content)) & wanted
            while targets:
                end = trailing_zeros(targets)
                targets &= targets - 1
                moves[count] = np.int32(move_of(rules, start, first + end * step))
                count += 1
    return count


@inlined
def king_moves(rules: Tables, board: BoardArray, moves: NDArray[np.int32]) -> int:
    """Write the king's moves and return their number."""
    king = king_of(rules, board)
    rank, file = coordinates(rules, king)
    row, column = king_slides(rules, board, king)
    count = 0
    while row:
        moves[count] = np.int32(move_of(rules, king, rank * rules.size + trailing_zeros(row)))
        row &= row - 1
        count += 1
    while column:
        moves[count] = np.int32(move_of(rules, king, trailing_zeros(column) * rules.size + file))
        column &= column - 1
        count += 1
    return count


@inlined
def without_move(moves: NDArray[np.int32], count: int, unwanted: int) -> int:
    """Remove a move from an unordered list of moves, if it is present, and return the new length."""
    for index in range(count):
        if I64(moves[index]) == unwanted:
            moves[index] = moves[count - 1]
            return count - 1
    return count


@inlined
def killer_moves(
    rules: Tables, state: SearchState, node: SearchNode, threats: NDArray[np.uint32], moves: NDArray[np.int32]
) -> int:
    """Write those killer moves of a node that are legal and cannot capture, and return their number."""
    count = 0
    for number in range(2):
        move = I64(state.killers[2 * node.ply + number])
        if move == 0 or move == node.remembered or is_threatened(rules, threats, target_of(rules, move)):
            continue
        if is_legal(rules, state.board, move):
            moves[count] = np.int32(move)
            count += 1
    return count


@inlined
def without_tried(
    rules: Tables,
    state: SearchState,
    node: SearchNode,
    threats: NDArray[np.uint32],
    count: int,
    moves: NDArray[np.int32],
) -> int:
    """Remove a node's moves that earlier stages have already tried, and return the new number of moves."""
    first, second = I64(state.killers[2 * node.ply]), I64(state.killers[2 * node.ply + 1])
    kept = 0
    for index in range(count):
        move = I64(moves[index])
        tried = move in (node.remembered, first, second)
        if not tried and not is_threatened(rules, threats, target_of(rules, move)):
            moves[kept] = np.int32(move)
            kept += 1
    return kept


@inlined
def _reply_place(rules: Tables, state: SearchState, node: SearchNode, move: int) -> int:
    """Return the index of a move's history score as a reply to the opponent's last move."""
    last = I64(state.arrivals[node.ply])
    return 2 * HISTORY + (node.side * rules.cells + last) * rules.cells + target_of(rules, move)


@inlined
def _concerns_king(rules: Tables, node: SearchNode, move: int) -> bool:
    """Return whether the king makes a move, or a black piece moves into the king's row or column."""
    if node.side == 0:
        return start_of(rules, move) == node.king
    target = target_of(rules, move)
    return rules.rank[target] == rules.rank[node.king] or rules.file[target] == rules.file[node.king]


@inlined
def _history_of(rules: Tables, state: SearchState, node: SearchNode, move: int) -> int:
    """Return the sum of a move's history scores, and of a bonus if it concerns the king."""
    score = I64(state.history[node.side * HISTORY + move])
    if rules.size >= _LARGE:
        score += I64(state.history[_reply_place(rules, state, node, move)])
        if _concerns_king(rules, node, move):
            score += _KING_BONUS
    return score


@inlined
def rank_moves(
    rules: Tables,
    state: SearchState,
    node: SearchNode,
    count: int,
    moves: NDArray[np.int32],
    threats: NDArray[np.uint32],
) -> None:
    """Write the rank of each move in a node. The best move has the highest rank."""
    ranks = advance(state.ranks, I64(node.ply * 4 * rules.cells))
    first, second = I64(state.killers[2 * node.ply]), I64(state.killers[2 * node.ply + 1])
    for index in range(count):
        move = I64(moves[index])
        rank = _history_of(rules, state, node, move)
        if move == node.remembered:
            rank = _REMEMBERED
        elif is_threatened(rules, threats, target_of(rules, move)):
            rank += _CAPTURE
        elif move == first:
            rank += _KILLER + 1
        elif move == second:
            rank += _KILLER
        ranks[index] = np.int32(rank)


@inlined
def rank_by_history(rules: Tables, state: SearchState, node: SearchNode, count: int, moves: NDArray[np.int32]) -> None:
    """Write the history score of each move as its rank, which orders the moves of one stage."""
    ranks = advance(state.ranks, I64(node.ply * 4 * rules.cells))
    for index in range(count):
        ranks[index] = np.int32(_history_of(rules, state, node, I64(moves[index])))


@inlined
def pick(moves: NDArray[np.int32], ranks: NDArray[np.int32], index: int, count: int) -> int:
    """Swap the best of the moves from ``index`` on to position ``index``, and return it."""
    best, highest = index, I64(ranks[index])
    for other in range(index + 1, count):
        if I64(ranks[other]) > highest:
            best, highest = other, I64(ranks[other])
    move, rank = moves[best], ranks[best]
    moves[best], ranks[best] = moves[index], ranks[index]
    moves[index], ranks[index] = move, rank
    return I64(move)


@inlined
def _change_score(state: SearchState, at: int, change: int) -> None:
    """Change the history score at an index, keeping its absolute value within `_HISTORY_LIMIT`."""
    before = I64(state.history[at])
    state.history[at] = np.int32(before + change - before * abs(change) // _HISTORY_LIMIT)


@inlined
def _change_history(rules: Tables, state: SearchState, node: SearchNode, move: int, change: int) -> None:
    """Change the history scores of a move."""
    _change_score(state, node.side * HISTORY + move, change)
    if rules.size >= _LARGE:
        _change_score(state, _reply_place(rules, state, node, move), change)


# -- stages that generate a node's moves, and pruning and reduction of late moves


# A stage is generated only when the previous stage is used up (`next_moves`), because most nodes are cut off early. If
# a side is about to lose, no move is pruned or reduced. At the root, no move is pruned.


_FROM_TABLE, _CAPTURES, _KILLERS, _QUIET, _ALL, DONE = range(6)
"""Stages of a node's moves, in the order they are generated."""

_MARK_DEPTH = 3
"""Least depth in plies of a node whose moves are marked."""
_HISTORY_PLY = 6000
"""Difference in history score that changes a move's reduction by one ply. See `reward`."""


@inlined
def first_stage(node: SearchNode) -> int:
    """Return the first stage of a node's moves."""
    if node.ply == 0 or node.endangered:
        return I64(_ALL)
    return I64(_FROM_TABLE if node.remembered != 0 else _CAPTURES)


@inlined
def _threats_at(rules: Tables, state: SearchState, node: SearchNode) -> NDArray[np.uint32]:
    """Return the node's array of masks, which mark the places where a move may capture."""
    return advance(state.threats, I64(node.ply * 4 * rules.size))


@inlined
def _is_futile(node: SearchNode, searched: int, best: int, alpha: int) -> bool:
    """Return whether the estimate is so low that no quiet move of a soldier can be expected to reach alpha."""
    trusted = node.selective and not node.principal and searched > 0 and best > -PROVEN and node.depth <= MARGIN_DEPTH
    return trusted and alpha < PROVEN and node.stand + MARGIN * node.depth <= alpha


@inlined
def next_moves(
    rules: Tables, state: SearchState, node: SearchNode, stage: int, searched: int, best: int, alpha: int
) -> tuple[int, int, int, int]:
    """Write a stage's moves. Return the next stage, how many moves were written and omitted, and the best value.

    The omitted moves lose in two plies, and the best value takes them into account.
    """
    board, moves, threats = state.board, moves_at(rules, state, node.ply), _threats_at(rules, state, node)
    count, omitted = I64(0), I64(0)
    if stage == _FROM_TABLE:
        if is_legal(rules, board, node.remembered):
            moves[0], count = np.int32(node.remembered), I64(1)
        return I64(_CAPTURES), count, omitted, best
    if stage == _CAPTURES:
        if mark_targets(rules, board, node.side, threats) != 0:
            count = without_move(moves, capturing_moves(rules, board, threats, moves), node.remembered)
            rank_by_history(rules, state, node, count, moves)
        return I64(_KILLERS), count, omitted, best
    if stage == _KILLERS:
        return I64(_QUIET), killer_moves(rules, state, node, threats, moves), omitted, best
    if stage == _QUIET:
        if _is_futile(node, searched, best, alpha):
            # Only a move of the king can still change the value significantly.
            count = king_moves(rules, board, moves) if node.side == 0 else I64(0)
        else:
            count = generate(rules, board, moves)
        count = without_tried(rules, state, node, threats, count, moves)
        rank_by_history(rules, state, node, count, moves)
        return I64(DONE), count, omitted, best
    mark_targets(rules, board, node.side, threats)
    if node.ply == 0:
        count = state.counters.root_moves
        for number in range(count):
            moves[number] = state.root_moves[number]
    else:
        count, omitted = parries(rules, state, node.ply, node.key, node.row, node.column, moves)
    rank_moves(rules, state, node, count, moves, threats)
    return I64(DONE), count, omitted, I64(node.ply + 2 - MATE) if omitted != 0 else best


@inlined
def next_move(rules: Tables, state: SearchState, node: SearchNode, stage: int, index: int, count: int) -> int:
    """Swap the best of the stage's moves from ``index`` on to position ``index``, and return it."""
    moves = moves_at(rules, state, node.ply)
    # The table move and the killer moves have no ranks.
    if count > 1 and stage in (_KILLERS, DONE):
        return pick(moves, advance(state.ranks, I64(node.ply * 4 * rules.cells)), index, count)
    return I64(moves[index])


@inlined
def _marks_moves(state: SearchState, node: SearchNode) -> bool:
    """Return whether a node's moves are marked, so that other threads postpone them."""
    return (state.counters.flags & SHARED) != 0 and node.depth >= _MARK_DEPTH


@inlined
def _mark_of(node: SearchNode, move: int) -> np.uint64:
    """Return the key of a move in a node. Its low bits are the move's place in the table of marks."""
    return U64(node.key ^ (U64(move) * U64(0x9E3779B97F4A7C15)))


@inlined
def set_mark(state: SearchState, node: SearchNode, move: int) -> None:
    """Mark a move that is about to be searched, if this node marks its moves for other threads."""
    if _marks_moves(state, node):
        mark = _mark_of(node, move)
        write_word(advance(state.marks, I64(mark) & (MARKS - 1)), mark)


@inlined
def clear_mark(state: SearchState, node: SearchNode, move: int) -> None:
    """Remove the mark of a move that has been searched."""
    if _marks_moves(state, node):
        write_word(advance(state.marks, I64(_mark_of(node, move)) & (MARKS - 1)), U64(0))


@inlined
def postpones(rules: Tables, state: SearchState, node: SearchNode, stage: int, index: int, move: int) -> bool:
    """Return whether a move of the last stage is postponed, once, because another thread is searching it.

    A postponed move is searched after all others. By then, its value is usually in the transposition table.
    """
    if not _marks_moves(state, node):
        return False
    ranks = advance(state.ranks, I64(node.ply * 4 * rules.cells))
    mark = _mark_of(node, move)
    busy = stage == DONE and read_word(advance(state.marks, I64(mark) & (MARKS - 1))) == mark
    if not busy or ranks[index] == _POSTPONED:
        return False
    ranks[index] = np.int32(_POSTPONED)
    return True


@inlined
def is_kings(rules: Tables, node: SearchNode, move: int) -> bool:
    """Return whether a move is made by the king."""
    return node.side == 0 and start_of(rules, move) == node.king


@inlined
def is_quiet(rules: Tables, state: SearchState, node: SearchNode, stage: int, move: int) -> bool:
    """Return whether a move belongs to the last stage and cannot capture."""
    return stage == DONE and not is_threatened(rules, _threats_at(rules, state, node), target_of(rules, move))


@inlined
def is_hopeless(node: SearchNode, king: bool, quiet: bool, searched: int, best: int) -> bool:
    """Return whether to prune a quiet move because it comes late at a shallow node (late move pruning)."""
    return (
        node.selective
        and quiet
        and not king
        and not node.endangered
        and node.ply != 0
        and not node.principal
        and best > -PROVEN
        and node.depth <= MARGIN_DEPTH
        and searched > (6 + 6 * node.depth * node.depth) // (1 if node.improving else 2)
    )


@inlined
def reduction(
    rules: Tables, state: SearchState, node: SearchNode, move: int, king: bool, quiet: bool, searched: int
) -> int:
    """Return how many plies the first search of a move is reduced by (late move reduction)."""
    late = I64(0)
    if node.selective and quiet and not node.endangered and node.depth >= 3 and searched >= 3:
        late = min(I64(state.reductions[min(node.depth, 63) * 64 + min(searched, 63)]), node.depth - 1)
        if node.principal or king:
            late = max(late - 1, 0)
        # Division rounds down, so any negative history score adds at least one ply to the reduction.
        late -= _history_of(rules, state, node, move) // _HISTORY_PLY
        late = min(max(late, 0), node.depth - 1)
    return late


@inlined
def reward(rules: Tables, state: SearchState, node: SearchNode, stage: int, tried: int, undo: int) -> None:
    """If a quiet move caused a cut-off, make it a killer move and raise its history score.

    If it was found in the last stage, lower the scores of the ``tried`` moves that were searched before it.
    """
    if undo_captured(undo) != 0:
        return
    move, change = undo_of(undo, I64(0)), node.depth * node.depth
    killers = advance(state.killers, I64(2 * node.ply))
    if I64(killers[0]) != move:
        killers[1] = killers[0]
        killers[0] = np.int32(move)
    _change_history(rules, state, node, move, change)
    if stage == DONE:
        moves = moves_at(rules, state, node.ply)
        for index in range(tried):
            _change_history(rules, state, node, I64(moves[index]), -change)
