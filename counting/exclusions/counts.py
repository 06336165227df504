"""Counts of the placements in each space that contain no locked set, and the files that store these counts.

A count takes seconds for a 5 x 5 board and up to hours for a full one, so the package includes the counts for the
built-in rule sets (``data/NAME.json``).

Given a family of forbidden sets, `Transfer` counts the board fillings that contain none of them, by material. A
*variable* is a cell, or a cycle of cells with the same contents. A *filling* assigns contents to variables, and a *set*
prescribes the contents of some of them. By inclusion–exclusion, the number is a signed sum over all subfamilies. Each
contributes the number of fillings that contain all of its sets: its variables are *forced* and all others are free.

The sum is computed variable by variable. A set can join the subfamily when its first variable is reached. A *state*
records the contents that are still forced on later variables. A *tally* packs the numbers of forced soldiers and
variables of a subfamily into an integer. The signs of all subfamilies with the same state and tally are added up, and
most of them cancel. All numbers are Python integers.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from counting.exclusions.sets import LockedSet, locked_sets, orbits_of_sets, symmetries_of, text_of, without_king
from counting.spaces import CountsByMaterial, Space, soldiers, spaces
from symmetry import count_orbits
from tablut.errors import numbers, whole_number
from tablut.indexing.placements import ATTACKER, DEFENDER, EMPTY, KingPlacement
from tablut.results import ExactInt, Result
from tablut.variants import VariantLike, as_variant
from tablut.work.sealed_records import Count, Digest, Record, read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from symmetry import Symmetry
    from tablut.variants.model import Regions

AFFORDABLE_PIECES: Final = 3
AFFORDABLE_STATES: Final = 200_000
"""Limits for counting when the package does not include a record.

A count within these limits takes a second or two for most 9 x 9 boards.
"""


class SetCount(Result):
    """The number of minimal locked sets with a given number of pieces."""

    pieces: int
    sets: int
    orbits: int
    with_king: int


class Survivors(Result):
    """Counts of the placements in one space that contain no locked set."""

    id: str
    placements: ExactInt
    classes: ExactInt
    fixed: dict[str, ExactInt]
    material: list[list[ExactInt]]


class ExclusionRecord(Record):
    """Counts for one rule set, and its minimal locked sets in text form, such as ``bd4 wd5``."""

    FORMAT = "tablut-exclusions"
    VERSION = 2

    variant: str
    game: Digest
    pieces: Count
    sets: list[SetCount]
    locked: list[str]
    survivors: list[Survivors]

    def fault(self) -> str | None:
        """Return a description of an inconsistency in the record, or None."""
        sizes = Counter(len(text.split()) for text in self.locked)
        return None if sizes == {size.pieces: size.sets for size in self.sets} else "locked: does not match the sets"

    def of(self, id_: str) -> Survivors:
        """Return the counts for a space."""
        return next(survivors for survivors in self.survivors if survivors.id == id_)


def counted_spaces(all_spaces: Mapping[str, Space]) -> dict[str, tuple[list[tuple[Space, int]], bool]]:
    """Return the collections of placements for which locked sets are counted, each as a signed sum of spaces.

    The flag after each sum is true if a locked set may contain the king.
    """
    undecided, besieged = all_spaces["no_end"], all_spaces["excluded_no_end"]
    captured, escaped, doomed = all_spaces["king_captured"], all_spaces["escaped"], all_spaces["excluded_escaped"]
    return {
        "no_end": ([(undecided, 1), (besieged, -1)], True),
        "king_captured": ([(captured, 1)], False),
        "king_captured_undecided": ([(captured, 1), (besieged, -1)], True),
        "escaped": ([(escaped, 1), (doomed, -1)], False),
    }


@numbers(pieces=partial(whole_number, most=361))
def count_exclusions(
    variant: VariantLike, pieces: int, observe: Callable[[str, int, int], None] | None = None
) -> ExclusionRecord:
    """Count the placements that contain no locked set, and return the exact counts.

    ``pieces`` is the maximum number of pieces in a set. ``observe`` is called after each variable with the name of the
    space and symmetry, the variable's number, and the number of states. ``variant`` is the rule set.

    Examples
    --------
    >>> record = count_exclusions("brandubh-5-4v0", 3)
    >>> record.of("no_end").placements, record.of("no_end").classes
    (106279, 13456)
    """
    variant = as_variant(variant)
    family = locked_sets(variant, pieces)
    group = symmetries_of(variant, family)
    survivors = []
    for id_, (signed, with_king) in counted_spaces(spaces(variant)).items():
        sets = family if with_king else without_king(family)
        counts = {}
        for symmetry in group:
            report = observe and partial(observe, f"{id_}, {symmetry.name}")
            counts[symmetry.name] = surviving(signed, symmetry, sets, report)
        fixed = {name: material.total() for name, material in counts.items()}
        identity = counts[group[0].name]
        survivors.append(
            Survivors(
                id=id_,
                placements=identity.total(),
                classes=_classes(group, fixed),
                fixed=fixed,
                material=[list(row) for row in identity.rows],
            )
        )
    orbits = orbits_of_sets(family, group)
    return ExclusionRecord(
        variant=variant.name,
        game=variant.digest,
        pieces=pieces,
        sets=[
            SetCount(
                pieces=size,
                sets=sum(len(locked) == size for locked in family),
                orbits=sum(len(locked) == size for locked, _ in orbits),
                with_king=sum(len(locked) == size and any(piece == "K" for _, piece in locked) for locked in family),
            )
            for size in sorted({len(locked) for locked in family})
        ],
        locked=[text_of(locked, variant.size) for locked in family],
        survivors=survivors,
    )


def _classes(group: tuple[Symmetry, ...], fixed: Mapping[str, int]) -> int:
    """Return the number of classes, computed by Burnside's lemma from the numbers of fixed points."""
    return count_orbits(group, lambda symmetry: fixed[symmetry.name])


