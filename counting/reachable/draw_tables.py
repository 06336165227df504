"""The counted space as the kernels that draw from it see it: sizes, first ranks, binomials, and where to look first."""

from __future__ import annotations

from bisect import bisect_right
from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.errors import InputError
from tablut.indexing import PlacementIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

_WORD: Final = (1 << 64) - 1
_TIER_BITS: Final = 11
_BUCKETS: Final = 1024


class DrawTables(NamedTuple):
    """The counted space as kernels see it; halves of 128 bits are words, the low one first.

    Attributes
    ----------
    cells, kings, tiers, bits, king_bits : int
        Cells of the board, cells of the king, materials, bits of a position number and of a king's cell.
    size : ndarray of uint64, shape (2,)
        How many positions there are.
    offset : ndarray of uint64, shape (tiers + 1, 2)
        The first rank of each material.
    before : ndarray of uint64, shape (tiers * (kings + 1), 2)
        In a material, the placements with the king on an earlier cell.
    material : ndarray of int64, shape (2 * tiers,)
        Attackers and defenders.
    king_cells : ndarray of int64, shape (kings,)
        Where the king may stand, ascending.
    closed : ndarray of uint64, shape (2,)
        The cells where no attacker may stand.
    binomial : ndarray of uint64, flat
        At ``k * (cells + 2) + n``.
    tier_shift : int
        A position number without so many bits finds its material in ``tier_at``.
    tier_at : ndarray of int16, flat
        The material of the least number with these highest bits.
    king_scale : ndarray of float64, shape (tiers,)
        Kings for each placement of a material.
    places : ndarray of uint8, flat
        At ``k * 1024 + bucket_of(rank)`` the last place of the k-combination of the least rank of the bucket.
    cell_at : ndarray of uint8, shape (kings * cells,)
        At ``number of the king's cell * cells + place`` a cell that is open to defenders.
    """

    cells: int
    kings: int
    tiers: int
    bits: int
    king_bits: int
    size: NDArray[np.uint64]
    offset: NDArray[np.uint64]
    before: NDArray[np.uint64]
    material: NDArray[np.int64]
    king_cells: NDArray[np.int64]
    closed: NDArray[np.uint64]
    binomial: NDArray[np.uint64]
    tier_shift: int
    tier_at: NDArray[np.int16]
    king_scale: NDArray[np.float64]
    places: NDArray[np.uint8]
    cell_at: NDArray[np.uint8]


def halves(values: list[int]) -> NDArray[np.uint64]:
    """Return numbers of 128 bits as words, the low one of each first."""
    return np.array([[value & _WORD, value >> 64] for value in values], dtype=np.uint64).ravel()


def build_drawing(variant: Variant) -> DrawTables:
    """Return the tables of a variant."""
    index, regions, cells = PlacementIndex(variant), variant.regions, variant.size**2
    most = max(variant.attackers, variant.defenders)
    binomial = [[comb(n, k) for n in range(cells + 2)] for k in range(most + 1)]
    positions = 2 * index.size
    if positions >= 1 << 127 or max(map(max, binomial)) >= 1 << 63:
        raise InputError(f"variant {variant.name!r}: has too many placements to draw from; take a smaller board")
    tiers = list(index.tiers.values())
    kings = sorted(regions.king_cells)
    before = []
    for tier in tiers:
        total = 0
        for king in kings:
            before.append(total)
            free = len(regions.free_cells) - (king in regions.free_cells)
            total += comb(free, tier.defenders) * comb(free + len(regions.camp_cells) - tier.defenders, tier.attackers)
        before.append(total)
    every = (1 << cells) - 1
    open_cells = sum(1 << cell for cell in regions.free_cells | regions.camp_cells)
    bits = (positions - 1).bit_length()
    tier_shift = max(0, bits - _TIER_BITS)
    offsets = [tier.offset for tier in tiers]
    return DrawTables(
        cells=cells,
        kings=len(kings),
        tiers=len(tiers),
        bits=bits,
        king_bits=(cells - 1).bit_length(),
        size=halves([positions]),
        offset=halves([*offsets, index.size]),
        before=halves(before),
        material=np.array([[tier.attackers, tier.defenders] for tier in tiers], dtype=np.int64).ravel(),
        king_cells=np.array(kings, dtype=np.int64),
        closed=halves([every & ~open_cells]),
        binomial=np.array(binomial, dtype=np.uint64).ravel(),
        tier_shift=tier_shift,
        tier_at=np.array(
            [bisect_right(offsets, (top << tier_shift) >> 1) - 1 for top in range((positions - 1 >> tier_shift) + 1)],
            dtype=np.int16,
        ),
        king_scale=np.array([len(kings) / tier.size if tier.size else 0.0 for tier in tiers]),
        places=_first_places(binomial),
        cell_at=_defender_cells(kings, sorted(regions.free_cells), cells),
    )


def _first_places(binomial: list[list[int]]) -> NDArray[np.uint8]:
    """Return `DrawTables.places`."""
    places = np.zeros((len(binomial), _BUCKETS), dtype=np.uint8)
    for k, row in enumerate(binomial[1:], 1):
        for bucket in range(_BUCKETS):
            shift = max(0, bucket // 16 - 1)
            least = bucket if bucket < 32 else (bucket % 16 + 16) << shift
            places[k, bucket] = max(k - 1, min(bisect_right(row, least) - 1, len(row) - 2))
    return places.ravel()


def _defender_cells(kings: list[int], free: list[int], cells: int) -> NDArray[np.uint8]:
    """Return `DrawTables.cell_at`."""
    found = np.zeros((len(kings), cells), dtype=np.uint8)
    for number, king in enumerate(kings):
        left = [cell for cell in free if cell != king]
        found[number, : len(left)] = left
    return found.ravel()
