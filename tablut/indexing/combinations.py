"""Compiled ranking of combinations in the combinatorial number system, for lists of places and for sets of cells.

`tablut.indexing.placements.rank_combination` and `unrank_combination` are the plain Python versions. Lists of places
are in ascending order. The functions for lists read the binomial coefficient C(n, k) from a table at index ``n * most +
k``. The functions for sets read the coefficient at index ``k * stride + n``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.cells import Cells, bit_of, count_cells, first_of, is_empty, join, meet, shifted_up, without
from tablut.engine.jit import I64, U64, inlined, popcount, trailing_zeros

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@inlined
def sort_in(values: NDArray[np.int64], count: int, value: int) -> None:
    """Insert a value into an ascending list of ``count`` values. This takes O(count) time."""
    at = count
    while at > 0 and values[at - 1] > value:
        values[at] = values[at - 1]
        at -= 1
    values[at] = value


@inlined
def rank_places(binomial: NDArray[np.int64], most: int, places: NDArray[np.int64], count: int) -> int:
    """Return the rank of a combination given as ascending places. This takes O(count) time."""
    total = I64(0)
    for k in range(count):
        total += binomial[places[k] * most + k + 1]
    return int(total)


@inlined
def unrank_places(
    binomial: NDArray[np.int64], most: int, rank: int, count: int, above: int, places: NDArray[np.int64]
) -> None:
    """Write the combination with a given rank as ascending places below ``above``. This takes O(above) time."""
    place = I64(above)
    for k in range(count, 0, -1):
        place -= 1
        while binomial[place * most + k] > rank:
            place -= 1
        rank -= binomial[place * most + k]
        places[k - 1] = place


@inlined
def next_places(places: NDArray[np.int64], first: int, count: int) -> None:
    """Replace a combination with the next one, without changing the places before index ``first``.

    The first place at or after index ``first`` that can move up moves up by one. The places between index ``first`` and
    this place return to their lowest positions. After the last combination, the result is not a valid combination.
    """
    k = I64(first)
    while k + 1 < count and places[k] + 1 == places[k + 1]:
        places[k] = k
        k += 1
    if k < count:
        places[k] += 1


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

    The given cells are numbered as if the gaps did not exist. The returned cells are numbered normally.
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
    """Return the set of ``count`` cells with a given rank among the cells that are not taken.

    This is the inverse of `rank_cells`.
    """
    ranked = U64(0), U64(0)
    place = cells - count_cells(taken)
    for number in range(count, 0, -1):
        place -= 1
        while place > 0 and binomial[number * stride + place] > rank:
            place -= 1
        rank -= binomial[number * stride + place]
        ranked = join(ranked, bit_of(place))
    return spread(ranked, taken)
