"""The first stage of an estimate: compiled code that counts the samples excluded by each lemma.

Samples that contain a locked set from a published family are counted separately, because the number of such placements
is known exactly.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from counting.census.words import Words
from counting.exclusions.counts import published_exclusions
from counting.exclusions.sets import LockedSet, parse_set
from counting.reachable.certificate_checker import LEMMAS
from counting.reachable.drawing import (
    BATCH,
    BATCH_WORDS,
    DrawTables,
    Placed,
    drawer_for,
    drawn,
    open_number,
    place_soldiers,
    placed,
)
from counting.reachable.lemmas import LOCKED, LemmaTables, lemmas_for, placement_lemma
from counting.spaces import spaces
from tablut.engine import engine_for
from tablut.engine.cells import is_empty, join, set_at, without
from tablut.engine.jit import U64, advance, inlined, keep, kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.engine.layout import board_items
from tablut.indexing import PlacementIndex
from tablut.position import NARROW
from tablut.variants import Variant
from tablut.variants.model import derived
from tablut.work.sealed_records import Count, Part


class SampleStats(Part):
    """The stored result for a range of samples.

    - ``lemmas``: The number of samples that no lemma excludes, and the numbers that each lemma excludes.
    - ``outside``: The number of samples that contain a locked set from the published family.
    - ``cpu``: Processor time in seconds.
    """

    lemmas: list[Count]
    outside: Count
    cpu: float = 0.0


class LemmaStats(SampleStats):
    """The stored result for samples on which only the lemmas are tried, with a checksum of each sample's result."""

    checksum: Annotated[int, Field(ge=0, lt=1 << 64)]


class FamilyTables(NamedTuple):
    """A family of locked sets, stored in arrays for use in kernels.

    - ``sets``: The number of sets.
    - ``cells``: Each set's attackers (two words) and defenders (two words).
    - ``kings``: The king's cell in each set, or -1.
    """

    sets: int
    cells: NDArray[np.uint64]
    kings: NDArray[np.int64]


def surviving(variant: Variant) -> int:
    """Return the number of undecided placements that contain no locked set from the variant's published family."""
    record = published_exclusions(variant.digest)
    return PlacementIndex(variant).size if record is None else record.of("no_end").placements


@derived
def locked_family(variant: Variant) -> tuple[LockedSet, ...]:
    """Return the family of locked sets whose placements `surviving` leaves out."""
    record = published_exclusions(variant.digest)
    sets = [] if record is None else [parse_set(text, variant.size) for text in record.locked]
    if record is not None and spaces(variant)["excluded_no_end"].kings:
        # The exclusions also contain the placements where the king is besieged on a castle that it has never left.
        sets += [
            frozenset([(castle, "K"), *((cell, "b") for cell in pattern.attackers)])
            for castle in variant.regions.castles
            for pattern in variant.regions.king_patterns[castle]
        ]
    return tuple(sets)


@derived
def family_tables(variant: Variant) -> FamilyTables:
    """Return the tables of a variant's family of locked sets."""
    sets = locked_family(variant)
    cells = np.zeros((len(sets), 4), dtype=np.uint64)
    kings = np.full(len(sets), -1, dtype=np.int64)
    for row, pieces_of in enumerate(sets):
        for cell, piece in pieces_of:
            if piece == "K":
                kings[row] = cell
            else:
                cells[row, 2 * (piece == "w") + (cell >> 6)] |= np.uint64(1 << (cell & 63))
    return FamilyTables(len(sets), cells.ravel(), kings)


@inlined
def holds_counted_set(f: FamilyTables, position: Placed) -> bool:
    """Return whether a placement contains a set in the family. This takes O(sets) steps."""
    black, white, king, _, _, _ = position
    for number in range(f.sets):
        missing = join(without(set_at(f.cells, 2 * number), black), without(set_at(f.cells, 2 * number + 1), white))
        if is_empty(missing) and (f.kings[number] < 0 or f.kings[number] == king):
            return True
    return False


