"""The frozen `Variant`: terrain, start position and rule fields, and all properties derived from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, wraps
from typing import Annotated, Any, ClassVar, Concatenate, Final, Literal, NamedTuple, ParamSpec, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_serializer, model_validator

from symmetry import Symmetry, dihedral, stabiliser
from tablut.position import diagram_cells, parse_square, position_text, square_name
from tablut.work.files import brief
from tablut.work.sealed_records import digest_of, fields_of


@brief
@dataclass(frozen=True)
class Variant:
    """A rule set that is immutable, hashable, and compared by content.

    Attributes
    ----------
    name : str
        Name of a built-in variant, or the name given in a user's file (by default the file name without its suffix).
    title, source : str
        Short description, and the source of the rules.
    terrain, start : tuple of str
        Diagrams of terrain and start position, top rank first, in the letters of variant files.
    rules : Rules
        One value for each rule field.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> variant = load_variant("brandubh")
    >>> variant.size, variant.attackers, variant.defenders
    (7, 8, 4)
    >>> variant.start_position
    '3b3/3b3/3w3/bbwKwbb/3w3/3b3/3b3 b'
    """

    name: str
    title: str
    source: str
    terrain: tuple[str, ...]
    start: tuple[str, ...]
    rules: Rules

    @property
    def size(self) -> int:
        """Number of cells along a side of the board."""
        return len(self.terrain)

    @cached_property
    def attackers(self) -> int:
        """Number of attackers at the start."""
        return sum(row.count("b") for row in self.start)

    @cached_property
    def defenders(self) -> int:
        """Number of defenders at the start, without the king."""
        return sum(row.count("w") for row in self.start)

    @cached_property
    def start_position(self) -> str:
        """Start position as one-line text, including the side to move."""
        return position_text(self.start, self.rules.first[0])

    @cached_property
    def _game(self) -> Variant:
        """The variant without its names, so that all variants of a game share what follows from the game alone."""
        return replace(self, name="", title="", source="")

    @cached_property
    def regions(self) -> Regions:
        """Castle, camps, escapes and corners, and the cells where each kind of piece may stand."""
        return _regions(self._game)

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """Symmetries of the square that preserve the rules.

        These symmetries preserve every kind of cell, the partition of the camp cells into camps, the list of inert camp
        cells, and the cells where each kind of piece may stand. The start position matters only for the cells where
        pieces may stand.

        Returns
        -------
        tuple of Symmetry
            Symmetries in the order of `symmetry.dihedral`, the identity first.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> len(load_variant("ashton").symmetries)
        8
        """
        return _symmetries(self._game)

    @cached_property
    def start_symmetries(self) -> tuple[Symmetry, ...]:
        """Symmetries of the rules that also leave the start position unchanged.

        Returns
        -------
        tuple of Symmetry
            Symmetries in the order of `symmetries`, the identity first.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> len(load_variant("ashton-5-4v2").start_symmetries)
        4
        """
        return _start_symmetries(self._game)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of terrain, start position and rules.

        Two variants have equal digests if and only if `same_game` is true.

        Returns
        -------
        str
            64 hexadecimal digits.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> load_variant("ashton").digest == load_variant("bologna").digest
        False
        """
        return _digest(self._game)

    def same_game(self, other: Variant) -> bool:
        """Return whether two variants differ at most in name, title and source.

        Parameters
        ----------
        other : Variant
            Another rule set.

        Returns
        -------
        bool
            Whether terrain, start position and rules are equal.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> load_variant("ashton").same_game(load_variant("bologna"))
        False
        """
        return (self.terrain, self.start, self.rules) == (other.terrain, other.start, other.rules)

    def __getstate__(self) -> dict[str, object]:
        """Pickle only the definition. Derived properties are computed again."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}


# -- facts that are derived from a variant: tables, engines, indices and the like --------------


_Arguments = ParamSpec("_Arguments")
_Fact = TypeVar("_Fact")


@lru_cache(maxsize=128)
def _facts_of(_variant: Variant) -> dict[Any, Any]:
    """Return the place for everything that is derived from a variant. Equal variants share it."""
    return {}


def derived(
    function: Callable[Concatenate[Variant, _Arguments], _Fact],
) -> Callable[Concatenate[Variant, _Arguments], _Fact]:
    """Make a function of a variant return the same object whenever it is called for equal variants and arguments."""

    @wraps(function)
    def fact_of(variant: Variant, /, *arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Fact:
        facts, key = _facts_of(variant), (function, arguments, *named.items())
        if key not in facts:
            facts.setdefault(key, function(variant, *arguments, **named))
        fact: _Fact = facts[key]
        return fact

    return fact_of


@derived
def _regions(variant: Variant) -> Regions:
    return _derive_regions(variant.size, diagram_cells(variant.terrain), diagram_cells(variant.start), variant.rules)


@derived
def _symmetries(variant: Variant) -> tuple[Symmetry, ...]:
    regions, size = variant.regions, variant.size
    inert = {parse_square(name, size) for name in variant.rules.camps.inert}
    labels = []
    for cell, letter in enumerate(diagram_cells(variant.terrain)):
        # An ordinary corner (+) is treated like any other ordinary cell.
        kind = "camp" if letter in CAMP_LETTERS else "." if letter == "+" else letter
        labels.append((kind, cell in inert, cell in regions.king_cells, cell in regions.camp_cells))
    camps = {camp.cells for camp in regions.camps}
    return tuple(
        symmetry
        for symmetry in stabiliser(dihedral(size), labels)
        if {frozenset(symmetry.table[cell] for cell in camp) for camp in camps} == camps
    )


@derived
def _start_symmetries(variant: Variant) -> tuple[Symmetry, ...]:
    return stabiliser(variant.symmetries, diagram_cells(variant.start))


@derived
def _digest(variant: Variant) -> str:
    return digest_of({"terrain": variant.terrain, "start": variant.start, "rules": variant.rules})


# -- the rule fields: one for each point where the sources for Tablut differ -------------


# These pydantic models serve three purposes: they are the schema of the rules in a variant file, the frozen value in
# the program, and the field documentation for readers (`rule_fields`).


MOST_PLIES: Final = 1_000_000
"""Largest move limit in plies."""


def _strict_bool(value: Any) -> bool:
    # TOML has booleans, so a quoted "false" is a mistake and must not be converted to True.
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _small_letters(value: Any) -> Any:
    # Names of squares are accepted in upper and lower case, but equal rules must have equal values.
    return [name.lower() if isinstance(name, str) else name for name in value] if isinstance(value, list) else value


Flag = Annotated[bool, BeforeValidator(_strict_bool)]
Plies = Annotated[int, Field(gt=0, le=MOST_PLIES, strict=True)]


class _Fields(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    LATER: ClassVar[frozenset[str]] = frozenset()
    """Fields that were added after the first tablebases were built.

    They are written only if they differ from their defaults. This keeps the digests of older rule sets unchanged.
    """

    @model_serializer
    def plain(self) -> Any:
        """Return the fields as JSON values, for digests, records and lists of fields."""
        silent = {name for name in self.LATER if getattr(self, name) == type(self).model_fields[name].default}
        return fields_of(self, without=silent)


class CastleRules(_Fields):
    """Rules of the castle (also called throne or konakis)."""

    passable: Literal["nobody", "king", "everyone"] = Field(
        alias="pass", description="who may slide across the empty castle"
    )
    stop: Literal["nobody", "king"] = Field(description="who may end a move on the castle (the king may start there)")
    hostile_to_white: Literal["never", "empty", "empty_or_besieged", "always"] = Field(
        description=(
            "when the castle is an anvil against a white soldier; "
            "it is besieged if the king on it has three black neighbours"
        )
    )
    hostile_to_black: Literal["never", "empty", "always"] = Field(
        description="when the castle is an anvil against a black soldier"
    )


class CampRules(_Fields):
    """Rules of the camps. No piece may enter a camp. A soldier may move within its camp, or leave it for good."""

    hostile: Flag = Field(description="camp cells are anvils against soldiers of both colours and against the king")
    shelter: Flag = Field(description="a soldier standing in a camp cannot be captured")
    inert: Annotated[tuple[str, ...], BeforeValidator(_small_letters)] = Field(
        default=(), description="camp cells that are not anvils against black soldiers"
    )


class CornerRules(_Fields):
    """Rules of the corners that only the king may enter (``X``)."""

    LATER = frozenset({"wide"})

    hostile: Flag = Field(description="X corners are anvils against soldiers of both colours and against the king")
    wide: Flag = Field(default=False, description="each X corner is two cells wide and two high")


class KingRules(_Fields):
    """Rules of the king: whether it captures, and how it is captured."""

    armed: Flag = Field(description="the king captures, as mover and as anvil")
    on_castle: Literal["four", "two"] = Field(
        default="four", description="on how many sides the king must be enclosed to be captured on the castle"
    )
    beside_castle: Literal["as_on_castle", "as_elsewhere"] = Field(
        default="as_on_castle",
        description=(
            "whether the king beside the castle is captured as on it, "
            "with the castle as a hostile cell, or as elsewhere"
        ),
    )
    elsewhere: Literal["two", "four"] = Field(
        description=(
            "what captures the king away from the castle: "
            "hostile cells on two opposite sides, or black soldiers on all four"
        )
    )


class Shieldwall(_Fields):
    """Rules of shieldwalls: a row of pieces along the edge is captured by enemies in front of it and at both ends."""

    corner: Flag = Field(description="an X corner may replace the piece at one end of the row")
    mover: Literal["bracket", "any"] = Field(
        description=(
            "which piece may complete a shieldwall: "
            "only a piece that arrives at an end of the row, or any piece involved"
        )
    )


class Repetition(_Fields):
    """Rule of repetition. In a variant file, a result without a number refers to a position's second occurrence."""

    times: Annotated[int, Field(ge=2, le=MOST_PLIES, strict=True)] = Field(
        description="which occurrence of a position in a game counts as a repetition (the first occurrence is number 1)"
    )
    result: Literal[
        "draw", "mover_loses", "none", "white_loses", "black_loses", "illegal", "mover_wins", "illegal_for_white"
    ] = Field(description="effect of a repetition: a draw, a loss, a win, nothing, or an illegal move")

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: Any) -> Any:
        return {"times": 2, "result": value} if isinstance(value, str) else value

    @property
    def draws(self) -> bool:
        """Whether neither side can win by repetition, because a repetition is a draw or has no effect."""
        return self.result in ("draw", "none")

    def spares(self, side: Literal["white", "black"]) -> bool:
        """Return whether a side cannot lose by repetition, whichever side repeats the position."""
        return self.draws or self.result in (
            ("black_loses",) if side == "white" else ("white_loses", "illegal_for_white")
        )

    def forbids(self, mover: Literal["white", "black"]) -> bool:
        """Return whether ``mover`` may not make a move that repeats a position."""
        return self.result == "illegal" or (self.result == "illegal_for_white" and mover == "white")

    @property
    def ends(self) -> bool:
        """Whether a repetition ends the game."""
        return self.result not in ("none", "illegal", "illegal_for_white")

    def winner(self, mover: Literal["white", "black"]) -> Literal["white", "black"] | None:
        """Return the winner if a move by ``mover`` leads to the occurrence that ends the game, or None for a draw."""
        if self.result == "mover_wins":
            return mover
        loser = {"mover_loses": mover, "white_loses": "white", "black_loses": "black"}.get(self.result)
        return None if loser is None else "black" if loser == "white" else "white"

    @model_serializer
    def plain(self) -> Any:
        """Return the result alone if it applies to the second occurrence, otherwise both fields."""
        return self.result if self.times == 2 else fields_of(self)


