"""The canonical form of a position: the image with the least packing under a symmetry group.

Packings (`tablut.engine.packing`) are compared as big integers. The king's cell is in the high bits, so a table lists,
for each cell of the king, the images that remain to be compared, mostly one. Otherwise the defenders are compared next,
and then the attackers. Another table stores, for each possible row, its images under all group elements side by side,
so all images of a board can be computed together with a few wide loads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.layout import is_wide
from tablut.engine.packing import board_bits, field, flip, king_width, least_images, next_row
from tablut.position import NARROW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symmetry import Symmetry
    from tablut.engine.tables import Tables


class ImageTables(NamedTuple):
    """Look-up tables of a symmetry group for `canonicalise`.

    Groups with fewer than eight elements are padded with their first element.

    - ``rows``: Image of a row under each element, indexed by the row's rank and pieces, as a mask of two words. On wide
      boards, the table is unused, because images are computed cell by cell.
    - ``kings``: Image of each cell under each element.
    - ``candidates``: For each cell, the mask of the elements that map the cell to its least image.
    """

    rows: NDArray[np.uint64]
    kings: NDArray[np.uint8]
    candidates: NDArray[np.uint8]


@lru_cache(maxsize=64)
def image_tables(group: tuple[Symmetry, ...], size: int) -> ImageTables:
    """Return the look-up tables of a symmetry group for a board of the given size."""
    elements = list(group) + [group[0]] * (8 - len(group))
    wide = size > NARROW
    kings: NDArray[Any] = np.array(
        [element.table for element in elements], dtype=np.uint16 if wide else np.uint8
    ).T.copy()
    contents = np.arange(1 if wide else 1 << size)
    rows = np.zeros((size, len(contents), 2, 8), dtype=np.uint64)
    for cell in range(0 if wide else size * size):
        rank, file = divmod(cell, size)
        present = (contents >> file) & 1 == 1
        for number in range(8):
            half, bit = divmod(int(kings[cell, number]), 64)
            rows[rank, present, half, number] |= np.uint64(1 << bit)
    for array in (rows, kings):
        array.flags.writeable = False
    # The padding elements are not candidates.
    least = kings == kings.min(axis=1, keepdims=True)
    candidates = (least[:, : len(group)] << np.arange(len(group))).sum(axis=1).astype(np.uint8)
    return ImageTables(rows, kings, candidates)


@inlined
def _add_wide(words: NDArray[np.uint64], length: int, start: int, value: np.uint64) -> None:
    """Write a value into a packed position, starting at bit ``start``.

    These bits must be clear before the call, and no bit of the value may lie beyond the last word.
    """
    word, shift = start >> 6, start & 63
    words[word] |= value << U64(shift)
    if shift != 0 and word + 1 < length:
        words[word + 1] |= value >> U64(64 - shift)


@inlined
def table_entries(low: np.uint64, high: np.uint64, size: int, entries: NDArray[np.int64]) -> int:
    """Write the table indices for the non-empty rows of a board, and return their number."""
    count = 0
    bottom = U64((1 << size) - 1)
    for rank in range(size):
        content = I64(low & bottom)
        low, high = next_row(low, high, size)
        entries[count] = (rank << size) | content
        count += 1 if content != 0 else 0
    return count


@inlined
def _one_image(
    rows: NDArray[np.uint64], entries: NDArray[np.int64], count: int, number: int, out: NDArray[np.uint64]
) -> None:
    """Write one of the eight images of a board, combined from its rows' table entries."""
    low, high = U64(0), U64(0)
    for index in range(count):
        low |= rows[(entries[index] << 4) + number]
        high |= rows[(entries[index] << 4) + 8 + number]
    out[number] = low
    out[8 + number] = high


@inlined
def least_image(
    rules: Tables,
    words: NDArray[np.uint64],
    out: NDArray[np.uint64],
    kings: NDArray[np.uint8],
    king: int,
    left: int,
    scratch: NDArray[np.uint64],
) -> tuple[int, int]:
    """Write a position's least image on a wide board, computing images cell by cell.

    ``left`` is a mask of the elements to try. The results are the index of the first element with the least image, and
    the number of such elements.
    """
    length, cells, width, found, equal = rules.words, rules.cells, king_width(rules), I64(-1), I64(0)
    while left:
        number = trailing_zeros(left)
        left &= left - 1
        for place in range(length):
            scratch[place] = U64(0)
        for place in range(length):
            bits = words[place]
            while bits != U64(0):
                bit = place * 64 + trailing_zeros(bits)
                bits &= bits - U64(1)
                if bit < 2 * cells:
                    board = cells if bit >= cells else 0
                    flip(scratch, board + I64(kings[(bit - board) * 8 + number]))
        _add_wide(scratch, length, 2 * cells, U64(kings[king * 8 + number]))
        _add_wide(scratch, length, 2 * cells + width, U64(field(words, 2 * cells + width, 1)))
        place = length - 1
        while found >= 0 and place > 0 and scratch[place] == out[place]:
            place -= 1
        if found < 0 or scratch[place] < out[place]:
            found, equal = number, I64(0)
            for word in range(length):
                out[word] = scratch[word]
        if scratch[place] == out[place]:
            equal += 1
    return found, equal


@kernel
def canonicalise(
    tables: Tables,
    images: ImageTables,
    words: NDArray[np.uint64],
    result: NDArray[np.uint64],
    elements: NDArray[np.uint8],
) -> None:
    """Write the canonical form of each position, in O(N) time for each."""
    rules = flat(tables)
    size, cells, length = rules.size, rules.cells, rules.words
    width = king_width(rules)
    scratch_entries, scratch_images = np.empty(2 * size, dtype=np.int64), np.empty(32, dtype=np.uint64)
    entries, white, rows = pointer(scratch_entries), pointer(scratch_images), pointer(images.rows)
    black = advance(white, 16)
    scratch_best = np.empty(length, dtype=np.uint64)
    best = pointer(scratch_best)
    black_entries = advance(entries, size)
    kings, candidates = pointer(images.kings), pointer(images.candidates)
    for index in range(len(words)):
        word = advance(pointer(words), index * length)
        out = advance(pointer(result), index * length)
        king, side = field(word, 2 * cells, width), field(word, 2 * cells + width, 1)
        left = I64(candidates[king])
        if is_wide(rules.exposed):
            number, _ = least_image(rules, word, out, kings, king, left, best)
            elements[index] = np.uint8(number)
            continue
        low, high = board_bits(word, length, cells, cells)
        whites = table_entries(low, high, size, entries)
        low, high = board_bits(word, length, 0, cells)
        blacks = table_entries(low, high, size, black_entries)
        if left & (left - 1) == 0:
            number = trailing_zeros(left)
            _one_image(rows, entries, whites, number, white)
            _one_image(rows, black_entries, blacks, number, black)
        else:
            left = least_images(rows, entries, whites, left, white)
            if left & (left - 1) == 0:
                number = trailing_zeros(left)
                _one_image(rows, black_entries, blacks, number, black)
            else:
                number = trailing_zeros(least_images(rows, black_entries, blacks, left, black))
        elements[index] = np.uint8(number)
        for place in range(length):
            out[place] = U64(0)
        out[0] = black[number]
        _add_wide(out, length, cells, white[number])
        if cells > 64:
            _add_wide(out, length, 64, black[8 + number])
            _add_wide(out, length, cells + 64, white[8 + number])
        _add_wide(out, length, 2 * cells, U64(kings[king * 8 + number]))
        _add_wide(out, length, 2 * cells + width, U64(side))
    keep(scratch_entries)
    keep(scratch_images)
    keep(scratch_best)
