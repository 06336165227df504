"""Numbers and sets of 128 bits in kernels, as two words, the low one first.

A word is uint64; see `tablut.engine.jit` on types.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tablut.engine.jit import I64, U64, inlined, trailing_zeros

_intrinsic: Any = intrinsic
_UniTuple: Any = types.UniTuple


@_intrinsic  # type: ignore[untyped-decorator]
def leading_zeros(_typing_context: Any, value: Any) -> Any:
    """Return the number of zeros above the highest set bit of a word, by LLVM's ``ctlz``."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], cgutils.true_bit)

    return types.int64(value), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def wide_product(_typing_context: Any, _one: Any, _other: Any) -> Any:
    """Return the 128 bits of a product, the low word first: one instruction on most processors."""
    pair: Any = _UniTuple(types.uint64, 2)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        halves = [builder.trunc(product, word), builder.trunc(builder.lshr(product, wide(64)), word)]
        return context.make_tuple(builder, pair, halves)

    return pair(types.uint64, types.uint64), codegen


@inlined
def subtract(low: Any, high: Any, other_low: Any, other_high: Any) -> tuple[Any, Any]:
    """Return a difference."""
    borrow = U64(1) if low < other_low else U64(0)
    return low - other_low, high - other_high - borrow


@inlined
def bucket_of(value: Any) -> int:
    """Return the bucket of a word: its first five bits and its length; ascending with the word."""
    shift = 59 - leading_zeros(value | U64(16))
    return shift * 16 + I64(value >> U64(shift))


@inlined
def bit_of(cell: int) -> tuple[Any, Any]:
    """Return the set of one cell."""
    bit = U64(1) << U64(cell & 63)
    return (bit if cell < 64 else U64(0)), (bit if cell >= 64 else U64(0))


@inlined
def below(cell: int) -> tuple[Any, Any]:
    """Return the set of all cells before one."""
    mask = (U64(1) << U64(cell & 63)) - U64(1)
    return (mask if cell < 64 else ~U64(0)), (mask if cell >= 64 else U64(0))


@inlined
def first_of(low: Any, high: Any) -> int:
    """Return the first cell of a set."""
    return trailing_zeros(low) if low != U64(0) else 64 + trailing_zeros(high)


@inlined
def spread(low: Any, high: Any, gaps_low: Any, gaps_high: Any) -> tuple[Any, Any]:
    """Return a set whose cells are numbered without some gaps, with all cells numbered."""
    while (gaps_low | gaps_high) != U64(0):
        gap = first_of(gaps_low, gaps_high)
        if gaps_low != U64(0):
            gaps_low &= gaps_low - U64(1)
        else:
            gaps_high &= gaps_high - U64(1)
        keep_low, keep_high = below(gap)
        moved = low & ~keep_low
        high = (high & keep_high) | ((high & ~keep_high) << U64(1)) | (moved >> U64(63))
        low = (low & keep_low) | (moved << U64(1))
    return low, high
