"""The kernel tables for a census, its start position, and the survey of new positions."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counting.census.buckets import FIXING, family_marks
from counting.census.codes import position_codes
from counting.census.expansion import (
    BLACK_WON,
    DECIDED,
    Expander,
    cell_images,
    expand_canonical,
    expand_captures,
    expand_quiet,
    expand_wide,
)
from counting.spaces import spaces
from symmetry import Symmetry
from tablut.engine import engine_for
from tablut.engine.canonical import image_tables
from tablut.engine.jit import I64, U64, advance, keep, kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import count_moves
from tablut.engine.layout import board_items, count_of, king_of, side_of
from tablut.engine.packing import unpack
from tablut.engine.tables import Tables, build_tables
from tablut.position import NARROW
from tablut.variants import Variant
from tablut.variants.model import derived


class Toolbox(NamedTuple):
    """The tables that census kernels need, for one variant and one symmetry group.

    ``row_bytes`` is the number of bytes in a stored position, ``start`` is the start position in canonical form, with
    shape (1, W), and ``marks`` are the words from which families of positions get their bins.
    """

    expander: Expander
    space: Membership
    material: tuple[int, int, int]
    row_bytes: int
    codes: tuple[int, int, int] | None
    group: tuple[Symmetry, ...]
    start: NDArray[np.uint64]
    marks: NDArray[np.uint64]

    @property
    def tables(self) -> Tables:
        """The compiled rules."""
        return self.expander.tables

    def expand(
        self,
        rows: NDArray[np.uint64],
        children: NDArray[np.uint64],
        counters: NDArray[np.int64],
        *,
        quiet: bool = True,
        captures: bool = True,
    ) -> tuple[int, int]:
        """Write the canonical forms of the given rows' children.

        Return the number of rows that were processed and the number of children that were written.
        """
        if self.tables.size > NARROW:
            return expand_wide(self.expander, rows, children, counters, quiet, captures)
        kernel = expand_canonical if quiet and captures else expand_quiet if quiet else expand_captures
        return kernel(self.expander, rows, children, counters)

    @property
    def order(self) -> int:
        """The order of the group."""
        return self.expander.order


_CODED_WORDS: Final = 4
"""Number of words in the largest packed position that is stored as a code (11×11)."""


@derived
def toolbox(variant: Variant, full: bool) -> Toolbox:
    """Return a variant's tables. If ``full`` is set, the group contains only the identity."""
    engine = engine_for(variant)
    group = engine.group[:1] if full else engine.group
    images = image_tables(group, variant.size)
    material = (2, variant.attackers + 1, variant.defenders + 1)
    codes = (variant.size**2, variant.attackers, variant.defenders)
    coded = position_codes(*codes)[0]
    # A position of one word is already short. Decoding would double the time of a census on a small board.
    is_coded = coded.fits and 1 < engine.tables.words <= _CODED_WORDS
    return Toolbox(
        Expander(engine.tables, images, cell_images(images, variant.size), len(group)),
        membership(variant),
        material,
        coded.bytes if is_coded else 8 * engine.tables.words,
        codes if is_coded else None,
        group,
        engine.canonical(engine.words(engine.start()), group)[0],
        family_marks(variant.size**2, group),
    )


# -- survey of new positions -------------------------------------------------------------


COUNTERS: Final = (
    "new",
    "new_classes",
    "decided",
    "decided_classes",
    "black_wins",
    "black_wins_classes",
    "moves",
    "immobile",
    "immobile_classes",
    "outside",
    "outside_classes",
)
"""The counters of `survey`, in order. ``moves`` is the number of moves of all new positions."""


class Membership(NamedTuple):
    """Masks and limits that define the undecided placements.

    - ``kings``: 1 for each cell on which the king may stand, 0 for all other cells.
    - ``stray``: The bits of a packed position that are set only if a soldier stands on a forbidden cell.
    - ``least_attackers``, ``most_attackers``, ``most_defenders``: The limits on the numbers of soldiers.
    """

    kings: NDArray[np.uint8]
    stray: NDArray[np.uint64]
    least_attackers: int
    most_attackers: int
    most_defenders: int


def membership(variant: Variant) -> Membership:
    """Return the masks and limits for the undecided placements, which are the space ``no_end`` in `counting.spaces`."""
    space, regions = spaces(variant)["no_end"], variant.regions
    kings = np.zeros(variant.size**2, dtype=np.uint8)
    for placement in space.kings:
        if placement.watched:
            raise ArithmeticError(f"space {space.id!r} of {variant.name!r} watches cells, which masks cannot express")
        kings[placement.king] = 1
    cells = range(variant.size**2)
    stray = sum(1 << cell for cell in cells if cell not in regions.soldier_cells)
    stray |= sum(1 << (len(cells) + cell) for cell in cells if cell not in regions.free_cells)
    words = [stray >> 64 * word & (2**64 - 1) for word in range(build_tables(variant).words)]
    return Membership(
        kings,
        np.array(words, dtype=np.uint64),
        space.attackers.start,
        space.attackers.stop - 1,
        space.defenders.stop - 1,
    )


@kernel
def survey(
    tables: Tables,
    space: Membership,
    order: int,
    rows: NDArray[np.uint64],
    counts: NDArray[np.int64],
    moves: NDArray[np.int64],
    counters: NDArray[np.int64],
    material: NDArray[np.int64],
) -> None:
    """Add canonical positions to the counters of decided positions, undecided positions, moves and material.

    This takes O(n) steps for n positions. Each position is unpacked, and its moves are counted. The `FIXING` bits are
    cleared.
    """
    rules = flat(tables)
    width = rules.words
    scratch_board = np.empty(board_items(rules.size), dtype=tables.exposed.dtype)
    board = pointer(scratch_board)
    total, index = pointer(counters), 0
    for leaf in range(len(counts)):
        leaf_moves = 0
        for _ in range(counts[leaf]):
            row = advance(pointer(rows), index * width)
            index += 1
            unpack(rules, row, board)
            king = king_of(rules, board)
            orbit = order >> I64((row[width - 1] >> U64(FIXING)) & U64(3))
            row[width - 1] &= ~(U64(3) << U64(FIXING))
            last = row[width - 1]
            if (last >> U64(DECIDED)) != U64(0):
                total[2] += orbit
                total[3] += 1
                if ((last >> U64(BLACK_WON)) & U64(1)) != U64(0):
                    total[4] += orbit
                    total[5] += 1
                continue
            total[0] += orbit
            total[1] += 1
            count = count_moves(rules, board, side_of(rules, board))
            leaf_moves += count
            total[6] += orbit * count
            if count == 0:
                total[7] += orbit
                total[8] += 1
            attackers, defenders = count_of(rules, board, 1), count_of(rules, board, 0)
            stray = U64(0)
            for word in range(width):
                stray |= row[word] & space.stray[word]
            if (
                stray != U64(0)
                or space.kings[king] == 0
                or attackers < space.least_attackers
                or attackers > space.most_attackers
                or defenders > space.most_defenders
            ):
                total[9] += orbit
                total[10] += 1
                continue
            material[0, attackers, defenders] += orbit
            material[1, attackers, defenders] += 1
        moves[leaf] = leaf_moves
    keep(scratch_board)
