"""Spaces of placements, and counts of the placements in each space by material.

A *placement* is an arrangement of pieces on the board. Its *material* is the number of attackers and the number of
defenders. A space is defined by king cells and by ranges for the material. Each king cell has a small neighbourhood,
which contains the king's arrival path or the soldiers that capture the king. Summing over its contents counts a union
of patterns without counting any placement twice. Restricting the sum to the contents that a symmetry preserves yields
the number of fixed points, which Burnside's lemma requires (`fixed_material`).

Arrangements of soldiers are counted by polynomials in x (attackers) and y (defenders), truncated at the starting
material: (1 + x)^camp · (1 + x + y)^free. If the defenders are placed first, the coefficients have a closed form:
C(free, d) · C(camp + free - d, a). If a symmetry preserves an arrangement, all cells of a cycle have the same contents,
and x and y are replaced by powers of themselves. All numbers are Python integers.

The sizes of the spaces are upper bounds on the numbers of reachable placements. The placements in the ``excluded``
spaces are proved unreachable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import comb
from operator import add

from symmetry import Symmetry, count_orbits
from tablut.indexing.placements import (
    ATTACKER,
    DEFENDER,
    EMPTY,
    ENDINGS,
    Contents,
    KingPlacement,
    Kings,
    captured_kings,
    escaped_kings,
    final_kings,
    undecided_kings,
)
from tablut.variants import Variant, VariantLike, as_variant
from tablut.variants.model import DIRECTIONS, derived, step
from tablut.work.files import brief

CycleType = tuple[tuple[int, int], ...]
"""Sorted pairs (cycle length, number of cycles of that length)."""


@dataclass(frozen=True, slots=True)
class CountsByMaterial:
    """A table of counts, one for each pair (attackers, defenders)."""

    rows: tuple[tuple[int, ...], ...]

    @classmethod
    def zero(cls, attackers: int, defenders: int) -> CountsByMaterial:
        """Return the zero polynomial, truncated at the given numbers of soldiers."""
        return cls(((0,) * (defenders + 1),) * (attackers + 1))

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(map(sum, self.rows))

    def pairs(self) -> Iterator[tuple[int, int, int]]:
        """Yield (attackers, defenders, count) for each material, including zero counts."""
        for attackers, row in enumerate(self.rows):
            for defenders, count in enumerate(row):
                yield attackers, defenders, count

    def within(self, attackers: range, defenders: range) -> CountsByMaterial:
        """Return a copy in which all counts outside the given ranges are zero."""
        return CountsByMaterial(
            tuple(
                tuple(count if a in attackers and d in defenders else 0 for d, count in enumerate(row))
                for a, row in enumerate(self.rows)
            )
        )

    def shifted(self, attackers: int, defenders: int) -> CountsByMaterial:
        """Multiply this polynomial by x^attackers · y^defenders, to add soldiers on fixed cells."""
        width, height = len(self.rows[0]), len(self.rows)
        empty = (0,) * width
        moved = [((0,) * defenders + row)[:width] for row in self.rows]
        return CountsByMaterial(tuple(([empty] * attackers + moved)[:height]))

    def __add__(self, other: CountsByMaterial) -> CountsByMaterial:
        rows = zip(self.rows, other.rows, strict=True)
        return CountsByMaterial(tuple(tuple(map(add, mine, theirs)) for mine, theirs in rows))

    def __sub__(self, other: CountsByMaterial) -> CountsByMaterial:
        return self + -1 * other

    def __rmul__(self, factor: int) -> CountsByMaterial:
        return CountsByMaterial(tuple(tuple(factor * count for count in row) for row in self.rows))

    def __matmul__(self, other: CountsByMaterial) -> CountsByMaterial:
        """Multiply the polynomials, and truncate the product at the same material."""
        height, width = len(self.rows), len(self.rows[0])
        product = [[0] * width for _ in range(height)]
        terms = [(a, d, count) for a, d, count in other.pairs() if count]
        for a, d, count in self.pairs():
            if count:
                for a2, d2, count2 in terms:
                    if a + a2 < height and d + d2 < width:
                        product[a + a2][d + d2] += count * count2
        return CountsByMaterial(tuple(map(tuple, product)))


@cache
def soldiers(camp: CycleType, free: CycleType, attackers: int, defenders: int) -> CountsByMaterial:
    """Return the number of arrangements of soldiers that a symmetry preserves, by material.

    The symmetry is given by its cycle types on the camp cells and on the free cells.
    """
    camps, frees = dict(camp), dict(free)
    product = CountsByMaterial(((1, *(0,) * defenders), *((0,) * (defenders + 1),) * attackers))
    for length in camps.keys() | frees.keys():
        camp_cycles, free_cycles = camps.get(length, 0), frees.get(length, 0)
        rows = [[0] * (defenders + 1) for _ in range(attackers + 1)]
        for d in range(min(defenders // length, free_cycles) + 1):
            for a in range(attackers // length + 1):
                rows[a * length][d * length] = comb(free_cycles, d) * comb(camp_cycles + free_cycles - d, a)
        product = product @ CountsByMaterial(tuple(map(tuple, rows)))
    return product


# -- spaces ------------------------------------------------------------------------------


FINAL: tuple[str, ...] = ENDINGS
"""Ids of the spaces of final placements. Each space corresponds to one way to end a game."""

DESCRIPTIONS = {
    "no_end": "undecided",
    "all_captured": "all attackers captured",
    "escaped": "king escaped, attackers left",
    "escaped_last": "king escaped and took the last attacker",
    "king_captured": "king captured, each placement once",
    "excluded_no_end": "undecided, with the king besieged on the castle, which it has never left",
    "excluded_all_captured": "all attackers captured, although white's only piece is a king that cannot have captured",
    "excluded_escaped": "king escaped, next to an attacker that its arrival would have captured",
    "excluded_escaped_last": "king escaped, although its arrival cannot have captured the last attacker",
}
"""Descriptions of the spaces, by id. Each ``excluded`` space is a part of another space."""


@brief
@dataclass(frozen=True, slots=True)
class Space:
    """A set of placements in one variant."""

    id: str
    description: str
    variant: Variant
    kings: tuple[KingPlacement, ...]
    attackers: range
    defenders: range

    def material(self) -> CountsByMaterial:
        """Return the number of placements by material."""
        return fixed_material(self, self.variant.symmetries[0])

    def value(self) -> int:
        """Return the number of placements."""
        return self.material().total()


def king_groups(space: Space, symmetry: Symmetry) -> dict[tuple[CycleType, CycleType], Counter[tuple[int, int]]]:
    """Return, for each cycle type of the cells outside the neighbourhoods, the contents of these neighbourhoods.

    The contents are counted by their numbers of attackers and defenders.
    """
    regions = space.variant.regions
    tally: dict[tuple[CycleType, CycleType], Counter[tuple[int, int]]] = {}
    for placement in space.kings:
        if symmetry.table[placement.king] != placement.king:
            continue
        outside = placement.watched | {placement.king}
        camp = tuple(sorted(symmetry.cycle_type(regions.camp_cells - outside).items()))
        free = tuple(sorted(symmetry.cycle_type(regions.free_cells - outside).items()))
        counts = tally.setdefault((camp, free), Counter())
        for _, contents in placement.contents(symmetry, regions.camp_cells):
            if placement.admits(contents):
                held = Counter(contents.values())
                counts[held[ATTACKER], held[DEFENDER]] += 1
    return tally


def fixed_material(space: Space, symmetry: Symmetry) -> CountsByMaterial:
    """Return the number of placements in a space that a symmetry preserves, by material."""
    most = space.variant.attackers, space.variant.defenders
    total = CountsByMaterial.zero(*most)
    for (camp, free), counts in king_groups(space, symmetry).items():
        ways = soldiers(camp, free, *most)
        for (attackers, defenders), count in counts.items():
            if attackers <= most[0] and defenders <= most[1]:
                total += count * ways.shifted(attackers, defenders)
    return total.within(space.attackers, space.defenders)


def classes(space: Space, group: tuple[Symmetry, ...] | None = None) -> int:
    """Return the number of classes of placements in a space under a group, by default the variant's symmetries."""
    return count_orbits(
        space.variant.symmetries if group is None else group, lambda symmetry: fixed_material(space, symmetry).total()
    )