class Rules(_Fields):
    """All rule fields of a variant, frozen and hashable.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> load_variant("ashton").rules.castle.stop
    'nobody'
    """

    LATER = frozenset({"shieldwall", "fort", "encirclement"})

    first: Literal["white", "black"] = Field(description="who moves first")
    castle: CastleRules = CastleRules.model_validate(
        {"pass": "nobody", "stop": "nobody", "hostile_to_white": "never", "hostile_to_black": "never"}
    )
    camps: CampRules = CampRules(hostile=False, shelter=False)
    corners: CornerRules = CornerRules(hostile=False)
    king: KingRules
    no_moves: Literal["side_to_move_loses", "either_after_ply"] = Field(
        description="when a side without a legal move has lost: on its turn, or after either side's ply"
    )
    repetition: Repetition = Field(description="effect of repeating an earlier position of the game")
    # Kernels count plies in 32 bits, which is far more than any real game needs.
    move_limit: Plies | None = Field(default=None, description="number of plies after which the game is drawn")
    shieldwall: Shieldwall | None = Field(default=None, description="rows along the edge are captured together")
    fort: Literal["none", "on_edge", "on_edge_counted"] = Field(
        default="none",
        description="white wins when its king stands on the edge in a fort that black cannot break",
    )
    encirclement: Literal["none", "no_way_to_edge"] = Field(
        default="none",
        description="black wins when no path of empty cells leads from a white piece to the edge",
    )

    @property
    def act_afar(self) -> bool:
        """Whether a ply may have effects far from its target cell."""
        return self.shieldwall is not None or self.fort != "none" or self.encirclement != "none"


