"""A family of games by side: the rules of Tablut on boards of side 7, 9, 11, …, 19.

The board of side N has four camps, one at the middle of each edge. A camp consists of the N - 6 middle cells of the
edge and the cell in front of the middle one, and an attacker stands on each of its cells. The defenders stand on the (N
- 5)/2 cells next to the castle in each direction. There are 4(N - 5) attackers and 2(N - 5) defenders.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tablut.errors import InputError, whole_number
from tablut.variants import Variant, load_variant

__all__ = ["SIDES", "scaled_tablut"]

FAMILY: Final = str(__doc__)
SIDES: Final = range(7, 20, 2)
"""Sides of the boards of the family."""


def scaled_tablut(side: int) -> Variant:
    """Return Tablut's game (``ashton``) on a board of another odd ``side`` from 7 to 19.

    Raises
    ------
    InputError
        If the family has no board of this side.

    Examples
    --------
    >>> game = scaled_tablut(11)
    >>> game.attackers, game.defenders, game.start[0], game.start[5]
    (24, 12, '...bbbbb...', 'bbwwwKwwwbb')
    >>> scaled_tablut(9).same_game(load_variant("ashton"))
    True
    """
    if whole_number("side", side, SIDES[0], SIDES[-1]) not in SIDES:
        raise InputError("expected an odd number", parameter="side", value=side)
    middle, terrain, start = side // 2, [["."] * side for _ in range(side)], [["."] * side for _ in range(side)]
    for rank in range(side):
        for file in range(side):
            # The rank and file, folded so that a camp lies at depth 0 or 1 and at most `across` cells off the middle.
            (depth, across), letter = min(
                ((min(rank, side - 1 - rank), abs(file - middle)), "AD"[rank > middle]),
                ((min(file, side - 1 - file), abs(rank - middle)), "BC"[file > middle]),
            )
            if across <= (0, middle - 3)[depth == 0] and depth < 2:
                terrain[rank][file], start[rank][file] = letter, "b"
            elif depth == 0:
                terrain[rank][file] = "+" if across == middle else "*"
            elif across == 0 and depth > 1:
                start[rank][file] = "w"
    terrain[middle][middle], start[middle][middle] = "T", "K"
    rows, title = [tuple(map("".join, one)) for one in (terrain, start)], f"Tablut on a board of side {side}"
    return replace(load_variant("ashton"), name=f"tablut-{side}", title=title, terrain=rows[0], start=rows[1])
