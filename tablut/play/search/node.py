"""Decisions about a node that need no search of its moves, and bookkeeping for each ply.

They concern repetition, the move limit, immediate wins, tablebases and threats to win immediately. All are exact, so
both quiescence search and the full search can rely on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.attacks import NO_MOVE, blocking_places, escape_targets, king_capture, king_slides, winner_of
from tablut.engine.jit import I64, U64, advance, called, inlined, popcount, read_clock
from tablut.engine.kernels import can_move, escape_of_king, generate, key_change
from tablut.engine.layout import coordinates, count_of, king_of, put_side, side_of, start_of, target_of, undo_captured
from tablut.play.search import transposition
from tablut.play.search.evaluation import evaluate
from tablut.play.search.limits import EVALUATION_LIMIT, MATE, MAX_PLY, PROVEN, REPETITION
from tablut.play.search.state import SELECTIVE, SHARED, TRANSPOSITIONS, SearchState, recurs, seen_place
from tablut.play.search.table_probing import table_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

_LOOK_EVERY = 1000
"""Number of nodes (about 0.25 ms) between two readings of the clock."""
ASSURED = 8000
"""Number of nodes (about 2 ms) that are searched, even if long waits are expected, unless the deadline has passed."""
FIRST_LOOK = 2000
"""Number of nodes (about 0.5 ms) before the clock is first read, so that a search started late also finds a move."""
WAITS = 2
"""Number of waits before the result is delivered: one until the thread runs, one for the interpreter's lock."""


@called
def _look_at_clock(state: SearchState) -> None:
    """Read the clock, and end the search if its deadline has been reached.

    The search reserves time for the `WAITS` waits that are still to come, each as long as the longest so far. Even a
    search that starts late examines a few nodes, because moves played without any search lose games.
    """
    counters = state.counters
    counters.next_reading = counters.nodes + _LOOK_EVERY
    read_clock(counters.clock_address, counters.clock_number, state.time)
    now = state.time[0] * 1_000_000_000 + state.time[1]
    if counters.last_reading != 0:
        counters.longest_gap = max(counters.longest_gap, now - counters.last_reading)
    counters.last_reading = now
    expected = WAITS * counters.longest_gap if counters.nodes >= ASSURED else 0
    if now + expected >= counters.deadline:
        counters.stopped = 1


@inlined
def out_of_limits(state: SearchState) -> bool:
    """Return whether a limit or the stop flag ends the search. If so, record this in the counters."""
    counters = state.counters
    if counters.stopped != 0:
        return True
    if state.stop[0] != 0 or counters.nodes >= counters.node_limit:
        counters.stopped = 1
    elif counters.nodes >= counters.next_reading:
        _look_at_clock(state)
    return counters.stopped != 0


@called
def estimate(rules: Tables, state: SearchState) -> int:
    """Return the evaluation for the side to move, clipped to `EVALUATION_LIMIT`."""
    score = evaluate(rules, state.evaluation, state.board)
    score = max(-EVALUATION_LIMIT, min(EVALUATION_LIMIT, score))
    return -score if side_of(rules, state.board) != 0 else score


@inlined
def settle(rules: Tables, state: SearchState, ply: int, key: np.uint64) -> tuple[bool, int, bool, int, int]:
    """Return a position's value if the rules, the history, an immediate win or a table decides it.

    The results are whether the value is decided, the value, whether the opponent threatens to win immediately, and
    masks of the escapes that the king can reach in its row and in its column.
    """
    board = state.board
    side = side_of(rules, board)
    state.line_length[ply] = 0
    rule, draw = state.counters.repetition_rule, state.counters.recurrence
    # Black may repeat a position if only white may not (code 6).
    counts = rule != 0 and (rule != 6 or side == 1)
    again = counts and (ply > 1 or draw == 0) and recurs(state, key, ply)
    again_value = draw if (ply & 1) == 0 else -draw
    if rule != 1:
        lost = rule == 5 or rule == 3 + side
        again_value = I64(ply - REPETITION) if lost else I64(REPETITION - ply)
    # If the rules allow recurrence and only the search discourages it (`draw` is not 0), an immediate win still counts,
    # because a side that missed the win earlier can still win now. After a root move, the position is searched normally
    # (see `most_after`).
    if again and draw == 0:
        return True, again_value, False, I64(0), I64(0)
    if ply >= state.counters.limit_ply:
        lost = not can_move(rules, board, side)
        return True, I64(ply - MATE) if lost else I64(0), False, I64(0), I64(0)
    row, column = escape_targets(rules, board, king_of(rules, board))
    capture = king_capture(rules, board)
    winning = I64(NO_MOVE)
    if side == 1:
        winning = capture
        endangered = (row | column) != 0
    else:
        if (row | column) != 0:
            winning = escape_of_king(rules, board, row, column)
        endangered = capture != NO_MOVE
    if winning != NO_MOVE:
        state.line[ply * MAX_PLY] = np.int32(winning)
        state.line_length[ply] = 1
        return True, I64(MATE - ply - 1), False, row, column
    if again:
        return True, again_value, False, row, column
    # Tables ignore the game history, which no longer matters after a capture.
    if state.reversible[ply] == 0:
        soldiers = count_of(rules, board, 1) + count_of(rules, board, 0)
        if soldiers <= state.counters.tablebase_soldiers:
            known, value = table_value(rules, state, ply)
            if known:
                return True, value, False, row, column
    return False, I64(0), endangered, row, column


