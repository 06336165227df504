"""The minimal locked sets of a rule set, found by program.

A set of pieces is locked if each of them is shut in or active among the others, and if it
is not part of the start (``docs/reachable.md``). It is minimal if no part of it is locked.
`counting.reachable.plain` answers whether a piece could have arrived last; here the sets
are only put together: from each piece that is not part of the start, a search adds what
could satisfy the first piece that nothing satisfies yet.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING

from counting.reachable.plain import NaiveReach

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from symmetry import Symmetry
    from tablut.rules.naive import Cell
    from tablut.variants import Variant

LockedSet = frozenset[tuple[int, str]]
"""Pieces on their cells: pairs of a cell and ``b``, ``w`` or ``K``."""

_Pieces = dict["Cell", str]
_STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def is_locked(reach: NaiveReach, pieces: _Pieces) -> bool:
    """Return whether every piece of a set is shut in or active, and the set is not part of the start."""
    return any(reach.start.pieces.get(cell) != piece for cell, piece in pieces.items()) and not any(
        reach.could_arrive(pieces, cell) for cell in pieces
    )


@lru_cache(maxsize=32)
def locked_sets(variant: Variant, pieces: int) -> tuple[LockedSet, ...]:
    """Return all minimal locked sets of a rule set with at most so many pieces."""
    search = _Search(variant, pieces)
    every = range(variant.size**2)
    for cell in sorted({min(symmetry.table[cell] for symmetry in variant.start_symmetries) for cell in every}):
        for piece in "bwK":
            place = search.place(cell)
            if place in search.reach.cells[piece] and search.reach.start.pieces.get(place) != piece:
                search.grow(frozenset({(place, piece)}))
    placed = [frozenset((y * search.size + x, piece) for (x, y), piece in grown) for grown in search.found]
    found = {_image(grown, symmetry) for grown in placed for symmetry in variant.start_symmetries}
    return tuple(sorted(_minimal(found), key=lambda found: (len(found), sorted(found))))


def without_king(sets: tuple[LockedSet, ...]) -> tuple[LockedSet, ...]:
    """Return the sets without a king; they stand in no final position either."""
    return tuple(found for found in sets if all(piece != "K" for _, piece in found))


def symmetries_of(variant: Variant, sets: Collection[LockedSet]) -> tuple[Symmetry, ...]:
    """Return the symmetries of the rules that map a family of sets to itself.

    Those that keep the start are among them. A family can have more: it depends on the start, but
    not on all of it.
    """
    family = frozenset(sets)
    return tuple(
        symmetry for symmetry in variant.symmetries if all(_image(found, symmetry) in family for found in family)
    )


def orbits_of_sets(sets: tuple[LockedSet, ...], symmetries: tuple[Symmetry, ...]) -> list[tuple[LockedSet, int]]:
    """Return one set of each orbit, with the size of the orbit."""
    orbits: dict[LockedSet, int] = {}
    for found in sets:
        least = min((_image(found, symmetry) for symmetry in symmetries), key=sorted)
        orbits[least] = orbits.get(least, 0) + 1
    return list(orbits.items())


def _image(found: LockedSet, symmetry: Symmetry) -> LockedSet:
    return frozenset((symmetry.table[cell], piece) for cell, piece in found)


def _minimal(sets: set[LockedSet]) -> list[LockedSet]:
    """Return the sets of which no part is another."""
    return [
        found
        for found in sets
        if not any(frozenset(part) in sets for size in range(1, len(found)) for part in combinations(found, size))
    ]


class _Search:
    """Grows sets until every piece is satisfied."""

    def __init__(self, variant: Variant, pieces: int) -> None:
        self.reach = NaiveReach(variant)
        self.size, self.most = variant.size, pieces
        self.castle = self.reach.game.castle
        self.found: set[frozenset[tuple[Cell, str]]] = set()
        self._seen: set[frozenset[tuple[Cell, str]]] = set()

    def place(self, cell: int) -> Cell:
        return cell % self.size, cell // self.size

    def grow(self, grown: frozenset[tuple[Cell, str]]) -> None:
        """Add what satisfies the first piece that could still have arrived last, in every way."""
        if grown in self._seen:
            return
        self._seen.add(grown)
        pieces = dict(grown)
        open_cell = next((cell for cell in sorted(pieces) if self.reach.could_arrive(pieces, cell)), None)
        if open_cell is None:
            self.found.add(grown)
            return
        room = self.most - len(grown)
        enough: list[frozenset[tuple[Cell, str]]] = []
        for more in sorted(self._additions(pieces, open_cell, room), key=lambda more: (len(more), sorted(more))):
            if not any(part <= more for part in enough) and not self.reach.could_arrive(
                {**pieces, **dict(more)}, open_cell
            ):
                enough.append(more)
        for more in enough:
            self.grow(grown | more)

    def _additions(self, pieces: _Pieces, cell: Cell, room: int) -> set[frozenset[tuple[Cell, str]]]:
        """Return everything that could make a piece shut in or active, and more: none is too much."""
        found: set[frozenset[tuple[Cell, str]]] = set()
        piece = pieces[cell]
        contents = "bw" if "K" in pieces.values() else "bwK"

        def offer(cells: tuple[Cell, ...], letters: str) -> None:
            missing = tuple(near for near in cells if near not in pieces)
            if not 0 < len(missing) <= room:
                return
            for chosen in product(letters, repeat=len(missing)):
                if chosen.count("K") < 2 and all(
                    near in self.reach.cells[letter] for near, letter in zip(missing, chosen, strict=True)
                ):
                    found.add(frozenset(zip(missing, chosen, strict=True)))

        lines = [(_add(cell, step), _add(cell, step, 2)) for step in _STEPS]
        for near, far in lines:  # a victim and an anvil
            offer((near,), contents)
            offer((far,), contents)
            offer((near, far), contents)
        for blockers in product(*[(None, near, far) for near, far in lines]):  # shut in
            offer(tuple(blocker for blocker in blockers if blocker is not None), contents)
        if piece == "b":  # a king that is surrounded
            for near, _ in lines:
                if pieces.get(near, "K") == "K":
                    others = [_add(near, step) for step in _STEPS if _add(near, step) != cell]
                    for count in range(4):
                        for held in combinations(others, count):
                            for more in self._with_king(pieces, near, held, room):
                                found.add(more)
        if any(self.castle in line for line in lines):  # what the castle is depends on the king, and on who besieges it
            for more in self._about_the_castle(pieces, lines, room):
                found.add(more)
        return found

    def _with_king(
        self, pieces: _Pieces, king: Cell, held: tuple[Cell, ...], room: int
    ) -> Iterator[frozenset[tuple[Cell, str]]]:
        """Yield a king with attackers around it."""
        wanted = [(king, "K"), *((cell, "b") for cell in held)]
        if any(pieces.get(cell, letter) != letter or cell not in self.reach.cells[letter] for cell, letter in wanted):
            return
        if "K" in pieces.values() and king not in pieces:
            return
        missing = frozenset(pair for pair in wanted if pair[0] not in pieces)
        if 0 < len(missing) <= room:
            yield missing

    def _about_the_castle(
        self, pieces: _Pieces, lines: list[tuple[Cell, Cell]], room: int
    ) -> Iterator[frozenset[tuple[Cell, str]]]:
        """Yield victims beside the castle, together with a king elsewhere or with besiegers."""
        victims = [near for near, far in lines if self.castle in (near, far)]
        kings = [None] if "K" in pieces.values() else [None, *sorted(self.reach.cells["K"])]
        around = [_add(self.castle, step) for step in _STEPS]
        for near, king, count in product(victims, kings, range(4)):
            for besiegers in combinations(around, count):
                for victim in (None, "b", "w"):
                    wanted: dict[Cell, str] = dict.fromkeys(besiegers, "b")
                    if king is not None:
                        wanted[king] = "K"
                    if victim is not None:
                        wanted[near] = victim
                    missing = frozenset(pair for pair in wanted.items() if pair[0] not in pieces)
                    legal = all(
                        cell in self.reach.cells[letter] and pieces.get(cell, letter) == letter
                        for cell, letter in wanted.items()
                    )
                    if legal and 0 < len(missing) <= room:
                        yield missing


def _add(cell: Cell, step: tuple[int, int], times: int = 1) -> Cell:
    return cell[0] + times * step[0], cell[1] + times * step[1]
