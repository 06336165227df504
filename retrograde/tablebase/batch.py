"""Values of arrays of positions: of few by plain code and single chunks, of many by kernels over unpacked tiers."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.tablebase.encoding import slices, value_table
from tablut.engine.packing import cells_of, soldier_counts
from tablut.engine.tables import build_tables
from tablut.errors import InputError
from tablut.indexing.values import ALIAS_CODE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from retrograde.tablebase.memory import UnpackedTiers
    from retrograde.tablebase.store import Store
    from retrograde.tablebase.stored_tier import SideName

_STEP: Final = 1 << 20
FEW: Final = 1 << 14
"""Positions of a tier, over all calls, that are looked up one by one: it takes as long as unpacking a tier does."""

Material = tuple[int, int]


class BatchProber:
    """Probes arrays of words.

    A tier of which few positions are asked for is read chunk by chunk; its index is made and its codes are unpacked,
    to stay, when more are.
    """

    def __init__(self, store: Store, code: Callable[[Material, str, SideName], int | None]) -> None:
        self._store, self._variant, self._code = store, store.variant, code
        self._tables = build_tables(store.variant)
        self._unpacked: dict[Material, UnpackedTiers] = {}
        self._asked: dict[Material, int] = {}
        self._lock = Lock()
        self._values = value_table(ALIAS_CODE + 1, store.variant.rules.move_limit)

    def probe(self, words: NDArray[np.uint64], missing: int) -> NDArray[np.int16]:
        """Return the values of positions, shape (n, W) to (n,); ``missing`` where there is none."""
        if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != self._tables.words:
            raise InputError(
                f"positions of {self._variant.name!r} are uint64 of shape (n, {self._tables.words}), "
                f"not {words.dtype} of shape {words.shape}"
            )
        found = np.full(len(words), missing, dtype=np.int16)
        for start, stop in slices(len(words), _STEP):
            part = np.ascontiguousarray(words[start:stop])
            attackers, defenders = soldier_counts(part, self._variant.size**2)
            # Material as one number; at most 121 men.
            kinds = attackers * 128 + defenders
            for kind in np.flatnonzero(np.bincount(kinds)):
                material = divmod(int(kind), 128)
                if not self._store.has(*material):
                    continue
                chosen = kinds == kind
                here = part if chosen.all() else part[chosen]
                values = self._of_material(material, here, missing)
                if len(here) == len(part):
                    found[start:stop] = values
                else:
                    found[start:stop][chosen] = values
        return found

    def _of_material(self, material: Material, words: NDArray[np.uint64], missing: int) -> NDArray[np.int16]:
        """Return the values of positions of one tier."""
        with self._lock:
            asked = self._asked[material] = self._asked.get(material, 0) + len(words)
            unpacked = self._unpacked.get(material)
            if unpacked is None and asked > FEW:
                from retrograde.tablebase.memory import UnpackedTiers

                unpacked = UnpackedTiers(self._store, [material])
                unpacked.load(material)
                self._unpacked[material] = unpacked
        if unpacked is None:
            return np.array([self._of_one(material, word, missing) for word in words], dtype=np.int16)
        from retrograde.tablebase.kernels.lookup import look_up

        found = np.empty(len(words), dtype=np.int16)
        tiers = np.zeros(len(words), dtype=np.int32)
        look_up(self._tables, unpacked.tables, unpacked.places, self._values, words, tiers, found, missing)
        return found

    def _of_one(self, material: Material, word: NDArray[np.uint64], missing: int) -> int:
        placed = cells_of(word, self._variant.size**2)
        if placed is None:
            return missing
        code = self._code(material, placed[0], "white" if placed[1] == "w" else "black")
        return missing if code is None else int(self._values[code])
