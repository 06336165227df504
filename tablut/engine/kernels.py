"""One ply, compiled: generate moves, make one with captures and outcome, take it back.

A board is one small array, ``uint32[2N + 4]``: line ``l`` (rows, then columns, see
`tablut.engine.lines`) with its attackers in bits 0-15 and its defenders and king in
bits 16-31, then the king's cell, the side to move (0 white, 1 black), and the
numbers of attackers and of defenders. Every piece is thus stored twice, and a slide
or a capture is a few operations on one line whichever way it runs.

A move is ``from | to << 7``; an undo record is the move with the directions of its
captures on top, ``| directions << 14``. Keys are not part of a board: `key_change`
gives what a ply changes, and the caller carries the key along.

Nothing here validates; `tablut.engine.Engine` does. Moves of decided positions are
generated like any others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import I64, U64, inlined, popcount, scalar, trailing_zeros
from tablut.rules.outcome import (
    KING_CAPTURED,
    KING_ESCAPED,
    NO_ATTACKERS,
    NO_MOVES_BLACK,
    NO_MOVES_WHITE,
    UNDECIDED,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = [
    "can_move",
    "capture_directions",
    "count_moves",
    "generate",
    "judge",
    "key_change",
    "make",
    "neighbouring_attackers",
    "position_key",
    "unmake",
]


@inlined
def _line(board: NDArray[np.uint32], line: int) -> int:
    return I64(board[line])


@inlined
def neighbouring_attackers(t: Tables, board: NDArray[np.uint32], cell: int) -> int:
    """Return the directions from a cell in which an attacker stands next to it, 0 to 15."""
    rank, file = I64(t.rank[cell]), I64(t.file[cell])
    row = (((_line(board, rank) & 0xFFFF) << 1) >> file) & 5
    column = (((_line(board, t.size + file) & 0xFFFF) << 1) >> rank) & 5
    return row | (column << 1)


@inlined
def king_slide(t: Tables, board: NDArray[np.uint32], king: int) -> tuple[int, int]:
    """Return the masks of the king's targets on its row and on its column."""
    rank, file = I64(t.rank[king]), I64(t.file[king])
    row, column = _line(board, rank), _line(board, t.size + file)
    row, column = (row | (row >> 16)) & 0xFFFF, (column | (column >> 16)) & 0xFFFF
    return (
        I64(t.slides[I64(t.king_slides[rank]) + (file << t.size) + row]),
        I64(t.slides[I64(t.king_slides[t.size + file]) + (rank << t.size) + column]),
    )


@inlined
def line_content(t: Tables, line: int) -> int:
    """Return the content of a line as a number in base 3: digit 1 an attacker, 2 a white piece."""
    return I64(t.ternary[line & 0xFFFF]) + 2 * I64(t.ternary[line >> 16])


@inlined
def count_moves(t: Tables, board: NDArray[np.uint32], side: int) -> int:
    """Return the number of legal moves of a side, 2N table look-ups; nothing is generated."""
    total = 0
    lines = 2 * t.size
    if side == 1:
        for line in range(lines):
            total += I64(t.counts[I64(t.attacker_counts[line]) + line_content(t, scalar(_line(board, line)))])
        return total
    for line in range(lines):
        total += I64(t.counts[I64(t.defender_counts[line]) + line_content(t, scalar(_line(board, line)))])
    king = I64(board[lines])
    rank, file = I64(t.rank[king]), I64(t.file[king])
    row, column = _line(board, rank), _line(board, t.size + file)
    row, column = (row | (row >> 16)) & 0xFFFF, (column | (column >> 16)) & 0xFFFF
    total += I64(t.king_extra[I64(t.king_extra_at[rank]) + (file << t.size) + row])
    total += I64(t.king_extra[I64(t.king_extra_at[t.size + file]) + (rank << t.size) + column])
    return total


@inlined
def can_move(t: Tables, board: NDArray[np.uint32], side: int) -> bool:
    """Return whether a side has a legal move; stops at the first line that shows one."""
    lines = 2 * t.size
    if side == 1:
        for line in range(lines):
            if t.counts[I64(t.attacker_counts[line]) + line_content(t, _line(board, line))] != 0:
                return True
        return False
    # A king goes wherever a soldier in its place could: without a slide of its own,
    # the counts, which take it for a soldier, cannot count it wrongly.
    row, column = king_slide(t, board, I64(board[lines]))
    if (row | column) != 0:
        return True
    for line in range(lines):
        if t.counts[I64(t.defender_counts[line]) + line_content(t, _line(board, line))] != 0:
            return True
    return False


