"""Terrain regions: which cells are castle, camp, escape, corner, and who may ever stand where.

Derived once from the terrain and start diagrams, so that no other module reads
a diagram. The king's region is found by letting it slide over the board emptied
of soldiers: a king on an escape cell has won, hence it never moves on from there,
and a cell that it can only reach over a decided position is not in the region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tablut.notation import square_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tablut.variants.rules import Rules

__all__ = ["CAMP_LETTERS", "DIRECTIONS", "Camp", "Regions", "derive_regions", "ray", "step"]

CAMP_LETTERS = "ABCD"
DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""North, east, south, west as (file, rank) steps."""


def step(cell: int, direction: tuple[int, int], size: int) -> int | None:
    """Return the neighbour of a cell in a direction, or None beyond the edge.

    Parameters
    ----------
    cell : int
        Index of the cell.
    direction : (int, int)
        A step in files and ranks.
    size : int
        Side of the board in cells.

    Returns
    -------
    int or None
        Index of the neighbour.

    Examples
    --------
    >>> step(40, (0, 1), 9), step(0, (-1, 0), 9)
    (49, None)
    """
    rank, file = divmod(cell, size)
    file, rank = file + direction[0], rank + direction[1]
    return rank * size + file if 0 <= file < size and 0 <= rank < size else None


def ray(cell: int, direction: tuple[int, int], size: int) -> Iterator[int]:
    """Yield the cells from a cell (excluded) to the edge.

    Parameters
    ----------
    cell : int
        Index of the cell.
    direction : (int, int)
        A step in files and ranks.
    size : int
        Side of the board in cells.

    Yields
    ------
    int
        The nearest cell first.

    Examples
    --------
    >>> list(ray(40, (1, 0), 9))
    [41, 42, 43, 44]
    """
    target = step(cell, direction, size)
    while target is not None:
        yield target
        target = step(target, direction, size)


@dataclass(frozen=True, slots=True)
class Camp:
    """A camp: cells that a soldier may leave and never enter.

    Attributes
    ----------
    letter : str
        ``A`` to ``D``.
    cells : frozenset of int
        Its cells.
    garrison : int
        How many attackers start in it; there are never more.
    """

    letter: str
    cells: frozenset[int]
    garrison: int


@dataclass(frozen=True, slots=True)
class Regions:
    """The cells of a variant by what may happen on them; all sets of cell indices.

    Attributes
    ----------
    size : int
        Side of the board in cells.
    castle : int
        The one castle cell.
    camps : tuple of Camp
        In the order of their letters.
    escapes : frozenset of int
        Cells on which the king has won (``*`` and ``X``).
    royal_corners : frozenset of int
        ``X`` corners, which only a king may enter.
    king_cells : frozenset of int
        Where the king of an undecided position may stand.
    camp_cells : frozenset of int
        Where attackers may stand and defenders may not: the cells of camps with a garrison.
    free_cells : frozenset of int
        Where soldiers of both colours may stand.
    approaches : dict of int to tuple of frozenset of int
        For each escape cell that the king can reach: one set a direction from which
        it can arrive, of the soldier cells that are empty after it did.
    """

    size: int
    castle: int
    camps: tuple[Camp, ...]
    escapes: frozenset[int]
    royal_corners: frozenset[int]
    king_cells: frozenset[int]
    camp_cells: frozenset[int]
    free_cells: frozenset[int]
    approaches: dict[int, tuple[frozenset[int], ...]]

    def named(self) -> dict[str, list[str]]:
        """Return the regions by name, their cells as square names in the order of indices."""
        sets = {
            "castle": {self.castle},
            **{f"camp {camp.letter}": camp.cells for camp in self.camps},
            "escapes": self.escapes,
            "escapes that the king can reach": self.approaches.keys(),
            "king": self.king_cells,
            "attackers only": self.camp_cells,
            "soldiers of both sides": self.free_cells,
        }
        return {name: [square_name(cell, self.size) for cell in sorted(cells)] for name, cells in sets.items()}

    def neighbours(self, cell: int) -> tuple[int, ...]:
        """Return the cells that share an edge with a cell, in the order north, east, south, west.

        Parameters
        ----------
        cell : int
            Index of the cell.

        Returns
        -------
        tuple of int
            Two to four cells.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> load_variant("ashton").regions.neighbours(0)
        (9, 1)
        """
        found = (step(cell, direction, self.size) for direction in DIRECTIONS)
        return tuple(cell for cell in found if cell is not None)