class _TooManyStatesError(Exception):
    """Raised when a count visits more states than allowed."""


def affordable_exclusions(variant: VariantLike) -> ExclusionRecord | None:
    """Return the built-in record for a game, or compute a record if this takes only seconds. Otherwise return None."""
    variant = as_variant(variant)
    left = AFFORDABLE_STATES

    def spend(_name: str, _place: int, states: int) -> None:
        nonlocal left
        left -= states
        if left < 0:
            raise _TooManyStatesError

    try:
        return published_exclusions(variant.digest) or count_exclusions(variant, AFFORDABLE_PIECES, spend)
    except _TooManyStatesError:
        return None


@cache
def _all() -> dict[str, ExclusionRecord]:
    files = sorted((Path(__file__).parent / "data").glob("*.json"))
    records = [
        read_record(file, ExclusionRecord, "record of exclusions", "install the package again") for file in files
    ]
    return {record.game: record for record in records if record is not None}


def published_exclusions(game: str) -> ExclusionRecord | None:
    """Return the built-in record for a game, or None if there is no such record."""
    return _all().get(game)


# -- fillings without a forbidden set ------------------------------------------------------


Filling = frozenset[tuple[int, str]]
"""The contents of some variables, as pairs (variable, contents). The contents are ``b``, ``w`` or ``K``."""

_CODES: Final = {"b": 1, "w": 2, "K": 3}
_BITS: Final = 2
_FIELD: Final = 10
"""Number of bits in each field of a tally: enough to count the cells of any board, plus one to detect an overflow."""
_WHOLE: Final = (1 << _FIELD) - 1
_CHOSEN: Final = 1 << _FIELD

_States = dict[int, dict[int, int]]
"""The tallies of each state, and the sum of the subfamilies' signs for each tally.

A state consists of the contents that are forced on later variables.
"""


class Variable(NamedTuple):
    """A cell, or a cycle of cells with the same contents."""

    kind: str
    length: int = 1


class KingTerm(NamedTuple):
    """A term in the sum over kings: a king, the contents that are forced around it, and a coefficient."""

    filling: Filling
    coefficient: int = 1


def elimination_order(count: int, fillings: Iterable[Filling]) -> list[int]:
    """Return an order of the variables that keeps the number of open variables small.

    A variable is open while it comes later in the order but shares a set with an earlier one.
    """
    near: list[set[int]] = [set() for _ in range(count)]
    for filling in fillings:
        cells = {cell for cell, _ in filling}
        for cell in cells:
            near[cell] |= cells
    rest, opened, order = set(range(count)), set[int](), []
    while rest:
        best = min(rest, key=lambda cell: (len(((opened | near[cell]) & rest) - {cell}), cell))
        rest.discard(best)
        order.append(best)
        opened = (opened | near[best]) & rest
    return order


class _Subfamily(NamedTuple):
    """Locked sets whose first variable is the same, with the contents that they force and their coefficient."""

    value: int
    mask: int
    king: int
    items: tuple[tuple[int, int], ...]
    coefficient: int
    chooses: bool


