"""Counts by material: polynomials in x (attackers) and y (defenders), cut at the material of the start.

The number of ways to place soldiers is the generating function
(1 + x)^camp · (1 + x + y)^free: a camp cell is empty or holds an attacker, a free
cell is empty or holds either. Placing the defenders first gives its coefficients
in closed form, C(free, d) · C(camp + free - d, a). Under a symmetry whole cycles
of cells share their contents, so that x and y become powers of themselves.

All coefficients are Python integers; nothing is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CycleType = tuple[tuple[int, int], ...]
"""Sorted pairs (cycle length, number of cycles of that length)."""


@dataclass(frozen=True, slots=True)
class Material:
    """A count for each pair (attackers, defenders)."""

    rows: tuple[tuple[int, ...], ...]

    @classmethod
    def zero(cls, attackers: int, defenders: int) -> Material:
        """Return the zero polynomial for boards with at most so many soldiers."""
        return cls(((0,) * (defenders + 1),) * (attackers + 1))

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(map(sum, self.rows))

    def pairs(self) -> Iterator[tuple[int, int, int]]:
        """Yield (attackers, defenders, count), zero counts too."""
        for attackers, row in enumerate(self.rows):
            for defenders, count in enumerate(row):
                yield attackers, defenders, count

    def within(self, attackers: range, defenders: range) -> Material:
        """Return the part with so many attackers and defenders; the other counts become zero."""
        return Material(
            tuple(
                tuple(count if a in attackers and d in defenders else 0 for d, count in enumerate(row))
                for a, row in enumerate(self.rows)
            )
        )

    def shifted(self, attackers: int, defenders: int) -> Material:
        """Return the product with x^attackers · y^defenders: so many more soldiers on fixed cells."""
        width, height = len(self.rows[0]), len(self.rows)
        empty = (0,) * width
        moved = [((0,) * defenders + row)[:width] for row in self.rows]
        return Material(tuple(([empty] * attackers + moved)[:height]))

    def __add__(self, other: Material) -> Material:
        return Material(
            tuple(
                tuple(a + b for a, b in zip(mine, theirs, strict=True))
                for mine, theirs in zip(self.rows, other.rows, strict=True)
            )
        )

    def __sub__(self, other: Material) -> Material:
        return self + -1 * other

    def __rmul__(self, factor: int) -> Material:
        return Material(tuple(tuple(factor * count for count in row) for row in self.rows))

    def __matmul__(self, other: Material) -> Material:
        """Return the product of the polynomials, cut at the same material."""
        height, width = len(self.rows), len(self.rows[0])
        product = [[0] * width for _ in range(height)]
        terms = [(a, d, count) for a, d, count in other.pairs() if count]
        for a, d, count in self.pairs():
            if count:
                for a2, d2, count2 in terms:
                    if a + a2 < height and d + d2 < width:
                        product[a + a2][d + d2] += count * count2
        return Material(tuple(map(tuple, product)))


@cache
def soldiers(camp: CycleType, free: CycleType, attackers: int, defenders: int) -> Material:
    """Return in how many ways soldiers can stand so that a symmetry leaves them in place."""
    camps, frees = dict(camp), dict(free)
    product = Material(((1, *(0,) * defenders), *((0,) * (defenders + 1),) * attackers))
    for length in camps.keys() | frees.keys():
        camp_cycles, free_cycles = camps.get(length, 0), frees.get(length, 0)
        rows = [[0] * (defenders + 1) for _ in range(attackers + 1)]
        for d in range(min(defenders // length, free_cycles) + 1):
            for a in range(attackers // length + 1):
                rows[a * length][d * length] = comb(free_cycles, d) * comb(camp_cycles + free_cycles - d, a)
        product = product @ Material(tuple(map(tuple, rows)))
    return product
