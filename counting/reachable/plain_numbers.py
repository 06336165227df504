"""Position numbers in plain Python, apart from the compiled drawer: for checks.

The space is enumerated from the variant's regions as the docs define it, by its own sums and its own
unranking, so that an error of `tablut.indexing` would show.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from tablut.errors import InputError
from tablut.rules import NaivePosition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counting.reachable.naive import NaiveReach
    from tablut.rules.naive import Cell


def _by_index(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells in the order of their indices: rank by rank."""
    return sorted(cells, key=lambda cell: (cell[1], cell[0]))


def _ways(reach: NaiveReach, king: Cell, attackers: int, defenders: int) -> int:
    """Return how many placements have this king and material."""
    free, every = len(reach.cells["w"] - {king}), len(reach.cells["b"] - {king})
    return comb(free, defenders) * comb(every - defenders, attackers)


def plain_size(reach: NaiveReach) -> int:
    """Return how many positions there are, with either side to move."""
    return 2 * sum(
        _ways(reach, king, attackers, defenders)
        for attackers in range(1, reach.most["b"] + 1)
        for defenders in range(reach.most["w"] + 1)
        for king in reach.cells["K"]
    )


def plain_position(reach: NaiveReach, number: int) -> NaivePosition:
    """Return the position of a number."""
    rank, side = divmod(number, 2)
    for attackers in range(1, reach.most["b"] + 1):
        for defenders in range(reach.most["w"] + 1):
            for king in _by_index(reach.cells["K"]):
                ways = _ways(reach, king, attackers, defenders)
                if rank >= ways:
                    rank -= ways
                    continue
                left = len(reach.cells["b"] - {king}) - defenders
                white, black = divmod(rank, comb(left, attackers))
                pieces = {king: "K"}
                for piece, count, place in (("w", defenders, white), ("b", attackers, black)):
                    cells = [cell for cell in _by_index(reach.cells[piece]) if cell not in pieces]
                    pieces.update(dict.fromkeys(_combination(cells, count, place), piece))
                return NaivePosition(pieces, "wb"[side])
    raise InputError(f"position number {number}: {reach.variant.name} has 0 to {plain_size(reach) - 1}")


def _combination(cells: list[Cell], count: int, rank: int) -> list[Cell]:
    """Return the combination of a rank: its last cell is the greatest that fits, and so on downwards."""
    chosen = []
    for number in range(count, 0, -1):
        place = max(place for place in range(number - 1, len(cells)) if comb(place, number) <= rank)
        rank -= comb(place, number)
        chosen.append(cells[place])
    return chosen


def plain_number(size: int, seed: int, index: int) -> int:
    """Return the number of a sample: the first below ``size`` in its stream of numpy's Philox."""
    from numpy.random import Philox

    words = Philox(key=seed, counter=index << 64)
    bits = (size - 1).bit_length()
    number = size
    while number >= size:
        low, high = int(words.random_raw()), int(words.random_raw())
        number = (high << 64 | low) % (1 << bits)
    return number
