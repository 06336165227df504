"""Values of arrays of positions, by kernels over unpacked tiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.tablebase.encoding import slices, value_table
from retrograde.tablebase.kernels.lookup import look_up, tiers_of
from retrograde.tablebase.memory import UnpackedTiers
from tablut.engine.tables import build_tables
from tablut.errors import InputError
from tablut.indexing.values import ALIAS_CODE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.tablebase.store import Store

__all__ = ["BatchProber"]

_STEP = 1 << 20


class BatchProber:
    """Probes arrays of words.

    Parameters
    ----------
    store : Store
        The tablebase; the index of every tier in it is made at once, its codes are
        unpacked when a position asks for them.
    """

    def __init__(self, store: Store) -> None:
        self._variant = store.variant
        self._tables = build_tables(store.variant)
        self._tiers = UnpackedTiers(store, store.tiers()) if store.tiers() else None
        self._values = value_table(ALIAS_CODE + 1, store.variant.rules.move_limit)

    def probe(self, words: NDArray[np.uint64], missing: int) -> NDArray[np.int16]:
        """Return the values of positions, shape (n, W) to (n,); ``missing`` where there is none.

        Parameters
        ----------
        words : ndarray of uint64, shape (n, W)
            The positions, packed.
        missing : int
            The value where there is none.

        Returns
        -------
        ndarray of int16, shape (n,)
            The values.

        Raises
        ------
        InputError
            If the words are not of the variant's width.
        TablebaseError
            If a tier is damaged.
        """
        if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != self._tables.words:
            raise InputError(
                f"positions of {self._variant.name!r} are uint64 of shape (n, {self._tables.words}), "
                f"not {words.dtype} of shape {words.shape}"
            )
        found = np.full(len(words), missing, dtype=np.int16)
        if self._tiers is None:
            return found
        for start, stop in slices(len(words), _STEP):
            part = np.ascontiguousarray(words[start:stop])
            tiers = np.empty(len(part), dtype=np.int32)
            tiers_of(self._tables, self._tiers.tables, part, tiers)
            for number in np.flatnonzero(np.bincount(tiers + 1)[1:]):
                self._tiers.load(self._tiers.materials[number])
            look_up(
                self._tables,
                self._tiers.tables,
                self._tiers.places,
                self._values,
                part,
                tiers,
                found[start:stop],
                missing,
            )
        return found
