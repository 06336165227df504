"""Compiled rules for slides, captures, king captures and king escapes.

This module is the only compiled implementation of these rules. Functions take flat tables
(`tablut.engine.kernel_records.flat`) and a pointer to the board, and are inlined unless stated otherwise. A *line* is a
row or a column, and a *place* is a cell's index on its line. A *pair of masks* consists of one mask for the places on a
cell's row and one for the places on its column. Each direction is one bit, as in `tablut.engine.tables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.distant import FEWEST_AROUND, ends_afar, has_shieldwalls, is_far, mark_shieldwalls, with_shieldwalls
from tablut.engine.jit import I64, advance, inlined, leading_zeros, popcount, trailing_zeros
from tablut.engine.layout import (
    BoardArray,
    coordinates,
    count_of,
    is_occupied,
    is_wide,
    king_of,
    line_of,
    move_of,
    neighbour,
    occupied,
    own_pieces,
    side_of,
    start_of,
    target_of,
)
from tablut.rules.outcome import EXIT_FORT, KING_ESCAPED, NO_ATTACKERS, NO_MOVES_BLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

NO_MOVE = -1


# -- slides --------------------------------------------------------------------------------


@inlined
def slides_of(rules: Tables, side: int, start: int, king: int) -> NDArray[np.uint32]:
    """Return the offset of each line's slide masks for the piece of ``side`` on the cell ``start``."""
    return rules.attacker_slides if side == 1 else (rules.king_slides if start == king else rules.defender_slides)


@inlined
def open_way(occupancy: int, place: int) -> int:
    """Return the places between the nearest pieces below and above a place, together with the place itself."""
    above, below = occupancy >> (place + 1) << (place + 1), occupancy & ((1 << place) - 1)
    return (above - 1) & ~above & -(I64(1) << (63 - leading_zeros((below << 1) | 1)))


@inlined
def slides_along(rules: Tables, slides_at: NDArray[np.uint32], line: int, place: int, occupancy: int) -> int:
    """Return a mask of the places that a piece can slide to along a line."""
    if is_wide(rules.exposed):
        return I64(rules.slides[I64(slides_at[line]) + place]) & open_way(occupancy, place)
    return I64(rules.slides[I64(slides_at[line]) + (place << rules.size) + occupancy])


@inlined
def slides_from(rules: Tables, board: BoardArray, slides_at: NDArray[np.uint32], cell: int) -> tuple[int, int]:
    """Return the places that a piece on a cell can slide to, as a pair of masks."""
    rank, file = coordinates(rules, cell)
    return (
        slides_along(rules, slides_at, rank, file, occupied(line_of(board, rank))),
        slides_along(rules, slides_at, rules.size + file, rank, occupied(line_of(board, rules.size + file))),
    )


@inlined
def king_slides(rules: Tables, board: BoardArray, king: int) -> tuple[int, int]:
    """Return the places that the king can slide to, as a pair of masks."""
    return slides_from(rules, board, rules.king_slides, king)


@inlined
def is_legal(rules: Tables, board: BoardArray, move: int) -> bool:
    """Return whether a move is legal for the side to move. Any 14-bit number may be passed as a move."""
    start = start_of(rules, move)
    if start >= rules.cells:
        return False
    target = target_of(rules, move)
    if start == target or target >= rules.cells or (is_wide(rules.exposed) and move_of(rules, start, target) != move):
        return False
    side = side_of(rules, board)
    rank, file = coordinates(rules, start)
    to_rank, to_file = coordinates(rules, target)
    if (own_pieces(line_of(board, rank), side) >> file) & 1 == 0:
        return False
    if rank == to_rank:
        line, place, end = rank, file, to_file
    elif file == to_file:
        line, place, end = rules.size + file, rank, to_rank
    else:
        return False
    slides_at = slides_of(rules, side, start, king_of(rules, board))
    return (slides_along(rules, slides_at, line, place, occupied(line_of(board, line))) >> end) & 1 != 0


@inlined
def slides_onto(rules: Tables, board: BoardArray, cell: int) -> int:
    """Return the cell of an attacker that can slide to a given empty cell, or `NO_MOVE` if there is none."""
    rank, file = coordinates(rules, cell)
    for along in range(2):
        line, place = (rank, file) if along == 0 else (rules.size + file, rank)
        content = line_of(board, line)
        attackers = own_pieces(content, 1)
        while attackers:
            start = trailing_zeros(attackers)
            attackers &= attackers - 1
            if (slides_along(rules, rules.attacker_slides, line, start, occupied(content)) >> place) & 1:
                return rank * rules.size + start if along == 0 else start * rules.size + file
    return NO_MOVE


# -- captures ------------------------------------------------------------------------------


