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
from functools import cached_property, lru_cache, partial
from itertools import accumulate, product
from math import comb, inf
from typing import Final, Literal, NamedTuple

from tablut.errors import InputError, numbers, whole_number
from tablut.position import Position, Side, square_name
from tablut.variants import Variant
from tablut.variants.model import king_patterns


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
        regions = variant.regions
        self._kings = sorted(regions.king_cells)
        self._free = sorted(regions.free_cells)
        self._all = sorted(regions.free_cells | regions.camp_cells)
        self._before: dict[tuple[int, int], list[int]] = {}

    @cached_property
    def tiers(self) -> dict[tuple[int, int], PlacementTier]:
        """All tiers, keyed by material, in rank order."""
        found, offset = {}, 0
        for attackers in range(1, self.variant.attackers + 1):
            for defenders in range(self.variant.defenders + 1):
                size = sum(self.ways(king, attackers, defenders) for king in self._kings)
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
        # If the king stands on a free cell, this cell is not available to soldiers. The castle is never available.
        taken = king in self.variant.regions.free_cells
        return _ways(len(self._free) - taken, len(self._all) - taken, attackers, defenders)

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
        king = cells.index("K")
        rank = sum(self.ways(other, attackers, defenders) for other in self._kings if other < king)
        white = _numbers((cell for cell in self._free if cell != king), cells, "w")
        black = _numbers((cell for cell in self._all if cell != king and cells[cell] != "w"), cells, "b")
        every = len(self._all) - (king in self.variant.regions.free_cells)
        rank += rank_combination(white) * comb(every - defenders, attackers) + rank_combination(black)
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
        before = self._before.get((attackers, defenders))
        if before is None:
            ways = (self.ways(king, attackers, defenders) for king in self._kings)
            before = self._before[attackers, defenders] = [*accumulate(ways, initial=0)]
        place = bisect_right(before, rank) - 1
        king, rank = self._kings[place], rank - before[place]
        cells = ["."] * self.variant.size**2
        cells[king] = "K"
        free, every = ([cell for cell in some if cell != king] for some in (self._free, self._all))
        _put(cells, free, every, attackers, defenders, rank)
        return Position("".join(cells), side)

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
        allowed = {"K": set(self._kings), "b": set(self._all), "w": set(self._free)}
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


def _ways(free: int, every: int, attackers: int, defenders: int) -> int:
    """Return the number of ways to put defenders on the free cells and then attackers on the remaining cells.

    ``free`` is the number of cells where defenders may stand, and ``every`` the number where attackers may stand.
    """
    return _comb(free, defenders) * _comb(every - defenders, attackers)


def _put(
    cells: list[str], free: Sequence[int], every: Sequence[int], attackers: int, defenders: int, rank: int
) -> None:
    """Put soldiers on a board in the arrangement that has a given rank among those counted by `_ways`."""
    white, black = divmod(rank, _comb(len(every) - defenders, attackers))
    for place in unrank_combination(white, defenders):
        cells[free[place]] = "w"
    left = [cell for cell in every if cells[cell] != "w"]
    for place in unrank_combination(black, attackers):
        cells[left[place]] = "b"


# -- exact bijection between integers and final placements: rank and unrank ----------------


# A final placement is the placement at the end of a game, together with the ending: the king escaped (with attackers
# left, or by a move that captured the last attacker), all attackers were captured, or the king was captured. `tablut
# bounds` counts each of these placements once. An escaped king must have arrived along a line that is still empty, and
# a captured king must match at least one capture pattern.
#
# Whether a placement qualifies depends only on some cells around the king, the *deciding cells*. Placements are
# therefore ordered by the ending, the king's cell, the contents of the deciding cells, the material, the defenders'
# other cells, and the attackers' other cells.


Ending = Literal["all_captured", "escaped", "escaped_last", "king_captured"]

ENDINGS: Final[tuple[Ending, ...]] = ("all_captured", "escaped", "escaped_last", "king_captured")
"""All endings, in rank order."""


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