class _Join(NamedTuple):
    """An option's effect on all states with the same forced contents on the option's variables."""

    defenders: int
    value: int
    cost: int
    coefficient: int
    crowns: bool
    lost_seats: int


class Transfer:
    """A count of the fillings that contain a king, as described by king terms, and none of the given sets.

    A variable becomes a *seat* if exactly one king term has its king there, and this term has the coefficient 1 and
    forces no contents around the king. The king can take any of the seats.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        terms: Sequence[KingTerm],
        sets: Iterable[Filling],
        attackers: int,
        defenders: int,
    ) -> None:
        self.attackers, self.defenders = attackers, defenders
        sets = list(sets)
        order = elimination_order(len(variables), [*sets, *(term.filling for term in terms)])
        place = {variable: position for position, variable in enumerate(order)}
        self._variables = [variables[variable] for variable in order]
        self._classes = sorted({(v.kind, v.length) for v in variables if v.kind != "royal"})
        self._sets: list[list[Filling]] = [[] for _ in order]
        self._terms: list[list[KingTerm]] = [[] for _ in order]
        lone = Counter(variable for term in terms for variable, content in term.filling if content == "K")
        self._seats = [False] * len(order)
        for filling in sets:
            moved = frozenset((place[variable], content) for variable, content in filling)
            self._sets[min(moved)[0]].append(moved)
        for term in terms:
            if len(term.filling) == term.coefficient == 1 and lone[min(term.filling)[0]] == 1:
                self._seats[place[min(term.filling)[0]]] = True
                continue
            moved = frozenset((place[variable], content) for variable, content in term.filling)
            self._terms[min(moved)[0]].append(KingTerm(moved, term.coefficient))
        self._ones = sum(1 << (_BITS * position) for position in range(len(order)))
        self._there = Counter((variable.kind, variable.length) for variable in variables)
        # Fields of a tally, from the lowest bits: attackers, kings, forced variables of each class, defenders.
        self._top = _FIELD * (2 + len(self._classes))
        self._guard = (_WHOLE // 2 - attackers) | (_WHOLE // 2 - defenders) << self._top
        self._too_many = 1 << _FIELD - 1 | 1 << self._top + _FIELD - 1
        # A king on a free cell makes this cell a forced variable.
        self._seat = self._forced(("free", 1)) if ("free", 1) in self._classes else 0
        self._costs = [[self._cost(position, code) for code in range(4)] for position in range(len(order))]

    def _forced(self, kind: tuple[str, int]) -> int:
        """Return the amount that one forced variable of a class adds to a tally, excluding the variable's soldiers."""
        return 1 << _FIELD * (2 + self._classes.index(kind))

    def _cost(self, position: int, code: int) -> int:
        """Return the amount that one forced variable adds to a tally, including the variable's soldiers."""
        variable = self._variables[position]
        if variable.kind == "royal":
            return 0
        held = {_CODES["b"]: variable.length, _CODES["w"]: variable.length << self._top}.get(code, 0)
        return held + self._forced((variable.kind, variable.length))

    def _options(self, position: int) -> dict[int, list[_Subfamily]]:
        """Return the subfamilies that start at a variable, keyed by the contents that they force there."""
        subfamilies: dict[int, list[_Subfamily]] = {}
        for content, code in _CODES.items():
            families: dict[tuple[Filling, bool], int] = {(frozenset(), False): 1}
            for term in self._terms[position]:
                if (position, content) in term.filling:
                    key = term.filling, True
                    families[key] = families.get(key, 0) + term.coefficient
            for filling in self._sets[position]:
                if (position, content) not in filling:
                    continue
                joined = dict(families)
                for (union, chooses), coefficient in families.items():
                    if (wider := self._union(union, filling)) is not None:
                        joined[wider, chooses] = joined.get((wider, chooses), 0) - coefficient
                families = {key: coefficient for key, coefficient in joined.items() if coefficient}
            subfamilies[code] = [
                self._option(union, coefficient, chooses) for (union, chooses), coefficient in families.items() if union
            ]
        return subfamilies

    def _union(self, union: Filling, filling: Filling) -> Filling | None:
        """Return the union of two partial fillings, or None if no counted filling contains both."""
        wider = union | filling
        contents = Counter(content for _, content in wider)
        if len({variable for variable, _ in wider}) < len(wider) or contents["K"] > 1:
            return None
        for content, most in (("b", self.attackers), ("w", self.defenders)):
            if sum(self._variables[variable].length for variable, held in wider if held == content) > most:
                return None
        return wider

    def _option(self, union: Filling, coefficient: int, chooses: bool) -> _Subfamily:
        items = tuple(sorted((variable, _CODES[content]) for variable, content in union))
        return _Subfamily(
            value=sum(code << (_BITS * variable) for variable, code in items),
            mask=sum(3 << (_BITS * variable) for variable, _ in items),
            king=sum(1 << (_BITS * variable) for variable, code in items if code == _CODES["K"]),
            items=items,
            coefficient=coefficient,
            chooses=chooses,
        )

    # -- the sum ---------------------------------------------------------------------------

    def count(self, observe: Callable[[int, int], None] | None = None) -> CountsByMaterial:
        """Return the number of fillings, by material."""
        states: _States = {0: {0: 1}}
        for position in range(len(self._variables)):
            self._step(states, position)
            if observe is not None:
                observe(position, len(states))
        return self._fill(states.get(0, {}))

    def _step(self, states: _States, position: int) -> None:
        """Extend the states by each subfamily that starts at a variable, then eliminate this variable."""
        shift, king_code = _BITS * position, _CODES["K"]
        options = self._options(position)
        # If the variable is not a seat, a king on it must be part of a king term.
        legal = [
            option
            for code, group in options.items()
            for option in group
            if code != king_code or option.chooses or self._seats[position]
        ]
        near = 3 << shift
        for group in options.values():  # including options that need a king from an earlier term
            for option in group:
                near |= option.mask
        joins: dict[tuple[int, int], list[_Join]] = {}
        arrived: _States = {}
        keep = ~(3 << shift)
        for forced in list(states):
            code = forced >> shift & 3
            tallies = states[forced]
            king = forced & forced >> 1 & self._ones
            key = forced & near, king
            if (ways := joins.get(key)) is None:
                ways = joins[key] = self._joins(key[0], king, options[code] if code else legal)
            most_defenders = self.defenders - (min(tallies) >> self._top) if ways else 0
            # A king on this variable must belong to a king term that was chosen before or that starts here.
            kept = tallies
            if code == king_code:
                kept = {tally: count for tally, count in tallies.items() if tally & _CHOSEN}
            for way in ways:
                if way.defenders > most_defenders:
                    break
                after = (forced | way.value) & keep
                target = arrived.get(after)
                if target is None:
                    target = arrived[after] = {}
                if way.crowns:
                    self._crown(target, tallies, way)
                else:
                    self._join(target, kept, way)
            if code:
                del states[forced]
                _merge(arrived.setdefault(forced & keep, {}), kept)
        for forced, tallies in arrived.items():
            if tallies:
                _merge(states.setdefault(forced, {}), tallies)

    def _joins(self, near: int, king: int, options: Iterable[_Subfamily]) -> list[_Join]:
        """Return the options' effects on states with the forced contents ``near``, ordered by added defenders."""
        joins = []
        for option in options:
            held = near & option.mask
            taken = (held | held >> 1) & self._ones
            if held != option.value & taken * 3 or (king and option.king and king != option.king):
                continue
            fresh = [(variable, code) for variable, code in option.items if not taken >> (_BITS * variable) & 1]
            cost = sum(self._costs[variable][code] for variable, code in fresh)
            seats = sum(self._seats[variable] for variable, _ in fresh)
            crowns = option.chooses or (option.king != 0 and not king)
            if option.chooses or (crowns and self._seats[(option.king.bit_length() - 1) // _BITS]):
                cost += _CHOSEN
            lost = 0 if king or crowns else seats
            joins.append(_Join(cost >> self._top, option.value, cost, option.coefficient, crowns, lost))
        return sorted(joins)

    def _crown(self, target: dict[int, int], tallies: Mapping[int, int], way: _Join) -> None:
        """Extend the fillings without a king by an option with a king, and add the results to ``target``."""
        cost, factor, guard, too_many = way.cost, way.coefficient, self._guard, self._too_many
        for tally, count in tallies.items():
            wider = tally + cost
            if not (tally & _CHOSEN or wider + guard & too_many):
                target[wider] = target.get(wider, 0) + factor * count

    def _join(self, target: dict[int, int], tallies: Mapping[int, int], way: _Join) -> None:
        """Extend a state's fillings by an option, and add the results to ``target``.

        The option can place soldiers on seats, which the king can then no longer take.
        """
        cost, factor, guard, too_many = way.cost, way.coefficient, self._guard, self._too_many
        seats, lost = way.lost_seats, _CHOSEN + self._seat
        for tally, count in tallies.items():
            wider = tally + cost
            if wider + guard & too_many:
                continue
            target[wider] = target.get(wider, 0) + factor * count
            if seats and not tally & _CHOSEN:
                wider += lost
                target[wider] = target.get(wider, 0) - seats * factor * count

    def _fill(self, tallies: Mapping[int, int]) -> CountsByMaterial:
        """Return the number of complete fillings that belong to the given tallies, by material."""
        royal = sum(seat and v.kind == "royal" for seat, v in zip(self._seats, self._variables, strict=True))
        total = CountsByMaterial.zero(self.attackers, self.defenders)
        for tally, count in tallies.items():
            if tally & _CHOSEN:
                total += count * self._ways(tally)
                continue
            # There is no king yet, and so it can take any seat. For other tallies, the seats that soldiers have taken
            # are subtracted.
            if royal:
                total += royal * count * self._ways(tally)
            if others := sum(self._seats) - royal:
                total += others * count * self._ways(tally + self._seat)
        return total

    def _ways(self, tally: int) -> CountsByMaterial:
        """Return the number of ways to fill the free variables, by material. The material includes forced soldiers."""
        left: dict[str, list[tuple[int, int]]] = {"camp": [], "free": []}
        for number, (kind, length) in enumerate(self._classes):
            left[kind].append((length, self._there[kind, length] - (tally >> _FIELD * (2 + number) & _WHOLE)))
        ways = soldiers(tuple(left["camp"]), tuple(left["free"]), self.attackers, self.defenders)
        return ways.shifted(tally & _WHOLE, tally >> self._top)


def _merge(target: dict[int, int], tallies: Mapping[int, int]) -> None:
    """Add the counts in ``tallies`` to those in ``target``, which is changed in place."""
    if not target:
        target.update(tallies)
        return
    for tally, count in tallies.items():
        target[tally] = target.get(tally, 0) + count


# -- the placements in a space that contain no locked set, by material and up to symmetry


_LETTERS = {ATTACKER: "b", DEFENDER: "w"}


def surviving(
    signed: Sequence[tuple[Space, int]],
    symmetry: Symmetry,
    sets: Collection[LockedSet],
    observe: Callable[[int, int], None] | None = None,
) -> CountsByMaterial:
    """Return the number of placements that a symmetry preserves and that contain no locked set, by material."""
    space = signed[0][0]
    variant = space.variant
    regions = variant.regions
    kings = {placement.king for part, _ in signed for placement in part.kings}
    # A placement that the symmetry preserves has its king on a fixed cell.
    standing = regions.soldier_cells | {king for king in kings if symmetry.table[king] == king}
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
        [KingTerm(filling, count) for filling, count in terms.items() if count],
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
    """Return a king's placement as a signed sum of fillings that force soldiers around the king.

    An empty cell is replaced by any contents, minus an attacker, minus a defender, so that no cell is forced to be
    empty.
    """
    cycles = symmetry.cycles(placement.watched)
    belongs = {chosen: int(placement.admits(contents)) for chosen, contents in placement.contents(symmetry, camp_cells)}
    for place in range(len(cycles)):
        belongs = {
            chosen: count - (belongs[(*chosen[:place], EMPTY, *chosen[place + 1 :])] if chosen[place] != EMPTY else 0)
            for chosen, count in belongs.items()
        }
    fillings: Counter[Filling] = Counter()
    for chosen, count in belongs.items():
        if count:
            forced = [
                (number[cycle[0]], _LETTERS[content])
                for cycle, content in zip(cycles, chosen, strict=True)
                if content != EMPTY
            ]
            fillings[frozenset([(number[placement.king], "K"), *forced])] += count
    return fillings


def _on_cycles(
    sets: Collection[LockedSet], cycles: Sequence[tuple[int, ...]], number: Mapping[int, int]
) -> set[Filling]:
    """Return the minimal sets that a placement preserved by a symmetry can contain, as sets of cycles with contents."""
    fillings: set[Filling] = set()
    for locked in sets:
        if all(cell in number for cell, _ in locked):
            filling = frozenset((number[cell], piece) for cell, piece in locked)
            single = len({cycle for cycle, _ in filling}) == len(filling)
            if single and not any(piece == "K" and len(cycles[cycle]) > 1 for cycle, piece in filling):
                fillings.add(filling)
    # Keep the minimal sets: drop each set that contains another one.
    by_item: dict[tuple[int, str], list[Filling]] = {}
    for filling in fillings:
        by_item.setdefault(min(filling), []).append(filling)
    return {
        filling
        for filling in fillings
        if not any(other < filling for item in filling for other in by_item.get(item, ()))
    }