@inlined
def most_after(state: SearchState, ply: int, child: np.uint64) -> int:
    """Return an upper bound on a move's value, either `INFINITE` or the score of a recurrence.

    The score of a recurrence is the bound if a root move repeats an earlier position in a variant without a repetition
    rule. The position is still searched, because the opponent may choose a better move this time.
    """
    repeats = ply == 0 and state.counters.recurrence != 0 and recurs(state, child, I64(1))
    return state.counters.recurrence if repeats else I64(INFINITE)


@inlined
def moves_at(rules: Tables, state: SearchState, ply: int) -> NDArray[np.int32]:
    """Return a ply's part of the move array."""
    return advance(state.moves, I64(ply * 4 * rules.cells))


@called
def parries(
    rules: Tables, state: SearchState, ply: int, key: np.uint64, row: int, column: int, moves: NDArray[np.int32]
) -> tuple[int, int]:
    """Write the moves of a position. Return their number, and the number of moves omitted because they allow an escape.

    If black has to stop an escape, only moves that block the king, or that may repeat a position, are written. All
    others lose in two plies, or sooner if the rules end the game when a ply leaves either side without a move.
    """
    board = state.board
    count = generate(rules, board, moves)
    side, king = side_of(rules, board), king_of(rules, board)
    if side == 0 or (row | column) == 0 or ply + 1 >= state.counters.limit_ply:
        return count, I64(0)
    # If a side without a move loses immediately, the king must have a move after its escape. It can move back unless it
    # came from the castle.
    if rules.either_after_ply != 0 and (king == rules.castle or (state.counters.flags & SELECTIVE) == 0):
        return count, I64(0)
    king_rank, king_file = coordinates(rules, king)
    _, block_row, block_column = blocking_places(rules, board, king)
    rule = state.counters.repetition_rule
    kept = 0
    for index in range(count):
        move = I64(moves[index])
        start, target = start_of(rules, move), target_of(rules, move)
        rank, file = coordinates(rules, target)
        blocks = (rank == king_rank and (block_row >> file) & 1 != 0) or (
            file == king_file and (block_column >> rank) & 1 != 0
        )
        if not blocks and rule != 0:
            blocks = state.seen[seen_place(key ^ rules.keys[start] ^ rules.keys[target] ^ rules.side_key[0])] != 0
        if blocks:
            moves[kept] = np.int32(move)
            kept += 1
    return kept, count - kept


@inlined
def arrive(rules: Tables, state: SearchState, ply: int, key: np.uint64, is_king: bool, undo: int) -> np.uint64:
    """Add the position after a move to the path, and return its Zobrist key."""
    side = side_of(rules, state.board) ^ 1
    child = U64(key ^ key_change(rules, side, is_king, undo))
    state.keys[state.counters.before_root + ply + 1] = child
    state.arrivals[ply + 1] = np.int32(target_of(rules, undo))
    state.reversible[ply + 1] = 0 if undo_captured(undo) != 0 else state.reversible[ply] + 1
    state.seen[seen_place(child)] += np.uint16(1)
    return child


@inlined
def leave(state: SearchState, child: np.uint64) -> None:
    """Remove a position from the path."""
    state.seen[seen_place(child)] -= np.uint16(1)


@inlined
def extend_line(state: SearchState, ply: int, move: int, value: int) -> None:
    """Set the principal variation of a ply to a move, followed by the principal variation of the next ply.

    At the root, also record the move and its value as the best move so far.
    """
    if ply == 0:
        state.counters.root_move, state.counters.root_score = move, value
    here, below = ply * MAX_PLY, (ply + 1) * MAX_PLY
    length = I64(state.line_length[ply + 1])
    state.line[here] = np.int32(move)
    for index in range(length):
        state.line[here + 1 + index] = state.line[below + index]
    state.line_length[ply] = length + 1


