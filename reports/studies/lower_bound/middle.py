"""Counts of the placements in the middle of the board that can be taken apart piece by piece.

A placement in the middle is taken apart by repeatedly removing a piece that would capture nothing on arrival and has a
free way to a lane. Pieces on rank 6, c5 and g5 leave upward; pieces on rank 4, d5 and f5 leave downward. A piece on
rank 5 needs a free cell on its way. Removing one piece never prevents the removal of another, so the order does not
matter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from reports.studies.lower_bound.layout import CAMPS, CASTLE, MIDDLE, SIZE, UPWARD
from tablut.engine.jit import I64, inlined, kernel, popcount, trailing_zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

HISTOGRAM: Final = (10, 10, 10, 10)
"""Shape of the counts.

The axes are the attackers and the white pieces that leave upward, then the attackers and the white pieces that leave
downward.
"""
_HOSTILE: Final = 1 << len(MIDDLE)
_UP: Final = sum(1 << p for p, cell in enumerate(MIDDLE) if cell // SIZE == SIZE // 2 + 1 or cell in UPWARD)


class MiddleTables(NamedTuple):
    """Tables for the middle. A place is the number of a cell in `MIDDLE`.

    Attributes
    ----------
    victims : ndarray of int64, shape (18, 4)
        The bit of the adjacent place in each direction; 0 if nothing can be captured there.
    anvils : ndarray of int64, shape (18, 4)
        The bit of the place behind the adjacent one, or an extra bit for terrain, or 0.
    ways : ndarray of int64, shape (18,)
        For each place on rank 5, the bit of the next place on the way out, which must be free. For other places, 0.
    columns : ndarray of int64, shape (17, 3)
        The possible contents of a file's ranks 6, 5, 4 without neighbours of different colours: 0 for empty, 1 for an
        attacker, 2 for white.
    """

    victims: NDArray[np.int64]
    anvils: NDArray[np.int64]
    ways: NDArray[np.int64]
    columns: NDArray[np.int64]


@lru_cache(maxsize=1)
def middle_tables() -> MiddleTables:
    """Return the tables. Every call returns the same object."""
    places = {cell: place for place, cell in enumerate(MIDDLE)}
    terrain = {cell for camp in CAMPS for cell in camp} | {CASTLE}
    victims, anvils = np.zeros((2, len(MIDDLE), 4), dtype=np.int64)
    ways = np.zeros(len(MIDDLE), dtype=np.int64)
    for cell, place in places.items():
        # Two steps from a cell of the middle never leave the board.
        for way, step in enumerate((1, SIZE, -1, -SIZE)):
            beside, behind = cell + step, cell + 2 * step
            if beside in places:
                victims[place, way] = 1 << places[beside]
                anvils[place, way] = _HOSTILE if behind in terrain else 1 << places[behind] if behind in places else 0
        if cell // SIZE == SIZE // 2:
            ways[place] = 1 << places[cell + SIZE if cell in UPWARD else cell - SIZE]
    contents = [(upper, centre, lower) for upper in range(3) for centre in range(3) for lower in range(3)]
    columns = [c for c in contents if {c[0], c[1]} != {1, 2} and {c[1], c[2]} != {1, 2}]
    return MiddleTables(victims, anvils, ways, np.array(columns, dtype=np.int64))


@inlined
def _comes_apart(
    black: int, white: int, victims: NDArray[np.int64], anvils: NDArray[np.int64], ways: NDArray[np.int64]
) -> bool:
    """Return whether a placement can be taken apart."""
    changed = True
    while changed and (black | white) != 0:
        changed = False
        pieces = black | white
        while pieces:
            place = trailing_zeros(pieces)
            bit = pieces & -pieces
            pieces ^= bit
            if (black | white) & ways[place]:
                continue
            own, enemies = black, white
            if white & bit:
                own, enemies = white, black
            own |= _HOSTILE
            active = False
            for way in range(4):
                if enemies & victims[place, way] and own & anvils[place, way]:
                    active = True
            if not active:
                black &= ~bit
                white &= ~bit
                changed = True
    return (black | white) == 0


@kernel
def comes_apart(
    black: int, white: int, victims: NDArray[np.int64], anvils: NDArray[np.int64], ways: NDArray[np.int64]
) -> bool:
    """Return whether a placement in the middle can be taken apart."""
    return _comes_apart(I64(black), I64(white), victims, anvils, ways)


@kernel
def _fill(
    doors: NDArray[np.int64],
    victims: NDArray[np.int64],
    anvils: NDArray[np.int64],
    ways: NDArray[np.int64],
    columns: NDArray[np.int64],
    counts: NDArray[np.int32],
    besieged: NDArray[np.int32],
) -> None:
    """Count the placements with given contents of b6, e6, h6, b4, e4, h4, and how many of them besiege the castle."""
    black_at = np.zeros(4 * len(columns), dtype=np.int64)
    white_at = np.zeros(4 * len(columns), dtype=np.int64)
    for file in range(4):
        # Set the bits of the files c, d, f, g on ranks 6, 5, 4.
        upper = file + 1 + (file > 1)
        for number in range(len(columns)):
            for rank in range(3):
                bit = I64(1) << (upper if rank == 0 else 7 + file if rank == 1 else 11 + upper)
                if columns[number, rank] == 1:
                    black_at[file * len(columns) + number] |= bit
                elif columns[number, rank] == 2:
                    white_at[file * len(columns) + number] |= bit
    fixed_black, fixed_white = I64(0), I64(0)
    for door in range(6):
        bit = I64(1) << (3 * door if door < 3 else 11 + 3 * (door - 3))
        if doors[door] == 1:
            fixed_black |= bit
        elif doors[door] == 2:
            fixed_white |= bit
    size = len(columns)
    left, right = I64(0b11 * 2**7), I64(0b11 * 2**9)  # the cells 7 and 8, and 9 and 10, of the middle
    inner = (I64(1) << 8) | (I64(1) << 9)
    around = inner | (I64(1) << 3) | (I64(1) << 14)
    for c in range(size):
        for d in range(size):
            black_left = black_at[c] | black_at[size + d]
            white_left = white_at[c] | white_at[size + d]
            # The two cells between a camp and the castle must not contain pieces of different colours.
            if black_left & left and white_left & left:
                continue
            for f in range(size):
                for g in range(size):
                    black_right = black_at[2 * size + f] | black_at[3 * size + g]
                    white_right = white_at[2 * size + f] | white_at[3 * size + g]
                    if black_right & right and white_right & right:
                        continue
                    black = black_left | black_right | fixed_black
                    white = white_left | white_right | fixed_white
                    if not _comes_apart(black, white, victims, anvils, ways):
                        continue
                    entry = (
                        popcount(black & _UP),
                        popcount(white & _UP),
                        popcount(black & ~_UP),
                        popcount(white & ~_UP),
                    )
                    counts[entry] += 1
                    if black & around == around:
                        besieged[entry] += 1


def middle_histogram(doors: tuple[int, ...]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Count the placements in the middle that can be taken apart.

    ``doors`` is the contents of the cells in front of the doors. The second array counts only those placements where
    attackers occupy all four cells next to the castle.
    """
    t = middle_tables()
    counts, besieged = np.zeros(HISTOGRAM, np.int32), np.zeros(HISTOGRAM, np.int32)
    _fill(np.array(doors, dtype=np.int64), t.victims, t.anvils, t.ways, t.columns, counts, besieged)
    return counts, besieged
