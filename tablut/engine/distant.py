"""Effects of a ply far from its target: shieldwalls, encirclement and exit forts (see docs/rules.md for the rules).

A set of cells is a pair of 64-bit words, the first 64 cells and the others, so that a flood fill can grow in all
directions with a few operations. Functions that only these rules need are called rather than inlined, which keeps the
kernels of other rule sets small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tablut.engine.jit import I64, U64, apart, by_type, inlined, popcount, trailing_zeros
from tablut.engine.layout import BoardArray, coordinates, count_of, edge_captures, is_wide, line_of, own_pieces
from tablut.engine.tables import ALL, ANVIL, EDGE, ENDS, EXPOSED, NOT_FIRST, NOT_LAST, ROYAL, STAND, WALK, NearTables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import DistantTables

FEWEST_AROUND = 4
"""Minimum number of attackers that can encircle white."""


is_far: Final = by_type(lambda record: record.instance_class is not NearTables)
"""Whether a rule set has any of these rules; decided at compile time."""


# -- shieldwalls -----------------------------------------------------------------------------


@inlined
def _front_line(distant: DistantTables, line: int) -> int:
    """Return the line next to an edge line, towards the middle."""
    return line + 1 if line in (0, distant.size) else line - 1


@inlined
def _wall_pieces(distant: DistantTables, board: BoardArray, line: int, side: int, king: int) -> int:
    """Return the places of a line on which a side has pieces that take part in captures."""
    own = own_pieces(line_of(board, line), side)
    if side == 0 and distant.king_armed == 0:
        rank, file = coordinates(distant, king)
        if line == rank:
            own &= ~(1 << file)
        elif line == distant.size + file:
            own &= ~(1 << rank)
    return own


@inlined
def _run_up(row: int, place: int) -> int:
    """Return the length of the run of set bits that starts at a place and goes upwards."""
    return trailing_zeros(~(row >> place))


@inlined
def _run_down(row: int, place: int) -> int:
    """Return the length of the run of set bits that starts at a place and goes downwards."""
    count = I64(0)
    while count <= place and (row >> (place - count)) & 1:
        count += 1
    return count


@inlined
def _wall_taken(
    distant: DistantTables, board: BoardArray, side: int, line: int, place: int, bracket: bool, king: int
) -> int:
    """Return the places of an edge line on which an arriving piece captures soldiers in a shieldwall.

    If ``bracket`` is true, the piece arrives on the edge line itself, at an end of the shieldwall. Otherwise
    it arrives on the line in front of it and completes the covering pieces.
    """
    own, front = _wall_pieces(distant, board, line, side, king), _front_line(distant, line)
    enemy = own_pieces(line_of(board, line), side ^ 1)
    covering = _wall_pieces(distant, board, front, side, king)
    # The piece need not be on the board yet.
    if bracket:
        own |= 1 << place
    else:
        covering |= 1 << place
    open_row = enemy & ~covering
    ends = own | I64(distant.ends[line])
    taken = I64(0)
    if bracket:
        count = _run_up(enemy, place + 1)
        row = ((1 << count) - 1) << (place + 1)
        if count >= 2 and row & open_row == 0 and (ends >> (place + 1 + count)) & 1:
            taken |= row
        count = _run_down(enemy, place - 1)
        row = ((1 << count) - 1) << (place - count)
        if count >= 2 and row & open_row == 0 and count < place and (ends >> (place - 1 - count)) & 1:
            taken |= row
    elif (enemy >> place) & 1:
        low, high = place - _run_down(enemy, place), place + _run_up(enemy, place)
        row = (1 << high) - (2 << low) if low >= 0 else I64(0)
        two = ((own >> high) | (own >> max(low, 0))) & (ends >> high) & (ends >> max(low, 0)) & 1
        if high - low > 2 and row & open_row == 0 and two != 0:
            taken = row
    taken &= I64(distant.exposed[line])
    rank, file = coordinates(distant, king)
    if line == rank:
        taken &= ~(1 << file)
    elif line == distant.size + file:
        taken &= ~(1 << rank)
    return taken


@apart
def with_shieldwalls(
    distant: DistantTables, board: BoardArray, side: int, target: int, king: int, captures: int
) -> int:
    """Return the captures of a piece that has just arrived, with shieldwall captures added to ``captures``."""
    if not is_far(distant):
        return captures
    size, last = distant.size, distant.size - 1
    rank, file = coordinates(distant, target)
    row, column = I64(0), I64(0)
    for along in range(2):
        place, depth = (file, rank) if along == 0 else (rank, file)
        line = (0 if along == 0 else size) + (last if 2 * depth > last else 0)
        bracket = depth in (0, last)
        if not bracket and (distant.shieldwall != 2 or depth not in (1, last - 1)):
            continue
        taken = _wall_taken(distant, board, side, line, place, bracket, king)
        if taken == 0:
            continue
        if along == 0:
            row = taken
        else:
            column = taken
        if bracket:
            # A neighbour captured in both ways is recorded once, among the shieldwall captures.
            beside = ((taken << 1) >> place) & 5
            captures &= ~(beside if along == 0 else beside << 1)
    return captures | edge_captures(row, column)


@apart
def mark_shieldwalls(distant: DistantTables, board: BoardArray, side: int, threats: NDArray[np.uint32]) -> None:
    """Add, by line, the places on which an arriving piece of a side may capture a shieldwall."""
    if not is_far(distant):
        return
    size = distant.size
    for number in range(4):
        line = (0 if number < 2 else size) + (size - 1 if number & 1 else 0)
        front = _front_line(distant, line)
        enemy, own = own_pieces(line_of(board, line), side ^ 1), own_pieces(line_of(board, line), side)
        ends, covering = own | I64(distant.ends[line]), own_pieces(line_of(board, front), side)
        place = I64(1)
        while place < size - 1:
            count = _run_up(enemy, place)
            # A row that begins in the corner cannot be bracketed on that side.
            if count >= 2 and (enemy >> (place - 1)) & 1 == 0:
                low, high = place - 1, place + count
                lacks = ((1 << high) - (2 << low)) & ~covering
                closed = ((ends >> low) & 1) + ((ends >> high) & 1)
                if high < size and lacks == 0 and closed != 0:
                    threats[line] |= np.uint32((1 << low) | (1 << high))
                if high < size and distant.shieldwall == 2 and popcount(lacks) == 1 and closed == 2:
                    threats[front] |= np.uint32(lacks)
            place += max(count, 1)


# -- floods ----------------------------------------------------------------------------------


@inlined
def _cells_of(distant: DistantTables, board: BoardArray, side: int) -> tuple[np.uint64, np.uint64]:
    """Return the cells on which a side's pieces stand. The king counts as a white piece."""
    low, high = U64(0), U64(0)
    for back in range(distant.size):
        row = own_pieces(line_of(board, distant.size - 1 - back), side)
        high = (high << U64(distant.size)) | (low >> U64(64 - distant.size))
        low = (low << U64(distant.size)) | U64(row)
    return low, high