class RuleField(NamedTuple):
    """Rule field for display: its dotted name, value and meaning."""

    name: str
    value: Any
    meaning: str


def rule_fields(rules: Rules) -> list[RuleField]:
    """Return all rule fields with their dotted names, values and meanings.

    Fields that were added later are included only if they differ from their defaults.

    Parameters
    ----------
    rules : Rules
        A variant's rules.

    Returns
    -------
    list of RuleField
        Fields in the order of the variant file.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> rule_fields(load_variant("leiden").rules)[1]
    RuleField(name='castle.pass', value='everyone', meaning='who may slide across the empty castle')
    """
    fields: list[RuleField] = []

    def _collect(model: BaseModel, dumped: dict[str, object], prefix: str) -> None:
        for attribute, info in type(model).model_fields.items():
            if (key := info.alias or attribute) not in dumped:
                continue
            if isinstance(value := dumped[key], dict):
                _collect(getattr(model, attribute), value, f"{prefix}{key}.")
            else:
                fields.append(RuleField(prefix + key, value, info.description or ""))

    _collect(rules, rules.plain(), "")
    return fields


WIDE: Final = "a board larger than 11×11"


def later_rules(variant: Variant) -> list[str]:
    """Return the features of a rule set that the six original rule sets do not use, as field names or in words."""
    rules = variant.rules
    holds = {
        "shieldwall": rules.shieldwall is not None,
        "fort": rules.fort != "none",
        "encirclement": rules.encirclement != "none",
        "repetition": rules.repetition.times != 2 or rules.repetition.result not in ("draw", "mover_loses", "none"),
        "corners.wide": rules.corners.wide,
        "a board without a castle": variant.regions.castle is None,
        WIDE: variant.size > 11,
    }
    return [name for name, found in holds.items() if found]


