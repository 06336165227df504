"""The plain twins of what the kernels of the census compute: codes of positions, bins of families."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from counting.census.buckets import BINS
from tablut.engine import engine_for
from tablut.engine.jit import split_mix
from tablut.indexing.placements import rank_combination, unrank_combination

if TYPE_CHECKING:
    from counting.census.codes import PositionCodes
    from tablut.variants import Variant

_WORD = (1 << 64) - 1


def encode(codes: PositionCodes, king: int, black: list[int], white: list[int], label: int) -> int:
    """Return the number of a position."""
    left = [cell for cell in range(codes.cells) if cell != king]
    whites = sorted(left.index(cell) for cell in white)
    left = [cell for cell in left if cell not in white]
    blacks = sorted(left.index(cell) for cell in black)
    within = rank_combination(whites) * comb(len(left), len(black)) + rank_combination(blacks)
    material = len(white) * (codes.attackers + 1) + len(black)
    return (label * codes.cells + king) * codes.offsets[-1] + codes.offsets[material] + within


def decode(codes: PositionCodes, code: int) -> tuple[int, list[int], list[int], int]:
    """Return the position of a number; the inverse of `encode`."""
    prefix, within = divmod(code, codes.offsets[-1])
    label, king = divmod(prefix, codes.cells)
    material = max(number for number, offset in enumerate(codes.offsets[:-1]) if offset <= within)
    defenders, attackers = divmod(material, codes.attackers + 1)
    left = [cell for cell in range(codes.cells) if cell != king]
    high, low = divmod(within - codes.offsets[material], comb(len(left) - defenders, attackers))
    white = [left[place] for place in unrank_combination(high, defenders)]
    left = [cell for cell in left if cell not in white]
    return king, [left[place] for place in unrank_combination(low, attackers)], white, label


def plain_bin(variant: Variant, full: bool, king: int | None, soldiers: list[int]) -> int:
    """Return the bin of a family: the twin of `family_bins`."""
    engine, cells = engine_for(variant), variant.size**2
    total = 0
    for element in engine.group[:1] if full else engine.group:
        value = 0
        for cell in soldiers:
            value ^= next(split_mix(int(element.table[cell])))
        if king is not None:
            value ^= next(split_mix(cells + int(element.table[king])))
        value = (value * 0xBF58476D1CE4E5B9) & _WORD
        value ^= value >> 29
        value = (value * 0x94D049BB133111EB) & _WORD
        total += value ^ (value >> 32)
    return (total & _WORD) >> (64 - (BINS.bit_length() - 1))
