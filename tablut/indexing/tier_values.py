"""Values of whole tiers in memory, and how kernels find one: by tier, side to move and entry.

A value is kept as a code, an unsigned integer of one byte or of two, whatever the widest
code of an array needs. What a code says is in `tablut.indexing.values`, of which kernels
have the functions from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.jit import I64, inlined, items_at
from tablut.indexing import values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.indexing.tier_tables import TierTables

__all__ = [
    "ADDRESS",
    "WIDE",
    "TierValues",
    "code_at",
    "code_of",
    "is_decided",
    "is_loss",
    "lost_in",
    "plies_of",
    "won_in",
]

ADDRESS, WIDE = 0, 1
"""For each tier and side to move, where its codes lie (0: not in memory), and whether they take two bytes."""

code_of = inlined(values.code_of)
is_decided = inlined(values.is_decided)
is_loss = inlined(values.is_loss)
lost_in = inlined(values.lost_in)
plies_of = inlined(values.plies_of)
won_in = inlined(values.won_in)


class TierValues(NamedTuple):
    """Values of T tiers.

    Attributes
    ----------
    tiers : TierTables
        Their index.
    places : ndarray of int64, shape (4T,)
        At ``2 * (2 * tier + side) +`` `ADDRESS` or `WIDE`, side 1 being black's to move.
    values : ndarray of int16
        The value of each code, see `tablut.indexing.values`.
    arrays : tuple of ndarray
        What lies at the addresses, here so that it lives as long.
    """

    tiers: TierTables
    places: NDArray[np.int64]
    values: NDArray[np.int16]
    arrays: tuple[NDArray[np.unsignedinteger], ...]


@inlined
def code_at(places: NDArray[np.int64], array: int, entry: int) -> int:
    """Return a code; O(1).

    Parameters
    ----------
    places : pointer to int64
        As `TierValues` has them.
    array : int
        Twice the tier's number plus the side to move; in memory.
    entry : int
        The entry.

    Returns
    -------
    int
        The code.
    """
    address = places[2 * array + ADDRESS]
    if places[2 * array + WIDE] != 0:
        return I64(items_at(address, np.uint16)[entry])
    return I64(items_at(address, np.uint8)[entry])