# -- a node of the full search: entry, early cut-offs and storage --------------------------


# First, rules, history and tables are checked (`open_node`). Then a node may be cut off early by its estimate or by a
# null move (`trusts_estimate`, `may_pass`). At the end, its value is stored (`store_node`). The moves are ordered in
# `tablut.play.search.ordering`, and the recursion is in `tablut.play.search.tree`.
#
# Early cut-offs are not used at the root or if the side to move is threatened with an immediate loss. See the rules for
# proofs in `tablut.play.search.tree`.


INFINITE: Final = MATE + 1

_NULL_DEPTH = 3
_NULL_MARGIN = 80
"""Centi-logits that the estimate must exceed beta by for each further ply of null-move reduction (at most three)."""
MARGIN_DEPTH = 3
MARGIN = 70
"""Error of an estimate, in centi-logits per ply of depth, that futility pruning allows for."""
_TRUST_DEPTH = 5
_TRUST_MARGIN = 60
"""Error of an estimate, in centi-logits per ply of depth, that is assumed when the estimate alone cuts off a node."""
_FEW_SOLDIERS = 3
_FEW_MOVES = 3
"""Largest number of king moves with which white may be in zugzwang, if it has at most `_FEW_SOLDIERS` soldiers."""


class SearchNode(NamedTuple):
    """Data about a node before its moves are tried. Kernels create it and never change it."""

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
    improving: bool


@inlined
def value_of_end(state: SearchState, outcome: int, side: int, ply: int) -> int:
    """Return the value, for the side that moved, of a move that ended the game. Clear the line after this move."""
    state.line_length[ply + 1] = 0
    return I64(MATE - ply - 1) if winner_of(outcome) == side else I64(ply + 1 - MATE)


@inlined
def _settle_node(
    rules: Tables, state: SearchState, ply: int, key: np.uint64, alpha: int, beta: int
) -> tuple[bool, int, bool, int, int]:
    """Return the results of `settle`, but treat nodes at the maximum ply or with an empty window as decided."""
    if ply == 0:
        return False, I64(0), False, I64(0), I64(0)
    settled, value, endangered, row, column = settle(rules, state, ply, key)
    if not settled:
        if ply >= MAX_PLY - 2:
            return True, estimate(rules, state), endangered, row, column
        low, high = _within_reach(alpha, beta, ply)
        if low >= high:
            return True, low, endangered, row, column
    return settled, value, endangered, row, column


@inlined
def _within_reach(alpha: int, beta: int, ply: int) -> tuple[int, int]:
    """Narrow a window to the scores that are possible at a ply below the root (mate-distance pruning)."""
    return max(alpha, I64(ply - MATE)), min(beta, I64(MATE - ply - 1))


@inlined
def open_node(
    rules: Tables, state: SearchState, depth: int, alpha: int, beta: int, ply: int, key: np.uint64
) -> tuple[bool, int, SearchNode]:
    """Enter a node. Return whether the node is settled before any move is tried, its value if so, and its data."""
    state.line_length[ply] = 0
    selective = (state.counters.flags & SELECTIVE) != 0
    settled, value, endangered, row, column = _settle_node(rules, state, ply, key, alpha, beta)
    remembered, stand = I64(0), I64(0)
    if not settled:
        if ply != 0:
            alpha, beta = _within_reach(alpha, beta, ply)
        if endangered and selective and ply < 2 * state.counters.root_depth:
            depth += 1
        settled, value, remembered, stand = _recall(rules, state, key, depth, ply, alpha, beta)
    state.stands[ply + 2] = stand
    node = SearchNode(
        depth=depth,
        alpha=alpha,
        beta=beta,
        ply=ply,
        key=key,
        side=side_of(rules, state.board),
        king=king_of(rules, state.board),
        row=row,
        column=column,
        endangered=endangered,
        principal=beta - alpha > 1,
        selective=selective,
        remembered=remembered,
        stand=stand,
        improving=stand > state.stands[ply],
    )
    return settled, value, node


# -- the transposition table ---------------------------------------------------------------


