"""Compiled lemmas that prove placements unreachable.

The lemmas are proved in ``docs/notes/reachability.md``. `lemma` returns the number of the lemma that excludes a counted
placement, in the order of `counting.reachable.certificate_checker.LEMMAS` from 1, or 0. To find locked pieces, it
repeatedly removes a piece that could have arrived last among the remaining pieces. This is called *peeling*. The pieces
that cannot be removed are locked, unless the starting position contains all of them.

`placement_lemma` and `board_lemma` return the same number, but they work on sets of cells, in *rounds*. A round removes
all pieces that could have come from an adjacent empty cell and that certainly capture nothing on arrival. The exact
test is then applied to the few pieces that remain. The order of removal does not matter, because a piece that could
have arrived last in a set could also have arrived last in any subset that contains it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from counting.census.words import table_of
from tablut.engine import engine_for
from tablut.engine.attacks import captures_at, wins_afar
from tablut.engine.cells import (
    bit_of,
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
from tablut.engine.distant import has_shieldwalls, is_far
from tablut.engine.jit import I64, U64, advance, called, inlined, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import can_move, toggle
from tablut.engine.layout import (
    board_items,
    coordinates,
    count_of,
    is_wide,
    king_of,
    line_of,
    occupied,
    own_pieces,
    put_count,
    put_king,
    put_side,
    shift_of,
    side_of,
)
from tablut.engine.tables import WALK
from tablut.engine.unmoves import OriginTables, build_origins, has_unmove, line_origins, would_capture
from tablut.position import NARROW, diagram_cells
from tablut.variants.model import derived

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counting.reachable.drawing import Bits, Placed
    from tablut.engine.tables import Tables
    from tablut.variants import Variant

MATERIAL: Final = 1
CAMP: Final = 2
IMMOBILE: Final = 3
LOCKED: Final = 4
LAST_MOVE: Final = 5


class LemmaTables(NamedTuple):
    """The tables of a variant for the lemmas.

    A cell set is stored as two words of uint64. The directions are west, south, east and north, in this order. On wide
    boards (`tablut.engine.layout`), which only `lemma` supports, the arrays of cell sets are empty.

    - ``rules``, ``origins``: The tables for the rules, and for the cells from which pieces could have come.
    - ``to_black``, ``to_white``: 1 if there is terrain that can be hostile to attackers, or to defenders, otherwise 0.
    - ``camps``: The number of camps that can be overfull because they have fewer attackers at the start than cells.
    - ``camp_rows``: uint32 of shape (camps * N,): the cells of these camps, as a mask for each row.
    - ``garrisons``: int64 of shape (camps,): the numbers of attackers in these camps at the start.
    - ``comes``: For each kind of piece (attacker, defender, king) and direction, the cells that the piece can reach
      from the adjacent cell.
    - ``goes``: For each kind of soldier and direction, the cells from which the soldier can move to the adjacent cell.
    - ``anvils``: The terrain that can be hostile to attackers, followed by that for defenders.
    - ``exposed``: The cells on which a soldier can be captured.
    - ``edge``, ``inner``: The cells on the edge of the board, and the cells of all files except the first and the last.
    - ``doubtful``: The cells on which a round may misjudge a soldier if the king has been removed; see `_doubtful`.
    - ``start``: The cells of the attackers at the start, followed by the cells of the defenders.
    """

    rules: Tables
    origins: OriginTables
    to_black: int
    to_white: int
    camps: int
    camp_rows: NDArray[np.uint32]
    garrisons: NDArray[np.int64]
    comes: NDArray[np.uint64]
    goes: NDArray[np.uint64]
    anvils: NDArray[np.uint64]
    exposed: NDArray[np.uint64]
    edge: NDArray[np.uint64]
    inner: NDArray[np.uint64]
    doubtful: NDArray[np.uint64]
    start: NDArray[np.uint64]


_CELL_SETS: Final = LemmaTables._fields[LemmaTables._fields.index("comes") :]
"""The fields that are sets of cells."""


@inlined
def without_last_capture(lemmas: LemmaTables, attackers: int, defenders: int) -> bool:
    """Return whether soldiers are missing although no piece of either side could have made the last capture."""
    origins, armed = lemmas.origins, defenders + lemmas.rules.king_armed
    if attackers == origins.attackers and defenders == origins.defenders:
        return False
    if attackers < origins.attackers and (armed >= 2 or (armed == 1 and lemmas.to_black != 0)):
        return False
    return not (defenders < origins.defenders and (attackers >= 2 or lemmas.to_white != 0))


@inlined
def _overfull_camp(lemmas: LemmaTables, board: NDArray[np.uint32]) -> bool:
    """Return whether a camp contains more attackers than at the start."""
    for camp in range(lemmas.camps):
        held = I64(0)
        for rank in range(lemmas.rules.size):
            held += popcount(
                own_pieces(line_of(board, rank), 1) & I64(lemmas.camp_rows[camp * lemmas.rules.size + rank])
            )
        if held > lemmas.garrisons[camp]:
            return True
    return False


@inlined
def _empty_cell(rules: Tables, board: NDArray[np.uint32]) -> int:
    """Return the first empty cell of a board that has one."""
    rank, full = I64(0), (1 << rules.size) - 1
    while occupied(line_of(board, rank)) == full:
        rank += 1
    return rank * rules.size + trailing_zeros(~occupied(line_of(board, rank)))


@inlined
def _captures_one(rules: Tables, left: NDArray[np.uint32], cell: int, kind: int, king: int) -> bool:
    """Return whether a piece that arrives last in a set captures another piece of the set.

    ``king`` is -1 if the set has no king.
    """
    if king >= 0:
        return would_capture(rules, left, I64(kind == 0), cell, king)
    # The king may or may not have stood on the castle, so the piece must capture in both cases. It is sufficient to
    # test the case in which a capture is harder. If white captures and the king is armed, the castle is empty in this
    # case, since an armed king on the castle also serves as an anvil. Otherwise the king is on the castle in this case.
    # If there is no castle, the king may have stood on any empty cell.
    away = rules.castle if rules.castle >= 0 else _empty_cell(rules, left)
    if kind == 0:
        return captures_at(rules, left, 1, cell, away) != 0
    return captures_at(rules, left, 0, cell, cell if rules.king_armed != 0 else away) != 0


@inlined
def _peel(lemmas: LemmaTables, left: NDArray[np.uint32], king: int) -> int:
    """Peel a set of pieces, and return the king's cell, or -1 if the king was removed."""
    rules, size = lemmas.rules, lemmas.rules.size
    changed = True
    while changed:
        changed = False
        for rank in range(size):
            white, pieces = own_pieces(line_of(left, rank), 0), occupied(line_of(left, rank))
            while pieces:
                file = trailing_zeros(pieces)
                pieces &= pieces - 1
                cell = rank * size + file
                kind = (white >> file) & 1
                if cell == king:
                    kind = I64(2)
                if line_origins(rules, lemmas.origins, left, cell, kind) == 0 or _captures_one(
                    rules, left, cell, kind, king
                ):
                    continue
                toggle(rules, left, cell, shift_of(left, I64(kind == 0)))
                if kind == 2:
                    king = I64(-1)
                changed = True
    return king


