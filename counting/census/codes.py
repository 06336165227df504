"""Positions in few bytes: a bijection between all positions of bounded material and an interval of integers.

Unlike the index of undecided placements (`tablut.indexing.placements`) it knows neither terrain nor
rules: any placement of one king and so many soldiers at most has a number, and
with it one of three labels (undecided, white has won, black has won). What a ply of a game
has is stored in this way: on 9x9 with 16 and 8 soldiers in 96 bits, 12 bytes. The side
to move is not part of it, since a ply has one.

With n cells beside the king's, T placements of soldiers on them, and S(a, d) of these
with less material than (a, d), the number is

    (label * cells + king) * T + S(a, d) + rank(white) * C(n - d, a) + rank(black)

by ranks in the combinatorial number system, the attackers' among the cells that the
defenders leave. The plain twin is in Python integers; kernels compute in 128 bits.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import comb
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tablut.indexing.placements import rank_combination, unrank_combination

if TYPE_CHECKING:
    from numpy.typing import NDArray

LABELS: Final = 3
_WIDEST: Final = 128
_WORD: Final = (1 << 64) - 1


class CodeTables(NamedTuple):
    """The codes as kernels see them; halves of 128 bits are words, the low one first.

    Attributes
    ----------
    cells, attackers, defenders, code_bytes : int
        Cells of the board, most soldiers, and bytes of a code.
    king_bits : int
        Bits of the king's cell in a packed position.
    binomial : ndarray of uint64, flat
        At ``k * (cells + 1) + n``.
    prefix : ndarray of uint64, shape (kings, 2)
        By ``label * cells + king``, its first code; then the end.
    offset : ndarray of uint64, shape (materials, 2)
        By ``d * (attackers + 1) + a``, how many placements have less material; then T.
    """

    cells: int
    attackers: int
    defenders: int
    code_bytes: int
    king_bits: int
    binomial: NDArray[np.uint64]
    prefix: NDArray[np.uint64]
    offset: NDArray[np.uint64]


class PositionCodes:
    """The codes of positions with at most so many soldiers."""

    def __init__(self, cells: int, attackers: int, defenders: int) -> None:
        self.cells, self.attackers, self.defenders = cells, attackers, defenders
        self._offsets = [0]
        for d, a in product(range(defenders + 1), range(attackers + 1)):
            self._offsets.append(self._offsets[-1] + comb(cells - 1, d) * comb(cells - 1 - d, a))
        self.size = LABELS * cells * self._offsets[-1]
        self.bytes = -(-(self.size - 1).bit_length() // 8)
        widest = max(comb(cells - 1, k) for k in range(max(attackers, defenders) + 1))
        self.fits = self.size <= 1 << _WIDEST and widest <= 1 << 63

    def encode(self, king: int, black: list[int], white: list[int], label: int) -> int:
        """Return the number of a position."""
        left = [cell for cell in range(self.cells) if cell != king]
        whites = sorted(left.index(cell) for cell in white)
        left = [cell for cell in left if cell not in white]
        blacks = sorted(left.index(cell) for cell in black)
        ways = comb(len(left), len(black))
        within = rank_combination(whites) * ways + rank_combination(blacks)
        material = len(white) * (self.attackers + 1) + len(black)
        return (label * self.cells + king) * self._offsets[-1] + self._offsets[material] + within

    def decode(self, code: int) -> tuple[int, list[int], list[int], int]:
        """Return the position of a number; the inverse of `encode`."""
        prefix, within = divmod(code, self._offsets[-1])
        label, king = divmod(prefix, self.cells)
        material = max(number for number, offset in enumerate(self._offsets[:-1]) if offset <= within)
        defenders, attackers = divmod(material, self.attackers + 1)
        left = [cell for cell in range(self.cells) if cell != king]
        high, low = divmod(within - self._offsets[material], comb(len(left) - defenders, attackers))
        white = [left[place] for place in unrank_combination(high, defenders)]
        left = [cell for cell in left if cell not in white]
        return king, [left[place] for place in unrank_combination(low, attackers)], white, label

    def tables(self) -> CodeTables:
        """Return the tables for kernels; the codes must fit."""
        most = max(self.attackers, self.defenders)
        binomial = [[comb(n, k) for n in range(self.cells + 1)] for k in range(most + 1)]
        return CodeTables(
            cells=self.cells,
            attackers=self.attackers,
            defenders=self.defenders,
            code_bytes=self.bytes,
            king_bits=(self.cells - 1).bit_length(),
            binomial=np.array(binomial, dtype=np.uint64).ravel(),
            prefix=_halves([number * self._offsets[-1] for number in range(LABELS * self.cells + 1)]),
            offset=_halves(self._offsets),
        )


def _halves(values: list[int]) -> NDArray[np.uint64]:
    # The end of all codes may be 2**128 itself; no code reaches it.
    return np.array([[min(v, (1 << _WIDEST) - 1) & _WORD, min(v, (1 << _WIDEST) - 1) >> 64] for v in values], np.uint64)


@lru_cache(maxsize=64)
def position_codes(cells: int, attackers: int, defenders: int) -> tuple[PositionCodes, Any]:
    """Return codes, and their tables for kernels."""
    codes = PositionCodes(cells, attackers, defenders)
    return codes, codes.tables() if codes.fits else None
