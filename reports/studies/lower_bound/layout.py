"""The board regions used in the construction: two outer regions of three ranks, and the middle between them.

Cells are indices from a1 = 0. A *region* contains only free cells. The upper region consists of ranks 7 to 9, and the
lower region is its mirror image, ranks 3 to 1. A *place* is the number of a cell within its region; mirror images have
the same number. Cells outside a region are assumed to be in the worst possible state. `docs/notes/lower-bound.md`
explains why, and defines the terms *lane*, *door*, *park*, *tip* and *token camp*, which this study uses.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.errors import InputError
from tablut.position import parse_square
from tablut.variants import load_variant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

SIZE: Final = 9
PLACES: Final = 23
"""Number of cells of an outer region."""
ATTACKERS: Final = 16
HOSTILE: Final = 1 << PLACES
"""Extra bit in masks of anvils. It is set if the cell behind the victim is, or may be, an anvil for both sides."""


def cell_of(name: str) -> int:
    """Return a square's index."""
    file, rank = parse_square(name, SIZE) % SIZE, parse_square(name, SIZE) // SIZE
    return rank * SIZE + file


def cells_of(names: str) -> tuple[int, ...]:
    """Return the indices of several squares."""
    return tuple(cell_of(name) for name in names.split())


def mirrored(cell: int) -> int:
    """Return the mirror image of a cell. Rank 9 is mapped to rank 1, rank 8 to rank 2, and so on."""
    return (SIZE - 1 - cell // SIZE) * SIZE + cell % SIZE


CASTLE: Final = cell_of("e5")
UPPER: Final = cells_of("a7 b7 c7 d7 e7 f7 g7 h7 i7 a8 b8 c8 d8 f8 g8 h8 i8 a9 b9 c9 g9 h9 i9")
"""The upper region's cells. The first nine are the lane, which is the row next to the middle."""
UPWARD: Final = cells_of("c5 g5")
"""Cells of rank 5 whose pieces leave the middle upward; pieces on d5 and f5 leave downward."""
MIDDLE: Final = cells_of("b6 c6 d6 e6 f6 g6 h6 c5 d5 f5 g5 b4 c4 d4 e4 f4 g4 h4")
DOORS: Final = cells_of("b7 e7 h7")
"""Lane cells whose neighbour in the middle has terrain behind it.

Plies within an outer region may enter doors but never leave them.
"""
CAMPS: Final = (
    cells_of("e9 d9 f9 e8"),
    cells_of("a5 a4 a6 b5"),
    cells_of("i5 i4 i6 h5"),
    cells_of("e1 d1 f1 e2"),
)
"""Each camp's cells. The first one is the centre, and the last one is the tip."""
LANE_PAIRS: Final = tuple(
    (cell_of(file + upper), cell_of(file + lower)) for file in "cdfg" for upper, lower in ("65", "54")
)
"""Neighbouring cells in the middle that must not contain pieces of different colours if the lanes are to be safe."""
WHITE_SLOTS: Final = (cells_of("a9 b9 a8 b8 c9 c8 a7"), cells_of("a9 b9 a8 b8 c9 a7"))
"""Parking places of the defenders, in filling order: for a region without the king, and for a region with it."""
BLACK_SLOTS: Final = cells_of("i9 h9 i8 h8 g9 g8 i7 f8")
KING_SLOT: Final = cell_of("c8")


def place_of(cell: int) -> int:
    """Return the place of a cell in an outer region."""
    return UPPER.index(cell if cell // SIZE > SIZE // 2 else mirrored(cell))


class RegionTables(NamedTuple):
    """Tables for an outer region, without regard to the rest of the board.

    Attributes
    ----------
    rays : ndarray of int64, shape (23, 4, 9)
        The places in each direction from each place, nearest first, terminated by -1.
    victims : ndarray of int64, shape (23, 4)
        The bit of the adjacent place in each direction; 0 if nothing can be captured there.
    anvils : ndarray of int64, shape (23, 4)
        The bit of the place behind the adjacent one, or `HOSTILE`, or 0.
    king_places : ndarray of int64, shape (23,)
        The number of each place among the places where a king may stop, or -1.
    kings : ndarray of int64, shape (13,)
        The places where a king may stop.
    doors : int
        Mask of `DOORS`.
    traps : ndarray of int64, shape (2, 2)
        Pairs of places: an attacker that arrives on the camp's tip captures a white piece on the first place if there
        is an attacker on the second.
    """

    rays: NDArray[np.int64]
    victims: NDArray[np.int64]
    anvils: NDArray[np.int64]
    king_places: NDArray[np.int64]
    kings: NDArray[np.int64]
    doors: int
    traps: NDArray[np.int64]


@lru_cache(maxsize=1)
def region_tables() -> RegionTables:
    """Return the tables for the outer regions. Every call returns the same object."""
    places = {cell: place for place, cell in enumerate(UPPER)}
    camps = {cell for camp in CAMPS for cell in camp}
    rays = np.full((PLACES, 4, SIZE), -1, dtype=np.int64)
    victims, anvils = np.zeros((2, PLACES, 4), dtype=np.int64)
    for cell, place in places.items():
        for way, (right, up) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
            line = _line(cell, right, up)
            inside = [index for index, other in enumerate(line) if other not in places]
            for index, other in enumerate(line[: inside[0] if inside else len(line)]):
                rays[place, way, index] = places[other]
            if line and line[0] in places:
                victims[place, way] = 1 << places[line[0]]
                if len(line) > 1:
                    behind = line[1]
                    # Cells below the lane may contain any piece; there are camps below a7 and i7.
                    hostile = behind in camps or behind not in places
                    anvils[place, way] = HOSTILE if hostile else 1 << places[behind]
    kings = [place for cell, place in places.items() if 0 < cell % SIZE < SIZE - 1 and cell // SIZE < SIZE - 1]
    king_places = np.full(PLACES, -1, dtype=np.int64)
    king_places[kings] = np.arange(len(kings))
    doors = sum(1 << places[cell] for cell in DOORS)
    traps = np.array([[places[cell] for cell in cells_of(names)] for names in ("d8 c8", "f8 g8")], dtype=np.int64)
    return RegionTables(rays, victims, anvils, king_places, np.array(kings, dtype=np.int64), doors, traps)


def _line(cell: int, right: int, up: int) -> list[int]:
    """Return the cells in one direction from a cell, up to the board's edge."""
    file, rank = cell % SIZE + right, cell // SIZE + up
    line = []
    while 0 <= file < SIZE and 0 <= rank < SIZE:
        line.append(rank * SIZE + file)
        file, rank = file + right, rank + up
    return line


def require_variant(variant: Variant) -> None:
    """Raise an error for any variant that the proof of the construction does not cover."""
    known = load_variant("ashton")
    if (variant.terrain, variant.start, variant.rules) != (known.terrain, known.start, known.rules):
        raise InputError(
            "the lower bound is proved for the board and rules of ashton only", subject=f"variant {variant.name}"
        )