@inlined
def _stands_as_at_start(lemmas: LemmaTables, left: NDArray[np.uint32], king: int) -> bool:
    """Return whether every piece in a set is on a cell that is occupied by a piece of the same kind at the start."""
    rules, start_board = lemmas.rules, lemmas.origins.start
    home = king_of(rules, start_board)
    home_rank, home_file = coordinates(rules, home)
    if king >= 0 and king != home:
        return False
    for rank in range(rules.size):
        start = I64(line_of(start_board, rank))
        if king < 0 and rank == home_rank:
            # No defender starts on the king's cell.
            start &= ~(1 << (shift_of(left, I64(0)) + home_file))
        if I64(line_of(left, rank)) & ~start:
            return False
    return True


@inlined
def _is_left_locked(lemmas: LemmaTables, left: NDArray[np.uint32], king: int) -> bool:
    """Peel a set of pieces, and return whether locked pieces remain."""
    return not _stands_as_at_start(lemmas, left, _peel(lemmas, left, king))


@inlined
def is_start(lemmas: LemmaTables, board: NDArray[np.uint32]) -> bool:
    """Return whether a board is the start position, including the side to move."""
    rules, start = lemmas.rules, lemmas.origins.start
    for place in range(rules.size):
        if board[place] != start[place]:
            return False
    return king_of(rules, board) == king_of(rules, start) and side_of(rules, board) == side_of(rules, start)


