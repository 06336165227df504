"""Memory layout of boards, moves and undo records, and the functions that depend only on this layout.

A board with N rows is an array ``uint32[2N + 4]``. Its first 2N items are the lines: the rows and then the columns. A
*place* is a cell's index on its line. A line has its attackers in bits 0-15, and its defenders and king in bits 16-31.
The last four items are the *head*: the king's cell, the side to move (0 white, 1 black), the number of attackers, and
the number of defenders. Every piece is thus stored twice, so a slide or a capture needs only a few operations on one
line, whether it runs along a row or a column.

A move is ``start | target << 7``. An undo record is ``move | captures << 14`` with one bit for each captured soldier.
Bits 0-3 of the captures stand for the directions from the target, bits 4-22 for the places of the edge row nearest to
the target, and bits 23-41 for the places of the nearest edge column.

Boards larger than 11×11 are *wide*: they have type ``uint64[2N + 4]``, and in each line, the defenders and the king
begin at bit 32. Their moves are ``38 * start + end``, where ``end`` is the target's file if the move stays on its row,
and otherwise the target's rank plus 19. Kernels distinguish the two layouts by the lines' type.

Functions that take tables and a board are inlined into kernels. They take flat tables
(`tablut.engine.kernel_records.flat`) and a pointer to the board.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tablut.engine.jit import I64, by_type, inlined, trailing_zeros
from tablut.position import NARROW, WIDEST, cells_of_code, code_of_cells

if TYPE_CHECKING:
    from tablut.engine.tables import DistantTables, Tables

BoardArray = NDArray[np.uint32]
"""Array that represents a board. In a kernel, a board is a pointer to the first item of this array."""

KING_AT: Final = 0
SIDE_AT: Final = 1
ATTACKERS_AT: Final = 2
DEFENDERS_AT: Final = 3
"""Indices of the items in a board's head."""
_HEAD: Final = 4
_ROW_AT: Final = 4
_COLUMN_AT: Final = _ROW_AT + WIDEST
_ENDS: Final = 2 * WIDEST
_CROSS_COLUMN: Final = 32
"""Index of the first bit in a cross that belongs to the column."""
_intrinsic: Any = intrinsic


def new_board(size: int, *many: int) -> NDArray[np.uint32]:
    """Allocate a zeroed board array, or an array of such boards with the leading dimensions ``many``."""
    return np.zeros((*many, 2 * size + _HEAD), dtype=np.uint64 if size > NARROW else np.uint32)


def cells_dtype(size: int) -> type[np.unsignedinteger]:
    """Return the smallest unsigned integer type that can hold the number of cells on a board."""
    return np.uint16 if size > NARROW else np.uint8


def head(boards: NDArray[Any]) -> NDArray[Any]:
    """Return a view of the heads of boards."""
    return boards[..., -_HEAD:]


def images_of_moves(moves: NDArray[Any], table: NDArray[Any]) -> NDArray[Any]:
    """Return the images of moves under a permutation of the cells, which is given as a table."""
    size = isqrt(len(table))
    starts, targets = cells_of_code(moves, size)
    return np.asarray(code_of_cells(table[starts], table[targets], size))


