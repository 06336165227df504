"""How far pieces are from where they started: by what a beam search backward judges positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.unmoves import build_origins
from tablut.notation import diagram_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

AWAY: Final = 3
"""What counts against a position for each soldier that is away from home ..."""
STEP: Final = 2
"""... for each slide that it is away ..."""
MISSING: Final = 9
"""... and for each soldier that is missing."""
NOISE: Final = 2
"""How much luck is added, in the same units."""

_KING_AWAY, _KING_STEP = 200, 8
"""The same for the king, which goes home first."""
CALM: Final = 2
"""As long as the king is away, soldiers count for a quarter: so many bits less."""


class HomeTables(NamedTuple):
    """How far pieces are from where they started; C is the number of cells.

    Attributes
    ----------
    attackers, defenders : int
        Numbers of homes.
    attacker_homes, defender_homes : ndarray of int32
        The cells where soldiers started.
    attacker_ways, defender_ways : ndarray of int32, shape (homes * C,)
        At ``home * C + cell`` what a soldier costs that is to slide from the cell back to the home.
    king_costs : ndarray of int32, shape (C,)
        What the king costs.
    black_stuck : int
        1 if attackers that are all at home have nowhere to have come from.
    """

    attackers: int
    defenders: int
    attacker_homes: NDArray[np.int32]
    defender_homes: NDArray[np.int32]
    attacker_ways: NDArray[np.int32]
    defender_ways: NDArray[np.int32]
    king_costs: NDArray[np.int32]
    black_stuck: int


def _distances(variant: Variant, at: NDArray[np.uint32], home: int) -> list[int]:
    """Return by cell how many slides back it takes to come to a home; 9 if there is no way.

    All others stand as at the start, as they will when the last pieces go home; where that leaves no way, the
    board is empty and the way counts for one slide more.
    """
    start = [letter != "." for letter in diagram_cells(variant.start)]
    start[home] = False
    found, alone = (_slides_back(variant, at, home, taken) for taken in (start, [False] * len(start)))
    return [steps if steps < 9 else min(other + 3, 9) for steps, other in zip(found, alone, strict=True)]


def _slides_back(variant: Variant, at: NDArray[np.uint32], home: int, taken: list[bool]) -> list[int]:
    """Return by cell how many slides back it takes to come to a home, with some cells taken; 9 if there is no way."""
    size, origins = variant.size, build_origins(variant).origins
    before: list[list[int]] = []
    for cell in range(size * size):
        rank, file = divmod(cell, size)
        row_taken = sum(taken[rank * size + place] << place for place in range(size))
        column_taken = sum(taken[place * size + file] << place for place in range(size))
        row = int(origins[int(at[rank]) + (file << size) + row_taken])
        column = int(origins[int(at[size + file]) + (rank << size) + column_taken])
        before.append(
            [rank * size + place for place in range(size) if row >> place & 1]
            + [place * size + file for place in range(size) if column >> place & 1]
        )
    found = [9] * (size * size)
    found[home] = 0
    for steps in range(1, 9):
        for cell, origin_cells in enumerate(before):
            if found[cell] == 9 and any(found[origin] == steps - 1 for origin in origin_cells):
                found[cell] = steps
    return found


def _stuck(variant: Variant, attackers: list[int]) -> bool:
    """Return whether attackers that are all at home have nowhere to have come from, wherever the others stand."""
    size, origins = variant.size, build_origins(variant)
    taken = [cell in attackers for cell in range(size * size)]
    return not any(
        origins.origins[
            int(origins.attacker_origins[line])
            + (place << size)
            + sum(taken[cell] << at for at, cell in enumerate(cells))
        ]
        for line, cells in enumerate(_lines(size))
        for place, home in enumerate(cells)
        if home in attackers
    )


def _lines(size: int) -> list[list[int]]:
    """Return the cells of every row, then of every column."""
    rows = [[rank * size + file for file in range(size)] for rank in range(size)]
    return rows + [list(column) for column in zip(*rows, strict=True)]


def build_homes(variant: Variant) -> HomeTables:
    """Return the tables of a variant."""
    cells, origins = diagram_cells(variant.start), build_origins(variant)
    attackers = [cell for cell, letter in enumerate(cells) if letter == "b"]
    defenders = [cell for cell, letter in enumerate(cells) if letter == "w"]

    def _ways(at: NDArray[np.uint32], homes: list[int]) -> NDArray[np.int32]:
        """Return what a soldier costs, by home and cell."""
        costs = [[AWAY + STEP * steps for steps in _distances(variant, at, home)] for home in homes]
        return np.array(costs, dtype=np.int32).ravel()

    king = np.array(_distances(variant, origins.king_origins, cells.index("K")), dtype=np.int32)
    return HomeTables(
        attackers=len(attackers),
        defenders=len(defenders),
        attacker_homes=np.array(attackers, dtype=np.int32),
        defender_homes=np.array(defenders, dtype=np.int32),
        attacker_ways=_ways(origins.attacker_origins, attackers),
        defender_ways=_ways(origins.defender_origins, defenders) if defenders else np.zeros(1, dtype=np.int32),
        king_costs=np.where(king > 0, _KING_AWAY + _KING_STEP * king, 0).astype(np.int32),
        black_stuck=int(_stuck(variant, attackers)),
    )