def classes_by_material(space: Space) -> dict[tuple[int, int], int]:
    """Return the number of classes of placements in a space under the variant's symmetries, for each material."""
    group = space.variant.symmetries
    fixed = {symmetry.name: fixed_material(space, symmetry) for symmetry in group}

    def orbits(attackers: int, defenders: int) -> int:
        return count_orbits(group, lambda symmetry: fixed[symmetry.name].rows[attackers][defenders])

    pairs = fixed[group[0].name].pairs()
    return {(attackers, defenders): orbits(attackers, defenders) for attackers, defenders, count in pairs if count}


def spaces(variant: VariantLike) -> Mapping[str, Space]:
    """Return a variant's spaces by id."""
    return _spaces(as_variant(variant))


@derived
def _spaces(variant: Variant) -> Mapping[str, Space]:
    any_number, none = range(1, variant.attackers + 1), range(1)
    defenders = range(variant.defenders + 1)
    listed: dict[str, Kings] = {
        "no_end": (undecided_kings(variant), any_number, defenders),
        **{str(ending): kings for ending, kings in final_kings(variant).items()},
        "excluded_no_end": (_besieged_at_home(variant), any_number, defenders),
        "excluded_all_captured": (_idle_kings(variant), none, none),
        "excluded_escaped": (_escaped_past_a_capture(variant), any_number, defenders),
        "excluded_escaped_last": (_escaped_without_capture(variant), none, defenders),
    }
    return {id_: Space(id_, DESCRIPTIONS[id_], variant, *space) for id_, space in listed.items()}


