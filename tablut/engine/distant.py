"""Effects of a ply far from its target cell: shieldwalls, encirclement and exit forts (see docs/rules-family.md).

A flood fill extends a set of cells (`tablut.engine.cells`) in all directions with a few operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tablut.engine.cells import (
    Cells,
    are_equal,
    bit_of,
    count_cells,
    first_of,
    has_cell,
    is_empty,
    join,
    meet,
    set_at,
    shifted_down,
    shifted_up,
    without,
)
from tablut.engine.jit import I64, U64, apart, by_type, inlined, popcount, trailing_zeros
from tablut.engine.layout import (
    BoardArray,
    coordinates,
    count_of,
    edge_captures,
    is_wide,
    king_of,
    line_of,
    occupied,
    own_pieces,
)
from tablut.engine.tables import ALL, ANVIL, EDGE, ENDS, EXPOSED, NOT_FIRST, NOT_LAST, ROYAL, STAND, WALK, NearTables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import DistantTables

FEWEST_AROUND = 4
"""Minimum number of attackers needed to encircle white."""


is_far: Final = by_type(lambda record: record.instance_class is not NearTables)
"""Whether a rule set has shieldwalls, encirclement or exit forts. This is decided when a kernel is compiled."""


# -- shieldwalls -----------------------------------------------------------------------------


@inlined
def has_shieldwalls(distant: DistantTables) -> bool:
    """Return whether a rule set has shieldwalls."""
    return is_far(distant) and distant.shieldwall != 0


@inlined
def _front_line(distant: DistantTables, line: int) -> int:
    """Return the line that adjoins an edge line on its inner side."""
    return line + 1 if line in (0, distant.size) else line - 1


@inlined
def _wall_pieces(distant: DistantTables, board: BoardArray, line: int, side: int, king: int) -> int:
    """Return the places on a line where a side has pieces that take part in captures."""
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
    """Return the length of the run of set bits that begins at a given place and extends upwards."""
    return trailing_zeros(~(row >> place))


@inlined
def _run_down(row: int, place: int) -> int:
    """Return the length of a run of set bits that starts at a place and goes downwards."""
    count = I64(0)
    while count <= place and (row >> (place - count)) & 1:
        count += 1
    return count


@inlined
def _wall_taken(
    distant: DistantTables, board: BoardArray, side: int, line: int, place: int, bracket: bool, king: int
) -> int:
    """Return the places, on an edge line, of the soldiers that an arriving piece captures by a shieldwall.

    If ``bracket`` is true, the piece arrives at an end of the shieldwall, and otherwise in front of it.
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
    """Return ``captures`` extended by the shieldwall captures of a piece that has just arrived."""
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
            # A neighbour captured in both ways is recorded only once, among the shieldwall captures.
            beside = ((taken << 1) >> place) & 5
            captures &= ~(beside if along == 0 else beside << 1)
    return captures | edge_captures(row, column)


@inlined
def _lost_rows(
    distant: DistantTables,
    board: BoardArray,
    side: int,
    edge: tuple[int, int],
    bracket: bool,
    cells: NDArray[np.uint32],
) -> tuple[int, int]:
    """Return the places on an edge line of the soldiers that a piece may have captured when it arrived.

    ``edge`` contains the line and the piece's place along it. The masks are for the rows below (or, if ``bracket`` is
    false, behind the piece) and above the place. ``cells`` contains a mask for each line with the places where the
    captured soldiers may have stood.
    """
    (line, place), king = edge, king_of(distant, board)
    own, content = _wall_pieces(distant, board, line, side, king), line_of(board, line)
    rank, file = coordinates(distant, king)
    at_king = 1 << file if line == rank else (1 << rank if line == distant.size + file else 0)
    exposed = I64(distant.exposed[line])
    empty = I64(cells[line]) & exposed & ~occupied(content)
    staying = own_pieces(content, side ^ 1) & (~exposed | at_king)
    covered = (empty | staying) & _wall_pieces(distant, board, _front_line(distant, line), side, king)
    ends = own | I64(distant.ends[line])
    below, above = I64(0), I64(0)
    if bracket:
        count = _run_up(covered, place + 1)
        if count >= 2 and (ends >> (place + 1 + count)) & 1:
            above = ((1 << count) - 1) << (place + 1)
        count = _run_down(covered, place - 1)
        if count >= 2 and count < place and (ends >> (place - 1 - count)) & 1:
            below = ((1 << count) - 1) << (place - count)
    elif (covered >> place) & 1:
        low, high = place - _run_down(covered, place), place + _run_up(covered, place)
        if low >= 0 and high - low > 2 and ((own >> high) | (own >> low)) & (ends >> high) & (ends >> low) & 1:
            below = (1 << high) - (2 << low)
    return below & empty, above & empty


