"""Tiers unpacked in memory (or in files of a scratch folder), for kernels to read from.

They are kept as stored: an array of codes for each side to move, and the compiled index,
which takes up to ten bytes for each combination of the row soldiers with a king.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.tablebase.encoding import value_table
from retrograde.tablebase.errors import TablebaseError
from retrograde.tablebase.scratch import mapped_array
from retrograde.tablebase.stored_tier import SIDES
from tablut.indexing.tier_tables import ADDRESS, WIDE, TierTables, TierValues, tier_tables
from tablut.indexing.tiers import TierIndex
from tablut.indexing.values import ALIAS_CODE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from retrograde.tablebase.store import Store

_INDEX_BYTES = 10
"""For each king and combination of row soldiers: row, element, and as much again if each has a row of its own."""


class UnpackedTiers:
    """Codes of some tiers, ready for kernels."""

    def __init__(self, store: Store, materials: Sequence[tuple[int, int]], scratch: Path | None = None) -> None:
        self.store, self.materials, self.scratch = store, list(materials), scratch
        self.tables: TierTables = tier_tables(store.variant, self.materials)
        self.places: NDArray[np.int64] = np.zeros(4 * len(self.materials), dtype=np.int64)
        self.arrays: dict[tuple[int, int], tuple[NDArray[np.unsignedinteger], NDArray[np.unsignedinteger]]] = {}

    def number(self, material: tuple[int, int]) -> int:
        """Return the number of a tier in the tables."""
        return self.materials.index(material)

    def load(self, material: tuple[int, int]) -> None:
        """Unpack a tier, its checksums verified; nothing to do if it is there."""
        if material in self.arrays:
            return
        tier = self.store.tier(*material)
        size = int(self.tables.tier.size[self.number(material)])
        if tier.entries != size:
            # Kernels trust the ranks that the tables give.
            raise TablebaseError(
                f"tablebase folder {str(tier.folder)!r}: has {tier.entries:,} entries, the index {size:,}; "
                "build it again"
            )
        found = []
        for side in SIDES:
            dtype = np.dtype(getattr(tier.record, side).dtype)
            out = None
            if self.scratch is not None:
                out = mapped_array(self.scratch / f"{tier.record.name}-{side}.codes", tier.entries, dtype)
            found.append(tier.codes(side, out))
        for side_number, codes in enumerate(found):
            at = 2 * (2 * self.number(material) + side_number)
            self.places[at + ADDRESS] = codes.ctypes.data
            self.places[at + WIDE] = codes.dtype.itemsize == 2
        self.arrays[material] = (found[0], found[1])

    def drop(self, material: tuple[int, int]) -> None:
        """Forget a tier's codes."""
        at = 4 * self.number(material)
        self.places[at : at + 4] = 0
        self.arrays.pop(material, None)
        if self.scratch is not None:
            for side in SIDES:
                (self.scratch / f"{material[0]}v{material[1]}-{side}.codes").unlink(missing_ok=True)


def tiers_within(store: Store, memory: int) -> TierValues | None:
    """Return the values of a store's tiers as far as memory goes, those of the fewest men first; None if of no tier."""
    needs = sorted((sum(material), _bytes_of(store, material), material) for material in store.tiers())
    chosen = []
    for _, need, material in needs:
        if need <= memory:
            memory -= need
            chosen.append(material)
    if not chosen:
        return None
    unpacked = UnpackedTiers(store, chosen)
    for material in chosen:
        unpacked.load(material)
    arrays = tuple(codes for both in unpacked.arrays.values() for codes in both)
    values = value_table(ALIAS_CODE + 1, store.variant.rules.move_limit)
    return TierValues(unpacked.tables, unpacked.places, values, arrays)


def _bytes_of(store: Store, material: tuple[int, int]) -> int:
    """Return the most bytes that a tier takes in memory, its index included."""
    tier, plain = store.tier(*material), TierIndex(store.variant, *material)
    width: int = sum(np.dtype(getattr(tier.record, side).dtype).itemsize for side in SIDES)
    return width * tier.entries + _INDEX_BYTES * len(plain.kings.representatives) * plain.row_space