@inlined
def generate(t: Tables, board: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the legal moves of the side to move and return how many there are.

    The order is by rank and file of the moving piece, then its targets along the row,
    then along the column, each in ascending order. ``moves`` must hold 4C entries: an
    empty cell is the end of at most four slides.
    """
    size = t.size
    side = I64(board[2 * size + 1])
    king = I64(board[2 * size])
    shift = 16 - (side << 4)
    slides_at = t.attacker_slides if side == 1 else t.defender_slides
    count = 0
    for rank in range(size):
        row = _line(board, rank)
        own = (row >> shift) & 0xFFFF
        row = (row | (row >> 16)) & 0xFFFF
        while own:
            file = trailing_zeros(own)
            own &= own - 1
            start = rank * size + file
            column = _line(board, size + file)
            column = (column | (column >> 16)) & 0xFFFF
            if side == 0 and start == king:
                along_row, along_column = I64(t.king_slides[rank]), I64(t.king_slides[size + file])
            else:
                along_row, along_column = I64(slides_at[rank]), I64(slides_at[size + file])
            targets = I64(t.slides[along_row + (file << size) + row])
            while targets:
                place = trailing_zeros(targets)
                targets &= targets - 1
                moves[count] = start | ((rank * size + place) << 7)
                count += 1
            targets = I64(t.slides[along_column + (rank << size) + column])
            while targets:
                place = trailing_zeros(targets)
                targets &= targets - 1
                moves[count] = start | ((place * size + file) << 7)
                count += 1
    return count


@inlined
def capture_directions(t: Tables, board: NDArray[np.uint32], side: int, target: int, king: int) -> int:
    """Return the directions in which a piece that has arrived on a cell captures a soldier.

    ``side`` is the mover, ``king`` the king's cell after the move; the board already
    shows the piece on its target.
    """
    size = t.size
    shift = 16 - (side << 4)
    rank, file = I64(t.rank[target]), I64(t.file[target])
    row, column = _line(board, rank), _line(board, size + file)
    if side == 1:
        state = 2
        if king == t.castle:
            state = 4 if popcount(neighbouring_attackers(t, board, king)) >= 3 else 3
    else:
        if target == king and t.king_armed == 0:
            return 0
        state = 1 if king == t.castle else 0
    own_row, own_column = (row >> shift) & 0xFFFF, (column >> shift) & 0xFFFF
    enemy_row, enemy_column = (row >> (16 - shift)) & 0xFFFF, (column >> (16 - shift)) & 0xFFFF
    if side == 0 and t.king_armed == 0:
        if t.rank[king] == rank:
            own_row &= ~(1 << I64(t.file[king]))
        if t.file[king] == file:
            own_column &= ~(1 << I64(t.rank[king]))
    own_row |= I64(t.anvils[state * 2 * size + rank])
    own_column |= I64(t.anvils[state * 2 * size + size + file])
    enemy_row &= I64(t.exposed[rank])
    enemy_column &= I64(t.exposed[size + file])
    # Bit 0 is one step down the line, bit 2 one step up; anvils stand two steps away.
    victims = ((enemy_row << 1) >> file) & 5
    anvils = ((own_row << 2) >> file) & 17
    directions = victims & (anvils | (anvils >> 2))
    victims = ((enemy_column << 1) >> rank) & 5
    anvils = ((own_column << 2) >> rank) & 17
    directions |= (victims & (anvils | (anvils >> 2))) << 1
    if side == 1:
        directions &= ~I64(t.facing[king * t.cells + target])
    return directions


@inlined
def neighbour(t: Tables, cell: int, direction: int) -> int:
    """Return the cell next to a cell in a direction; it must exist."""
    if direction == 1:
        return cell - 1
    if direction == 2:
        return cell - t.size
    if direction == 4:
        return cell + 1
    return cell + t.size


@inlined
def toggle(t: Tables, board: NDArray[np.uint32], cell: int, shift: int) -> None:
    """Add or remove a piece: ``shift`` is 0 for an attacker, 16 for a white piece."""
    rank, file = I64(t.rank[cell]), I64(t.file[cell])
    board[rank] ^= np.uint32(1 << (file + shift))
    board[t.size + file] ^= np.uint32(1 << (rank + shift))


@inlined
def toggle_captured(t: Tables, board: NDArray[np.uint32], target: int, directions: int, shift: int) -> None:
    """Remove or restore the soldiers around a cell; ``shift`` as for `toggle`, of the victims."""
    while directions:
        direction = directions & -directions
        directions ^= direction
        toggle(t, board, neighbour(t, target, direction), shift)


@inlined
def judge(t: Tables, board: NDArray[np.uint32], side: int, target: int, king: int, attackers: int) -> int:
    """Return the outcome code after a ply of ``side`` to ``target``; the board shows the position after it."""
    outcome = UNDECIDED
    if side == 1:
        facing = I64(t.facing[king * t.cells + target])
        if facing != 0 and (I64(t.king_falls[king * 16 + neighbouring_attackers(t, board, king)]) & facing) != 0:
            return KING_CAPTURED
    elif target == king and t.escapes[target] != 0:
        outcome = KING_ESCAPED
    elif attackers == 0:
        outcome = NO_ATTACKERS
    if t.either_after_ply != 0:
        # The order of the rules: a white side without a move loses even if its king has escaped.
        if not can_move(t, board, 0):
            return NO_MOVES_WHITE
        if outcome == UNDECIDED and not can_move(t, board, 1):
            return NO_MOVES_BLACK
    return outcome


@inlined
def make(t: Tables, board: NDArray[np.uint32], move: int) -> tuple[int, int]:
    """Make a legal move on the board; return the undo record and the outcome code."""
    size = t.size
    start, target = move & 127, (move >> 7) & 127
    side, king = I64(board[2 * size + 1]), I64(board[2 * size])
    shift = 16 - (side << 4)
    toggle(t, board, start, shift)
    toggle(t, board, target, shift)
    if side == 0 and start == king:
        king = I64(target)
        board[2 * size] = np.uint32(target)
    directions = capture_directions(t, board, side, target, king)
    if directions != 0:
        toggle_captured(t, board, target, directions, 16 - shift)
        board[2 * size + 2 + side] -= np.uint32(popcount(directions))
    outcome = judge(t, board, side, target, king, I64(board[2 * size + 2]))
    board[2 * size + 1] = np.uint32(side ^ 1)
    return (move & 0x3FFF) | (directions << 14), outcome


@inlined
def unmake(t: Tables, board: NDArray[np.uint32], undo: int) -> None:
    """Take a move back, by its undo record."""
    size = t.size
    start, target, directions = undo & 127, (undo >> 7) & 127, (undo >> 14) & 15
    side = I64(board[2 * size + 1]) ^ 1
    shift = 16 - (side << 4)
    board[2 * size + 1] = np.uint32(side)
    if directions != 0:
        toggle_captured(t, board, target, directions, 16 - shift)
        board[2 * size + 2 + side] += np.uint32(popcount(directions))
    toggle(t, board, target, shift)
    toggle(t, board, start, shift)
    if side == 0 and I64(board[2 * size]) == target:
        board[2 * size] = np.uint32(start)


@inlined
def captured_key(t: Tables, side: int, target: int, directions: int) -> np.uint64:
    """Return the keys of the soldiers that a move of ``side`` to ``target`` captured, by xor."""
    change = U64(0)
    while directions:
        direction = directions & -directions
        directions ^= direction
        change ^= t.keys[side * t.cells + neighbour(t, target, direction)]
    return change


@inlined
def key_change(t: Tables, side: int, is_king: bool, undo: int) -> np.uint64:
    """Return what a ply changes in the Zobrist key, by its undo record; ``side`` is the mover."""
    start, target, directions = undo & 127, (undo >> 7) & 127, (undo >> 14) & 15
    kind = 0 if side == 1 else (2 if is_king else 1)
    change = t.keys[kind * t.cells + start] ^ t.keys[kind * t.cells + target] ^ t.side_key[0]
    return change ^ captured_key(t, side, target, directions)


@inlined
def position_key(t: Tables, board: NDArray[np.uint32]) -> np.uint64:
    """Return the Zobrist key of a board, from scratch."""
    size = t.size
    king = I64(board[2 * size])
    key = t.keys[2 * t.cells + king]
    if board[2 * size + 1] != 0:
        key ^= t.side_key[0]
    for rank in range(size):
        row = _line(board, rank)
        for file in range(size):
            cell = rank * size + file
            if (row >> file) & 1:
                key ^= t.keys[cell]
            elif (row >> (16 + file)) & 1 and cell != king:
                key ^= t.keys[t.cells + cell]
    return U64(key)