@inlined
def pieces_beside(rules: Tables, board: BoardArray, cell: int, side: int) -> int:
    """Return the directions in which a cell has a neighbour of the given side, as a mask from 0 to 15."""
    rank, file = coordinates(rules, cell)
    row = ((own_pieces(line_of(board, rank), side) << 1) >> file) & 5
    column = ((own_pieces(line_of(board, rules.size + file), side) << 1) >> rank) & 5
    return row | (column << 1)


@inlined
def attackers_beside(rules: Tables, board: BoardArray, cell: int) -> int:
    """Return the directions in which a cell has a neighbouring attacker, as a mask from 0 to 15."""
    return pieces_beside(rules, board, cell, I64(1))


@inlined
def beside(rules: Tables, board: BoardArray, line: int, side: int) -> int:
    """Return the places on a line that are next to a piece of the given side, on this line or a parallel one."""
    pieces = own_pieces(line_of(board, line), side)
    found = (pieces << 1) | (pieces >> 1)
    # Rows are numbered before columns. The first and last row and the first and last column have only one neighbouring
    # parallel line.
    if line != 0 and line != rules.size:
        found |= own_pieces(line_of(board, line - 1), side)
    if line != rules.size - 1 and line != 2 * rules.size - 1:
        found |= own_pieces(line_of(board, line + 1), side)
    return found & ((1 << rules.size) - 1)


@inlined
def captures_at(rules: Tables, board: BoardArray, side: int, target: int, king: int) -> int:
    """Return the captures made by a piece that has just arrived on a cell, in the encoding of `tablut.engine.layout`.

    ``side`` is the side that moved, and ``king`` is the king's cell after the move. The piece already stands on its
    target cell.
    """
    size = rules.size
    rank, file = coordinates(rules, target)
    row, column = line_of(board, rank), line_of(board, size + file)
    if side == 1:
        state = 2
        if king == rules.castle:
            state = 4 if popcount(attackers_beside(rules, board, king)) >= 3 else 3
    else:
        if target == king and rules.king_armed == 0:
            return 0
        state = 1 if king == rules.castle else 0
    own_row, own_column = own_pieces(row, side), own_pieces(column, side)
    enemy_row, enemy_column = own_pieces(row, side ^ 1), own_pieces(column, side ^ 1)
    if side == 0 and rules.king_armed == 0:
        if rules.rank[king] == rank:
            own_row &= ~(1 << I64(rules.file[king]))
        if rules.file[king] == file:
            own_column &= ~(1 << I64(rules.rank[king]))
    own_row |= I64(rules.anvils[state * 2 * size + rank])
    own_column |= I64(rules.anvils[state * 2 * size + size + file])
    enemy_row &= I64(rules.exposed[rank])
    enemy_column &= I64(rules.exposed[size + file])
    # In `victims`, bit 0 stands for one step down the line and bit 2 for one step up. Anvils are two steps away.
    victims = ((enemy_row << 1) >> file) & 5
    anvils = ((own_row << 2) >> file) & 17
    directions = victims & (anvils | (anvils >> 2))
    victims = ((enemy_column << 1) >> rank) & 5
    anvils = ((own_column << 2) >> rank) & 17
    directions |= (victims & (anvils | (anvils >> 2))) << 1
    if side == 1:
        directions &= ~I64(rules.facing[king * rules.cells + target])
    if has_shieldwalls(rules.distant):
        directions = with_shieldwalls(rules.distant, board, side, target, king, directions)
    return directions


@inlined
def may_capture(rules: Tables, board: BoardArray, side: int, target: int, king: int) -> bool:
    """Return whether a piece that moves to an empty cell may capture something with this move.

    The piece need not have moved yet. The result is always true for an attacker that arrives next to the king, and for
    any attacker while the king is on the castle. ``king`` is the king's cell after the move.
    """
    if side == 1 and (king == rules.castle or rules.facing[king * rules.cells + target] != 0):
        return True
    return captures_at(rules, board, side, target, king) != 0


# -- the king ------------------------------------------------------------------------------


@inlined
def king_falls_to(rules: Tables, board: BoardArray, king: int, cell: int) -> bool:
    """Return whether an attacker that has just arrived on a cell captures the king.

    The attacker must already be on the board.
    """
    facing = I64(rules.facing[king * rules.cells + cell])
    return facing != 0 and (I64(rules.king_falls[king * 16 + attackers_beside(rules, board, king)]) & facing) != 0


@inlined
def king_capture(rules: Tables, board: BoardArray) -> int:
    """Return a move that would capture the king if it were black's turn, or `NO_MOVE`.

    No slide leads from one cell next to the king to another such cell, so the other attackers there remain.
    """
    king = king_of(rules, board)
    sides = I64(rules.capture_sides[king * 16 + attackers_beside(rules, board, king)])
    while sides:
        direction = sides & -sides
        sides ^= direction
        cell = neighbour(rules, king, direction)
        if not is_occupied(rules, board, cell):
            start = slides_onto(rules, board, cell)
            if start != NO_MOVE:
                return move_of(rules, start, cell)
    return NO_MOVE


