"""What is known on entering a position before any move of it is tried, and the bookkeeping of a ply.

Repetition and the move limit, wins at once, tablebases, threats to win at once: all exact, so
that quiescence and full search alike may call positions decided on their word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import NO_MOVE, blocking_places, escape_targets, king_capture
from tablut.engine.escapes import escape_of_king
from tablut.engine.jit import I64, U64, advance, called, inlined
from tablut.engine.kernels import can_move, generate, key_change
from tablut.engine.layout import coordinates, count_of, king_of, side_of, start_of, target_of, undo_captured
from tablut.play.search.clock import read_clock
from tablut.play.search.evaluation import evaluate
from tablut.play.search.scores import EVALUATION_LIMIT, MATE, MAX_PLY, REPETITION
from tablut.play.search.state import (
    BASE,
    CLOCK_ADDRESS,
    CLOCK_NUMBER,
    DEADLINE,
    FLAGS,
    LAST_LOOK,
    LIMIT_PLY,
    LONGEST_GAP,
    NEXT_LOOK,
    NODE_LIMIT,
    NODES,
    RECURRENCE,
    REPETITION_RULE,
    SECONDS,
    SELECTIVE,
    STOPPED,
    TABLE_SOLDIERS,
    SearchState,
    recurs,
    seen_place,
)
from tablut.play.search.tree_probe import table_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = [
    "ASSURED",
    "FIRST_LOOK",
    "WAITS",
    "arrive",
    "estimate",
    "extend_line",
    "goes_back",
    "leave",
    "moves_at",
    "out_of_limits",
    "parries",
    "settle",
]

_LOOK_EVERY = 1000
"""Nodes between two looks at the clock: a quarter of a millisecond."""
ASSURED = 8000
"""Nodes, two milliseconds, that no fear of waits cuts off: only when the time is up, less its margin, do they end."""
FIRST_LOOK = 2000
"""Nodes before the first look: half a millisecond, so that a machine that begins late still moves on thought."""
WAITS = 2
"""Waits to expect before the answer is out: to be woken, and to be given the interpreter's lock."""


@called
def _look_at_clock(s: SearchState) -> None:
    """Read the clock, and end the search if the time is up.

    A thread that is made to wait is late, and so will be whoever waits for its answer.
    The longest wait so far is what the search keeps ready for each of the next ones.
    It never plays a move that it has not thought about: late or not, a move for nothing loses games.
    """
    counters = s.counters
    counters[NEXT_LOOK] = counters[NODES] + _LOOK_EVERY
    read_clock(I64(counters[CLOCK_ADDRESS]), I64(counters[CLOCK_NUMBER]), advance(counters, I64(SECONDS)))
    now = counters[SECONDS] * 1_000_000_000 + counters[SECONDS + 1]
    if counters[LAST_LOOK] != 0:
        counters[LONGEST_GAP] = max(counters[LONGEST_GAP], now - counters[LAST_LOOK])
    counters[LAST_LOOK] = now
    feared = WAITS * counters[LONGEST_GAP] if counters[NODES] >= ASSURED else 0
    if now + feared >= counters[DEADLINE]:
        counters[STOPPED] = 1


@inlined
def out_of_limits(s: SearchState) -> bool:
    """Return whether the search has to end, and remember it.

    Parameters
    ----------
    s : SearchState
        The memory of the search.

    Returns
    -------
    bool
        Whether any limit is reached.
    """
    counters = s.counters
    if counters[STOPPED] != 0:
        return True
    if s.stop[0] != 0 or counters[NODES] >= counters[NODE_LIMIT]:
        counters[STOPPED] = 1
    elif counters[NODES] >= counters[NEXT_LOOK]:
        _look_at_clock(s)
    return counters[STOPPED] != 0


@called
def estimate(t: Tables, s: SearchState) -> int:
    """Return the evaluation for the side to move.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.

    Returns
    -------
    int
        Centi-logits, within `EVALUATION_LIMIT`.
    """
    score = evaluate(t, s.evaluation, s.board)
    score = max(-EVALUATION_LIMIT, min(EVALUATION_LIMIT, score))
    return -score if side_of(t, s.board) != 0 else score


@inlined
def settle(t: Tables, s: SearchState, ply: int, key: np.uint64) -> tuple[bool, int, bool, int, int]:
    """Return what rules, history, wins at once and tablebases say of a position below the root.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    ply : int
        At least 1.
    key : uint64
        Of the position.

    Returns
    -------
    settled : bool
        Whether the value is known.
    value : int
        For the side to move, if it is.
    endangered : bool
        Whether the other side would win at once if it were to move.
    row, column : int
        The king's escape targets, see `tablut.engine.attacks.escape_targets`.
    """
    board = s.board
    side = side_of(t, board)
    s.line_length[ply] = 0
    rule, draw = I64(s.counters[REPETITION_RULE]), I64(s.counters[RECURRENCE])
    again = rule != 0 and (ply > 1 or draw == 0) and recurs(s, key, ply)
    again_value = (draw if (ply & 1) == 0 else -draw) if rule == 1 else I64(REPETITION - ply)
    # A recurrence that no rule knows of (it has a value) hides no win at once: who missed it can take it now. After a
    # move of the root it hides nothing at all, see `goes_back`.
    if again and draw == 0:
        return True, again_value, False, I64(0), I64(0)
    if ply >= s.counters[LIMIT_PLY]:
        lost = not can_move(t, board, side)
        return True, I64(ply - MATE) if lost else I64(0), False, I64(0), I64(0)
    row, column = escape_targets(t, board, king_of(t, board))
    capture = king_capture(t, board)
    winning = I64(NO_MOVE)
    if side == 1:
        winning = capture
        endangered = (row | column) != 0
    else:
        if (row | column) != 0:
            winning = escape_of_king(t, board, row, column)
        endangered = capture != NO_MOVE
    if winning != NO_MOVE:
        s.line[ply * MAX_PLY] = np.int32(winning)
        s.line_length[ply] = 1
        return True, I64(MATE - ply - 1), False, row, column
    if again:
        return True, again_value, False, row, column
    # Tables know no history; after a capture, none matters.
    if s.reversible[ply] == 0:
        soldiers = count_of(t, board, 1) + count_of(t, board, 0)
        if soldiers <= s.counters[TABLE_SOLDIERS]:
            known, value = table_value(t, s, ply)
            if known:
                return True, value, False, row, column
    return False, I64(0), endangered, row, column


