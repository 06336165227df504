"""One node of the full search before its moves: what is known of it, early ends, and what is stored of it.

A node asks rules, history and tables (`open_node`), may end early on its estimate or after a
null move (`trusts_estimate`, `may_pass`), and is stored (`store_node`). Its moves are in
`tablut.play.search.stages`; the recursion, and what it proves, in `tablut.play.search.tree`.

Steps that trust an estimate never touch a side that is about to lose, nor the root: see the
rules on what is proven in `tablut.play.search.tree`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.jit import I64, U64, inlined
from tablut.engine.layout import king_of, put_side, side_of
from tablut.play.search import transposition
from tablut.play.search.entering import estimate, settle
from tablut.play.search.scores import MATE, MAX_PLY, PROVEN
from tablut.play.search.state import (
    BASE,
    FLAGS,
    GENERATION,
    LIMIT_PLY,
    ROOT_DEPTH,
    SELECTIVE,
    TABLE_MASK,
    TRANSPOSITIONS,
    SearchState,
    seen_place,
)
from tablut.rules.outcome import KING_CAPTURED, NO_MOVES_WHITE

if TYPE_CHECKING:
    from tablut.engine.tables import Tables

__all__ = [
    "INFINITE",
    "MARGIN",
    "MARGIN_DEPTH",
    "Node",
    "may_end_early",
    "may_pass",
    "open_node",
    "pass_turn",
    "store_node",
    "take_turn_back",
    "trusts_estimate",
    "value_of_end",
]

INFINITE: Final = MATE + 1

_NULL_DEPTH = 3
MARGIN_DEPTH = 3
MARGIN = 70
"""Centi-logits a ply by which an estimate may be off where it is trusted to end a branch."""


class Node(NamedTuple):
    """What is known of a node before its moves are tried. Kernels make it; nothing in it changes.

    Attributes
    ----------
    depth : int
        Plies to be searched, at least 1, an extension included.
    alpha, beta : int
        The window at the beginning.
    ply : int
        Plies from the root.
    key : uint64
        Of the position.
    side : int
        To move: 0 white, 1 black.
    king : int
        Its cell.
    row, column : int
        Its escape targets, see `tablut.engine.attacks.escape_targets`.
    endangered : bool
        Whether the other side would win at once if it were to move.
    principal : bool
        Whether the window is wider than one.
    selective : bool
        Whether the search may look at fewer moves, or further or less far than the depth says.
    remembered : int
        The table's move, any 14 bits; 0 without one.
    stand : int
        The estimate for the side to move.
    """

    depth: int
    alpha: int
    beta: int
    ply: int
    key: np.uint64
    side: int
    king: int
    row: int
    column: int
    endangered: bool
    principal: bool
    selective: bool
    remembered: int
    stand: int


@inlined
def value_of_end(outcome: int, side: int, ply: int) -> int:
    """Return the value, for the side that moved, of a ply that decided the game.

    Parameters
    ----------
    outcome : int
        The outcome code of the ply.
    side : int
        That moved: 0 white, 1 black.
    ply : int
        Of the move, from the root.

    Returns
    -------
    int
        A proven win or loss.
    """
    black_won = outcome in (KING_CAPTURED, NO_MOVES_WHITE)
    return I64(MATE - ply - 1) if black_won == (side == 1) else I64(ply + 1 - MATE)


@inlined
def _settle_node(
    t: Tables, s: SearchState, ply: int, key: np.uint64, alpha: int, beta: int
) -> tuple[bool, int, bool, int, int]:
    """Return whether a node needs no search, and its value; else what `settle` says of dangers and escapes."""
    if ply == 0:
        return False, I64(0), False, I64(0), I64(0)
    settled, value, endangered, row, column = settle(t, s, ply, key)
    if not settled:
        if ply >= MAX_PLY - 2:
            return True, estimate(t, s), endangered, row, column
        low, high = _within_reach(alpha, beta, ply)
        if low >= high:
            return True, low, endangered, row, column
    return settled, value, endangered, row, column


@inlined
def _within_reach(alpha: int, beta: int, ply: int) -> tuple[int, int]:
    """Return a window less what no node of a ply below the root can be worth.

    The earliest win is on the next ply, the earliest loss on the one after it, or here without a move.
    """
    return max(alpha, I64(ply - MATE)), min(beta, I64(MATE - ply - 1))


@inlined
def open_node(
    t: Tables, s: SearchState, depth: int, alpha: int, beta: int, ply: int, key: np.uint64
) -> tuple[bool, int, Node]:
    """Return whether a node is settled before a move of it is tried, the value if it is, and the node if not.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    depth : int
        Plies to be searched, at least 1.
    alpha : int
        The lower end of the window.
    beta : int
        The upper end of the window.
    ply : int
        Plies from the root.
    key : uint64
        Of the position.

    Returns
    -------
    tuple of (bool, int, Node)
        Whether it is settled, its value, the node.
    """
    selective = (I64(s.counters[FLAGS]) & SELECTIVE) != 0
    settled, value, endangered, row, column = _settle_node(t, s, ply, key, alpha, beta)
    remembered, stand = I64(0), I64(0)
    if not settled:
        if ply != 0:
            alpha, beta = _within_reach(alpha, beta, ply)
        if endangered and selective and ply < 2 * s.counters[ROOT_DEPTH]:
            depth += 1
        settled, value, remembered, stand = _recall(t, s, key, depth, ply, alpha, beta)
    n = Node(
        depth=depth,
        alpha=alpha,
        beta=beta,
        ply=ply,
        key=key,
        side=side_of(t, s.board),
        king=king_of(t, s.board),
        row=row,
        column=column,
        endangered=endangered,
        principal=beta - alpha > 1,
        selective=selective,
        remembered=remembered,
        stand=stand,
    )
    return settled, value, n


# -- the transposition table ---------------------------------------------------------------


@inlined
def _recall(
    t: Tables, s: SearchState, key: np.uint64, depth: int, ply: int, alpha: int, beta: int
) -> tuple[bool, int, int, int]:
    """Return whether the table ends a node, and its value; else the table's move, 0 without one, and the estimate."""
    flags = I64(s.counters[FLAGS])
    data = U64(0)
    if (flags & TRANSPOSITIONS) != 0:
        data = transposition.look_up(s.table, I64(s.counters[TABLE_MASK]), key)
    if data == U64(0):
        return False, I64(0), I64(0), estimate(t, s)
    usable, score, bound = _value_in_table(s, data, depth, ply, (flags & SELECTIVE) != 0)
    ends = False
    if usable and beta - alpha <= 1:
        ends = (score >= beta and (bound & transposition.LOWER) != 0) or (
            score <= alpha and (bound & transposition.UPPER) != 0
        )
    return ends, score, transposition.move_of(data), transposition.evaluation_of(data)


