"""Exact bijections (rank and unrank) between integers and placements, both undecided and final.

The undecided placements are those that the bound without endgames counts. A placement does not include the side to
move. A tier is the set of all placements with the same material (attackers, defenders). The placements are ordered by
tier, within a tier by the king's cell, then by the defenders' cells, and finally by the attackers' cells. Once the king
is placed, n camp cells and m free cells remain. There are then C(m, d) · C(n + m − d, a) ways to place d defenders and
a attackers: choose d free cells for the defenders, then choose a of all remaining cells for the attackers. Combinations
are ranked in the combinatorial number system (D. E. Knuth, *The Art of Computer Programming* 4A, 7.2.1.3, Theorem L).

Ranks are Python integers, because they have up to 90 bits on a 9×9 board.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import accumulate, product
from math import comb, inf
from typing import Final, Literal, NamedTuple

from symmetry import Symmetry
from tablut.errors import InputError, numbers, whole_number
from tablut.position import Position, Side, square_name
from tablut.variants import Variant


class PlacementTier(NamedTuple):
    """A tier, that is, all placements with the same material, as a range of ranks.

    Attributes
    ----------
    attackers, defenders : int
        Numbers of attackers and defenders.
    offset : int
        Rank of the tier's first placement.
    size : int
        Number of placements in the tier.
    """

    attackers: int
    defenders: int
    offset: int
    size: int


def rank_combination(places: Sequence[int]) -> int:
    """Return the rank of a combination among all combinations of the same length.

    Parameters
    ----------
    places : sequence of int
        Non-negative integers in ascending order.

    Returns
    -------
    int
        Rank in the combinatorial number system.

    Examples
    --------
    >>> rank_combination([0, 1, 2]), rank_combination([0, 1, 3]), rank_combination([1, 2, 3])
    (0, 1, 3)
    """
    return sum(comb(place, number) for number, place in enumerate(places, 1))


@numbers(rank=partial(whole_number, most=inf), length=partial(whole_number, most=10_000))
def unrank_combination(rank: int, length: int) -> list[int]:
    """Return the combination with a given rank. This is the inverse of `rank_combination`.

    Parameters
    ----------
    rank : int
        Rank of the combination.
    length : int
        Number of elements of the combination.

    Returns
    -------
    list of int
        The combination, in ascending order.

    Examples
    --------
    >>> unrank_combination(3, 3)
    [1, 2, 3]
    """
    places: list[int] = []
    end = length
    while length and _comb(end, length) <= rank:
        end *= 2
    for number in range(length, 0, -1):
        end = _last_place(rank, number, end)
        rank -= _comb(end, number)
        places.append(end)
    return places[::-1]


def _last_place(rank: int, number: int, end: int) -> int:
    """Return the largest place below ``end`` with C(place, number) <= rank."""
    return bisect_right(range(end), rank, number - 1, key=lambda place: _comb(place, number)) - 1


_comb = lru_cache(maxsize=1 << 16)(comb)
"""The binomial coefficients. Large ones take much longer to compute than to look up."""


# -- kings' cells, with conditions on their neighbourhoods -----------------------------------


EMPTY, ATTACKER, DEFENDER = range(3)
"""Contents of a cell. `_LETTERS` contains the corresponding letters of position texts."""
_LETTERS: Final = ".bw"

Ending = Literal["all_captured", "escaped", "escaped_last", "king_captured"]
ENDINGS: Final[tuple[Ending, ...]] = ("all_captured", "escaped", "escaped_last", "king_captured")
"""The ways to end a game, in the order of the final placements' ranks.

The king can escape while attackers are left (``escaped``), or by a move that captures the last attacker
(``escaped_last``).
"""

Contents = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class KingPlacement:
    """A king's cell with a condition on the contents of nearby cells (the watched cells)."""

    king: int
    watched: frozenset[int] = frozenset()
    admits: Callable[[Contents], bool] = lambda contents: True  # noqa: ARG005

    def contents(
        self, symmetry: Symmetry, camp_cells: frozenset[int]
    ) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
        """Yield every filling of the watched cells that a symmetry preserves.

        Each filling is yielded in two forms: the contents of the cycles, and a dictionary of the cells' contents.
        """
        cycles = symmetry.cycles(self.watched)
        choices = [(EMPTY, ATTACKER) if cycle[0] in camp_cells else (EMPTY, ATTACKER, DEFENDER) for cycle in cycles]
        for chosen in product(*choices):
            yield chosen, {cell: content for cycle, content in zip(cycles, chosen, strict=True) for cell in cycle}


def _with_any(king: int, sets: Iterable[frozenset[int]], content: int) -> KingPlacement:
    """Return the placements of a king where all cells of at least one set have the same given content."""
    some = tuple(sets)
    return KingPlacement(
        king,
        frozenset().union(*some),
        lambda contents: any(all(contents[cell] == content for cell in cells) for cells in some),
    )


