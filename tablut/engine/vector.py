"""Two vector intrinsics: the eight images of a board and which of them are least; the columns of a board.

numba has no vector types, and LLVM does not find these vectors by itself: it cannot
know that the accumulators and the table do not overlap. The intermediate code is
generic; LLVM lowers it to whatever vectors the machine has.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["least_images", "transpose_rows"]

_WORD = ir.IntType(64)
_LANES = ir.VectorType(_WORD, 8)
_intrinsic: Any = intrinsic
_FLAGS = ir.VectorType(ir.IntType(1), 8)
_LINE = ir.IntType(32)
_LINES = ir.VectorType(_LINE, 16)


@_intrinsic  # type: ignore[untyped-decorator]
def least_images(_typing_context: Any, rows: Any, entries: Any, count: Any, candidates: Any, out: Any) -> Any:
    """Unite table entries into eight 128-bit images and return which candidates are least.

    Parameters
    ----------
    _typing_context : numba.core.typing.BaseContext
        Not used.
    rows : pointer to uint64
        The table: at ``16 * entry`` eight low words, then eight high words.
    entries : pointer to int64
        The entries to unite.
    count : int64
        How many there are.
    candidates : int64
        Bit ``i`` says that image ``i`` takes part; at least one does.
    out : pointer to uint64
        Receives the images: eight low words, then eight high words.

    Returns
    -------
    int64
        The candidates whose image is least.
    """

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
    """Write the columns of a board, whose rows are given.

    Parameters
    ----------
    _typing_context : numba.core.typing.BaseContext
        Not used.
    rows : pointer to uint32
        The N rows: attackers in the low, white pieces in the high 16 bits, a bit a file.
    size : int64
        N, at most 16.
    out : pointer to uint32
        Receives the N columns, a bit a rank.

    Returns
    -------
    int64
        Zero.
    """

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
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
        # Stored whole, the vector would go beyond the N columns; indexed itself, it would leave its register.
        copy = cgutils.alloca_once(builder, _LINES)
        builder.store(builder.load(columns), copy)
        lanes = builder.bitcast(copy, _LINE.as_pointer())
        with cgutils.for_range(builder, count) as loop:
            builder.store(builder.load(builder.gep(lanes, [loop.index])), builder.gep(target, [loop.index]))
        return _WORD(0)

    if size != types.int64:
        return None
    return types.int64(rows, size, out), codegen