# -- regions: castle, camps, escapes and corners, and the cells where each kind of piece may stand ---


# Regions are derived once from the diagrams of terrain and start, so that most modules need not read the diagrams. The
# king's region consists of the cells that the king can reach on a board without soldiers. A king on an escape cell has
# won and does not move again. Therefore, cells that the king could reach only from an escape do not belong to the
# region.


CAMP_LETTERS = "ABCD"
DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""North, east, south and west as (file, rank) steps."""


def step(cell: int, direction: tuple[int, int], size: int) -> int | None:
    """Return the neighbour of a cell in a given direction, or None if it would lie beyond the edge."""
    rank, file = divmod(cell, size)
    file, rank = file + direction[0], rank + direction[1]
    return rank * size + file if 0 <= file < size and 0 <= rank < size else None


def ray(cell: int, direction: tuple[int, int], size: int) -> Iterator[int]:
    """Yield the cells that lie between a cell and the edge in a given direction, including the edge cell."""
    target = step(cell, direction, size)
    while target is not None:
        yield target
        target = step(target, direction, size)


@dataclass(frozen=True, slots=True)
class Camp:
    """A camp: a set of cells that soldiers may leave but not enter.

    Attributes
    ----------
    letter : str
        Letter of the camp, ``A`` to ``D``.
    cells : frozenset of int
        Cells of the camp.
    garrison : int
        Number of attackers that start in the camp. The camp never contains more attackers than this.
    """

    letter: str
    cells: frozenset[int]
    garrison: int


@brief
@dataclass(frozen=True, slots=True)
class Regions:
    """Cells of a variant, classified by their roles. Sets contain cell indices.

    Attributes
    ----------
    size : int
        Number of cells along a side of the board.
    castle : int or None
        The castle cell, or None on a board without a castle.
    camps : tuple of Camp
        Camps, ordered by letter.
    escapes : frozenset of int
        Cells where the king wins (``*`` and ``X``).
    royal_corners : frozenset of int
        ``X`` corners, which only the king may enter.
    king_cells : frozenset of int
        Cells where the king may stand in an undecided position.
    camp_cells : frozenset of int
        Cells where attackers but not defenders may stand: the cells of camps with a garrison.
    free_cells : frozenset of int
        Cells where soldiers of both sides may stand.
    approaches : dict of int to tuple of frozenset of int
        For each escape cell that the king can reach, one set for each direction from which the king can arrive. The set
        contains the cells, among those where soldiers may stand, that must be empty after the king's arrival.
    anvils : dict of str to frozenset of int
        Cells whose terrain can be hostile to a soldier of a side (``white`` or ``black``) while the castle is empty.
    king_patterns : dict of int to tuple of KingPattern
        For each cell where the king may stand in an undecided position, the patterns that capture it there.
    """

    size: int
    castle: int | None
    camps: tuple[Camp, ...]
    escapes: frozenset[int]
    royal_corners: frozenset[int]
    king_cells: frozenset[int]
    camp_cells: frozenset[int]
    free_cells: frozenset[int]
    approaches: dict[int, tuple[frozenset[int], ...]]
    anvils: dict[Literal["white", "black"], frozenset[int]]
    king_patterns: dict[int, tuple[KingPattern, ...]]

    @property
    def soldier_cells(self) -> frozenset[int]:
        """Cells where attackers may stand."""
        return self.free_cells | self.camp_cells

    @property
    def camp_terrain(self) -> frozenset[int]:
        """Cells of all camps, also of those without a garrison."""
        return frozenset().union(*(camp.cells for camp in self.camps))

    @property
    def castles(self) -> frozenset[int]:
        """Set that contains the castle cell. The set is empty on a board without a castle."""
        return frozenset() if self.castle is None else frozenset({self.castle})

    def named(self) -> dict[str, list[str]]:
        """Return the regions by name. Their cells are listed as square names in index order."""
        sets = {
            "castle": self.castles,
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


def _derive_regions(size: int, terrain: str, start: str, rules: Rules) -> Regions:
    """Derive a variant's regions from its diagrams."""
    cells = range(size * size)
    castle = terrain.index("T") if "T" in terrain else None
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
    regions = Regions(
        size=size,
        castle=castle,
        camps=camps,
        escapes=escapes,
        royal_corners=frozenset(cell for cell in cells if terrain[cell] == "X"),
        king_cells=king_cells,
        camp_cells=frozenset(cell for camp in camps if camp.garrison for cell in camp.cells),
        free_cells=free_cells,
        approaches=approaches,
        anvils={},
        king_patterns={},
    )
    return replace(
        regions,
        anvils=_anvils(regions, rules),
        king_patterns={king: _king_patterns(regions, rules, king) for king in sorted(king_cells)},
    )


