"""One tier laid out for the compiled proof, and the parts that threads prove."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retrograde.verification.findings import LISTED
from retrograde.verification.kernels.proof import Listing, ProofDesk, new_memory, new_tally, prove_rows
from tablut.engine.records import directory
from tablut.engine.tables import build_tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retrograde.tablebase.batch import UnpackedTiers
    from retrograde.verification.kernels.proof import Tally
    from tablut.indexing.tiers import TierIndex

_PART: Final = 1 << 18
"""Entries that a thread proves at once, at least."""


class Part(NamedTuple):
    """Some rows of a tier."""

    first: int
    last: int
    entries: int


class TierProof:
    """The proof of one tier, part by part."""

    def __init__(self, index: TierIndex, unpacked: UnpackedTiers, codes: int) -> None:
        self.index, self.unpacked, self.codes = index, unpacked, codes
        self.rows = listing(index)
        self.number = unpacked.number((index.attackers, index.defenders))

    def parts(self) -> Iterable[Part]:
        """Yield ranges of rows of about `_PART` entries each, all of them."""
        rows = self.rows
        for number in range(len(rows.king_cell)):
            first, last, width = int(rows.first_row[number]), int(rows.first_row[number + 1]), int(rows.width[number])
            if not width:
                # Beside this king there is no room for so many attackers.
                continue
            step = max(1, _PART // width)
            for start in range(first, last, step):
                stop = min(start + step, last)
                yield Part(start, stop, (stop - start) * width)

    def prove(self, part: Part) -> Tally:
        """Prove the positions of a part."""
        variant = self.index.variant
        tables, unpacked = build_tables(variant), self.unpacked
        memory = new_memory(variant)
        tally = new_tally(self.codes, LISTED)
        # Kernels are given addresses: the desk keeps alive what lies there.
        desk = ProofDesk(tables, unpacked.tables, self.rows, memory, tally, unpacked.places, self.number)
        prove_rows(directory(desk), part.first, part.last)
        return tally


def listing(index: TierIndex) -> Listing:
    """Return what the proof lists the placements of a tier by: its representatives, and binomials of its own."""
    counts = np.count_nonzero(index.representatives, axis=1)
    most = 1 + max(index.row_men, index.column_men)
    cells = index.variant.size**2
    return Listing(
        row_kind=int(index.defenders > 0),
        row_men=index.row_men,
        column_men=index.column_men,
        row_spots=len(index.row_cells),
        column_spots=len(index.column_cells),
        most=most,
        order=len(index.kings.group),
        king_cell=np.array(index.kings.representatives, dtype=np.int64),
        base=np.array(index.offsets[:-1], dtype=np.int64),
        width=np.array(index.widths, dtype=np.int64),
        first_row=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        combination=np.nonzero(index.representatives)[1].astype(np.int64),
        row_cell=np.array(index.row_cells, dtype=np.uint8),
        column_cell=np.array(index.column_cells, dtype=np.uint8),
        binomial=np.array([[comb(n, k) for k in range(most)] for n in range(cells + 1)], dtype=np.int64).ravel(),
        image=np.array([symmetry.table for symmetry in index.kings.group], dtype=np.uint8).ravel(),
    )
