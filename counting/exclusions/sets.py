"""Definition of locked sets in terms of the naive rules, and a search for a rule set's minimal locked sets.

A set of pieces is locked if none of its pieces could have been the last to arrive (`Arrivals`) and if the set is not
part of the starting position (``docs/reachable.md``). It is minimal if no proper subset is locked. The search begins
with single pieces that are not part of the starting position. In each step, it takes the first piece that could still
have arrived last, and adds pieces that rule this out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, product
from typing import Final

from symmetry import Symmetry
from tablut.position import parse_square, square_name
from tablut.rules import NaiveGame, NaivePosition
from tablut.rules.naive import Cell
from tablut.variants import Variant
from tablut.variants.library import check_known
from tablut.variants.model import derived

LockedSet = frozenset[tuple[int, str]]
"""Pieces on their cells, as pairs (cell, piece). The piece is ``b``, ``w`` or ``K``."""

_Pieces = dict["Cell", str]
_STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


WALL_PIECES: Final = 4
"""Maximum size of a set that cannot contain a shieldwall, which involves at least five pieces."""

_AWAY: Cell = (-9, -9)
"""A cell outside the board, used as an arriving piece's origin if the origin does not matter."""


def side_of(piece: str) -> str:
    """Return the side that owns a piece."""
    return "b" if piece == "b" else "w"


