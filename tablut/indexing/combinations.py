"""Combinations in compiled code: ascending lists of numbers, and their ranks by sums of binomials.

The plain twins are `tablut.indexing.placements.rank_combination` and `unrank_combination`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.jit import I64, inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["combination_rank", "sort_in", "unrank_places"]


@inlined
def sort_in(values: NDArray[np.int64], count: int, value: int) -> None:
    """Put one more value into ascending ones; O(count).

    Parameters
    ----------
    values : pointer to int64
        The values, with room for one more.
    count : int
        How many there are.
    value : int
        The one to put in.
    """
    at = count
    while at > 0 and values[at - 1] > value:
        values[at] = values[at - 1]
        at -= 1
    values[at] = value


@inlined
def combination_rank(binomial: NDArray[np.int64], most: int, places: NDArray[np.int64], count: int) -> int:
    """Return the rank of ascending places; O(count).

    Parameters
    ----------
    binomial : pointer to int64
        At ``n * most + k`` the number of k-combinations of n.
    most : int
        See ``binomial``.
    places : pointer to int64
        The places, ascending.
    count : int
        How many there are.

    Returns
    -------
    int
        The rank in the combinatorial number system.
    """
    total = I64(0)
    for k in range(count):
        total += binomial[places[k] * most + k + 1]
    return total


@inlined
def unrank_places(
    binomial: NDArray[np.int64], most: int, rank: int, count: int, above: int, places: NDArray[np.int64]
) -> None:
    """Write the ascending places of the combination of a rank; O(above).

    Parameters
    ----------
    binomial : pointer to int64
        As for `combination_rank`.
    most : int
        Likewise.
    rank : int
        The rank.
    count : int
        How many places.
    above : int
        All places are below it.
    places : pointer to int64
        Receives the places.
    """
    place = I64(above)
    for k in range(count, 0, -1):
        place -= 1
        while binomial[place * most + k] > rank:
            place -= 1
        rank -= binomial[place * most + k]
        places[k - 1] = place
