"""Compiled code that generates moves, makes them (with captures and outcome) and takes them back.

The layout of boards, moves and undo records is defined in `tablut.engine.layout`, and the interactions between pieces
in `tablut.engine.attacks`. A caller that needs a Zobrist key updates it after each ply with the result of `key_change`.
Arguments are not validated, and moves are generated in decided positions too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.attacks import NO_MOVE, captures_at, king_falls_to, king_slides, slides_along, slides_of, wins_afar
from tablut.engine.jit import I64, U64, called, inlined, popcount, scalar, trailing_zeros
from tablut.engine.layout import (
    BoardArray,
    captured_cell,
    coordinates,
    count_of,
    is_wide,
    king_of,
    line_of,
    move_of,
    occupied,
    own_pieces,
    put_count,
    put_king,
    put_side,
    shift_of,
    side_of,
    start_of,
    target_of,
    undo_captured,
    undo_of,
)
from tablut.rules.outcome import (
    ENCIRCLEMENT,
    EXIT_FORT,
    KING_CAPTURED,
    KING_ESCAPED,
    NO_ATTACKERS,
    NO_MOVES_BLACK,
    NO_MOVES_WHITE,
    UNDECIDED,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables


@inlined
def line_content(rules: Tables, line: int) -> int:
    """Return the content of a line on a narrow board as a number in base 3 (1 for an attacker, 2 for a white piece)."""
    return I64(rules.ternary[line & 0xFFFF]) + 2 * I64(rules.ternary[line >> 16])


@inlined
def moves_on_line(rules: Tables, board: BoardArray, side: int, king: int, line: int) -> int:
    """Return the number of moves for a side along a line, counted piece by piece.

    If ``king`` is -1, the king is treated as a soldier.
    """
    content, total = line_of(board, line), I64(0)
    own = own_pieces(content, side)
    while own:
        place = trailing_zeros(own)
        own &= own - 1
        cell = line * rules.size + place if line < rules.size else place * rules.size + line - rules.size
        total += popcount(slides_along(rules, slides_of(rules, side, cell, king), line, place, occupied(content)))
    return total


@inlined
def moves_by_slides(rules: Tables, board: BoardArray, side: int, king: int) -> int:
    """Return the number of moves for a side, piece by piece. If ``king`` is -1, the king counts as a soldier."""
    total = I64(0)
    for line in range(2 * rules.size):
        total += moves_on_line(rules, board, side, king, line)
    return total


@inlined
def count_moves(rules: Tables, board: BoardArray, side: int) -> int:
    """Return the number of legal moves for a side without generating them, in O(N) time."""
    if is_wide(board):
        return moves_by_slides(rules, board, side, king_of(rules, board))
    total = 0
    lines = 2 * rules.size
    if side == 1:
        for line in range(lines):
            total += I64(rules.counts[I64(rules.attacker_counts[line]) + line_content(rules, scalar(I64(board[line])))])
        return total
    for line in range(lines):
        total += I64(rules.counts[I64(rules.defender_counts[line]) + line_content(rules, scalar(I64(board[line])))])
    rank, file = coordinates(rules, king_of(rules, board))
    row, column = occupied(line_of(board, rank)), occupied(line_of(board, rules.size + file))
    total += I64(rules.king_extra[I64(rules.king_extra_at[rank]) + (file << rules.size) + row])
    total += I64(rules.king_extra[I64(rules.king_extra_at[rules.size + file]) + (rank << rules.size) + column])
    return total


@inlined
def can_move(rules: Tables, board: BoardArray, side: int) -> bool:
    """Return whether a side has a legal move, stopping at the first line that has one."""
    if is_wide(board):
        return moves_by_slides(rules, board, side, king_of(rules, board)) != 0
    lines = 2 * rules.size
    if side == 1:
        for line in range(lines):
            if rules.counts[I64(rules.attacker_counts[line]) + line_content(rules, I64(board[line]))] != 0:
                return True
        return False
    # The counts treat the king as a soldier. This is harmless here: a king can go wherever a soldier in its place
    # could, so if the king has no move, a soldier there would have none either.
    row, column = king_slides(rules, board, king_of(rules, board))
    if (row | column) != 0:
        return True
    for line in range(lines):
        content = I64(board[line])
        if rules.counts[I64(rules.defender_counts[line]) + line_content(rules, content)] != 0:
            return True
    return False


@inlined
def generate(rules: Tables, board: BoardArray, moves: NDArray[np.int32]) -> int:
    """Write the legal moves of the side to move and return their number.

    Moves are ordered by the moving piece's rank, then by its file; for each piece, the targets along the row come
    before those along the column. ``moves`` must have space for four entries per cell of the board.
    """
    size = rules.size
    side, king = side_of(rules, board), king_of(rules, board)
    count = 0
    for rank in range(size):
        row = line_of(board, rank)
        own = own_pieces(row, side)
        while own:
            file = trailing_zeros(own)
            own &= own - 1
            start = rank * size + file
            slides_at = slides_of(rules, side, start, king)
            targets = slides_along(rules, slides_at, rank, file, occupied(row))
            while targets:
                place = trailing_zeros(targets)
                targets &= targets - 1
                moves[count] = move_of(rules, start, rank * size + place)
                count += 1
            targets = slides_along(rules, slides_at, size + file, rank, occupied(line_of(board, size + file)))
            while targets:
                place = trailing_zeros(targets)
                targets &= targets - 1
                moves[count] = move_of(rules, start, place * size + file)
                count += 1
    return count


@inlined
def toggle(rules: Tables, board: BoardArray, cell: int, shift: int) -> None:
    """Add or remove a piece in its cell's row and column. ``shift`` selects the side."""
    rank, file = coordinates(rules, cell)
    board[rank] = I64(board[rank]) ^ (1 << (file + shift))
    board[rules.size + file] = I64(board[rules.size + file]) ^ (1 << (rank + shift))