def undecided_kings(variant: Variant) -> tuple[KingPlacement, ...]:
    """Return the placements with a king on a cell where it may stand while the game is undecided."""
    return tuple(KingPlacement(king) for king in sorted(variant.regions.king_cells))


def escaped_kings(variant: Variant) -> tuple[KingPlacement, ...]:
    """Return the placements with a king on an escape cell and at least one empty path to that cell."""
    return tuple(_with_any(escape, ways, EMPTY) for escape, ways in variant.regions.approaches.items())


def captured_kings(variant: Variant) -> tuple[KingPlacement, ...]:
    """Return the placements with a king that is captured in at least one of its capture patterns."""
    return tuple(
        _with_any(king, [pattern.attackers for pattern in patterns], ATTACKER)
        for king, patterns in variant.regions.king_patterns.items()
        if patterns
    )


Kings = tuple[tuple[KingPlacement, ...], range, range]
"""Kings' placements, with ranges for the numbers of attackers and defenders."""


def final_kings(variant: Variant) -> dict[Ending, Kings]:
    """Return the placements of the king in all final placements, by ending."""
    any_number, none, defenders = range(1, variant.attackers + 1), range(1), range(variant.defenders + 1)
    # An unarmed king captures nothing, so its escaping move cannot capture the last attacker.
    armed_escapes = escaped_kings(variant) if variant.rules.king.armed else ()
    return {
        "all_captured": (undecided_kings(variant), none, defenders),
        "escaped": (escaped_kings(variant), any_number, defenders),
        "escaped_last": (armed_escapes, none, defenders),
        "king_captured": (captured_kings(variant), any_number, defenders),
    }


# -- groups of placements ------------------------------------------------------------------


class PlacementGroup(NamedTuple):
    """The placements with the king on a given cell and given contents of the watched cells.

    The soldiers on the watched cells are given by ``pieces``. The other defenders may stand on the cells ``free``, and
    the other attackers on those of the cells ``every`` that no defender occupies. ``attackers`` and ``defenders`` are
    ranges for the numbers of these other soldiers.
    """

    king: int
    pieces: dict[int, str]
    free: tuple[int, ...]
    every: tuple[int, ...]
    attackers: range
    defenders: range

    def ways(self, attackers: int, defenders: int) -> int:
        """Return the number of ways to place the other soldiers: first the defenders, then the attackers."""
        return _comb(len(self.free), defenders) * _comb(len(self.every) - defenders, attackers)

    def materials(self) -> Iterator[tuple[int, int, int]]:
        """Yield the possible numbers of other attackers and defenders, and the number of ways to place them."""
        for attackers in self.attackers:
            # On a crowded board, there may be fewer free cells than defenders.
            for defenders in (number for number in self.defenders if number <= len(self.free)):
                yield attackers, defenders, self.ways(attackers, defenders)

    def locate(self, rank: int) -> tuple[int, int, int]:
        """Return the numbers of other attackers and defenders for a rank in the group, and the rank among these."""
        for attackers, defenders, ways in self.materials():
            if rank < ways:
                return attackers, defenders, rank
            rank -= ways
        raise AssertionError("the rank is too large for the group")

    def size(self) -> int:
        """Return the number of placements in the group."""
        return _size(len(self.free), len(self.every), self.attackers, self.defenders)

    def unrank(self, cells: int, attackers: int, defenders: int, rank: int) -> str:
        """Return a board of ``cells`` cells with the soldiers placed in the way that has a given rank."""
        board = ["."] * cells
        board[self.king] = "K"
        for cell, piece in self.pieces.items():
            board[cell] = piece
        white, black = divmod(rank, _comb(len(self.every) - defenders, attackers))
        for place in unrank_combination(white, defenders):
            board[self.free[place]] = "w"
        left = [cell for cell in self.every if board[cell] != "w"]
        for place in unrank_combination(black, attackers):
            board[left[place]] = "b"
        return "".join(board)


@lru_cache(maxsize=1 << 12)
def _size(free: int, every: int, attackers: range, defenders: range) -> int:
    group = PlacementGroup(0, {}, tuple(range(free)), tuple(range(every)), attackers, defenders)
    return sum(ways for _, _, ways in group.materials())


def _groups(variant: Variant, kings: Kings) -> Iterator[PlacementGroup]:
    """Yield the groups of some kings' placements, one for every way to fill the watched cells."""
    regions, (placements, attackers, defenders) = variant.regions, kings
    for placement in placements:
        outside = placement.watched | {placement.king}
        free = tuple(sorted(regions.free_cells - outside))
        every = tuple(sorted(regions.soldier_cells - outside))
        for chosen, contents in placement.contents(variant.symmetries[0], regions.camp_cells):
            if placement.admits(contents):
                black, white = chosen.count(ATTACKER), chosen.count(DEFENDER)
                yield PlacementGroup(
                    placement.king,
                    {cell: _LETTERS[content] for cell, content in contents.items() if content != EMPTY},
                    free,
                    every,
                    range(max(0, attackers.start - black), attackers.stop - black),
                    range(max(0, defenders.stop - white)),
                )


