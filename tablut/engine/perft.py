"""perft: the number of move sequences of a given length. The last ply is either counted or applied.

If it is *counted*, the number of last moves is read from the count tables. If it is *applied*, every last move is made
on the board, including its captures, outcome and Zobrist key. Decided positions have no children. Repetition and move
limits are ignored. The recursion is unrolled into a loop with one move list and one undo record for each ply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.attacks import captures_at, mark_threats, slides_along, wins_afar
from tablut.engine.distant import is_far, may_part
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import (
    captured_key,
    count_moves,
    generate,
    key_change,
    make,
    outcome_of_ply,
    position_key,
    toggle,
    toggle_captured,
    unmake,
)
from tablut.engine.layout import (
    BoardArray,
    coordinates,
    count_of,
    king_of,
    line_of,
    occupied,
    own_pieces,
    put_king,
    shift_of,
    side_of,
    start_of,
)
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

LEAF_COUNTERS = 10
"""Number of counters of `perft_applied`: captured soldiers, the sum of keys, and leaves by outcome code."""


@kernel
def perft_counted(tables: Tables, board_array: BoardArray, depth: int) -> int:
    """Return the number of sequences of ``depth`` plies (at least one). The last plies are counted but not made."""
    rules, board = flat(tables), pointer(board_array)
    side = side_of(rules, board)
    if depth == 1:
        return count_moves(rules, board, side)
    width = 4 * rules.cells
    moves_array = np.empty(depth * width, dtype=np.int32)
    moves = pointer(moves_array)
    ends = np.zeros(depth, dtype=np.int64)
    nexts = np.zeros(depth, dtype=np.int64)
    undos = np.zeros(depth, dtype=np.int64)
    total = 0
    ply = 0
    ends[0] = generate(rules, board, moves)
    while True:
        if nexts[ply] == ends[ply]:
            if ply == 0:
                keep(moves_array)
                return total
            ply -= 1
            unmake(rules, board, undos[ply])
            continue
        undo, outcome = make(rules, board, I64(moves[ply * width + nexts[ply]]))
        nexts[ply] += 1
        if outcome == UNDECIDED and ply < depth - 2:
            undos[ply] = undo
            ply += 1
            nexts[ply] = 0
            ends[ply] = generate(rules, board, advance(moves, ply * width))
            continue
        if outcome == UNDECIDED:
            total += count_moves(rules, board, side_of(rules, board))
        unmake(rules, board, undo)


@inlined
def has_way_out(rules: Tables, board: BoardArray, side: int) -> bool:
    """Return whether the rule set has distant effects, black is to move, and black has not encircled white yet."""
    return is_far(rules.distant) and side == 1 and not wins_afar(rules, board, side, king_of(rules, board))


@inlined
def _apply_every_move(
    rules: Tables, board: BoardArray, key: np.uint64, threats: NDArray[np.uint32], counters: NDArray[np.uint64]
) -> int:
    """Make every legal move, find its outcome and take it back; update the counters and return the number of moves.

    The piece is taken off its cell once and then placed on one target after another.
    """
    size = rules.size
    side, home = side_of(rules, board), king_of(rules, board)
    attackers = count_of(rules, board, 1)
    shift = shift_of(board, side)
    slides_at = rules.attacker_slides if side == 1 else rules.defender_slides
    mark_threats(rules, board, side, threats)
    way_out = has_way_out(rules, board, side)
    total, captured, decided = I64(0), I64(0), I64(0)
    key_sum = U64(0)
    for rank in range(size):
        own = own_pieces(line_of(board, rank), side)
        row = occupied(line_of(board, rank))
        while own:
            file = trailing_zeros(own)
            own &= own - 1
            start = rank * size + file
            column = occupied(line_of(board, size + file))
            is_king = side == 0 and start == home
            places_at = rules.king_slides if is_king else slides_at
            kind = (0 if side == 1 else (2 if is_king else 1)) * rules.cells
            moving_key = key ^ rules.side_key[0] ^ rules.keys[kind + start]
            toggle(rules, board, start, shift)
            for along in range(2):
                if along == 0:
                    targets = slides_along(rules, places_at, rank, file, row)
                    first, step = rank * size, 1
                else:
                    targets = slides_along(rules, places_at, size + file, rank, column)
                    first, step = file, size
                total += popcount(targets)
                while targets:
                    place = trailing_zeros(targets)
                    targets &= targets - 1
                    target = first + place * step
                    king = target if is_king else home
                    toggle(rules, board, target, shift)
                    child_key = moving_key ^ rules.keys[kind + target]
                    to_rank, to_file = coordinates(rules, target)
                    threat = (I64(threats[to_rank]) >> to_file) | (I64(threats[size + to_file]) >> to_rank)
                    captures, left = 0, attackers
                    if threat & 1:
                        captures = captures_at(rules, board, side, target, king)
                        if captures:
                            toggle_captured(rules, board, target, captures, shift_of(board, side ^ 1))
                            count = popcount(captures)
                            captured += count
                            left -= 0 if side == 1 else count
                            child_key ^= captured_key(rules, side, target, captures)
                    if is_king:
                        put_king(rules, board, target)
                    stays_open = way_out and captures == 0 and not may_part(rules.distant, board, target)
                    outcome = outcome_of_ply(rules, board, side, target, king, left, stays_open)
                    if outcome != UNDECIDED:
                        decided += 1
                        counters[2 + outcome] += U64(1)
                    key_sum += child_key
                    if captures:
                        toggle_captured(rules, board, target, captures, shift_of(board, side ^ 1))
                    toggle(rules, board, target, shift)
            if is_king:
                put_king(rules, board, home)
            toggle(rules, board, start, shift)
    counters[0] += U64(captured)
    counters[1] += key_sum
    counters[2] += U64(total - decided)
    return total


@kernel
def perft_applied(tables: Tables, board_array: BoardArray, depth: int, counters: NDArray[np.uint64]) -> int:
    """Return the number of sequences of ``depth`` plies, at least 1, and add statistics of their last plies."""
    rules, board, sums = flat(tables), pointer(board_array), pointer(counters)
    threats_array = np.empty(2 * rules.size, dtype=np.uint32)
    threats = pointer(threats_array)
    width = 4 * rules.cells
    moves_array = np.empty(depth * width, dtype=np.int32)
    moves = pointer(moves_array)
    ends = np.zeros(depth, dtype=np.int64)
    nexts = np.zeros(depth, dtype=np.int64)
    undos = np.zeros(depth, dtype=np.int64)
    keys = np.zeros(depth, dtype=np.uint64)
    total = 0
    ply = 0
    keys[0] = position_key(rules, board)
    if depth > 1:
        ends[0] = generate(rules, board, moves)
    while True:
        if ply == depth - 1:
            total += _apply_every_move(rules, board, keys[ply], threats, sums)
        if nexts[ply] == ends[ply]:
            if ply == 0:
                keep(moves_array)
                keep(threats_array)
                return total
            ply -= 1
            unmake(rules, board, undos[ply])
            continue
        side, king = side_of(rules, board), king_of(rules, board)
        move = I64(moves[ply * width + nexts[ply]])
        undo, outcome = make(rules, board, move)
        nexts[ply] += 1
        if outcome != UNDECIDED:
            unmake(rules, board, undo)
            continue
        undos[ply] = undo
        keys[ply + 1] = keys[ply] ^ key_change(rules, side, start_of(rules, move) == king, undo)
        ply += 1
        nexts[ply] = 0
        # The last ply's moves are made as they are generated, without a move list.
        ends[ply] = generate(rules, board, advance(moves, ply * width)) if ply < depth - 1 else 0
