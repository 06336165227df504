"""Which move to try first: captures, then moves that refuted a sibling, then what has refuted before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import is_legal, king_slides, slides_along, slides_of
from tablut.engine.jit import I64, advance, inlined, trailing_zeros
from tablut.engine.kernels import generate
from tablut.engine.layout import (
    coordinates,
    king_of,
    line_of,
    move_of,
    occupied,
    own_pieces,
    side_of,
    start_of,
    target_of,
)
from tablut.engine.perft import mark_threats
from tablut.play.search.limits import PROVEN
from tablut.play.search.node import MARGIN, MARGIN_DEPTH, Node, moves_at, parries
from tablut.play.search.state import HISTORY, ROOT_MOVES, SearchState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

_REMEMBERED = 1 << 25
_CAPTURE = 1 << 24
_KILLER = 1 << 23
_HISTORY_LIMIT = 1 << 14
"""What a move's history tends to, up or down: the nearer it is, the less it changes."""


@inlined
def mark_targets(t: Tables, board: NDArray[np.uint32], side: int, threats: NDArray[np.uint32]) -> int:
    """Write, by line, every place on which an arriving piece of ``side`` may capture; return 0 if there is none.

    ``threats`` holds 4N masks; the first 2N are the result. Each cell stands in the masks of
    its row and of its column, whichever way it captures.
    """
    lines = 2 * t.size
    scratch = advance(threats, I64(lines))
    mark_threats(t, board, side, scratch)
    every = I64(0)
    for line in range(lines):
        every |= I64(scratch[line])
        threats[line] = scratch[line]
    if every == 0:
        return I64(0)
    for line in range(lines):
        places = I64(scratch[line])
        own = line if line < t.size else line - t.size
        across = t.size if line < t.size else 0
        while places:
            place = trailing_zeros(places)
            places &= places - 1
            # Beyond the edge there is a bit for a soldier on it; nothing ever arrives there.
            if place < t.size:
                threats[across + place] |= np.uint32(1 << own)
    return every


@inlined
def is_threatened(t: Tables, threats: NDArray[np.uint32], cell: int) -> bool:
    """Return whether a move to a cell may capture."""
    return (I64(threats[I64(t.rank[cell])]) >> I64(t.file[cell])) & 1 != 0


