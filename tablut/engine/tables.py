"""A variant's rules in the form that kernels use: one tuple of arrays, built once.

The tables state which slides exist (`line_tables`), which cells are hostile to each side (*anvils*), from which sides
the king is captured, and where the king wins. A *line* is a row or a column of the board, and a *place* is a cell's
index on its line. Each direction is one bit: 1 for west, 2 for south, 4 for east, 8 for north. A cell's neighbouring
attackers are encoded with the same bits, as a number from 0 to 15.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

import numpy as np

from tablut.engine.jit import split_mix
from tablut.errors import UncompiledError
from tablut.position import NARROW, diagram_cells
from tablut.variants.model import CAMP_LETTERS, derived

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tablut.variants import Variant

Mover = Literal["attacker", "defender", "king"]

WHITE: Final = 0
BLACK: Final = 1
ATTACKER: Final = 0
DEFENDER: Final = 1
KING: Final = 2
WEST: Final = 1
SOUTH: Final = 2
EAST: Final = 4
NORTH: Final = 8

Record = TypeVar("Record", bound=tuple[Any, ...])

_OPPOSITE: Final = {WEST: EAST, EAST: WEST, SOUTH: NORTH, NORTH: SOUTH}


ALL, EDGE, NOT_FIRST, NOT_LAST, ROYAL, ENDS, WALK, STAND, ANVIL, EXPOSED = range(10)
"""Indices of the sets in `DistantTables.sets`."""


class DistantTables(NamedTuple):
    """Tables for the rules that let a ply affect distant cells (`tablut.engine.distant`). C is the number of cells.

    - ``size``, ``king_armed``, ``rank``, ``file``, ``exposed``: Copies of the fields of `Tables`.
    - ``far``: 1 if the rule set has at least one of these rules, else 0.
    - ``shieldwall``: 0 if the rule set lacks this rule, 1 if a piece must arrive at an end of a shieldwall to capture
      it, 2 if any piece that takes part in the capture may be the last to arrive.
    - ``encirclement``: 1 if black wins by encirclement, else 0.
    - ``fort``: 0 if the rule set lacks this rule, 1 if white wins by an exit fort, 2 if a fort also counts as such when
      black has too few attackers to break it.
    - ``edge``: 1 for cells on the edge of the board, else 0, as uint8 of shape (C,).
    - ``ends``: For each line, the mask of places that may replace a piece at an end of a shieldwall.
    - ``pinch``: Indexed by the mask of attackers on a block of three by three cells: 1 if an attacker in the middle
      separates the open cells around it from each other. Cells beyond the edge count as open.
    - ``sets``: Sets of cells, uint64 of shape (10, 2): the board; its edge; all cells except the first file; all cells
      except the last file; royal corners; corners that replace a piece at an end of a shieldwall; cells that attackers
      may pass; cells where attackers may stop; cells hostile to a defender; cells where a soldier can be captured.
    """

    size: int
    king_armed: int
    rank: NDArray[np.uint8]
    file: NDArray[np.uint8]
    exposed: NDArray[np.uint32]
    far: int
    shieldwall: int
    encirclement: int
    fort: int
    edge: NDArray[np.uint8]
    ends: NDArray[np.uint32]
    pinch: NDArray[np.uint8]
    sets: NDArray[np.uint64]


class NearTables(DistantTables):
    """Tables with the fields of `DistantTables`, for a rule set without rules about distant cells.

    Kernels recognise the type of these tables and are compiled without the code for such rules.
    """

    __annotations__ = DistantTables.__annotations__


class Tables(NamedTuple):
    """Rules of a variant as tables for kernels.

    N is the size of the board, C = N² its number of cells, and W the number of words for a position. Line masks are
    uint64 instead of uint32 for wide boards (`tablut.engine.layout`), which kernels distinguish by this type.

    - ``size``, ``cells``, ``words``: N, C and W.
    - ``castle``: The castle's cell, or -1 if there is no castle.
    - ``king_armed``, ``either_after_ply``: 0 or 1: whether the king takes part in captures, and whether a ply ends the
      game if it leaves either side without a move.
    - ``slides``, ``attacker_slides``, ``defender_slides``, ``king_slides``, ``counts``, ``attacker_counts``,
      ``defender_counts``, ``king_extra``, ``king_extra_at``, ``ternary``: See `LineTables`.
    - ``rank``, ``file``: Coordinates of a cell, as uint8 of shape (C,).
    - ``exposed``: For each line, the mask of places where a soldier can be captured, of shape (2N,).
    - ``anvils``: For each line, the mask of places whose terrain is hostile, of shape (5, 2N): hostile to an attacker
      if the castle is empty (0) or occupied (1), and to a defender if it is empty (2), occupied (3) or besieged (4).
    - ``facing``: At index ``king * C + cell``, the direction from the cell to the king if they are neighbours, else 0.
    - ``king_falls``: At index ``king * 16 + neighbouring attackers``, the directions (from attacker to king) in which a
      neighbouring attacker that has just arrived captures the king.
    - ``capture_sides``: At the same index, the sides of the king where one more attacker would capture it on arrival.
    - ``escapes``, ``escapes_on``: 1 for cells where the king wins, and the same cells as masks of places by line.
    - ``keys``, ``side_key``: Zobrist keys of attackers, defenders and the king, uint64 of shape (3, C), and of black to
      move.
    - ``distant``: Tables for shieldwalls, encirclement and exit forts.
    """

    size: int
    cells: int
    words: int
    castle: int
    king_armed: int
    either_after_ply: int
    slides: NDArray[np.uint16]
    attacker_slides: NDArray[np.uint32]
    defender_slides: NDArray[np.uint32]
    king_slides: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    attacker_counts: NDArray[np.uint32]
    defender_counts: NDArray[np.uint32]
    king_extra: NDArray[np.int8]
    king_extra_at: NDArray[np.uint32]
    ternary: NDArray[np.uint32]
    rank: NDArray[np.uint8]
    file: NDArray[np.uint8]
    exposed: NDArray[np.uint32]
    anvils: NDArray[np.uint32]
    facing: NDArray[np.uint8]
    king_falls: NDArray[np.uint8]
    capture_sides: NDArray[np.uint8]
    escapes: NDArray[np.uint8]
    escapes_on: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    side_key: NDArray[np.uint64]
    distant: DistantTables


@derived
def build_tables(variant: Variant) -> Tables:
    """Return the read-only look-up tables for a ``variant``. Equal variants get the same object.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> tables = build_tables(load_variant("ashton"))
    >>> tables.size, tables.words, int(tables.escapes.sum())
    (9, 3, 16)
    """
    size, regions, rules = variant.size, variant.regions, variant.rules
    if size > NARROW and rules.fort != "none":
        raise UncompiledError(variant.name, f"field 'fort' on boards up to {NARROW}×{NARROW}, not {size}×{size}")
    cells = size * size
    keys, side_key = zobrist_keys(cells)
    king_falls = _king_falls(variant)
    distant = _distant(variant, set(range(cells)) - (regions.camp_terrain if rules.camps.shelter else frozenset()))
    tables = Tables(
        size=size,
        cells=cells,
        words=_words(cells),
        castle=-1 if regions.castle is None else regions.castle,
        king_armed=int(rules.king.armed),
        either_after_ply=int(rules.no_moves == "either_after_ply"),
        **line_tables(variant)._asdict(),
        rank=distant.rank,
        file=distant.file,
        exposed=distant.exposed,
        anvils=_anvils(variant),
        facing=_facing(size),
        king_falls=king_falls,
        capture_sides=_capture_sides(king_falls),
        escapes=np.array([cell in regions.escapes for cell in range(cells)], dtype=np.uint8),
        escapes_on=line_masks(regions.escapes, size),
        keys=keys,
        side_key=np.array([side_key], dtype=np.uint64),
        distant=distant,
    )
    freeze(distant)
    return freeze(tables)


def freeze(record: Record) -> Record:
    """Make a record's arrays read-only, and return the record."""
    for field in record:
        if isinstance(field, np.ndarray):
            field.flags.writeable = False
    return record


