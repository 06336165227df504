"""Slides read backwards: from where a piece can have come, by line tables like the engine's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["reverse_slides"]


def reverse_slides(tables: Tables) -> NDArray[np.uint16]:
    """Return the places from which a slide ends on a place, in the engine's blocks.

    Parameters
    ----------
    tables : Tables
        The variant.

    Returns
    -------
    ndarray of uint16
        Indexed as ``tables.slides``: at ``block + (place << N | occupancy)`` the mask of the
        empty places from which a piece of the block's kind slides to the place. The
        occupancy is that after the move; the place's own bit does not matter.

    Examples
    --------
    On ashton's first row, empty otherwise, a soldier may have come to b1 out of its camp
    (d1, e1, f1), but to e1, inside, only from within:

    >>> from tablut.engine.tables import build_tables
    >>> from tablut.variants import load_variant
    >>> tables = build_tables(load_variant("ashton"))
    >>> block = int(tables.attacker_slides[0])
    >>> found = reverse_slides(tables)
    >>> bin(found[block + (1 << 9 | 1 << 1)]), bin(found[block + (4 << 9 | 1 << 4)])
    ('0b111101', '0b101000')
    """
    size = tables.size
    span = 1 << size
    forward = tables.slides.reshape(-1, size, span)
    found = np.zeros_like(forward)
    occupancy = np.arange(span)
    for place in range(size):
        for start in range(size):
            if start != place:
                before = (occupancy & ~(1 << place)) | (1 << start)
                comes = ((forward[:, start, before] >> place) & 1 == 1) & ((occupancy >> start) & 1 == 0)
                found[:, place][comes] |= np.uint16(1 << start)
    return found.ravel()
