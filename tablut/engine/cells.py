"""Sets of cells for kernels. A set is a pair of 64-bit words: one for the cells below 64 and one for the rest.

This suffices for all boards except the wide boards (`tablut.engine.layout`). All functions are inlined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablut.engine.jit import I64, U64, inlined, popcount, trailing_zeros

Cells = tuple[Any, Any]
"""A set of cells."""


@inlined
def bit_of(cell: int) -> Cells:
    """Return the set that contains a single cell."""
    bit = U64(1) << U64(cell & 63)
    return (bit if cell < 64 else U64(0)), (bit if cell >= 64 else U64(0))


@inlined
def meet(one: Cells, other: Cells) -> Cells:
    """Return the intersection of two sets."""
    return one[0] & other[0], one[1] & other[1]


@inlined
def join(one: Cells, other: Cells) -> Cells:
    """Return the union of two sets."""
    return one[0] | other[0], one[1] | other[1]


@inlined
def without(one: Cells, other: Cells) -> Cells:
    """Return the cells of one set that are not in the other."""
    return one[0] & ~other[0], one[1] & ~other[1]


@inlined
def is_empty(cells: Cells) -> bool:
    """Return whether a set is empty."""
    return bool((cells[0] | cells[1]) == U64(0))


@inlined
def are_equal(one: Cells, other: Cells) -> bool:
    """Return whether two sets contain the same cells."""
    return bool(one[0] == other[0] and one[1] == other[1])


@inlined
def has_cell(cells: Cells, cell: int) -> bool:
    """Return whether a cell is in a set."""
    return bool(((cells[0] if cell < 64 else cells[1]) >> U64(cell & 63)) & U64(1) != U64(0))


@inlined
def count_cells(cells: Cells) -> int:
    """Return the number of cells in a set."""
    return popcount(cells[0]) + popcount(cells[1])


@inlined
def first_of(cells: Cells) -> int:
    """Return the first cell of a non-empty set."""
    return trailing_zeros(cells[0]) if cells[0] != U64(0) else 64 + trailing_zeros(cells[1])


@inlined
def set_at(sets: NDArray[np.uint64], number: int) -> Cells:
    """Return one set from an array with two words for each set."""
    return sets[2 * number], sets[2 * number + 1]


@inlined
def shifted_up(cells: Cells, count: int) -> Cells:
    """Return a set with ``count`` (1 to 63) added to each cell number. Cells may then lie beyond the board."""
    return cells[0] << U64(count), (cells[1] << U64(count)) | (cells[0] >> U64(64 - count))


@inlined
def shifted_down(cells: Cells, count: int) -> Cells:
    """Return a set with ``count`` (1 to 63) subtracted from each cell number. Cells below 0 are dropped."""
    return (cells[0] >> U64(count)) | (cells[1] << U64(64 - count)), cells[1] >> U64(count)


# -- sets as combinations in the combinatorial number system ----------------------------------


# The binomial coefficient C(n, k) is read from a table at index ``k * stride + n``.


@inlined
def rank_cells(binomial: NDArray[np.uint64], stride: int, cells: Cells, taken: Cells) -> tuple[np.uint64, int]:
    """Return the rank of a set of cells among the cells that are not taken, and the number of cells in the set."""
    rank, count = U64(0), I64(0)
    bits = cells[0]
    while bits != U64(0):
        place = trailing_zeros(bits)
        place -= popcount(taken[0] & ((bits & (~bits + U64(1))) - U64(1)))
        bits &= bits - U64(1)
        count += 1
        rank += binomial[count * stride + place]
    bits, first = cells[1], 64 - popcount(taken[0])
    while bits != U64(0):
        place = first + trailing_zeros(bits)
        place -= popcount(taken[1] & ((bits & (~bits + U64(1))) - U64(1)))
        bits &= bits - U64(1)
        count += 1
        rank += binomial[count * stride + place]
    return rank, count


@inlined
def spread(cells: Cells, gaps: Cells) -> Cells:
    """Shift the cells of a set upwards past some gaps.

    The given cells are numbered as if the gaps did not exist. The returned cells use the standard numbering.
    """
    while not is_empty(gaps):
        gap = first_of(gaps)
        gaps = without(gaps, bit_of(gap))
        mask = (U64(1) << U64(gap & 63)) - U64(1)
        before = (mask if gap < 64 else ~U64(0)), (mask if gap >= 64 else U64(0))
        cells = join(meet(cells, before), shifted_up(without(cells, before), 1))
    return cells


@inlined
def unrank_cells(
    binomial: NDArray[np.uint64], stride: int, cells: int, taken: Cells, count: int, rank: np.uint64
) -> Cells:
    """Return the set of ``count`` cells with a given rank among the cells that are not taken."""
    ranked = U64(0), U64(0)
    place = cells - count_cells(taken)
    for number in range(count, 0, -1):
        place -= 1
        while place > 0 and binomial[number * stride + place] > rank:
            place -= 1
        rank -= binomial[number * stride + place]
        ranked = join(ranked, bit_of(place))
    return spread(ranked, taken)
