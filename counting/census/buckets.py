"""Sets of positions in hash order: leaves, removal of duplicates, and comparison with earlier plies.

A row is a packed position of W words. Every row has a 64-bit hash, and the top bits of the hash are the number of the
row's *leaf*. All files are sorted by leaf. Equal rows belong to the same leaf, so leaves can be processed one by one.
The next hash bits distribute a leaf's rows over a hash table that fits into the processor's cache. Rows are compared
word by word; a hash only determines where a row is stored.

The checksum of a leaf is the sum of the hashes of its rows. The checksum changes if a row is changed, missing or
duplicated. Two bits of a child (`FIXING`) are not part of the position. They contribute only to the checksum.

A ply that is counted but not stored is generated family by family. In each ply, one side moves a piece, and the other
side's pieces stay where they are unless they are captured. The *family* of a position is determined by the pieces of
the side to move, because the other side made the last move. These are the attackers if black is to move, and the king
and the defenders if white is to move. The family is the orbit of these pieces under the group. All children that a
parent reaches without a capture therefore belong to one family, which is known before any child is generated. Equal
positions belong to the same family. So a ply can be counted family by family, and each parent is expanded only once.
This is structured duplicate detection [1]_. The pieces of the side that did not move provide the structure.

The *bin* of a position is the number formed by the top 12 bits of its family's hash. To compute this hash, a random
word is assigned to each cell, separately for the two sides. For each image under the group, the words of its cells are
combined by exclusive or, and the result is mixed. The hash is the sum of these results, which makes it the same for all
images. Two families may share a bin; this affects only how evenly the bins are filled.

Bins are not guaranteed to be filled equally. In the first plies, a few families contain most of the positions.

References
----------
.. [1] R. Zhou and E. A. Hansen, Structured duplicate detection in external-memory graph search,
   AAAI 2004, pages 683-688.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symmetry import Symmetry
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, split_mix, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.layout import is_wide
from tablut.engine.packing import board_bits, field, king_width
from tablut.engine.tables import Tables

LEAF_BITS: Final = 12
"""Number of bits of the hash that select a leaf."""
LEAVES: Final = 1 << LEAF_BITS
"""Number of leaves. With this number, each leaf fits into memory as long as a ply has at most about 10^11 children."""
BINS: Final = 1 << 12
"""Number of ranges into which the hashes of families are divided; see `family_bins`."""
FIXING: Final = 60
"""Index of the lower of two bits in a child's last word.

The two bits store the base-2 logarithm of the order of the child's stabiliser.
"""

_POSITION: Final = (1 << 64) - 1 - (3 << FIXING)

CACHED_ROWS: Final = 8192
"""Number of rows that fit into the processor's cache together with their hash table. Larger leaves are split first."""


@inlined
def row_hash(row: NDArray[np.uint64], width: int) -> np.uint64:
    """Return a row's hash.

    Each word is mixed in by a bijection, which prevents words from systematically cancelling each other out.
    """
    mixed = U64(0x7461626C75743032)
    for word in range(width - 1):
        mixed = (mixed ^ row[word]) * U64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> U64(29)
    mixed = (mixed ^ (row[width - 1] & U64(_POSITION))) * U64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> U64(29)
    mixed *= U64(0x94D049BB133111EB)
    return mixed ^ (mixed >> U64(32))


@inlined
def row_sum(value: np.uint64, row: NDArray[np.uint64], width: int) -> np.uint64:
    """Return the number that a row with a given hash adds to a checksum. The number depends on every bit of the row."""
    return value + ((row[width - 1] >> U64(FIXING)) & U64(3)) * U64(0x9E3779B97F4A7C15)


@inlined
def _same_row(one: NDArray[np.uint64], other: NDArray[np.uint64], width: int) -> bool:
    """Return whether two rows represent the same position."""
    if width > 1 and one[0] != other[0]:
        return False
    if width > 2 and one[1] != other[1]:
        return False
    if width > 3 and one[2] != other[2]:
        return False
    for word in range(3, width - 1):  # only on boards larger than 11×11
        if one[word] != other[word]:
            return False
    return bool(((one[width - 1] ^ other[width - 1]) & U64(_POSITION)) == U64(0))