def on_board(cells: frozenset[int], size: int) -> frozenset[Cell]:
    """Return the given cells as pairs (file, rank)."""
    return frozenset((cell % size, cell // size) for cell in cells)


class Arrivals:
    """A test of whether a piece in a set could have been the last to arrive, under one rule set."""

    def __init__(self, variant: Variant) -> None:
        regions, size = variant.regions, variant.size
        # Only slides and captures matter here. Forts and encirclement end the game but remove no pieces.
        near = variant.rules.model_copy(update={"fort": "none", "encirclement": "none"})
        self.variant, self.game = variant, NaiveGame(replace(variant, rules=near))
        self.start = self.game.start()
        self.cells = {
            "b": on_board(regions.soldier_cells, size),
            "w": on_board(regions.free_cells, size),
            "K": on_board(regions.king_cells, size),
        }

    def locked(self, position: NaivePosition, depth: int = 1) -> frozenset[Cell]:
        """Return the cells of a placement's locked pieces.

        Pieces that could have arrived last are removed one by one. Those that are left are locked, unless the starting
        position contains all of them.
        """
        return self._core(dict(position.pieces), depth)

    def _core(self, left: dict[Cell, str], depth: int) -> frozenset[Cell]:
        """Repeatedly remove a piece that could have arrived last, and return the cells of the pieces that are left.

        Return an empty set if the starting position contains all of these pieces.
        """
        while free := next((cell for cell in sorted(left) if self.could_arrive(left, cell, depth)), None):
            del left[free]
        if all(self.start.pieces.get(cell) == piece for cell, piece in left.items()):
            return frozenset()
        return frozenset(left)

    def room(self, position: NaivePosition) -> frozenset[Cell]:
        """Return the cells of a king in a room and of the pieces that form the room, or an empty set.

        The king could not have entered the room while these pieces were on their cells. Wherever the king stands in the
        room, none of them could have arrived last (see `could_arrive`, depth 2).
        """
        left = dict(position.pieces)
        while True:
            rooms = self._king_moved(left)
            soldiers = sorted(cell for cell, piece in left.items() if piece != "K")
            free = (cell for cell in soldiers if any(self.could_arrive(room, cell, depth=2) for room in rooms))
            if (cell := next(free, None)) is None:
                break
            del left[cell]
        return frozenset() if any(room.items() <= self.start.pieces.items() for room in rooms) else frozenset(left)

    def _king_moved(self, pieces: dict[Cell, str]) -> list[dict[Cell, str]]:
        """Return a set for each cell where the king could have stood earlier, unless it contains a locked set."""
        found = [pieces]
        for room in found:
            king = next(cell for cell, piece in room.items() if piece == "K")
            others = {cell: piece for cell, piece in room.items() if cell != king}
            for origin in () if self._captures(room, king) else self._origins(room, king):
                earlier = {**others, origin: "K"}
                if earlier not in found and not self._core(dict(earlier), depth=1):
                    found.append(earlier)
        return found

    def could_arrive(self, left: Mapping[Cell, str], cell: Cell, depth: int = 1) -> bool:
        """Return whether a piece in a set could have arrived last without capturing another piece in the set.

        If the depth is greater than 1, the set before the arrival must not be locked for ``depth - 1``.
        """
        others = {other: kind for other, kind in left.items() if other != cell}
        ways = self._origins(left, cell)
        if depth == 1:
            return next(ways, None) is not None and not self._captures(left, cell)
        return not self._captures(left, cell) and any(
            not self._core({**others, origin: left[cell]}, depth - 1) for origin in ways
        )

    def _origins(self, left: Mapping[Cell, str], cell: Cell) -> Iterator[Cell]:
        """Yield the cells from which a piece could have slid to its present cell, given the set's other pieces."""
        piece = left[cell]
        others = {other: kind for other, kind in left.items() if other != cell}
        for origin in self.line_of(cell):
            if origin in left or origin not in self.cells[piece]:
                continue
            if (origin, cell) in self.game.legal_moves(NaivePosition({**others, origin: piece}, side_of(piece))):
                yield origin

    def _captures(self, left: Mapping[Cell, str], cell: Cell) -> bool:
        """Return whether a piece that arrives last captures another piece in the set."""
        piece = left[cell]
        others = {_AWAY if other == cell else other: kind for other, kind in left.items()}
        if "K" in left.values():
            result = self.game.apply(NaivePosition(others, side_of(piece)), (_AWAY, cell))
            fallen = result.outcome is not None and result.outcome.termination == "king_captured"
            return bool(result.captured) or fallen
        # The king may or may not have stood on the castle, so soldiers must be captured in both cases.
        castle = {self.game.castle: "K"} if self.variant.regions.castles else {}
        return all(
            self.game.apply(NaivePosition({**others, **king}, side_of(piece)), (_AWAY, cell)).captured
            for king in ({}, castle)
        )

    def line_of(self, cell: Cell) -> Iterator[Cell]:
        """Yield the other cells in the same rank and file."""
        for place in range(self.variant.size):
            if place != cell[0]:
                yield (place, cell[1])
            if place != cell[1]:
                yield (cell[0], place)


@derived
def locked_sets(variant: Variant, pieces: int) -> tuple[LockedSet, ...]:
    """Return all minimal locked sets that have at most a given number of pieces, for one rule set."""
    if pieces > WALL_PIECES:
        check_known(variant, f"the search for locked sets of more than {WALL_PIECES} pieces", ["shieldwall"])
    search = _SetSearch(variant, pieces)
    every = range(variant.size**2)
    for cell in sorted({min(symmetry.table[cell] for symmetry in variant.start_symmetries) for cell in every}):
        for piece in "bwK":
            place = search.place(cell)
            if place in search.reach.cells[piece] and search.reach.start.pieces.get(place) != piece:
                search.grow(frozenset({(place, piece)}))
    placed = [frozenset((y * search.size + x, piece) for (x, y), piece in grown) for grown in search.found]
    images = {_image(grown, symmetry) for grown in placed for symmetry in variant.start_symmetries}
    return tuple(sorted(_minimal(images), key=lambda locked: (len(locked), sorted(locked))))


def without_king(sets: tuple[LockedSet, ...]) -> tuple[LockedSet, ...]:
    """Return the sets without a king.

    No reachable final position contains one of these sets. Sets with a king are excluded only from undecided positions.
    """
    return tuple(locked for locked in sets if all(piece != "K" for _, piece in locked))


def symmetries_of(variant: Variant, sets: Collection[LockedSet]) -> tuple[Symmetry, ...]:
    """Return the rules' symmetries that map a family of sets to itself."""
    family = frozenset(sets)
    return tuple(
        symmetry for symmetry in variant.symmetries if all(_image(locked, symmetry) in family for locked in family)
    )


def orbits_of_sets(sets: tuple[LockedSet, ...], symmetries: tuple[Symmetry, ...]) -> list[tuple[LockedSet, int]]:
    """Return a representative of each orbit of sets, and the orbit's size."""
    orbits: dict[LockedSet, int] = {}
    for locked in sets:
        least = min((_image(locked, symmetry) for symmetry in symmetries), key=sorted)
        orbits[least] = orbits.get(least, 0) + 1
    return list(orbits.items())


def _image(locked: LockedSet, symmetry: Symmetry) -> LockedSet:
    return frozenset((symmetry.table[cell], piece) for cell, piece in locked)


def _minimal(sets: set[LockedSet]) -> list[LockedSet]:
    """Return the sets that do not contain another set."""
    return [
        locked
        for locked in sets
        if not any(frozenset(part) in sets for size in range(1, len(locked)) for part in combinations(locked, size))
    ]


def text_of(locked: LockedSet, size: int) -> str:
    """Return a locked set in text form, such as ``bd4 wd5``. ``size`` is the number of cells along a side."""
    return " ".join(f"{piece}{square_name(cell, size)}" for cell, piece in sorted(locked))


def parse_set(text: str, size: int) -> LockedSet:
    """Parse a locked set from its text form. This is the inverse of `text_of`."""
    return frozenset((parse_square(item[1:], size), item[0]) for item in text.split())


class _SetSearch:
    """Search for minimal locked sets: a set grows until none of its pieces could have been the last to arrive."""

    def __init__(self, variant: Variant, pieces: int) -> None:
        self.reach = Arrivals(variant)
        self.size, self.most = variant.size, pieces
        self.castle = self.reach.game.castle
        self.found: set[frozenset[tuple[Cell, str]]] = set()
        self._seen: set[frozenset[tuple[Cell, str]]] = set()

    def place(self, cell: int) -> Cell:
        return cell % self.size, cell // self.size

    def grow(self, grown: frozenset[tuple[Cell, str]]) -> None:
        """Take the first piece that could have arrived last, and extend the set in all ways that rule this out."""
        if grown in self._seen:
            return
        self._seen.add(grown)
        pieces = dict(grown)
        open_cell = next((cell for cell in sorted(pieces) if self.reach.could_arrive(pieces, cell)), None)
        if open_cell is None:
            self.found.add(grown)
            return
        limit = self.most - len(grown)
        enough: list[frozenset[tuple[Cell, str]]] = []
        for more in sorted(self._additions(pieces, open_cell, limit), key=lambda more: (len(more), sorted(more))):
            if not any(part <= more for part in enough) and not self.reach.could_arrive(
                {**pieces, **dict(more)}, open_cell
            ):
                enough.append(more)
        for more in enough:
            self.grow(grown | more)

    def _additions(self, pieces: _Pieces, cell: Cell, limit: int) -> set[frozenset[tuple[Cell, str]]]:
        """Return all additions of at most ``limit`` pieces that could shut a piece in or make it capture on arrival."""
        groups = chain(
            self._captures_of(pieces, cell, limit),
            self._ways_shut(pieces, cell, limit),
            self._kings_surrounded(pieces, cell),
            self._castles_besieged(pieces, cell),
        )
        return {
            missing
            for group in groups
            if 0 < len(missing := frozenset(pair for pair in group.items() if pair[0] not in pieces)) <= limit
            and all(
                other in self.reach.cells[letter] and pieces.get(other, letter) == letter
                for other, letter in group.items()
            )
        }

    def _captures_of(self, pieces: _Pieces, cell: Cell, limit: int) -> Iterator[_Pieces]:
        """Yield groups of pieces that let the piece on a cell capture on arrival: a victim, an anvil, or both."""
        for near, far in _lines(cell):
            for cells in ((near,), (far,), (near, far)):
                yield from _fillings(pieces, cells, limit)

    def _ways_shut(self, pieces: _Pieces, cell: Cell, limit: int) -> Iterator[_Pieces]:
        """Yield groups of pieces that could shut a piece in, at most one piece in each direction."""
        for blockers in product(*[(None, near, far) for near, far in _lines(cell)]):
            yield from _fillings(pieces, [blocker for blocker in blockers if blocker is not None], limit)

    def _kings_surrounded(self, pieces: _Pieces, cell: Cell) -> Iterator[_Pieces]:
        """Yield groups of a king next to the attacker on a cell and up to three other attackers around the king."""
        if pieces[cell] != "b":
            return
        for king in (near for near, _ in _lines(cell) if near in pieces or "K" in _letters(pieces)):
            others = [near for near, _ in _lines(king) if near != cell]
            for held in chain.from_iterable(combinations(others, count) for count in range(4)):
                yield {king: "K", **dict.fromkeys(held, "b")}

    def _castles_besieged(self, pieces: _Pieces, cell: Cell) -> Iterator[_Pieces]:
        """Yield groups of pieces that determine whether a castle near a cell serves as an anvil."""
        around = [near for near, _ in _lines(self.castle)]
        kings: list[_Pieces] = [{}, *({king: "K"} for king in self.reach.cells["K"] if "K" in _letters(pieces))]
        for victim in (near for near, far in _lines(cell) if self.castle in (near, far)):
            victims: list[_Pieces] = [{}, {victim: "b"}, {victim: "w"}]
            for besiegers in chain.from_iterable(combinations(around, count) for count in range(4)):
                for king, taken in product(kings, victims):
                    yield dict.fromkeys(besiegers, "b") | king | taken


def _letters(pieces: _Pieces) -> str:
    """Return the kinds of pieces that can be added to a set. A set has at most one king."""
    return "bw" if "K" in pieces.values() else "bwK"


def _fillings(pieces: _Pieces, cells: Sequence[Cell], limit: int) -> Iterator[_Pieces]:
    """Yield every way to fill the empty cells among the given cells, if at most ``limit`` of them are empty."""
    missing = [cell for cell in cells if cell not in pieces]
    if len(missing) <= limit:
        for chosen in product(_letters(pieces), repeat=len(missing)):
            if chosen.count("K") < 2:
                yield dict(zip(missing, chosen, strict=True))


def _lines(cell: Cell) -> list[tuple[Cell, Cell]]:
    """Return, for each direction, the adjacent cell and the next one. These cells can lie outside the board."""
    return [(_add(cell, step), _add(cell, step, 2)) for step in _STEPS]


def _add(cell: Cell, step: tuple[int, int], times: int = 1) -> Cell:
    return cell[0] + times * step[0], cell[1] + times * step[1]
