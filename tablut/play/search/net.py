"""Small neural network whose score is added to the terms and patterns of the evaluation.

It has one hidden layer of `UNITS` units, like an NNUE (Nasu 2018). The input of each unit is a sum of weights. Each man
contributes a weight that depends on its cell, the king's cell contributes a further weight, and the side to move
contributes another. The sum is clipped to the range from 0 to `FULL`. The score is the weighted sum of the outputs of
the units. Every unit is applied to the board under each of the eight symmetries of the square, with the same weights,
so symmetric positions have equal scores.

All arithmetic uses integers. The sums of all units in all symmetries are the `_LANES` lanes of one vector of 16-bit
numbers, to which each man adds one row of weights. Weights are rejected if a sum could overflow. An NNUE updates its
sums incrementally. Here, the sums are computed from scratch for each position, because a board has few men, and adding
a row takes only one or two instructions.

References
----------
Y. Nasu, Efficiently updatable neural-network-based evaluation functions for computer shogi, 2018.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from symmetry import dihedral
from tablut.engine.jit import I64, inlined
from tablut.engine.layout import BoardArray, king_of, line_of, side_of
from tablut.errors import InputError
from tablut.play.search.transposition import own_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

LARGEST: Final = 9
"""Size of the largest board that a net supports."""
FULL: Final = 256
"""Largest output of a unit."""
OUTPUT_BITS: Final = 8
UNITS: Final = 8
_LANES: Final = 8 * UNITS
"""Number of sums that are computed in parallel: one for each unit and each symmetry of the square."""
_MORE: Final = 3
"""Number of rows after the rows for cells: white to move, black to move, and the output weights of the units."""
_RANKS: Final = 3
"""Number of ranks packed into one word. Each rank has `_HALF` bits for attackers and `_HALF` bits for white men."""
_HALF: Final = 10
_MEN: Final = 65
"""Number of rows for a word: one row for each of its 64 bits, and a row of zeros for an empty word."""
_ROUND: Final = 4
"""Number of rows added before each test for further men. Once the word is empty, rows of zeros are added."""
_KING_AT: Final = _MEN * _RANKS
_intrinsic: Any = intrinsic


_SUMS: Final = ir.VectorType(ir.IntType(16), _LANES)
_PRODUCTS: Final = ir.VectorType(ir.IntType(32), _LANES)


@_intrinsic  # type: ignore[untyped-decorator]
def _output(_context: Any, net: Any, _low: Any, _middle: Any, _high: Any, _king: Any, _side: Any, _weights: Any) -> Any:
    """Return the weighted sum of the outputs of the units.

    The arguments are three words that contain the men, and the numbers of the rows for the king, the side to move and
    the output weights. The function is written in LLVM instructions, because numba does not reliably vectorise a loop
    over lanes.
    """

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        rows, words, (king, side, weights) = args[0], args[1:4], args[4:]
        sums = builder.add(_row(builder, rows, king), _row(builder, rows, side))
        at = cgutils.alloca_once_value(builder, sums)
        for number, word in enumerate(words):
            _add_men(builder, rows, at, word, number * _MEN)
        return _weighted(builder, _clipped(builder, builder.load(at)), _row(builder, rows, weights))

    return types.int64(net, *[types.int64] * 6), codegen


def _row(builder: Any, rows: Any, number: Any) -> Any:
    """Load a row of a net."""
    place = builder.gep(rows, [builder.mul(number, ir.Constant(number.type, _LANES))])
    return builder.load(builder.bitcast(place, _SUMS.as_pointer()), align=2)


def _add_men(builder: Any, rows: Any, sums_at: Any, word: Any, first_row: int) -> None:
    """Add the row of each man in a word, starting with the lowest bit.

    For an empty word, ``cttz`` returns 64, which is the number of the row of zeros.
    """
    left_at = cgutils.alloca_once_value(builder, word)
    body, after = (builder.append_basic_block(name) for name in ("men", "done"))
    builder.branch(body)
    builder.position_at_end(body)
    for _ in range(_ROUND):
        men = builder.load(left_at)
        number = builder.add(builder.cttz(men, cgutils.false_bit), ir.Constant(men.type, first_row))
        builder.store(builder.add(builder.load(sums_at), _row(builder, rows, number)), sums_at)
        builder.store(builder.and_(men, builder.sub(men, ir.Constant(men.type, 1))), left_at)
    builder.cbranch(cgutils.is_not_null(builder, builder.load(left_at)), body, after)
    builder.position_at_end(after)


def _clipped(builder: Any, sums: Any) -> Any:
    """Clip each lane to the range from 0 to `FULL`."""
    least, most = (ir.Constant(_SUMS, [value] * _LANES) for value in (0, FULL))
    sums = builder.select(builder.icmp_signed("<", sums, least), least, sums)
    return builder.select(builder.icmp_signed(">", sums, most), most, sums)


def _weighted(builder: Any, units: Any, weights: Any) -> Any:
    """Multiply the lanes by their weights in 32 bits, and add them up."""
    products = builder.mul(builder.sext(units, _PRODUCTS), builder.sext(weights, _PRODUCTS))
    kind, name = ir.FunctionType(ir.IntType(32), [_PRODUCTS]), f"llvm.vector.reduce.add.v{_LANES}i32"
    add = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.sext(builder.call(add, [products]), ir.IntType(64))


@inlined
def _men(rules: Tables, board: BoardArray, rank: int) -> int:
    """Return the men on three ranks, packed into one word."""
    word = I64(0)
    for number in range(_RANKS):
        if rank + number < rules.size:
            line = I64(line_of(board, rank + number))
            word |= ((line & 0x3FF) | (line >> 16 << _HALF)) << (2 * _HALF * number)
    return word


@inlined
def net_score(rules: Tables, net: NDArray[np.int16], board: BoardArray) -> int:
    """Return the scaled score of a net from white's point of view, for a board of size 9 or less."""
    low, middle, high = _men(rules, board, I64(0)), _men(rules, board, I64(_RANKS)), _men(rules, board, I64(2 * _RANKS))
    king, more = I64(_KING_AT) + king_of(rules, board), I64(_KING_AT) + rules.cells
    return _output(net, low, middle, high, king, more + side_of(rules, board), more + 2) >> OUTPUT_BITS