def place_soldier(board: NDArray[Any], cell: int, size: int, *, white: bool) -> None:
    """Put a piece on a board without updating the head."""
    shift = white * board.itemsize * 4
    for line, place in ((cell // size, cell % size), (size + cell % size, cell // size)):
        board[line] |= board.dtype.type(1 << (place + shift))


def soldiers_of(board: NDArray[Any], size: int) -> list[int]:
    """Return the content of each cell: 0 if it is empty, 1 for an attacker, 2 for a white piece."""
    half, lines = board.itemsize * 4, board[:size].tolist()
    return [line >> file & 1 | (line >> (half + file) & 1) << 1 for line in lines for file in range(size)]


def captured_cells(undo: int, size: int) -> tuple[int, ...]:
    """Return the cells of the soldiers captured according to an undo record, in ascending order."""
    target, captures = cells_of_code(undo & 0x3FFF, size)[1], undo >> 14
    row, column = (size * (size - 1) * (2 * place > size) for place in divmod(target, size))
    cells = [target - 1, target - size, target + 1, target + size]
    cells += [row + place for place in range(WIDEST)] + [column // size + place * size for place in range(WIDEST)]
    return tuple(sorted(cell for number, cell in enumerate(cells) if captures >> number & 1))


is_wide: Final = by_type(lambda lines: getattr(lines, "dtype", lines) == types.uint64)
"""Whether lines, or the content of a line, belong to a wide board. This is decided when a kernel is compiled."""


@_intrinsic  # type: ignore[untyped-decorator]
def _content(_typing_context: Any, line: Any) -> Any:
    """Convert a line to int64. A wide board's line stays uint64, so that `is_wide` can recognise it by its type."""
    result = line if line == types.uint64 else types.int64

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.cast(builder, args[0], line, result)

    return result(line), codegen


@inlined
def half_of(lines: Any) -> int:
    """Return the index of the first bit for white pieces in a line."""
    return I64(32) if is_wide(lines) else I64(16)


@inlined
def shift_of(lines: Any, side: int) -> int:
    """Return the index of the first bit for a side's pieces in a line."""
    half = half_of(lines)
    return half - side * half


@inlined
def board_items(size: int) -> int:
    """Return the length of a board array."""
    return 2 * size + 4


@inlined
def king_of(rules: Tables | DistantTables, board: BoardArray) -> int:
    """Return the king's cell."""
    return I64(board[2 * rules.size])


@inlined
def put_king(rules: Tables, board: BoardArray, cell: int) -> None:
    """Set the king's cell in a board's head without changing its lines."""
    board[2 * rules.size] = np.uint32(cell)


@inlined
def side_of(rules: Tables, board: BoardArray) -> int:
    """Return the side to move: 0 white, 1 black."""
    return I64(board[2 * rules.size + 1])


@inlined
def put_side(rules: Tables, board: BoardArray, side: int) -> None:
    """Set the side to move in a board's head."""
    board[2 * rules.size + 1] = np.uint32(side)


@inlined
def count_of(rules: Tables | DistantTables, board: BoardArray, side: int) -> int:
    """Return the number of a side's soldiers: attackers if ``side`` is 1, defenders if it is 0."""
    return I64(board[2 * rules.size + 3 - side])


@inlined
def put_count(rules: Tables, board: BoardArray, side: int, count: int) -> None:
    """Set the number of a side's soldiers in a board's head."""
    board[2 * rules.size + 3 - side] = np.uint32(count)


@inlined
def coordinates(rules: Tables | DistantTables, cell: int) -> tuple[int, int]:
    """Return the rank and file of a cell."""
    return I64(rules.rank[cell]), I64(rules.file[cell])


@inlined
def line_of(board: BoardArray, line: int) -> int:
    """Return a line's content, in the form that `own_pieces` and `occupied` expect."""
    return _content(board[line])


@inlined
def occupied(content: int) -> int:
    """Return the occupied places of a line, given its content."""
    half, pieces = half_of(content), I64(content)
    return (pieces | (pieces >> half)) & ((1 << half) - 1)


@inlined
def own_pieces(content: int, side: int) -> int:
    """Return the places of a side's pieces on a line, given the line's content. The king counts as a white piece."""
    return (I64(content) >> shift_of(content, side)) & ((1 << half_of(content)) - 1)


@inlined
def is_occupied(rules: Tables, board: BoardArray, cell: int) -> bool:
    """Return whether any piece stands on a cell."""
    return (occupied(line_of(board, I64(rules.rank[cell]))) >> I64(rules.file[cell])) & 1 != 0


# -- crosses: a cell's row and column in one mask ------------------------------------


# All slides to or from a cell run along these two lines, so a single loop over the bits of a
# cross covers all of them.


@inlined
def cross_of(row: int, column: int) -> int:
    """Combine masks of places on a cell's row and on its column into a cross."""
    return row | (column << _CROSS_COLUMN)


@inlined
def cell_on_cross(rules: Tables, centre: tuple[int, int], place: int) -> int:
    """Return the cell represented by a bit of a cross, given the coordinates of its centre."""
    rank, file = centre
    return rank * rules.size + place if place < _CROSS_COLUMN else (place - _CROSS_COLUMN) * rules.size + file


@inlined
def direction_on_cross(centre: tuple[int, int], place: int) -> int:
    """Return the direction, as a bit, from a cross's centre to the cell represented by one of its bits."""
    rank, file = centre
    if place < _CROSS_COLUMN:
        return 1 if place < file else 4
    return 2 if place - _CROSS_COLUMN < rank else 8


# -- moves and undo records ----------------------------------------------------------------


@inlined
def move_of(rules: Tables, start: int, target: int) -> int:
    """Return the code of the move from one cell to another."""
    if is_wide(rules.exposed):
        rank, file = coordinates(rules, target)
        return _ENDS * start + (file if rank == I64(rules.rank[start]) else WIDEST + rank)
    return start | (target << 7)


@inlined
def start_of(rules: Tables, move: int) -> int:
    """Return the start cell of a move or an undo record."""
    if is_wide(rules.exposed):
        return (move & 0x3FFF) // _ENDS
    return move & 127


@inlined
def target_of(rules: Tables, move: int) -> int:
    """Return the target cell of a move or an undo record."""
    if is_wide(rules.exposed):
        end = (move & 0x3FFF) % _ENDS
        rank, file = coordinates(rules, start_of(rules, move))
        return rank * rules.size + end if end < WIDEST else (end - WIDEST) * rules.size + file
    return (move >> 7) & 127


@inlined
def undo_of(move: int, captures: int) -> int:
    """Combine a move and its captures into an undo record."""
    return (move & 0x3FFF) | (captures << 14)


@inlined
def undo_captured(undo: int) -> int:
    """Return the captures in an undo record, one bit for each soldier, or 0 if there are none."""
    return undo >> 14


@inlined
def captured_cell(rules: Tables, target: int, captures: int) -> int:
    """Return the cell of the soldier that the lowest bit of ``captures`` stands for, given the move's target."""
    place = trailing_zeros(captures)
    if place < 4:
        return neighbour(rules, target, 1 << place)
    rank, file = coordinates(rules, target)
    last = rules.size - 1
    if place < _COLUMN_AT:
        return place - _ROW_AT + (last * rules.size if 2 * rank > last else 0)
    return (place - _COLUMN_AT) * rules.size + (last if 2 * file > last else 0)


@inlined
def edge_captures(row: int, column: int) -> int:
    """Encode captures on the edge row and on the edge column nearest to a move's target."""
    return (row << _ROW_AT) | (column << _COLUMN_AT)


@inlined
def neighbour(rules: Tables, cell: int, direction: int) -> int:
    """Return the neighbour of a cell in a given direction. The neighbour must be on the board."""
    if direction == 1:
        return cell - 1
    if direction == 2:
        return cell - rules.size
    if direction == 4:
        return cell + 1
    return cell + rules.size
