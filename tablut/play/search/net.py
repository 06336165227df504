"""A small net beside terms and patterns: what stands where all over the board, weighed together.

Each unit adds up a weight for every man on its cell, for the king on its, and for who is to move; what
lies below 0 counts as 0, and above `FULL` as that. Every unit looks at the board in each of its
symmetries, and what it says counts the same in all of them, so that symmetric positions have
equal scores. All is in integers, of 16 bits, and weights that could overflow are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from symmetry import dihedral
from tablut.engine.jit import I64, inlined
from tablut.engine.layout import king_of, line_of, side_of
from tablut.errors import InputError
from tablut.play.search.transposition import own_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

LARGEST: Final = 9
"""The size of the largest board that a net is for."""
FULL: Final = 256
"""Where a unit says all that it can."""
OUTPUT_BITS: Final = 8
UNITS: Final = 8
_LANES: Final = 8 * UNITS
"""Sums that are added up at once: each unit's in each of the square's symmetries."""
_MORE: Final = 3
"""Rows after those of cells: white to move, black to move, and how much a unit says."""
_RANKS: Final = 3
"""Ranks whose men are one word."""
_HALF: Final = 10
_MEN: Final = 65
"""Rows for a word: one for each bit, and an empty one for none."""
_ROUND: Final = 4
"""Men that are added before it is asked whether there are more."""
_KING_AT: Final = _MEN * _RANKS
_intrinsic: Any = intrinsic


@_intrinsic  # type: ignore[untyped-decorator]
def _said(_context: Any, net: Any, _low: Any, _middle: Any, _high: Any, _king: Any, _side: Any, _say: Any) -> Any:
    """Return what the units say of the men of three words, given with the rows of the king, the side and their say."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        rows, lanes = args[0], ir.VectorType(ir.IntType(16), _LANES)
        wide = ir.VectorType(ir.IntType(32), _LANES)

        def row(number: Any) -> Any:
            place = builder.gep(rows, [builder.mul(number, ir.Constant(number.type, _LANES))])
            return builder.load(builder.bitcast(place, lanes.as_pointer()), align=2)

        hidden = cgutils.alloca_once_value(builder, builder.add(row(args[4]), row(args[5])))
        for group, word in enumerate(args[1:4]):
            left = cgutils.alloca_once_value(builder, word)
            body, after = (builder.append_basic_block(name) for name in ("men", "done"))
            builder.branch(body)
            builder.position_at_end(body)
            for _ in range(_ROUND):
                men = builder.load(left)
                man = builder.add(builder.cttz(men, cgutils.false_bit), ir.Constant(men.type, group * _MEN))
                builder.store(builder.add(builder.load(hidden), row(man)), hidden)
                builder.store(builder.and_(men, builder.sub(men, ir.Constant(men.type, 1))), left)
            builder.cbranch(cgutils.is_not_null(builder, builder.load(left)), body, after)
            builder.position_at_end(after)
        none, full = (ir.Constant(lanes, [value] * _LANES) for value in (0, FULL))
        value = builder.load(hidden)
        value = builder.select(builder.icmp_signed("<", value, none), none, value)
        value = builder.select(builder.icmp_signed(">", value, full), full, value)
        told = builder.mul(builder.sext(value, wide), builder.sext(row(args[6]), wide))
        add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.IntType(32), [wide]), f"llvm.vector.reduce.add.v{_LANES}i32"
        )
        return builder.sext(builder.call(add, [told]), ir.IntType(64))

    return types.int64(net, *[types.int64] * 6), codegen


@inlined
def _men(t: Tables, board: NDArray[np.uint32], rank: int) -> int:
    """Return the men of three ranks as one word."""
    word = I64(0)
    for number in range(_RANKS):
        if rank + number < t.size:
            line = I64(line_of(board, rank + number))
            word |= ((line & 0x3FF) | (line >> 16 << _HALF)) << (2 * _HALF * number)
    return word


@inlined
def net_score(t: Tables, net: NDArray[np.int16], board: NDArray[np.uint32]) -> int:
    """Return what a net says of a board of up to nine lines, white's, scaled."""
    king, cells = I64(_KING_AT) + king_of(t, board), I64(_KING_AT) + t.cells
    side = cells + side_of(t, board)
    return (
        _said(net, _men(t, board, I64(0)), _men(t, board, I64(3)), _men(t, board, I64(6)), king, side, cells + 2)
        >> OUTPUT_BITS
    )


def net_rows(net: NDArray[np.int16], size: int) -> NDArray[np.int16]:
    """Return a net for a board as kernels see it: the weights of all lanes by man, of the king, by side, and their say.

    Raises InputError if it is for another board, or where a sum might not fit.
    """
    cells = size * size
    if size > LARGEST or net.shape != (3 * cells + _MORE, UNITS):
        raise InputError(f"net: it is not one of eight units for a board of {size} lines; the largest has {LARGEST}")
    largest = np.abs(net.astype(np.int64))
    sums = np.maximum(largest[:cells], largest[cells : 2 * cells]).sum(axis=0)
    sums += largest[2 * cells : 3 * cells].max(axis=0) + largest[3 * cells : -1].max(axis=0)
    # What all lanes say has at most 30 bits.
    if sums.max() > np.iinfo(np.int16).max:
        raise InputError("net: too large; a sum does not fit")
    rows = own_lines((_KING_AT + cells + _MORE) * _LANES, np.int16).reshape(-1, _LANES)
    men = [_MEN * (rank // _RANKS) + 2 * _HALF * (rank % _RANKS) + file for rank in range(size) for file in range(size)]
    for number, element in enumerate(dihedral(size)):
        image, lanes = np.array(element.table), slice(number * UNITS, (number + 1) * UNITS)
        for kind, at in enumerate((np.array(men), np.array(men) + _HALF, np.arange(cells) + _KING_AT)):
            rows[at, lanes] = net[kind * cells + image]
        rows[-_MORE:, lanes] = net[-_MORE:]
    return rows