@inlined
def _copy_row(target: NDArray[np.uint64], source: NDArray[np.uint64], width: int) -> None:
    """Copy a row. The loop over the first four words is unrolled by hand, because vectorising it is slower."""
    target[0] = source[0]
    if width > 1:
        target[1] = source[1]
    if width > 2:
        target[2] = source[2]
    if width > 3:
        target[3] = source[3]
    for word in range(4, width):
        target[word] = source[word]


def by_leaf(
    rows: NDArray[np.uint64], into: NDArray[np.uint16] | None = None
) -> tuple[NDArray[np.uint16], NDArray[np.int64], NDArray[np.uint64]]:
    """Return each row's leaf, and the number of rows and the hash sum of each leaf.

    The rows' leaves are written to the array ``into`` if it is given.
    """
    leaves = np.empty(len(rows), dtype=np.uint16) if into is None else into
    counts, sums = np.zeros(LEAVES, dtype=np.int64), np.zeros(LEAVES, dtype=np.uint64)
    _leaf_sums(rows, leaves, counts, sums)
    return leaves, counts, sums


@kernel
def _leaf_sums(
    rows: NDArray[np.uint64], leaves: NDArray[np.uint16], counts: NDArray[np.int64], sums: NDArray[np.uint64]
) -> None:
    """Write each row's leaf, and add the row to the leaf's count and hash sum."""
    width = rows.shape[1]
    base, leaf_of, number_of, sum_of = pointer(rows), pointer(leaves), pointer(counts), pointer(sums)
    for index in range(len(rows)):
        row = advance(base, index * width)
        value = row_hash(row, width)
        leaf = I64(value >> U64(64 - LEAF_BITS))
        leaf_of[index] = np.uint16(leaf)
        number_of[leaf] += 1
        sum_of[leaf] += row_sum(value, row, width)


@kernel
def scatter(
    rows: NDArray[np.uint64], leaves: NDArray[np.uint16], cursors: NDArray[np.int64], out: NDArray[np.uint64]
) -> None:
    """Copy each row to the position of its leaf's cursor, and advance the cursor."""
    width = rows.shape[1]
    base, leaf_of, cursor, target = pointer(rows), pointer(leaves), pointer(cursors), pointer(out)
    for index in range(len(rows)):
        leaf = I64(leaf_of[index])
        _copy_row(advance(target, cursor[leaf] * width), advance(base, index * width), width)
        cursor[leaf] += 1


@kernel
def copy_leaves(
    rows: NDArray[np.uint64], counts: NDArray[np.int64], cursors: NDArray[np.int64], out: NDArray[np.uint64]
) -> None:
    """Copy each leaf's rows to the position of its cursor, and advance the cursor.

    The rows must be sorted by leaf.
    """
    width = rows.shape[1]
    source, target = pointer(rows), pointer(out)
    index = 0
    for leaf in range(len(counts)):
        start, words = cursors[leaf] * width, counts[leaf] * width
        for word in range(words):
            target[start + word] = source[index + word]
        index += words
        cursors[leaf] += counts[leaf]