# -- the indices ---------------------------------------------------------------------------


class PlacementIndex:
    """Index of the undecided placements of a variant.

    Parameters
    ----------
    variant : Variant
        Any rule set.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> index = PlacementIndex(load_variant("ashton"))
    >>> index.size
    947889249256532407079664255
    >>> start = Position.parse("3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 w", 9)
    >>> rank = index.rank(start)
    >>> rank
    657819394927922213589954958
    >>> index.unrank(rank, "w") == start
    True
    """

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        kings = undecided_kings(variant), range(1, variant.attackers + 1), range(variant.defenders + 1)
        self._groups = {group.king: group for group in _groups(variant, kings)}

    @cached_property
    def tiers(self) -> dict[tuple[int, int], PlacementTier]:
        """All tiers, keyed by material, in rank order."""
        found, offset = {}, 0
        for attackers in range(1, self.variant.attackers + 1):
            for defenders in range(self.variant.defenders + 1):
                size = sum(group.ways(attackers, defenders) for group in self._groups.values())
                found[attackers, defenders] = PlacementTier(attackers, defenders, offset, size)
                offset += size
        return found

    @cached_property
    def _in_order(self) -> list[PlacementTier]:
        """The tiers that are not empty, in rank order."""
        return [tier for tier in self.tiers.values() if tier.size]

    @cached_property
    def size(self) -> int:
        """Number of all undecided placements, which is the bound without endgames."""
        return sum(tier.size for tier in self.tiers.values())

    def ways(self, king: int, attackers: int, defenders: int) -> int:
        """Return the number of placements with a given material and the king on a given cell.

        Parameters
        ----------
        king : int
            The king's cell.
        attackers, defenders : int
            Numbers of attackers and defenders.

        Returns
        -------
        int
            Number of placements.
        """
        return self._groups[king].ways(attackers, defenders)

    def rank(self, position: Position) -> int:
        """Return the rank of a placement among all undecided placements.

        Parameters
        ----------
        position : Position
            The placement. Its side to move is ignored.

        Returns
        -------
        int
            The rank.

        Raises
        ------
        InputError
            If the placement is not an undecided placement of the variant.
        """
        tier, within = self.rank_in_tier(position)
        return tier.offset + within

    def rank_in_tier(self, position: Position) -> tuple[PlacementTier, int]:
        """Return a placement's tier and its rank within the tier.

        Parameters
        ----------
        position : Position
            The placement. Its side to move is ignored.

        Returns
        -------
        tuple of (PlacementTier, int)
            The tier and the rank.

        Raises
        ------
        InputError
            If the placement is not an undecided placement of the variant.
        """
        self._check(position)
        cells = position.cells
        attackers, defenders = position.material
        group = self._groups[cells.index("K")]
        before = (other for other in self._groups.values() if other.king < group.king)
        rank = sum(other.ways(attackers, defenders) for other in before)
        white = _numbers(group.free, cells, "w")
        black = _numbers((cell for cell in group.every if cells[cell] != "w"), cells, "b")
        rank += rank_combination(white) * comb(len(group.every) - defenders, attackers) + rank_combination(black)
        return self.tiers[attackers, defenders], rank

    def unrank(self, rank: int, side: Side) -> Position:
        """Return the placement with a given rank. This is the inverse of `rank`.

        Parameters
        ----------
        rank : int
            Rank among all undecided placements.
        side : {'w', 'b'}
            Side to move of the returned position.

        Returns
        -------
        Position
            The placement with the given side to move.

        Raises
        ------
        InputError
            If ``rank`` is out of range.
        """
        rank = whole_number("rank", rank, most=self.size - 1)
        tiers = self._in_order
        tier = tiers[bisect_right(tiers, rank, key=lambda tier: tier.offset) - 1]
        return self.unrank_in_tier(tier.attackers, tier.defenders, rank - tier.offset, side)

    def unrank_in_tier(self, attackers: int, defenders: int, rank: int, side: Side) -> Position:
        """Return the placement with a given rank within a tier. This is the inverse of `rank_in_tier`.

        Parameters
        ----------
        attackers, defenders : int
            Numbers of attackers and defenders in the tier.
        rank : int
            Rank within the tier.
        side : {'w', 'b'}
            Side to move of the returned position.

        Returns
        -------
        Position
            The placement with the given side to move.

        Raises
        ------
        InputError
            If the variant has no such tier, or if ``rank`` is out of range.
        """
        tier = self.tiers.get((whole_number("attackers", attackers), whole_number("defenders", defenders)))
        if tier is None:
            raise InputError("does not exist", subject=f"tier {attackers}v{defenders} of {self.variant.name}")
        rank = whole_number("rank", rank, most=tier.size - 1)
        for group in self._groups.values():
            if rank < (ways := group.ways(attackers, defenders)):
                break
            rank -= ways
        return Position(group.unrank(self.variant.size**2, attackers, defenders, rank), side)

    def _check(self, position: Position) -> None:
        variant, cells = self.variant, position.cells
        attackers, defenders = position.material
        if len(cells) != variant.size**2:
            raise InputError(
                f"has {position.size} rows, but {variant.name} has {variant.size}", subject=f"position '{position}'"
            )
        if cells.count("K") != 1:
            raise InputError(
                f"has {cells.count('K')} kings, but a counted placement has one", subject=f"position '{position}'"
            )
        if (attackers, defenders) not in self.tiers:
            most = f"1 to {variant.attackers} attackers and up to {variant.defenders} defenders"
            raise InputError(f"counted placements of {variant.name} have {most}", subject=f"position '{position}'")
        regions = variant.regions
        allowed = {"K": regions.king_cells, "b": regions.soldier_cells, "w": regions.free_cells}
        names = {"K": "the king", "b": "an attacker", "w": "a defender"}
        for cell, piece in enumerate(cells):
            if piece != "." and cell not in allowed[piece]:
                where = square_name(cell, variant.size)
                raise InputError(
                    f"has {names[piece]} on {where}, which no undecided placement has", subject=f"position '{position}'"
                )