def line_masks(cells: Iterable[int], size: int) -> NDArray[np.uint32]:
    """Convert a set of cells to masks of places, one for each line."""
    masks: NDArray[Any] = np.zeros(2 * size, dtype=np.uint64 if size > NARROW else np.uint32)
    for cell in cells:
        rank, file = divmod(cell, size)
        masks[rank] |= masks.dtype.type(1 << file)
        masks[size + file] |= masks.dtype.type(1 << rank)
    return masks


def _distant(variant: Variant, exposed: set[int]) -> DistantTables:
    regions, rules, size = variant.regions, variant.rules, variant.size
    cells, royal, castle = set(range(size * size)), regions.royal_corners, regions.castles
    edge = {cell for cell in cells if len(_sides(cell, size)) < 4}
    ends = royal if rules.shieldwall is not None and rules.shieldwall.corner else frozenset()
    walk = cells - royal - (set() if rules.castle.passable == "everyone" else castle)
    by_file = [{cell for cell in cells if cell % size != file} for file in (0, size - 1)]
    sets = (cells, edge, *by_file, royal, ends, walk, cells - royal - castle, regions.anvils["white"], exposed)
    numbers = [sum(1 << cell for cell in found) for found in sets]
    return (DistantTables if rules.act_afar else NearTables)(
        size=size,
        king_armed=int(rules.king.armed),
        rank=(np.arange(size * size) // size).astype(np.uint8),
        file=(np.arange(size * size) % size).astype(np.uint8),
        exposed=line_masks(exposed, size),
        far=int(rules.act_afar),
        shieldwall=0 if rules.shieldwall is None else 1 + (rules.shieldwall.mover == "any"),
        encirclement=int(rules.encirclement == "no_way_to_edge"),
        fort=("none", "on_edge", "on_edge_counted").index(rules.fort),
        edge=np.array([cell in edge for cell in range(size * size)], dtype=np.uint8),
        ends=line_masks(ends, size),
        pinch=np.array([_pinches(black) for black in range(512)], dtype=np.uint8),
        sets=np.array([[number & _MASK, number >> 64 & _MASK] for number in numbers], dtype=np.uint64),
    )


def _pinches(black: int) -> bool:
    """Return whether the open cells around the middle of a 3×3 block form more than one connected part."""
    around = [not black >> place & 1 for place in (0, 1, 2, 5, 8, 7, 6, 3)]
    # Corners have even indices. An open corner between two black cells does not count as a separate part.
    open_ones = [
        found if place % 2 else found and (around[place - 1] or around[(place + 1) % 8])
        for place, found in enumerate(around)
    ]
    return sum(found and not open_ones[place - 1] for place, found in enumerate(open_ones)) > 1


def _anvils(variant: Variant) -> NDArray[np.uint32]:
    rules, castle, anvils = variant.rules, variant.regions.castles, variant.regions.anvils
    to_black, to_white = anvils["black"] - castle, anvils["white"] - castle
    # For each state of the castle, these are the rule values that make the castle an anvil in that state.
    black_when: tuple[set[str], ...] = ({"empty", "always"}, {"always"})
    white_when: tuple[set[str], ...] = (
        {"empty", "empty_or_besieged", "always"},
        {"always"},
        {"empty_or_besieged", "always"},
    )
    states = [to_black | (castle if rules.castle.hostile_to_black in when else frozenset()) for when in black_when]
    states += [to_white | (castle if rules.castle.hostile_to_white in when else frozenset()) for when in white_when]
    return np.stack([line_masks(state, variant.size) for state in states])


def _sides(cell: int, size: int) -> dict[int, int]:
    """Return the neighbours of a cell, keyed by direction."""
    rank, file = divmod(cell, size)
    found = {}
    if file > 0:
        found[WEST] = cell - 1
    if rank > 0:
        found[SOUTH] = cell - size
    if file < size - 1:
        found[EAST] = cell + 1
    if rank < size - 1:
        found[NORTH] = cell + size
    return found


def _facing(size: int) -> NDArray[np.uint8]:
    facing = np.zeros((size * size, size * size), dtype=np.uint8)
    for king in range(size * size):
        for direction, cell in _sides(king, size).items():
            facing[king, cell] = _OPPOSITE[direction]
    return facing.ravel()


def _king_falls(variant: Variant) -> NDArray[np.uint8]:
    regions, rules, size = variant.regions, variant.rules.king, variant.size
    hostile = regions.anvils["white"] - regions.castles
    falls = np.zeros((size * size, 16), dtype=np.uint8)
    for king in range(size * size):
        sides = _sides(king, size)
        beside = not regions.castles.isdisjoint(sides.values()) and rules.beside_castle == "as_on_castle"
        strength = rules.on_castle if beside or king == regions.castle else rules.elsewhere
        anvils = hostile | regions.castles if beside else hostile
        # Where the king must be surrounded on all four sides, terrain counts only beside the castle. Where attackers on
        # two opposite sides suffice, terrain counts everywhere.
        terrain = sum(way for way, cell in sides.items() if cell in anvils and (beside or strength == "two"))
        for attackers in range(16):
            around = attackers | terrain
            for way in sides:
                if attackers & way and (around & _OPPOSITE[way] if strength == "two" else around == 15):
                    falls[king, attackers] |= _OPPOSITE[way]
    return falls.ravel()


def _capture_sides(king_falls: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return `Tables.capture_sides`, derived from `Tables.king_falls`."""
    falls = king_falls.reshape(-1, 16)
    sides = np.zeros_like(falls)
    for attackers in range(16):
        for way, facing in _OPPOSITE.items():
            if not attackers & way:
                sides[:, attackers] |= np.where(falls[:, attackers | way] & facing, np.uint8(way), np.uint8(0))
    return sides.ravel()


def _words(cells: int) -> int:
    """Return the number of words in a packed position (two bits per cell, the king's cell, and the side to move)."""
    return -(-(2 * cells + (cells - 1).bit_length() + 1) // 64)


# -- line tables: the slides along one row or column for every occupancy -----------------------


# A line is a row or a column of the board. Line ``l < N`` is the row of rank ``l`` (its places are files), and line
# ``N + f`` is the column of file ``f`` (its places are ranks). Lines with the same terrain share one table, whether
# they are rows or columns: Tablut's eighteen lines need five tables.
#
# For each kind of mover, a table gives the mask of the places where a slide may end, indexed by place and occupancy.
# Whether an attacker is in its camp depends only on its place, so attackers in their camps are not a separate
# kind of mover. A second table gives the total number of moves for the soldiers on a line. It is indexed by the line's
# content, read as a number in base 3.
#
# On wide boards (`tablut.engine.layout`), tables indexed by occupancy would be too large. For these boards the tables
# contain the masks for an empty line, which kernels cut off at the nearest pieces (`tablut.engine.attacks`), and
# there are no tables of counts.


class LineTables(NamedTuple):
    """Tables of slides and of move counts for all lines of a board. N is the board's size.

    - ``slides``: Blocks of ``N * 2**N`` masks, indexed by ``place << N | occupancy``. On wide boards, blocks of ``N``
      masks of uint32, indexed by place.
    - ``attacker_slides``, ``defender_slides``, ``king_slides``: Offset of each line's block in ``slides``, by mover.
    - ``counts``: Blocks of ``3**N`` numbers of moves, indexed by the line's pieces as a number in base 3 (digit 1 for
      an attacker, 2 for a defender or the king).
    - ``attacker_counts``, ``defender_counts``: Offset of each line's block in ``counts``. The king counts as a soldier.
    - ``king_extra``, ``king_extra_at``: Blocks indexed like those of ``slides``, with the number of places that the
      king can reach but a defender could not, and the offset of each line's block.
    - ``ternary``: For each mask of places, the value of its binary digits when read in base 3.
    """

    slides: NDArray[np.uint16]
    attacker_slides: NDArray[np.uint32]
    defender_slides: NDArray[np.uint32]
    king_slides: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    attacker_counts: NDArray[np.uint32]
    defender_counts: NDArray[np.uint32]
    king_extra: NDArray[np.int8]
    king_extra_at: NDArray[np.uint32]
    ternary: NDArray[np.uint32]


def board_lines(variant: Variant) -> list[str]:
    """Return the terrain letters of every line, in the order of line numbers."""
    cells, size = diagram_cells(variant.terrain), variant.size
    rows = [cells[rank * size : (rank + 1) * size] for rank in range(size)]
    return rows + ["".join(row[file] for row in rows) for file in range(size)]


def slide_masks(variant: Variant, terrain: str, mover: Mover) -> NDArray[np.uint16]:
    """Return masks of the places that a mover can slide to along a line, indexed by place and occupancy.

    On a wide board, the masks are for an empty line only.
    """
    size, castle = len(terrain), variant.rules.castle
    occupancy = np.arange(1 if size > NARROW else 1 << size)
    masks = np.zeros((size, len(occupancy)), dtype=np.uint32 if size > NARROW else np.uint16)
    passes_castle = castle.passable == "everyone" or (castle.passable == "king" and mover == "king")
    for place in range(size):
        for way in (range(place + 1, size), range(place - 1, -1, -1)):
            home = terrain[place] if mover == "attacker" and terrain[place] in CAMP_LETTERS else ""
            open_so_far = np.ones(len(occupancy), dtype=bool)
            for target in way:
                letter = terrain[target]
                if letter in CAMP_LETTERS and letter != home:
                    break
                if letter != home:
                    home = ""  # a soldier that has left its camp may not return to it
                open_so_far &= (occupancy >> target) & 1 == 0
                banned = (letter == "T" and not (mover == "king" and castle.stop == "king")) or (
                    letter == "X" and mover != "king"
                )
                if not banned:
                    masks[place, open_so_far] |= masks.dtype.type(1 << target)
                if letter == "T" and not passes_castle:
                    break
    return masks


class Blocks:
    """Concatenation of arrays that stores equal arrays only once."""

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []
        self._offsets: dict[bytes, int] = {}
        self._length = 0

    def place(self, block: NDArray[Any]) -> int:
        """Return a block's offset, appending the block if it is new."""
        content = block.tobytes()
        if content not in self._offsets:
            self._offsets[content] = self._length
            self._parts.append(block.ravel())
            self._length += block.size
        return self._offsets[content]

    def joined(self) -> NDArray[Any]:
        """Return all blocks in one array."""
        return np.concatenate(self._parts)


def line_tables(variant: Variant) -> LineTables:
    """Build the line tables for a variant."""
    size = variant.size
    lines = board_lines(variant)
    masks = np.arange(1 if size > NARROW else 1 << size)
    ternary = np.zeros(len(masks), dtype=np.uint32)
    for place in range(size):
        ternary += (((masks >> place) & 1) * 3**place).astype(np.uint32)

    movers: tuple[Mover, ...] = ("attacker", "defender", "king")
    slides, counts, extra = Blocks(), Blocks(), Blocks()
    slides_at = np.zeros((3, 2 * size), dtype=np.uint32)
    counts_at = np.zeros((2, 2 * size), dtype=np.uint32)
    extra_at = np.zeros(2 * size, dtype=np.uint32)
    for terrain in sorted(set(lines)):
        where = [number for number, letters in enumerate(lines) if letters == terrain]
        by_mover = [slide_masks(variant, terrain, mover) for mover in movers]
        for kind, block in enumerate(by_mover):
            slides_at[kind, where] = slides.place(block)
        for kind in (0, 1):
            counts_at[kind, where] = counts.place(_count_moves(by_mover[kind], digit=kind + 1))
        more = np.bitwise_count(by_mover[2]).astype(np.int8) - np.bitwise_count(by_mover[1]).astype(np.int8)
        extra_at[where] = extra.place(more)

    return LineTables(
        slides=slides.joined(),
        attacker_slides=slides_at[0],
        defender_slides=slides_at[1],
        king_slides=slides_at[2],
        counts=counts.joined().astype(np.uint8),
        attacker_counts=counts_at[0],
        defender_counts=counts_at[1],
        king_extra=extra.joined().astype(np.int8),
        king_extra_at=extra_at,
        ternary=ternary,
    )


def _count_moves(slides: NDArray[np.uint16], digit: int) -> NDArray[np.uint8]:
    """Return the number of moves for the pieces with a given digit, for each possible line content in base 3."""
    size = len(slides)
    if size > NARROW:
        return np.zeros(1, dtype=np.uint8)
    ends, occupancies = np.bitwise_count(slides), _occupancies(size)
    total = np.zeros(3**size, dtype=np.uint8)
    for place in range(size):
        # View the array of contents with the digit at this place as the middle axis.
        by_digit = (3 ** (size - 1 - place), 3, 3**place)
        total.reshape(by_digit)[:, digit] += ends[place].take(occupancies.reshape(by_digit)[:, digit])
    return total


@cache
def _occupancies(size: int) -> NDArray[np.intp]:
    """Return the occupancy of a line for each possible content, given as a number in base 3."""
    found = np.zeros(1, dtype=np.intp)
    for place in range(size):
        taken = found | 1 << place
        found = np.concatenate([found, taken, taken])
    return found


# -- Zobrist keys: one random 64-bit number for each kind of piece on each cell, and one for black to move ---


# The numbers are outputs of SplitMix64 from a fixed seed, so that keys stored in files stay valid. Their order is:
# attackers on the cells 0, 1, ..., then defenders, the king, and the side to move. A key is a hash: different positions
# may have the same key.


SEED: Final = 0x7461626C75743031
"""Seed of the Zobrist keys: the ASCII codes of ``tablut01``. Changing it invalidates all stored keys."""

_MASK: Final = (1 << 64) - 1


def zobrist_keys(cells: int, seed: int = SEED) -> tuple[NDArray[np.uint64], np.uint64]:
    """Return the Zobrist keys of pieces on cells, and the key for black to move."""
    stream = split_mix(seed)
    keys = np.array([next(stream) for _ in range(3 * cells)], dtype=np.uint64).reshape(3, cells)
    return keys, np.uint64(next(stream))