@inlined
def _was_over(lemmas: LemmaTables, board: NDArray[np.uint32]) -> bool:
    """Return whether the game had ended before the last ply, because of an encirclement or a fort.

    The result is False for a game that begins in such a position, and for a fort if some pieces may not pass the
    castle.
    """
    rules, start, winner = lemmas.rules, lemmas.origins.start, side_of(lemmas.rules, board)
    if not is_far(rules.distant) or not wins_afar(rules, board, winner, king_of(rules, board)):
        return False
    if winner == 0 and rules.castle >= 0 and not has_cell(set_at(rules.distant.sets, WALK), rules.castle):
        return False
    return side_of(rules, start) == winner or not wins_afar(rules, start, winner, king_of(rules, start))


@called
def lemma(lemmas: LemmaTables, board: NDArray[np.uint32], left: NDArray[np.uint32]) -> int:
    """Return the number of the lemma that excludes a counted position, or 0. Write the locked pieces to ``left``."""
    rules = lemmas.rules
    if is_start(lemmas, board):
        return I64(0)
    if without_last_capture(lemmas, count_of(rules, board, 1), count_of(rules, board, 0)):
        return I64(MATERIAL)
    if _overfull_camp(lemmas, board):
        return I64(CAMP)
    if rules.either_after_ply != 0 and not (can_move(rules, board, 0) and can_move(rules, board, 1)):
        return I64(IMMOBILE)
    for place in range(board_items(rules.size)):
        left[place] = board[place]
    if _is_left_locked(lemmas, left, king_of(rules, left)):
        return I64(LOCKED)
    return I64(LAST_MOVE) if _was_over(lemmas, board) or not has_unmove(rules, lemmas.origins, board) else I64(0)


@kernel
def _lemmas_of_boards(
    tables: LemmaTables, boards: NDArray[np.uint32], left: NDArray[np.uint32], codes: NDArray[np.uint8]
) -> None:
    """Write to ``codes``, shape (n,), the number of the lemma that excludes each of ``boards``, shape (n, 2N + 4).

    ``left`` receives the pieces that remain on each board after peeling, or on its last board for the rest.
    """
    lemmas = flat(tables)
    stride, kept = board_items(lemmas.rules.size), len(left) - 1
    for index in range(len(boards)):
        board = advance(pointer(boards), index * stride)
        codes[index] = np.uint8(lemma(lemmas, board, advance(pointer(left), min(index, kept) * stride)))


class Lemmas:
    """The lemmas for one variant, applied to arrays of positions."""

    def __init__(self, variant: Variant) -> None:
        self.tables = _build_lemmas(variant)

    def of_boards(self, boards: NDArray[np.uint32], left: NDArray[np.uint32] | None = None) -> NDArray[np.uint8]:
        """Return the number of the lemma that excludes each position, or 0. Write the locked pieces to ``left``."""
        codes = np.empty(len(boards), dtype=np.uint8)
        scratch = np.empty_like(boards[:1]) if left is None else left
        _lemmas_of_boards(self.tables, np.ascontiguousarray(boards), scratch, codes)
        return codes


lemmas_for = derived(Lemmas)
"""Return the lemmas for a variant. Equal variants share one object."""


# -- rounds on sets of cells -------------------------------------------------------------