@apart
def restorable_rows(
    distant: DistantTables, board: BoardArray, side: int, target: int, cells: NDArray[np.uint32]
) -> tuple[int, int, int, int]:
    """Return the rows on the edge that a piece may have captured when it arrived, encoded like captures.

    There is one row for each direction from the piece: west, south, east and north. The row is 0 if the piece cannot
    have captured a row there.
    """
    size, last = distant.size, distant.size - 1
    rank, file = coordinates(distant, target)
    west, south, east, north = I64(0), I64(0), I64(0), I64(0)
    for along in range(2):
        place, depth = (file, rank) if along == 0 else (rank, file)
        bracket = depth in (0, last)
        if not bracket and (distant.shieldwall != 2 or depth not in (1, last - 1)):
            continue
        far = 2 * depth > last
        edge = (0 if along == 0 else size) + (last if far else 0), place
        below, above = _lost_rows(distant, board, side, edge, bracket, cells)
        if along == 0:
            below, above = edge_captures(below, I64(0)), edge_captures(above, I64(0))
        else:
            below, above = edge_captures(I64(0), below), edge_captures(I64(0), above)
        if not bracket and far:
            below, above = I64(0), below
        # A row that the piece brackets is found in a direction along the edge line. A row that it covers is found in a
        # direction at right angles to the edge line.
        if (along == 0) == bracket:
            west, east = west | below, east | above
        else:
            south, north = south | below, north | above
    return west, south, east, north


@apart
def mark_shieldwalls(distant: DistantTables, board: BoardArray, side: int, threats: NDArray[np.uint32]) -> None:
    """Add to the lines' masks the places where an arriving piece of a side may complete a shieldwall capture."""
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
            # A row of pieces that begins in the corner cannot be bracketed at that end.
            if count >= 2 and (enemy >> (place - 1)) & 1 == 0:
                low, high = place - 1, place + count
                lacks = ((1 << high) - (2 << low)) & ~covering
                closed = ((ends >> low) & 1) + ((ends >> high) & 1)
                if high < size and lacks == 0 and closed != 0:
                    threats[line] |= np.uint32((1 << low) | (1 << high))
                if high < size and distant.shieldwall == 2 and popcount(lacks) == 1 and closed == 2:
                    threats[front] |= np.uint32(lacks)
            place += max(count, 1)


# -- encirclement ----------------------------------------------------------------------------


@inlined
def _cells_of(distant: DistantTables, board: BoardArray, side: int) -> Cells:
    """Return the cells occupied by a side's pieces. The king counts as a white piece."""
    cells = (U64(0), U64(0))
    for back in range(distant.size):
        row = own_pieces(line_of(board, distant.size - 1 - back), side)
        cells = join(shifted_up(cells, distant.size), (U64(row), U64(0)))
    return cells


@inlined
def _beside_row(distant: DistantTables, cells: Cells) -> tuple[Cells, Cells]:
    """Return a set shifted one cell east, and the same set shifted one cell west."""
    east = shifted_up(meet(cells, set_at(distant.sets, NOT_LAST)), 1)
    return east, shifted_down(meet(cells, set_at(distant.sets, NOT_FIRST)), 1)


@inlined
def _beside_column(distant: DistantTables, cells: Cells) -> tuple[Cells, Cells]:
    """Return a set shifted one cell north, and the same set shifted one cell south.

    Some cells of the set that is shifted north may lie beyond the board.
    """
    return shifted_up(cells, distant.size), shifted_down(cells, distant.size)