@inlined
def escape_targets(rules: Tables, board: BoardArray, king: int) -> tuple[int, int]:
    """Return the escape cells that the king could slide to, as a pair of masks."""
    row, column = king_slides(rules, board, king)
    rank, file = coordinates(rules, king)
    return row & I64(rules.escapes_on[rank]), column & I64(rules.escapes_on[rules.size + file])


@inlined
def _nearest(targets: int, place: int) -> tuple[int, int]:
    """Return masks of the paths from a place to the nearest targets below and above it.

    A path includes the target but not the place itself. The mask is 0 if there is no target on that side.
    """
    below, above = targets & ((1 << place) - 1), targets >> (place + 1)
    down, up = I64(0), I64(0)
    if below != 0:
        down = (1 << place) - (I64(1) << (63 - leading_zeros(below)))
    if above != 0:
        up = ((2 << trailing_zeros(above)) - 1) << (place + 1)
    return down, up


@inlined
def escape_ways(rules: Tables, board: BoardArray, king: int) -> tuple[int, int, int, int]:
    """Return the king's paths to the nearest escapes to the west, east, south and north.

    Each path is a mask of places on the king's row or column, including the escape, or 0 if there is no way.
    """
    rank, file = coordinates(rules, king)
    row, column = escape_targets(rules, board, king)
    west, east = _nearest(row, file)
    south, north = _nearest(column, rank)
    return west, east, south, north


@inlined
def blocking_places(rules: Tables, board: BoardArray, king: int) -> tuple[bool, int, int]:
    """Return whether the king could escape if white were to move, and the places where one soldier would prevent this.

    The places are a pair of masks, which are empty if the king can escape in several directions.
    """
    west, east, south, north = escape_ways(rules, board, king)
    ways = I64(west != 0) + I64(east != 0) + I64(south != 0) + I64(north != 0)
    if ways == 1:
        return True, west | east, south | north
    return ways > 1, I64(0), I64(0)


# -- the end -------------------------------------------------------------------------------


@inlined
def wins_afar(rules: Tables, board: BoardArray, side: int, king: int) -> bool:
    """Return whether the side that has just moved has won: black by encirclement, or white by an exit fort."""
    if not is_far(rules.distant):
        return False
    if side == 0:
        if rules.distant.fort == 0 or rules.distant.edge[king] == 0:
            return False
        row, column = king_slides(rules, board, king)
        return (row | column) != 0 and ends_afar(rules.distant, board, side, king)
    return rules.distant.encirclement != 0 and ends_afar(rules.distant, board, side, king)


@inlined
def may_end_afar(rules: Tables, board: BoardArray, side: int) -> bool:
    """Return False if a quick test shows that no ply by a side can complete an encirclement or an exit fort."""
    if not is_far(rules.distant):
        return False
    if side == 1:
        return rules.distant.encirclement != 0 and count_of(rules, board, 1) >= FEWEST_AROUND
    if rules.distant.fort == 0:
        return False
    king = king_of(rules, board)
    row, column = king_slides(rules, board, king)
    return rules.distant.edge[king] != 0 or ((row | column) & (1 | (1 << (rules.size - 1)))) != 0


@inlined
def winner_of(outcome: int) -> int:
    """Return the winner of a decided position, given its outcome code: 0 for white, 1 for black."""
    return I64(0) if outcome in (KING_ESCAPED, NO_ATTACKERS, NO_MOVES_BLACK, EXIT_FORT) else I64(1)


@inlined
def mark_threats(rules: Tables, board: BoardArray, side: int, threats: NDArray[np.uint32]) -> None:
    """Write, for each line, the mask of places where an arriving piece of a side may capture a soldier.

    A piece that arrives elsewhere captures nothing. The masks treat the castle as hostile whenever it may be hostile,
    and an unarmed king as a soldier.
    """
    state = 0
    if side == 1:
        state = 4 if king_of(rules, board) == rules.castle else 2
    anvils = advance(rules.anvils, I64(state * 2 * rules.size))
    for line in range(2 * rules.size):
        content = line_of(board, line)
        own = own_pieces(content, side) | I64(anvils[line])
        enemy = own_pieces(content, side ^ 1) & I64(rules.exposed[line])
        threats[line] = np.uint32(((enemy >> 1) & (own >> 2)) | ((enemy << 1) & (own << 2)))
    if has_shieldwalls(rules.distant):
        mark_shieldwalls(rules.distant, board, side, threats)