def table_bits(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the base-2 logarithm of the size of each leaf's hash table. At most three quarters of a table are used."""
    wanted = np.maximum(-(-4 * counts // 3), 2)
    return np.array(np.ceil(np.log2(wanted)), dtype=np.int64)


@inlined
def _slot_of(value: np.uint64, bits: int) -> int:
    """Return the slot of a hash in its leaf's table. The bits after the leaf number determine the slot."""
    return I64((value << U64(LEAF_BITS)) >> U64(64 - bits))


class LeafTables(NamedTuple):
    """The rows in a range of leaves, and a hash table for each leaf. L is the number of leaves.

    - ``rows``: The rows, sorted by leaf.
    - ``starts``: The index of each leaf's first row, followed by the end of the last leaf.
    - ``bits``, ``tables``: For each leaf, the base-2 logarithm of the size of its table (see `table_bits`), and the
      table's first slot.
    - ``slots``: The tables. A free slot is zero. Any other slot contains the index of a row within its leaf, plus one.
    """

    rows: NDArray[np.uint64]
    starts: NDArray[np.int64]
    bits: NDArray[np.int64]
    tables: NDArray[np.int64]
    slots: NDArray[np.uint32]

    def part(self, leaves: slice) -> LeafTables:
        """Return the tables for a range of leaves, as views of the same arrays."""
        starts = self.starts[leaves.start : leaves.stop + 1]
        return self._replace(starts=starts, bits=self.bits[leaves], tables=self.tables[leaves])


@kernel
def mark_unique(leaves: LeafTables, unique: NDArray[np.int64], sums: NDArray[np.uint64]) -> int:
    """Move each leaf's distinct rows to the front of the leaf, and fill the hash tables.

    Return the number of distinct rows. This takes O(n) steps for n rows if the hashes are evenly distributed. A leaf
    that does not fit into the cache is split first.
    """
    rows, starts, bits = leaves.rows, leaves.starts, leaves.bits
    tables, slots = leaves.tables, leaves.slots
    width = rows.shape[1]
    largest = 0
    for leaf in range(len(unique)):
        largest = max(largest, starts[leaf + 1] - starts[leaf])
    scratch = np.empty((largest if largest > CACHED_ROWS else 0) * width, dtype=np.uint64)
    cursors = np.empty(1 << 16, dtype=np.int64)
    spread, cursor = pointer(scratch), pointer(cursors)
    total = 0
    for leaf in range(len(unique)):
        size = starts[leaf + 1] - starts[leaf]
        here = advance(pointer(rows), starts[leaf] * width)
        table = advance(pointer(slots), tables[leaf])
        mask = (1 << bits[leaf]) - 1
        checksum = U64(0)
        source = here
        if size > CACHED_ROWS:
            # Sort the rows roughly by their slot in the table, so that consecutive rows go to neighbouring slots.
            parts = 1
            while (size >> parts) > CACHED_ROWS // 2 and parts < 16:
                parts += 1
            for part in range(1 << parts):
                cursor[part] = 0
            for index in range(size):
                cursor[_slot_of(row_hash(advance(here, index * width), width), parts)] += 1
            begin = 0
            for part in range(1 << parts):
                count = cursor[part]
                cursor[part] = begin
                begin += count
            for index in range(size):
                row = advance(here, index * width)
                part = _slot_of(row_hash(row, width), parts)
                _copy_row(advance(spread, cursor[part] * width), row, width)
                cursor[part] += 1
            source = spread
        found = 0
        for index in range(size):
            row = advance(source, index * width)
            value = row_hash(row, width)
            checksum += row_sum(value, row, width)
            slot = _slot_of(value, bits[leaf])
            entry = I64(table[slot])
            while entry != 0 and not _same_row(advance(here, (entry - 1) * width), row, width):
                slot = (slot + 1) & mask
                entry = I64(table[slot])
            if entry == 0:
                _copy_row(advance(here, found * width), row, width)
                found += 1
                table[slot] = np.uint32(found)
        unique[leaf] = found
        sums[leaf] = checksum
        total += found
    keep(scratch)
    keep(cursors)
    return total


@kernel
def mark_known(
    known: NDArray[np.uint64],
    counts: NDArray[np.int64],
    leaves: LeafTables,
    dead: NDArray[np.uint8],
    sums: NDArray[np.uint64],
) -> int:
    """Mark the rows that also occur in ``known`` as dead, and return their number.

    This takes O(k) steps for k known rows if the hashes are evenly distributed.
    """
    rows, starts, bits = leaves.rows, leaves.starts, leaves.bits
    tables, slots = leaves.tables, leaves.slots
    width = rows.shape[1]
    index, hits = 0, 0
    for leaf in range(len(counts)):
        here = advance(pointer(rows), starts[leaf] * width)
        table = advance(pointer(slots), tables[leaf])
        mask = (1 << bits[leaf]) - 1
        checksum = U64(0)
        for _ in range(counts[leaf]):
            row = advance(pointer(known), index * width)
            index += 1
            value = row_hash(row, width)
            checksum += row_sum(value, row, width)
            slot = _slot_of(value, bits[leaf])
            entry = I64(table[slot])
            while entry != 0 and not _same_row(advance(here, (entry - 1) * width), row, width):
                slot = (slot + 1) & mask
                entry = I64(table[slot])
            if entry != 0:
                dead[starts[leaf] + entry - 1] = np.uint8(1)
                hits += 1
        sums[leaf] = checksum
    return hits


@kernel
def compact(
    rows: NDArray[np.uint64],
    starts: NDArray[np.int64],
    unique: NDArray[np.int64],
    dead: NDArray[np.uint8],
    counts: NDArray[np.int64],
    sums: NDArray[np.uint64],
) -> int:
    """Move the distinct rows that are not marked as dead to the front, in leaf order, and return their number.

    For each leaf, the number of these rows is written to ``counts`` and the sum of their hashes to ``sums``. The sums
    do not include the bits `FIXING`, because `survey` clears these bits later.
    """
    width = rows.shape[1]
    kept = 0
    for leaf in range(len(unique)):
        before = kept
        checksum = U64(0)
        for index in range(starts[leaf], starts[leaf] + unique[leaf]):
            if dead[index] == 0:
                row = advance(pointer(rows), index * width)
                checksum += row_hash(row, width)
                _copy_row(advance(pointer(rows), kept * width), row, width)
                kept += 1
        counts[leaf] = kept - before
        sums[leaf] = checksum
    return kept


# -- families ----------------------------------------------------------------------------


_BIN_BITS: Final = BINS.bit_length() - 1


def family_marks(cells: int, group: Sequence[Symmetry]) -> NDArray[np.uint64]:
    """Return a random word for each image of each cell, separately for attackers and for white's pieces."""
    marks = np.zeros((2 * cells, 8), dtype=np.uint64)
    for kind in range(2):
        for cell in range(cells):
            for number, element in enumerate(group):
                marks[kind * cells + cell, number] = next(split_mix(kind * cells + int(element.table[cell])))
    marks.flags.writeable = False
    return marks


@inlined
def _add_marks(lanes: NDArray[np.uint64], marks: NDArray[np.uint64], bits: np.uint64, first: int) -> None:
    """Combine the given cells' words with each image's current value by exclusive or."""
    while bits != U64(0):
        cell = advance(marks, 8 * (first + trailing_zeros(bits)))
        bits &= bits - U64(1)
        for lane in range(8):
            lanes[lane] ^= cell[lane]


@kernel
def family_bins(
    tables: Tables,
    marks: NDArray[np.uint64],
    order: int,
    turned: int,
    rows: NDArray[np.uint64],
    bins: NDArray[np.uint16],
) -> None:
    """Write the bin of each position or, if ``turned`` is 1, of its children that are reached without a capture.

    This takes O(soldiers) steps for each position.
    """
    rules = flat(tables)
    width, cells = rows.shape[1], rules.cells
    king_bits = king_width(rules)
    scratch = np.empty(8, dtype=np.uint64)
    lanes, mark = pointer(scratch), pointer(marks)
    for index in range(len(rows)):
        row = advance(pointer(rows), index * width)
        side = field(row, 2 * cells + king_bits, 1) ^ turned
        for lane in range(8):
            lanes[lane] = U64(0)
        first = 0 if side == 1 else cells
        if is_wide(rules.exposed):
            for rank in range(rules.size):
                _add_marks(lanes, mark, U64(field(row, first + rank * rules.size, rules.size)), rank * rules.size)
        else:
            low, high = board_bits(row, width, first, cells)
            _add_marks(lanes, mark, low, 0)
            _add_marks(lanes, mark, high, 64)
        if side == 0:
            king = advance(mark, 8 * (cells + field(row, 2 * cells, king_bits)))
            for lane in range(8):
                lanes[lane] ^= king[lane]
        total = U64(0)
        for lane in range(order):
            value = lanes[lane] * U64(0xBF58476D1CE4E5B9)
            value ^= value >> U64(29)
            value *= U64(0x94D049BB133111EB)
            total += value ^ (value >> U64(32))
        bins[index] = np.uint16(I64(total >> U64(64 - _BIN_BITS)))
    keep(scratch)


@kernel
def bin_sums(rows: NDArray[np.uint64], counts: NDArray[np.int64], sums: NDArray[np.uint64]) -> None:
    """Write the hash sum of each bin, for rows that are sorted by bin."""
    width = rows.shape[1]
    index = 0
    for number in range(len(counts)):
        total = U64(0)
        for _ in range(counts[number]):
            row = advance(pointer(rows), index * width)
            total += row_sum(row_hash(row, width), row, width)
            index += 1
        sums[number] = total
