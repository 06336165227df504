"""Line tables: the slides along one row or column for every occupancy.

A line is a row or a column of the board. Line ``l < N`` is the row of rank ``l`` (its places are files), and line ``N +
f`` is the column of file ``f`` (its places are ranks). Lines with the same terrain share one table, whether they are
rows or columns: Tablut's eighteen lines need five tables.

For each kind of mover a table gives, by place and occupancy, the mask of the places where a slide may end. Whether an
attacker is in its own camp depends only on its place, so attackers in their camps are not a separate kind of mover. A
second table gives the number of moves of all soldiers on a line, by the line's content as a number in base 3.

On wide boards (`tablut.engine.layout`) tables by occupancy would be too large. For these boards the masks are those of
an empty line, which are cut off at the nearest pieces (`tablut.engine.attacks`), and there are no counts.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tablut.notation import diagram_cells
from tablut.position import NARROW
from tablut.variants.model import CAMP_LETTERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

Mover = Literal["attacker", "defender", "king"]


class LineTables(NamedTuple):
    """Tables of the slides and of the numbers of moves for all lines of a board; N is its size.

    Attributes
    ----------
    slides : ndarray of uint16, flat
        Blocks of ``N * 2**N`` masks; within a block, index ``place << N | occupancy``.
        On wide boards uint32, with ``N`` masks in a block, indexed by place.
    attacker_slides, defender_slides, king_slides : ndarray of uint32, shape (2N,)
        Offset of each line's block in ``slides``, for each kind of mover.
    counts : ndarray of uint8, flat
        Blocks of ``3**N`` numbers of moves; within a block, indexed by the line's content in base
        3 (digit 1 for an attacker, 2 for a defender or the king).
    attacker_counts, defender_counts : ndarray of uint32, shape (2N,)
        Offset of each line's block in ``counts``. The defenders' counts treat the king as a soldier.
    king_extra : ndarray of int8, flat
        Blocks indexed like those of ``slides``: the number of additional places to which the king can move, compared
        with a soldier in its place.
    king_extra_at : ndarray of uint32, shape (2N,)
        Offset of each line's block in ``king_extra``.
    ternary : ndarray of uint32, shape (2**N,)
        Each mask of places with its binary digits read as a number in base 3.
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
    """Return the terrain letters of every line, in the order of the line numbers."""
    cells, size = diagram_cells(variant.terrain), variant.size
    rows = [cells[rank * size : (rank + 1) * size] for rank in range(size)]
    return rows + ["".join(row[file] for row in rows) for file in range(size)]


def slide_masks(variant: Variant, terrain: str, mover: Mover) -> NDArray[np.uint16]:
    """Return the masks of places to which a mover may slide on a line, by place and occupancy.

    On a wide board, the masks are for an empty line only.

    Notes
    -----
    O(N² 2**N).
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
                    home = ""  # a soldier that has left its camp may not enter it again
                open_so_far &= (occupancy >> target) & 1 == 0
                banned = (letter == "T" and not (mover == "king" and castle.stop == "king")) or (
                    letter == "X" and mover != "king"
                )
                if not banned:
                    masks[place, open_so_far] |= masks.dtype.type(1 << target)
                if letter == "T" and not passes_castle:
                    break
    return masks


class _Blocks:
    """Concatenation of arrays, in which equal arrays are stored only once."""

    def __init__(self) -> None:
        self.parts: list[NDArray[np.generic]] = []
        self.known: dict[bytes, int] = {}
        self.length = 0

    def place(self, block: NDArray[np.generic]) -> int:
        """Return the offset of a block, appending the block if it is new."""
        content = block.tobytes()
        if content not in self.known:
            self.known[content] = self.length
            self.parts.append(block.ravel())
            self.length += block.size
        return self.known[content]


def line_tables(variant: Variant) -> LineTables:
    """Build the line tables of a variant."""
    size = variant.size
    lines = board_lines(variant)
    masks = np.arange(1 if size > NARROW else 1 << size)
    ternary = np.zeros(len(masks), dtype=np.uint32)
    for place in range(size):
        ternary += (((masks >> place) & 1) * 3**place).astype(np.uint32)

    movers: tuple[Mover, ...] = ("attacker", "defender", "king")
    slides, counts, extra = _Blocks(), _Blocks(), _Blocks()
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
        slides=np.concatenate(slides.parts),
        attacker_slides=slides_at[0],
        defender_slides=slides_at[1],
        king_slides=slides_at[2],
        counts=np.concatenate(counts.parts).astype(np.uint8),
        attacker_counts=counts_at[0],
        defender_counts=counts_at[1],
        king_extra=np.concatenate(extra.parts).astype(np.int8),
        king_extra_at=extra_at,
        ternary=ternary,
    )


def _count_moves(slides: NDArray[np.uint16], digit: int) -> NDArray[np.uint8]:
    """Return the number of moves of the pieces with a given digit, by the content of the line in base 3."""
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
    """Return the occupancy of a line by its content in base 3."""
    found = np.zeros(1, dtype=np.intp)
    for place in range(size):
        taken = found | 1 << place
        found = np.concatenate([found, taken, taken])
    return found