@inlined
def capturing_moves(t: Tables, board: NDArray[np.uint32], threats: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the moves of the side to move to places on which they may capture; return how many there are."""
    size = t.size
    side, king = side_of(t, board), king_of(t, board)
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
            slides_at = slides_of(t, side, start, king)
            targets = slides_along(t, slides_at, line, place, occupied(content)) & wanted
            while targets:
                end = trailing_zeros(targets)
                targets &= targets - 1
                moves[count] = np.int32(move_of(t, start, first + end * step))
                count += 1
    return count


@inlined
def king_moves(t: Tables, board: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the moves of the king; return how many there are."""
    king = king_of(t, board)
    rank, file = coordinates(t, king)
    row, column = king_slides(t, board, king)
    count = 0
    while row:
        moves[count] = np.int32(move_of(t, king, rank * t.size + trailing_zeros(row)))
        row &= row - 1
        count += 1
    while column:
        moves[count] = np.int32(move_of(t, king, trailing_zeros(column) * t.size + file))
        column &= column - 1
        count += 1
    return count


@inlined
def without_move(moves: NDArray[np.int32], count: int, unwanted: int) -> int:
    """Remove a move, if it is there, from moves without an order; return how many are left."""
    for index in range(count):
        if I64(moves[index]) == unwanted:
            moves[index] = moves[count - 1]
            return count - 1
    return count


@inlined
def killer_moves(
    t: Tables,
    s: SearchState,
    ply: int,
    threats: NDArray[np.uint32],
    remembered: int,
    moves: NDArray[np.int32],
) -> int:
    """Write the killers of a ply that are legal here and capture nothing; return how many there are."""
    count = 0
    for number in range(2):
        move = I64(s.killers[2 * ply + number])
        if move == 0 or move == remembered or is_threatened(t, threats, target_of(t, move)):
            continue
        if is_legal(t, s.board, move):
            moves[count] = np.int32(move)
            count += 1
    return count


@inlined
def without_tried(
    t: Tables,
    s: SearchState,
    ply: int,
    threats: NDArray[np.uint32],
    remembered: int,
    count: int,
    moves: NDArray[np.int32],
) -> int:
    """Remove what the stages before the quiet moves have tried from the moves of a ply; return how many are left."""
    first, second = I64(s.killers[2 * ply]), I64(s.killers[2 * ply + 1])
    kept = 0
    for index in range(count):
        move = I64(moves[index])
        tried = move in (remembered, first, second)
        if not tried and not is_threatened(t, threats, target_of(t, move)):
            moves[kept] = np.int32(move)
            kept += 1
    return kept


@inlined
def rank_moves(
    t: Tables,
    s: SearchState,
    side: int,
    ply: int,
    remembered: int,
    count: int,
    moves: NDArray[np.int32],
    threats: NDArray[np.uint32],
) -> None:
    """Write by what the moves of a ply are ordered, the best highest."""
    ranks = advance(s.ranks, I64(ply * 4 * t.cells))
    first, second = I64(s.killers[2 * ply]), I64(s.killers[2 * ply + 1])
    for index in range(count):
        move = I64(moves[index])
        rank = I64(s.history[side * HISTORY + move])
        if move == remembered:
            rank = _REMEMBERED
        elif is_threatened(t, threats, target_of(t, move)):
            rank += _CAPTURE
        elif move == first:
            rank += _KILLER + 1
        elif move == second:
            rank += _KILLER
        ranks[index] = np.int32(rank)


@inlined
def rank_by_history(t: Tables, s: SearchState, side: int, ply: int, count: int, moves: NDArray[np.int32]) -> None:
    """Write by what moves of one kind are ordered: how often they refuted."""
    ranks = advance(s.ranks, I64(ply * 4 * t.cells))
    for index in range(count):
        ranks[index] = s.history[side * HISTORY + I64(moves[index])]


@inlined
def pick(moves: NDArray[np.int32], ranks: NDArray[np.int32], index: int, count: int) -> int:
    """Move the best of the moves from an index on to that index and return it; the first of equals."""
    best, highest = index, I64(ranks[index])
    for other in range(index + 1, count):
        if I64(ranks[other]) > highest:
            best, highest = other, I64(ranks[other])
    move, rank = moves[best], ranks[best]
    moves[best], ranks[best] = moves[index], ranks[index]
    moves[index], ranks[index] = move, rank
    return I64(move)


@inlined
def reward(s: SearchState, side: int, ply: int, move: int, depth: int) -> None:
    """Remember a move that refuted without a capture, so that it is tried early elsewhere."""
    if I64(s.killers[2 * ply]) != move:
        s.killers[2 * ply + 1] = s.killers[2 * ply]
        s.killers[2 * ply] = np.int32(move)
    _remember(s, side, move, depth * depth)


@inlined
def blame(s: SearchState, side: int, moves: NDArray[np.int32], count: int, depth: int) -> None:
    """Remember moves that were tried before the one that refuted, so that they are tried late elsewhere."""
    for index in range(count):
        _remember(s, side, I64(moves[index]), -depth * depth)


@inlined
def _remember(s: SearchState, side: int, move: int, change: int) -> None:
    """Change the history of a move, which stays between plus and minus `_HISTORY_LIMIT`."""
    at = side * HISTORY + move
    before = I64(s.history[at])
    s.history[at] = np.int32(before + change - before * abs(change) // _HISTORY_LIMIT)


# -- the moves of a node, in stages: the best of each first; late ones are left out or searched less ---


# A stage is generated when the one before it is used up (`next_moves`), since most nodes are done
# with early. Nothing is left out or searched less deep where a side is about to lose, nor at the root.


_FROM_TABLE, _CAPTURES, _KILLERS, _QUIET, _ALL, DONE = range(6)
"""Stages of the moves of a node. They are generated one after the other, since most nodes are done with early."""

_HISTORY_PLY = 6000
"""History that is worth a ply of reduction; see `tablut.play.search.ordering.reward`."""


@inlined
def first_stage(n: Node) -> int:
    """Return the stage with which the moves of a node begin."""
    if n.ply == 0 or n.endangered:
        return I64(_ALL)
    return I64(_FROM_TABLE if n.remembered != 0 else _CAPTURES)


@inlined
def _threats_at(t: Tables, s: SearchState, n: Node) -> NDArray[np.uint32]:
    """Return where the masks of places on which a move of a node may capture are kept."""
    return advance(s.threats, I64(n.ply * 4 * t.size))


@inlined
def _is_futile(n: Node, searched: int, best: int, alpha: int) -> bool:
    """Return whether the estimate is so low that no soldier's quiet move will reach alpha."""
    trusted = n.selective and not n.principal and searched > 0 and best > -PROVEN and n.depth <= MARGIN_DEPTH
    return trusted and alpha < PROVEN and n.stand + MARGIN * n.depth <= alpha


@inlined
def next_moves(
    t: Tables, s: SearchState, n: Node, stage: int, searched: int, best: int, alpha: int
) -> tuple[int, int, int]:
    """Write the moves of a stage; return the next stage, how many were written, and how many more lose in two plies."""
    board, moves, threats = s.board, moves_at(t, s, n.ply), _threats_at(t, s, n)
    if stage == _FROM_TABLE:
        count = I64(0)
        if is_legal(t, board, n.remembered):
            moves[0], count = np.int32(n.remembered), I64(1)
        return I64(_CAPTURES), count, I64(0)
    if stage == _CAPTURES:
        count = I64(0)
        if mark_targets(t, board, n.side, threats) != 0:
            count = without_move(moves, capturing_moves(t, board, threats, moves), n.remembered)
            rank_by_history(t, s, n.side, n.ply, count, moves)
        return I64(_KILLERS), count, I64(0)
    if stage == _KILLERS:
        return I64(_QUIET), killer_moves(t, s, n.ply, threats, n.remembered, moves), I64(0)
    if stage == _QUIET:
        if _is_futile(n, searched, best, alpha):
            # Only a king may still change much; a soldier's quiet move will not.
            count = king_moves(t, board, moves) if n.side == 0 else I64(0)
        else:
            count = generate(t, board, moves)
        count = without_tried(t, s, n.ply, threats, n.remembered, count, moves)
        rank_by_history(t, s, n.side, n.ply, count, moves)
        return I64(DONE), count, I64(0)
    hopeless = I64(0)
    mark_targets(t, board, n.side, threats)
    if n.ply == 0:
        count = I64(s.counters[ROOT_MOVES])
        for number in range(count):
            moves[number] = s.root_moves[number]
    else:
        count, hopeless = parries(t, s, n.ply, n.key, n.row, n.column, moves)
    rank_moves(t, s, n.side, n.ply, n.remembered, count, moves, threats)
    return I64(DONE), count, hopeless


@inlined
def next_move(t: Tables, s: SearchState, n: Node, stage: int, index: int, count: int) -> int:
    """Return the best of the moves from an index on, and put it there; ``stage`` is the one after theirs."""
    moves = moves_at(t, s, n.ply)
    # The one or two moves of some stages have no ranks.
    if count > 1 and stage in (_KILLERS, DONE):
        return pick(moves, advance(s.ranks, I64(n.ply * 4 * t.cells)), index, count)
    return I64(moves[index])


@inlined
def is_kings(t: Tables, n: Node, move: int) -> bool:
    """Return whether a move is the king's."""
    return n.side == 0 and start_of(t, move) == n.king


@inlined
def is_quiet(t: Tables, s: SearchState, n: Node, stage: int, move: int) -> bool:
    """Return whether a move is of the last stage and goes where nothing can be captured."""
    return stage == DONE and not is_threatened(t, _threats_at(t, s, n), target_of(t, move))


@inlined
def is_hopeless(n: Node, king: bool, quiet: bool, searched: int, best: int) -> bool:
    """Return whether a move comes so late in a shallow node that it is left out."""
    return (
        n.selective
        and quiet
        and not king
        and not n.endangered
        and n.ply != 0
        and not n.principal
        and best > -PROVEN
        and n.depth <= MARGIN_DEPTH
        and searched > (6 + 6 * n.depth * n.depth) // (1 if n.improving else 2)
    )


@inlined
def reduction(s: SearchState, n: Node, move: int, king: bool, quiet: bool, searched: int) -> int:
    """Return by how many plies a late move is searched less deep at first."""
    late = I64(0)
    if n.selective and quiet and not n.endangered and n.depth >= 3 and searched >= 3:
        late = min(I64(s.reductions[min(n.depth, 63) * 64 + min(searched, 63)]), n.depth - 1)
        if n.principal or king:
            late = max(late - 1, 0)
        # Rounded down: who was rather tried in vain is searched a ply less deep.
        late -= I64(s.history[n.side * HISTORY + move]) // _HISTORY_PLY
        late = min(max(late, 0), n.depth - 1)
    return late
