"""Packing of positions into words, unpacking, and expansion of whole arrays of positions.

A packed position is one big integer, cut into W words of 64 bits, the least significant word first. On a board of C =
N² cells, the lowest C bits stand for the attackers, and the next C bits for the defenders. The king's cell number
follows, in as few bits as possible. The highest bit is set if black is to move. A 9×9 board takes three words. The
packing is exact: distinct positions have distinct words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import count_moves, generate, make, toggle, unmake
from tablut.engine.layout import (
    BoardArray,
    board_items,
    captured_cell,
    is_wide,
    king_of,
    line_of,
    own_pieces,
    put_count,
    put_king,
    put_side,
    shift_of,
    side_of,
    start_of,
    target_of,
    undo_captured,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.variants import Variant


@inlined
def field(words: NDArray[np.uint64], start: int, length: int) -> int:
    """Return ``length`` bits from a packed position, starting at bit ``start``, as a number."""
    word, shift = start >> 6, start & 63
    value = words[word] >> U64(shift)
    if shift + length > 64:
        value |= words[word + 1] << U64(64 - shift)
    return I64(value & U64((1 << length) - 1))


@inlined
def board_bits(words: NDArray[np.uint64], length: int, start: int, cells: int) -> tuple[np.uint64, np.uint64]:
    """Return ``cells`` bits from a position, starting at bit ``start``, as two words: the low 64 bits and the rest."""
    word, shift = start >> 6, start & 63
    low, high = words[word], U64(0)
    if word + 1 < length:
        high = words[word + 1]
    if shift != 0:
        low = (low >> U64(shift)) | (high << U64(64 - shift))
        high >>= U64(shift)
        if word + 2 < length:
            high |= words[word + 2] << U64(64 - shift)
    if cells < 64:
        return low & ((U64(1) << U64(cells)) - U64(1)), U64(0)
    return low, high & ((U64(1) << U64(cells - 64)) - U64(1))


@inlined
def next_row(low: np.uint64, high: np.uint64, size: int) -> tuple[np.uint64, np.uint64]:
    """Remove the lowest row of a board that is given as a mask, and move the other rows down by one."""
    return (low >> U64(size)) | (high << U64(64 - size)), high >> U64(size)


@inlined
def _add_field(words: NDArray[np.uint64], start: int, length: int, value: int) -> None:
    """Write ``length`` bits (at most 31) of a position, starting at bit ``start``.

    The bits must be clear before the call.
    """
    word, shift = start >> 6, start & 63
    words[word] |= U64(value) << U64(shift)
    if shift + length > 64:
        words[word + 1] |= U64(value) >> U64(64 - shift)


@inlined
def king_width(rules: Tables) -> int:
    """Return the number of bits that a packed position uses for the king's cell."""
    width = 0
    while (1 << width) < rules.cells:
        width += 1
    return width


@inlined
def _unpack_lines(rules: Tables, words: NDArray[np.uint64], board: BoardArray) -> None:
    """Write a packed position's soldiers, and each side's number of soldiers, to a wide board."""
    size = rules.size
    for line in range(2 * size):
        board[line] = U64(0)
    for side in range(2):
        count = I64(0)
        for rank in range(size):
            row = field(words, (1 - side) * rules.cells + rank * size, size)
            count += popcount(row)
            while row:
                toggle(rules, board, rank * size + trailing_zeros(row), shift_of(board, side))
                row &= row - 1
        put_count(rules, board, side, count)


@inlined
def unpack(rules: Tables, words: NDArray[np.uint64], board: BoardArray) -> None:
    """Unpack one position into a board, in O(N) time."""
    size, cells = rules.size, rules.cells
    width = king_width(rules)
    king = field(words, 2 * cells, width)
    if is_wide(rules.exposed):
        _unpack_lines(rules, words, board)
        put_king(rules, board, king)
        put_side(rules, board, field(words, 2 * cells + width, 1))
        toggle(rules, board, king, shift_of(board, I64(0)))
        return
    black_low, black_high = board_bits(words, rules.words, 0, cells)
    white_low, white_high = board_bits(words, rules.words, cells, cells)
    attackers = popcount(black_low) + popcount(black_high)
    defenders = popcount(white_low) + popcount(white_high)
    bit = U64(1) << U64(king & 63)
    if king < 64:
        white_low |= bit
    else:
        white_high |= bit
    bottom = U64((1 << size) - 1)
    for rank in range(size):
        board[rank] = np.uint32(I64(black_low & bottom) | (I64(white_low & bottom) << 16))
        black_low, black_high = next_row(black_low, black_high, size)
        white_low, white_high = next_row(white_low, white_high, size)
    transpose_rows(board, size, advance(board, size))
    put_king(rules, board, king)
    put_side(rules, board, field(words, 2 * cells + width, 1))
    put_count(rules, board, 1, attackers)
    put_count(rules, board, 0, defenders)


