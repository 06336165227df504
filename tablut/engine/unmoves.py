"""Compiled generation of un-moves. An un-move is a ply that could have led to a position, together with its captures.

An un-move is represented by the ply's undo record, so `tablut.engine.kernels.unmake` takes the ply back. `unmoves`
lists the un-moves that lead from a counted placement to another *counted* placement (`tablut.indexing`), where every
piece stands on a cell allowed for its kind and no side has more soldiers than at the start.

A piece could have moved last only if its arrival, with all other pieces where they are now, would capture nothing that
is still on the board. The path that the piece took must be empty now. Any soldiers that it captured stood next to its
target, on cells that are now empty and do not lie on its path. A shieldwall capture removes a whole row on the edge,
whose cells are now empty, except for a king or sheltered soldiers. Every combination of such rows and neighbouring
soldiers is restored, and the forward rules decide whether the ply captures exactly these soldiers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.attacks import captures_at, king_falls_to, open_way, wins_afar
from tablut.engine.distant import has_shieldwalls, is_far, restorable_rows
from tablut.engine.jit import I64, advance, apart, inlined, keep, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import can_move, make, toggle, toggle_captured, unmake
from tablut.engine.layout import (
    ATTACKERS_AT,
    DEFENDERS_AT,
    KING_AT,
    SIDE_AT,
    BoardArray,
    board_items,
    cell_on_cross,
    coordinates,
    count_of,
    cross_of,
    direction_on_cross,
    head,
    is_wide,
    king_of,
    line_of,
    move_of,
    neighbour,
    new_board,
    occupied,
    own_pieces,
    shift_of,
    side_of,
    undo_captured,
    undo_of,
)
from tablut.engine.packing import pack, unpack
from tablut.engine.tables import Blocks, Mover, Tables, board_lines, build_tables, freeze, line_masks, slide_masks
from tablut.position import diagram_cells
from tablut.variants.model import derived

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from tablut.variants import Variant

MOST_UNMOVES = 4 * 27
"""Maximum number of un-moves for each cell: four slides, and three cases in each of three directions."""


def most_unmoves(rules: Tables) -> int:
    """Return the maximum number of un-moves of a position. It is smaller if the rules have no shieldwalls."""
    return rules.cells * (MOST_UNMOVES if rules.distant.shieldwall else 4 * 8)


class OriginTables(NamedTuple):
    """Tables of the cells that pieces could have come from. N is the board's size.

    - ``attackers``, ``defenders``: Numbers of soldiers at the start, which no predecessor can exceed.
    - ``origins``: Blocks of ``N * 2**N`` masks, indexed by ``place << N | occupancy``. On wide boards, these masks are
      uint32, and a block has only ``N`` of them, for an empty line. All other masks are uint64 on wide boards.
    - ``attacker_origins``, ``defender_origins``, ``king_origins``: Offset of each line's block in ``origins``, by
      piece.
    - ``attacker_cells``, ``defender_cells``: Cells where soldiers may stand, as masks for each row and then each
      column.
    - ``start``: Board array of the start position.
    """

    attackers: int
    defenders: int
    origins: NDArray[np.uint16]
    attacker_origins: NDArray[np.uint32]
    defender_origins: NDArray[np.uint32]
    king_origins: NDArray[np.uint32]
    attacker_cells: NDArray[np.uint32]
    defender_cells: NDArray[np.uint32]
    start: NDArray[np.uint32]


@derived
def build_origins(variant: Variant) -> OriginTables:
    """Return the origin tables for a variant. Equal variants get the same object."""
    size, regions = variant.size, variant.regions
    cells: dict[Mover, AbstractSet[int]] = {
        "attacker": regions.soldier_cells,
        "defender": regions.free_cells,
        "king": regions.king_cells,
    }
    blocks = Blocks()
    at: dict[Mover, NDArray[np.uint32]] = {}
    for mover, standing in cells.items():
        masks = zip(board_lines(variant), line_masks(standing, size), strict=True)
        found = [_origin_masks(slide_masks(variant, terrain, mover), int(mask)) for terrain, mask in masks]
        at[mover] = np.array([blocks.place(block) for block in found], dtype=np.uint32)
    return freeze(
        OriginTables(
            attackers=variant.attackers,
            defenders=variant.defenders,
            origins=blocks.joined(),
            attacker_origins=at["attacker"],
            defender_origins=at["defender"],
            king_origins=at["king"],
            attacker_cells=line_masks(regions.soldier_cells, size),
            defender_cells=line_masks(regions.free_cells, size),
            start=_start_board(variant),
        )
    )


def _start_board(variant: Variant) -> NDArray[np.uint32]:
    cells, size = diagram_cells(variant.start), variant.size
    black = {cell for cell, letter in enumerate(cells) if letter == "b"}
    white = {cell for cell, letter in enumerate(cells) if letter in "wK"}
    board = new_board(size)
    board[: 2 * size] = line_masks(black, size) | line_masks(white, size) << board.dtype.type(4 * board.itemsize)
    counts = head(board)
    counts[KING_AT], counts[SIDE_AT] = cells.index("K"), variant.rules.first == "black"
    counts[ATTACKERS_AT], counts[DEFENDERS_AT] = variant.attackers, variant.defenders
    return board


def _origin_masks(slides: NDArray[np.uint16], standing: int) -> NDArray[np.uint16]:
    """Return masks of the places where a slide to a given place could have started, indexed by place and occupancy."""
    size = len(slides)
    occupancy = np.arange(slides.shape[1])
    masks = np.zeros_like(slides)
    for place in range(size):
        without = occupancy & ~(1 << place)
        for origin in range(size):
            if origin == place or not standing >> origin & 1:
                continue
            reaches = (slides[origin, without] >> place) & 1 == 1
            masks[place, reaches & (occupancy >> origin & 1 == 0)] |= masks.dtype.type(1 << origin)
    return masks


@inlined
def line_origins(rules: Tables, origins: OriginTables, board: BoardArray, cell: int, kind: int) -> int:
    """Return the places where a slide to a cell could have started, as a cross (`tablut.engine.layout.cross_of`)."""
    size = rules.size
    rank, file = coordinates(rules, cell)
    row, column = occupied(line_of(board, rank)), occupied(line_of(board, size + file))
    at_row, at_column = I64(origins.attacker_origins[rank]), I64(origins.attacker_origins[size + file])
    if kind == 1:
        at_row, at_column = I64(origins.defender_origins[rank]), I64(origins.defender_origins[size + file])
    elif kind == 2:
        at_row, at_column = I64(origins.king_origins[rank]), I64(origins.king_origins[size + file])
    if is_wide(rules.exposed):
        row, column = open_way(row, file), open_way(column, rank)
        return cross_of(I64(origins.origins[at_row + file]) & row, I64(origins.origins[at_column + rank]) & column)
    return cross_of(
        I64(origins.origins[at_row + (file << size) + row]), I64(origins.origins[at_column + (rank << size) + column])
    )


@inlined
def would_capture(rules: Tables, board: BoardArray, side: int, cell: int, king: int) -> bool:
    """Return whether a piece on a cell would capture something, the king included, if it had just arrived there."""
    return captures_at(rules, board, side, cell, king) != 0 or (side == 1 and king_falls_to(rules, board, king, cell))


@inlined
def arrivals(rules: Tables, origins: OriginTables, board: BoardArray, side: int, cell: int, king: int) -> int:
    """Return the places that a piece of ``side`` could have come from in the last ply, as a cross.

    The cross is empty if the piece's arrival would have captured something that is still on the board.
    """
    kind = I64(0) if side == 1 else (I64(2) if cell == king else I64(1))
    starts = line_origins(rules, origins, board, cell, kind)
    return starts if starts != 0 and not would_capture(rules, board, side, cell, king) else I64(0)


@inlined
def open_sides(rules: Tables, origins: OriginTables, board: BoardArray, side: int, cell: int) -> int:
    """Return the directions in which a cell has an empty neighbour where an enemy of ``side`` could have stood."""
    size = rules.size
    cells = origins.defender_cells if side == 1 else origins.attacker_cells
    rank, file = coordinates(rules, cell)
    row = I64(cells[rank]) & ~occupied(line_of(board, rank))
    column = I64(cells[size + file]) & ~occupied(line_of(board, size + file))
    return (((row << 1) >> file) & 5) | ((((column << 1) >> rank) & 5) << 1)


@inlined
def _restorable(rules: Tables, origins: OriginTables, board: BoardArray, side: int, cell: int, king: int) -> int:
    """Return the directions in which a piece of ``side`` could have captured soldiers when it arrived on its cell."""
    sides, shift = open_sides(rules, origins, board, side, cell), shift_of(board, side ^ 1)
    if sides == 0:
        return 0
    # Victims can be placed on all open sides at the same time, because none affects whether another is captured between
    # two pieces. A victim on the edge may belong to a row that a shieldwall captures. `captures_at` then records the
    # victim in the row, not among the neighbours, and ``& sides`` removes it intentionally, because `add_wall_unmoves`
    # restores the rows.
    _toggle_sides(rules, board, cell, sides, shift)
    found = captures_at(rules, board, side, cell, king) & sides
    _toggle_sides(rules, board, cell, sides, shift)
    return found


@inlined
def _toggle_sides(rules: Tables, board: BoardArray, cell: int, directions: int, shift: int) -> None:
    """Add or remove soldiers on neighbours of a cell."""
    while directions:
        direction = directions & -directions
        directions ^= direction
        toggle(rules, board, neighbour(rules, cell, direction), shift)


@inlined
def add_unmoves(records: NDArray[np.int64], count: int, move: int, restored: int, most: int) -> int:
    """Write one un-move of a slide for every subset of at most ``most`` captures, and return the new total."""
    choice = restored
    while True:
        if popcount(choice) <= most:
            records[count] = undo_of(move, choice)
            count += 1
        if choice == 0:
            return count
        choice = (choice - 1) & restored


@apart
def add_wall_unmoves(
    rules: Tables,
    origins: OriginTables,
    board: BoardArray,
    arrived: tuple[int, int],
    records: NDArray[np.int64],
    count: int,
    undo: int,
    most: int,
) -> int:
    """Write the un-moves of a slide that capture at least one row on the edge, and return the new total.

    ``arrived`` contains the moved piece's cell and the direction from which it came, and ``undo`` the move and the
    neighbouring soldiers that it may also have captured.
    """
    if not is_far(rules.distant):
        return count
    (cell, way), side, king = arrived, side_of(rules, board) ^ 1, king_of(rules, board)
    cells = origins.defender_cells if side == 1 else origins.attacker_cells
    rows = restorable_rows(rules.distant, board, side, cell, cells)
    there = (I64(rows[0] != 0) | I64(rows[1] != 0) << 1 | I64(rows[2] != 0) << 2 | I64(rows[3] != 0) << 3) & ~way
    restored, shift = undo_captured(undo), shift_of(board, side ^ 1)
    chosen = there
    while chosen != 0:
        row = (rows[0] * (chosen & 1)) | (rows[1] * ((chosen >> 1) & 1))
        row |= (rows[2] * ((chosen >> 2) & 1)) | (rows[3] * ((chosen >> 3) & 1))
        near = restored & ~chosen
        choice = near
        while True:
            lost = row | choice
            if popcount(lost) <= most:
                toggle_captured(rules, board, cell, lost, shift)
                if captures_at(rules, board, side, cell, king) == lost:
                    records[count] = undo_of(undo, lost)
                    count += 1
                toggle_captured(rules, board, cell, lost, shift)
            if choice == 0:
                break
            choice = (choice - 1) & near
        chosen = (chosen - 1) & there
    return count


@inlined
def _decided_by_last_ply(rules: Tables, board: BoardArray, side: int, king: int) -> bool:
    """Return whether a position has no predecessor because any last ply by ``side`` would have ended the game."""
    stuck = rules.either_after_ply != 0 and not (can_move(rules, board, 0) and can_move(rules, board, 1))
    return stuck or wins_afar(rules, board, side, king)


@inlined
def unmoves(rules: Tables, origins: OriginTables, board: BoardArray, records: NDArray[np.int64]) -> int:
    """Write the un-moves of the side that moved last and return their number.

    ``records`` must have space for `most_unmoves` entries. Nothing is written if every possible last ply would have
    decided the game.
    """
    side, king = side_of(rules, board) ^ 1, king_of(rules, board)
    if _decided_by_last_ply(rules, board, side, king):
        return I64(0)
    missing = (origins.defenders if side == 1 else origins.attackers) - count_of(rules, board, side ^ 1)
    count = I64(0)
    for rank in range(rules.size):
        own = own_pieces(line_of(board, rank), side)
        while own:
            file = trailing_zeros(own)
            own &= own - 1
            cell = rank * rules.size + file
            starts = arrivals(rules, origins, board, side, cell, king)
            if starts == 0:
                continue
            restored = _restorable(rules, origins, board, side, cell, king) if missing > 0 else I64(0)
            while starts:
                place = trailing_zeros(starts)
                starts &= starts - 1
                move = move_of(rules, cell_on_cross(rules, (rank, file), place), cell)
                # A captured soldier could not have stood on the path.
                way = direction_on_cross((rank, file), place)
                sides = restored & ~way
                count = add_unmoves(records, count, move, sides, missing)
                if has_shieldwalls(rules.distant) and missing > 0:
                    undo = undo_of(move, sides)
                    count = add_wall_unmoves(rules, origins, board, (cell, way), records, count, undo, missing)
    return count


@inlined
def has_unmove(rules: Tables, origins: OriginTables, board: BoardArray) -> bool:
    """Return whether a position has any un-move."""
    side, king = side_of(rules, board) ^ 1, king_of(rules, board)
    if _decided_by_last_ply(rules, board, side, king):
        return False
    for rank in range(rules.size):
        own = own_pieces(line_of(board, rank), side)
        while own:
            cell = rank * rules.size + trailing_zeros(own)
            own &= own - 1
            if arrivals(rules, origins, board, side, cell, king) != 0:
                return True
    return False


@kernel
def _retract(
    tables: Tables,
    origin_tables: OriginTables,
    words: NDArray[np.uint64],
    predecessors: NDArray[np.uint64],
    sources: NDArray[np.int64],
    records: NDArray[np.int64],
    most: int,
) -> int:
    """Write the predecessors of positions and return their number. If ``sources`` is empty, only count them."""
    rules, origins = flat(tables), flat(origin_tables)
    width = rules.words
    scratch = np.empty(board_items(rules.size), dtype=tables.exposed.dtype)
    scratch_records = np.empty(most, np.int64)
    board, found = pointer(scratch), pointer(scratch_records)
    total = 0
    for index in range(len(words)):
        unpack(rules, advance(pointer(words), index * width), board)
        count = unmoves(rules, origins, board, found)
        if len(sources) != 0:
            for number in range(count):
                record = I64(found[number])
                unmake(rules, board, record)
                pack(rules, board, advance(pointer(predecessors), (total + number) * width))
                make(rules, board, undo_of(record, 0))
                sources[total + number] = index
                records[total + number] = record
        total += count
    keep(scratch)
    keep(scratch_records)
    return total


class Retractions(NamedTuple):
    """Predecessors of an array of positions.

    - ``words``: The predecessors, grouped by the given position that they lead to.
    - ``sources``: Index of the given position that each predecessor leads to, in ascending order.
    - ``records``: The un-moves, as undo records.
    """

    words: NDArray[np.uint64]
    sources: NDArray[np.int64]
    records: NDArray[np.int64]


def predecessors(variant: Variant, words: NDArray[np.uint64]) -> Retractions:
    """Return all predecessors of counted, undecided positions."""
    tables, origins = build_tables(variant), build_origins(variant)
    none, most = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)), most_unmoves(tables)
    words = np.ascontiguousarray(words)
    total = int(_retract(tables, origins, words, np.empty((0, tables.words), dtype=np.uint64), *none, most))
    found = Retractions(
        np.empty((total, tables.words), dtype=np.uint64), np.empty(total, np.int64), np.empty(total, np.int64)
    )
    if total:
        _retract(tables, origins, words, *found, most)
    return found