class _EndingGroup(NamedTuple):
    """The placements with one ending, a given king's cell, and given contents of the deciding cells."""

    ending: Ending
    king: int
    pieces: dict[int, str]
    free: tuple[int, ...]
    every: tuple[int, ...]
    attackers: range
    defenders: range


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
        regions = variant.regions
        self._free = sorted(regions.free_cells)
        self._every = sorted(regions.free_cells | regions.camp_cells)
        self._known: dict[tuple[int, int, range, range], int] = {}

    @cached_property
    def _groups(self) -> list[_EndingGroup]:
        return [group for ending in ENDINGS for group in self._groups_of(ending) if self._size(group)]

    @cached_property
    def _offsets(self) -> list[int]:
        """First rank of each group, followed by the total number of placements."""
        offsets = [0]
        for group in self._groups:
            offsets.append(offsets[-1] + self._size(group))
        return offsets

    @property
    def size(self) -> int:
        """Number of all final placements. A placement counts once for each possible ending."""
        return self._offsets[-1]

    @cached_property
    def sizes(self) -> dict[Ending, int]:
        """Number of final placements for each ending. The number is 0 for endings that the rules exclude."""
        sizes: dict[Ending, int] = dict.fromkeys(ENDINGS, 0)
        for group in self._groups:
            sizes[group.ending] += self._size(group)
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
        group, rest = self._groups[number], rank - self._offsets[number]
        for material in self._materials(group):
            attackers, defenders, ways = material
            if rest < ways:
                break
            rest -= ways
        cells = ["."] * self.variant.size**2
        cells[group.king] = "K"
        for cell, piece in group.pieces.items():
            cells[cell] = piece
        _put(cells, group.free, group.every, attackers, defenders, rest)
        return FinalPlacement(Position("".join(cells), _waiting(group.ending)), group.ending)

    # -- groups of placements ----------------------------------------------------------

    def _size(self, group: _EndingGroup) -> int:
        key = len(group.free), len(group.every), group.attackers, group.defenders
        if key not in self._known:
            self._known[key] = sum(ways for _, _, ways in self._materials(group))
        return self._known[key]

    def _materials(self, group: _EndingGroup) -> Iterator[tuple[int, int, int]]:
        """Yield the numbers of attackers and defenders outside the deciding cells, and the number of arrangements."""
        for attackers in group.attackers:
            # On a crowded board, there may be fewer free cells than defenders.
            for defenders in (number for number in group.defenders if number <= len(group.free)):
                yield attackers, defenders, _ways(len(group.free), len(group.every), attackers, defenders)

    def _groups_of(self, ending: Ending) -> Iterator[_EndingGroup]:
        variant, regions = self.variant, self.variant.regions
        attackers = range(1, variant.attackers + 1)
        if ending == "all_captured":
            for king in sorted(regions.king_cells):
                yield from self._around(ending, king, frozenset(), lambda _contents: True, range(1))
        elif ending == "king_captured":
            for king in sorted(regions.king_cells):
                patterns = [pattern.attackers for pattern in king_patterns(variant, king)]
                yield from self._around(
                    ending,
                    king,
                    frozenset().union(*patterns),
                    lambda contents, patterns=patterns: any(  # type: ignore[misc]
                        all(contents[cell] == "b" for cell in pattern) for pattern in patterns
                    ),
                    attackers,
                )
        elif ending == "escaped" or variant.rules.king.armed:
            # An unarmed king cannot capture, so it cannot capture the last attacker with its escaping move.
            for king, ways in sorted(regions.approaches.items()):
                yield from self._around(
                    ending,
                    king,
                    frozenset().union(*ways),
                    lambda contents, ways=ways: any(  # type: ignore[misc]
                        all(contents[cell] == "." for cell in way) for way in ways
                    ),
                    attackers if ending == "escaped" else range(1),
                )

    def _around(
        self,
        ending: Ending,
        king: int,
        watched: frozenset[int],
        admits: Callable[[Mapping[int, str]], bool],
        attackers: range,
    ) -> Iterator[_EndingGroup]:
        """Yield the groups with the king on a given cell.

        There is one group for every way to fill the deciding cells that ``admits`` accepts.
        """
        regions, variant = self.variant.regions, self.variant
        cells = sorted(watched)
        free = tuple(cell for cell in self._free if cell != king and cell not in watched)
        every = tuple(cell for cell in self._every if cell != king and cell not in watched)
        for chosen in product(*(".b" if cell in regions.camp_cells else ".bw" for cell in cells)):
            contents = dict(zip(cells, chosen, strict=True))
            if not admits(contents):
                continue
            black, white = chosen.count("b"), chosen.count("w")
            yield _EndingGroup(
                ending,
                king,
                {cell: piece for cell, piece in contents.items() if piece != "."},
                free,
                every,
                range(max(0, attackers.start - black), attackers.stop - black),
                range(max(0, variant.defenders + 1 - white)),
            )


def _waiting(ending: Ending) -> Side:
    """Return the side that did not make the last ply."""
    return "w" if ending == "king_captured" else "b"