@inlined
def toggle_captured(rules: Tables, board: BoardArray, target: int, captures: int, shift: int) -> None:
    """Remove or restore the soldiers captured by a piece that moved to a cell."""
    while captures:
        toggle(rules, board, captured_cell(rules, target, captures), shift)
        captures &= captures - 1


@inlined
def outcome_of_ply(
    rules: Tables, board: BoardArray, side: int, target: int, king: int, attackers: int, stays_open: bool
) -> int:
    """Return the outcome code of the ply that led to the position on the board.

    This function is the only place where compiled code decides whether a ply has ended the game. ``stays_open`` is true
    if an earlier test has shown that black's ply does not encircle white.
    """
    outcome = UNDECIDED
    if side == 1:
        if king_falls_to(rules, board, king, target):
            return KING_CAPTURED
        if not stays_open and wins_afar(rules, board, side, king):
            return ENCIRCLEMENT
    elif target == king and rules.escapes[target] != 0:
        outcome = KING_ESCAPED
    elif attackers == 0:
        outcome = NO_ATTACKERS
    elif wins_afar(rules, board, side, king):
        outcome = EXIT_FORT
    if rules.either_after_ply != 0:
        # The rules check this condition first: white loses if it has no move, even if its king has just escaped.
        if not can_move(rules, board, 0):
            return NO_MOVES_WHITE
        if outcome == UNDECIDED and not can_move(rules, board, 1):
            return NO_MOVES_BLACK
    return outcome


@inlined
def make(rules: Tables, board: BoardArray, move: int) -> tuple[int, int]:
    """Make a legal move on the board and return its undo record and the outcome code."""
    start, target = start_of(rules, move), target_of(rules, move)
    side, king = side_of(rules, board), king_of(rules, board)
    shift = shift_of(board, side)
    toggle(rules, board, start, shift)
    toggle(rules, board, target, shift)
    if side == 0 and start == king:
        king = I64(target)
        put_king(rules, board, target)
    captures = captures_at(rules, board, side, target, king)
    if captures != 0:
        toggle_captured(rules, board, target, captures, shift_of(board, side ^ 1))
        put_count(rules, board, side ^ 1, count_of(rules, board, side ^ 1) - popcount(captures))
    outcome = outcome_of_ply(rules, board, side, target, king, count_of(rules, board, 1), False)
    put_side(rules, board, side ^ 1)
    return undo_of(move, captures), outcome