@inlined
def _value_in_table(s: SearchState, data: np.uint64, depth: int, ply: int, selective: bool) -> tuple[bool, int, int]:
    """Return whether a stored score may be used at a ply, the score counted from the root, and its bound."""
    score, bound = transposition.score_of(data), transposition.bound_of(data)
    usable = transposition.depth_of(data) >= depth if selective else transposition.depth_of(data) == depth
    if abs(score) >= PROVEN:
        # The same proof may run into other positions of another game, or into the move limit.
        usable = usable or selective
        usable = usable and transposition.generation_of(data) == (s.counters[GENERATION] & 0xFF)
        usable = usable and ply + MATE - abs(score) <= s.counters[LIMIT_PLY]
        score += -ply if score > 0 else ply
    return usable, score, bound


@inlined
def store_node(s: SearchState, n: Node, best: int, best_move: int) -> None:
    """Store what a node was worth, counted from its own position.

    Parameters
    ----------
    s : SearchState
        The memory of the search.
    n : Node
        The node.
    best : int
        Its value.
    best_move : int
        The move that attains it; 0 for none.
    """
    if (I64(s.counters[FLAGS]) & TRANSPOSITIONS) == 0:
        return
    bound = transposition.EXACT
    if best >= n.beta:
        bound = transposition.LOWER
    elif best <= n.alpha:
        bound = transposition.UPPER
    score = best
    if abs(best) >= PROVEN:
        score += n.ply if best > 0 else -n.ply
    entry = transposition.Entry(best_move, score, min(n.depth, 255), bound, I64(s.counters[GENERATION]) & 0xFF, n.stand)
    transposition.store(s.table, I64(s.counters[TABLE_MASK]), n.key, entry)


# -- early ends ----------------------------------------------------------------------------


@inlined
def may_end_early(n: Node) -> bool:
    """Return whether a node may be given up for its estimate, or after a null move.

    Parameters
    ----------
    n : Node
        The node.

    Returns
    -------
    bool
        False at the root and in any danger.
    """
    return n.selective and not n.principal and not n.endangered and n.ply != 0 and abs(n.beta) < PROVEN


@inlined
def trusts_estimate(n: Node) -> bool:
    """Return whether the estimate is so high that it ends the node.

    Parameters
    ----------
    n : Node
        The node.

    Returns
    -------
    bool
        Only near the horizon.
    """
    return n.depth <= MARGIN_DEPTH and n.stand - MARGIN * n.depth >= n.beta


@inlined
def may_pass(s: SearchState, n: Node, after_null: int) -> bool:
    """Return whether a null move is tried: who stands so well that passing would refute, plays on.

    Parameters
    ----------
    s : SearchState
        The memory of the search.
    n : Node
        The node.
    after_null : int
        1 if the node follows a null move, else 0.

    Returns
    -------
    bool
        False right after a null move.
    """
    return n.depth >= _NULL_DEPTH and after_null == 0 and n.stand >= n.beta and n.ply + 1 < s.counters[LIMIT_PLY]


@inlined
def pass_turn(t: Tables, s: SearchState, n: Node) -> np.uint64:
    """Enter the position after a null move and return its key.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    n : Node
        The node.

    Returns
    -------
    uint64
        The key.
    """
    put_side(t, s.board, n.side ^ 1)
    child = U64(n.key ^ t.side_key[0])
    s.keys[I64(s.counters[BASE]) + n.ply + 1] = child
    s.reversible[n.ply + 1] = s.reversible[n.ply] + 1
    s.seen[seen_place(child)] += 1
    return child


@inlined
def take_turn_back(t: Tables, s: SearchState, n: Node, child: np.uint64) -> None:
    """Leave the position after a null move.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    n : Node
        The node.
    child : uint64
        Its key.
    """
    s.seen[seen_place(child)] -= np.uint16(1)
    put_side(t, s.board, n.side)