@inlined
def _grown(distant: DistantTables, cells: Cells) -> Cells:
    """Return a set together with its neighbouring cells, some of which may lie beyond the board."""
    east, west = _beside_row(distant, cells)
    north, south = _beside_column(distant, cells)
    return join(cells, join(join(east, west), join(north, south)))


@inlined
def _flooded(distant: DistantTables, cells: Cells, within: Cells) -> Cells:
    """Return a set together with all cells connected to it by paths through the set ``within``."""
    while True:
        more = join(cells, meet(_grown(distant, cells), within))
        if are_equal(more, cells):
            return cells
        cells = more


@inlined
def _is_encircled(distant: DistantTables, board: BoardArray) -> bool:
    """Return whether white is encircled.

    White is encircled if no path through empty cells and white pieces leads from a white piece to the edge.
    """
    if count_of(distant, board, 1) < FEWEST_AROUND:
        return False
    free = without(set_at(distant.sets, ALL), _cells_of(distant, board, I64(1)))
    reached = _cells_of(distant, board, I64(0))
    while True:
        if not is_empty(meet(reached, set_at(distant.sets, EDGE))):
            return False
        more = meet(_grown(distant, reached), free)
        if are_equal(more, reached):
            return True
        reached = more


@apart
def _is_shut_in(distant: DistantTables, board: BoardArray) -> bool:
    """Return whether white is encircled on a wide board, where the flood fill sweeps up and down row by row."""
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
    """Return whether an attacker on a cell may separate open cells that would be connected without this attacker.

    Only the eight surrounding cells are examined, so the result may be true although the cells are connected elsewhere.
    """
    rank, file = coordinates(distant, cell)
    below = own_pieces(line_of(board, rank - 1), 1) if rank > 0 else I64(0)
    above = own_pieces(line_of(board, rank + 1), 1) if rank < distant.size - 1 else I64(0)
    here = own_pieces(line_of(board, rank), 1)
    around = (((below << 1) >> file) & 7) | ((((here << 1) >> file) & 7) << 3) | ((((above << 1) >> file) & 7) << 6)
    return distant.pinch[around] != 0


# -- exit forts ------------------------------------------------------------------------------


@inlined
def _flanked(distant: DistantTables, cells: Cells, others: Cells) -> Cells:
    """Return the cells that have two opposite neighbours, one in the first set and the other in the second."""
    east, west = _beside_row(distant, cells)
    other_east, other_west = _beside_row(distant, others)
    north, south = _beside_column(distant, cells)
    other_north, other_south = _beside_column(distant, others)
    row = join(meet(east, other_west), meet(west, other_east))
    return join(row, join(meet(north, other_south), meet(south, other_north)))


@apart
def _can_close(distant: DistantTables, board: BoardArray, reach: Cells, men: Cells, closing: Cells) -> bool:
    """Return whether black has enough attackers to occupy the cells ``men`` if the last one arrives in ``closing``."""
    attackers = _cells_of(distant, board, I64(1))
    stand = meet(reach, set_at(distant.sets, STAND))
    if not is_empty(without(men, stand)):
        return False
    comes = False
    while not is_empty(men):
        part = _flooded(distant, bit_of(first_of(men)), reach)
        here = count_cells(meet(attackers, part))
        if here < count_cells(meet(men, part)):
            return False
        if here < count_cells(meet(stand, part)) and not is_empty(meet(closing, part)):
            comes = True
        men = without(men, part)
    return comes


@apart
def _flanked_by_count(distant: DistantTables, board: BoardArray, reach: Cells, alive: Cells) -> Cells:
    """Return the soldiers that black can flank, given the number of attackers and the cells that they can reach."""
    found, anvils = (U64(0), U64(0)), set_at(distant.sets, ANVIL)
    for cell in range(distant.size * distant.size):
        if not has_cell(alive, cell):
            continue
        rank, file = coordinates(distant, cell)
        for along in range(2):
            place, step = (file, I64(1)) if along == 0 else (rank, I64(distant.size))
            if place == 0 or place == distant.size - 1:
                continue
            low, high = bit_of(cell - step), bit_of(cell + step)
            both = join(low, high)
            if (
                _can_close(distant, board, reach, both, both)
                or (has_cell(anvils, cell - step) and _can_close(distant, board, reach, high, high))
                or (has_cell(anvils, cell + step) and _can_close(distant, board, reach, low, low))
            ):
                found = join(found, bit_of(cell))
    return found