@inlined
def _meet(distant: DistantTables, number: int, low: np.uint64, high: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the intersection of a set with one of the sets in `DistantTables.sets`, given by its number."""
    return low & distant.sets[2 * number], high & distant.sets[2 * number + 1]


@inlined
def _beside_row(
    distant: DistantTables, low: np.uint64, high: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return a set shifted one cell east, then the set shifted one cell west; two words each."""
    up_low, up_high = _meet(distant, I64(NOT_LAST), low, high)
    down_low, down_high = _meet(distant, I64(NOT_FIRST), low, high)
    return (
        up_low << U64(1),
        (up_high << U64(1)) | (up_low >> U64(63)),
        (down_low >> U64(1)) | (down_high << U64(63)),
        down_high >> U64(1),
    )


@inlined
def _beside_column(
    distant: DistantTables, low: np.uint64, high: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return a set shifted one cell north, then one cell south. In the north, cells may lie beyond the board."""
    up, down = U64(distant.size), U64(64 - distant.size)
    return low << up, (high << up) | (low >> down), (low >> up) | (high << down), high >> up


@inlined
def _grown(distant: DistantTables, low: np.uint64, high: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return a set united with its neighbouring cells, some of which may lie beyond the board."""
    east, east_high, west, west_high = _beside_row(distant, low, high)
    north, north_high, south, south_high = _beside_column(distant, low, high)
    return low | east | west | north | south, high | east_high | west_high | north_high | south_high


@inlined
def _is_encircled(distant: DistantTables, board: BoardArray) -> bool:
    """Return whether white is encircled: no path through empty and white cells leads from a white piece to the edge."""
    if count_of(distant, board, 1) < FEWEST_AROUND:
        return False
    low, high = _cells_of(distant, board, I64(1))
    open_low, open_high = _meet(distant, I64(ALL), ~low, ~high)
    low, high = _cells_of(distant, board, I64(0))
    while True:
        edge_low, edge_high = _meet(distant, I64(EDGE), low, high)
        if (edge_low | edge_high) != U64(0):
            return False
        more_low, more_high = _grown(distant, low, high)
        more_low &= open_low
        more_high &= open_high
        if more_low == low and more_high == high:
            return True
        low, high = more_low, more_high


@apart
def _is_shut_in(distant: DistantTables, board: BoardArray) -> bool:
    """Return whether white is encircled on a wide board.

    Unlike in `_is_encircled`, the flood fill sweeps up and down.
    """
    last = distant.size - 1
    within = np.zeros(distant.size, dtype=np.int64)
    for rank in range(distant.size):
        within[rank] = own_pieces(line_of(board, rank), 0)
    grows = count_of(distant, board, 1) >= FEWEST_AROUND
    shut = grows
    while grows:
        grows = False
        for step in range(2 * distant.size):
            rank = min(step, 2 * last + 1 - step)
            free = ((1 << distant.size) - 1) & ~own_pieces(line_of(board, rank), 1)
            row = within[rank] | ((within[max(rank - 1, 0)] | within[min(rank + 1, last)]) & free)
            more = ((row << 1) | (row >> 1)) & free
            while more & ~row != 0:
                row |= more
                more = ((row << 1) | (row >> 1)) & free
            grows = grows or row != within[rank]
            within[rank] = row
            if row & (1 | (1 << last)) != 0 or (row != 0 and rank in (0, last)):
                return False
    return shut


@inlined
def may_part(distant: DistantTables, board: BoardArray, cell: int) -> bool:
    """Return whether an attacker on a cell may separate paths that would be connected without this attacker.

    Only the eight surrounding cells are examined, so the result can be a false alarm but never a miss.
    """
    rank, file = coordinates(distant, cell)
    below = own_pieces(line_of(board, rank - 1), 1) if rank > 0 else I64(0)
    above = own_pieces(line_of(board, rank + 1), 1) if rank < distant.size - 1 else I64(0)
    here = own_pieces(line_of(board, rank), 1)
    around = (((below << 1) >> file) & 7) | ((((here << 1) >> file) & 7) << 3) | ((((above << 1) >> file) & 7) << 6)
    return distant.pinch[around] != 0


# -- exit forts ------------------------------------------------------------------------------


@inlined
def _has(low: np.uint64, high: np.uint64, cell: int) -> bool:
    """Return whether a cell is in a set."""
    word = low if cell < 64 else high
    return (word >> U64(cell & 63)) & U64(1) != U64(0)


@inlined
def _bit(cell: int) -> tuple[np.uint64, np.uint64]:
    """Return the set of one cell."""
    bit = U64(1) << U64(cell & 63)
    return (bit, U64(0)) if cell < 64 else (U64(0), bit)


@inlined
def _flanked(
    distant: DistantTables, low: np.uint64, high: np.uint64, any_low: np.uint64, any_high: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Return the cells that lie, in one line, directly between a cell of the first set and a cell of the second."""
    up, up_high, down, down_high = _beside_row(distant, low, high)
    over, over_high, under, under_high = _beside_row(distant, any_low, any_high)
    found, found_high = (up & under) | (down & over), (up_high & under_high) | (down_high & over_high)
    up, up_high, down, down_high = _beside_column(distant, low, high)
    over, over_high, under, under_high = _beside_column(distant, any_low, any_high)
    return found | (up & under) | (down & over), found_high | (up_high & under_high) | (down_high & over_high)


@apart
def _can_close(
    distant: DistantTables,
    board: BoardArray,
    reach: tuple[np.uint64, np.uint64],
    men: tuple[np.uint64, np.uint64],
    closing: tuple[np.uint64, np.uint64],
) -> bool:
    """Return whether black has enough attackers to occupy the cells ``men``, the last one arriving on ``closing``.

    Each connected part of the cells that attackers can reach is counted separately.
    """
    black_low, black_high = _cells_of(distant, board, I64(1))
    stand_low, stand_high = _meet(distant, I64(STAND), reach[0], reach[1])
    low, high = men
    if ((low & ~stand_low) | (high & ~stand_high)) != U64(0):
        return False
    comes = False
    while (low | high) != U64(0):
        part_low = low & (~low + U64(1))
        part_high = high & (~high + U64(1)) if low == U64(0) else U64(0)
        while True:
            more_low, more_high = _grown(distant, part_low, part_high)
            more_low &= reach[0]
            more_high &= reach[1]
            if more_low == part_low and more_high == part_high:
                break
            part_low, part_high = more_low, more_high
        here = popcount(black_low & part_low) + popcount(black_high & part_high)
        if here < popcount(low & part_low) + popcount(high & part_high):
            return False
        room = popcount(stand_low & part_low) + popcount(stand_high & part_high)
        if here < room and ((closing[0] & part_low) | (closing[1] & part_high)) != U64(0):
            comes = True
        low &= ~part_low
        high &= ~part_high
    return comes


@apart
def _flanked_by_count(
    distant: DistantTables, board: BoardArray, reach: tuple[np.uint64, np.uint64], alive: tuple[np.uint64, np.uint64]
) -> tuple[np.uint64, np.uint64]:
    """Return the soldiers that the attackers can flank, considering their number and the cells that they can reach."""
    found_low, found_high = U64(0), U64(0)
    for cell in range(distant.size * distant.size):
        if not _has(alive[0], alive[1], cell):
            continue
        rank, file = coordinates(distant, cell)
        for along in range(2):
            place, step = (file, I64(1)) if along == 0 else (rank, I64(distant.size))
            if place == 0 or place == distant.size - 1:
                continue
            low, high = _bit(cell - step), _bit(cell + step)
            both = (low[0] | high[0], low[1] | high[1])
            if (
                _can_close(distant, board, reach, both, both)
                or (
                    _has(distant.sets[2 * ANVIL], distant.sets[2 * ANVIL + 1], cell - step)
                    and _can_close(distant, board, reach, high, high)
                )
                or (
                    _has(distant.sets[2 * ANVIL], distant.sets[2 * ANVIL + 1], cell + step)
                    and _can_close(distant, board, reach, low, low)
                )
            ):
                bit_low, bit_high = _bit(cell)
                found_low |= bit_low
                found_high |= bit_high
    return found_low, found_high


@inlined
def _can_wall(
    distant: DistantTables,
    board: BoardArray,
    reach: tuple[np.uint64, np.uint64],
    fronts: tuple[np.uint64, np.uint64],
    near: int,
    far: int,
) -> bool:
    """Return whether there are enough attackers on the board to bracket an edge row between two of its cells."""
    ends_low, ends_high = distant.sets[2 * ENDS], distant.sets[2 * ENDS + 1]
    for held in range(3):
        # The attackers occupy both ends, or only one end if the other is a corner.
        low, high = U64(0), U64(0)
        if held != 2:
            bit_low, bit_high = _bit(near)
            low, high = low | bit_low, high | bit_high
        elif not _has(ends_low, ends_high, near):
            continue
        if held != 1:
            bit_low, bit_high = _bit(far)
            low, high = low | bit_low, high | bit_high
        elif not _has(ends_low, ends_high, far):
            continue
        men = (low | fronts[0], high | fronts[1])
        if _can_close(distant, board, reach, men, men if distant.shieldwall == 2 else (low, high)):
            return True
    return False


@apart
def _walled(
    distant: DistantTables,
    board: BoardArray,
    wall_low: np.uint64,
    wall_high: np.uint64,
    reach: tuple[np.uint64, np.uint64],
) -> tuple[np.uint64, np.uint64]:
    """Return the cells of the original wall that attackers could capture in shieldwalls from a set that they reach."""
    low, high = _meet(distant, I64(STAND), reach[0], reach[1])
    size, last = distant.size, distant.size - 1
    ends_low, ends_high = low | distant.sets[2 * ENDS], high | distant.sets[2 * ENDS + 1]
    found_low, found_high = U64(0), U64(0)
    for number in range(4):
        step = 1 if number < 2 else size
        first = (last * size if number == 1 else 0) + (last if number == 3 else 0)
        inward = (size if number < 2 else 1) * (1 if number & 1 == 0 else -1)
        for begin in range(size - 3):
            near = first + begin * step
            if not _has(ends_low, ends_high, near):
                continue
            place = I64(begin + 1)
            # Extend the row while its cells belong to the wall and attackers can stand in front of them.
            while place < size:
                cell = first + place * step
                if (
                    place > begin + 2
                    and _has(ends_low, ends_high, cell)
                    and (_has(low, high, near) or _has(low, high, cell))
                ):
                    row_low, row_high, front_low, front_high = U64(0), U64(0), U64(0), U64(0)
                    for member in range(begin + 1, place):
                        bit_low, bit_high = _bit(first + member * step)
                        row_low, row_high = row_low | bit_low, row_high | bit_high
                        bit_low, bit_high = _bit(first + member * step + inward)
                        front_low, front_high = front_low | bit_low, front_high | bit_high
                    if distant.fort != 2 or _can_wall(distant, board, reach, (front_low, front_high), near, cell):
                        found_low |= row_low
                        found_high |= row_high
                if place == last or not (_has(wall_low, wall_high, cell) and _has(low, high, cell + inward)):
                    break
                place += 1
    return found_low, found_high


@inlined
def _holds_fort(distant: DistantTables, board: BoardArray, king: int) -> bool:
    """Return whether the king stands in an exit fort, by the definition in docs/rules.md."""
    here_low, here_high = _bit(king)
    reach_low, reach_high = _cells_of(distant, board, I64(1))
    white_low, white_high = _cells_of(distant, board, I64(0))
    wall_low, wall_high = white_low & ~here_low, white_high & ~here_high
    free_low, free_high = _meet(distant, I64(ALL), ~(reach_low | white_low), ~(reach_high | white_high))
    corner_low, corner_high = _meet(distant, I64(ROYAL), free_low, free_high)
    low, high = here_low, here_high
    while True:
        more_low, more_high = _grown(distant, low, high)
        more_low = (more_low & free_low & ~corner_low) | low
        more_high = (more_high & free_high & ~corner_high) | high
        if more_low == low and more_high == high:
            break
        low, high = more_low, more_high
    more_low, more_high = _grown(distant, low, high)
    low, high = low | (more_low & corner_low), high | (more_high & corner_high)
    alive_low, alive_high = wall_low, wall_high
    while True:
        walk_low, walk_high = _meet(distant, I64(WALK), ~alive_low, ~alive_high)
        while True:
            if ((reach_low & low) | (reach_high & high)) != U64(0):
                return False
            more_low, more_high = _grown(distant, reach_low, reach_high)
            more_low, more_high = reach_low | (more_low & walk_low), reach_high | (more_high & walk_high)
            if more_low == reach_low and more_high == reach_high:
                break
            reach_low, reach_high = more_low, more_high
        stand_low, stand_high = _meet(distant, I64(STAND), reach_low, reach_high)
        taken_low, taken_high = _flanked(
            distant,
            stand_low,
            stand_high,
            stand_low | distant.sets[2 * ANVIL],
            stand_high | distant.sets[2 * ANVIL + 1],
        )
        if distant.fort == 2:
            alive = (alive_low & taken_low, alive_high & taken_high)
            taken_low, taken_high = _flanked_by_count(distant, board, (reach_low, reach_high), alive)
        if distant.shieldwall != 0:
            more_low, more_high = _walled(distant, board, wall_low, wall_high, (reach_low, reach_high))
            taken_low, taken_high = taken_low | more_low, taken_high | more_high
        taken_low, taken_high = _meet(distant, I64(EXPOSED), taken_low & alive_low, taken_high & alive_high)
        if (taken_low | taken_high) == U64(0):
            return True
        alive_low, alive_high = alive_low & ~taken_low, alive_high & ~taken_high


@apart
def ends_afar(distant: DistantTables, board: BoardArray, side: int, king: int) -> bool:
    """Return whether black has encircled white or the king stands in a fort; `wins_afar` checks the other conditions.

    Black's win is examined if ``side`` is 1, white's otherwise.
    """
    if not is_far(distant):
        return False
    if side == 1:
        return _is_shut_in(distant, board) if is_wide(distant.exposed) else _is_encircled(distant, board)
    return _holds_fort(distant, board, king)
