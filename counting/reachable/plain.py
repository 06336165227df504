"""The lemmas, predecessors, backward trees and position numbers stated plainly: what certificates are checked with.

It uses the plain rules (`tablut.rules.NaiveGame`) and the variant's data, and nothing of the kernels. That a set is
locked is stated in `counting.exclusions.sets`. Positions are numbered from the variant's regions as the docs define
it, by sums and an unranking of its own, so that an error of `tablut.indexing` would show.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from counting.exclusions.sets import Arrivals, on_board, side_of
from tablut.errors import InputError
from tablut.rules import NaivePosition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from tablut.rules import Outcome
    from tablut.rules.naive import Cell, NaiveMove
    from tablut.variants import Variant

LEMMAS = ("material", "camp", "immobile", "locked", "last_move")
"""The lemmas by which a placement is shown to be out of reach, in the order in which they are tried."""

PositionKey = tuple[tuple[tuple[tuple[int, int], str], ...], str]
"""The pieces of a position in the order of their cells, and the side to move."""


def position_key(position: NaivePosition) -> PositionKey:
    """Return a key that is equal for two positions exactly if they are the same."""
    return tuple(sorted(position.pieces.items())), position.side


class PlainReach(Arrivals):
    """Lemmas and predecessors of one variant."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        self.camps = [(on_board(camp.cells, variant.size), camp.garrison) for camp in variant.regions.camps]
        self.most = {piece: sum(other == piece for other in self.start.pieces.values()) for piece in "bwK"}

    def counted(self, position: NaivePosition) -> bool:
        """Return whether the bound counts a placement among the undecided ones."""
        pieces = list(position.pieces.values())
        return (
            pieces.count("K") == 1
            and 1 <= pieces.count("b") <= self.most["b"]
            and pieces.count("w") <= self.most["w"]
            and all(cell in self.cells[piece] for cell, piece in position.pieces.items())
        )

    # -- lemmas ------------------------------------------------------------------------

    def lemma(self, position: NaivePosition) -> str | None:
        """Return the first lemma by which a counted placement is out of reach, or None."""
        if position_key(position) == position_key(self.start):
            return None
        if self.no_last_capture(position):
            return "material"
        if self.overfull_camp(position):
            return "camp"
        if self.immobile(position):
            return "immobile"
        if self.locked(position):
            return "locked"
        return None if any(True for _ in self.predecessors(position)) else "last_move"

    def no_last_capture(self, position: NaivePosition) -> bool:
        """Return whether soldiers are missing that neither side, as it is now, can have captured last."""
        rules, pieces = self.variant.rules, list(position.pieces.values())
        attackers, defenders = pieces.count("b"), pieces.count("w")
        if (attackers, defenders) == (self.most["b"], self.most["w"]):
            return False
        terrain = self.game.terrain.values()
        corner = rules.corners.hostile and "X" in terrain
        camp_cells = {cell for camp, _ in self.camps for cell in camp}
        to_white = corner or (rules.camps.hostile and bool(camp_cells)) or rules.castle.hostile_to_white != "never"
        inert = {self.game.parse_move(f"{name}-{name}")[0] for name in rules.camps.inert}
        to_black = (
            corner or (rules.camps.hostile and bool(camp_cells - inert)) or rules.castle.hostile_to_black != "never"
        )
        # A capture takes a piece that moves and an anvil, and the last one's victors are all still there.
        armed = defenders + rules.king.armed
        by_white = armed >= 2 or (armed == 1 and to_black)
        by_black = attackers >= 2 or to_white
        return not ((attackers < self.most["b"] and by_white) or (defenders < self.most["w"] and by_black))

    def overfull_camp(self, position: NaivePosition) -> bool:
        """Return whether a camp holds more attackers than started in it; nobody ever enters one."""
        return any(sum(position.piece(cell) == "b" for cell in cells) > garrison for cells, garrison in self.camps)

    def immobile(self, position: NaivePosition) -> bool:
        """Return whether the ply that led to a position has ended the game by leaving a side without a move."""
        return self.variant.rules.no_moves == "either_after_ply" and not (
            self.game.legal_moves(position, "w") and self.game.legal_moves(position, "b")
        )

    # -- predecessors ------------------------------------------------------------------

    def predecessors(
        self, position: NaivePosition, outcome: Outcome | None = None
    ) -> Iterator[tuple[NaivePosition, NaiveMove]]:
        """Yield the counted positions from which a legal move leads to a position, undecided or not."""
        mover = "b" if position.side == "w" else "w"
        victim = "w" if mover == "b" else "b"
        missing = self.most[victim] - sum(piece == victim for piece in position.pieces.values())
        for cell, piece in sorted(position.pieces.items()):
            if side_of(piece) != mover:
                continue
            x, y = cell
            beside = [near for near in ((x, y + 1), (x + 1, y), (x, y - 1), (x - 1, y)) if near in self.cells[victim]]
            empty = [near for near in beside if near not in position.pieces]
            for origin in self.line_of(cell):
                if origin in position.pieces or origin not in self.cells[piece]:
                    continue
                for count in range(min(missing, len(empty)) + 1):
                    for restored in combinations(empty, count):
                        if origin in restored:
                            continue
                        before = dict(position.pieces)
                        del before[cell]
                        before[origin] = piece
                        before.update(dict.fromkeys(restored, victim))
                        earlier = NaivePosition(before, mover)
                        if self._leads(earlier, (origin, cell), position, outcome):
                            yield earlier, (origin, cell)

    def _leads(self, earlier: NaivePosition, move: NaiveMove, position: NaivePosition, outcome: Outcome | None) -> bool:
        if "b" not in earlier.pieces.values() or move not in self.game.legal_moves(earlier):
            return False
        result = self.game.apply(earlier, move)
        return result.outcome == outcome and result.position.pieces == position.pieces

    def backward_tree(
        self, position: NaivePosition, most: int, closed: AbstractSet[PositionKey] = frozenset()
    ) -> set[PositionKey] | None:
        """Return all positions from which a position can be reached, without predecessors that a lemma excludes."""
        start, key = position_key(self.start), position_key(position)
        if key == start:
            return None
        found = {key} - closed
        pending = [position] if found else []
        while pending:
            for earlier, _ in self.predecessors(pending.pop()):
                key = position_key(earlier)
                if key in found or key in closed or self.lemma(earlier) is not None:
                    continue
                if key == start or len(found) >= most:
                    return None
                found.add(key)
                pending.append(earlier)
        return found


@lru_cache(maxsize=16)
def reach_for(variant: Variant) -> PlainReach:
    """Return the lemmas and predecessors of a variant; the same object for equal variants."""
    return PlainReach(variant)


# -- position numbers ------------------------------------------------------------------


def _by_index(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells in the order of their indices: rank by rank."""
    return sorted(cells, key=lambda cell: (cell[1], cell[0]))


def _ways(reach: PlainReach, king: Cell, attackers: int, defenders: int) -> int:
    """Return how many placements have this king and material."""
    free, every = len(reach.cells["w"] - {king}), len(reach.cells["b"] - {king})
    return comb(free, defenders) * comb(every - defenders, attackers)


def plain_size(reach: PlainReach) -> int:
    """Return how many positions there are, with either side to move."""
    return 2 * sum(
        _ways(reach, king, attackers, defenders)
        for attackers in range(1, reach.most["b"] + 1)
        for defenders in range(reach.most["w"] + 1)
        for king in reach.cells["K"]
    )


def plain_position(reach: PlainReach, number: int) -> NaivePosition:
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