@inlined
def pack(rules: Tables, board: BoardArray, words: NDArray[np.uint64]) -> None:
    """Pack a board into the words of one position, in O(N) time."""
    size, cells = rules.size, rules.cells
    king = king_of(rules, board)
    for word in range(rules.words):
        words[word] = U64(0)
    for rank in range(size):
        white = own_pieces(line_of(board, rank), 0)
        if rank == I64(rules.rank[king]):
            white &= ~(1 << I64(rules.file[king]))
        _add_field(words, rank * size, size, own_pieces(line_of(board, rank), 1))
        _add_field(words, cells + rank * size, size, white)
    width = king_width(rules)
    _add_field(words, 2 * cells, width, king)
    _add_field(words, 2 * cells + width, 1, side_of(rules, board))


@inlined
def flip(words: NDArray[np.uint64], bit: int) -> None:
    """Flip one bit of a packed position."""
    words[bit >> 6] ^= U64(1) << U64(bit & 63)


@kernel
def unpack_all(tables: Tables, words: NDArray[np.uint64], boards: NDArray[np.uint32]) -> None:
    """Unpack an array of positions into boards."""
    rules = flat(tables)
    for index in range(len(words)):
        unpack(
            rules,
            advance(pointer(words), index * rules.words),
            advance(pointer(boards), index * board_items(rules.size)),
        )


@kernel
def pack_all(tables: Tables, boards: NDArray[np.uint32], words: NDArray[np.uint64]) -> None:
    """Pack an array of boards into words."""
    rules = flat(tables)
    for index in range(len(boards)):
        pack(
            rules,
            advance(pointer(boards), index * board_items(rules.size)),
            advance(pointer(words), index * rules.words),
        )


@kernel
def count_children(tables: Tables, words: NDArray[np.uint64], counts: NDArray[np.int64]) -> int:
    """Write the number of legal moves in each position and return their sum. No moves are generated."""
    rules = flat(tables)
    scratch = np.empty(board_items(rules.size), dtype=tables.exposed.dtype)
    board = pointer(scratch)
    total = 0
    for index in range(len(words)):
        unpack(rules, advance(pointer(words), index * rules.words), board)
        counts[index] = count_moves(rules, board, side_of(rules, board))
        total += counts[index]
    keep(scratch)
    return total


@kernel
def expand(
    tables: Tables,
    words: NDArray[np.uint64],
    children: NDArray[np.uint64],
    parents: NDArray[np.int64],
    moves: NDArray[np.int32],
    outcomes: NDArray[np.uint8],
) -> int:
    """Write all children of an array of positions and return their number."""
    rules = flat(tables)
    size, cells, width = rules.size, rules.cells, rules.words
    king_at, side_at = 2 * cells, 2 * cells + king_width(rules)
    scratch = np.empty(board_items(size), dtype=tables.exposed.dtype)
    scratch_moves = np.empty(4 * cells, dtype=np.int32)
    board, found = pointer(scratch), pointer(scratch_moves)
    total = 0
    for parent in range(len(words)):
        word = advance(pointer(words), parent * width)
        unpack(rules, word, board)
        side, king = side_of(rules, board), king_of(rules, board)
        own, enemy = (0, cells) if side == 1 else (cells, 0)
        count = generate(rules, board, found)
        for index in range(count):
            move = I64(found[index])
            start, target = start_of(rules, move), target_of(rules, move)
            undo, outcome = make(rules, board, move)
            unmake(rules, board, undo)
            child = advance(pointer(children), total * width)
            # The loop over the first four words is unrolled, because LLVM would otherwise vectorise it, which is
            # slower.
            child[0] = word[0]
            if width > 1:
                child[1] = word[1]
            if width > 2:
                child[2] = word[2]
            if width > 3:
                child[3] = word[3]
            if is_wide(rules.exposed):
                for place in range(4, width):
                    child[place] = word[place]
            flip(child, side_at)
            if side == 0 and start == king:
                # On boards of every size, all bits of the king's cell number lie in the same word.
                child[king_at >> 6] ^= U64(start ^ target) << U64(king_at & 63)
            else:
                flip(child, own + start)
                flip(child, own + target)
            captures = undo_captured(undo)
            while captures:
                flip(child, enemy + captured_cell(rules, target, captures))
                captures &= captures - 1
            parents[total] = parent
            moves[total] = np.int32(move)
            outcomes[total] = np.uint8(outcome)
            total += 1
    keep(scratch)
    keep(scratch_moves)
    return total