@inlined
def _recall(
    rules: Tables, state: SearchState, key: np.uint64, depth: int, ply: int, alpha: int, beta: int
) -> tuple[bool, int, int, int]:
    """Look up a node in the table. Return whether its entry cuts the node off, its value, its move and its estimate."""
    flags = state.counters.flags
    data = U64(0)
    if (flags & TRANSPOSITIONS) != 0:
        data = transposition.look_up(state.table, state.counters.table_mask, key)
    if data == U64(0):
        return False, I64(0), I64(0), estimate(rules, state)
    usable, score, bound = _value_in_table(state, data, depth, ply, (flags & SELECTIVE) != 0)
    ends = False
    # Several threads must not search the principal variation twice, so an exact value ends its nodes too.
    exact = (flags & SHARED) != 0 and ply > 0 and bound == transposition.EXACT and abs(score) < PROVEN
    if usable and (exact or beta - alpha <= 1):
        above = score >= beta and (bound & transposition.LOWER) != 0
        ends = exact or above or (score <= alpha and (bound & transposition.UPPER) != 0)
    return ends, score, transposition.move_of(data), transposition.evaluation_of(data)


@inlined
def _value_in_table(
    state: SearchState, data: np.uint64, depth: int, ply: int, selective: bool
) -> tuple[bool, int, int]:
    """Return whether a stored score may be used at a ply, the score relative to the root, and the type of its bound."""
    score, bound = transposition.score_of(data), transposition.bound_of(data)
    usable = transposition.depth_of(data) >= depth if selective else transposition.depth_of(data) == depth
    if abs(score) >= PROVEN:
        # In another game, the same line may repeat earlier positions or exceed the move limit.
        usable = usable or selective
        usable = usable and transposition.generation_of(data) == (state.counters.generation & 0xFF)
        usable = usable and ply + MATE - abs(score) <= state.counters.limit_ply
        score += -ply if score > 0 else ply
    return usable, score, bound


@inlined
def store_node(state: SearchState, node: SearchNode, best: int, best_move: int) -> None:
    """Store a node's value in the table. Proven scores are stored relative to the node itself."""
    if (state.counters.flags & TRANSPOSITIONS) == 0:
        return
    bound = transposition.EXACT
    if best >= node.beta:
        bound = transposition.LOWER
    elif best <= node.alpha:
        bound = transposition.UPPER
    score = best
    if abs(best) >= PROVEN:
        score += node.ply if best > 0 else -node.ply
    entry = transposition.Entry(
        best_move, score, min(node.depth, 255), bound, state.counters.generation & 0xFF, node.stand
    )
    transposition.store(state.table, state.counters.table_mask, node.key, entry)


# -- early cut-offs ------------------------------------------------------------------------


@inlined
def may_end_early(rules: Tables, state: SearchState, node: SearchNode) -> bool:
    """Return whether a node may be cut off by its estimate or by a null move."""
    wanted = node.selective and not node.principal and not node.endangered and node.ply != 0 and abs(node.beta) < PROVEN
    if not wanted or node.side != 0 or count_of(rules, state.board, 0) > _FEW_SOLDIERS:
        return wanted
    row, column = king_slides(rules, state.board, node.king)
    return popcount(row) + popcount(column) > _FEW_MOVES


@inlined
def trusts_estimate(node: SearchNode) -> bool:
    """Return whether the estimate exceeds beta by enough to cut off the node."""
    return node.depth <= _TRUST_DEPTH and node.stand - _TRUST_MARGIN * node.depth >= node.beta


@inlined
def may_pass(state: SearchState, node: SearchNode, after_null: int) -> bool:
    """Return whether to try a null move. The estimate must reach beta."""
    return (
        node.depth >= _NULL_DEPTH
        and after_null == 0
        and node.stand >= node.beta
        and node.ply + 1 < state.counters.limit_ply
    )


@inlined
def depth_after_pass(node: SearchNode) -> int:
    """Return the search depth in plies after a null move."""
    return node.depth - 3 - node.depth // 4 - min((node.stand - node.beta) // _NULL_MARGIN, 3)


@inlined
def pass_turn(rules: Tables, state: SearchState, node: SearchNode) -> np.uint64:
    """Make a null move and return the key of the resulting position."""
    put_side(rules, state.board, node.side ^ 1)
    child = U64(node.key ^ rules.side_key[0])
    state.keys[state.counters.before_root + node.ply + 1] = child
    state.arrivals[node.ply + 1] = 0
    state.reversible[node.ply + 1] = state.reversible[node.ply] + 1
    state.seen[seen_place(child)] += 1
    return child


@inlined
def take_turn_back(rules: Tables, state: SearchState, node: SearchNode, child: np.uint64) -> None:
    """Take back a null move."""
    state.seen[seen_place(child)] -= np.uint16(1)
    put_side(rules, state.board, node.side)
