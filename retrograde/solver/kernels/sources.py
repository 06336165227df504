"""From which places of a line an attacker's slide ends on one of some targets: a table for every content of a line.

`tablut.engine.lines` has where a slide leads to from one place; this has, for a whole line and any set of
targets, all the places from which one of them is reached.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.tables import build_tables
from tablut.engine.unmoves import build_origins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant


class LineSources(NamedTuple):
    """The places of lines from which an attacker reaches a target; N is the board's size.

    Attributes
    ----------
    places : ndarray of uint16, flat
        Blocks of ``3**N`` masks; within a block, index by the line's content in base 3: digit 1 where
        a piece stands, 2 for a target. Only empty places where an attacker may stand are in a mask.
    at : ndarray of uint32, shape (2N,)
        Where the block of a line begins; rows, then columns.
    """

    places: NDArray[np.uint16]
    at: NDArray[np.uint32]


@lru_cache(maxsize=8)
def line_sources(variant: Variant) -> LineSources:
    """Return the sources of all lines of a variant."""
    tables, standing = build_tables(variant), build_origins(variant).attacker_cells
    size = variant.size
    content = np.arange(3**size)
    taken, wanted = np.zeros_like(content), np.zeros_like(content)
    for place in range(size):
        digit = content // 3**place % 3
        taken |= (digit == 1).astype(content.dtype) << place
        wanted |= (digit == 2).astype(content.dtype) << place
    known: dict[tuple[int, int], int] = {}
    blocks: list[NDArray[np.uint16]] = []
    at = np.zeros(2 * size, dtype=np.uint32)
    for line, kind in enumerate(zip(tables.attacker_slides.tolist(), standing.tolist(), strict=True)):
        if kind not in known:
            known[kind] = len(blocks) * 3**size
            slides = tables.slides[kind[0] : kind[0] + (size << size)].reshape(size, 1 << size)
            block = np.zeros(3**size, dtype=np.uint16)
            for place in range(size):
                reaches = (slides[place, taken] & wanted != 0) & (taken >> place & 1 == 0)
                block |= (reaches & bool(kind[1] >> place & 1)).astype(np.uint16) << np.uint16(place)
            blocks.append(block)
        at[line] = known[kind]
    return LineSources(np.concatenate(blocks), at)
