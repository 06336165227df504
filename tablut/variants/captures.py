"""What captures what, as far as the terrain decides it: anvils, and the ways in which a king falls.

Nothing here moves a piece. A capture is active, so a pattern says which soldiers
must stand around the captured piece once the capturing one has arrived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tablut.notation import parse_square
from tablut.variants.regions import DIRECTIONS, step

if TYPE_CHECKING:
    from tablut.variants.model import Variant

__all__ = ["KingPattern", "anvils_against_attackers", "king_patterns"]


class KingPattern(NamedTuple):
    """One way to capture a king on a given cell.

    Attributes
    ----------
    attackers : frozenset of int
        The cells, next to the king, on which attackers must stand; at least one.
    terrain : bool
        Whether a camp or an ``X`` corner stands in for an attacker.
    """

    attackers: frozenset[int]
    terrain: bool


def king_patterns(variant: Variant, king: int) -> tuple[KingPattern, ...]:
    """Return the minimal sets of attackers that capture a king on a cell.

    Parameters
    ----------
    variant : Variant
        The rule set.
    king : int
        A cell of ``variant.regions.king_cells``.

    Returns
    -------
    tuple of KingPattern
        Without duplicates and without supersets of one another; empty where the king
        cannot be captured.

    Examples
    --------
    In front of the tip of ashton's southern camp, a soldier facing the camp captures,
    and so do two soldiers across:

    >>> from tablut.variants import load_variant
    >>> [sorted(pattern.attackers) for pattern in king_patterns(load_variant("ashton"), 22)]
    [[31], [21, 23]]
    """
    regions, rules = variant.regions, variant.rules
    soldier_cells = regions.free_cells | regions.camp_cells
    hostile = set()
    if rules.camps.hostile:
        hostile |= {cell for camp in regions.camps for cell in camp.cells}
    if rules.corners.hostile:
        hostile |= regions.royal_corners

    sides = [step(king, direction, regions.size) for direction in DIRECTIONS]
    on_castle = king == regions.castle
    beside_castle = regions.castle in sides and rules.king.beside_castle == "as_on_castle"
    anvils = hostile | {regions.castle} if beside_castle else hostile
    surrounded = (rules.king.on_castle if on_castle or beside_castle else rules.king.elsewhere) == "four"

    if surrounded:
        if None in sides:
            return ()
        # Only beside the castle does terrain count among the four sides.
        helping = anvils.intersection(sides) if beside_castle else set()
        needed = frozenset(cell for cell in sides if cell is not None and cell not in helping)
        # Where terrain does it all, a soldier that arrives on one of the sides still has to capture.
        sets = [needed] if needed else [frozenset({cell}) for cell in helping]
        by_terrain = bool(helping - {regions.castle})
        return tuple(KingPattern(attackers, by_terrain) for attackers in sets if attackers <= soldier_cells)

    found: dict[frozenset[int], bool] = {}
    for near, far in ((sides[0], sides[2]), (sides[2], sides[0]), (sides[1], sides[3]), (sides[3], sides[1])):
        # The capturing soldier has arrived at `near`; `far` must be hostile behind the king.
        if near is None or far is None or near not in soldier_cells:
            continue
        if far in anvils:
            found[frozenset({near})] = far != regions.castle
        elif far in soldier_cells:
            found.setdefault(frozenset({near, far}), False)
    return tuple(
        KingPattern(attackers, terrain)
        for attackers, terrain in found.items()
        if not any(other < attackers for other in found)
    )


def anvils_against_attackers(variant: Variant) -> frozenset[int]:
    """Return the cells that are hostile to an attacker by terrain alone, the castle being empty.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    frozenset of int
        Camp cells, ``X`` corners and the castle, as the rule fields say.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> len(anvils_against_attackers(load_variant("ashton")))  # 16 camp cells and the castle
    17
    >>> len(anvils_against_attackers(load_variant("bologna")))  # four of the camp cells are inert
    13
    """
    regions, rules = variant.regions, variant.rules
    anvils: set[int] = set()
    if rules.camps.hostile:
        inert = {parse_square(name, regions.size) for name in rules.camps.inert}
        anvils |= {cell for camp in regions.camps for cell in camp.cells} - inert
    if rules.corners.hostile:
        anvils |= regions.royal_corners
    if rules.castle.hostile_to_black != "never":
        anvils.add(regions.castle)
    return frozenset(anvils)
