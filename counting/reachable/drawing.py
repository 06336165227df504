"""Uniform samples of the counted positions, exactly: each by its own number, re-drawable alone.

A *position number* is ``2 * rank + side``, the rank that of `tablut.indexing.PlacementIndex` and the
side 0 for white to move, 1 for black. Sample ``i`` of seed ``s`` is the first number below the size of
the space in a stream of its own: pairs of words of Philox-4x64-10 [1]_ under the key ``s``, the counter's
second word ``i``, cut to as many bits as the size has. So no number is more probable than another, and no
sample depends on how the work was divided. `draw_number` does it with numpy's generator of that name,
`Drawer` with a compiled one; both give the same.

References
----------
.. [1] J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3,
   SC'11, https://doi.org/10.1145/2063384.2063405.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.codes import add_board
from counting.reachable.draw_kernels import BATCH, BATCH_ROWS, drawn, open_number, place_soldiers, placed
from counting.reachable.draw_tables import build_drawing, halves
from tablut.engine import engine_for
from tablut.engine.jit import U64, advance, inlined, keep, kernel, pointer
from tablut.engine.records import flat
from tablut.errors import InputError
from tablut.indexing import PlacementIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counting.reachable.draw_tables import DrawTables
    from tablut.position import Position
    from tablut.variants import Variant

GENERATOR: Final = "Philox4x64-10"
MOST_SEED: Final = (1 << 64) - 1


def draw_number(size: int, seed: int, index: int) -> int:
    """Return the number of a sample, by numpy's generator."""
    stream = np.random.Philox(key=seed, counter=index << 64)
    mask = (1 << (size - 1).bit_length()) - 1
    while True:
        low, high = (int(word) for word in stream.random_raw(2))
        if (number := (low | high << 64) & mask) < size:
            return number


def numbered_position(index: PlacementIndex, number: int) -> Position:
    """Return the position of a number: of the placement with half that rank."""
    return index.unrank(number >> 1, "b" if number & 1 else "w")


@inlined
def _write_rows(x: DrawTables, batch: NDArray[np.uint64], count: int, rows: NDArray[np.uint64], width: int) -> None:
    """Write the packed positions, of so many words, of a batch that `open_number` has filled."""
    place_soldiers(x, batch, count)
    for entry in range(count):
        black, white, king, side, _, _ = placed(x, batch, entry)
        row = advance(rows, entry * width)
        for word in range(width):
            row[word] = U64(0)
        add_board(row, width, 0, black[0], black[1])
        add_board(row, width, x.cells, white[0], white[1])
        add_board(row, width, 2 * x.cells, U64(king | (side << x.king_bits)), U64(0))


@kernel
def _draw_rows(
    tables: DrawTables, seed: np.uint64, first: int, rows: NDArray[np.uint64], numbers: NDArray[np.uint64]
) -> None:
    """Write the samples from ``first`` on: packed positions, shape (n, W), and numbers, shape (n, 2)."""
    x = flat(tables)
    width = rows.shape[1]
    room = np.empty(BATCH_ROWS * BATCH, dtype=np.uint64)
    batch = pointer(room)
    for done in range(0, len(rows), BATCH):
        count = min(BATCH, len(rows) - done)
        for entry in range(count):
            low, high = drawn(x, seed, U64(first + done + entry))
            numbers[done + entry, 0], numbers[done + entry, 1] = low, high
            open_number(x, low, high, batch, entry)
        _write_rows(x, batch, count, advance(pointer(rows), done * width), width)
    keep(room)


@kernel
def _number_rows(tables: DrawTables, numbers: NDArray[np.uint64], rows: NDArray[np.uint64]) -> None:
    """Write the packed positions, shape (n, W), of numbers, shape (n, 2)."""
    x = flat(tables)
    width = rows.shape[1]
    room = np.empty(BATCH_ROWS * BATCH, dtype=np.uint64)
    batch = pointer(room)
    for done in range(0, len(rows), BATCH):
        count = min(BATCH, len(rows) - done)
        for entry in range(count):
            open_number(x, numbers[done + entry, 0], numbers[done + entry, 1], batch, entry)
        _write_rows(x, batch, count, advance(pointer(rows), done * width), width)
    keep(room)


class Drawer:
    """Samples of one variant's counted positions, compiled."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.tables = build_drawing(variant)
        self.size = 2 * PlacementIndex(variant).size
        self.words = engine_for(variant).tables.words

    def draw(self, seed: int, first: int, count: int) -> tuple[NDArray[np.uint64], list[int]]:
        """Return samples from ``first`` on: packed positions, uint64 of shape (count, W), and their numbers."""
        rows, numbers = np.empty((count, self.words), np.uint64), np.empty((count, 2), np.uint64)
        _draw_rows(self.tables, np.uint64(seed), first, rows, numbers)
        return rows, [low | high << 64 for low, high in numbers.tolist()]

    def positions(self, numbers: list[int]) -> NDArray[np.uint64]:
        """Return the packed positions of numbers, uint64 of shape (n, W)."""
        for number in numbers:
            if not 0 <= number < self.size:
                raise InputError(f"position number {number}: {self.variant.name} has 0 to {self.size - 1}")
        rows = np.empty((len(numbers), self.words), np.uint64)
        _number_rows(self.tables, halves(numbers).reshape(-1, 2), rows)
        return rows


@lru_cache(maxsize=16)
def drawer_for(variant: Variant) -> Drawer:
    """Return the drawer of a variant; the same object for equal variants."""
    return Drawer(variant)