# ------------------------------------------------------------------------------------------
# Two vector intrinsics: one computes the eight images of a board and finds the least, the other transposes a board


# numba has no vector types, and LLVM does not vectorise these loops by itself, because it cannot prove that the
# accumulators and the table do not overlap. The intrinsics are generic LLVM code, which LLVM translates to the
# machine's vector instructions.


_WORD = ir.IntType(64)
_LANES = ir.VectorType(_WORD, 8)
_intrinsic: Any = intrinsic
_FLAGS = ir.VectorType(ir.IntType(1), 8)
_LINE = ir.IntType(32)
_LINES = ir.VectorType(_LINE, 16)


@_intrinsic  # type: ignore[untyped-decorator]
def least_images(_typing_context: Any, rows: Any, entries: Any, count: Any, candidates: Any, out: Any) -> Any:
    """Combine table entries into eight 128-bit images, and return the mask of the candidates whose image is least."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        table, numbers, length, mask, result = args

        def _lanes(base: Any, offset: Any) -> Any:
            address = builder.gep(base, [offset])
            return builder.bitcast(address, _LANES.as_pointer())

        zero = ir.Constant(_LANES, [0] * 8)
        halves = [cgutils.alloca_once_value(builder, zero) for _ in range(2)]
        with cgutils.for_range(builder, length) as loop:
            entry = builder.load(builder.gep(numbers, [loop.index]))
            offset = builder.shl(entry, _WORD(4))
            for number, half in enumerate(halves):
                part = builder.load(_lanes(table, builder.add(offset, _WORD(8 * number))), align=8)
                builder.store(builder.or_(builder.load(half), part), half)

        low, high = (builder.load(half) for half in halves)
        builder.store(low, _lanes(result, _WORD(0)), align=8)
        builder.store(high, _lanes(result, _WORD(8)), align=8)
        flags = builder.bitcast(builder.trunc(mask, ir.IntType(8)), _FLAGS)
        least = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_WORD, [_LANES]), "llvm.vector.reduce.umin.v8i64"
        )
        greatest = ir.Constant(_LANES, [(1 << 64) - 1] * 8)
        for half in (high, low):
            bound = builder.call(least, [builder.select(flags, half, greatest)])
            spread = builder.insert_element(ir.Constant(_LANES, ir.Undefined), bound, ir.IntType(32)(0))
            spread = builder.shuffle_vector(spread, spread, ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8))
            flags = builder.and_(flags, builder.icmp_unsigned("==", half, spread))
        return builder.zext(builder.bitcast(flags, ir.IntType(8)), _WORD)

    if count != types.int64 or candidates != types.int64:
        return None
    return types.int64(rows, entries, count, candidates, out), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def transpose_rows(_typing_context: Any, rows: Any, size: Any, out: Any) -> Any:
    """Write a board's columns, given its rows."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        if rows.dtype != types.uint32:  # wide boards are not unpacked in this way
            return _WORD(0)
        source, count, target = args
        half, zero = ir.IntType(16), ir.Constant(_LINES, [0] * 16)
        columns = cgutils.alloca_once_value(builder, zero)
        with cgutils.for_range(builder, count) as loop:
            row = builder.load(builder.gep(source, [loop.index]))
            found = builder.load(columns)
            for shift in (0, 16):
                content = builder.trunc(builder.lshr(row, _LINE(shift)), half)
                present = builder.bitcast(content, ir.VectorType(ir.IntType(1), 16))
                place = builder.shl(_LINE(1 << shift), builder.trunc(loop.index, _LINE))
                spread = builder.insert_element(ir.Constant(_LINES, ir.Undefined), place, _LINE(0))
                spread = builder.shuffle_vector(spread, spread, ir.Constant(ir.VectorType(_LINE, 16), [0] * 16))
                found = builder.or_(found, builder.select(present, spread, zero))
            builder.store(found, columns)
        # Storing the whole vector would write beyond the N columns, and indexing it would move it out of its register.
        copy = cgutils.alloca_once(builder, _LINES)
        builder.store(builder.load(columns), copy)
        lanes = builder.bitcast(copy, _LINE.as_pointer())
        with cgutils.for_range(builder, count) as loop:
            builder.store(builder.load(builder.gep(lanes, [loop.index])), builder.gep(target, [loop.index]))
        return _WORD(0)

    if size != types.int64:
        return None
    return types.int64(rows, size, out), codegen