def derive_regions(size: int, terrain: str, start: str, rules: Rules) -> Regions:
    """Derive the regions of a variant from its diagrams.

    Parameters
    ----------
    size : int
        Side of the board in cells.
    terrain, start : str
        The diagrams in the order of cell indices (see `tablut.notation.diagram_cells`),
        already validated.
    rules : Rules
        Only who may pass and stop on the castle is read.

    Returns
    -------
    Regions
        All regions, with the escape cells' approaches.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> rules = load_variant("ashton").rules
    >>> regions = derive_regions(3, "*...T..A.", "....K..b.", rules)
    >>> regions.castle, sorted(regions.escapes), sorted(regions.free_cells)
    (4, [0], [0, 1, 2, 3, 5, 6, 8])
    """
    cells = range(size * size)
    castle = terrain.index("T")
    camps = tuple(
        Camp(
            letter,
            frozenset(cell for cell in cells if terrain[cell] == letter),
            sum(terrain[cell] == letter and start[cell] == "b" for cell in cells),
        )
        for letter in CAMP_LETTERS
        if letter in terrain
    )
    escapes = frozenset(cell for cell in cells if terrain[cell] in "*X")
    free_cells = frozenset(cell for cell in cells if terrain[cell] in ".*+")
    ways = _Ways(size, terrain, castle, rules)
    king_cells = ways.king_cells(start.index("K"), escapes)
    approaches = {
        escape: found for escape in sorted(escapes) if (found := ways.back_from(escape, king_cells, free_cells))
    }
    return Regions(
        size=size,
        castle=castle,
        camps=camps,
        escapes=escapes,
        royal_corners=frozenset(cell for cell in cells if terrain[cell] == "X"),
        king_cells=king_cells,
        camp_cells=frozenset(cell for camp in camps if camp.garrison for cell in camp.cells),
        free_cells=free_cells,
        approaches=approaches,
    )


class _Ways(NamedTuple):
    """Where the terrain lets a king go that is alone on the board."""

    size: int
    terrain: str
    castle: int
    rules: Rules

    def king_cells(self, start: int, escapes: frozenset[int]) -> frozenset[int]:
        """Return the cells on which the king may stand while the game goes on."""
        reached, pending = {start}, [start]
        while pending:
            cell = pending.pop()
            for direction in DIRECTIONS:
                for target in self._landings(cell, direction):
                    if target not in reached and target not in escapes:
                        reached.add(target)
                        pending.append(target)
        return frozenset(reached)

    def back_from(
        self, escape: int, king_cells: frozenset[int], free_cells: frozenset[int]
    ) -> tuple[frozenset[int], ...]:
        """Return, for each direction in which there is one, the way from an escape cell back to a king cell."""
        found = (self._way_back(escape, direction, king_cells, free_cells) for direction in DIRECTIONS)
        return tuple(way for way in found if way is not None)

    def _landings(self, cell: int, direction: tuple[int, int]) -> Iterator[int]:
        """Yield the cells on which a king that slides over a board without soldiers may stop."""
        for target in ray(cell, direction, self.size):
            if self.terrain[target] in CAMP_LETTERS:
                return
            if target != self.castle or self.rules.castle.stop == "king":
                yield target
            if target == self.castle and self.rules.castle.passable == "nobody":
                return

    def _way_back(
        self, escape: int, direction: tuple[int, int], king_cells: frozenset[int], free_cells: frozenset[int]
    ) -> frozenset[int] | None:
        """Return the soldier cells from an escape cell back to the nearest king cell, that one included."""
        way = set()
        for cell in ray(escape, direction, self.size):
            if cell in free_cells:
                way.add(cell)
            if cell in king_cells:
                return frozenset(way)
            if self.terrain[cell] in CAMP_LETTERS or (cell == self.castle and self.rules.castle.passable == "nobody"):
                return None
        return None