@inlined
def unmake(rules: Tables, board: BoardArray, undo: int) -> None:
    """Take back a move, given its undo record."""
    start, target, captures = start_of(rules, undo), target_of(rules, undo), undo_captured(undo)
    side = side_of(rules, board) ^ 1
    shift = shift_of(board, side)
    put_side(rules, board, side)
    if captures != 0:
        toggle_captured(rules, board, target, captures, shift_of(board, side ^ 1))
        put_count(rules, board, side ^ 1, count_of(rules, board, side ^ 1) + popcount(captures))
    toggle(rules, board, target, shift)
    toggle(rules, board, start, shift)
    if side == 0 and king_of(rules, board) == target:
        put_king(rules, board, start)


@inlined
def captured_key(rules: Tables, side: int, target: int, captures: int) -> np.uint64:
    """Return the XOR of the Zobrist keys of the soldiers captured when ``side`` moves to a target cell."""
    change = U64(0)
    while captures:
        change ^= rules.keys[side * rules.cells + captured_cell(rules, target, captures)]
        captures &= captures - 1
    return change


@inlined
def key_change(rules: Tables, side: int, is_king: bool, undo: int) -> np.uint64:
    """Return the XOR of the Zobrist keys before and after a ply."""
    start, target, captures = start_of(rules, undo), target_of(rules, undo), undo_captured(undo)
    kind = 0 if side == 1 else (2 if is_king else 1)
    change = rules.keys[kind * rules.cells + start] ^ rules.keys[kind * rules.cells + target] ^ rules.side_key[0]
    return change ^ captured_key(rules, side, target, captures)


@inlined
def position_key(rules: Tables, board: BoardArray) -> np.uint64:
    """Compute the Zobrist key of a board from scratch, in O(C) time."""
    size, king = rules.size, king_of(rules, board)
    key = rules.keys[2 * rules.cells + king]
    if side_of(rules, board) != 0:
        key ^= rules.side_key[0]
    for rank in range(size):
        black, white = own_pieces(line_of(board, rank), 1), own_pieces(line_of(board, rank), 0)
        for file in range(size):
            cell = rank * size + file
            if (black >> file) & 1:
                key ^= rules.keys[cell]
            elif (white >> file) & 1 and cell != king:
                key ^= rules.keys[rules.cells + cell]
    return U64(key)


# -- the king's immediately winning moves, for search and proof search ---------------------


# The counterpart for black is `tablut.engine.attacks.king_capture`. Both functions are exact, so the search may score a
# position as won or lost based on their results.


@called
def escape_of_king(rules: Tables, board: BoardArray, row: int, column: int) -> int:
    """Return a king move that wins immediately if white is to move, or `NO_MOVE`.

    ``row`` and ``column`` are the masks of the escapes within the king's reach. Under ``either_after_ply``, an escape
    loses if it leaves white without a move, so each one is made on the board.
    """
    size = rules.size
    king = king_of(rules, board)
    rank, file = coordinates(rules, king)
    found = I64(NO_MOVE)
    while (row | column) != 0 and found == NO_MOVE:
        if row != 0:
            target = rank * size + trailing_zeros(row)
            row &= row - 1
        else:
            target = trailing_zeros(column) * size + file
            column &= column - 1
        move = move_of(rules, king, target)
        if rules.either_after_ply == 0:
            return move
        undo, outcome = make(rules, board, move)
        unmake(rules, board, undo)
        if outcome == KING_ESCAPED:
            found = move
    return found