def net_rows(net: NDArray[np.int16], size: int) -> NDArray[np.int16]:
    """Return the rows of a net in the form that the kernels use.

    There is one row for each kind of man on each cell, for each cell of the king and for each side to move. The output
    weights follow. Raise InputError if the net is for a board of another size, or if a sum could overflow.
    """
    cells = size * size
    if size > LARGEST or net.shape != (3 * cells + _MORE, UNITS):
        raise InputError(
            f"does not have eight units for a board of side {size}", subject="net", remedy=f"use at most side {LARGEST}"
        )
    largest = np.abs(net.astype(np.int64))
    sums = np.maximum(largest[:cells], largest[cells : 2 * cells]).sum(axis=0)
    sums += largest[2 * cells : 3 * cells].max(axis=0) + largest[3 * cells : -1].max(axis=0)
    # The weighted sum of all lanes has at most 30 bits.
    if sums.max() > np.iinfo(np.int16).max:
        raise InputError("has weights that are too large for 16-bit sums", subject="net")
    rows = own_lines((_KING_AT + cells + _MORE) * _LANES, np.int16).reshape(-1, _LANES)
    men = [_MEN * (rank // _RANKS) + 2 * _HALF * (rank % _RANKS) + file for rank in range(size) for file in range(size)]
    for number, element in enumerate(dihedral(size)):
        image, lanes = np.array(element.table), slice(number * UNITS, (number + 1) * UNITS)
        for kind, at in enumerate((np.array(men), np.array(men) + _HALF, np.arange(cells) + _KING_AT)):
            rows[at, lanes] = net[kind * cells + image]
        rows[-_MORE:, lanes] = net[-_MORE:]
    return rows