# ------------------------------------------------------------------------------------------
# Reading packed positions without compiled code: only the numbers of soldiers, or a single position


def soldier_counts(words: NDArray[np.uint64], cells: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the attacker and defender counts of packed positions, without using compiled code."""
    found = []
    for start in (0, cells):
        mask = ((1 << cells) - 1) << start
        count = np.zeros(len(words), dtype=np.int64)
        for number in range(words.shape[1]):
            part = (mask >> (64 * number)) & 0xFFFF_FFFF_FFFF_FFFF
            if part:
                count += np.bitwise_count(words[:, number] & np.uint64(part))
        found.append(count)
    return found[0], found[1]


def cells_of(word: NDArray[np.uint64], cells: int) -> tuple[str, str] | None:
    """Return a packed position's cell letters and side to move, or None if the words are not a valid packing."""
    bits = int.from_bytes(word.astype("<u8").tobytes(), "little")
    width = (cells - 1).bit_length()
    king = (bits >> (2 * cells)) & ((1 << width) - 1)
    letters = ["."] * cells
    if king >= cells:
        return None
    letters[king] = "K"
    for letter, start in (("b", 0), ("w", cells)):
        left = (bits >> start) & ((1 << cells) - 1)
        while left:
            cell = (left & -left).bit_length() - 1
            left &= left - 1
            if letters[cell] != ".":
                return None
            letters[cell] = letter
    return "".join(letters), "b" if (bits >> (2 * cells + width)) & 1 else "w"


# -- pieces of packed positions as arrays of booleans, without compiled code -----------------


class Pieces(NamedTuple):
    """Pieces of n packed positions on boards of C cells.

    - ``black``, ``white``: Cells of the attackers and of the defenders, as bool of shape (n, C).
    - ``king``, ``black_moves``: Cell of the king, as int64 of shape (n,), and whether black is to move.
    - ``possible``: Whether no two pieces share a cell, and each stands where the rules allow it. The king's cell of
      other words is 0.
    """

    black: NDArray[np.bool_]
    white: NDArray[np.bool_]
    king: NDArray[np.int64]
    black_moves: NDArray[np.bool_]
    possible: NDArray[np.bool_]


def pieces_of(variant: Variant, words: NDArray[np.uint64]) -> Pieces:
    """Return the pieces of packed positions, which may be arbitrary numbers."""
    regions, cells, every = variant.regions, variant.size**2, np.arange(len(words))
    width = (cells - 1).bit_length()
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
    black, white, rest = bits[:, :cells], bits[:, cells : 2 * cells], bits[:, 2 * cells :]
    king = rest[:, :width] @ (1 << np.arange(width))
    possible = (king < cells) & ~rest[:, width + 1 :].any(axis=1) & ~(black & white).any(axis=1)
    king = np.where(possible, king, 0)
    barred, camps = np.zeros((2, cells), dtype=np.bool_)
    barred[[*regions.castles, *regions.royal_corners]] = True
    camps[[*regions.camp_terrain]] = True
    soldiers = black | white
    possible &= ~soldiers[every, king] & ~camps[king] & ~(soldiers & barred | white & camps).any(axis=1)
    return Pieces(black, white, king, rest[:, width], possible)