def _build_lemmas(variant: Variant) -> LemmaTables:
    """Return the tables of a variant for the lemmas."""
    tables, origins = engine_for(variant).tables, build_origins(variant)
    regions, size = variant.regions, variant.size
    overfull = [camp for camp in regions.camps if 0 < camp.garrison < len(camp.cells)]
    rows = np.zeros((len(overfull), size), dtype=np.uint32)
    for number, camp in enumerate(overfull):
        for cell in camp.cells:
            rows[number, cell // size] |= np.uint32(1 << cell % size)
    sets = _cell_sets(variant, tables, origins) if size <= NARROW else {}
    return LemmaTables(
        rules=tables,
        origins=origins,
        to_black=int(bool(variant.regions.anvils["black"])),
        to_white=int(bool(variant.regions.anvils["white"])),
        camps=len(overfull),
        camp_rows=rows.ravel(),
        garrisons=np.array([camp.garrison for camp in overfull], dtype=np.int64),
        **{name: _sets(sets.get(name, [])) for name in _CELL_SETS},
    )


def _cell_sets(variant: Variant, tables: Tables, origins: OriginTables) -> dict[str, list[set[int]]]:
    """Return the sets of cells that the rounds use, by the names of the fields."""
    size, cells = variant.size, range(variant.size**2)
    lines = [origins.attacker_origins, origins.defender_origins, origins.king_origins]
    comes = [_steps(size, origins.origins, at, reverse=False) for at in lines]
    goes = [_steps(size, origins.origins, at, reverse=True) for at in lines[:2]]
    return {
        "comes": [reached for ways in comes for reached in ways],
        "goes": [left for ways in goes for left in ways],
        "anvils": [set(variant.regions.anvils[side]) for side in ("black", "white")],
        "exposed": [{cell for cell in cells if int(tables.exposed[cell // size]) >> cell % size & 1}],
        "edge": [{cell for cell in cells if tables.distant.edge[cell]}],
        "inner": [{cell for cell in cells if 0 < cell % size < size - 1}],
        "doubtful": [_doubtful(variant, origins)],
        "start": [{cell for cell, letter in enumerate(diagram_cells(variant.start)) if letter == x} for x in "bw"],
    }


def _doubtful(variant: Variant, origins: OriginTables) -> set[int]:
    """Return the cells on which a round may misjudge a soldier.

    These are the cells that a soldier can reach from some direction, but not from the adjacent cell in this direction,
    and the cells near a castle that is hostile only in some cases.
    """
    castle, size = variant.rules.castle, variant.size
    doubtful: set[int] = set()
    for lines in (origins.attacker_origins, origins.defender_origins):
        beside = _steps(size, origins.origins, lines, reverse=False)
        for way, cells in enumerate(_steps(size, origins.origins, lines, reverse=False, empty=True)):
            doubtful |= cells - beside[way]
    at = variant.regions.castle
    if at is not None and not {castle.hostile_to_white, castle.hostile_to_black} <= {"never", "always"}:
        rank, file = divmod(at, size)
        doubtful |= {cell for cell in range(size * size) if abs(cell // size - rank) + abs(cell % size - file) <= 2}
    return doubtful


def _sets(sets: list[set[int]]) -> NDArray[np.uint64]:
    """Return sets of cells as arrays of words."""
    return table_of([sum(1 << cell for cell in cells) for cells in sets], 2)


def _steps(
    size: int, origins: NDArray[np.uint16], lines: NDArray[np.uint32], *, reverse: bool, empty: bool = False
) -> list[set[int]]:
    """Return, for each direction, the cells that a kind of piece can enter from the adjacent cell in that direction.

    With ``reverse``, return the cells from which it can step to the adjacent cell. With ``empty``, return the cells
    that it can enter by a slide of any length on an empty line.
    """
    by_direction: list[set[int]] = [set() for _ in range(4)]
    for cell in range(size * size):
        for direction, (ranks, files) in enumerate(((0, -1), (-1, 0), (0, 1), (1, 0))):
            rank, file = cell // size + ranks, cell % size + files
            if not (0 <= rank < size and 0 <= file < size):
                continue
            other = rank * size + file
            start, target = (cell, other) if reverse else (other, cell)
            line, place, origin = (
                (rank, target % size, start % size) if files else (size + file, target // size, start // size)
            )
            # On a line where all cells except the origin are occupied, a slide can only have begun at the origin.
            full = 0 if empty else ((1 << size) - 1) & ~(1 << origin)
            began = int(origins[int(lines[line]) + (place << size) + full])
            beyond = (1 << place) - 1 if origin < place else -1 << place
            if began & (beyond if empty else 1 << origin):
                by_direction[direction].add(cell)
    return by_direction


@inlined
def _captors(lemmas: LemmaTables, victims: Bits, anvils: Bits) -> Bits:
    """Return the cells on which an arriving piece captures a victim.

    These are the cells next to a victim that has an anvil on the opposite side.
    """
    size, victims = lemmas.rules.size, meet(victims, set_at(lemmas.exposed, 0))
    inner = meet(victims, set_at(lemmas.inner, 0))
    row = join(shifted_down(meet(shifted_down(anvils, 1), inner), 1), shifted_up(meet(shifted_up(anvils, 1), inner), 1))
    column = join(
        shifted_down(meet(shifted_down(anvils, size), victims), size),
        shifted_up(meet(shifted_up(anvils, size), victims), size),
    )
    return join(row, column)


@inlined
def _active(lemmas: LemmaTables, black: Bits, white: Bits, king: Bits) -> Bits:
    """Return a set that contains the cells of all pieces that may have captured another piece on arrival."""
    # Any attacker next to the king may have arrived last among the attackers that capture the king.
    size = lemmas.rules.size
    beside = join(
        join(shifted_up(king, 1), shifted_down(king, 1)), join(shifted_up(king, size), shifted_down(king, size))
    )
    captors = join(beside, _captors(lemmas, white, join(black, set_at(lemmas.anvils, 1))))
    if lemmas.rules.king_armed != 0:
        white = join(white, king)
    others = _captors(lemmas, black, join(white, set_at(lemmas.anvils, 0)))
    return join(meet(captors, black), meet(others, white))


@inlined
def _beside_rows(lemmas: LemmaTables, black: Bits, white: Bits) -> Bits:
    """Return a set that contains the cells of all pieces that may have captured a row on the edge on arrival."""
    size, edge = lemmas.rules.size, set_at(lemmas.edge, 0)
    found = (U64(0), U64(0))
    for side in range(2):
        own, enemies = (white, meet(black, edge)) if side == 0 else (black, meet(white, edge))
        for step in (1, size):
            rows = meet(enemies, join(shifted_up(enemies, step), shifted_down(enemies, step)))
            ends = meet(own, join(shifted_up(rows, step), shifted_down(rows, step)))
            if lemmas.rules.distant.shieldwall == 1:
                ends = meet(ends, edge)
            elif not is_empty(rows):
                ends = own
            found = join(found, ends)
    return found


@inlined
def _stepping(size: int, west: Bits, south: Bits, east: Bits, north: Bits, taken: Bits) -> Bits:
    """Return the union of four sets, without the cells whose neighbour in the set's direction is occupied."""
    free = ~taken[0], ~taken[1]
    row = join(meet(west, shifted_up(free, 1)), meet(east, shifted_down(free, 1)))
    return join(row, join(meet(south, shifted_up(free, size)), meet(north, shifted_down(free, size))))


@inlined
def _of_kinds(lemmas: LemmaTables, way: int, black: Bits, white: Bits, king: Bits) -> Bits:
    """Return the pieces that could have come to their cells from the adjacent cell in one direction."""
    soldiers = join(meet(black, set_at(lemmas.comes, way)), meet(white, set_at(lemmas.comes, 4 + way)))
    return join(soldiers, meet(king, set_at(lemmas.comes, 8 + way)))


@inlined
def _can_step(lemmas: LemmaTables, kind: int, own: Bits, taken: Bits) -> bool:
    """Return whether any soldier of a given kind can move to an adjacent cell."""
    west, south = meet(own, set_at(lemmas.goes, 4 * kind)), meet(own, set_at(lemmas.goes, 4 * kind + 1))
    east, north = meet(own, set_at(lemmas.goes, 4 * kind + 2)), meet(own, set_at(lemmas.goes, 4 * kind + 3))
    return not is_empty(_stepping(lemmas.rules.size, west, south, east, north, taken))


@inlined
def _put(rules: Tables, board: NDArray[np.uint32], black: Bits, white: Bits) -> None:
    """Write a board from sets of cells. The white set includes the king. All other fields of the board are cleared."""
    for place in range(board_items(rules.size)):
        board[place] = np.uint32(0)
    for kind in range(2):
        left = black if kind == 0 else white
        while not is_empty(left):
            cell = first_of(left)
            left = without(left, bit_of(cell))
            toggle(rules, board, cell, 16 * kind)


@inlined
def _quick_lemma(lemmas: LemmaTables, position: Placed, left: NDArray[np.uint32]) -> int:
    """Return the number of the lemma that excludes a counted position, 0 if there is none, or -1 if this is unclear."""
    black, white, king, side, attackers, defenders = position
    rules, size, at_king = lemmas.rules, lemmas.rules.size, bit_of(king)
    if lemmas.camps != 0 or without_last_capture(lemmas, attackers, defenders):
        return I64(-1)
    taken = join(join(black, white), at_king)
    if rules.either_after_ply != 0 and not (_can_step(lemmas, 0, black, taken) and _can_step(lemmas, 1, white, taken)):
        return I64(-1)
    west = _of_kinds(lemmas, 0, black, white, at_king)
    south = _of_kinds(lemmas, 1, black, white, at_king)
    east = _of_kinds(lemmas, 2, black, white, at_king)
    north = _of_kinds(lemmas, 3, black, white, at_king)
    # The last ply was made by the side that is not to move.
    movers = black if side == 0 else join(white, at_king)
    moved, first, walled = False, True, (U64(0), U64(0))
    while True:
        free = _stepping(size, west, south, east, north, taken)
        gone = meet(without(free, _active(lemmas, black, white, at_king)), taken)
        if has_shieldwalls(rules.distant):
            walled = _beside_rows(lemmas, black, join(white, at_king))
            gone = without(gone, walled)
        if first:
            first = False
            moved = not is_empty(meet(gone, movers))
        if is_empty(gone):
            break
        taken, at_king = without(taken, gone), without(at_king, gone)
        black, white = without(black, gone), without(white, gone)
    if not is_empty(taken):
        if is_empty(join(at_king, meet(taken, join(walled, set_at(lemmas.doubtful, 0))))):
            from_start = join(without(black, set_at(lemmas.start, 0)), without(white, set_at(lemmas.start, 1)))
            if not is_empty(from_start):
                return I64(LOCKED)
        else:
            _put(rules, left, black, join(white, at_king))
            # If locked pieces remain, the position is not the start.
            if _is_left_locked(lemmas, left, I64(-1) if is_empty(at_king) else king):
                return I64(LOCKED)
    return I64(0) if moved else I64(-1)


@inlined
def _ended_afar(lemmas: LemmaTables, board: NDArray[np.uint32]) -> int:
    """Return the number of the last-move lemma if it applies because of a fort or an encirclement, otherwise 0."""
    rules = lemmas.rules
    ended = wins_afar(rules, board, side_of(rules, board) ^ 1, king_of(rules, board)) or _was_over(lemmas, board)
    return I64(LAST_MOVE) if ended and not is_start(lemmas, board) else I64(0)


@inlined
def placement_lemma(lemmas: LemmaTables, position: Placed, board: NDArray[np.uint32], left: NDArray[np.uint32]) -> int:
    """Return the same number as `lemma` for a counted position that is given as sets of cells."""
    code, rules = _quick_lemma(lemmas, position, left), lemmas.rules
    if code > 0 or (code == 0 and not is_far(rules.distant)):
        return code
    black, white, king, side, attackers, defenders = position
    _put(rules, board, black, join(white, bit_of(king)))
    put_king(rules, board, king)
    put_side(rules, board, side)
    put_count(rules, board, 0, defenders)
    put_count(rules, board, 1, attackers)
    return lemma(lemmas, board, left) if code < 0 else _ended_afar(lemmas, board)


@inlined
def board_lemma(lemmas: LemmaTables, board: NDArray[np.uint32], left: NDArray[np.uint32]) -> int:
    """Return the same number as `lemma` for a counted position that is given as a board."""
    if is_wide(lemmas.rules.exposed):
        return lemma(lemmas, board, left)
    rules, size, king = lemmas.rules, lemmas.rules.size, king_of(lemmas.rules, board)
    black, white = (U64(0), U64(0)), (U64(0), U64(0))
    for rank in range(size - 1, -1, -1):
        black, white = shifted_up(black, size), shifted_up(white, size)
        line = line_of(board, rank)
        black = (black[0] | U64(own_pieces(line, 1)), black[1])
        white = (white[0] | U64(own_pieces(line, 0)), white[1])
    white = without(white, bit_of(king))
    position = (black, white, king, side_of(rules, board), count_of(rules, board, 1), count_of(rules, board, 0))
    code = _quick_lemma(lemmas, position, left)
    if code == 0 and is_far(rules.distant):
        return _ended_afar(lemmas, board)
    return code if code >= 0 else lemma(lemmas, board, left)
