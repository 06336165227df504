"""The naive twin of the formulas: every placement of a small board, one by one.

It uses nothing of `counting.spaces`: it reads the diagrams, finds the king's cells and
applies the rules to every single placement.
About 10^5 placements a second; meant for 5 x 5 boards.

Cells are (file, rank) pairs, a placement is (king, attackers, defenders).
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tablut.variants import VariantLike

Cell = tuple[int, int]
Cells = frozenset[Cell]
Placement = tuple[Cell, Cells, Cells]

_STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


class BruteForce:
    """All placements of a variant, sorted into the spaces of `counting.spaces`."""

    def __init__(self, variant: VariantLike) -> None:
        variant = as_variant(variant)
        self.variant = variant
        self.size = variant.size
        self.ground = _read(variant.terrain)
        self.pieces = _read(variant.start)
        self.castle = next((cell for cell, letter in self.ground.items() if letter == "T"), None)
        self.king_cells = self._explore()
        started = {self.ground[cell] for cell, piece in self.pieces.items() if piece == "b"}
        self.camp_cells = [cell for cell, letter in self.ground.items() if letter in "ABCD" and letter in started]
        self.open_cells = [cell for cell, letter in self.ground.items() if letter in ".*+"]

    def _explore(self) -> set[Cell]:
        """Where the king gets on an empty board without deciding the game."""
        start = next(cell for cell, piece in self.pieces.items() if piece == "K")
        seen, frontier = {start}, [start]
        rules = self.variant.rules.castle
        while frontier:
            cell = frontier.pop()
            for step in _STEPS:
                target = _add(cell, step)
                while self.ground.get(target, "A") not in "ABCD":
                    stops = target != self.castle or rules.stop == "king"
                    if stops and self.ground[target] not in "*X" and target not in seen:
                        seen.add(target)
                        frontier.append(target)
                    if target == self.castle and rules.passable == "nobody":
                        break
                    target = _add(target, step)
        return seen

    def placements(self) -> Iterator[Placement]:
        """Yield every placement with a king on a cell of its own or on an escape cell."""
        kings = sorted(self.king_cells | {cell for cell, letter in self.ground.items() if letter in "*X"})
        for king in kings:
            open_cells = [cell for cell in self.open_cells if cell != king]
            for attackers in range(self.variant.attackers + 1):
                for black in combinations(self.camp_cells + open_cells, attackers):
                    free = [cell for cell in open_cells if cell not in black]
                    for defenders in range(self.variant.defenders + 1):
                        for white in combinations(free, defenders):
                            yield king, frozenset(black), frozenset(white)

    def labels(self, placement: Placement) -> Iterator[str]:
        """Yield the ids of the spaces that a placement belongs to."""
        king, black, white = placement
        if king in self.king_cells:
            if not black:
                yield "all_captured"
                if not white and (not self.variant.rules.king.armed or self._never_moved(king)):
                    yield "excluded_all_captured"
                return
            yield "no_end"
            if self._captured(king, black):
                yield "king_captured"
                if self._never_moved(king) and not self._captured(king, self._starting("b")):
                    yield "excluded_no_end"
            return
        arrivals = self._arrivals(king, black | white)
        if not arrivals:
            return
        armed = self.variant.rules.king.armed
        if black:
            yield "escaped"
            if armed and any(self._takes(king, step, black, white) for step in _STEPS):
                yield "excluded_escaped"
        elif armed:
            yield "escaped_last"
            # A shieldwall takes soldiers that are not beside the king.
            beside = self.variant.rules.shieldwall is None
            if beside and not any(self._took(king, step, arrival, white) for arrival in arrivals for step in _STEPS):
                yield "excluded_escaped_last"

    def _starting(self, kind: str) -> Cells:
        return frozenset(cell for cell, piece in self.pieces.items() if piece == kind)

    def _never_moved(self, king: Cell) -> bool:
        return king == self.castle and self.variant.rules.castle.stop == "nobody"

    def _captured(self, king: Cell, black: Cells) -> bool:
        """Return whether the attackers hold the king, any of those beside it having just arrived."""
        sides = [_add(king, step) for step in _STEPS]
        rules = self.variant.rules
        hostile_ground = set()
        if rules.camps.hostile:
            hostile_ground |= {cell for cell, letter in self.ground.items() if letter in "ABCD"}
        if rules.corners.hostile:
            hostile_ground |= {cell for cell, letter in self.ground.items() if letter == "X"}
        strength = rules.king.elsewhere
        if king == self.castle:
            strength = rules.king.on_castle
            if strength == "four":
                hostile_ground = set()
        elif self.castle in sides and rules.king.beside_castle == "as_on_castle":
            strength = rules.king.on_castle
            hostile_ground.add(self.castle)
        elif strength == "four":
            hostile_ground = set()
        hostile = black | hostile_ground
        if strength == "four":
            return all(side in hostile for side in sides) and any(side in black for side in sides)
        return any(
            side in black and _add(king, _back(step)) in hostile for side, step in zip(sides, _STEPS, strict=True)
        )

    def _arrivals(self, escape: Cell, soldiers: Cells) -> list[Cell]:
        """Return the steps (from the escape cell) along which the king can have come."""
        found = []
        for step in _STEPS:
            cell = _add(escape, step)
            while self.ground.get(cell, "A") not in "ABCD" and cell not in soldiers:
                if cell in self.king_cells:
                    found.append(step)
                    break
                if cell == self.castle and self.variant.rules.castle.passable == "nobody":
                    break
                cell = _add(cell, step)
        return found

    def _anvil(self, cell: Cell, white: Cells) -> bool:
        """Return whether a cell is hostile to an attacker beside it."""
        letter, rules = self.ground.get(cell), self.variant.rules
        if letter is None:
            return False
        if cell in white:
            return True
        if letter in "ABCD":
            name = "abcdefghijk"[cell[0]] + str(cell[1] + 1)
            return rules.camps.hostile and name not in rules.camps.inert
        if letter == "T":
            return rules.castle.hostile_to_black != "never"
        return letter == "X" and rules.corners.hostile

    def _exposed(self, cell: Cell) -> bool:
        return not (self.ground.get(cell, "A") in "ABCD" and self.variant.rules.camps.shelter)

    def _takes(self, king: Cell, step: Cell, black: Cells, white: Cells) -> bool:
        """Return whether an arriving king captures the attacker beside it in a direction."""
        near = _add(king, step)
        return near in black and self._exposed(near) and self._anvil(_add(near, step), white)

    def _took(self, king: Cell, step: Cell, arrival: Cell, white: Cells) -> bool:
        """Return whether a king that came along ``arrival`` can have captured an attacker in a direction."""
        near = _add(king, step)
        if step == arrival or near in white or near not in self.camp_cells + self.open_cells:
            return False
        return self._exposed(near) and self._anvil(_add(near, step), white)

    def count(self) -> tuple[dict[str, Counter[tuple[int, int]]], dict[str, int]]:
        """Enumerate the placements."""
        size = self.size
        images = [
            {(cell % size, cell // size): (image % size, image // size) for cell, image in enumerate(symmetry.table)}
            for symmetry in self.variant.symmetries
        ]
        counts: dict[str, Counter[tuple[int, int]]] = {}
        classes: Counter[str] = Counter()
        for placement in self.placements():
            labels = list(self.labels(placement))
            if not labels:
                continue
            king, black, white = placement
            own = king, sorted(black), sorted(white)
            least = all(
                own <= (image[king], sorted(image[cell] for cell in black), sorted(image[cell] for cell in white))
                for image in images
            )
            for label in labels:
                counts.setdefault(label, Counter())[len(black), len(white)] += 1
                classes[label] += least
        return counts, dict(classes)


def _read(rows: tuple[str, ...]) -> dict[Cell, str]:
    return {(file, len(rows) - 1 - down): letter for down, row in enumerate(rows) for file, letter in enumerate(row)}


def _add(cell: Cell, step: Cell) -> Cell:
    return cell[0] + step[0], cell[1] + step[1]


def _back(step: Cell) -> Cell:
    return -step[0], -step[1]
