"""What is decided within three plies, found without a table: the leaves of the proof search.

A win in one ply is looked for where it can be: a king's slide to an escape, an
attacker's slide to a free cell beside the king on which it would capture it. What is
found is made on the board and judged there, so a candidate too many costs time and
nothing else. Two kinds of win have no such place, a capture of the last attackers and
a ply that leaves the other side without a move; every move is tried for them, unless
it is plain that no single ply can do that:

* a ply captures at most three soldiers, so not the last of four;
* a ply adds a piece to two lines and takes victims from at most three more, so a side
  that can move on six lines can still move after it;
* a ply closes at most one of the directions in which the king can go.

`tests/retrograde/puzzles` holds all of it equal to trying every move.

Naming: the *prover* is the side that is to win, the *opponent* the other. A distance
is in plies; -1 says that there is none within the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.attacks import escape_targets, is_legal, king_capture, king_slides, winner_of
from tablut.engine.jit import I64, advance, called, inlined
from tablut.engine.kernels import can_move, escape_of_king, generate, line_content, make, unmake
from tablut.engine.layout import coordinates, count_of, king_of, side_of
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

_SAFE_LINES = 6
"""A side that can move on so many lines can move after any ply of the other."""


@inlined
def winner_after(t: Tables, board: NDArray[np.uint32], outcome: int) -> int:
    """Return who has won after a ply (0 white, 1 black, -1 nobody yet); the board shows the position after it."""
    if outcome != UNDECIDED:
        return winner_of(outcome)
    side = side_of(t, board)
    # Under `either_after_ply` the outcome has said it already.
    if t.either_after_ply == 0 and not can_move(t, board, side):
        return side ^ 1
    return -1


@called
def _is_win(t: Tables, board: NDArray[np.uint32], move: int, side: int) -> bool:
    """Return whether a legal move of the side to move wins with this ply."""
    undo, outcome = make(t, board, move)
    won = winner_after(t, board, outcome) == side
    unmake(t, board, undo)
    return won


@called
def _mobile_lines(t: Tables, board: NDArray[np.uint32], side: int) -> int:
    """Return on how many lines soldiers of a side can move, the king taken for one; stops at `_SAFE_LINES`."""
    counts_at = t.attacker_counts if side == 1 else t.defender_counts
    found = 0
    for line in range(2 * t.size):
        if t.counts[I64(counts_at[line]) + line_content(t, I64(board[line]))] != 0:
            found += 1
            if found == _SAFE_LINES:
                return found
    return found


@inlined
def _ply_may_decide_otherwise(t: Tables, board: NDArray[np.uint32], side: int) -> bool:
    """Return whether a ply of a side might take the last attacker or leave the other side without a move."""
    if side == 0 and count_of(t, board, 1) <= 3:
        return True
    if side == 1:
        king = king_of(t, board)
        rank, file = coordinates(t, king)
        row, column = king_slides(t, board, king)
        ways = 1 if row & ((1 << file) - 1) else 0
        ways += 1 if row >> file else 0
        ways += 1 if column & ((1 << rank) - 1) else 0
        ways += 1 if column >> rank else 0
        if ways >= 2:
            return False
    return _mobile_lines(t, board, side ^ 1) < _SAFE_LINES


@inlined
def _escaping_move(t: Tables, board: NDArray[np.uint32]) -> int:
    """Return a move of white, to move, by which the king escapes and wins; -1 if there is none."""
    row, column = escape_targets(t, board, king_of(t, board))
    return escape_of_king(t, board, row, column)


@called
def winning_move(t: Tables, board: NDArray[np.uint32], scratch: NDArray[np.int32]) -> int:
    """Return a move by which the side to move wins with this ply; -1 if there is none.

    ``scratch`` has room for 4C moves.
    """
    side = side_of(t, board)
    move = _escaping_move(t, board) if side == 0 else king_capture(t, board)
    if move >= 0:
        return move
    if _ply_may_decide_otherwise(t, board, side):
        count = generate(t, board, scratch)
        for index in range(count):
            if _is_win(t, board, I64(scratch[index]), side):
                return I64(scratch[index])
    return -1


@called
def _distance_after(
    t: Tables, board: NDArray[np.uint32], move: int, left: int, scratch: NDArray[np.int32], counters: NDArray[np.int64]
) -> int:
    """Return in how many plies the opponent, to move, has lost if it makes a move; -1 if not within ``left`` (1, 2)."""
    opponent = side_of(t, board)
    undo, outcome = make(t, board, move)
    counters[0] += 1
    winner = winner_after(t, board, outcome)
    distance = -1
    if winner == opponent ^ 1:
        distance = 1
    elif winner < 0 and left > 1 and winning_move(t, board, scratch) >= 0:
        distance = 2
    unmake(t, board, undo)
    return distance


@called
def lost_at_once(
    t: Tables,
    board: NDArray[np.uint32],
    left: int,
    scratch: NDArray[np.int32],
    killer: NDArray[np.int64],
    counters: NDArray[np.int64],
) -> int:
    """Return in how many plies the opponent, to move, has lost; -1 if not within ``left`` plies, 0 to 2.

    ``scratch`` has room for 8C moves. ``killer`` is a move that is tried first: the last
    one that held. ``counters[0]`` counts the moves made.
    """
    if not can_move(t, board, side_of(t, board)):
        return 0
    if left == 0:
        return -1
    below = advance(scratch, 4 * t.cells)
    if is_legal(t, board, killer[0]) and _distance_after(t, board, killer[0], left, below, counters) < 0:
        return -1
    worst = 0
    count = generate(t, board, scratch)
    for index in range(count):
        move = I64(scratch[index])
        distance = _distance_after(t, board, move, left, below, counters)
        if distance < 0:
            killer[0] = move
            return -1
        worst = max(worst, distance)
    return worst


@called
def count_parries(t: Tables, board: NDArray[np.uint32], scratch: NDArray[np.int32], counters: NDArray[np.int64]) -> int:
    """Return after how many moves of the opponent, to move, the prover does not win within two plies."""
    below = advance(scratch, 4 * t.cells)
    parries = 0
    count = generate(t, board, scratch)
    for index in range(count):
        if _distance_after(t, board, I64(scratch[index]), 2, below, counters) < 0:
            parries += 1
    return parries


@called
def wins_soon(
    t: Tables,
    board: NDArray[np.uint32],
    left: int,
    scratch: NDArray[np.int32],
    killer: NDArray[np.int64],
    counters: NDArray[np.int64],
) -> int:
    """Return a number of plies within which the prover, to move, wins; -1 if not within ``left``, 0 to 3.

    The number is 1 if it can be, otherwise that of the first win found. ``scratch`` has
    room for 12C moves.
    """
    if left == 0:
        return -1
    if winning_move(t, board, scratch) >= 0:
        return 1
    if left == 1:
        return -1
    below = advance(scratch, 4 * t.cells)
    count = generate(t, board, scratch)
    for index in range(count):
        undo, outcome = make(t, board, I64(scratch[index]))
        counters[0] += 1
        distance = -1
        # Nothing wins at once, so what is decided here is lost.
        if winner_after(t, board, outcome) < 0:
            distance = lost_at_once(t, board, left - 1, below, killer, counters)
        unmake(t, board, undo)
        if distance >= 0:
            return distance + 1
    return -1
