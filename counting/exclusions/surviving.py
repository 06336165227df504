"""The placements of a space that contain no locked set, by material and up to symmetry."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

from counting.exclusions.transfer import Term, Transfer, Variable
from counting.spaces import ATTACKER, DEFENDER, EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from counting.exclusions.sets import LockedSet
    from counting.exclusions.transfer import Filling
    from counting.material import Material
    from counting.spaces import KingPlacement, Space
    from symmetry import Symmetry
    from tablut.variants.model import Regions

_LETTERS = {ATTACKER: "b", DEFENDER: "w"}


def surviving(
    signed: Sequence[tuple[Space, int]],
    symmetry: Symmetry,
    sets: Collection[LockedSet],
    observe: Callable[[int, int], None] | None = None,
) -> Material:
    """Return how many placements without a locked set a symmetry leaves in place, by material."""
    space = signed[0][0]
    variant = space.variant
    regions = variant.regions
    kings = {placement.king for part, _ in signed for placement in part.kings}
    # A king that the symmetry moves is in no placement that it leaves in place.
    standing = regions.free_cells | regions.camp_cells | {king for king in kings if symmetry.table[king] == king}
    cycles = symmetry.cycles(standing)
    number = {cell: place for place, cycle in enumerate(cycles) for cell in cycle}
    terms: Counter[Filling] = Counter()
    for part, coefficient in signed:
        for placement in part.kings:
            if symmetry.table[placement.king] == placement.king:
                for filling, count in _terms(placement, symmetry, number, regions.camp_cells).items():
                    terms[filling] += coefficient * count
    transfer = Transfer(
        [Variable(_kind(regions, cycle[0]), len(cycle)) for cycle in cycles],
        [Term(filling, count) for filling, count in terms.items() if count],
        _on_cycles(sets, cycles, number),
        variant.attackers,
        variant.defenders,
    )
    return transfer.count(observe).within(space.attackers, space.defenders)


def _kind(regions: Regions, cell: int) -> str:
    return "camp" if cell in regions.camp_cells else "free" if cell in regions.free_cells else "royal"


def _terms(
    placement: KingPlacement, symmetry: Symmetry, number: Mapping[int, int], camp_cells: frozenset[int]
) -> Counter[Filling]:
    """Return a king with what must be around it, as a sum over what is forced there.

    The sum over the contents that belong is rewritten: a cell that must be empty is a cell
    with any contents, less one with an attacker, less one with a defender. Cells that do
    not matter are then forced to nothing.
    """
    cycles = symmetry.cycles(placement.watched)
    choices = [(EMPTY, ATTACKER) if cycle[0] in camp_cells else (EMPTY, ATTACKER, DEFENDER) for cycle in cycles]
    belongs: dict[tuple[int, ...], int] = {}
    for chosen in product(*choices):
        contents = {cell: content for cycle, content in zip(cycles, chosen, strict=True) for cell in cycle}
        belongs[chosen] = int(placement.admits(contents))
    for place in range(len(cycles)):
        belongs = {
            chosen: count - (belongs[(*chosen[:place], EMPTY, *chosen[place + 1 :])] if chosen[place] != EMPTY else 0)
            for chosen, count in belongs.items()
        }
    found: Counter[Filling] = Counter()
    for chosen, count in belongs.items():
        if count:
            forced = [
                (number[cycle[0]], _LETTERS[content])
                for cycle, content in zip(cycles, chosen, strict=True)
                if content != EMPTY
            ]
            found[frozenset([(number[placement.king], "K"), *forced])] += count
    return found


def _on_cycles(
    sets: Collection[LockedSet], cycles: Sequence[tuple[int, ...]], number: Mapping[int, int]
) -> set[Filling]:
    """Return the sets that a placement left in place can contain, in terms of cycles, the least only."""
    found: set[Filling] = set()
    for locked in sets:
        if all(cell in number for cell, _ in locked):
            filling = frozenset((number[cell], piece) for cell, piece in locked)
            single = len({cycle for cycle, _ in filling}) == len(filling)
            if single and not any(piece == "K" and len(cycles[cycle]) > 1 for cycle, piece in filling):
                found.add(filling)
    # Sets are small: all those that contain another one go.
    by_item: dict[tuple[int, str], list[Filling]] = {}
    for filling in found:
        by_item.setdefault(min(filling), []).append(filling)
    return {
        filling for filling in found if not any(other < filling for item in filling for other in by_item.get(item, ()))
    }
