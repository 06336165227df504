"""Values of whole tiers in memory, and how kernels find one: by material, entry and side to move.

A value is kept as a code, an unsigned integer of one byte or of two, whatever the widest
code of an array needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.jit import I64, inlined, items_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.indexing.tier_kernels import TierTables

__all__ = ["ADDRESS", "WIDE", "TierValues", "code_at", "tier_at"]

ADDRESS, WIDE = 0, 1
"""For each tier and side to move, where its codes lie (0: not in memory), and whether they take two bytes."""


class TierValues(NamedTuple):
    """Values of T tiers.

    Attributes
    ----------
    tiers : TierTables
        Their index.
    places : ndarray of int64, shape (4T,)
        At ``2 * (2 * tier + side) +`` `ADDRESS` or `WIDE`, side 1 being black's to move.
    values : ndarray of int16
        The value of each code, see `tablut.prober.verdict_of`.
    arrays : tuple of ndarray
        What lies at the addresses, here so that it lives as long.
    """

    tiers: TierTables
    places: NDArray[np.int64]
    values: NDArray[np.int16]
    arrays: tuple[NDArray[np.unsignedinteger], ...]


@inlined
def tier_at(x: TierTables, rows: int, attackers: int, defenders: int) -> int:
    """Return the number of a material's tier, or -1; ``rows`` are those of the tables of numbers."""
    if attackers >= rows or defenders > x.most_defenders:
        return I64(-1)
    return I64(x.tier[attackers * (x.most_defenders + 1) + defenders])


@inlined
def code_at(places: NDArray[np.int64], array: int, entry: int) -> int:
    """Return a code; ``array`` is twice the tier's number plus the side to move, and in memory."""
    address = places[2 * array + ADDRESS]
    if places[2 * array + WIDE] != 0:
        return I64(items_at(address, np.uint16)[entry])
    return I64(items_at(address, np.uint8)[entry])