_OUTSIDE: Final = len(LEMMAS) + 1
"""Index of the additional count for samples with a set in the family. It follows the counts of the lemmas."""
_MIXER: Final = 0x9E3779B97F4A7C15
"""Factor that spreads a sample's number and result over the bits of the checksum."""
_BOARDS: Final = 4096
"""Number of samples that are drawn at a time on a wide board."""


@inlined
def _tallied(
    lemmas: LemmaTables,
    family: FamilyTables,
    position: Placed,
    board: NDArray[np.uint32],
    left: NDArray[np.uint32],
    index: int,
    counts: NDArray[np.int64],
) -> np.uint64:
    """Add one sample's lemma result to ``counts``, and return the sample's part of the checksum."""
    code = placement_lemma(lemmas, position, board, left)
    counts[code] += 1
    if code == LOCKED and holds_counted_set(family, position):
        counts[_OUTSIDE] += 1
    mixed = (U64(index) * U64(8) + U64(code)) * U64(_MIXER)
    return mixed ^ (mixed >> U64(29))


@kernel
def _tally_lemmas(
    drawing: DrawTables,
    size: Words,
    lemmas: LemmaTables,
    family: FamilyTables,
    seed: np.uint64,
    samples: tuple[int, int],
    counts: NDArray[np.int64],
) -> np.uint64:
    """Add the lemma results of ``samples`` (first, end) to ``counts``, and return a checksum of the results.

    The first six counts are for no lemma and the five lemmas. The seventh is for samples with a set in the family.
    """
    x, m, f = flat(drawing), flat(lemmas), flat(family)
    stride = board_items(m.rules.size)
    boards, words = np.empty(2 * stride, np.uint32), np.empty(BATCH_WORDS, np.uint64)
    batch = pointer(words)
    board, left = pointer(boards), advance(pointer(boards), stride)
    checksum = U64(0)
    for done in range(samples[0], samples[1], BATCH):
        many = min(BATCH, samples[1] - done)
        for entry in range(many):
            open_number(x, drawn(x, size, seed, U64(done + entry), batch), batch, entry)
        place_soldiers(x, size, batch, many)
        for entry in range(many):
            checksum += _tallied(m, f, placed(x, batch, entry), board, left, done + entry, counts)
    keep(words)
    keep(boards)
    return checksum


def count_lemmas(variant: Variant, seed: int, first: int, count: int) -> LemmaStats:
    """Return how many of ``count`` samples starting at ``first`` each lemma excludes, and a checksum of the results."""
    if variant.size > NARROW:
        return _count_on_boards(variant, seed, first, count)
    counts, tables = np.zeros(_OUTSIDE + 1, dtype=np.int64), lemmas_for(variant).tables
    drawer, family = drawer_for(variant), family_tables(variant)
    samples = first, first + count
    checksum = int(_tally_lemmas(drawer.tables, drawer.size_words, tables, family, np.uint64(seed), samples, counts))
    return LemmaStats(lemmas=counts[:_OUTSIDE].tolist(), outside=int(counts[_OUTSIDE]), checksum=checksum)


def _count_on_boards(variant: Variant, seed: int, first: int, count: int) -> LemmaStats:
    """Return the result of `count_lemmas` for a wide board."""
    engine, lemmas, codes = engine_for(variant), lemmas_for(variant), np.empty(count, dtype=np.uint8)
    family, outside = locked_family(variant), 0
    for done in range(0, count, _BOARDS):
        words, _ = drawer_for(variant).draw(seed, first + done, min(_BOARDS, count - done))
        boards = engine.boards(words)
        some = codes[done : done + _BOARDS] = lemmas.of_boards(boards)
        for cells, _ in map(engine.cells, boards[some == LOCKED]):
            outside += any(all(cells[cell] == piece for cell, piece in locked) for locked in family)
    mixed = (np.arange(first, first + count, dtype=np.uint64) * np.uint64(8) + codes) * np.uint64(_MIXER)
    checksum = int((mixed ^ mixed >> np.uint64(29)).sum())
    return LemmaStats(lemmas=np.bincount(codes, minlength=_OUTSIDE).tolist(), outside=outside, checksum=checksum)