def _numbers(cells: Iterable[int], content: str, piece: str) -> list[int]:
    """Return the indices within ``cells`` of the cells that contain a given kind of piece."""
    return [number for number, cell in enumerate(cells) if content[cell] == piece]


# -- exact bijection between integers and final placements: rank and unrank ----------------


# A final placement is the placement at the end of a game, together with the ending: the king escaped (with attackers
# left, or by a move that captured the last attacker), all attackers were captured, or the king was captured. `tablut
# bounds` counts each of these placements once. An escaped king must have arrived along a line that is still empty, and
# a captured king must match at least one capture pattern.
#
# Whether a placement qualifies depends only on some cells around the king, the *deciding cells*. Placements are
# therefore ordered by the ending, the king's cell, the contents of the deciding cells, the material, the defenders'
# other cells, and the attackers' other cells.


class FinalPlacement(NamedTuple):
    """A placement together with the way the game ended.

    Attributes
    ----------
    position : Position
        The placement. Its side to move is the side that did not make the last ply.
    ending : str
        One of `ENDINGS`.
    """

    position: Position
    ending: Ending


class EndingIndex:
    """Index of a variant's final placements.

    Parameters
    ----------
    variant : Variant
        Any rule set.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> index = EndingIndex(load_variant("ashton"))
    >>> index.size
    345985727054414031666103757
    >>> index.unrank(index.size - 1).ending
    'king_captured'
    """

    def __init__(self, variant: Variant) -> None:
        self.variant = variant

    @cached_property
    def _groups(self) -> list[tuple[Ending, PlacementGroup]]:
        found = final_kings(self.variant)
        return [(ending, group) for ending in ENDINGS for group in _groups(self.variant, found[ending]) if group.size()]

    @cached_property
    def _offsets(self) -> list[int]:
        """First rank of each group, followed by the total number of placements."""
        return [*accumulate((group.size() for _, group in self._groups), initial=0)]

    @property
    def size(self) -> int:
        """Number of all final placements. A placement counts once for each possible ending."""
        return self._offsets[-1]

    @cached_property
    def sizes(self) -> dict[Ending, int]:
        """Number of final placements for each ending. The number is 0 for endings that the rules exclude."""
        sizes: dict[Ending, int] = dict.fromkeys(ENDINGS, 0)
        for ending, group in self._groups:
            sizes[ending] += group.size()
        return sizes

    def unrank(self, rank: int) -> FinalPlacement:
        """Return the final placement with a given rank.

        Parameters
        ----------
        rank : int
            Rank from 0 to `size` - 1.

        Returns
        -------
        FinalPlacement
            The placement and its ending.

        Raises
        ------
        InputError
            If ``rank`` is out of range.
        """
        rank = whole_number("final rank", rank, most=self.size - 1)
        number = bisect_right(self._offsets, rank) - 1
        ending, group = self._groups[number]
        attackers, defenders, within = group.locate(rank - self._offsets[number])
        # The side to move is the side that did not make the last ply.
        side: Side = "w" if ending == "king_captured" else "b"
        return FinalPlacement(Position(group.unrank(self.variant.size**2, attackers, defenders, within), side), ending)
