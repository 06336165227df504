"""The moves of a node of the full search: in stages, the best of each first; late ones are left out or searched less.

A stage is generated when the one before it is used up (`next_moves`), since most nodes are done
with early. Nothing is left out or searched less deep where a side is about to lose, nor at the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import is_legal
from tablut.engine.jit import I64, advance, inlined
from tablut.engine.kernels import generate
from tablut.engine.layout import start_of, target_of
from tablut.play.search.entering import moves_at, parries
from tablut.play.search.node import MARGIN, MARGIN_DEPTH, Node
from tablut.play.search.ordering import (
    capturing_moves,
    is_threatened,
    killer_moves,
    king_moves,
    mark_targets,
    pick,
    rank_by_history,
    rank_moves,
    without_move,
    without_tried,
)
from tablut.play.search.scores import PROVEN
from tablut.play.search.state import ROOT_MOVES, SearchState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["DONE", "first_stage", "is_hopeless", "is_kings", "is_quiet", "next_move", "next_moves", "reduction"]

_REMEMBERED, _CAPTURES, _KILLERS, _QUIET, _ALL, DONE = range(6)
"""Stages of the moves of a node. They are generated one after the other, since most nodes are done with early."""


@inlined
def first_stage(n: Node) -> int:
    """Return the stage with which the moves of a node begin.

    Parameters
    ----------
    n : Node
        The node.

    Returns
    -------
    int
        All moves at once at the root and in danger.
    """
    if n.ply == 0 or n.endangered:
        return I64(_ALL)
    return I64(_REMEMBERED if n.remembered != 0 else _CAPTURES)


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
    """Write the moves of a stage; return the next stage, how many were written, and how many more lose in two plies.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    n : Node
        The node.
    stage : int
        Of the moves to be written.
    searched : int
        How many moves of the node have been searched.
    best : int
        The best value so far.
    alpha : int
        What a move must exceed.

    Returns
    -------
    tuple of (int, int, int)
        The next stage, moves written, moves that lose in two plies.
    """
    board, moves, threats = s.board, moves_at(t, s, n.ply), _threats_at(t, s, n)
    if stage == _REMEMBERED:
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
    """Return the best of the moves from an index on, and put it there; ``stage`` is the one after theirs.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    n : Node
        The node.
    stage : int
        The stage after that of the moves.
    index : int
        Where they begin.
    count : int
        Where they end.

    Returns
    -------
    int
        The move.
    """
    moves = moves_at(t, s, n.ply)
    # The one or two moves of some stages have no ranks.
    if count > 1 and stage in (_KILLERS, DONE):
        return pick(moves, advance(s.ranks, I64(n.ply * 4 * t.cells)), index, count)
    return I64(moves[index])


@inlined
def is_kings(n: Node, move: int) -> bool:
    """Return whether a move is the king's.

    Parameters
    ----------
    n : Node
        The node.
    move : int
        ``from | to << 7``.

    Returns
    -------
    bool
        False for a soldier of either side.
    """
    return n.side == 0 and start_of(move) == n.king


@inlined
def is_quiet(t: Tables, s: SearchState, n: Node, stage: int, move: int) -> bool:
    """Return whether a move is of the last stage and goes where nothing can be captured.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    n : Node
        The node.
    stage : int
        The stage after that of the moves.
    move : int
        ``from | to << 7``.

    Returns
    -------
    bool
        False for the moves of earlier stages.
    """
    return stage == DONE and not is_threatened(t, _threats_at(t, s, n), target_of(move))


@inlined
def is_hopeless(n: Node, king: bool, quiet: bool, searched: int, best: int) -> bool:
    """Return whether a move comes so late in a shallow node that it is left out.

    Parameters
    ----------
    n : Node
        The node.
    king : bool
        Whether it is the king's.
    quiet : bool
        See `is_quiet`.
    searched : int
        How many moves of the node have been searched.
    best : int
        The best value so far.

    Returns
    -------
    bool
        Never while the best value is a proven loss.
    """
    return (
        n.selective
        and quiet
        and not king
        and not n.endangered
        and n.ply != 0
        and not n.principal
        and best > -PROVEN
        and n.depth <= MARGIN_DEPTH
        and searched > 6 + 6 * n.depth * n.depth
    )


@inlined
def reduction(s: SearchState, n: Node, king: bool, quiet: bool, searched: int) -> int:
    """Return by how many plies a late move is searched less deep at first.

    Parameters
    ----------
    s : SearchState
        The memory of the search.
    n : Node
        The node.
    king : bool
        Whether it is the king's.
    quiet : bool
        See `is_quiet`.
    searched : int
        How many moves of the node have been searched.

    Returns
    -------
    int
        0 for early moves.
    """
    late = I64(0)
    if n.selective and quiet and not n.endangered and n.depth >= 3 and searched >= 3:
        late = min(I64(s.reductions[min(n.depth, 63) * 64 + min(searched, 63)]), n.depth - 1)
        if n.principal or king:
            late = max(late - 1, 0)
    return late