class _Ways(NamedTuple):
    """Possible moves for a king that is alone on the board."""

    size: int
    terrain: str
    castle: int | None
    rules: Rules

    def king_cells(self, start: int, escapes: frozenset[int]) -> frozenset[int]:
        """Return the cells where the king may stand in an undecided position."""
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
        """Return the paths from an escape cell back to the nearest king cell in each direction.

        Directions without a king cell are left out.
        """
        found = (self._way_back(escape, direction, king_cells, free_cells) for direction in DIRECTIONS)
        return tuple(way for way in found if way is not None)

    def _landings(self, cell: int, direction: tuple[int, int]) -> Iterator[int]:
        """Yield the cells where a king may stop when it slides in a direction on a board without soldiers."""
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
        """Return the free cells on the path from an escape cell up to and including the nearest king cell.

        The result is None if there is no king cell in this direction, or if terrain blocks the path.
        """
        way = set()
        for cell in ray(escape, direction, self.size):
            if cell in free_cells:
                way.add(cell)
            if cell in king_cells:
                return frozenset(way)
            if self.terrain[cell] in CAMP_LETTERS or (cell == self.castle and self.rules.castle.passable == "nobody"):
                return None
        return None


# ------------------------------------------------------------------------------------------
# Captures as determined by terrain: anvils, and the patterns that capture a king
# Only an arriving attacker can capture. A pattern lists the attackers that must stand around the king after the
# capturing attacker has arrived.