def _never_returns(variant: Variant) -> bool:
    """Return whether the rules imply that a king on the castle has never moved."""
    return variant.rules.castle.stop == "nobody" and variant.regions.castle in variant.regions.king_cells


def _besieged_at_home(variant: Variant) -> tuple[KingPlacement, ...]:
    """Return the undecided placements where the king is on the castle inside a complete capture pattern.

    A king that has never moved cannot have stepped into the pattern, so the pattern's last soldier captured it on
    arrival. If the starting position itself contains a complete pattern, nothing is returned.
    """
    castle = variant.regions.castle
    if castle is None or not _never_returns(variant):
        return ()
    start = "".join(reversed(variant.start))
    if any(all(start[cell] == "b" for cell in pattern.attackers) for pattern in variant.regions.king_patterns[castle]):
        return ()
    return tuple(placement for placement in captured_kings(variant) if placement.king == castle)


def _idle_kings(variant: Variant) -> tuple[KingPlacement, ...]:
    """Return the placements with a king that is unarmed or has never moved, and cannot have captured an attacker."""
    regions = variant.regions
    if not variant.rules.king.armed:
        idle = regions.king_cells
    else:
        idle = regions.castles if _never_returns(variant) else frozenset()
    return tuple(KingPlacement(king) for king in sorted(idle))


def _capturable_beside(variant: Variant, king: int) -> list[tuple[int, int]]:
    """Return the cells on which an arriving king can capture an adjacent attacker, each with the cell behind it."""
    regions = variant.regions
    sheltered = regions.camp_terrain if variant.rules.camps.shelter else frozenset()
    anvils = regions.anvils["black"]
    pairs = []
    for direction in DIRECTIONS:
        near = step(king, direction, regions.size)
        if near is None or near in sheltered or near not in regions.soldier_cells:
            continue
        behind = step(near, direction, regions.size)
        if behind is not None and (behind in anvils or behind in regions.free_cells):
            pairs.append((near, behind))
    return pairs


def _escaped_past_a_capture(variant: Variant) -> tuple[KingPlacement, ...]:
    """Return the placements with an escaped king next to an attacker that the king's arrival would have captured."""
    if not variant.rules.king.armed:
        return ()
    regions, anvils = variant.regions, variant.regions.anvils["black"]

    def placement(escaped: KingPlacement) -> KingPlacement:
        # A cell that every path crosses was empty before the move, so nothing can have been captured on it.
        crossed = frozenset.intersection(*regions.approaches[escaped.king])
        pairs = [pair for pair in _capturable_beside(variant, escaped.king) if pair[0] not in crossed]
        watched = escaped.watched.union(*pairs) & regions.soldier_cells

        def admits(contents: Contents) -> bool:
            return escaped.admits(contents) and any(
                contents[near] == ATTACKER and (behind in anvils or contents[behind] == DEFENDER)
                for near, behind in pairs
            )

        return KingPlacement(escaped.king, watched, admits)

    return tuple(placement(escaped) for escaped in escaped_kings(variant))


def _escaped_without_capture(variant: Variant) -> tuple[KingPlacement, ...]:
    """Return the placements without attackers where the escaping move cannot have captured the last attacker.

    Nothing is returned for rules with shieldwalls, which capture attackers that are not next to the king.
    """
    if not variant.rules.king.armed or variant.rules.shieldwall is not None:
        return ()
    regions, anvils = variant.regions, variant.regions.anvils["black"]

    def placement(escaped: KingPlacement) -> KingPlacement:
        ways = regions.approaches[escaped.king]
        pairs = _capturable_beside(variant, escaped.king)
        watched = escaped.watched.union(*pairs) & regions.soldier_cells

        def took_one(contents: Contents, way: frozenset[int]) -> bool:
            # The captured soldier stood on a cell that is now empty and that is not on the path by which the king
            # arrived.
            return any(
                near not in way and contents[near] == EMPTY and (behind in anvils or contents[behind] == DEFENDER)
                for near, behind in pairs
            )

        def admits(contents: Contents) -> bool:
            open_ways = [way for way in ways if all(contents[cell] == EMPTY for cell in way)]
            return bool(open_ways) and not any(took_one(contents, way) for way in open_ways)

        return KingPlacement(escaped.king, watched, admits)

    return tuple(placement(escaped) for escaped in escaped_kings(variant))