@inlined
def _can_wall(distant: DistantTables, board: BoardArray, reach: Cells, fronts: Cells, near: int, far: int) -> bool:
    """Return whether black has enough attackers to capture a row on the edge between the cells ``near`` and ``far``."""
    ends = set_at(distant.sets, ENDS)
    for held in range(3):
        # The attackers occupy both ends, or only one end if the other is a corner.
        brackets = (U64(0), U64(0))
        if held != 2:
            brackets = join(brackets, bit_of(near))
        elif not has_cell(ends, near):
            continue
        if held != 1:
            brackets = join(brackets, bit_of(far))
        elif not has_cell(ends, far):
            continue
        men = join(brackets, fronts)
        if _can_close(distant, board, reach, men, men if distant.shieldwall == 2 else brackets):
            return True
    return False


@apart
def _walled(distant: DistantTables, board: BoardArray, wall: Cells, reach: Cells) -> Cells:
    """Return the cells of a fort's wall that attackers could capture by shieldwalls, given the cells in their reach."""
    stand = meet(reach, set_at(distant.sets, STAND))
    ends = join(stand, set_at(distant.sets, ENDS))
    size, last = distant.size, distant.size - 1
    found = (U64(0), U64(0))
    for number in range(4):
        step = 1 if number < 2 else size
        first = (last * size if number == 1 else 0) + (last if number == 3 else 0)
        inward = (size if number < 2 else 1) * (1 if number & 1 == 0 else -1)
        for begin in range(size - 3):
            near = first + begin * step
            if not has_cell(ends, near):
                continue
            place, row, fronts = I64(begin + 1), (U64(0), U64(0)), (U64(0), U64(0))
            # Extend the row while its cells belong to the wall and attackers can stand in front of them.
            while place < size:
                cell = first + place * step
                if (
                    place > begin + 2
                    and has_cell(ends, cell)
                    and (has_cell(stand, near) or has_cell(stand, cell))
                    and (distant.fort != 2 or _can_wall(distant, board, reach, fronts, near, cell))
                ):
                    found = join(found, row)
                if place == last or not (has_cell(wall, cell) and has_cell(stand, cell + inward)):
                    break
                row, fronts = join(row, bit_of(cell)), join(fronts, bit_of(cell + inward))
                place += 1
    return found


@inlined
def _holds_fort(distant: DistantTables, board: BoardArray, king: int) -> bool:
    """Return whether the king stands in an exit fort, as defined in docs/rules-family.md."""
    reach, white = _cells_of(distant, board, I64(1)), _cells_of(distant, board, I64(0))
    wall = without(white, bit_of(king))
    free = without(set_at(distant.sets, ALL), join(reach, white))
    corners = meet(free, set_at(distant.sets, ROYAL))
    inside = _flooded(distant, bit_of(king), without(free, corners))
    inside = join(inside, meet(_grown(distant, inside), corners))
    alive = wall
    while True:
        walk = without(set_at(distant.sets, WALK), alive)
        while True:
            if not is_empty(meet(reach, inside)):
                return False
            more = join(reach, meet(_grown(distant, reach), walk))
            if are_equal(more, reach):
                break
            reach = more
        stand = meet(reach, set_at(distant.sets, STAND))
        taken = _flanked(distant, stand, join(stand, set_at(distant.sets, ANVIL)))
        if distant.fort == 2:
            taken = _flanked_by_count(distant, board, reach, meet(alive, taken))
        if distant.shieldwall != 0:
            taken = join(taken, _walled(distant, board, wall, reach))
        taken = meet(meet(taken, alive), set_at(distant.sets, EXPOSED))
        if is_empty(taken):
            return True
        alive = without(alive, taken)


@apart
def ends_afar(distant: DistantTables, board: BoardArray, side: int, king: int) -> bool:
    """Return whether black has encircled white (for ``side`` 1) or the king stands in an exit fort (for ``side`` 0)."""
    if not is_far(distant):
        return False
    if side == 1:
        return _is_shut_in(distant, board) if is_wide(distant.exposed) else _is_encircled(distant, board)
    return _holds_fort(distant, board, king)