def _hostile(regions: Regions, rules: Rules) -> frozenset[int]:
    """Return the cells outside the castle whose terrain is hostile to white's pieces."""
    camps = regions.camp_terrain if rules.camps.hostile else frozenset()
    return camps | (regions.royal_corners if rules.corners.hostile else frozenset())


def _anvils(regions: Regions, rules: Rules) -> dict[Literal["white", "black"], frozenset[int]]:
    """Return `Regions.anvils`."""
    hostile, inert = _hostile(regions, rules), {parse_square(name, regions.size) for name in rules.camps.inert}
    to_white = regions.castles if rules.castle.hostile_to_white != "never" else frozenset()
    to_black = regions.castles if rules.castle.hostile_to_black != "never" else frozenset()
    return {"white": hostile | to_white, "black": hostile - inert | to_black}


class KingPattern(NamedTuple):
    """Minimal set of attackers that captures a king on a given cell.

    ``terrain`` is true if hostile terrain other than the castle takes part in the capture.
    """

    attackers: frozenset[int]
    terrain: bool


def _king_patterns(regions: Regions, rules: Rules, king: int) -> tuple[KingPattern, ...]:
    """Return the patterns (minimal sets of attackers) that capture a king on a given cell."""
    soldier_cells, hostile = regions.soldier_cells, _hostile(regions, rules)
    sides = [step(king, direction, regions.size) for direction in DIRECTIONS]
    on_castle = king == regions.castle
    beside_castle = bool(regions.castles.intersection(sides)) and rules.king.beside_castle == "as_on_castle"
    anvils = hostile | regions.castles if beside_castle else hostile
    surrounded = (rules.king.on_castle if on_castle or beside_castle else rules.king.elsewhere) == "four"

    if surrounded:
        if None in sides:
            return ()
        # If the king must be surrounded on all four sides, hostile terrain counts only beside the castle.
        helping = anvils.intersection(sides) if beside_castle else set()
        needed = frozenset(cell for cell in sides if cell is not None and cell not in helping)
        # Even if all sides are hostile terrain, an attacker must arrive on one of them to capture the king.
        sets = [needed] if needed else [frozenset({cell}) for cell in helping]
        by_terrain = bool(helping - regions.castles)
        return tuple(KingPattern(attackers, by_terrain) for attackers in sets if attackers <= soldier_cells)

    found: dict[frozenset[int], bool] = {}
    for near, far in ((sides[0], sides[2]), (sides[2], sides[0]), (sides[1], sides[3]), (sides[3], sides[1])):
        # The capturing soldier has arrived at `near`. The cell `far`, behind the king, must be hostile.
        if near is None or far is None or near not in soldier_cells:
            continue
        if far in anvils:
            found[frozenset({near})] = far != regions.castle
        elif far in soldier_cells:
            found.setdefault(frozenset({near, far}), False)
    return tuple(
        KingPattern(attackers, terrain)
        for attackers, terrain in found.items()
        if not any(other < attackers for other in found)
    )