@inlined
def goes_back(s: SearchState, ply: int, child: np.uint64) -> bool:
    """Return whether a move of the root leads to a position of the game before it where no rule minds that.

    Such a move is worth what the search says of it, but no more than a recurrence: who is to move there may
    choose better than the last time, so the position is searched like any other.

    Parameters
    ----------
    s : SearchState
        The memory of the search.
    ply : int
        Of the move, from the root.
    child : uint64
        The key of the position after it, which is on the path.

    Returns
    -------
    bool
        False below the root.
    """
    return ply == 0 and s.counters[RECURRENCE] != 0 and recurs(s, child, I64(1))


@inlined
def moves_at(t: Tables, s: SearchState, ply: int) -> NDArray[np.int32]:
    """Return where the moves of a ply are kept.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    ply : int
        Plies from the root.

    Returns
    -------
    pointer to int32
        Room for 4C moves.
    """
    return advance(s.moves, I64(ply * 4 * t.cells))


@called
def parries(
    t: Tables, s: SearchState, ply: int, key: np.uint64, row: int, column: int, moves: NDArray[np.int32]
) -> tuple[int, int]:
    """Write the moves of a position; return how many there are, and how many more let the king escape.

    Where black has to stop the king, only moves that stand in its way are written, and
    those that may recreate an earlier position, which may end the game. Every other one
    loses in two plies: in exactly two, or, where a ply may leave either side without a
    move, in two at most. Elsewhere, all legal moves are written.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    ply : int
        Plies from the root.
    key : uint64
        Of the position.
    row : int
        The king's escape targets on its row, see `tablut.engine.attacks.escape_targets`.
    column : int
        Those on its column.
    moves : ndarray of int32, shape (4C,)
        Receives them.

    Returns
    -------
    tuple of (int, int)
        Moves written, and moves that lose in two plies.
    """
    board = s.board
    count = generate(t, board, moves)
    side, king = side_of(t, board), king_of(t, board)
    if side == 0 or (row | column) == 0 or ply + 1 >= s.counters[LIMIT_PLY]:
        return count, I64(0)
    # A king that has escaped must be able to move where that counts; off the castle, it can move back.
    if t.either_after_ply != 0 and (king == t.castle or (s.counters[FLAGS] & SELECTIVE) == 0):
        return count, I64(0)
    king_rank, king_file = coordinates(t, king)
    _, block_row, block_column = blocking_places(t, board, king)
    rule = I64(s.counters[REPETITION_RULE])
    kept = 0
    for index in range(count):
        move = I64(moves[index])
        start, target = start_of(move), target_of(move)
        rank, file = coordinates(t, target)
        blocks = (rank == king_rank and (block_row >> file) & 1 != 0) or (
            file == king_file and (block_column >> rank) & 1 != 0
        )
        if not blocks and rule != 0:
            blocks = s.seen[seen_place(key ^ t.keys[start] ^ t.keys[target] ^ t.side_key[0])] != 0
        if blocks:
            moves[kept] = np.int32(move)
            kept += 1
    return kept, count - kept


@inlined
def arrive(t: Tables, s: SearchState, ply: int, key: np.uint64, is_king: bool, undo: int) -> np.uint64:
    """Enter the position after a move of a ply, which has been made: count it, put it on the path, return its key.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    ply : int
        Of the move, from the root.
    key : uint64
        Of the position before.
    is_king : bool
        Whether the king moved.
    undo : int
        The record of the move.

    Returns
    -------
    uint64
        The key.
    """
    side = side_of(t, s.board) ^ 1
    child = U64(key ^ key_change(t, side, is_king, undo))
    s.keys[I64(s.counters[BASE]) + ply + 1] = child
    s.reversible[ply + 1] = 0 if undo_captured(undo) != 0 else s.reversible[ply] + 1
    s.seen[seen_place(child)] += np.uint16(1)
    return child


@inlined
def leave(s: SearchState, child: np.uint64) -> None:
    """Take a position off the path.

    Parameters
    ----------
    s : SearchState
        The memory of the search.
    child : uint64
        Its key.
    """
    s.seen[seen_place(child)] -= np.uint16(1)


@inlined
def extend_line(s: SearchState, ply: int, move: int) -> None:
    """Make a move and the principal variation after it that of a ply.

    Parameters
    ----------
    s : SearchState
        The memory of the search.
    ply : int
        Of the move, from the root.
    move : int
        ``from | to << 7``.
    """
    here, below = ply * MAX_PLY, (ply + 1) * MAX_PLY
    length = I64(s.line_length[ply + 1])
    s.line[here] = np.int32(move)
    for index in range(length):
        s.line[here + 1 + index] = s.line[below + index]
    s.line_length[ply] = length + 1
